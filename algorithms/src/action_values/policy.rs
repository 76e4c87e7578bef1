use std::ops::Range;

use kernels::PackedRows;
use kernels::host::to_host;
use rand::Rng;
use rl_env::Batch;

use super::Head;
use crate::experience::batch_reader::{BatchReader, BatchRow, Observed, ReadRows, rows};
use crate::networks::value_scale::{Rescaling, TaskReturn, TaskScales};
use crate::networks::{Noise, QNetwork, TaskNetwork};
use crate::{JointActions, LearnerError, SpecError, TaskActions, VectorSpec};

/// A trained policy over action values, used without learning.
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

    /// Returns this policy for other environments. The policy must know their tasks.
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

    /// Updates the value scales with returns, and adapts the network so that its predictions do not change. Returns the
    /// changes to apply to other networks that use these scales.
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

    /// Returns the elements of the greedy action of each environment. Ties go to the first action.
    pub fn greedy(&self, batch: &Batch) -> Result<Vec<i32>, LearnerError> {
        let values = self.values_with_noise(batch, None)?;
        Ok(self.elements(batch, &values, |actions, values| greedy(actions.expect_joint(), values)))
    }

    /// Returns the elements of each environment's action: a random one with probability `epsilon`, otherwise the greedy
    /// one. For each row, in order, draws one random number and one more per choice.
    pub fn epsilon_greedy(
        &self,
        batch: &Batch,
        epsilon: f64,
        rng: &mut impl Rng,
    ) -> Result<Vec<i32>, LearnerError> {
        let values = self.values_with_noise(batch, None)?;
        Ok(self.elements(batch, &values, |actions, values| epsilon_greedy(actions, values, epsilon, rng)))
    }

    /// Returns the elements of the action that `choose` selects for each environment.
    fn elements(
        &self,
        batch: &Batch,
        values: &[Vec<f32>],
        mut choose: impl FnMut(&TaskActions, &[f32]) -> Vec<i32>,
    ) -> Vec<i32> {
        let mut elements = Vec::with_capacity(batch.len());
        for (&env, values) in batch.env_ids.iter().zip(values) {
            let actions = self.reader.actions(env);
            actions.expect_joint().write(&choose(actions, values), &mut elements);
        }
        elements
    }

    /// Returns the values of each environment's legal actions: estimates of the discounted sum of future rewards as the
    /// learner sees them. If the network is noisy or distributional, they are means. For `MultiDiscrete`, returns the
    /// value of each option of each choice instead. Actions that a mask does not allow have the value minus infinity.
    pub fn values(&self, batch: &Batch) -> Result<Vec<Vec<f32>>, LearnerError> {
        let of_env = |(&env, values): (&usize, Vec<f32>)| {
            let actions = self.reader.joint_actions(env);
            let sums = actions.sums(|node, edge| values[actions.nodes()[node][edge].column]);
            // The value of an action is the mean over its choices.
            let choices = if actions.factors().is_some() { actions.num_choices() } else { 1 };
            sums.into_iter().map(|sum| sum / choices as f32).collect()
        };
        Ok(batch.env_ids.iter().zip(self.values_with_noise(batch, None)?).map(of_env).collect())
    }

    /// Returns the values of the options of each environment's choices, with the given noise: minus infinity for
    /// options that a mask does not allow.
    pub(crate) fn values_with_noise(
        &self,
        batch: &Batch,
        noise: Option<&Noise>,
    ) -> Result<Vec<Vec<f32>>, LearnerError> {
        Ok(self.evaluate_batch(batch, noise)?.0)
    }

    /// Evaluates the options for all rows of a batch. Also returns the packed observations if they are on a device.
    pub(crate) fn evaluate_batch(
        &self,
        batch: &Batch,
        noise: Option<&Noise>,
    ) -> Result<(Vec<Vec<f32>>, Option<PackedRows>), LearnerError> {
        self.check(batch)?;
        self.evaluate(Observed::of(batch), &rows(batch), noise)
    }

    /// Returns the value of the greedy action for each observation. `masks` and `envs` hold the action mask and the
    /// environment of each observation; an environment may occur several times. Waits for the device once.
    pub(crate) fn best_values(
        &self,
        observations: &[&[u8]],
        masks: &[&[u8]],
        envs: &[usize],
    ) -> Result<Vec<f32>, LearnerError> {
        let (values, _) = self.evaluate_observations(observations, masks, envs, None)?;
        let rows = envs.iter().zip(&values);
        Ok(rows.map(|(&env, values)| best_value(self.reader.joint_actions(env), values)).collect())
    }

    /// Evaluates the options for the given rows. Also returns the packed observations if they are on
    /// a device.
    pub(crate) fn evaluate(
        &self,
        observed: Observed<'_>,
        rows: &[BatchRow],
        noise: Option<&Noise>,
    ) -> Result<(Vec<Vec<f32>>, Option<PackedRows>), LearnerError> {
        let envs: Vec<usize> = rows.iter().map(|row| row.env).collect();
        let observations: Vec<&[u8]> = rows.iter().map(|row| observed.observation(row.row)).collect();
        let masks: Vec<&[u8]> = rows.iter().map(|row| observed.mask(row.row)).collect();
        self.evaluate_observations(&observations, &masks, &envs, noise)
    }

    fn evaluate_observations(
        &self,
        observations: &[&[u8]],
        masks: &[&[u8]],
        envs: &[usize],
        noise: Option<&Noise>,
    ) -> Result<(Vec<Vec<f32>>, Option<PackedRows>), LearnerError> {
        let ReadRows { observations, tasks, packed } =
            self.reader.read_observations(observations, masks, envs);
        let tensor = self.network.forward(observations, &tasks, noise);
        let [_, columns, atoms] = tensor.dims();
        let outputs = to_host(tensor)?;
        let of_env = |((&env, mask), outputs): ((&usize, &&[u8]), &[f32])| {
            let (task, num_outputs) = (self.reader.task(env), self.reader.joint_actions(env).num_outputs());
            let values = self.head.values(task, outputs, num_outputs);
            if values.iter().all(|value| value.is_finite()) {
                Ok(mask_values(values, mask))
            } else {
                Err(LearnerError::NonFinite { what: format!("a value of environment {env}") })
            }
        };
        let values = envs.iter().zip(masks).zip(outputs.chunks_exact(columns * atoms)).map(of_env);
        Ok((values.collect::<Result<_, _>>()?, packed))
    }

    /// Fails unless a batch holds some of the policy's environments, each at most once and in order.
    pub(crate) fn check(&self, batch: &Batch) -> Result<(), LearnerError> {
        self.reader.check(batch)
    }

    /// Fails unless a batch holds all environments of `own`.
    pub(crate) fn check_complete(&self, batch: &Batch, own: &Range<usize>) -> Result<(), LearnerError> {
        self.reader.check_complete(batch, own)
    }
}

/// Replaces the values of the options that an action mask does not allow with minus infinity. An empty mask allows all.
pub(crate) fn mask_values(mut values: Vec<f32>, mask: &[u8]) -> Vec<f32> {
    for (value, _) in values.iter_mut().zip(mask).filter(|(_, allowed)| **allowed == 0) {
        *value = f32::NEG_INFINITY;
    }
    values
}

/// Returns the options of the legal action with the largest sum of values. Ties go to the first action.
pub(crate) fn greedy(actions: &JointActions, values: &[f32]) -> Vec<i32> {
    actions.best(|node, edge| values[actions.nodes()[node][edge].column])
}

/// Returns the value of the greedy action: the mean of the values of its options.
pub(crate) fn best_value(actions: &JointActions, values: &[f32]) -> f32 {
    let options = greedy(actions, values);
    actions.columns(&options).map(|column| values[column]).sum::<f32>() / actions.num_choices() as f32
}

/// Returns the options of a random legal action with probability `epsilon`, otherwise those of the greedy action. In
/// both cases draws one random number and one more per choice. Actions whose value is minus infinity are never chosen.
pub(crate) fn epsilon_greedy(
    actions: &TaskActions,
    values: &[f32],
    epsilon: f64,
    rng: &mut impl Rng,
) -> Vec<i32> {
    let explores = rng.random::<f64>() < epsilon;
    let is_allowed = |column: usize| values[column] > f32::NEG_INFINITY;
    let random = actions.random(is_allowed, rng);
    if explores { random } else { greedy(actions.expect_joint(), values) }
}

/// Draws and discards the random numbers that [`epsilon_greedy`] would use.
pub(crate) fn skip_epsilon_greedy(actions: &TaskActions, rng: &mut impl Rng) {
    let _: f64 = rng.random();
    actions.random(|_| true, rng);
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::testing::{all_actions, random_actions};

    #[test]
    fn random_actions_are_legal_and_as_frequent_as_epsilon() {
        let rows = [(3, [0.0, 5.0, 1.0]), (2, [2.0, 1.0, 9.0])];
        let rows = rows.map(|(n, values)| (TaskActions::Joint(JointActions::discrete(n)), values));
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = [[0; 3]; 2];
        for _ in 0..30_000 {
            for (counts, (actions, values)) in counts.iter_mut().zip(&rows) {
                counts[epsilon_greedy(actions, values, 0.3, &mut rng)[0] as usize] += 1;
            }
        }
        assert_eq!(counts[1][2], 0);
        // 0.1 of three actions, 0.15 of two; five standard deviations are at most 310.
        let near = |count: i32, expected: i32| (count - expected).abs() < 310;
        assert!(
            near(counts[0][0], 3000) && near(counts[0][2], 3000) && near(counts[1][1], 4500),
            "{counts:?}"
        );
        let best = rows.each_ref().map(|(actions, values)| epsilon_greedy(actions, values, 0.0, &mut rng));
        assert_eq!(best, [[1], [0]]);
    }

    #[test]
    fn masked_actions_are_explored_uniformly_among_those_that_are_allowed() {
        let actions = TaskActions::from(JointActions::product(&[3, 2]).unwrap()).masked();
        let values = mask_values(vec![5.0, 1.0, 2.0, 4.0, 3.0], &[0, 1, 1, 0, 1]);
        assert_eq!(values, [f32::NEG_INFINITY, 1.0, 2.0, f32::NEG_INFINITY, 3.0]);
        let joint = actions.expect_joint();
        assert_eq!((greedy(joint, &values), best_value(joint, &values)), (vec![2, 1], 2.5));
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut skipped = rng.clone();
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            let options = epsilon_greedy(&actions, &values, 1.0, &mut rng);
            assert_eq!(options[1], 1);
            counts[options[0] as usize] += 1;
            skip_epsilon_greedy(&actions, &mut skipped);
        }
        // Five standard deviations of a binomial count are 250.
        assert!(counts[0] == 0 && i32::abs(counts[1] - 5000) < 250, "{counts:?}");
        assert_eq!(rng, skipped);
        assert_eq!(mask_values(vec![1.0], &[]), [1.0]);
    }

    #[test]
    fn a_single_choice_is_explored_with_the_same_random_numbers_as_an_index() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut same = rng.clone();
        for n in (1..10).cycle().take(1000) {
            let values: Vec<f32> = (0..n).map(|index| (7 * index % 5) as f32).collect();
            let (explores, random) = (same.random::<f64>() < 0.5, same.random_range(0..n));
            let expected = if explores { random } else { crate::testing::argmax(&values) };
            let actions = JointActions::discrete(n);
            let options = epsilon_greedy(&actions.clone().into(), &values, 0.5, &mut rng);
            assert_eq!(options, [expected as i32]);
            assert_eq!(best_value(&actions, &values), values[crate::testing::argmax(&values)]);
        }
    }

    #[test]
    fn the_greedy_action_has_the_largest_sum_of_all_legal_actions() {
        for seed in 0..200 {
            println!("seed {seed}");
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let actions = random_actions(&mut rng);
            let values: Vec<f32> = (0..actions.num_outputs()).map(|_| rng.random_range(-1.0..1.0)).collect();
            let start = |choice: usize| actions.sizes()[..choice].iter().sum::<usize>();
            let mean = |options: &Vec<i32>| {
                let each =
                    (0..).zip(options).map(|(choice, &option)| values[start(choice) + option as usize]);
                each.sum::<f32>() / options.len() as f32
            };
            let largest = all_actions(&actions).iter().map(mean).fold(f32::NEG_INFINITY, f32::max);
            let greedy = greedy(&actions, &values);
            assert!((mean(&greedy) - largest).abs() < 1e-6);
            assert!((best_value(&actions, &values) - largest).abs() < 1e-6);
        }
    }
}
