use crate::networks::PackedRows;

/// The observations of a rollout, kept on the device that they were moved to for acting, so that no epoch moves them
/// again. The rollout has them too, for checkpoints and to diagnose what went wrong.
#[derive(Debug)]
pub(crate) struct DeviceRollout {
    /// Rows in the order of their coming.
    parts: Vec<PackedRows>,
    num_rows: usize,
    /// For each entry of the rollout its row among those of all parts.
    places: Vec<usize>,
}

impl DeviceRollout {
    /// Of nothing yet.
    pub(crate) fn new(entries: usize) -> Self {
        Self { parts: Vec::new(), num_rows: 0, places: vec![0; entries] }
    }

    /// Takes the observations of some entries, row by row.
    pub(crate) fn push(&mut self, entries: impl Iterator<Item = usize>, rows: PackedRows) {
        for entry in entries {
            self.places[entry] = self.num_rows;
            self.num_rows += 1;
        }
        self.parts.push(rows);
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.parts.clear();
        self.num_rows = 0;
    }

    /// Makes one part of all, so that entries can be picked.
    pub(crate) fn join(&mut self) {
        if self.parts.len() > 1 {
            self.parts = vec![PackedRows::cat(std::mem::take(&mut self.parts))];
        }
    }

    /// The observations of the given entries, all of which were taken and [joined](Self::join).
    pub(crate) fn select(&self, entries: &[usize]) -> PackedRows {
        let rows: Vec<usize> = entries.iter().map(|&entry| self.places[entry]).collect();
        self.parts[0].select(&rows)
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
            rollout.select(&[0, 1, 2, 3]).unpack(layout).try_into_vec_as().unwrap()
        };
        assert_eq!(picked([0, 2], [1, 3]), [0.0, 0.4, 0.2, 0.6]);
        assert_eq!(picked([3, 1], [0, 2]), [0.4, 0.2, 0.6, 0.0]);
    }
}
