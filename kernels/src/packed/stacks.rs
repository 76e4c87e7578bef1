use burn::tensor::{Device, Int, Tensor};
use rayon::prelude::*;

use super::{BYTES, PackedRows, pack, upload_rows, upload_words};
use crate::ObservationLayout;
use crate::host::indices;

/// The last observations of some environments, on the host and on a device. An observation that continues the last one,
/// as a stack of frames does, is uploaded as its newest frame only.
#[derive(Clone, Debug)]
pub struct FrameStacks {
    /// The frames of each row, in a ring: frame `index` is in slot `(oldest + index) % frames`.
    host: Vec<u8>,
    oldest: usize,
    /// `[rows, words]`.
    device: Tensor<2, Int>,
}

/// The number of frames of a row and their bytes.
#[derive(Clone, Copy)]
struct Frames {
    count: usize,
    bytes: usize,
}

impl Frames {
    /// Returns the frames of a layout, or `None` if rows have a single one or frames are not whole words.
    fn new(layout: ObservationLayout) -> Option<Self> {
        let ObservationLayout::Images { channels, height, width } = layout else { return None };
        let bytes = height * width;
        (channels > 1 && bytes.is_multiple_of(BYTES)).then_some(Self { count: channels, bytes })
    }

    /// Returns the range of a frame in a ring.
    fn slot(self, oldest: usize, index: usize) -> std::ops::Range<usize> {
        let slot = (oldest + index) % self.count;
        slot * self.bytes..(slot + 1) * self.bytes
    }
}

impl FrameStacks {
    /// Uploads `rows` of the given layout to `device`, and remembers them in `last`. `last` must hold earlier
    /// observations of the same environments in the same order, or `None`.
    pub fn upload(
        last: &mut Option<Self>,
        layout: ObservationLayout,
        rows: &[&[u8]],
        device: &Device,
    ) -> PackedRows {
        let Some(frames) = Frames::new(layout) else {
            return PackedRows::new(layout, rows.iter().copied(), device);
        };
        if let Some(last) = last {
            return PackedRows::Bytes(last.advance(frames, rows, device));
        }
        let words = upload_rows(rows.iter().copied(), layout.row_bytes() / BYTES, device);
        *last = Some(Self { host: rows.concat(), oldest: 0, device: words.clone() });
        PackedRows::Bytes(words)
    }

    /// Replaces all observations by `rows`.
    fn advance(&mut self, frames: Frames, rows: &[&[u8]], device: &Device) -> Tensor<2, Int> {
        let Frames { count, bytes } = frames;
        let words = bytes / BYTES;
        let oldest = (self.oldest + 1) % count;
        let mut newest = vec![0; rows.len() * words];
        let continues: Vec<bool> = self
            .host
            .par_chunks_exact_mut(count * bytes)
            .zip(newest.par_chunks_exact_mut(words))
            .zip(rows)
            .map(|((ring, newest), row)| {
                let frame = |index: usize| &row[index * bytes..(index + 1) * bytes];
                let older = count - 1;
                let continues = (0..older).all(|index| ring[frames.slot(oldest, index)] == *frame(index));
                for index in if continues { older..count } else { 0..count } {
                    ring[frames.slot(oldest, index)].copy_from_slice(frame(index));
                }
                pack(frame(older), newest);
                continues
            })
            .collect();
        self.oldest = oldest;
        let newest = upload_words(newest, [rows.len(), words], device);
        let older = self.device.clone().narrow(1, words, (count - 1) * words);
        let mut stacks = Tensor::cat(vec![older, newest], 1);
        let begins: Vec<usize> = (0..rows.len()).filter(|&row| !continues[row]).collect();
        if !begins.is_empty() {
            let first = upload_rows(begins.iter().map(|&row| rows[row]), count * words, device);
            // The indices of the rows in the stacks, which the observations that continue none then follow.
            let mut sources: Vec<usize> = (0..rows.len()).collect();
            for (index, &row) in begins.iter().enumerate() {
                sources[row] = rows.len() + index;
            }
            stacks = Tensor::cat(vec![stacks, first], 0).select(0, indices(sources.into_iter(), device));
        }
        self.device = stacks.clone();
        stacks
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::host::DeviceCalls;

    const LAYOUT: ObservationLayout = ObservationLayout::Images { channels: 3, height: 36, width: 37 };
    const FRAME: usize = 36 * 37;

    /// Uploads rows, compares them with the host's, and returns the number of uploads.
    fn uploads(last: &mut Option<FrameStacks>, layout: ObservationLayout, rows: &[Vec<u8>]) -> u64 {
        let device = Device::flex();
        let slices: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let before = DeviceCalls::of_thread();
        let packed = FrameStacks::upload(last, layout, &slices, &device);
        let uploads = (DeviceCalls::of_thread() - before).uploads;
        let values = |tensor: Tensor<2>| tensor.try_into_vec_as().unwrap();
        let expected: Vec<f32> = values(layout.tensor(slices.into_iter(), &device));
        assert_eq!(values(packed.unpack(layout)), expected);
        uploads
    }

    #[test]
    fn only_newest_frames_are_uploaded_unless_an_observation_continues_none() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut frame = || -> Vec<u8> { (0..FRAME).map(|_| rng.random()).collect() };
        let mut rows: Vec<Vec<u8>> = (0..4).map(|_| (0..3).flat_map(|_| frame()).collect()).collect();
        let mut last = None;
        assert_eq!(uploads(&mut last, LAYOUT, &rows), 1);
        // The rows that begin an episode, at each step.
        for begin in [&[][..], &[1], &[], &[], &[0, 1, 2, 3], &[3], &[]] {
            for (index, row) in rows.iter_mut().enumerate() {
                row.drain(..FRAME);
                row.extend(frame());
                if begin.contains(&index) {
                    *row = (0..3).flat_map(|_| frame()).collect();
                }
            }
            // Whole rows and the places of all rows are uploaded too.
            assert_eq!(uploads(&mut last, LAYOUT, &rows), if begin.is_empty() { 1 } else { 3 });
        }
    }

    #[test]
    fn frames_that_are_not_whole_words_are_uploaded_with_their_rows() {
        let odd = ObservationLayout::Images { channels: 2, height: 37, width: 39 };
        for layout in [odd, ObservationLayout::Bytes { length: 9 }, ObservationLayout::Floats { length: 2 }] {
            let (mut last, rows) = (None, vec![vec![1; layout.row_bytes()]; 2]);
            assert_eq!([uploads(&mut last, layout, &rows), uploads(&mut last, layout, &rows)], [1, 1]);
            assert!(last.is_none());
        }
    }
}
