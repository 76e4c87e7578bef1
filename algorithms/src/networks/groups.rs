//! Rows of a batch grouped by task, for layers that have weights for each task.

use std::collections::BTreeMap;

use burn::nn::Linear;
use burn::tensor::{Device, Int, Tensor};
use kernels::host::integers;

/// The rows of a batch, grouped by task.
#[derive(Debug, PartialEq)]
struct Groups {
    /// The tasks that have rows, in ascending order.
    tasks: Vec<i32>,
    /// The number of rows of the largest group.
    size: usize,
    /// The rows of each group, padded to `size` with row 0.
    rows: Vec<i32>,
    /// The index in `rows` of each row of the batch.
    positions: Vec<i32>,
}

impl Groups {
    fn of(tasks: &[usize]) -> Self {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (row, &task) in tasks.iter().enumerate() {
            groups.entry(task).or_default().push(row);
        }
        let size = groups.values().map(Vec::len).max().unwrap_or(0);
        let mut rows = vec![0; groups.len() * size];
        let mut positions = vec![0; tasks.len()];
        for (group, members) in groups.values().enumerate() {
            for (position, &row) in (group * size..).zip(members) {
                rows[position] = row as i32;
                positions[row] = position as i32;
            }
        }
        Self { tasks: groups.into_keys().map(|task| task as i32).collect(), size, rows, positions }
    }
}

/// [`Groups`] on a device.
#[derive(Clone, Debug)]
pub(super) struct GroupIndices {
    size: usize,
    rows: Tensor<1, Int>,
    tasks: Tensor<1, Int>,
    positions: Tensor<1, Int>,
}

impl GroupIndices {
    /// Groups rows of the given tasks. Makes a single transfer to the device.
    pub(super) fn new(tasks: &[usize], device: &Device) -> Self {
        let Groups { tasks, size, rows, positions } = Groups::of(tasks);
        let [num_rows, num_tasks, num_positions] = [rows.len(), tasks.len(), positions.len()];
        let all = [rows, tasks, positions].concat();
        let length = all.len();
        let all = integers(all, [length], device);
        Self {
            size,
            rows: all.clone().narrow(0, 0, num_rows),
            tasks: all.clone().narrow(0, num_rows, num_tasks),
            positions: all.narrow(0, num_rows + num_tasks, num_positions),
        }
    }

    /// Groups the rows of `input`, `[rows, inputs]`. `num_tasks` includes tasks without rows.
    pub(super) fn group(&self, input: &Tensor<2>, num_tasks: usize) -> GroupedRows {
        let [_, inputs] = input.dims();
        let [count] = self.tasks.dims();
        GroupedRows {
            input: input.clone().select(0, self.rows.clone()).reshape([count, self.size, inputs]),
            tasks: (count < num_tasks).then(|| self.tasks.clone()),
            positions: self.positions.clone(),
            num_tasks,
        }
    }
}

/// The rows of a batch, grouped by task, as inputs of layers that have weights for each task.
///
/// All groups are padded to the size of the largest. The cost of a product then does not grow with the number of tasks.
pub(super) struct GroupedRows {
    /// `[groups, size, inputs]`.
    input: Tensor<3>,
    /// The task of each group; `None` if every task has a group.
    tasks: Option<Tensor<1, Int>>,
    /// The index in `groups * size` of each row of the batch.
    positions: Tensor<1, Int>,
    num_tasks: usize,
}

impl GroupedRows {
    /// Multiplies each row by the weights of its own task, to `[rows, columns]`. The weights,
    /// `[inputs, num_tasks * columns]`, and the biases, `[num_tasks * columns]`, are stored task by task.
    pub(super) fn product(&self, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<2> {
        let [count, size, inputs] = self.input.dims();
        let [_, all] = weight.dims();
        let columns = all / self.num_tasks;
        let weight = weight.reshape([inputs, self.num_tasks, columns]);
        let bias = bias.reshape([self.num_tasks, columns]);
        let (weight, bias) = match &self.tasks {
            None => (weight, bias),
            Some(tasks) => (weight.select(1, tasks.clone()), bias.select(0, tasks.clone())),
        };
        let outputs = self.input.clone().matmul(weight.swap_dims(0, 1)) + bias.unsqueeze_dim(1);
        outputs.reshape([count * size, columns]).select(0, self.positions.clone())
    }

    /// Computes the outputs of a layer with weights for each task, `[rows, columns]`.
    pub(super) fn linear(&self, Linear { weight, bias }: &Linear) -> Tensor<2> {
        self.product(weight.val(), bias.as_ref().expect("the layer has a bias").val())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_grouped_by_task() {
        let groups = Groups::of(&[3, 0, 3, 3, 0]);
        let expected = Groups {
            tasks: vec![0, 3],
            size: 3,
            rows: vec![1, 4, 0, 0, 2, 3],
            positions: vec![3, 0, 4, 5, 1],
        };
        assert_eq!(groups, expected);
    }
}
