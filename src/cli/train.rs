//! The training commands, one for each algorithm of the registry.

use std::path::PathBuf;

use clap::error::{Error, ErrorKind};
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

use super::complete;
use super::training_arguments::ExperimentArgs;
use crate::learner::Algorithm;

#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,
    /// Directory for telemetry and checkpoints, which must not contain a run [default:
    /// checkpoints/GAMES__ALGORITHM__SEED__TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: Option<PathBuf>,
    /// Start with the weights of a run, a checkpoint, a file from `ale-train export`, or zoo:NAME
    #[arg(long, value_name = "AGENT", add = complete::agents())]
    pub(crate) init_from: Option<PathBuf>,
    /// Print the records of metrics.jsonl to standard output, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Show a table of the games below the progress line even in a small terminal; if standard error is not a
    /// terminal, print it every five minutes
    #[arg(long)]
    pub(crate) per_game: bool,
}

/// `ale-train ppo` and the like.
#[derive(Debug)]
pub(crate) struct TrainCommand {
    pub(crate) algorithm: Algorithm,
    pub(crate) args: TrainArgs,
}

const EXPLANATION: &str = "\
Settings come from a preset or from the file of --config, which may start from a preset; --set overrides them, and the \
other flags override both. Without --preset and --config, the games and the device determine the preset: one for the \
game or, if there is none, for its kind of task (classic control, toy text, MuJoCo, one game, several games, several \
games on a GPU). With several games, the \
numbers of environments, rollout steps, minibatches and frames depend on the number of games. The first line of the \
output names the preset.

Examples:";

fn named(name: &str) -> Option<Algorithm> {
    Algorithm::ALL.iter().copied().find(|algorithm| algorithm.name() == name)
}

impl Subcommand for TrainCommand {
    fn augment_subcommands(command: Command) -> Command {
        Algorithm::ALL.iter().fold(command, |command, algorithm| {
            let descriptor = algorithm.descriptor();
            let examples = descriptor.examples.iter().map(|example| format!("\n  {example}"));
            let training = TrainArgs::augment_args(Command::new(algorithm.name()))
                .about(descriptor.about)
                .after_help(EXPLANATION.to_owned() + &examples.collect::<String>());
            command.subcommand(training)
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        named(name).is_some()
    }
}

impl FromArgMatches for TrainCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let command = matches.subcommand().and_then(|(name, matches)| Some((named(name)?, matches)));
        let (algorithm, matches) = command.ok_or_else(|| Error::new(ErrorKind::InvalidSubcommand))?;
        Ok(Self { algorithm, args: TrainArgs::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
