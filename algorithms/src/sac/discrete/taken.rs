use burn::tensor::{Device, Int, Tensor};
use kernels::host::{floats, integers};

use super::CriticLoss;
use crate::Task;

/// The actions of the rows of a minibatch. The tensors are padded to the largest number of choices of any task.
pub struct Taken {
    /// `[rows, choices]`: the output column of each option.
    columns: Tensor<2, Int>,
    /// `[rows, choices]`: the share of each choice in the loss of its row, 0 for choices that the row's task lacks.
    shares: Tensor<2>,
}

impl Taken {
    /// Creates the actions of rows, each with its task and its options.
    pub(super) fn new(actions: &[(usize, Vec<i32>)], tasks: &[Task], device: &Device) -> Self {
        let most = tasks.iter().map(|task| task.actions.num_choices()).max().unwrap_or(0);
        let (mut columns, mut shares) = (Vec::new(), Vec::new());
        for (row, (task, options)) in actions.iter().enumerate() {
            let joint = tasks[*task].actions.expect_joint();
            columns.extend(joint.columns(options).map(|column| column as i32));
            shares.extend(std::iter::repeat_n((joint.num_choices() as f32).recip(), joint.num_choices()));
            columns.resize((row + 1) * most, 0);
            shares.resize((row + 1) * most, 0.0);
        }
        let shape = [actions.len(), most];
        Self { columns: integers(columns, shape, device), shares: floats(shares, shape, device) }
    }

    /// Computes the loss of a critic with the given values of all options, `[rows, max_outputs]`. The options of a row
    /// learn the same target, and together they have the same weight as the single option of another row.
    pub(super) fn loss(&self, values: Tensor<2>, targets: Tensor<1>) -> CriticLoss {
        let values = values.gather(1, self.columns.clone());
        let errors = (values.clone() - targets.unsqueeze_dim(1)).square();
        let mean = |of_choices: Tensor<2>| (of_choices * self.shares.clone()).sum_dim(1).mean();
        CriticLoss { loss: mean(errors), value: mean(values) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JointActions;

    #[test]
    fn the_options_of_an_action_learn_the_same_target() {
        let product = Task::of_actions("product", JointActions::product(&[2, 3]).unwrap());
        let tasks = [product, Task::new("four", 4)];
        let actions = [(0, vec![1, 2]), (1, vec![3, 0])];
        let taken = Taken::new(&actions, &tasks, &Device::flex());
        let values =
            Tensor::<2>::from_floats([[0.0, 1.0, 9.0, 9.0, 3.0], [9.0, 9.0, 9.0, 5.0, 9.0]], &Device::flex());
        let CriticLoss { loss, value } = taken.loss(values, Tensor::from_floats([2.5, 1.0], &Device::flex()));
        // ((1 - 2.5)^2 + (3 - 2.5)^2) / 2 = 1.25 and (5 - 1)^2 = 16; the values are (1 + 3) / 2 = 2 and 5.
        assert_eq!(loss.into_scalar::<f32>(), f32::midpoint(1.25, 16.0));
        assert_eq!(value.into_scalar::<f32>(), 3.5);
    }
}
