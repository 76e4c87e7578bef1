use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::EnvSpec;
use crate::networks::{ObservationLayout, RowTasks};
use crate::rollout::{Estimates, Rollout};

/// Some transitions of a rollout, in tensors of as many rows.
pub(super) struct Minibatch {
    pub(super) observations: Tensor<2>,
    pub(super) rows: RowTasks,
    pub(super) actions: Tensor<1, Int>,
    pub(super) log_probs: Tensor<1>,
    pub(super) advantages: Tensor<1>,
    pub(super) returns: Tensor<1>,
    pub(super) values: Tensor<1>,
}

impl Minibatch {
    /// Collects the given entries of `rollout`.
    pub(super) fn gather(
        rollout: &Rollout,
        estimates: &Estimates,
        entries: &[usize],
        norm_adv: bool,
        spec: &EnvSpec,
        layout: ObservationLayout,
        device: &Device,
    ) -> Self {
        let floats = |values: Vec<f32>| Tensor::from_data(TensorData::new(values, [entries.len()]), device);
        let each =
            |value: &dyn Fn(usize) -> f32| entries.iter().map(|&entry| value(entry)).collect::<Vec<f32>>();
        let mut advantages = each(&|entry| estimates.advantages[entry]);
        if norm_adv {
            normalize(&mut advantages);
        }
        let actions: Vec<i32> = entries.iter().map(|&entry| rollout.action(entry)).collect();
        let task_ids = entries.iter().map(|&entry| spec.task_ids[rollout.env(entry)]);
        let observations = entries.iter().map(|&entry| rollout.observation(entry));
        Self {
            observations: layout.tensor(observations, device),
            rows: RowTasks::new(task_ids, &spec.tasks, device),
            actions: Tensor::from_data(TensorData::new(actions, [entries.len()]), device),
            log_probs: floats(each(&|entry| rollout.log_prob(entry))),
            advantages: floats(advantages),
            returns: floats(each(&|entry| estimates.returns[entry])),
            values: floats(each(&|entry| rollout.value(entry))),
        }
    }
}

/// Shifts to mean 0 and scales to (unbiased) standard deviation 1. A single number has no deviation and stays.
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

    #[test]
    fn normalized_numbers_by_hand() {
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
