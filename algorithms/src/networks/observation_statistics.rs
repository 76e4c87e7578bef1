//! Normalisation of observations by their running statistics.

use burn::tensor::{Device, Tensor};
use kernels::host::floats;
use serde::{Deserialize, Serialize};

use crate::named_weights::{NamedWeights, STATISTICS};
use crate::networks::{RowTasks, TrainedNetwork, TransferError};
use crate::state_bytes::bad;
use crate::{LearnerError, Task};

/// Bound of the absolute value of a normalised element, as in Gymnasium's examples and `CleanRL`.
const MAX_NORMALIZED: f32 = 10.0;

/// Added to variances, as in Gymnasium's `NormalizeObservation`.
const EPSILON: f64 = 1e-8;

/// The running mean and variance of each element of the observations of each task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ObservationStatistics {
    tasks: Vec<TaskStatistics>,
    length: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TaskStatistics {
    /// The number of observations.
    count: f64,
    means: Vec<f64>,
    variances: Vec<f64>,
}

impl ObservationStatistics {
    /// Creates the statistics before the first observation, for observations of `length` elements, with means 0 and
    /// variances 1.
    pub(crate) fn new(num_tasks: usize, length: usize) -> Self {
        let task = TaskStatistics { count: 0.0, means: vec![0.0; length], variances: vec![1.0; length] };
        Self { tasks: vec![task; num_tasks], length }
    }

    /// Returns the moments of observations, each with its task.
    pub(crate) fn moments(&self, observations: impl Iterator<Item = (usize, Vec<f32>)>) -> Vec<Moments> {
        let mut batch = vec![Vec::new(); self.tasks.len()];
        for (task, observation) in observations {
            batch[task].push(observation);
        }
        batch.iter().map(|observations| Moments::of(observations, self.length)).collect()
    }

    /// Adds the moments of observations of each task.
    pub(crate) fn add(&mut self, moments: &[Moments]) {
        self.tasks.iter_mut().zip(moments).for_each(|(task, moments)| task.add(moments));
    }

    /// Fails if an observation of one of `tasks` was NaN or infinite.
    pub(crate) fn check(&self, tasks: &[Task]) -> Result<(), LearnerError> {
        match self.tasks.iter().position(|task| !task.are_values_possible()) {
            Some(index) => {
                Err(LearnerError::NonFinite { what: format!("an observation of {}", tasks[index].name) })
            }
            None => Ok(()),
        }
    }

    /// Returns the variance of each element of the observations of a task.
    pub(crate) fn variances(&self, task: usize) -> &[f64] {
        &self.tasks[task].variances
    }

    /// Returns the operation that normalises observations on `device`.
    pub(crate) fn normalizer(&self, device: &Device) -> Normalizer {
        let tensor = |of_task: &dyn Fn(&TaskStatistics) -> Vec<f32>| {
            let values: Vec<f32> = self.tasks.iter().flat_map(of_task).collect();
            floats(values, [self.tasks.len(), self.length], device)
        };
        Normalizer {
            means: tensor(&|task| task.means.iter().map(|&mean| mean as f32).collect()),
            factors: tensor(&|task| {
                task.variances.iter().map(|variance| (variance + EPSILON).sqrt().recip() as f32).collect()
            }),
        }
    }

    /// Returns true if both statistics are absent, or both are present and those of the state fit the `fresh` ones.
    pub(crate) fn are_alike(of_state: Option<&Self>, fresh: Option<&Self>) -> bool {
        match (of_state, fresh) {
            (Some(statistics), Some(fresh)) => statistics.fits(fresh),
            (None, None) => true,
            _ => false,
        }
    }

    /// Returns true if `other` has the same numbers of tasks and elements, and all its values are valid. Returns false
    /// for damaged statistics.
    fn fits(&self, other: &Self) -> bool {
        let is_possible = |task: &TaskStatistics| {
            let are_lengths = task.means.len() == other.length && task.variances.len() == other.length;
            are_lengths && task.count >= 0.0 && task.are_values_possible()
        };
        self.length == other.length
            && self.tasks.len() == other.tasks.len()
            && self.tasks.iter().all(is_possible)
    }

    /// Returns the statistics with the names of Gymnasium's `RunningMeanStd`, with one row per task.
    pub(crate) fn weights(&self) -> [NamedWeights; 3] {
        let named = |name: &str, width: usize, of_task: &dyn Fn(&TaskStatistics) -> Vec<f64>| NamedWeights {
            name: format!("{STATISTICS}{name}"),
            shape: vec![self.tasks.len(), width],
            values: self.tasks.iter().flat_map(of_task).map(|value| value as f32).collect(),
        };
        [
            named("mean", self.length, &|task| task.means.clone()),
            named("var", self.length, &|task| task.variances.clone()),
            named("count", 1, &|task| vec![task.count]),
        ]
    }

    /// Replaces the statistics of the tasks that `source` knows. `tasks` are the tasks of these statistics.
    pub(crate) fn started_from(self, source: &TrainedNetwork, tasks: &[Task]) -> Result<Self, TransferError> {
        let from = &source.description.tasks;
        let row = |task: &Task| from.iter().position(|known| known.name == task.name);
        let known = self.with_weights(&source.weights, tasks.iter().map(row));
        Ok(known.ok_or_else(|| bad("the statistics of the observations do not match the tasks"))?)
    }

    /// Replaces the statistics of the tasks that `weights` has. `rows` yields the row of each task in `weights`, or
    /// `None`. Returns `None` if the weights do not fit.
    fn with_weights(
        mut self,
        weights: &[NamedWeights],
        rows: impl Iterator<Item = Option<usize>>,
    ) -> Option<Self> {
        let find =
            |name: &str| weights.iter().find(|weights| weights.name.strip_prefix(STATISTICS) == Some(name));
        let (means, variances, counts) = (find("mean")?, find("var")?, find("count")?);
        let row = |weights: &NamedWeights, row: usize, width: usize| -> Option<Vec<f64>> {
            let values = weights.values.get(row * width..(row + 1) * width)?;
            Some(values.iter().map(|&value| f64::from(value)).collect())
        };
        let fresh = self.clone();
        for (task, known) in self.tasks.iter_mut().zip(rows) {
            let Some(known) = known else { continue };
            task.means = row(means, known, self.length)?;
            task.variances = row(variances, known, self.length)?;
            task.count = row(counts, known, 1)?[0];
        }
        self.fits(&fresh).then_some(self)
    }
}

/// The moments of each element of some observations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Moments {
    count: f64,
    means: Vec<f64>,
    /// The sums of squared differences from the mean.
    squares: Vec<f64>,
}

impl Moments {
    fn of(observations: &[Vec<f32>], length: usize) -> Self {
        let count = observations.len() as f64;
        let column = |index: usize| observations.iter().map(move |row| f64::from(row[index]));
        let means: Vec<f64> = (0..length).map(|index| column(index).sum::<f64>() / count).collect();
        let squares = means.iter().enumerate();
        let squares =
            squares.map(|(index, mean)| column(index).map(|value| (value - mean).powi(2)).sum()).collect();
        Self { count, means, squares }
    }
}

impl TaskStatistics {
    fn are_values_possible(&self) -> bool {
        self.means.iter().all(|mean| mean.is_finite())
            && self.variances.iter().all(|&variance| variance >= 0.0 && variance.is_finite())
    }

    /// Adds the moments of further observations (Chan et al. 1979, "Updating formulae and a pairwise algorithm for
    /// computing sample variances").
    fn add(&mut self, added: &Moments) {
        if added.count == 0.0 {
            return;
        }
        let count = self.count + added.count;
        let own = self.means.iter_mut().zip(&mut self.variances);
        for ((mean, variance), (new_mean, new_squares)) in own.zip(added.means.iter().zip(&added.squares)) {
            let difference = new_mean - *mean;
            let squares =
                *variance * self.count + new_squares + difference.powi(2) * self.count * added.count / count;
            *mean += difference * added.count / count;
            *variance = squares / count;
        }
        self.count = count;
    }
}

/// Operation that normalises observations to mean 0 and variance 1 and clips them to +-10.
#[derive(Clone, Debug)]
pub(crate) struct Normalizer {
    /// `[tasks, length]`.
    means: Tensor<2>,
    /// `[tasks, length]`: the inverse standard deviations.
    factors: Tensor<2>,
}

impl Normalizer {
    /// Normalises observations `[rows, length]`.
    pub(crate) fn apply(&self, observations: Tensor<2>, rows: &RowTasks) -> Tensor<2> {
        let normalized = (observations - rows.embed(self.means.clone())) * rows.embed(self.factors.clone());
        normalized.clamp(-MAX_NORMALIZED, MAX_NORMALIZED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Task;

    /// Returns two tasks, the first with observations 1, 2, 6 and 10, 10, 10; the second with none.
    fn statistics() -> ObservationStatistics {
        let mut statistics = ObservationStatistics::new(2, 2);
        for batch in [&[[1.0, 10.0]][..], &[[2.0, 10.0], [6.0, 10.0]]] {
            let moments = statistics.moments(batch.iter().map(|row| (0, row.to_vec())));
            statistics.add(&moments);
        }
        statistics
    }

    #[test]
    fn infinite_and_nan_observations_are_errors() {
        let tasks = ["first", "second"].map(|name| Task::new(name, 2));
        assert!(statistics().check(&tasks).is_ok());
        for value in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            let mut statistics = statistics();
            let moments = statistics.moments([(1, vec![0.0, value])].into_iter());
            statistics.add(&moments);
            let error = statistics.check(&tasks).unwrap_err().to_string();
            assert_eq!(error, "an observation of second is not finite");
        }
    }

    #[test]
    fn means_and_variances_by_hand() {
        let statistics = statistics();
        let close = |values: &[f64], expected: &[f64]| {
            assert!(
                values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-12),
                "{values:?}"
            );
        };
        close(&statistics.tasks[0].means, &[3.0, 10.0]);
        // (4 + 1 + 9) / 3
        close(&statistics.tasks[0].variances, &[14.0 / 3.0, 0.0]);
        assert_eq!(statistics.tasks[1], ObservationStatistics::new(1, 2).tasks[0]);
    }

    #[test]
    fn observations_are_normalised_by_task_and_clipped() {
        let device = Device::flex();
        let tasks = [Task::new("one", 2), Task::new("two", 2)];
        let rows = RowTasks::new([0, 1, 0].into_iter(), &tasks, &device);
        let observations = Tensor::from_floats([[5.0, 10.0], [5.0, -3.0], [1e6, 11.0]], &device);
        let normalized: Vec<f32> =
            statistics().normalizer(&device).apply(observations, &rows).try_into_vec_as().unwrap();
        let deviation = (14f32 / 3.0).sqrt();
        for (value, expected) in normalized.iter().zip([2.0 / deviation, 0.0, 5.0, -3.0, 10.0, 10.0]) {
            assert!((value - expected).abs() < 1e-5, "{normalized:?}");
        }
    }

    #[test]
    fn exported_statistics_are_restored_for_known_tasks() {
        let source = statistics();
        let weights = source.weights();
        assert_eq!(weights[1].name, "obs_rms.var");
        let fresh = ObservationStatistics::new(3, 2);
        let rows = [None, Some(0), Some(1)];
        let own = fresh.clone().with_weights(&weights, rows.into_iter()).unwrap();
        assert_eq!(own.tasks[0], fresh.tasks[0]);
        assert_eq!(own.tasks[1].count, 3.0);
        assert!((own.tasks[1].variances[0] - 14.0 / 3.0).abs() < 1e-6);
        assert_eq!(fresh.clone().with_weights(&weights[..2], rows.into_iter()), None);
        assert_eq!(fresh.with_weights(&weights, [Some(2), None, None].into_iter()), None);
    }
}
