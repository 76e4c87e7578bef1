use crate::{Action, Dtype, Env, EnvError, Space, Step};

/// A wrapper that rounds observations to 32-bit floats, which learners need: Gymnasium's `DtypeObservation` with `float32`.
#[derive(Clone, Debug)]
pub struct Float32Observation<E> {
    env: E,
    space: Space,
    /// The current observation of the environment.
    row: Vec<u8>,
}

impl<E: Env> Float32Observation<E> {
    /// Rounds the observations of `env`. Returns `None` unless its observation space is a [`Space::Box`] of 64-bit floats.
    pub fn new(env: E) -> Option<Self> {
        let Space::Box { low, high, shape, dtype: Dtype::F64 } = env.observation_space() else { return None };
        let (low, high, shape) = (low.clone(), high.clone(), shape.clone());
        let space = Space::Box { low, high, shape, dtype: Dtype::F32 };
        let row = vec![0; env.observation_space().byte_len()];
        Some(Self { env, space, row })
    }
}

impl<E: Env> Env for Float32Observation<E> {
    type Info = E::Info;

    fn observation_space(&self) -> &Space {
        &self.space
    }

    fn action_space(&self) -> &Space {
        self.env.action_space()
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        self.env.reset(seed, &mut self.row);
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let step = self.env.step(action, &mut self.row)?;
        self.observe(observation);
        Ok(step)
    }

    fn advance(&mut self, action: Action<'_>, _scratch: &mut [u8]) -> Result<Step, EnvError> {
        self.env.step(action, &mut self.row)
    }

    fn info(&self) -> Self::Info {
        self.env.info()
    }

    fn observe(&self, observation: &mut [u8]) {
        let (numbers, rounded) = (self.row.as_chunks().0, observation.as_chunks_mut().0);
        for (rounded, number) in rounded.iter_mut().zip(numbers) {
            *rounded = (f64::from_ne_bytes(*number) as f32).to_ne_bytes();
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        self.env.snapshot()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.env.restore(snapshot)?;
        self.env.observe(&mut self.row);
        Ok(())
    }
}
