//! Transfers between the host and a device, and their number.

use std::cell::Cell;
use std::ops::Sub;

use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::LearnerError;
use crate::networks::on_cpu;

thread_local! {
    static TRANSFERS: Cell<Transfers> = const { Cell::new(Transfers { uploads: 0, waits: 0 }) };
}

/// Numbers of transfers between the host and devices. On the CPU, where nothing moves, the same calls count.
///
/// Uploads of new networks, of the first moments of Adam and of changed value scales are not counted, nor are most of DQN and
/// SAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Copies to a device, for which the host does not wait.
    pub uploads: u64,
    /// Copies to the host, for each of which it waits until the device has computed everything before.
    pub waits: u64,
}

impl Transfers {
    /// Returns the number of all transfers that the calling thread has made.
    pub fn of_thread() -> Self {
        TRANSFERS.get()
    }

    fn count(uploads: u64, waits: u64) {
        let Self { uploads: before, waits: waited } = TRANSFERS.get();
        TRANSFERS.set(Self { uploads: before + uploads, waits: waited + waits });
    }
}

impl Sub for Transfers {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self { uploads: self.uploads - earlier.uploads, waits: self.waits - earlier.waits }
    }
}

/// Copies the values of a tensor to the host, in row-major order. Waits for the device.
pub(crate) fn to_host<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, LearnerError> {
    Transfers::count(0, 1);
    tensor.try_into_vec_as::<f32>().map_err(|error| LearnerError::Device(error.to_string()))
}

/// Copies tensors with equally many rows to the host, each `[rows, columns]` in row-major order. Waits for the device once.
pub(crate) fn columns_to_host(columns: Vec<Tensor<2>>) -> Result<Vec<Vec<f32>>, LearnerError> {
    // Nothing waits on the CPU, and joining would cost a copy.
    if columns.len() < 2 || on_cpu(&columns[0].device()) {
        return columns.into_iter().map(to_host).collect();
    }
    let widths: Vec<usize> = columns.iter().map(|columns| columns.dims()[1]).collect();
    let all: usize = widths.iter().sum();
    let values = to_host(Tensor::cat(columns, 1))?;
    let mut first = 0;
    let columns = widths.into_iter().map(|width| {
        let own = first..first + width;
        first += width;
        values.chunks_exact(all).flat_map(|row| &row[own.clone()]).copied().collect()
    });
    Ok(columns.collect())
}

/// Copies floats to a device.
pub(crate) fn floats<const D: usize>(values: Vec<f32>, shape: [usize; D], device: &Device) -> Tensor<D> {
    Transfers::count(1, 0);
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Copies integers to a device.
pub(crate) fn integers<const D: usize>(
    values: Vec<i32>,
    shape: [usize; D],
    device: &Device,
) -> Tensor<D, Int> {
    Transfers::count(1, 0);
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Returns the indices of rows on a device.
pub(crate) fn indices(rows: impl Iterator<Item = usize>, device: &Device) -> Tensor<1, Int> {
    let rows: Vec<i32> = rows.map(|row| row as i32).collect();
    let count = rows.len();
    integers(rows, [count], device)
}

/// Counts a copy to a device that the caller makes.
pub(crate) fn count_upload() {
    Transfers::count(1, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::simulate_device;

    #[test]
    fn columns_are_read_together_from_a_device() {
        let device = Device::flex();
        let read = || {
            let before = Transfers::of_thread();
            let columns = vec![
                floats(vec![1.0, 2.0, 3.0, 4.0], [2, 2], &device),
                floats(Vec::new(), [2, 0], &device),
                floats(vec![5.0, 6.0], [2, 1], &device),
            ];
            (columns_to_host(columns).unwrap(), Transfers::of_thread() - before)
        };
        let expected = vec![vec![1.0, 2.0, 3.0, 4.0], vec![], vec![5.0, 6.0]];
        assert_eq!(read(), (expected.clone(), Transfers { uploads: 3, waits: 3 }));
        assert_eq!(simulate_device(read), (expected, Transfers { uploads: 3, waits: 1 }));
    }
}
