//! Exported agents: their networks, and the settings with which they play.

mod metadata;
mod variant;

use ale::{AtariOptions, Game};
use safetensors::SafeTensors;

use crate::error::FileError;
use crate::network::{Evaluation, Memory, Network, Weights};
use metadata::{Drawn, Metadata};
use variant::Variant;

/// An agent from a file of `ale-train export`.
///
/// ```
/// use browser::{Agent, Memory};
///
/// let file = include_bytes!("../../../checkpoints/zoo/harvest.safetensors");
/// let agent = Agent::read(file)?;
/// assert_eq!(agent.games(), ["harvest"]);
/// let evaluation = agent.evaluate(0, &[0; 4 * 44 * 44], &mut Memory::default());
/// let browser::Evaluation::Policy { log_probabilities, .. } = evaluation else { panic!("an agent of PPO") };
/// assert_eq!(log_probabilities.len(), 3);
/// # Ok::<(), browser::FileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Agent {
    network: Network,
    metadata: Metadata,
}

impl Agent {
    /// Reads an agent from the contents of a file.
    pub fn read(file: &[u8]) -> Result<Self, FileError> {
        let unreadable = |error: safetensors::SafeTensorError| FileError::NotSafetensors(error.to_string());
        let (_, header) = SafeTensors::read_metadata(file).map_err(unreadable)?;
        let metadata = Metadata::read(&header.metadata().clone().unwrap_or_default())?;
        let weights = Weights::read(&SafeTensors::deserialize(file).map_err(unreadable)?)?;
        let network = Network::new(&weights, metadata.structure.clone())?;
        Ok(Self { network, metadata })
    }

    /// Returns the name of the algorithm.
    pub fn algorithm(&self) -> &str {
        &self.metadata.algorithm
    }

    /// Returns the number of emulated frames of training.
    pub fn frames(&self) -> u64 {
        self.metadata.frames
    }

    /// Returns the names of its tasks.
    pub fn games(&self) -> Vec<&str> {
        self.network.tasks().iter().map(|task| task.name.as_str()).collect()
    }

    /// Returns the number of frames of an observation, their height and their width.
    pub fn observation_shape(&self) -> [usize; 3] {
        self.metadata.structure.image
    }

    /// Returns the index of the first task that is this game, in any mode.
    pub(crate) fn task_of(&self, game: &Game) -> Option<usize> {
        self.games().iter().position(|name| Variant::of(name).is_some_and(|variant| variant.game == game.id))
    }

    /// Fails if none of its tasks is a game of the console.
    pub(crate) fn check_games(&self) -> Result<(), FileError> {
        let games = self.games();
        if games.iter().any(|name| Variant::of(name).is_some()) {
            return Ok(());
        }
        Err(FileError::NoGame(games.join(", ")))
    }

    /// Returns the probability of a random action when it plays.
    pub(crate) fn epsilon(&self) -> f64 {
        self.metadata.experiment.epsilon(self.algorithm())
    }

    /// Evaluates an observation of a task, and updates the memory of a recurrent network.
    ///
    /// # Panics
    /// Panics if there is no such task, or if the observation has another size.
    pub fn evaluate(&self, task: usize, observation: &[u8], memory: &mut Memory) -> Evaluation {
        self.network.evaluate(task, observation, memory)
    }

    /// Returns the codes of its actions in a task that is this game.
    pub(crate) fn action_codes(&self, task: usize, game: &'static Game) -> Result<&'static [u8], FileError> {
        let full = self.metadata.experiment.environments.full_action_space;
        let codes = if full { game.legal_actions } else { game.minimal_actions };
        let fits = codes.len() == self.network.tasks()[task].count();
        if fits { Ok(codes) } else { Err(FileError::Metadata("tasks")) }
    }

    /// Returns the options of the environment in which it is evaluated in a task that is this game. All actions are
    /// available, so that the visitor can take over.
    pub(crate) fn options(&self, task: usize, game: &Game) -> AtariOptions {
        let metadata::Experiment { environments, evaluation, .. } = &self.metadata.experiment;
        let [stack_num, img_height, img_width] = self.metadata.structure.image;
        let name = &self.network.tasks()[task].name;
        let overrides = environments.game.get(name).cloned().unwrap_or_default();
        let variant = Variant::of(name).unwrap_or_default();
        let values = |of_settings: Option<Drawn>, of_name: Option<u32>| {
            of_settings.map_or_else(|| of_name.into_iter().collect(), |drawn| drawn.values())
        };
        // FIRE is pressed only in games in which the agent has this action.
        let fires =
            environments.full_action_space || game.minimal_actions.contains(&ale::Action::FIRE.code());
        AtariOptions {
            img_height,
            img_width,
            stack_num,
            frameskip: environments.frame_skip,
            maxpool: environments.maxpool,
            noop_max: environments.noop_max,
            use_fire_reset: environments.use_fire_reset && fires,
            fire_after_lost_life: environments.fire_after_lost_life && fires,
            max_num_frames_per_episode: overrides
                .max_num_frames_per_episode
                .unwrap_or(environments.max_num_frames_per_episode),
            repeat_action_probability: evaluation
                .repeat_action_probability
                .unwrap_or(environments.repeat_action_probability),
            full_action_space: true,
            modes: values(overrides.mode, variant.mode),
            difficulties: values(overrides.difficulty, variant.difficulty),
            ..AtariOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HARVEST: &[u8] = include_bytes!("../../../checkpoints/zoo/harvest.safetensors");

    /// Returns the file with this text of its header replaced by another one of the same length.
    fn with(text: &str, other: &str) -> Vec<u8> {
        assert_eq!(text.len(), other.len());
        let start = HARVEST.windows(text.len()).position(|window| window == text.as_bytes());
        let start = start.expect("the text");
        let mut file = HARVEST.to_vec();
        file[start..start + text.len()].copy_from_slice(other.as_bytes());
        file
    }

    #[test]
    fn all_agents_of_the_zoo_can_be_read() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../checkpoints/zoo");
        let mut count = 0;
        for entry in std::fs::read_dir(directory).expect("the zoo") {
            let file = std::fs::read(entry.expect("an entry").path()).expect("a file");
            let agent = Agent::read(&file).expect("an agent");
            agent.check_games().expect("games");
            for (task, name) in agent.games().iter().enumerate() {
                let game = ale::game(name).expect("a game");
                assert_eq!(agent.task_of(game), Some(task));
                agent.action_codes(task, game).expect("actions");
            }
            count += 1;
        }
        assert!(count >= 5);
    }

    #[test]
    fn options_are_those_of_training() {
        let agent = Agent::read(HARVEST).expect("an agent");
        let options = agent.options(0, ale::game("harvest").expect("the game"));
        let expected = AtariOptions {
            img_height: 44,
            img_width: 44,
            // Harvest has no button.
            use_fire_reset: false,
            full_action_space: true,
            ..AtariOptions::default()
        };
        assert_eq!(options, expected);
    }

    #[test]
    fn files_that_are_no_agents_are_refused() {
        let error = |file: &[u8]| Agent::read(file).expect_err("an error").to_string();
        let before = r"fire_after_lost_life = true\nframe_skip = 4";
        let long = with(before, &format!("{:width$}", "frame_skip = 400", width = before.len()));
        assert_eq!(error(&long), "the page cannot play an agent whose steps have 400 frames");
        assert!(error(b"").starts_with("it is not an agent"));
        assert!(error(&HARVEST[..1000]).starts_with("it is not an agent"));
        for (text, other, expected) in [
            (
                "\"algorithm\":\"ppo\"",
                "\"algorithm\":\"sac\"",
                "the page cannot play an agent of the algorithm sac",
            ),
            (
                "\"head\":\"",
                "\"haed\":\"",
                "its metadata has no readable `head`; `ale-train export` writes files that have it",
            ),
            (
                "[4,44,44]\"",
                "[4,48,44]\"",
                "its tensor `network.1.weight` is missing or does not fit the rest of the network",
            ),
            (
                "\"critic.bias\"",
                "\"critic.bia5\"",
                "its tensor `critic.bias` is missing or does not fit the rest of the network",
            ),
        ] {
            assert_eq!(error(&with(text, other)), expected);
        }
    }
}
