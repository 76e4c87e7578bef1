use std::ops::Range;

use kernels::host::to_host;
use rand::Rng;
use rl_env::{ActionBuffer, Batch};

use super::kind::{Kind, States};
use crate::experience::batch_reader::{BatchReader, BatchRow, Observed, ReadRows, rows};
use crate::experience::replay::ActionElement;
use crate::networks::observation_statistics::{Normalizer, ObservationStatistics};
use crate::{LearnerError, SpecError, VectorSpec};

/// A policy that acts without learning.
#[derive(Clone, Debug)]
pub struct Policy<K: Kind> {
    network: K::Network,
    reader: BatchReader,
    /// Present if observations are normalised.
    normalizer: Option<Normalizer>,
}

impl<K: Kind> Policy<K> {
    /// Creates a policy for the environments of `reader`. The network must not track gradients.
    pub(super) fn new(network: K::Network, reader: BatchReader) -> Self {
        Self { network, reader, normalizer: None }
    }

    /// Returns this policy for other environments. The policy must know their tasks.
    pub(super) fn for_envs(&self, spec: &VectorSpec) -> Result<Self, SpecError> {
        Ok(Self { reader: self.reader.for_envs(spec)?, ..self.clone() })
    }

    /// Replaces the network.
    pub(super) fn set_network(&mut self, network: K::Network) {
        self.network = network;
    }

    /// Normalises observations by these statistics from now on.
    pub(super) fn set_statistics(&mut self, statistics: &ObservationStatistics) {
        self.normalizer = Some(statistics.normalizer(self.reader.device()));
    }

    /// Returns the given rows as the network reads them, with their tasks.
    fn read(&self, observed: Observed<'_>, rows: &[BatchRow]) -> States {
        let ReadRows { observations, tasks, .. } = self.reader.read(observed, rows);
        let observations = match &self.normalizer {
            Some(normalizer) => normalizer.apply(observations, &tasks),
            None => observations,
        };
        States { observations, rows: tasks }
    }

    /// Returns an action for each environment of the batch: greedy, or a sample.
    pub fn act(&self, batch: &Batch, greedy: bool, rng: &mut impl Rng) -> Result<ActionBuffer, LearnerError> {
        let elements = if greedy { self.greedy(batch) } else { self.sample(batch, rng) };
        elements.map(K::Element::into_buffer)
    }

    /// Returns the elements of each environment's greedy action, one environment after another: the most probable
    /// choices, or the components whose value before tanh is the mean.
    pub fn greedy(&self, batch: &Batch) -> Result<Vec<K::Element>, LearnerError> {
        self.check(batch)?;
        let mut elements = Vec::new();
        for (&env, policy) in batch.env_ids.iter().zip(&self.batch_policies(batch)?) {
            let actions = self.reader.actions(env);
            K::write(actions, &K::greedy(policy, actions), &mut elements);
        }
        Ok(elements)
    }

    /// Returns the elements of a sampled action of each environment, one environment after another. Draws two random
    /// numbers for each component, or one for each choice, in row order.
    pub fn sample(&self, batch: &Batch, rng: &mut impl Rng) -> Result<Vec<K::Element>, LearnerError> {
        self.check(batch)?;
        let mut elements = Vec::new();
        for (&env, policy) in batch.env_ids.iter().zip(&self.batch_policies(batch)?) {
            let actions = self.reader.actions(env);
            K::write(actions, &K::sample(policy, actions, rng), &mut elements);
        }
        Ok(elements)
    }

    /// Returns the log-probabilities of each environment's actions: of each action of a discrete space, or of each
    /// option of each choice. They are empty for continuous actions.
    pub fn log_probs(&self, batch: &Batch) -> Result<Vec<Vec<f32>>, LearnerError> {
        self.check(batch)?;
        let rows = batch.env_ids.iter().zip(self.batch_policies(batch)?);
        Ok(rows.map(|(&env, policy)| K::log_probs(&policy, self.reader.actions(env))).collect())
    }

    /// Returns the value of each environment when the policy acts: the smaller estimate of the discounted sum of
    /// rewards and weighted entropies that follow its greedy action, or for choices its expectation over the policy.
    pub fn values(&self, batch: &Batch) -> Result<Vec<f32>, LearnerError> {
        self.check(batch)?;
        let states = self.read(Observed::of(batch), &rows(batch));
        let values = to_host(K::values(&self.network, &states, self.reader.tasks()))?;
        match values.iter().position(|value| !value.is_finite()) {
            Some(row) => {
                let what = format!("the value of environment {}", batch.env_ids[row]);
                Err(LearnerError::NonFinite { what })
            }
            None => Ok(values),
        }
    }

    fn batch_policies(&self, batch: &Batch) -> Result<Vec<K::RowPolicy>, LearnerError> {
        self.row_policies(Observed::of(batch), &rows(batch))
    }

    /// Returns the distribution of the action in each of the given rows.
    pub(super) fn row_policies(
        &self,
        observed: Observed<'_>,
        rows: &[BatchRow],
    ) -> Result<Vec<K::RowPolicy>, LearnerError> {
        let actions: Vec<_> = rows.iter().map(|row| (row.env, self.reader.actions(row.env))).collect();
        K::row_policies(&self.network, &self.read(observed, rows), &actions)
    }

    /// Fails unless a batch holds some of the policy's environments, each at most once and in order.
    fn check(&self, batch: &Batch) -> Result<(), LearnerError> {
        self.reader.check(batch)
    }

    /// Fails unless a batch holds all environments of `own`, each once and in order.
    pub(super) fn check_complete(&self, batch: &Batch, own: &Range<usize>) -> Result<(), LearnerError> {
        self.reader.check_complete(batch, own)
    }
}
