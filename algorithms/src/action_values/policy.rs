use rand::Rng;
use rl_env::{Batch, ObservationBuffer};

use super::Head;
use crate::batch_reader::{BatchReader, BatchRow, ReadRows, rows};
use crate::host::to_host;
use crate::networks::{Noise, PackedRows, QNetwork};
use crate::value_scale::{Rescaling, TaskReturn, TaskScales};
use crate::{LearnerError, SpecError, VectorSpec, categorical};

/// A trained policy over action values, used for evaluation only.
#[derive(Clone, Debug)]
pub struct Policy {
    network: QNetwork,
    head: Head,
    reader: BatchReader,
}

impl Policy {
    /// Creates a policy for the environments of `reader`. The network must not track gradients.
    pub(crate) fn new(network: QNetwork, head: Head, reader: BatchReader) -> Self {
        Self { network, head, reader }
    }

    /// Returns the same policy for other environments. The policy must know their tasks.
    pub(crate) fn for_envs(&self, spec: &VectorSpec) -> Result<Self, SpecError> {
        Ok(Self { reader: self.reader.for_envs(spec)?, ..self.clone() })
    }

    /// Returns the interpretation of the network's outputs.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the value scales of the tasks.
    pub(crate) fn scales_mut(&mut self) -> &mut TaskScales {
        &mut self.head.scales
    }

    /// Updates the value scales with returns, and adapts the network so that its predictions do not change. Returns
    /// the changes that other networks with these scales need.
    pub(crate) fn update_scales(&mut self, returns: &[TaskReturn]) -> Vec<Rescaling> {
        let changes = self.head.scales.observe(returns);
        if !changes.is_empty() {
            self.network = self.network.clone().rescale_values(&changes);
        }
        changes
    }

    /// Replaces the network.
    pub(crate) fn set_network(&mut self, network: QNetwork) {
        self.network = network;
    }

    /// Returns the greedy action for each environment, the first one if several are equal.
    pub fn greedy(&self, batch: &Batch) -> Result<Vec<i32>, LearnerError> {
        let values = self.values(batch)?;
        Ok(values.iter().map(|values| categorical::argmax(values) as i32).collect())
    }

    /// Returns a random action with probability `epsilon`, else the greedy one. Draws two random numbers per
    /// row, in row order.
    pub fn epsilon_greedy(
        &self,
        batch: &Batch,
        epsilon: f64,
        rng: &mut impl Rng,
    ) -> Result<Vec<i32>, LearnerError> {
        Ok(epsilon_greedy(&self.values(batch)?, epsilon, rng))
    }

    /// Returns for each environment the values of its legal actions: estimates of the discounted sum of
    /// future rewards, as learners see them. They are means if the network is noisy or distributional.
    pub fn values(&self, batch: &Batch) -> Result<Vec<Vec<f32>>, LearnerError> {
        self.values_with_noise(batch, None)
    }

    /// Like [`values`](Self::values), with the given noise.
    pub(crate) fn values_with_noise(
        &self,
        batch: &Batch,
        noise: Option<&Noise>,
    ) -> Result<Vec<Vec<f32>>, LearnerError> {
        Ok(self.evaluate_batch(batch, noise)?.0)
    }

    /// Evaluates all rows of a batch. Also returns the packed observations, if they are on a device.
    pub(crate) fn evaluate_batch(
        &self,
        batch: &Batch,
        noise: Option<&Noise>,
    ) -> Result<(Vec<Vec<f32>>, Option<PackedRows>), LearnerError> {
        self.check(batch)?;
        self.evaluate(&batch.observations, &rows(batch), noise)
    }

    /// Returns the values of the given rows of `observations`.
    pub(crate) fn values_of_rows(
        &self,
        observations: &ObservationBuffer,
        rows: &[BatchRow],
        noise: Option<&Noise>,
    ) -> Result<Vec<Vec<f32>>, LearnerError> {
        Ok(self.evaluate(observations, rows, noise)?.0)
    }

    /// Evaluates the given rows of `observations`. Also returns the packed observations, if they are on a
    /// device.
    fn evaluate(
        &self,
        observations: &ObservationBuffer,
        rows: &[BatchRow],
        noise: Option<&Noise>,
    ) -> Result<(Vec<Vec<f32>>, Option<PackedRows>), LearnerError> {
        let ReadRows { observations, tasks, packed } = self.reader.read(observations, rows);
        let tensor = self.network.forward(observations, &tasks, noise);
        let [_, actions, atoms] = tensor.dims();
        let outputs = to_host(tensor)?;
        let of_row = |(row, outputs): (&BatchRow, &[f32])| {
            let (task, num_actions) = (self.reader.task(row.env), self.reader.num_actions(row.env));
            let values = self.head.values(task, outputs, num_actions);
            if values.iter().all(|value| value.is_finite()) {
                Ok(values)
            } else {
                Err(LearnerError::NonFinite { what: format!("a value of environment {}", row.env) })
            }
        };
        let values = rows.iter().zip(outputs.chunks_exact(actions * atoms)).map(of_row);
        Ok((values.collect::<Result<_, _>>()?, packed))
    }

    /// Fails unless a batch holds some of the policy's environments, each at most once and in order.
    pub(crate) fn check(&self, batch: &Batch) -> Result<(), LearnerError> {
        self.reader.check(batch)
    }

    /// Fails unless a batch holds all of the policy's environments.
    pub(crate) fn check_complete(&self, batch: &Batch) -> Result<(), LearnerError> {
        self.reader.check_complete(batch)
    }
}

/// Returns for each row of values a random index with probability `epsilon`, else the index of the largest.
/// Draws two random numbers per row in both cases.
pub(crate) fn epsilon_greedy(values: &[Vec<f32>], epsilon: f64, rng: &mut impl Rng) -> Vec<i32> {
    let choose = |values: &Vec<f32>| {
        let explores = rng.random::<f64>() < epsilon;
        let random = rng.random_range(0..values.len());
        if explores { random as i32 } else { categorical::argmax(values) as i32 }
    };
    values.iter().map(choose).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn random_actions_are_legal_and_as_frequent_as_epsilon() {
        let values = [vec![0.0, 5.0, 1.0], vec![2.0, 1.0]];
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = [[0; 3]; 2];
        for _ in 0..30_000 {
            for (counts, action) in counts.iter_mut().zip(epsilon_greedy(&values, 0.3, &mut rng)) {
                counts[action as usize] += 1;
            }
        }
        assert_eq!(counts[1][2], 0);
        // 0.1 of three actions, 0.15 of two; five standard deviations are at most 310.
        let near = |count: i32, expected: i32| (count - expected).abs() < 310;
        assert!(
            near(counts[0][0], 3000) && near(counts[0][2], 3000) && near(counts[1][1], 4500),
            "{counts:?}"
        );
        assert_eq!(epsilon_greedy(&values, 0.0, &mut rng), [1, 0]);
    }
}
