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
use crate::game_mode::GameMode;
use crate::learner::{Learner, Player};
use crate::scores::FinalScores;
use crate::selection;
use crate::telemetry::Printer;
use crate::zoo_agents::{self, ZooAgent};

pub(crate) use stored::StoredAgent;

/// The largest number of games that a message lists.
const SHOWN_GAMES: usize = 10;

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

    /// Returns the game called `name`. Fails if it has no screen.
    pub(crate) fn shown_game(&self, name: &str) -> Result<Games> {
        shown_game(&self.experiment.games, name)
    }

    /// Returns the only game that the agent was trained on. Fails with `advice`, given the name of one, if there are
    /// several.
    pub(crate) fn only_game(&self, advice: impl Fn(&str) -> String) -> Result<&'static str> {
        only_game(&self.experiment.games, advice)
    }
}

fn shown_game(games: &Games, name: &str) -> Result<Games> {
    let names = games.names();
    let ids = selection::expand([name])?;
    let game = names.iter().find(|&&id| ids == [id]);
    let game = *game.ok_or_else(|| not_trained_on(name, &names))?;
    match why_no_screen(game) {
        Some(reason) => bail!("{game} has no screen: {reason}"),
        None => Ok(games.only(&[game])),
    }
}

fn only_game(games: &Games, advice: impl Fn(&str) -> String) -> Result<&'static str> {
    match games.names()[..] {
        [only] => Ok(only),
        ref names => bail!("the agent plays {} games; {}", names.len(), advice(names[0])),
    }
}

/// Returns true if a game can be shown.
pub(crate) fn has_screen(game: &str) -> bool {
    why_no_screen(game).is_none()
}

/// Returns why a game cannot be shown, if it cannot.
fn why_no_screen(game: &str) -> Option<String> {
    if GameMode::of_id(game).is_some() || selection::is_in_python(game) || drawing::of(game).is_some() {
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
    let known = match trained.len() {
        0..=SHOWN_GAMES => trained.join(", "),
        number => format!("{number} games, such as {}", trained[0]),
    };
    anyhow::anyhow!("the agent was not trained on '{name}'; it plays {known}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_chosen_by_name() {
        let several = Games::resolve(&["pong", "boxing"].map(str::to_owned)).expect("games");
        let advice = |game: &str| format!("add {game}");
        let error = only_game(&several, advice).expect_err("two games").to_string();
        assert_eq!(error, "the agent plays 2 games; add pong");
        let message = |name| shown_game(&several, name).err().map(|error| error.to_string());
        assert!(message("qbert").is_some_and(|message| message.ends_with("it plays pong, boxing")));
        assert!(message("boxnig").is_some_and(|message| message.ends_with("did you mean boxing?")));
        for name in ["boxing", "ALE/Boxing-v5"] {
            assert_eq!(shown_game(&several, name).expect("a game").names(), ["boxing"]);
        }
        let many = Games::resolve(&["atari57".to_owned()]).expect("games");
        let error = shown_game(&many, "harvest").expect_err("another game").to_string();
        assert_eq!(error, "the agent was not trained on 'harvest'; it plays 57 games, such as alien");
    }

    #[test]
    fn only_games_with_a_screen_are_shown() {
        let shown = |name: &str| {
            let games = Games::resolve(&[name.to_owned()]).expect("a task");
            let game = only_game(&games, str::to_owned).expect("one game");
            shown_game(&games, game).map(|games| games.names()).map_err(|error| error.to_string())
        };
        let expected = mujoco::check_rendering().map(|()| vec!["Hopper-v5"]);
        assert_eq!(shown("Hopper-v5"), expected.map_err(|error| format!("Hopper-v5 has no screen: {error}")));
        for (name, id) in [
            ("CartPole-v1", "CartPole-v1"),
            ("pong@1", "pong@1"),
            ("gym:CartPole-v1", "gymnasium:CartPole-v1"),
        ] {
            assert_eq!(shown(name), Ok(vec![id]));
        }
    }
}
