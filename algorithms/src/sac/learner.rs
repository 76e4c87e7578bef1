use burn::module::Module;
use burn::tensor::Tensor;
use rl_env::Batch;

use super::SacConfig;
use super::kind::{Exploring, Kind};
use super::policy::Policy;
use super::temperature::Temperature;
use crate::LearnerError;
use crate::engine::OffPolicyLearner;
use crate::engine::off_policy::OffPolicy;
use crate::engine::training::Training;
use crate::experience::batch_reader::{BatchRow, Observed, rows};
use crate::experience::replay::ActionElement;
use crate::networks::observation_statistics::ObservationStatistics;

/// The networks of SAC, for a kind of actions.
#[derive(Clone)]
pub struct SacAgent<K: Kind> {
    pub(super) actor: Training<K::Actor>,
    pub(super) critics: Training<K::Critics>,
    /// The temperature in training; unused if it is fixed.
    pub(super) temperature: Training<Temperature>,
    /// The target critics, without gradients.
    pub(super) target: K::Critics,
    /// The policy that acts: the weights of the trained networks without gradients.
    pub(super) acting: Policy<K>,
    pub(super) exploration: K::Exploration,
    /// Present if observations are normalised.
    pub(super) statistics: Option<ObservationStatistics>,
}

impl<K: Kind> SacAgent<K> {
    /// Returns the networks with all exported weights.
    pub(super) fn network(&self) -> K::Network {
        K::joined(self.actor.network.clone(), self.critics.network.clone())
    }

    /// Replaces the statistics by which observations are normalised.
    pub(super) fn set_statistics(&mut self, statistics: Option<ObservationStatistics>) {
        if let Some(statistics) = &statistics {
            self.acting.set_statistics(statistics);
        }
        self.statistics = statistics;
    }
}

impl<K: Kind> OffPolicyLearner<SacAgent<K>> {
    /// Returns the temperature of each task, `[tasks]`, without gradients.
    pub(super) fn alphas(&self) -> Tensor<1> {
        let alphas = self.agent.temperature.network.valid().alphas();
        if self.config.autotune { alphas } else { alphas.zeros_like().add_scalar(self.config.alpha) }
    }

    /// Adds the observations before the steps that `batch` ended to the statistics, shard by shard. Rows that are not
    /// steps do not count: an environment that has used up its steps repeats its observation. Observations from the
    /// replay buffer are normalised by the current statistics in each gradient step.
    pub(super) fn observe_statistics(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        let Some(mut statistics) = self.agent.statistics.clone() else { return Ok(()) };
        let OffPolicy { spec, layout, cluster, replay, .. } = &self.off_policy;
        let observation =
            |row: &BatchRow| (spec.task_ids[row.env], layout.values(&replay.last_observation(row.env)));
        let mut steps = rows(batch);
        steps.retain(|row| !batch.autoreset[row.row]);
        let shards = cluster.split(&steps, |step| step.env, spec.num_envs()).into_iter();
        let shards: Vec<_> = shards.map(|rows| statistics.moments(rows.iter().map(observation))).collect();
        let shards = cluster.all_gather_values(&shards)?;
        shards.iter().flatten().for_each(|moments| statistics.add(moments));
        statistics.check(&spec.tasks)?;
        self.agent.set_statistics(Some(statistics));
        Ok(())
    }

    /// Chooses an action for each row, padded to the longest action. Writes the actions that the environments receive.
    pub(super) fn choose(&mut self, batch: &Batch) -> Result<Vec<K::Element>, LearnerError> {
        let SacConfig { learning_starts, noise_correlation, .. } = self.config;
        let policies = self
            .off_policy
            .evaluate_by_shard(batch, |rows| self.agent.acting.row_policies(Observed::of(batch), rows))?;
        let by_env = self.off_policy.by_env(&policies);
        let OffPolicy { spec, action_rng: rng, steps, .. } = &mut self.off_policy;
        let settings = Exploring { is_random: *steps < learning_starts as u64, noise_correlation };
        let width = K::Element::width(spec);
        let mut padded = Vec::with_capacity(batch.len() * width);
        // Every process draws the random numbers of all environments.
        for (env, policy) in by_env.enumerate() {
            let actions = spec.actions(env);
            let action = K::explore(&mut self.agent.exploration, (env, actions), policy, settings, rng);
            if policy.is_some() {
                K::write(actions, &action, &mut self.actions);
                let end = padded.len() + width;
                padded.extend(action);
                padded.resize(end, K::Element::default());
            }
        }
        Ok(padded)
    }
}
