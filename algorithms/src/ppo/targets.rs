//! The targets of an update: advantages and returns, in the value scales of the tasks.

use super::device_targets::DeviceTargets;
use super::explained::Explained;
use super::normalization::Normalization;
use super::rnd::IntrinsicTargets;
use super::{NormAdv, Ppo, PpoConfig, RndConfig};
use crate::LearnerError;
use crate::engine::halt::Halt;
use crate::engine::on_policy::OnPolicy;
use crate::experience::rollout::{Estimates, Rollout};
use crate::networks::observation_statistics::{Normalizer, ObservationStatistics};
use crate::networks::value_scale::{TaskReturn, TaskScales};
use crate::networks::{ActorCritic, TaskNetwork};

/// The targets of a complete rollout, entry by entry. Returns and values have the scale of the network's values.
pub struct Targets {
    pub(super) advantages: Vec<f32>,
    pub(super) returns: Vec<f32>,
    /// The values that the network gave before the update.
    pub(super) values: Vec<f32>,
    /// The weight of the entropy of each task's policy.
    entropy_weights: Vec<f32>,
    /// Present if the network is not on the CPU.
    pub(super) on_device: Option<DeviceTargets>,
    /// The normalisation of observations by the policy that acted.
    pub(super) normalizer: Option<Normalizer>,
    /// The statistics of observations with those of the rollout, for the policy that acts next.
    pub(super) next_statistics: Option<ObservationStatistics>,
    pub(super) explained: Explained,
    /// Present if the update learns from intrinsic rewards.
    pub(super) intrinsic: Option<IntrinsicTargets>,
}

impl Targets {
    /// Returns the columns of an entry's row, in the order of [`RowTargets`](super::row_targets::RowTargets).
    pub(super) fn row(&self, on_policy: &OnPolicy<ActorCritic>, entry: usize) -> [f32; 4] {
        let log_prob = on_policy.rollout.log_prob(entry);
        [log_prob, self.returns[entry], self.values[entry], self.entropy_weights[on_policy.task(entry)]]
    }

    /// Returns the advantages of some transitions of a minibatch, normalised over all of its transitions if configured.
    pub(super) fn advantages_of(
        &self,
        entries: &[usize],
        minibatch: &[usize],
        config: &PpoConfig,
    ) -> Vec<f32> {
        let advantages = |entries: &[usize]| entries.iter().map(|&entry| self.advantages[entry]).collect();
        let mut own: Vec<f32> = advantages(entries);
        if config.norm_adv == NormAdv::Batch {
            Normalization::of(&advantages(minibatch), config.norm_adv_floor).apply(&mut own);
        }
        own
    }

    /// Returns the named columns of a report of a divergence.
    pub(super) fn columns<'a>(&'a self, rollout: &'a Rollout) -> Vec<(&'static str, &'a [f32])> {
        vec![
            ("returns", &self.returns),
            ("advantages", &self.advantages),
            ("values", &self.values),
            ("log_probs", rollout.log_probs()),
        ]
    }
}

impl Ppo {
    /// Computes the targets of a complete rollout, whose `transitions` are entries. Adapts value scales and network.
    pub(super) fn compute_targets(
        &mut self,
        transitions: &[usize],
        stop: &dyn Fn() -> bool,
    ) -> Result<Targets, Halt> {
        let PpoConfig { gamma, gae_lambda, overlap, .. } = self.config;
        let reevaluation = overlap.then(|| self.reevaluate(stop)).transpose()?;
        let OnPolicy { rollout, last_values, training, spec, .. } = &self.on_policy;
        let estimates = rollout.estimates(last_values, reevaluation, gamma, gae_lambda);
        let device = &training.device;
        let normalizer = self.agent.statistics.as_ref().map(|statistics| statistics.normalizer(device));
        let entropy_weights =
            spec.tasks.iter().map(|task| self.config.entropy_weight(&task.actions)).collect();
        // Before anything changes, because an observation may be infinite.
        let next_statistics = self.next_statistics()?;
        let intrinsic = self.intrinsic_targets(transitions, stop)?;
        let tasks = transitions.iter().map(|&entry| self.on_policy.task(entry)).collect();
        let explained = Explained::new(tasks, transitions, &estimates);
        let Estimates { advantages, returns, values } =
            self.rescale(transitions, estimates, intrinsic.as_ref());
        let mut targets = Targets {
            advantages,
            returns,
            values,
            entropy_weights,
            on_device: None,
            normalizer,
            next_statistics,
            explained,
            intrinsic,
        };
        let uploaded = self.on_policy.uploaded();
        targets.on_device = uploaded.map(|uploaded| {
            DeviceTargets::new(&self.on_policy, uploaded, |entry| targets.row(&self.on_policy, entry))
        });
        Ok(targets)
    }

    /// Returns the statistics with the observations of the rollout, added shard by shard. The update itself uses the
    /// statistics with which the policy acted.
    fn next_statistics(&self) -> Result<Option<ObservationStatistics>, LearnerError> {
        let Some(mut statistics) = self.agent.statistics.clone() else { return Ok(None) };
        let OnPolicy { rollout, layout, cluster, spec, .. } = &self.on_policy;
        let observation =
            |entry: usize| (self.on_policy.task(entry), layout.values(rollout.observation(entry)));
        let shards = cluster.own_shards(spec.num_envs()).into_iter().map(|envs| {
            let entries =
                rollout.transitions().into_iter().filter(|&entry| envs.contains(&rollout.env(entry)));
            statistics.moments(entries.map(observation))
        });
        let shards = cluster.all_gather_values(&shards.collect::<Vec<_>>())?;
        shards.iter().flatten().for_each(|moments| statistics.add(moments));
        statistics.check(&spec.tasks)?;
        Ok(Some(statistics))
    }

    /// Updates the value scales with the returns of transitions, and adapts the network. Returns the estimates in the
    /// new scales, with the advantages scaled as configured, together with those of intrinsic rewards.
    fn rescale(
        &mut self,
        transitions: &[usize],
        estimates: Estimates,
        intrinsic: Option<&IntrinsicTargets>,
    ) -> Estimates {
        let OnPolicy { spec, training, rollout, .. } = &mut self.on_policy;
        let scales = &mut self.agent.actor.scales;
        let task = |entry: usize| spec.task_ids[rollout.env(entry)];
        let Estimates { mut values, mut advantages, mut returns } = estimates;
        // Uses the raw outputs of the network, because the first returns of a task change what they mean.
        for (entry, value) in values.iter_mut().enumerate() {
            *value = scales.squash(task(entry), *value);
        }
        let observed: Vec<TaskReturn> =
            transitions.iter().map(|&entry| TaskReturn::new(task(entry), returns[entry])).collect();
        let changes = scales.observe(&observed);
        if !changes.is_empty() {
            training.network = training.network.clone().rescale_values(&changes);
            for (entry, value) in values.iter_mut().enumerate() {
                *value = changes[task(entry)].apply(*value);
            }
        }
        for (entry, value) in returns.iter_mut().enumerate() {
            *value = scales.squash(task(entry), *value);
        }
        let transitions: Vec<(usize, usize)> =
            transitions.iter().map(|&entry| (entry, task(entry))).collect();
        let intrinsic = intrinsic.map(|targets| &*targets.advantages);
        scale_by_task(&mut advantages, &transitions, spec.tasks.len(), &self.config, scales, intrinsic);
        Estimates { values, advantages, returns }
    }
}

/// Scales the advantages of all tasks equally. Divides them by the standard deviation of the task's returns if the
/// value scale has one, adds the `intrinsic` ones, and normalises them per task if configured. `entries` are the
/// transitions of a rollout, each with its task.
pub(super) fn scale_by_task(
    advantages: &mut [f32],
    entries: &[(usize, usize)],
    num_tasks: usize,
    config: &PpoConfig,
    scales: &TaskScales,
    intrinsic: Option<&[f32]>,
) {
    let RndConfig { ext_coef, int_coef, .. } = config.rnd;
    for task in 0..num_tasks {
        let own: Vec<usize> =
            entries.iter().filter(|(_, other)| *other == task).map(|(entry, _)| *entry).collect();
        let deviation = scales.deviation(task).unwrap_or(1.0);
        let of_entry = |&entry: &usize| {
            let scaled = advantages[entry] / deviation;
            match intrinsic {
                Some(intrinsic) => ext_coef * scaled + int_coef * intrinsic[entry],
                None => scaled,
            }
        };
        let mut values: Vec<f32> = own.iter().map(of_entry).collect();
        if config.norm_adv == NormAdv::Game {
            Normalization::of(&values, config.norm_adv_floor).apply(&mut values);
        }
        for (entry, value) in own.into_iter().zip(values) {
            advantages[entry] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValueScale;
    use crate::networks::value_scale::{LEAST_DEVIATION, TaskReturn};

    #[test]
    fn advantages_of_all_tasks_have_the_same_scale() {
        // The first task's advantages are 1 and 3, the second one's 100, 200 and 300; entry 2 is not a
        // transition.
        let advantages = [100.0, 1.0, -9.0, 200.0, 3.0, 300.0];
        let entries = [(0, 1), (1, 0), (3, 1), (4, 0), (5, 1)];
        let scaled = |norm_adv, scales: &TaskScales| {
            let mut values = advantages;
            let config = PpoConfig { norm_adv, ..PpoConfig::default() };
            scale_by_task(&mut values, &entries, 2, &config, scales, None);
            values
        };
        let plain = TaskScales::new(ValueScale::H, 0.1, LEAST_DEVIATION, 2);
        assert_eq!(scaled(NormAdv::None, &plain), advantages);
        assert_eq!(scaled(NormAdv::Batch, &plain), advantages);
        let half = 0.5f32.sqrt();
        for (value, expected) in
            scaled(NormAdv::Game, &plain).into_iter().zip([-1.0, -half, -9.0, 0.0, half, 1.0])
        {
            assert!((value - expected).abs() < 1e-6, "{value} and {expected}");
        }
        // Returns 0 and 100: deviation 50.
        let mut popart = TaskScales::new(ValueScale::PopArt, 0.1, LEAST_DEVIATION, 2);
        popart.observe(&[0.0, 100.0].map(|value| TaskReturn::new(1, value)));
        assert_eq!(scaled(NormAdv::None, &popart), [2.0, 1.0, -9.0, 4.0, 3.0, 6.0]);
        // Twice the advantages in the scale of the game, and once the intrinsic ones.
        let (mut values, config) =
            (advantages, PpoConfig { norm_adv: NormAdv::None, ..PpoConfig::default() });
        let intrinsic = [0.5, 0.0, 7.0, -1.0, 2.0, 0.0];
        scale_by_task(&mut values, &entries, 2, &config, &popart, Some(&intrinsic));
        assert_eq!(values, [4.5, 2.0, -9.0, 7.0, 8.0, 12.0]);
    }
}
