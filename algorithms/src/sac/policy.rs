use std::ops::Range;

use burn::tensor::{Tensor, TensorData};
use kernels::host::to_host;
use rand::Rng;
use rl_env::Batch;

use super::squashed::sample;
use crate::experience::batch_reader::{BatchReader, BatchRow, Observed, ReadRows, rows};
use crate::networks::observation_statistics::{Normalizer, ObservationStatistics};
use crate::networks::{RowTasks, SoftActorCritic, SquashedOutputs, standard_normal};
use crate::{LearnerError, SpecError, VectorSpec};

/// A policy that acts without learning.
#[derive(Clone, Debug)]
pub struct Policy {
    network: SoftActorCritic,
    reader: BatchReader,
    /// Present if observations are normalised.
    normalizer: Option<Normalizer>,
}

/// The distribution of an action before tanh, on the host.
#[derive(Clone)]
pub(super) struct RowPolicy {
    pub(super) means: Vec<f32>,
    pub(super) log_deviations: Vec<f32>,
}

impl RowPolicy {
    /// Returns the components of the action with the given noise, from -1 to 1.
    pub(super) fn action(&self, noise: &[f32]) -> Vec<f32> {
        let components = self.means.iter().zip(&self.log_deviations).zip(noise);
        components.map(|((mean, log_deviation), noise)| (mean + log_deviation.exp() * noise).tanh()).collect()
    }
}

impl Policy {
    /// Creates a policy for the environments of `reader`. The network must not track gradients.
    pub(super) fn new(network: SoftActorCritic, reader: BatchReader) -> Self {
        Self { network, reader, normalizer: None }
    }

    /// Returns this policy for other environments. The policy must know their tasks.
    pub(super) fn for_envs(&self, spec: &VectorSpec) -> Result<Self, SpecError> {
        Ok(Self { reader: self.reader.for_envs(spec)?, ..self.clone() })
    }

    /// Replaces the network.
    pub(super) fn set_network(&mut self, network: SoftActorCritic) {
        self.network = network;
    }

    /// Normalises observations by these statistics from now on.
    pub(super) fn set_statistics(&mut self, statistics: &ObservationStatistics) {
        self.normalizer = Some(statistics.normalizer(self.reader.device()));
    }

    /// Returns the given rows as the network reads them, with their tasks.
    fn read(&self, observed: Observed<'_>, rows: &[BatchRow]) -> (Tensor<2>, RowTasks) {
        let ReadRows { observations, tasks, .. } = self.reader.read(observed, rows);
        match &self.normalizer {
            Some(normalizer) => (normalizer.apply(observations, &tasks), tasks),
            None => (observations, tasks),
        }
    }

    /// Returns the components of each environment's greedy action, one environment after another. Before tanh, the
    /// greedy action is the mean.
    pub fn greedy(&self, batch: &Batch) -> Result<Vec<f32>, LearnerError> {
        self.write(batch, |policy| policy.action(&vec![0.0; policy.means.len()]))
    }

    /// Returns the components of a sampled action of each environment, one environment after another. Draws two random
    /// numbers for each component, in row order.
    pub fn sample(&self, batch: &Batch, rng: &mut impl Rng) -> Result<Vec<f32>, LearnerError> {
        self.write(batch, |policy| {
            let noise: Vec<f32> = policy.means.iter().map(|_| standard_normal(rng) as f32).collect();
            policy.action(&noise)
        })
    }

    fn write(
        &self,
        batch: &Batch,
        mut choose: impl FnMut(&RowPolicy) -> Vec<f32>,
    ) -> Result<Vec<f32>, LearnerError> {
        self.check(batch)?;
        let mut components = Vec::new();
        for (&env, policy) in batch.env_ids.iter().zip(&self.row_policies(Observed::of(batch), &rows(batch))?)
        {
            let actions = self.reader.actions(env).expect_continuous();
            actions.write_scaled(&choose(policy), &mut components);
        }
        Ok(components)
    }

    /// Returns the value of each environment's greedy action: the smaller estimate of the discounted sum of rewards and
    /// weighted entropies that follow.
    pub fn values(&self, batch: &Batch) -> Result<Vec<f32>, LearnerError> {
        self.check(batch)?;
        let (observations, tasks) = self.read(Observed::of(batch), &rows(batch));
        let outputs = self.network.actor.forward(observations.clone(), &tasks);
        let actions = greedy_actions(outputs, &tasks);
        let [first, second] = self.network.critics.forward(observations, actions, &tasks);
        let values = to_host(first.min_pair(second))?;
        match values.iter().position(|value| !value.is_finite()) {
            Some(row) => {
                let what = format!("the value of environment {}", batch.env_ids[row]);
                Err(LearnerError::NonFinite { what })
            }
            None => Ok(values),
        }
    }

    /// Returns the distribution of the action in each of the given rows.
    pub(super) fn row_policies(
        &self,
        observed: Observed<'_>,
        rows: &[BatchRow],
    ) -> Result<Vec<RowPolicy>, LearnerError> {
        let (observations, tasks) = self.read(observed, rows);
        let SquashedOutputs { means, log_deviations } = self.network.actor.forward(observations, &tasks);
        let [_, width] = means.dims();
        let (means, log_deviations) = (to_host(means)?, to_host(log_deviations)?);
        let row = |(row, &BatchRow { env, .. }): (usize, &BatchRow)| {
            let count = self.reader.actions(env).num_components();
            let own = |values: &[f32]| values[row * width..][..count].to_vec();
            let policy = RowPolicy { means: own(&means), log_deviations: own(&log_deviations) };
            let are_finite = policy.means.iter().chain(&policy.log_deviations).all(|value| value.is_finite());
            let what = || format!("a mean or deviation of environment {env}");
            if are_finite { Ok(policy) } else { Err(LearnerError::NonFinite { what: what() }) }
        };
        rows.iter().enumerate().map(row).collect()
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

/// Computes the greedy actions: the tanh of the means, `[rows, components]`.
fn greedy_actions(outputs: SquashedOutputs, rows: &RowTasks) -> Tensor<2> {
    let shape = outputs.means.dims();
    let zeros = TensorData::zeros::<f32, _>(shape);
    let noise = Tensor::from_data(zeros, &outputs.means.device());
    sample(outputs, noise, rows).actions
}
