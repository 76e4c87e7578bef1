//! Transfers between the host and a device, and counters of device calls.

use std::cell::Cell;
use std::ops::Sub;

use burn::tensor::{Device, Int, Tensor, TensorData};

use thiserror::Error;

use crate::{launches, on_cpu};

thread_local! {
    static TRANSFERS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// A device failed.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("the device failed: {0}")]
pub struct DeviceError(pub String);

/// The number of calls to devices other than the CPU. On the CPU nothing is launched or moved, but transfers are
/// counted in the same way.
///
/// Uploads of new networks, of Adam's initial moments and of changed value scales are not counted, and neither are most
/// transfers of DQN and SAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCalls {
    /// Kernel launches. The host does not wait for them.
    pub launches: u64,
    /// Copies to a device. The host does not wait for them.
    pub uploads: u64,
    /// Copies to the host. For each of them, the host waits until the device has finished all earlier work.
    pub waits: u64,
}

impl DeviceCalls {
    /// Returns the number of calls that this thread has made. Launches are counted from the first call of this function
    /// on.
    pub fn of_thread() -> Self {
        let (uploads, waits) = TRANSFERS.get();
        Self { launches: launches::of_thread(), uploads, waits }
    }

    fn count(uploads: u64, waits: u64) {
        let (uploaded, waited) = TRANSFERS.get();
        TRANSFERS.set((uploaded + uploads, waited + waits));
    }
}

impl Sub for DeviceCalls {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            launches: self.launches - earlier.launches,
            uploads: self.uploads - earlier.uploads,
            waits: self.waits - earlier.waits,
        }
    }
}

/// Copies the values of a tensor to the host, in row-major order. Waits for the device.
pub fn to_host<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, DeviceError> {
    DeviceCalls::count(0, 1);
    tensor.try_into_vec_as::<f32>().map_err(|error| DeviceError(error.to_string()))
}

/// Copies tensors with the same number of rows to the host, each `[rows, columns]` in row-major order. Waits for the
/// device once.
pub fn columns_to_host(columns: Vec<Tensor<2>>) -> Result<Vec<Vec<f32>>, DeviceError> {
    // Nothing waits on the CPU, and joining would cost a copy.
    if columns.len() < 2 || on_cpu(&columns[0].device()) {
        return columns.into_iter().map(to_host).collect();
    }
    let widths: Vec<usize> = columns.iter().map(|columns| columns.dims()[1]).collect();
    let width_of_row: usize = widths.iter().sum();
    let values = to_host(Tensor::cat(columns, 1))?;
    let mut first = 0;
    let columns = widths.into_iter().map(|width| {
        let elements = first..first + width;
        first += width;
        values.chunks_exact(width_of_row).flat_map(|row| &row[elements.clone()]).copied().collect()
    });
    Ok(columns.collect())
}

/// Copies floats to a device.
pub fn floats<const D: usize>(values: Vec<f32>, shape: [usize; D], device: &Device) -> Tensor<D> {
    DeviceCalls::count(1, 0);
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Copies integers to a device.
pub fn integers<const D: usize>(values: Vec<i32>, shape: [usize; D], device: &Device) -> Tensor<D, Int> {
    DeviceCalls::count(1, 0);
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Returns the indices of rows on a device.
pub fn indices(rows: impl Iterator<Item = usize>, device: &Device) -> Tensor<1, Int> {
    let rows: Vec<i32> = rows.map(|row| row as i32).collect();
    let count = rows.len();
    integers(rows, [count], device)
}

/// Counts a copy to a device that the caller makes.
pub fn count_upload() {
    DeviceCalls::count(1, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::simulate_device;

    #[test]
    fn columns_are_read_together_from_a_device() {
        let expected = vec![vec![1.0, 2.0, 3.0, 4.0], vec![], vec![5.0, 6.0]];
        let calls = |waits| DeviceCalls { launches: 0, uploads: 3, waits };
        assert_eq!(upload_and_read_columns(), (expected.clone(), calls(3)));
        assert_eq!(simulate_device(upload_and_read_columns), (expected, calls(1)));
    }

    /// Uploads three matrices and reads them together. Returns the values and the calls of the device.
    fn upload_and_read_columns() -> (Vec<Vec<f32>>, DeviceCalls) {
        let device = Device::flex();
        let before = DeviceCalls::of_thread();
        let columns = vec![
            floats(vec![1.0, 2.0, 3.0, 4.0], [2, 2], &device),
            floats(Vec::new(), [2, 0], &device),
            floats(vec![5.0, 6.0], [2, 1], &device),
        ];
        (columns_to_host(columns).unwrap(), DeviceCalls::of_thread() - before)
    }
}
