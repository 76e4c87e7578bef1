use burn::tensor::{Int, Tensor};
use kernels::PackedRows;

/// The observations of a rollout, kept on the device to which they were uploaded for acting, so that epochs need no
/// further uploads. The rollout also holds them on the host, for checkpoints and error reports.
#[derive(Debug)]
pub(crate) struct DeviceRollout {
    /// Rows in the order of their arrival.
    parts: Vec<PackedRows>,
    /// The entry of the rollout for each row of all parts.
    entries: Vec<usize>,
    /// The row of each entry.
    device_rows: Vec<usize>,
}

impl DeviceRollout {
    /// Creates an empty rollout for `entries` entries.
    pub(crate) fn new(entries: usize) -> Self {
        Self { parts: Vec::new(), entries: Vec::new(), device_rows: vec![0; entries] }
    }

    /// Adds the observations of some entries, row by row.
    pub(crate) fn push(&mut self, entries: impl Iterator<Item = usize>, rows: PackedRows) {
        for entry in entries {
            self.device_rows[entry] = self.entries.len();
            self.entries.push(entry);
        }
        self.parts.push(rows);
    }

    /// Removes all observations.
    pub(crate) fn clear(&mut self) {
        self.parts.clear();
        self.entries.clear();
    }

    /// Concatenates all parts, so that entries can be selected.
    pub(crate) fn join(&mut self) {
        if self.parts.len() > 1 {
            self.parts = vec![PackedRows::cat(std::mem::take(&mut self.parts))];
        }
    }

    /// Returns the entry of each row, in the order of their arrival.
    pub(crate) fn entries(&self) -> &[usize] {
        &self.entries
    }

    /// Returns the rows of the given entries as indices on the device. The entries must have been pushed and
    /// [joined](Self::join).
    pub(crate) fn rows(&self, entries: &[usize]) -> Tensor<1, Int> {
        self.parts[0].indices(entries.iter().map(|&entry| self.device_rows[entry]))
    }

    /// Selects observations by their [rows](Self::rows).
    pub(crate) fn select(&self, rows: Tensor<1, Int>) -> PackedRows {
        self.parts[0].select(rows)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::networks::ObservationLayout;

    #[test]
    fn entries_are_selected_regardless_of_arrival_order() {
        let layout = ObservationLayout::Bytes { length: 1 };
        let rows = |bytes: [u8; 2]| {
            let rows = bytes.map(|byte| [byte]);
            PackedRows::new(layout, rows.iter().map(<[u8; 1]>::as_slice), &Device::flex())
        };
        let mut rollout = DeviceRollout::new(4);
        let mut picked = |first: [usize; 2], second: [usize; 2]| -> Vec<f32> {
            rollout.clear();
            rollout.push(first.into_iter(), rows([0, 51]));
            rollout.push(second.into_iter(), rows([102, 153]));
            rollout.join();
            let picked = rollout.select(rollout.rows(&[0, 1, 2, 3]));
            picked.unpack(layout).try_into_vec_as().unwrap()
        };
        assert_eq!(picked([0, 2], [1, 3]), [0.0, 0.4, 0.2, 0.6]);
        assert_eq!(picked([3, 1], [0, 2]), [0.4, 0.2, 0.6, 0.0]);
    }
}
