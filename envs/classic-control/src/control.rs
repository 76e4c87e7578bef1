use rl_env::{Action, Env, EnvError, Pcg64, Space, Step, snapshot};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What makes one classic control task different from another: its spaces and the laws of its motion.
pub trait Dynamics: Send + 'static {
    /// The state of the body, without random numbers.
    type State: Clone + Default + Serialize + DeserializeOwned + Send;

    /// The space of observations: a vector of floats.
    fn observation_space(&self) -> Space;

    /// The space of actions.
    fn action_space(&self) -> Space;

    /// A first state, drawn from `generator`.
    fn start(&self, generator: &mut Pcg64) -> Self::State;

    /// Moves `state` by one step under an action of `action_space`. Never truncates.
    fn step(
        &self,
        state: &mut Self::State,
        action: Action<'_>,
        action_space: &Space,
    ) -> Result<Step, EnvError>;

    /// Writes what is seen of a state as an observation row.
    fn observe(&self, state: &Self::State, observation: &mut [u8]);
}

/// A classic control task without time limit. Every reset with the same seed, and every step from there on, equals
/// Gymnasium's, but that rewards are `f32`.
#[derive(Clone, Debug)]
pub struct Control<D: Dynamics> {
    dynamics: D,
    observation_space: Space,
    action_space: Space,
    generator: Pcg64,
    pub(crate) state: D::State,
}

impl<D: Dynamics> Control<D> {
    /// The task of these dynamics. Until a seed comes with a reset it behaves as if seeded with 0.
    pub fn new(dynamics: D) -> Self {
        Self {
            observation_space: dynamics.observation_space(),
            action_space: dynamics.action_space(),
            dynamics,
            generator: Pcg64::new(0),
            state: D::State::default(),
        }
    }
}

impl<D: Dynamics> Env for Control<D> {
    type Info = ();

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
        self.state = self.dynamics.start(&mut self.generator);
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let step = self.dynamics.step(&mut self.state, action, &self.action_space)?;
        self.observe(observation);
        Ok(step)
    }

    fn info(&self) {}

    fn observe(&self, observation: &mut [u8]) {
        self.dynamics.observe(&self.state, observation);
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&(&self.generator, &self.state))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        (self.generator, self.state) = snapshot::decode(snapshot)?;
        Ok(())
    }
}

/// Writes floats as an observation row.
pub(crate) fn write_floats(values: &[f32], observation: &mut [u8]) {
    for (bytes, value) in observation.chunks_exact_mut(size_of::<f32>()).zip(values) {
        bytes.copy_from_slice(&value.to_ne_bytes());
    }
}
