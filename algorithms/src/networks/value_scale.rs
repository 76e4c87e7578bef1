//! Scales of values, which make games with large and small rewards equally learnable: pure arithmetic on
//! scalars.

use serde::{Deserialize, Serialize};
use settings::choices;

use crate::state_bytes::bad;
use crate::{LearnerError, Task};

choices! {
    /// Transformation of returns into the targets of a network.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ValueScale {
        /// Identity.
        #[default]
        None = "none",
        /// Normalised by the mean and standard deviation of each game's returns. Both follow the returns, while the
        /// value head is adapted so that its predictions do not change (van Hasselt et al. 2016,
        /// <https://arxiv.org/abs/1602.07714>; for each game Hessel et al. 2018, <https://arxiv.org/abs/1809.04474>).
        PopArt = "popart",
        /// `h(x) = sign(x) (sqrt(|x| + 1) - 1) + x / 100` (Pohlen et al. 2018, <https://arxiv.org/abs/1805.11593>).
        H = "h",
        /// `sign(x) ln(|x| + 1)` (Hafner et al. 2023, <https://arxiv.org/abs/2301.04104>).
        Symlog = "symlog",
    }
}

/// The linear part of [`ValueScale::H`], which makes its inverse continuous.
pub const H_EPSILON: f64 = 1e-2;

/// The least standard deviation by which returns are divided, unless another floor is configured. It bounds only
/// rounding errors.
pub(crate) const LEAST_DEVIATION: f64 = 1e-4;

/// The largest standard deviation by which returns are divided.
const LARGEST_DEVIATION: f64 = 1e6;

fn least_deviation() -> f64 {
    LEAST_DEVIATION
}

impl ValueScale {
    /// Scales a return. Identity if the scale depends on the game.
    ///
    /// ```
    /// use algorithms::ValueScale;
    ///
    /// let scaled = ValueScale::H.squash(8.0);
    /// assert!((scaled - 2.08).abs() < 1e-6);
    /// assert!((ValueScale::H.expand(scaled) - 8.0).abs() < 1e-4);
    /// ```
    pub fn squash(self, value: f32) -> f32 {
        let x = f64::from(value);
        match self {
            Self::None | Self::PopArt => value,
            Self::H => (x.signum() * ((x.abs() + 1.0).sqrt() - 1.0) + H_EPSILON * x) as f32,
            Self::Symlog => (x.signum() * x.abs().ln_1p()) as f32,
        }
    }

    /// Inverts [`squash`](Self::squash).
    pub fn expand(self, scaled: f32) -> f32 {
        let x = f64::from(scaled);
        match self {
            Self::None | Self::PopArt => scaled,
            Self::H => {
                let root = (1.0 + 4.0 * H_EPSILON * (x.abs() + 1.0 + H_EPSILON)).sqrt();
                (x.signum() * (((root - 1.0) / (2.0 * H_EPSILON)).powi(2) - 1.0)) as f32
            }
            Self::Symlog => (x.signum() * x.abs().exp_m1()) as f32,
        }
    }
}

/// The scales of the values of all tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskScales {
    kind: ValueScale,
    /// The weight of a new return in the statistics.
    beta: f64,
    /// The least standard deviation by which returns are divided.
    #[serde(default = "least_deviation")]
    floor: f64,
    /// One for each task if the scale depends on it, else empty.
    statistics: Vec<Statistics>,
}

/// Running statistics of a task's returns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Statistics {
    mean: f64,
    second_moment: f64,
    /// The sum of the weights of all returns of this task so far.
    samples: f64,
}

/// A return of a task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TaskReturn {
    pub(crate) task: usize,
    pub(crate) value: f32,
    /// The number of samples that it counts as.
    pub(crate) weight: f32,
}

impl TaskReturn {
    /// Creates a return that counts as one sample.
    pub(crate) fn new(task: usize, value: f32) -> Self {
        Self { task, value, weight: 1.0 }
    }
}

/// Change of a value head that keeps its predictions when the scale changes: `x` becomes
/// `factor * x + shift`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rescaling {
    pub(crate) factor: f32,
    pub(crate) shift: f32,
}

impl Rescaling {
    const NONE: Self = Self { factor: 1.0, shift: 0.0 };

    /// Returns the changed value of an output of the head.
    pub(crate) fn apply(self, output: f32) -> f32 {
        self.factor * output + self.shift
    }
}

impl Statistics {
    /// The statistics before the first return: the identity scale.
    const NONE: Self = Self { mean: 0.0, second_moment: 1.0, samples: 0.0 };

    /// Returns the variance, which rounding may make slightly negative.
    fn variance(&self) -> f64 {
        self.second_moment - self.mean * self.mean
    }

    /// Returns the standard deviation, at least `floor`.
    fn deviation(&self, floor: f64) -> f64 {
        self.variance().max(0.0).sqrt().clamp(floor, LARGEST_DEVIATION)
    }

    /// Returns true if returns differ by more than rounding errors.
    fn varies(&self) -> bool {
        self.variance() > (1e-12 * self.second_moment).max(1e-8)
    }

    /// Moves the statistics towards those of `returns`. They are exponentially weighted means of all samples so far:
    /// each sample has `1 - beta` times the weight of the next one. A batch has the same effect as the same number of
    /// single samples.
    fn observe(&mut self, returns: &[TaskReturn], beta: f64) {
        let count: f64 = returns.iter().map(|sample| f64::from(sample.weight)).sum();
        if count == 0.0 {
            return;
        }
        let mean = |power: i32| {
            let sum: f64 = returns
                .iter()
                .map(|sample| f64::from(sample.weight) * f64::from(sample.value).powi(power))
                .sum();
            sum / count
        };
        self.samples += count;
        // 1 - (1 - beta)^samples.
        let share = |samples: f64| -(samples * (-beta).ln_1p()).exp_m1();
        let part = share(count) / share(self.samples);
        self.mean += part * (mean(1) - self.mean);
        self.second_moment += part * (mean(2) - self.second_moment);
    }
}

impl TaskScales {
    /// Creates the scales before the first return. `floor` is the least standard deviation by which returns are
    /// divided.
    pub(crate) fn new(kind: ValueScale, beta: f64, floor: f64, num_tasks: usize) -> Self {
        let count = if kind == ValueScale::PopArt { num_tasks } else { 0 };
        Self { kind, beta, floor, statistics: vec![Statistics::NONE; count] }
    }

    /// Returns the transformation that all tasks have in common.
    pub fn kind(&self) -> ValueScale {
        self.kind
    }

    /// Returns the standard deviation and the mean by which the returns of a task are normalised; 1 and 0 if the scale
    /// does not depend on the task.
    pub fn normalization(&self, task: usize) -> (f64, f64) {
        let of_task = self.statistics.get(task);
        of_task.map_or((1.0, 0.0), |of_task| (of_task.deviation(self.floor), of_task.mean))
    }

    /// Returns true if the scales depend on returns.
    pub(crate) fn are_learned(&self) -> bool {
        !self.statistics.is_empty()
    }

    /// Scales a return of a task.
    pub(crate) fn squash(&self, task: usize, value: f32) -> f32 {
        match self.statistics.get(task) {
            Some(of_task) => ((f64::from(value) - of_task.mean) / of_task.deviation(self.floor)) as f32,
            None => self.kind.squash(value),
        }
    }

    /// Inverts [`squash`](Self::squash).
    pub(crate) fn expand(&self, task: usize, scaled: f32) -> f32 {
        match self.statistics.get(task) {
            Some(of_task) => (f64::from(scaled) * of_task.deviation(self.floor) + of_task.mean) as f32,
            None => self.kind.expand(scaled),
        }
    }

    /// Returns the standard deviation of a task's returns, by which its advantages are divided. `None` if the scale
    /// does not depend on the task.
    pub(crate) fn deviation(&self, task: usize) -> Option<f32> {
        self.statistics.get(task).map(|of_task| of_task.deviation(self.floor) as f32)
    }

    /// Updates the statistics with returns. Returns the change that the value head of each task needs. Empty if the
    /// scale does not depend on returns.
    ///
    /// The head is not changed for the first returns of a task: its predictions are still meaningless, and it continues
    /// from the mean. Nor is it changed as long as all returns were equal. The standard deviation has its minimum then,
    /// and the head would recover slowly from so large a change.
    pub(crate) fn observe(&mut self, returns: &[TaskReturn]) -> Vec<Rescaling> {
        let Self { beta, floor, .. } = *self;
        let update = |(task, of_task): (usize, &mut Statistics)| {
            // Non-finite returns would stay in the statistics forever. The loss reports them.
            let own = returns.iter().filter(|sample| sample.task == task && sample.value.is_finite());
            let own: Vec<TaskReturn> = own.copied().collect();
            let before = *of_task;
            of_task.observe(&own, beta);
            if before.samples == 0.0 || !before.varies() {
                return Rescaling::NONE;
            }
            Rescaling {
                factor: (before.deviation(floor) / of_task.deviation(floor)) as f32,
                shift: ((before.mean - of_task.mean) / of_task.deviation(self.floor)) as f32,
            }
        };
        self.statistics.iter_mut().enumerate().map(update).collect()
    }

    /// Continues with the statistics of `other` for those of `tasks` that it also has. Returns the change that the
    /// value head of each task needs if the head is that of `other`, whose floor may differ. Empty if the scale does
    /// not depend on returns.
    pub(crate) fn adopt(&mut self, tasks: &[Task], other: &Self, theirs: &[Task]) -> Vec<Rescaling> {
        let adopt = |(own, task): (&mut Statistics, &Task)| {
            let known = theirs.iter().position(|known| known.name == task.name);
            let Some(known) = known.and_then(|index| other.statistics.get(index)) else {
                return Rescaling::NONE;
            };
            *own = *known;
            let factor = known.deviation(other.floor) / known.deviation(self.floor);
            Rescaling { factor: factor as f32, shift: 0.0 }
        };
        self.statistics.iter_mut().zip(tasks).map(adopt).collect()
    }

    /// Restores the statistics of a checkpoint, which continue with the current beta. They must have the same scale,
    /// floor and number of tasks.
    pub(crate) fn restore(&mut self, saved: Self) -> Result<(), LearnerError> {
        let (ours, theirs) = (self.statistics.len(), saved.statistics.len());
        if (saved.kind, saved.floor, theirs) != (self.kind, self.floor, ours) {
            return Err(bad("the value scales do not match the configuration"));
        }
        self.statistics = saved.statistics;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squashed_returns_by_hand() {
        assert_eq!(ValueScale::None.squash(-7.5), -7.5);
        // sqrt(9) - 1 + 0.08; the same below 0.
        assert!((ValueScale::H.squash(8.0) - 2.08).abs() < 1e-6);
        assert!((ValueScale::H.squash(-8.0) + 2.08).abs() < 1e-6);
        // ln(e^2 - 1 + 1).
        let value = 2f32.exp() - 1.0;
        assert!((ValueScale::Symlog.squash(value) - 2.0).abs() < 1e-6);
        assert!((ValueScale::Symlog.squash(-value) + 2.0).abs() < 1e-6);
    }

    #[test]
    fn expanding_is_the_inverse_of_squashing() {
        for scale in [ValueScale::None, ValueScale::H, ValueScale::Symlog] {
            for value in [0.0, 0.001, 1.0, 3.7, 1000.0, 864_000.0] {
                for value in [value, -value] {
                    let again = scale.expand(scale.squash(value));
                    assert!((again - value).abs() <= 2e-6 * value.abs() + 1e-6, "{scale:?} {value}: {again}");
                }
            }
        }
    }

    /// Returns of one task that count as one sample each.
    fn of_task<const N: usize>(task: usize, values: [f32; N]) -> [TaskReturn; N] {
        values.map(|value| TaskReturn::new(task, value))
    }

    #[test]
    fn statistics_by_hand() {
        let mut scales = TaskScales::new(ValueScale::PopArt, 0.5, LEAST_DEVIATION, 2);
        assert_eq!(scales.expand(1, 3.0), 3.0);
        // The first returns count in full: mean 3, second moment (1 + 25) / 2 = 13, deviation 2.
        let change = scales.observe(&of_task(0, [1.0, 5.0]));
        assert_eq!(change, [Rescaling::NONE; 2]);
        assert_eq!((scales.squash(0, 7.0), scales.expand(0, 2.0)), (2.0, 7.0));
        assert_eq!((scales.deviation(0), scales.deviation(1)), (Some(2.0), Some(1.0)));
        // The next sample has the weight 1 beside 1/2 and 1/4, which is 4/7 of all: mean (3 * 3 + 4 * 10) / 7 = 7,
        // second moment (3 * 13 + 4 * 100) / 7 = 439/7, deviation sqrt(96/7).
        let change = scales.observe(&of_task(0, [10.0]));
        let deviation = (96.0f32 / 7.0).sqrt();
        assert!((change[0].factor - 2.0 / deviation).abs() < 1e-6, "{change:?}");
        assert!((change[0].shift + 4.0 / deviation).abs() < 1e-6, "{change:?}");
        assert!((scales.expand(0, 0.0) - 7.0).abs() < 1e-6);
        // A task without returns does not change.
        assert_eq!((change[1], scales.squash(1, -4.0)), (Rescaling::NONE, -4.0));
    }

    #[test]
    fn equal_returns_do_not_change_the_head() {
        for first in [3.0, 100_000.0] {
            let mut scales = TaskScales::new(ValueScale::PopArt, 1e-3, LEAST_DEVIATION, 1);
            for _ in 0..3 {
                assert_eq!(scales.observe(&of_task(0, [first])), [Rescaling::NONE]);
            }
            // The first different return gives the scale.
            assert_eq!(scales.observe(&of_task(0, [first + 2.0])), [Rescaling::NONE]);
            let deviation = f64::from(scales.deviation(0).unwrap());
            assert!((deviation - 0.75f64.sqrt()).abs() < 0.01, "{deviation}");
            assert_ne!(scales.observe(&of_task(0, [first])), [Rescaling::NONE]);
        }
    }

    #[test]
    fn the_rate_counts_samples_not_updates() {
        let ended = |parts: &[Vec<f32>]| {
            let mut scales = TaskScales::new(ValueScale::PopArt, 0.01, LEAST_DEVIATION, 1);
            scales.observe(&of_task(0, [0.0; 100]));
            for part in parts {
                let returns: Vec<_> = part.iter().map(|&value| TaskReturn::new(0, value)).collect();
                scales.observe(&returns);
            }
            scales.expand(0, 0.0)
        };
        // 200 samples of 1 after 100 of 0 have (1 - 0.99^200) / (1 - 0.99^300) of the weight.
        let expected = (1.0 - 0.99f64.powi(200)) / (1.0 - 0.99f64.powi(300));
        for parts in [vec![vec![1.0; 200]], vec![vec![1.0; 100]; 2], vec![vec![1.0]; 200]] {
            assert!((f64::from(ended(&parts)) - expected).abs() < 1e-6, "{}", parts.len());
        }
    }

    #[test]
    fn a_return_counts_as_many_samples_as_its_weight() {
        let after = |returns: &[TaskReturn]| {
            let mut scales = TaskScales::new(ValueScale::PopArt, 0.1, LEAST_DEVIATION, 1);
            scales.observe(&of_task(0, [-3.0, 2.0]));
            scales.observe(returns);
            (scales.expand(0, 0.0), scales.deviation(0).unwrap())
        };
        let weighted = |value, weight| TaskReturn { task: 0, value, weight };
        let (mean, deviation) = after(&[weighted(4.0, 3.0), weighted(-1.0, 0.5), weighted(-1.0, 0.5)]);
        let (same_mean, same_deviation) = after(&of_task(0, [4.0, 4.0, 4.0, -1.0]));
        assert!((mean - same_mean).abs() < 1e-6 && (deviation - same_deviation).abs() < 1e-6);
        assert_eq!(after(&[weighted(9.0, 0.0)]), after(&[]));
    }

    #[test]
    fn returns_that_hardly_differ_are_divided_by_the_floor() {
        let mut scales = TaskScales::new(ValueScale::PopArt, 0.5, 1.0, 1);
        // Mean 2 and deviation 0.5.
        scales.observe(&of_task(0, [1.5, 2.5]));
        assert_eq!(
            (scales.squash(0, 5.0), scales.expand(0, 3.0), scales.deviation(0)),
            (3.0, 5.0, Some(1.0))
        );
        // With every step towards equal returns, the deviation itself falls, and without a floor the head would grow.
        let changes: Vec<f32> = (0..50).map(|_| scales.observe(&of_task(0, [2.0]))[0].factor).collect();
        assert_eq!(changes, [1.0; 50]);
        let mut without = TaskScales::new(ValueScale::PopArt, 0.5, LEAST_DEVIATION, 1);
        without.observe(&of_task(0, [1.5, 2.5]));
        let growth: f32 = (0..50).map(|_| without.observe(&of_task(0, [2.0]))[0].factor).product();
        assert!((growth - 5000.0).abs() < 1.0, "{growth}");
    }

    #[test]
    fn scales_with_another_floor_are_adopted_with_the_same_predictions() {
        let tasks = ["a", "b", "c"].map(|name| Task::new(name.to_owned(), 2));
        let mut theirs = TaskScales::new(ValueScale::PopArt, 0.5, LEAST_DEVIATION, 2);
        theirs.observe(&[TaskReturn::new(0, 1.9), TaskReturn::new(0, 2.1), TaskReturn::new(1, 40.0)]);
        theirs.observe(&[TaskReturn::new(1, 60.0)]);
        let mut ours = TaskScales::new(ValueScale::PopArt, 0.5, 1.0, 3);
        let changes = ours.adopt(&tasks, &theirs, &tasks[..2]);
        for (task, change) in changes.iter().enumerate().take(2) {
            let (before, after) = (theirs.expand(task, 0.7), ours.expand(task, change.apply(0.7)));
            assert!((before - after).abs() < 1e-5 * before, "{before} {after}");
        }
        assert!((changes[0].factor - 0.1).abs() < 1e-6, "{changes:?}");
        assert_eq!((changes[1], changes[2]), (Rescaling::NONE, Rescaling::NONE));
        assert_eq!(ours.expand(2, 3.0), 3.0);
    }

    #[test]
    fn rescaling_preserves_the_represented_return() {
        let mut scales = TaskScales::new(ValueScale::PopArt, 1e-2, LEAST_DEVIATION, 1);
        scales.observe(&of_task(0, [4.0, -2.0]));
        for (update, returns) in
            [[1.0f32, 2.0], [-500.0, 700.0], [0.1, 0.1], [1e5, -3e5]].into_iter().enumerate()
        {
            let output = 0.3 + update as f32;
            let before = scales.expand(0, output);
            let change = scales.observe(&of_task(0, returns))[0];
            let after = scales.expand(0, change.apply(output));
            let size = before.abs().max(scales.deviation(0).unwrap());
            assert!((after - before).abs() < 1e-5 * size, "{before} and {after}");
        }
    }
}
