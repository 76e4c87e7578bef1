//! How well the values of a rollout explain its returns.

use crate::experience::rollout::Estimates;

/// The values of transitions before an update, and their returns.
pub(super) struct Explained {
    /// The task of each transition.
    pub(super) tasks: Vec<usize>,
    pub(super) values: Vec<f32>,
    pub(super) returns: Vec<f32>,
}

impl Explained {
    /// Collects the values and returns of transitions, which belong to `tasks`.
    pub(super) fn new(tasks: Vec<usize>, transitions: &[usize], estimates: &Estimates) -> Self {
        let column = |values: &[f32]| transitions.iter().map(|&entry| values[entry]).collect();
        Self { tasks, values: column(&estimates.values), returns: column(&estimates.returns) }
    }

    /// Computes the explained variance of all transitions.
    pub(super) fn variance(&self) -> f32 {
        explained_variance(&self.values, &self.returns)
    }

    /// Computes the explained variance of the transitions of a task.
    pub(super) fn variance_of(&self, task: usize) -> f32 {
        let of_task = |values: &[f32]| -> Vec<f32> {
            self.tasks
                .iter()
                .zip(values)
                .filter(|(other, _)| **other == task)
                .map(|(_, &value)| value)
                .collect()
        };
        explained_variance(&of_task(&self.values), &of_task(&self.returns))
    }
}

/// Computes `1 - variance(returns - values) / variance(returns)`.
fn explained_variance(values: &[f32], returns: &[f32]) -> f32 {
    let variance = |at: &dyn Fn(usize) -> f64| {
        let count = values.len() as f64;
        let mean = (0..values.len()).map(at).sum::<f64>() / count;
        (0..values.len()).map(|index| (at(index) - mean).powi(2)).sum::<f64>() / count
    };
    let of_returns = variance(&|index| f64::from(returns[index]));
    let of_errors = variance(&|index| f64::from(returns[index]) - f64::from(values[index]));
    if of_returns == 0.0 {
        return f32::NAN;
    }
    (1.0 - of_errors / of_returns) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explained_variance_by_hand() {
        let returns = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(explained_variance(&returns, &returns), 1.0);
        assert_eq!(explained_variance(&[7.0; 4], &returns), 0.0);
        // Errors 0, 0, 0, 2: variance 0.75; the returns' variance is 1.25.
        assert!((explained_variance(&[1.0, 2.0, 3.0, 2.0], &returns) - 0.4).abs() < 1e-6);
        assert!(explained_variance(&[1.0, 2.0], &[3.0, 3.0]).is_nan());
    }
}
