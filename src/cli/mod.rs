//! The command line: what can be asked for, and how it is explained.
//!
//! * `training` has the commands that make runs, and what describes an experiment.
//! * `agent` has those that look at what a run has come to.
//! * `games` has those about games and their ROMs.
//! * `bench` has the measurements.

// The documentation of a flag is its help text, where backticks would be shown.
#![allow(clippy::doc_markdown)]

mod agent;
mod bench;
mod games;
mod train;
mod training;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use agent::{AgentArgs, CheckpointArgs, EvalArgs, ExportArgs, PlayArgs, RecordArgs, ReportArgs};
pub(crate) use bench::{
    BenchArgs, BenchCommand, BenchCrew, BenchEmulatorArgs, BenchEnvArgs, BenchLearnerArgs, BenchSubject,
};
pub(crate) use games::{GamesArgs, RomsArgs, RomsCommand, TraceArgs};
pub(crate) use train::TrainCommand;
pub(crate) use training::{ConfigArgs, ExperimentArgs, ResumeArgs, SweepArgs};

/// Trains reinforcement learning agents on real Atari 2600 games, with an emulator of its own.
#[derive(Debug, Parser)]
#[command(name = "ale-train", version, propagate_version = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

const EXAMPLES: &str = "Examples:
  ale-train ppo                          train on the built-in open game; needs nothing else
  ale-train ppo --games pong --seed 3    train on Pong; fetches the ROM with pip where it is missing
  ale-train dqn                          the same by DQN
  ale-train eval checkpoints/RUN         play with what was learned
  ale-train COMMAND --help               more about a command";

const GLOBAL: &str = "Global options";

/// Flags that every command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Folder with ROM images [default: $ALE_TRAIN_ROMS, else ale-train/roms in the user's data folder]
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub(crate) rom_dir: Option<PathBuf>,
    /// Never download anything
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
    /// Go on with a run from its last checkpoint
    Resume(ResumeArgs),
    /// Train with several values of some keys and several seeds
    Sweep(SweepArgs),
    /// Play with a trained agent and report its raw scores
    Eval(EvalArgs),
    /// Write a trained network's weights as safetensors, for PyTorch
    Export(ExportArgs),
    /// Film a trained agent at play
    Record(RecordArgs),
    /// Play a game in the terminal, with a trained agent beside
    Play(PlayArgs),
    /// Write a page with the learning curves and scores of runs
    Report(ReportArgs),
    /// Fetch, import and check ROM images
    Roms(RomsArgs),
    /// List the games
    Games(GamesArgs),
    /// Print what a game does, act by act, as JSON Lines
    Trace(TraceArgs),
    /// Print an experiment with every key, or what all keys mean
    Config(ConfigArgs),
    /// Measure how fast this machine emulates and learns
    Bench(BenchArgs),
    /// Print what completes commands and flags in a shell
    Completions(CompletionsArgs),
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
                assert!(help.contains(&format!("\n  {}", path.trim())), "`{path} --help` shows no example");
            }
        }
        let command = Cli::command();
        command.clone().debug_assert();
        check(&command, "");
    }
}
