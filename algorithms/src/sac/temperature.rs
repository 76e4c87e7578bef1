use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use crate::named_weights::TEMPERATURE;
use crate::networks::{
    NamedWeights, RowTasks, TrainedNetwork, TransferError, load_weights, of_known_tasks, weights,
};
use crate::state_bytes::bad;
use crate::{LearnerError, Task};

/// The learned temperature of each task: the weight of the policy's entropy relative to the rewards.
#[derive(Module, Debug)]
pub(super) struct Temperature {
    /// `[tasks]`.
    log_alpha: Param<Tensor<1>>,
}

impl Temperature {
    /// Creates temperatures of 1.
    pub(super) fn new(num_tasks: usize, device: &Device) -> Self {
        Self { log_alpha: Param::from_tensor(Tensor::zeros([num_tasks], device)) }
    }

    /// Returns the parameter for an export, with the name of CleanRL's variable.
    pub(super) fn weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        weights(self)
    }

    /// Replaces the temperatures of the tasks that `source` knows. `tasks` are the tasks of these temperatures. Older
    /// exports have none.
    pub(super) fn started_from(self, source: &TrainedNetwork, tasks: &[Task]) -> Result<Self, TransferError> {
        let Some(theirs) = source.weights.iter().find(|weights| weights.name == TEMPERATURE) else {
            return Ok(self);
        };
        let mut own = weights(&self)?.swap_remove(0);
        own.values = of_known_tasks(&own, theirs, tasks, &source.description.tasks)
            .ok_or_else(|| bad("the temperatures do not match the tasks"))?;
        Ok(load_weights(self, vec![own])?)
    }

    /// Returns the temperature of each task, `[tasks]`.
    pub(super) fn alphas(&self) -> Tensor<1> {
        self.log_alpha.val().exp()
    }

    /// Computes the loss `-alpha (ln p + target)`, averaged over rows (Haarnoja et al. 2018, equation 18): a policy
    /// with less entropy than its target raises the temperature. `excess` is the log-density of each row's action plus
    /// the target, `[rows]`, without gradients.
    pub(super) fn loss(&self, excess: Tensor<1>, rows: &RowTasks) -> Tensor<1> {
        -(of_rows(self.alphas(), rows) * excess).mean()
    }
}

/// Selects the values of each row's task: `[tasks]` to `[rows]`.
pub(super) fn of_rows(of_tasks: Tensor<1>, rows: &RowTasks) -> Tensor<1> {
    rows.embed(of_tasks.unsqueeze_dim(1)).squeeze_dim(1)
}

#[cfg(test)]
mod tests {
    use rl_env::Space;

    use super::*;
    use crate::ContinuousActions;

    #[test]
    fn losses_and_gradients_by_hand() {
        let device = Device::flex().autodiff();
        let actions = ContinuousActions::of_space(&Space::floats(1, -1.0, 1.0)).unwrap();
        let tasks = ["one", "two"].map(|name| Task::of_actions(name, actions.clone()));
        let rows = RowTasks::new([0, 1, 0, 0].into_iter(), &tasks, &device);
        let log_alpha = Tensor::<1>::from_floats([0.0, 2f32.ln()], &device);
        let temperature = Temperature { log_alpha: Param::from_tensor(log_alpha) };
        let excess = Tensor::from_floats([0.5, 3.0, -2.0, 1.0], &device);
        let loss = temperature.loss(excess, &rows);
        // -(1 * 0.5 + 2 * 3 + 1 * -2 + 1 * 1) / 4
        assert!((loss.clone().into_scalar::<f32>() + 5.5 / 4.0).abs() < 1e-6);
        let gradients = loss.backward();
        let gradient: Vec<f32> =
            temperature.log_alpha.val().grad(&gradients).unwrap().try_into_vec_as().unwrap();
        // -alpha times the sum of the task's excess, divided by the number of rows: of the first task 1 * -0.5, which
        // lowers it, of the second 2 * 3, which raises it.
        for (gradient, expected) in gradient.iter().zip([0.5 / 4.0, -6.0 / 4.0]) {
            assert!((gradient - expected).abs() < 1e-6, "{gradient} {expected}");
        }
    }
}
