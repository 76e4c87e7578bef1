use kernels::PackedRows;
use rl_env::Batch;

use super::Policy;
use super::device_sampling::threshold;
use super::policy::Evaluation;
use super::recurrent::RecurrentRollout;
use super::rnd::Rnd;
use crate::LearnerError;
use crate::engine::OnPolicyLearner;
use crate::experience::batch_reader::{Observed, rows};
use crate::networks::observation_statistics::ObservationStatistics;

/// A learner that uses Proximal Policy Optimization. [`ppo`](crate::ppo) shows the order of its methods.
pub type Ppo = OnPolicyLearner<PpoAgent>;

/// The acting part of PPO: the policy with the network's weights, and its value scales.
#[derive(Clone)]
pub struct PpoAgent {
    /// The policy: the network's weights without gradients.
    pub(super) actor: Policy,
    pub(super) recurrent: RecurrentRollout,
    /// Present if observations are normalised.
    pub(super) statistics: Option<ObservationStatistics>,
    /// Present if the agent learns from intrinsic rewards.
    pub(super) rnd: Option<Rnd>,
}

impl PpoAgent {
    /// Replaces the statistics by which observations are normalised.
    pub(super) fn set_statistics(&mut self, statistics: Option<ObservationStatistics>) {
        if let Some(statistics) = &statistics {
            self.actor.set_statistics(statistics);
        }
        self.statistics = statistics;
    }
}

impl Ppo {
    /// Evaluates a batch of this process's environments. Samples the actions too if the device draws them.
    pub(super) fn evaluate(&self, batch: &Batch) -> Result<(Evaluation, Option<PackedRows>), LearnerError> {
        let (actor, state) = (&self.agent.actor, self.agent.recurrent.current());
        let thresholds = actor.samples_on_device().then(|| self.on_policy.next_numbers(batch, threshold));
        let parts = self.on_policy.evaluate_by_shard(&rows(batch), |rows| match &thresholds {
            Some(thresholds) => actor.evaluate_and_sample(Observed::of(batch), rows, &state, thresholds),
            None => actor.evaluate(Observed::of(batch), rows, &state),
        })?;
        let mut evaluation = parts.into_iter().reduce(Evaluation::append).expect("at least one row");
        let packed = evaluation.packed.take();
        Ok((evaluation, packed))
    }
}
