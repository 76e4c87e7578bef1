//! The command line.
//!
//! * `train` and `training` define the commands that train, and the description of an experiment.
//! * `agent` defines the commands that use trained agents.
//! * `games` defines the commands about games and ROMs.
//! * `presets` defines the list of presets.
//! * `bench` defines the benchmarks.

// Documentation comments are help texts, which show backticks verbatim.
#![allow(clippy::doc_markdown)]

mod agent;
mod bench;
mod games;
mod presets;
mod train;
mod training;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use agent::{AgentArgs, CheckpointArgs, EvalArgs, ExportArgs, PlayArgs, RecordArgs, ReportArgs};
pub(crate) use bench::{
    BenchArgs, BenchCommand, BenchEmulatorArgs, BenchEnvArgs, BenchLearnerArgs, BenchSize, BenchSubject,
};
pub(crate) use games::{GamesArgs, RomsArgs, RomsCommand, TraceArgs};
pub(crate) use presets::PresetsArgs;
pub(crate) use train::TrainCommand;
pub(crate) use training::{ConfigArgs, ExperimentArgs, ResumeArgs, RunsArgs, SweepArgs};

use crate::version;

/// Train reinforcement learning agents on Atari 2600 games.
#[derive(Debug, Parser)]
#[command(
    name = "ale-train",
    version,
    long_version = version::LONG.as_str(),
    propagate_version = true,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

const EXAMPLES: &str = "Examples:
  ale-train ppo                          train on the built-in game
  ale-train ppo --games pong --seed 3    train on Pong; downloads the ROM with pip if it is missing
  ale-train dqn                          train with DQN
  ale-train eval checkpoints/RUN         evaluate the trained agent
  ale-train COMMAND --help               show the help of a command";

const GLOBAL: &str = "Global options";

/// The flags of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Directory of ROMs [default: $ALE_TRAIN_ROMS, else ale-train/roms in the user's data directory]
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub(crate) rom_dir: Option<PathBuf>,
    /// Disable downloads
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) offline: bool,
    /// Print results and errors only
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Train(TrainCommand),
    /// Continue a run from its last checkpoint
    Resume(ResumeArgs),
    /// List the runs below a directory
    Runs(RunsArgs),
    /// Train with several values of keys and several seeds
    Sweep(SweepArgs),
    /// Evaluate a trained agent
    Eval(EvalArgs),
    /// Export the weights of a trained network as safetensors for PyTorch
    Export(ExportArgs),
    /// Record a video of a trained agent
    Record(RecordArgs),
    /// Play a game in the terminal, alone or beside a trained agent
    Play(PlayArgs),
    /// Write a report with the learning curves and scores of runs
    Report(ReportArgs),
    /// Download, import and list ROMs
    Roms(RomsArgs),
    /// List the games
    Games(GamesArgs),
    /// List the presets, or print one
    Presets(PresetsArgs),
    /// Print the state of a game after every act as JSON Lines
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
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_has_an_example() {
        fn check(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            for child in command.get_subcommands() {
                check(child, &path);
            }
            if !command.has_subcommands() {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains(&format!("\n  {}", path.trim())), "`{path} --help` has no example");
            }
        }
        let command = Cli::command();
        command.clone().debug_assert();
        check(&command, "");
    }
}
