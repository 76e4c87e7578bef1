use crate::{Action, Bound, Dtype, Env, EnvError, ObservationBuffer, Space, Step};

/// A wrapper that turns observations into a vector of 32-bit floats, as learners require: Gymnasium's
/// `FlattenObservation` followed by `DtypeObservation`.
///
/// Discrete values become one-hot, the parts of `Dict` and `Tuple` are concatenated, and all other numbers are rounded
/// to 32 bits (see [`Space::flatten`]).
#[derive(Clone, Debug)]
pub struct FlattenObservation<E> {
    env: E,
    space: Space,
    /// The current observation of the environment, in a single row.
    row: ObservationBuffer,
}

impl<E: Env> FlattenObservation<E> {
    /// Flattens the observations of `env`.
    pub fn new(env: E) -> Self {
        let original = env.observation_space();
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for leaf in original.leaves() {
            let (lowest, highest) = bounds(leaf.space);
            low.extend(lowest);
            high.extend(highest);
        }
        let space = Space::Box {
            low: Bound::each(low),
            high: Bound::each(high),
            shape: vec![original.flat_len()],
            dtype: Dtype::F32,
        };
        let row = ObservationBuffer::new(1, original.byte_len());
        Self { env, space, row }
    }
}

/// Returns the bounds of each element of a flattened space without parts, rounded as the elements are.
fn bounds(space: &Space) -> (Vec<f64>, Vec<f64>) {
    let is_one_hot = matches!(space, Space::Discrete { .. } | Space::MultiDiscrete { .. });
    let rounded = |bound: f64| f64::from(bound as f32);
    let ranges = (0..space.flat_len()).map(|index| if is_one_hot { (0.0, 1.0) } else { space.range(index) });
    ranges.map(|(low, high)| (rounded(low), rounded(high))).unzip()
}

impl<E: Env> Env for FlattenObservation<E> {
    type Info = E::Info;

    crate::forward!(env: action_space, render, snapshot, info);

    fn observation_space(&self) -> &Space {
        &self.space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        self.env.reset(seed, self.row.row_mut(0));
        self.observe(observation);
    }

    fn autoreset(&mut self, observation: &mut [u8]) {
        self.env.autoreset(self.row.row_mut(0));
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let step = self.env.step(action, self.row.row_mut(0))?;
        self.observe(observation);
        Ok(step)
    }

    fn advance(&mut self, action: Action<'_>, _scratch: &mut [u8]) -> Result<Step, EnvError> {
        self.env.step(action, self.row.row_mut(0))
    }

    fn observe(&self, observation: &mut [u8]) {
        let mut flat = vec![0.0; self.space.num_elements()];
        self.env.observation_space().flatten(self.row.row(0), &mut flat);
        observation.copy_from_slice(bytemuck::cast_slice(&flat));
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.env.restore(snapshot)?;
        self.env.observe(self.row.row_mut(0));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_as_the_elements_are() {
        let space =
            Space::Box { low: Bound::All(-0.1), high: Bound::All(0.1), shape: vec![1], dtype: Dtype::F64 };
        let rounded = f64::from(0.1_f32);
        assert_eq!(bounds(&space), (vec![-rounded], vec![rounded]));
    }
}
