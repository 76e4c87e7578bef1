//! Trained agents, opened from checkpoints.

use std::path::{Path, PathBuf};

use ale::Game;
use algorithms::VectorSpec;
use anyhow::{Context, Result, bail};
use burn::tensor::Device;

use crate::checkpoint::{self, Checkpoint};
use crate::cli::CheckpointArgs;
use crate::config::{self, Experiment, Games};
use crate::environments::{Builder, Purpose};
use crate::learner::{Learner, Player};
use crate::selection;

/// A checkpoint and the experiment that it belongs to.
pub(crate) struct TrainedAgent {
    /// The directory of the checkpoint.
    pub(crate) directory: PathBuf,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) experiment: Experiment,
}

impl TrainedAgent {
    /// Opens the checkpoint that the flags choose.
    pub(crate) fn open(args: &CheckpointArgs) -> Result<Self> {
        let directory = checkpoint::chosen(&args.checkpoint, args.best)?;
        let checkpoint = checkpoint::load(&directory)?;
        Self::new(directory, checkpoint)
    }

    /// Opens a checkpoint, or the newest intact one of a run; `warn` is told about damaged ones.
    pub(crate) fn open_newest(path: &Path, warn: impl Fn(&str)) -> Result<Self> {
        let (directory, checkpoint) = checkpoint::load_latest(path, warn)?;
        Self::new(directory, checkpoint)
    }

    pub(crate) fn new(directory: PathBuf, checkpoint: Checkpoint) -> Result<Self> {
        let experiment = config::from_toml(&checkpoint.config)?.resolve();
        let experiment = experiment.with_context(|| checkpoint::unusable(&directory))?;
        Ok(Self { directory, checkpoint, experiment })
    }

    /// The beginning of every error about the contents of the checkpoint.
    pub(crate) fn unusable(&self) -> String {
        checkpoint::unusable(&self.directory)
    }

    /// Restores the learner on the CPU, to act with it.
    pub(crate) fn restore(&self) -> Result<Box<dyn Learner>> {
        let learner = self.experiment.algorithm.restore_to_act(&self.checkpoint.learner, &Device::flex());
        learner.with_context(|| self.unusable())
    }

    /// Returns a player for a single environment of the first game of `builder`.
    pub(crate) fn player(&self, builder: &Builder, greedy: bool, seed: u64) -> Result<Box<dyn Player>> {
        let environments = builder.build(Purpose::Evaluation { num_envs: 1 })?;
        Ok(self.restore()?.player(&VectorSpec::of(environments.as_ref())?, greedy, seed)?)
    }

    /// Returns those of the agent's games that `names` select: all of them if there are no names.
    pub(crate) fn games(&self, names: &[String]) -> Result<Games> {
        if names.is_empty() {
            return Ok(self.experiment.games.clone());
        }
        let trained = self.experiment.games.names();
        let games = Games::resolve(names)?;
        match games.names().into_iter().find(|name| !trained.contains(name)) {
            Some(other) => Err(not_trained_on(other, &trained)),
            None => Ok(games),
        }
    }

    /// Returns the Atari game called `name`, or the only one that the agent was trained on.
    pub(crate) fn game(&self, name: Option<&str>) -> Result<&'static Game> {
        one_game(&self.experiment.games, name)
    }
}

fn one_game(games: &Games, name: Option<&str>) -> Result<&'static Game> {
    let Games::Atari(trained) = games else {
        bail!("the agent was not trained on Atari games, so there is no screen to show");
    };
    let names = games.names();
    match (name, trained.as_slice()) {
        (None, [only]) => Ok(only),
        (None, _) => bail!("the agent plays {}; name one of them", names.join(", ")),
        (Some(name), _) => {
            let ids = selection::expand([name])?;
            let game = trained.iter().find(|game| ids == [game.id]);
            game.copied().ok_or_else(|| not_trained_on(name, &names))
        }
    }
}

fn not_trained_on(name: &str, trained: &[&str]) -> anyhow::Error {
    anyhow::anyhow!("the agent was not trained on '{name}'; it plays {}", trained.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_of_several_games_needs_the_name_of_one() {
        let several = Games::Atari(selection::games(["pong", "boxing"]).expect("games"));
        let message = |name| one_game(&several, name).err().map(|error| error.to_string());
        assert_eq!(message(None).as_deref(), Some("the agent plays pong, boxing; name one of them"));
        assert!(message(Some("qbert")).is_some_and(|message| message.contains("it plays pong, boxing")));
        assert!(message(Some("boxnig")).is_some_and(|message| message.ends_with("did you mean boxing?")));
        for name in ["boxing", "ALE/Boxing-v5"] {
            assert_eq!(one_game(&several, Some(name)).expect("a game").id, "boxing");
        }
    }
}
