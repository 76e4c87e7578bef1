use std::borrow::Cow;

use burn::tensor::{Int, Tensor};
use kernels::host::{floats, indices};

use super::device_targets::{DeviceTargets, RowTargets};
use super::row_actions::RowActions;
use super::{NormAdv, PpoConfig};
use crate::engine::on_policy::OnPolicy;
use crate::networks::observation_statistics::Normalizer;
use crate::networks::value_scale::TaskScales;
use crate::networks::{ActorCritic, Outputs, RowTasks, Sequences};

/// The targets of a complete rollout, entry by entry. Returns and values have the scale of the network's values.
pub(super) struct Targets {
    pub(super) advantages: Vec<f32>,
    pub(super) returns: Vec<f32>,
    /// The values that the network gave before the update.
    pub(super) values: Vec<f32>,
    /// Present if the network is not on the CPU.
    pub(super) on_device: Option<DeviceTargets>,
}

impl Targets {
    /// Returns the advantages, entry by entry. Those of the entries in `minibatch` are normalised if configured.
    pub(super) fn advantages_of(&self, minibatch: &[usize], config: &PpoConfig) -> Cow<'_, [f32]> {
        if config.norm_adv != NormAdv::Batch {
            return Cow::Borrowed(&self.advantages);
        }
        let mut own: Vec<f32> = minibatch.iter().map(|&entry| self.advantages[entry]).collect();
        normalize(&mut own, config.norm_adv_floor);
        let mut all = self.advantages.clone();
        minibatch.iter().zip(own).for_each(|(&entry, advantage)| all[entry] = advantage);
        Cow::Owned(all)
    }
}

/// A minibatch, or a shard of one: some steps of a rollout as tensors.
pub(super) struct Minibatch {
    /// The observations of all rows. The fields below `kept` hold transitions only.
    pub(super) observations: Tensor<2>,
    pub(super) rows: RowTasks,
    /// The rows as sequences, for a recurrent network.
    pub(super) sequences: Option<Sequences>,
    /// Indices of the rows that are transitions, unless all are.
    kept: Option<Tensor<1, Int>>,
    pub(super) actions: RowActions,
    pub(super) advantages: Tensor<1>,
    pub(super) of_rows: RowTargets,
}

impl Minibatch {
    /// Collects the given entries of a rollout, at least one of which must be a transition. `advantages` are used
    /// instead of those of `targets`.
    pub(super) fn gather(
        on_policy: &OnPolicy<ActorCritic>,
        normalizer: Option<&Normalizer>,
        targets: &Targets,
        advantages: &[f32],
        rows: &[usize],
        sequences: Option<Sequences>,
        config: &PpoConfig,
    ) -> Self {
        let OnPolicy { spec, training, rollout, .. } = on_policy;
        let device = &training.device;
        let task = |entry: usize| spec.task_ids[rollout.env(entry)];
        let tasks = rows.iter().map(|&entry| task(entry));
        let places = targets.on_device.as_ref().map(|of_rollout| (of_rollout, on_policy.places(rows)));
        let (row_tasks, observations) = match &places {
            Some((of_rollout, places)) => {
                let tasks = of_rollout.tasks(tasks.collect(), places.clone());
                (tasks, on_policy.uploaded_observations(places.clone()))
            }
            None => (RowTasks::new(tasks, &spec.tasks, device), on_policy.observations(rows)),
        };
        let observations = match normalizer {
            Some(normalizer) => normalizer.apply(observations, &row_tasks),
            None => observations,
        };
        let (kept, entries): (Vec<usize>, Vec<usize>) =
            (0..).zip(rows.iter().copied()).filter(|&(_, entry)| rollout.is_transition(entry)).unzip();
        let kept = (entries.len() < rows.len()).then(|| indices(kept.into_iter(), device));
        let places = places.map(|(of_rollout, places)| match &kept {
            Some(kept) => (of_rollout, places.select(0, kept.clone())),
            None => (of_rollout, places),
        });
        let column = |value: &dyn Fn(usize) -> f32| {
            floats(entries.iter().map(|&entry| value(entry)).collect(), [entries.len()], device)
        };
        let of_rows = match &places {
            Some((of_rollout, places)) => of_rollout.targets(places.clone()),
            None => RowTargets {
                log_probs: column(&|entry| rollout.log_prob(entry)),
                returns: column(&|entry| targets.returns[entry]),
                values: column(&|entry| targets.values[entry]),
                entropy_weights: column(&|entry| {
                    if config.norm_ent { spec.tasks[task(entry)].actions.inverse_entropy() } else { 1.0 }
                }),
            },
        };
        let options = places.and_then(|(of_rollout, places)| of_rollout.options(places));
        Self {
            observations,
            rows: row_tasks,
            sequences,
            kept,
            actions: match options {
                Some(options) => RowActions::single(options),
                None => RowActions::new(&entries, task, rollout, &spec.tasks, device),
            },
            advantages: column(&|entry| advantages[entry]),
            of_rows,
        }
    }

    /// Selects the rows that are transitions.
    pub(super) fn transitions(&self, outputs: Outputs) -> Outputs {
        let Some(kept) = &self.kept else { return outputs };
        Outputs {
            logits: outputs.logits.select(0, kept.clone()),
            log_deviations: outputs.log_deviations.map(|deviations| deviations.select(0, kept.clone())),
            squashes: outputs.squashes,
            values: outputs.values.select(0, kept.clone()),
        }
    }
}

/// Scales the advantages of all tasks equally. Divides them by the standard deviation of the task's returns if the
/// value scale has one, and normalises them per task if configured. `entries` are the transitions of a rollout, each
/// with its task.
pub(super) fn scale_by_task(
    advantages: &mut [f32],
    entries: &[(usize, usize)],
    num_tasks: usize,
    config: &PpoConfig,
    scales: &TaskScales,
) {
    for task in 0..num_tasks {
        let own: Vec<usize> =
            entries.iter().filter(|&&(_, of)| of == task).map(|&(entry, _)| entry).collect();
        let deviation = scales.deviation(task).unwrap_or(1.0);
        let mut values: Vec<f32> = own.iter().map(|&entry| advantages[entry] / deviation).collect();
        if config.norm_adv == NormAdv::Game {
            normalize(&mut values, config.norm_adv_floor);
        }
        for (entry, value) in own.into_iter().zip(values) {
            advantages[entry] = value;
        }
    }
}

/// Shifts to mean 0, and divides by the (unbiased) standard deviation, but at least by `floor`. A single value is left
/// unchanged.
fn normalize(values: &mut [f32], floor: f32) {
    if values.len() < 2 {
        return;
    }
    let count = values.len() as f64;
    let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0)).sqrt().max(f64::from(floor));
    for value in values {
        *value = ((f64::from(*value) - mean) / (deviation + 1e-8)) as f32;
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
            scale_by_task(&mut values, &entries, 2, &config, scales);
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
    }

    #[test]
    fn normalisation_by_hand() {
        // Mean 3, unbiased variance (4 + 0 + 4) / 2 = 4.
        let mut values = [1.0, 3.0, 5.0];
        normalize(&mut values, 0.0);
        for (value, expected) in values.iter().zip([-1.0, 0.0, 1.0]) {
            assert!((value - expected).abs() < 1e-6, "{values:?}");
        }
        // The floor counts only above the deviation.
        let mut floored = [1.0, 3.0, 5.0];
        normalize(&mut floored, 4.0);
        assert_eq!(floored, [-0.5, 0.0, 0.5]);
        normalize(&mut floored, 0.4);
        assert_eq!(floored, [-1.0, 0.0, 1.0]);
        let mut single = [7.0];
        normalize(&mut single, 0.0);
        assert_eq!(single, [7.0]);
        let mut equal = [2.0, 2.0];
        normalize(&mut equal, 0.0);
        assert_eq!(equal, [0.0, 0.0]);
    }
}
