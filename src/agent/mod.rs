//! Trained agents, opened from checkpoints, from files of `ale-train export`, and from the zoo.
//!
//! * `stored` opens checkpoints, also to continue their training.
//! * `exported` reads and writes files.
//! * `some_games` leaves out games.

pub(crate) mod exported;
mod some_games;
mod stored;

use std::path::{Path, PathBuf};

use algorithms::VectorSpec;
use algorithms::networks::TrainedNetwork;
use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Device;

use crate::checkpoint;
use crate::cli::CheckpointArgs;
use crate::config::{Experiment, Games};
use crate::drawing;
use crate::environments::Builder;
use crate::learner::{Learner, Player};
use crate::scores::FinalScores;
use crate::selection;
use crate::telemetry::Printer;
use crate::zoo_agents::{self, ZooAgent};

pub(crate) use stored::StoredAgent;

/// A trained agent, used without further training.
pub(crate) struct TrainedAgent {
    /// The directory of a checkpoint, a file, or `zoo:NAME`.
    pub(crate) origin: PathBuf,
    pub(crate) experiment: Experiment,
    /// The number of emulated frames of training.
    pub(crate) frames: u64,
    /// The commit of the program that started its training, if it is known.
    pub(crate) commit: Option<String>,
    /// The scores at the end of its training, if they are known.
    pub(crate) scores: Option<FinalScores>,
    weights: Weights,
}

/// The form in which an agent was stored.
enum Weights {
    /// The state of the learner.
    State(Vec<u8>),
    /// An exported network.
    Network(Box<Exported>),
}

/// A network, and environments like those of training, one of each task.
#[derive(Clone)]
pub(crate) struct Exported {
    pub(crate) network: TrainedNetwork,
    pub(crate) spec: VectorSpec,
}

impl TrainedAgent {
    /// Opens the agent that the flags choose. If its run is in training, says how old the checkpoint is.
    pub(crate) fn open(args: &CheckpointArgs, printer: &Printer) -> Result<Self> {
        let path = &args.checkpoint;
        let of_zoo = zoo_agents::find(path)?;
        if !path.exists()
            && let Some(agent) =
                path.to_str().and_then(|name| zoo_agents::named(name).ok()).filter(|_| of_zoo.is_none())
        {
            bail!("{} does not exist; did you mean {}{}?", path.display(), zoo_agents::PREFIX, agent.name);
        }
        if of_zoo.is_none() && !path.is_file() {
            return Ok(StoredAgent::open(args, printer)?.into());
        }
        ensure!(!args.best, "--best requires a run, but {} is a single agent", path.display());
        match of_zoo {
            Some(agent) => Self::of_zoo(agent),
            None => exported::read(path),
        }
    }

    /// Opens an agent of the zoo.
    pub(crate) fn of_zoo(agent: &ZooAgent) -> Result<Self> {
        exported::parse(Path::new(&format!("{}{}", zoo_agents::PREFIX, agent.name)), agent.file)
    }

    /// Returns true for an agent of the zoo, or a part of one.
    pub(crate) fn is_of_zoo(&self) -> bool {
        self.origin.to_str().is_some_and(|origin| origin.starts_with(zoo_agents::PREFIX))
    }

    /// Returns the opening of every error about the agent's contents.
    pub(crate) fn unusable(&self) -> String {
        match self.weights {
            Weights::State(_) => checkpoint::unusable(&self.origin),
            Weights::Network(_) => exported::unusable(&self.origin),
        }
    }

    /// Restores the learner on the CPU, to act with it.
    pub(crate) fn restore(&self) -> Result<Box<dyn Learner>> {
        let (algorithm, device) = (&self.experiment.algorithm, Device::flex());
        let learner = match &self.weights {
            Weights::State(state) => algorithm.restore_to_act(state, &device),
            Weights::Network(exported) => {
                let (policy, spec) = (self.experiment.policy.clone(), exported.spec.clone());
                algorithm.with_weights(policy, spec, &exported.network, &device)
            }
        };
        learner.with_context(|| self.unusable())
    }

    /// Returns the network and its environments.
    pub(crate) fn exported(&self) -> Result<Exported> {
        if let Weights::Network(exported) = &self.weights {
            return Ok(Exported::clone(exported));
        }
        let learner = self.restore()?;
        let (description, spec) = (learner.description(), learner.spec().clone());
        let network = TrainedNetwork { description, weights: learner.torch_weights()? };
        Ok(Exported { network, spec: VectorSpec { task_ids: (0..spec.tasks.len()).collect(), ..spec } })
    }

    /// Returns a player for a single environment of the first game of `builder`, and its specification.
    pub(crate) fn player(
        &self,
        builder: &Builder,
        greedy: bool,
        seed: u64,
    ) -> Result<(Box<dyn Player>, VectorSpec)> {
        let learner = self.restore()?;
        let spec = VectorSpec::of(builder.build_evaluation_of_each(Some(learner.spec()))?.as_ref())?;
        Ok((learner.player(&spec, greedy, seed)?, spec))
    }

    /// Returns the agent's games that `names` select, in the flavours that it was trained on. These are all of them if
    /// `names` is empty, and all others if it starts with an exclusion such as `-pong`.
    pub(crate) fn games(&self, names: &[String]) -> Result<Games> {
        if names.is_empty() {
            return Ok(self.experiment.games.clone());
        }
        let trained = self.experiment.games.names();
        let preselected: &[&str] = if names[0].starts_with('-') { &trained } else { &[] };
        let selected: Vec<String> =
            preselected.iter().map(|&name| name.to_owned()).chain(names.iter().cloned()).collect();
        let games = Games::resolve(&selected)?;
        match games.names().into_iter().find(|name| !trained.contains(name)) {
            Some(other) => Err(not_trained_on(other, &trained)),
            None => Ok(self.experiment.games.only(&games.names())),
        }
    }

    /// Returns the game called `name`, or the only one that the agent was trained on. Fails if it has no screen.
    pub(crate) fn game(&self, name: Option<&str>) -> Result<Games> {
        one_game(&self.experiment.games, name)
    }
}

fn one_game(games: &Games, name: Option<&str>) -> Result<Games> {
    let names = games.names();
    let chosen = match (name, names.as_slice()) {
        (None, &[only]) => only,
        (None, _) => bail!("the agent plays several games; name one of them: {}", names.join(", ")),
        (Some(name), _) => {
            let ids = selection::expand([name])?;
            let game = names.iter().find(|&&id| ids == [id]);
            *game.ok_or_else(|| not_trained_on(name, &names))?
        }
    };
    match why_no_screen(chosen) {
        Some(reason) => bail!("{chosen} has no screen: {reason}"),
        None => Ok(games.only(&[chosen])),
    }
}

/// Returns true if a game can be shown.
pub(crate) fn has_screen(game: &str) -> bool {
    why_no_screen(game).is_none()
}

/// Returns why a game cannot be shown, if it cannot.
fn why_no_screen(game: &str) -> Option<String> {
    if ale::game(game).is_ok() || selection::is_in_python(game) || drawing::of(game).is_some() {
        return None;
    }
    if selection::family(game) == Some(mujoco::FAMILY) {
        return mujoco::check_rendering().err().map(|error| error.to_string());
    }
    let shown =
        "ale-train shows Atari games, classic control, toy text, MuJoCo tasks and environments in Python";
    Some(shown.to_owned())
}

fn not_trained_on(name: &str, trained: &[&str]) -> anyhow::Error {
    anyhow::anyhow!("the agent was not trained on '{name}'; it plays {}", trained.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_of_several_games_needs_the_name_of_one() {
        let several = Games::resolve(&["pong", "boxing"].map(str::to_owned)).expect("games");
        let message = |name| one_game(&several, name).err().map(|error| error.to_string());
        assert_eq!(
            message(None).as_deref(),
            Some("the agent plays several games; name one of them: pong, boxing")
        );
        assert!(message(Some("qbert")).is_some_and(|message| message.contains("it plays pong, boxing")));
        assert!(message(Some("boxnig")).is_some_and(|message| message.ends_with("did you mean boxing?")));
        let tasks = |name: &str| Games::resolve(&[name.to_owned()]).expect("a task");
        let hopper = one_game(&tasks("Hopper-v5"), None).map(|games| games.names());
        let expected = mujoco::check_rendering().map(|()| vec!["Hopper-v5"]);
        assert_eq!(
            hopper.map_err(|error| error.to_string()),
            expected.map_err(|error| format!("Hopper-v5 has no screen: {error}"))
        );
        assert_eq!(one_game(&tasks("CartPole-v1"), None).expect("a drawn task").names(), ["CartPole-v1"]);
        for name in ["boxing", "ALE/Boxing-v5"] {
            assert_eq!(one_game(&several, Some(name)).expect("a game").names(), ["boxing"]);
        }
        assert_eq!(
            one_game(&tasks("gym:CartPole-v1"), None).expect("a game").names(),
            ["gymnasium:CartPole-v1"]
        );
    }
}
