//! The command line.
//!
//! * `train` and `training_arguments` define the commands that train, and the description of an experiment.
//! * `agent` defines the commands that use trained agents.
//! * `match_arguments` defines the games of two agents.
//! * `game_arguments` defines the commands about games and ROMs.
//! * `report_arguments` and `watch_arguments` define the pages of runs, `sync_arguments` their transfer to services.
//! * `preset_arguments` and `zoo_arguments` define the lists of presets and of trained agents.
//! * `bench` defines the benchmarks.
//! * `complete` completes commands in shells.
//! * `number` and `seeds` parse the numbers in flags, `usage` explains errors.

// Documentation comments are help texts, which show backticks verbatim.
#![allow(clippy::doc_markdown)]

mod agent;
mod bench;
pub(crate) mod complete;
mod game_arguments;
mod match_arguments;
mod number;
mod preset_arguments;
mod report_arguments;
mod seeds;
mod sync_arguments;
mod train;
mod training_arguments;
mod usage;
mod watch_arguments;
mod zoo_arguments;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

pub(crate) use agent::{
    AgentArgs, CheckpointArgs, EmulationArgs, EvalArgs, ExportArgs, PlayArgs, RecordArgs,
};
pub(crate) use bench::{
    BenchArgs, BenchClusterArgs, BenchCommand, BenchEmulatorArgs, BenchEnvArgs, BenchLearnerArgs, BenchSize,
    BenchSubject,
};
pub(crate) use game_arguments::{GamesArgs, RomsArgs, RomsCommand, TraceArgs};
pub(crate) use match_arguments::MatchArgs;
pub(crate) use preset_arguments::PresetsArgs;
pub(crate) use report_arguments::{ReportArgs, ScoreFormat};
pub(crate) use sync_arguments::SyncArgs;
pub(crate) use train::TrainCommand;
pub(crate) use training_arguments::{
    ConfigArgs, ExperimentArgs, Launcher, PruneRule, RequestArgs, ResumeArgs, RunsArgs, SweepArgs,
};
pub(crate) use watch_arguments::WatchArgs;
pub(crate) use zoo_arguments::ZooArgs;

pub(crate) use crate::global::Global;
use crate::output::notice_lines;
use crate::version;

/// Train reinforcement learning agents on Atari 2600 games.
#[derive(Debug, Parser)]
#[command(
    name = "ale-train",
    version,
    long_version = version::LONG.as_str(),
    propagate_version = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = EXAMPLES
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Parses the arguments of the program, the first of which is its name.
pub(crate) fn parse(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Cli, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let mut command = command();
    let matches = command
        .try_get_matches_from_mut(&arguments)
        .map_err(|error| usage::explained(error, &command, &arguments))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Prints help or an error of the arguments, and ends the program. `is_plain` is false if arguments have control
/// characters, which a shell may have found in names of files, and which the library would print as they are.
pub(crate) fn exit(error: &clap::Error, is_plain: bool) -> ! {
    if !is_plain && error.use_stderr() {
        notice_lines(error.render().to_string().trim_end());
        std::process::exit(error.exit_code());
    }
    error.exit()
}

/// Returns the definition of the command line.
pub(crate) fn command() -> clap::Command {
    with_negative_numbers(Cli::command())
}

/// Lets flags take negative numbers, so that their parsers report the allowed values. Otherwise `--seed -1` would be
/// reported as an unknown flag `-1`.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let takes_values = |flag: &clap::Arg| !flag.is_positional() && flag.get_action().takes_values();
    let flags = |flag: clap::Arg| if takes_values(&flag) { flag.allow_negative_numbers(true) } else { flag };
    command.mut_args(flags).mut_subcommands(with_negative_numbers)
}

const EXAMPLES: &str = "Examples:
  ale-train ppo                          train on the built-in game
  ale-train ppo --games pong --seed 3    train on Pong; downloads a missing ROM with pip
  ale-train dqn                          train with DQN
  ale-train sac --games Pendulum-v1      train with SAC, off-policy
  ale-train eval checkpoints/RUN         evaluate the trained agent
  ale-train play --checkpoint zoo:harvest --watch
                                         watch a trained agent play the built-in game
  ale-train COMMAND --help               show the help of a command";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Train(TrainCommand),
    /// Continue a run from its last checkpoint
    Resume(ResumeArgs),
    /// Write a checkpoint of a run while it trains
    Checkpoint(RequestArgs),
    /// List the runs below a directory
    Runs(RunsArgs),
    /// Train over combinations of hyperparameters and seeds
    Sweep(SweepArgs),
    /// Evaluate a trained agent
    Eval(EvalArgs),
    /// Let two agents play against each other
    Match(MatchArgs),
    /// Write an agent to one safetensors file, which PyTorch can load
    Export(ExportArgs),
    /// Record a video of a trained agent
    Record(RecordArgs),
    /// Play a game in the terminal, alone or with a trained agent
    Play(PlayArgs),
    /// Show runs in a browser while they train
    Watch(WatchArgs),
    /// Write a report with the learning curves and scores of runs
    Report(ReportArgs),
    /// Send the curves of runs to Weights & Biases or MLflow
    Sync(SyncArgs),
    /// Download, import and list ROMs
    Roms(RomsArgs),
    /// List the games
    Games(GamesArgs),
    /// List the presets, or print one
    Presets(PresetsArgs),
    /// List the built-in trained agents, or print the card of one
    Zoo(ZooArgs),
    /// Print the state of a game after every step as JSON Lines
    Trace(TraceArgs),
    /// Print an experiment with every key, or the reference of all keys
    Config(ConfigArgs),
    /// Measure the speed of emulation and learning on this machine
    Bench(BenchArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Write manual pages for all commands
    Man(ManArgs),
}

impl Command {
    /// Returns true if several processes of a job may run the command together.
    pub(crate) fn may_have_peers(&self) -> bool {
        matches!(
            self,
            Self::Train(_) | Self::Resume(_) | Self::Bench(BenchArgs { command: BenchCommand::Cluster(_) })
        )
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ale-train completions bash > ~/.local/share/bash-completion/completions/ale-train
  ale-train completions zsh > ~/.zfunc/_ale-train
  ale-train completions fish > ~/.config/fish/completions/ale-train.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ale-train man --out ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Directory for the pages; created if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use super::*;

    /// Calls `check` with every command and its name.
    fn for_every_command(check: &mut impl FnMut(&clap::Command, &str)) {
        fn visit(command: &clap::Command, path: &str, check: &mut impl FnMut(&clap::Command, &str)) {
            let path = format!("{path} {}", command.get_name()).trim().to_owned();
            check(command, &path);
            command.get_subcommands().for_each(|child| visit(child, &path, check));
        }
        visit(&command(), "", check);
    }

    fn error(line: &str) -> String {
        parse(line.split_whitespace()).expect_err(line).to_string()
    }

    #[test]
    fn every_command_has_an_example() {
        command().debug_assert();
        for_every_command(&mut |command, path| {
            if !command.has_subcommands() {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                // A launcher such as `mpirun` may come first.
                let is_example = |line: &str| line.starts_with("  ") && line.contains(path);
                assert!(help.lines().any(is_example), "`{path} --help` has no example");
            }
        });
    }

    #[test]
    fn every_flag_says_which_numbers_it_takes() {
        let whole_types =
            [TypeId::of::<u16>(), TypeId::of::<u32>(), TypeId::of::<u64>(), TypeId::of::<usize>()];
        let float_types = [TypeId::of::<f32>(), TypeId::of::<f64>()];
        let mut count = 0;
        for_every_command(&mut |command, path| {
            for flag in command.get_arguments().filter(|flag| !flag.is_positional()) {
                let kind = flag.get_value_parser().type_id();
                let is_whole = whole_types.iter().any(|id| kind == *id);
                if !is_whole && !float_types.iter().any(|id| kind == *id) {
                    continue;
                }
                count += 1;
                let name = format!("--{}", flag.get_long().expect("a long flag"));
                let wrong = ["-1", "x", "1.5", "99999999999999999999999999", "inf", "1,5"];
                for value in wrong
                    .into_iter()
                    .filter(|value| is_whole || !["1.5", "99999999999999999999999999"].contains(value))
                {
                    let message = error(&format!("{path} {name} {value}"));
                    let beginning = format!("error: {name} {value} is invalid: it must be ");
                    assert!(message.starts_with(&beginning) && message.lines().count() == 1, "{message}");
                    crate::config::assert_without_types(&message);
                }
                if is_whole && !flag.get_default_values().is_empty() {
                    assert!(parse([path.split(' ').collect(), vec![name.as_str(), "0x1"]].concat()).is_err());
                }
            }
        });
        assert!(count > 30, "{count} flags");
    }

    #[test]
    fn accepts_numbers_with_separators_and_suffixes() {
        let line =
            "ale-train ppo --total-frames 1.5M --num-envs 1_6 --seed 9223372036854775807 --num-threads 2";
        let Command::Train(command) = parse(line.split_whitespace()).expect("arguments").command else {
            unreachable!("ppo trains")
        };
        let flags = command.args.experiment;
        assert_eq!((flags.total_frames, flags.num_envs), (Some(1_500_000), Some(16)));
        assert_eq!((flags.seed, flags.num_threads), (Some(i64::MAX as u64), Some(2)));
        for (line, expected) in [
            ("ppo --seed 18446744073709551615", "it must be in 0..=9223372036854775807"),
            ("ppo --total-frames 1e30", "it must be in 0..=9223372036854775807"),
            ("ppo --seed -1", "--seed -1 is invalid: it must be 0 or more"),
            ("ppo --num-threads 3000", "it must be in 0..=1024"),
            ("ppo --num-envs 0", "it must be in 1..=65536"),
            ("record RUN --out x.gif --scale 17", "it must be in 1..=16"),
            ("eval RUN --sticky 1.5", "it must be a number in 0..=1"),
        ] {
            assert!(error(&format!("ale-train {line}")).trim_end().ends_with(expected), "{line}");
        }
    }

    #[test]
    fn unknown_flags_named_like_keys_suggest_the_key() {
        for (line, expected) in [
            ("ppo --learning-rate 1e-4", "--set ppo.learning_rate=1e-4"),
            ("dqn --gamma=0.9", "--set dqn.gamma=0.9"),
            ("ppo --num-steps 64", "--set ppo.num_steps=64"),
            ("pqn --img-height 44 --seed 1", "--set environments.img_height=44"),
            ("ppo --layer-norm", "--set policy.layer_norm=true"),
            ("ppo --learning_rat 1e-4", "--set ppo.learning_rate=1e-4"),
            ("ppo --ppo.gamma 0.9", "--set ppo.gamma=0.9"),
            ("ppo --torso --seed 1", "--set policy.torso=VALUE"),
            ("sweep --buffer-size 1M", "--set dqn.buffer_size=1M"),
            ("ppo --lr 1e-4", "--set ppo.learning_rate=1e-4"),
            ("sac --lr=1e-4", "--set sac.policy_lr=1e-4"),
            ("ppo --n-steps 64", "--set ppo.num_steps=64"),
            ("dqn --n_steps 3", "--set dqn.n_step=3"),
            ("ppo --batch-size 8", "--set ppo.num_minibatches=VALUE"),
            ("ppo --clip-range-vf 0.2", "--set ppo.clip_vloss=VALUE"),
            ("dqn --train-freq 4", "--set dqn.train_ratio=VALUE"),
            ("dqn --minibatch-size 8", "--set dqn.batch_size=8"),
            ("dqn --batch-size 8", "--set dqn.batch_size=8"),
            ("ppo --clip-range 0.2", "--set ppo.clip_coef=0.2"),
            ("ppo --num-stack 2", "--set environments.stack_num=2"),
            ("ppo --frame-stack 2", "--set environments.gymnasium.frame_stack=2"),
            ("resume RUN --lr 1e-4", "--set ppo.learning_rate=1e-4"),
        ] {
            let error = error(&format!("ale-train {line}"));
            assert!(error.contains(&format!("tip: set the key instead: {expected}\n")), "{line}: {error}");
            assert!(!error.contains("similar"), "{error}");
        }
        for (line, expected) in [
            ("ppo --n-envs 4", "'--num-envs'"),
            ("ppo --total-timesteps 1M", "'--total-frames'"),
            ("dqn --env-id pong", "'--games'"),
            ("ppo --total_frames 1M", "'--total-frames'"),
            ("eval RUN --env pong", "'--games'"),
            ("eval RUN --n-eval-episodes 5", "'--episodes'"),
            ("ppo --steps 1M", "'--total-frames'"),
            ("ppo --out runs", "'--run-dir'"),
        ] {
            let error = error(&format!("ale-train {line}"));
            assert!(error.contains(&format!("a similar argument exists: {expected}")), "{line}: {error}");
            assert!(!error.contains("set the key instead"), "{error}");
        }
        assert!(error("ale-train ppo pong").contains("tip: write --games pong\n"));
        assert!(error("ale-train train").contains("similar subcommands exist: 'ppo', 'dqn', 'pqn', 'sac'"));
        // Only for commands with --set, and only if no flag is nearer.
        assert!(!error("ale-train eval RUN --gamma 1").contains("--set"));
        assert!(error("ale-train ppo --total-frame 1").contains("--total-frames"));
        assert!(!error("ale-train ppo --total-frame 1").contains("--set"));
    }
}
