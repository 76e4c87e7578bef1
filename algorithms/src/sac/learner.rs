use burn::module::Module;
use burn::tensor::Tensor;
use rl_env::Batch;

use super::exploration::Exploration;
use super::temperature::Temperature;
use super::{Policy, SacConfig};
use crate::LearnerError;
use crate::engine::OffPolicyLearner;
use crate::engine::off_policy::OffPolicy;
use crate::engine::training::Training;
use crate::experience::batch_reader::{BatchRow, Observed, rows};
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::{SoftActorCritic, SquashedActor, TwinCritic};

/// A learner that uses Soft Actor-Critic. [`sac`](crate::sac) shows the order of its methods. Its updates are the
/// gradient steps of the critics.
pub type Sac = OffPolicyLearner<SacAgent>;

/// The networks of SAC.
#[derive(Clone)]
pub struct SacAgent {
    pub(super) actor: Training<SquashedActor>,
    pub(super) critics: Training<TwinCritic>,
    /// The temperature in training; unused if it is fixed.
    pub(super) temperature: Training<Temperature>,
    /// The target critics, without gradients.
    pub(super) target: TwinCritic,
    /// The policy that acts: the weights of the trained networks without gradients.
    pub(super) acting: Policy,
    pub(super) exploration: Exploration,
    /// Present if observations are normalised.
    pub(super) statistics: Option<ObservationStatistics>,
}

impl SacAgent {
    /// Returns the networks with all exported weights.
    pub(super) fn network(&self) -> SoftActorCritic {
        SoftActorCritic { actor: self.actor.network.clone(), critics: self.critics.network.clone() }
    }

    /// Replaces the statistics by which observations are normalised.
    pub(super) fn set_statistics(&mut self, statistics: Option<ObservationStatistics>) {
        if let Some(statistics) = &statistics {
            self.acting.set_statistics(statistics);
        }
        self.statistics = statistics;
    }
}

impl Sac {
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

    /// Chooses an action for each row, in -1..=1, padded to the largest number of components.
    pub(super) fn choose(&mut self, batch: &Batch) -> Result<Vec<f32>, LearnerError> {
        let SacConfig { learning_starts, noise_correlation, .. } = self.config;
        let policies = self
            .off_policy
            .evaluate_by_shard(batch, |rows| self.agent.acting.row_policies(Observed::of(batch), rows))?;
        let by_env = self.off_policy.by_env(&policies);
        let OffPolicy { spec, action_rng: rng, steps, .. } = &mut self.off_policy;
        let is_random = *steps < learning_starts as u64;
        let width = spec.max_components();
        let mut padded = Vec::with_capacity(batch.len() * width);
        // Every process draws the noise of all environments.
        for (env, policy) in by_env.enumerate() {
            let end = padded.len() + width;
            if is_random {
                let random = self.agent.exploration.random(env, noise_correlation, rng);
                padded.extend(policy.iter().flat_map(|policy| &random[..policy.means.len()]));
            } else {
                let noise = self.agent.exploration.noise(env, noise_correlation, rng);
                padded.extend(policy.iter().flat_map(|policy| policy.action(noise)));
            }
            if policy.is_some() {
                padded.resize(end, 0.0);
            }
        }
        Ok(padded)
    }
}
