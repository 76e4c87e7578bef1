use serde::{Deserialize, Serialize};

use crate::state_bytes::Bytes;

/// The observations of a rollout, packed for a state. A stack of frames that continues the stack of the previous step
/// is stored as its newest frame only, which divides the size by almost the length of a stack.
#[derive(Serialize, Deserialize)]
pub(crate) struct PackedObservations {
    /// For each observation, true if it continues the previous one.
    continues: Vec<bool>,
    /// Observations, or their newest frames.
    frames: Bytes<'static>,
}

impl PackedObservations {
    /// Packs observations, which are stacks of frames of `frame_bytes` bytes, the newest last.
    pub(crate) fn new<'a>(observations: impl Iterator<Item = &'a [u8]>, frame_bytes: usize) -> Self {
        let (mut continues, mut frames) = (Vec::new(), Vec::new());
        let mut before: Option<&[u8]> = None;
        for observation in observations {
            let older = observation.len() - frame_bytes;
            let is_next =
                older > 0 && before.is_some_and(|before| before[frame_bytes..] == observation[..older]);
            frames.extend_from_slice(&observation[if is_next { older } else { 0 }..]);
            continues.push(is_next);
            before = Some(observation);
        }
        Self { continues, frames: Bytes(frames.into()) }
    }

    /// Returns the observations, each of `row_bytes` bytes. `None` if there are not `count` of them.
    pub(crate) fn unpack(&self, count: usize, row_bytes: usize, frame_bytes: usize) -> Option<Vec<u8>> {
        let older = row_bytes - frame_bytes;
        let mut rows = Vec::with_capacity(self.frames.0.len());
        let mut frames: &[u8] = &self.frames.0;
        for &is_next in &self.continues {
            if is_next {
                let before = rows.len().checked_sub(older)?;
                rows.extend_from_within(before..);
            }
            let (new, rest) = frames.split_at_checked(if is_next { frame_bytes } else { row_bytes })?;
            rows.extend_from_slice(new);
            frames = rest;
        }
        (frames.is_empty() && self.continues.len() == count).then_some(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continued_stacks_are_stored_as_their_newest_frames() {
        // Stacks of three frames of two bytes. The third begins an episode.
        let rows = [[1, 1, 2, 2, 3, 3], [2, 2, 3, 3, 4, 4], [9, 9, 9, 9, 9, 9], [9, 9, 9, 9, 7, 8]];
        let packed = PackedObservations::new(rows.iter().map(<[u8; 6]>::as_slice), 2);
        assert_eq!(packed.continues, [false, true, false, true]);
        assert_eq!(packed.frames.0.len(), 2 * 6 + 2 * 2);
        assert_eq!(packed.unpack(4, 6, 2), Some(rows.concat()));
        assert_eq!((packed.unpack(3, 6, 2), packed.unpack(4, 8, 2)), (None, None));
        // Vectors are stored whole.
        let packed = PackedObservations::new(rows.iter().map(<[u8; 6]>::as_slice), 6);
        assert_eq!((packed.frames.0.len(), packed.unpack(4, 6, 6)), (24, Some(rows.concat())));
    }

    #[test]
    fn damaged_observations_are_detected() {
        let mut packed = PackedObservations::new([[1, 2], [2, 3]].iter().map(<[u8; 2]>::as_slice), 1);
        packed.continues[0] = true;
        assert_eq!(packed.unpack(2, 2, 1), None);
    }
}
