//! The choices of actions, which learn separately.

use burn::tensor::{Device, Int, Tensor};
use kernels::host::integers;

use crate::JointActions;

/// The choices made by the actions of a minibatch's rows. Each choice is a *branch* with its own outputs, as in
/// Tavakoli et al. 2018, "Action branching architectures for deep reinforcement learning"
/// (<https://arxiv.org/abs/1711.08946>). All branches of a row learn the same target, and together they have the same
/// weight as the single branch of another row.
///
/// A row whose action is a single choice has one branch.
#[derive(Clone, Debug)]
pub(crate) struct Branches {
    /// The number of branches of each row.
    counts: Vec<usize>,
    /// The index of each branch's output among the outputs of all rows, `[branches]`.
    outputs: Tensor<1, Int>,
}

impl Branches {
    /// Creates the branches of rows with these actions, for a network with `columns` outputs per row.
    pub(crate) fn new<'a>(
        actions: impl Iterator<Item = (&'a JointActions, &'a [i32])>,
        columns: usize,
        device: &Device,
    ) -> Self {
        let (mut counts, mut outputs) = (Vec::new(), Vec::new());
        for (row, (actions, options)) in actions.enumerate() {
            let before = outputs.len();
            outputs.extend(actions.columns(options).map(|column| (row * columns + column) as i32));
            counts.push(outputs.len() - before);
        }
        let count = outputs.len();
        Self { counts, outputs: integers(outputs, [count], device) }
    }

    /// Returns the number of branches.
    pub(crate) fn len(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Selects the outputs of the branches: `[rows, columns, atoms]` to `[branches, atoms]`.
    pub(crate) fn select(&self, outputs: Tensor<3>) -> Tensor<2> {
        outputs.flatten::<2>(0, 1).select(0, self.outputs.clone())
    }

    /// Returns the indices of the branches of some rows.
    pub(crate) fn of_rows(&self, rows: &[usize]) -> Vec<usize> {
        let mut branches_of_rows = Vec::with_capacity(self.counts.len());
        let mut next = 0;
        for count in &self.counts {
            branches_of_rows.push(next..next + count);
            next += count;
        }
        rows.iter().flat_map(|&row| branches_of_rows[row].clone()).collect()
    }

    /// Repeats the values of each row once for each of its branches. All rows have the same number of values.
    pub(crate) fn repeat<T: Copy>(&self, row_values: &[T]) -> Vec<T> {
        let width = row_values.len() / self.counts.len();
        let rows = row_values.chunks_exact(width).zip(&self.counts);
        rows.flat_map(|(values, &count)| values.repeat(count)).collect()
    }

    /// Returns the weights of the branches, given those of the rows. The weighted mean over branches then equals the
    /// weighted mean over rows of the mean over each row's branches.
    pub(crate) fn weights(&self, row_weights: &[f32]) -> Vec<f32> {
        let mean_count = self.len() as f32 / self.counts.len() as f32;
        let rows = row_weights.iter().zip(&self.counts);
        rows.flat_map(|(weight, &count)| std::iter::repeat_n(weight * (mean_count / count as f32), count))
            .collect()
    }

    /// Returns the sum of the values of each row's branches.
    pub(crate) fn sums(&self, branch_values: &[f32]) -> Vec<f32> {
        let mut remaining = branch_values;
        let mut sums = Vec::with_capacity(self.counts.len());
        for &count in &self.counts {
            let (values_of_row, later) = remaining.split_at(count);
            sums.push(values_of_row.iter().sum());
            remaining = later;
        }
        sums
    }

    /// Returns the mean of the values of each row's branches.
    pub(crate) fn means(&self, branch_values: &[f32]) -> Vec<f32> {
        self.sums(branch_values)
            .into_iter()
            .zip(&self.counts)
            .map(|(sum, &count)| sum / count as f32)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;

    #[test]
    fn rows_have_equal_weight_regardless_of_their_number_of_branches() {
        let (pair, single) = (JointActions::product(&[2, 3]).unwrap(), JointActions::discrete(4));
        let actions = [(&pair, &[1, 2][..]), (&single, &[3]), (&pair, &[0, 0])];
        let branches = Branches::new(actions.into_iter(), 5, &Device::flex());
        let outputs: Vec<f32> = (0_u8..30).map(f32::from).collect();
        let outputs: Tensor<3> = Tensor::from_data(TensorData::new(outputs, [3, 5, 2]), &Device::flex());
        let selected: Vec<f32> = branches.select(outputs).try_into_vec_as().unwrap();
        // The columns of row 0 are 1 and 4, that of row 1 is 3, and those of row 2 are 0 and 2.
        assert_eq!(selected, [2.0, 3.0, 8.0, 9.0, 16.0, 17.0, 20.0, 21.0, 24.0, 25.0]);
        assert_eq!(branches.repeat(&[1, 2, 3, 4, 5, 6]), [1, 2, 1, 2, 3, 4, 5, 6, 5, 6]);
        assert_eq!(branches.of_rows(&[2, 1]), [3, 4, 2]);
        let losses = [1.0, 3.0, 10.0, 0.0, 4.0];
        assert_eq!(branches.sums(&losses), [4.0, 10.0, 4.0]);
        assert_eq!(branches.means(&losses), [2.0, 10.0, 2.0]);
        let weights = branches.weights(&[1.0, 0.5, 1.0]);
        let mean = losses.iter().zip(weights).map(|(loss, weight)| loss * weight).sum::<f32>() / 5.0;
        assert!((mean - (2.0 + 5.0 + 2.0) / 3.0).abs() < 1e-6, "{mean}");
    }
}
