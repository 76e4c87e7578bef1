use std::mem;

use rl_env::{Action, Env, EnvError, Pcg64, Space, Step, snapshot};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::start::{Start, StartError};

/// The spaces and equations of motion of a classic control task.
pub trait Dynamics: Send + 'static {
    /// The physical state, without the random number generator.
    type State: Clone + Default + Serialize + DeserializeOwned + Send;

    /// The bounds of first states.
    const START: Start;

    /// Returns the observation space, a vector of floats.
    fn observation_space(&self) -> Space;

    /// Returns the action space.
    fn action_space(&self) -> Space;

    /// Draws the first state of an episode from the ranges of its first and second random number.
    fn start(&self, ranges: [(f64, f64); 2], generator: &mut Pcg64) -> Self::State;

    /// Advances `state` by one step with an action of `action_space`.
    fn step(
        &self,
        state: &mut Self::State,
        action: Action<'_>,
        action_space: &Space,
    ) -> Result<Judgement, EnvError>;

    /// Returns false if a state, which may come from a damaged snapshot, cannot be advanced.
    fn accepts(&self, _state: &Self::State) -> bool {
        true
    }

    /// Writes the observation of a state.
    fn observe(&self, state: &Self::State, observation: &mut [u8]);
}

/// The reward of a step, and the end of the episode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Judgement {
    /// The reward, in Gymnasium's precision.
    pub reward: f64,
    /// True if the episode terminates.
    pub terminated: bool,
}

/// Additional data about a step of a [`Control`] task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControlInfo {
    /// The reward of the last step in Gymnasium's precision; 0 after a reset or a restored snapshot.
    pub reward: f64,
}

/// A classic control task without a time limit. Resets with the same seed, and all steps after them, equal Gymnasium's.
/// [`Step`] has the rewards as `f32`, [`ControlInfo`] as `f64`.
#[derive(Clone, Debug)]
pub struct Control<D: Dynamics> {
    dynamics: D,
    observation_space: Space,
    action_space: Space,
    generator: Pcg64,
    /// The bounds of the first state of the next episode.
    start: Start,
    pub(crate) state: D::State,
    info: ControlInfo,
}

impl<D: Dynamics> Control<D> {
    /// Creates the task with these dynamics and seed 0.
    pub fn new(dynamics: D) -> Self {
        Self {
            observation_space: dynamics.observation_space(),
            action_space: dynamics.action_space(),
            dynamics,
            generator: Pcg64::new(0),
            start: D::START,
            state: D::State::default(),
            info: ControlInfo::default(),
        }
    }

    /// Replaces bounds of the first state in the next reset, as the options of Gymnasium's `reset` do: `low` and
    /// `high`, or for a pendulum `x_init` and `y_init`. Later resets have the defaults again.
    ///
    /// ```
    /// # use classic_control::{CartPole, Control};
    /// # use rl_env::Env;
    /// let mut env = Control::new(CartPole::default());
    /// env.start_within(&[("low", 0.1), ("high", 0.2)])?;
    /// let mut observation = [0; 16];
    /// env.reset(Some(1), &mut observation);
    /// let position = f32::from_ne_bytes(observation[..4].try_into()?);
    /// assert!((0.1..0.2).contains(&position));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_within(&mut self, options: &[(&str, f64)]) -> Result<(), StartError> {
        self.start = D::START.with(options)?;
        Ok(())
    }
}

impl<D: Dynamics> Env for Control<D> {
    type Info = ControlInfo;

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        if let Some(seed) = seed {
            self.generator = Pcg64::new(seed);
        }
        let start = mem::replace(&mut self.start, D::START);
        self.state = self.dynamics.start(start.ranges(), &mut self.generator);
        self.info = ControlInfo::default();
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let Judgement { reward, terminated } =
            self.dynamics.step(&mut self.state, action, &self.action_space)?;
        self.info = ControlInfo { reward };
        self.observe(observation);
        Ok(Step { terminated, ..Step::reward(reward as f32) })
    }

    fn info(&self) -> ControlInfo {
        self.info
    }

    fn observe(&self, observation: &mut [u8]) {
        self.dynamics.observe(&self.state, observation);
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&(&self.generator, &self.state))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let (generator, state) = snapshot::decode(snapshot)?;
        if !self.dynamics.accepts(&state) {
            return Err(EnvError::BadSnapshot("its state is out of range".to_owned()));
        }
        (self.generator, self.state) = (generator, state);
        self.info = ControlInfo::default();
        Ok(())
    }
}

/// Writes floats to an observation row.
pub(crate) fn write_floats(values: &[f32], observation: &mut [u8]) {
    for (bytes, value) in observation.chunks_exact_mut(size_of::<f32>()).zip(values) {
        bytes.copy_from_slice(&value.to_ne_bytes());
    }
}
