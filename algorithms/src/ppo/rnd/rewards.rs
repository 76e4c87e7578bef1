use serde::{Deserialize, Serialize};

use crate::networks::observation_statistics::ObservationStatistics;

/// Added to variances, as for observations.
const EPSILON: f64 = 1e-8;

/// The scale of intrinsic rewards: for each task, the running standard deviation of their discounted sums.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RewardScale {
    /// For each environment, the sum of its past rewards, each discounted by its age.
    sums: Vec<f64>,
    /// The statistics of these sums.
    statistics: ObservationStatistics,
}

impl RewardScale {
    pub(super) fn new(num_envs: usize, num_tasks: usize) -> Self {
        Self { sums: vec![0.0; num_envs], statistics: ObservationStatistics::new(num_tasks, 1) }
    }

    /// Adds the rewards of further transitions, in order for each environment. `task_ids` are the tasks of the
    /// environments.
    pub(super) fn observe(&mut self, rewards: &[Vec<f32>], task_ids: &[usize], gamma: f32) {
        let mut observed = Vec::new();
        for ((sum, rewards), &task) in self.sums.iter_mut().zip(rewards).zip(task_ids) {
            for &reward in rewards {
                *sum = f64::from(gamma) * *sum + f64::from(reward);
                observed.push((task, vec![*sum as f32]));
            }
        }
        let moments = self.statistics.moments(observed.into_iter());
        self.statistics.add(&moments);
    }

    /// Returns the standard deviation by which the rewards of a task are divided.
    pub(super) fn deviation(&self, task: usize) -> f32 {
        (self.statistics.variances(task)[0] + EPSILON).sqrt() as f32
    }

    /// Returns true if the numbers of environments and tasks are those of `fresh`, and all numbers are possible.
    pub(super) fn fits(&self, fresh: &Self) -> bool {
        let are_finite = self.sums.iter().all(|sum| sum.is_finite());
        let are_alike = ObservationStatistics::are_alike(Some(&self.statistics), Some(&fresh.statistics));
        self.sums.len() == fresh.sums.len() && are_finite && are_alike
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_of_discounted_sums_by_hand() {
        // Two environments of the first task and one of the second. With gamma 0.5, the sums are
        // 2, 1 + 1 = 2, 4 + 1 = 5 and 8, 0 + 4 = 4 in the first task: mean 21/5, mean square 113/5.
        let mut scale = RewardScale::new(3, 2);
        let rewards = [vec![2.0, 1.0, 4.0], vec![8.0, 0.0], vec![]];
        scale.observe(&rewards, &[0, 0, 1], 0.5);
        let variance: f64 = 113.0 / 5.0 - (21.0f64 / 5.0).powi(2);
        assert!((f64::from(scale.deviation(0)) - variance.sqrt()).abs() < 1e-6, "{}", scale.deviation(0));
        // The second task has no rewards yet.
        assert!((scale.deviation(1) - 1.0).abs() < 1e-6);
        // Sums and statistics continue: 3 + 2.5 = 5.5 and 1 + 2 = 3.
        scale.observe(&[vec![3.0], vec![1.0], vec![6.0]], &[0, 0, 1], 0.5);
        let (mean, square) = (29.5f64 / 7.0, (113.0 + 30.25 + 9.0) / 7.0);
        let deviation = (square - mean.powi(2)).sqrt();
        assert!((f64::from(scale.deviation(0)) - deviation).abs() < 1e-6, "{}", scale.deviation(0));
    }
}
