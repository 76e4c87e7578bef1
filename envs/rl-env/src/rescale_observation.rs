use crate::{Action, Bound, Dtype, Env, EnvError, Space, Step};

/// A wrapper that rescales bounded observations to -1..=1: Gymnasium's `RescaleObservation` with those bounds.
///
/// An element `x` with finite bounds `low < high` becomes `2 (x - low) / (high - low) - 1`; others stay unchanged.
/// Networks learn little from small inputs, such as the velocity of the mountain car, which is at most 0.07.
#[derive(Clone, Debug)]
pub struct RescaleObservation<E> {
    env: E,
    space: Space,
    /// The bounds of each element that is rescaled.
    ranges: Vec<Option<(f64, f64)>>,
}

impl<E: Env> RescaleObservation<E> {
    /// Rescales the observations of `env`. Returns `None` unless its observation space is a [`Space::Box`] of 32-bit
    /// floats.
    pub fn new(env: E) -> Option<Self> {
        let Space::Box { low, high, shape, dtype: Dtype::F32 } = env.observation_space() else { return None };
        let bounds: Vec<_> =
            (0..shape.iter().product()).map(|index| (low.of(index), high.of(index))).collect();
        let rescaled = |(low, high): (f64, f64)| low.is_finite() && high.is_finite() && low < high;
        let shown = |&bounds: &(f64, f64)| if rescaled(bounds) { (-1.0, 1.0) } else { bounds };
        let (lowest, highest): (Vec<_>, Vec<_>) = bounds.iter().map(shown).unzip();
        let space = Space::Box {
            low: Bound::each(lowest),
            high: Bound::each(highest),
            shape: shape.clone(),
            dtype: Dtype::F32,
        };
        let ranges = bounds.into_iter().map(|bounds| rescaled(bounds).then_some(bounds)).collect();
        Some(Self { env, space, ranges })
    }

    /// Returns the bounds `(low, high)` of each element that is rescaled, which are -1 and 1 in observations.
    pub fn ranges(&self) -> &[Option<(f64, f64)>] {
        &self.ranges
    }

    /// Rescales a row that the environment has written.
    fn rescale(&self, observation: &mut [u8]) {
        for (bytes, range) in observation.as_chunks_mut().0.iter_mut().zip(&self.ranges) {
            if let Some((low, high)) = range {
                let value = f64::from(f32::from_ne_bytes(*bytes));
                let rescaled = 2.0 * (value - low) / (high - low) - 1.0;
                *bytes = (rescaled as f32).to_ne_bytes();
            }
        }
    }
}

impl<E: Env> Env for RescaleObservation<E> {
    type Info = E::Info;

    crate::forward!(env: action_space, advance, render, snapshot, restore, info);

    fn observation_space(&self) -> &Space {
        &self.space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        self.env.reset(seed, observation);
        self.rescale(observation);
    }

    fn autoreset(&mut self, observation: &mut [u8]) {
        self.env.autoreset(observation);
        self.rescale(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let step = self.env.step(action, observation)?;
        self.rescale(observation);
        Ok(step)
    }

    fn observe(&self, observation: &mut [u8]) {
        self.env.observe(observation);
        self.rescale(observation);
    }
}
