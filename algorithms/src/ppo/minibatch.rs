use burn::tensor::{Int, Tensor, TensorData};

use super::NormAdv;
use crate::networks::{ActorCritic, Outputs, RowTasks, Sequences};
use crate::on_policy::OnPolicy;
use crate::rollout::Estimates;
use crate::value_scale::TaskScales;

/// A minibatch: some steps of a rollout as tensors.
pub(super) struct Minibatch {
    /// The observations of all rows. The fields below `kept` hold transitions only.
    pub(super) observations: Tensor<2>,
    pub(super) rows: RowTasks,
    /// The rows as sequences, for a recurrent network.
    pub(super) sequences: Option<Sequences>,
    /// Indices of the rows that are transitions, unless all are.
    kept: Option<Tensor<1, Int>>,
    pub(super) actions: Tensor<1, Int>,
    pub(super) log_probs: Tensor<1>,
    pub(super) advantages: Tensor<1>,
    /// Scaled like the network's values.
    pub(super) returns: Tensor<1>,
    /// Scaled like the network's values.
    pub(super) values: Tensor<1>,
}

impl Minibatch {
    /// Collects the given entries of a rollout, at least one of which must be a transition.
    pub(super) fn gather(
        on_policy: &OnPolicy<ActorCritic>,
        estimates: &Estimates,
        rows: &[usize],
        sequences: Option<Sequences>,
        norm_adv: NormAdv,
        scales: &TaskScales,
    ) -> Self {
        let OnPolicy { spec, training, rollout, .. } = on_policy;
        let device = &training.device;
        let task = |entry: usize| spec.task_ids[rollout.env(entry)];
        let row_tasks = RowTasks::new(rows.iter().map(|&entry| task(entry)), &spec.tasks, device);
        let (kept, entries): (Vec<i32>, Vec<usize>) =
            (0..).zip(rows.iter().copied()).filter(|&(_, entry)| rollout.is_transition(entry)).unzip();
        let kept = (entries.len() < rows.len())
            .then(|| Tensor::from_data(TensorData::new(kept, [entries.len()]), device));
        let floats = |values: Vec<f32>| Tensor::from_data(TensorData::new(values, [entries.len()]), device);
        let each =
            |value: &dyn Fn(usize) -> f32| entries.iter().map(|&entry| value(entry)).collect::<Vec<f32>>();
        let mut advantages = each(&|entry| estimates.advantages[entry]);
        if norm_adv == NormAdv::Batch {
            normalize(&mut advantages);
        }
        let actions: Vec<i32> = entries.iter().map(|&entry| rollout.action(entry)).collect();
        Self {
            observations: on_policy.observations(rows),
            rows: row_tasks,
            sequences,
            kept,
            actions: Tensor::from_data(TensorData::new(actions, [entries.len()]), device),
            log_probs: floats(each(&|entry| rollout.log_prob(entry))),
            advantages: floats(advantages),
            returns: floats(each(&|entry| scales.squash(task(entry), estimates.returns[entry]))),
            values: floats(each(&|entry| scales.squash(task(entry), rollout.value(entry)))),
        }
    }

    /// Selects the rows that are transitions.
    pub(super) fn transitions(&self, outputs: Outputs) -> Outputs {
        let Some(kept) = &self.kept else { return outputs };
        Outputs {
            logits: outputs.logits.select(0, kept.clone()),
            values: outputs.values.select(0, kept.clone()),
        }
    }
}

/// Gives the advantages of all tasks the same scale. Divides them by the deviation of the task's returns if
/// the value scale has one, and normalises them per task if configured. `entries` are the transitions of a
/// rollout, each with its task.
pub(super) fn scale_by_task(
    advantages: &mut [f32],
    entries: &[(usize, usize)],
    num_tasks: usize,
    norm_adv: NormAdv,
    scales: &TaskScales,
) {
    for task in 0..num_tasks {
        let own: Vec<usize> =
            entries.iter().filter(|&&(_, of)| of == task).map(|&(entry, _)| entry).collect();
        let deviation = scales.deviation(task).unwrap_or(1.0);
        let mut numbers: Vec<f32> = own.iter().map(|&entry| advantages[entry] / deviation).collect();
        if norm_adv == NormAdv::Game {
            normalize(&mut numbers);
        }
        for (entry, number) in own.into_iter().zip(numbers) {
            advantages[entry] = number;
        }
    }
}

/// Shifts to mean 0 and scales to (unbiased) standard deviation 1. A single value is left unchanged.
fn normalize(numbers: &mut [f32]) {
    if numbers.len() < 2 {
        return;
    }
    let count = numbers.len() as f64;
    let mean = numbers.iter().map(|&number| f64::from(number)).sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|&number| (f64::from(number) - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0)).sqrt();
    for number in numbers {
        *number = ((f64::from(*number) - mean) / (deviation + 1e-8)) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValueScale;

    #[test]
    fn advantages_of_all_tasks_have_the_same_scale() {
        // The first task's advantages are 1 and 3, the second one's 100, 200 and 300; entry 2 is not a
        // transition.
        let advantages = [100.0, 1.0, -9.0, 200.0, 3.0, 300.0];
        let entries = [(0, 1), (1, 0), (3, 1), (4, 0), (5, 1)];
        let scaled = |norm_adv, scales: &TaskScales| {
            let mut numbers = advantages;
            scale_by_task(&mut numbers, &entries, 2, norm_adv, scales);
            numbers
        };
        let plain = TaskScales::new(ValueScale::H, 0.1, 2);
        assert_eq!(scaled(NormAdv::None, &plain), advantages);
        assert_eq!(scaled(NormAdv::Batch, &plain), advantages);
        let half = 0.5f32.sqrt();
        for (number, expected) in
            scaled(NormAdv::Game, &plain).into_iter().zip([-1.0, -half, -9.0, 0.0, half, 1.0])
        {
            assert!((number - expected).abs() < 1e-6, "{number} and {expected}");
        }
        // Returns 0 and 100: deviation 50.
        let mut popart = TaskScales::new(ValueScale::PopArt, 0.1, 2);
        popart.observe(&[(1, 0.0), (1, 100.0)]);
        assert_eq!(scaled(NormAdv::None, &popart), [2.0, 1.0, -9.0, 4.0, 3.0, 6.0]);
    }

    #[test]
    fn normalisation_by_hand() {
        // Mean 3, unbiased variance (4 + 0 + 4) / 2 = 4.
        let mut numbers = [1.0, 3.0, 5.0];
        normalize(&mut numbers);
        for (number, expected) in numbers.iter().zip([-1.0, 0.0, 1.0]) {
            assert!((number - expected).abs() < 1e-6, "{numbers:?}");
        }
        let mut single = [7.0];
        normalize(&mut single);
        assert_eq!(single, [7.0]);
        let mut equal = [2.0, 2.0];
        normalize(&mut equal);
        assert_eq!(equal, [0.0, 0.0]);
    }
}
