#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod kernel;
mod stacks;
mod unpack;

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use rayon::prelude::*;

use super::{ObservationLayout, on_cpu};
use crate::host::{count_upload, floats, indices};
pub use stacks::FrameStacks;
use unpack::Planes;

/// Bytes per word.
const BYTES: usize = 4;

/// Rows of observations on a device, in as little memory as on the host.
///
/// Bytes are packed four to a word, because not every device supports single bytes (WGSL does not). They are
/// converted to floats on the device when a network reads them.
#[derive(Clone, Debug)]
pub enum PackedRows {
    /// `[rows, words]`, in little-endian order. Rows are padded with zeros.
    Bytes(Tensor<2, Int>),
    /// `[rows, length]`.
    Floats(Tensor<2>),
}

impl ObservationLayout {
    /// Converts rows to `[rows, length]`. Each row has [`row_bytes`](Self::row_bytes) bytes, which are
    /// converted on the device if that is not the CPU.
    pub fn tensor<'a>(self, rows: impl ExactSizeIterator<Item = &'a [u8]>, device: &Device) -> Tensor<2> {
        if !on_cpu(device) {
            return PackedRows::new(self, rows, device).unpack(self);
        }
        let (shape, values) = self.decode_all(rows);
        Tensor::from_data(TensorData::new(values, shape), device)
    }
}

impl PackedRows {
    /// Uploads rows of the given layout to `device`.
    pub fn new<'a>(
        layout: ObservationLayout,
        rows: impl ExactSizeIterator<Item = &'a [u8]>,
        device: &Device,
    ) -> Self {
        if let ObservationLayout::Floats { .. } | ObservationLayout::Mixed { .. } = layout {
            let (shape, values) = layout.decode_all(rows);
            return Self::Floats(floats(values, shape, device));
        }
        Self::Bytes(upload_rows(rows, layout.row_bytes().div_ceil(BYTES), device))
    }

    /// Selects rows by their indices.
    #[must_use]
    pub fn select(&self, rows: Tensor<1, Int>) -> Self {
        match self {
            Self::Bytes(words) => Self::Bytes(words.clone().select(0, rows)),
            Self::Floats(floats) => Self::Floats(floats.clone().select(0, rows)),
        }
    }

    /// Returns the indices of rows on the device.
    pub fn indices(&self, rows: impl Iterator<Item = usize>) -> Tensor<1, Int> {
        match self {
            Self::Bytes(words) => indices(rows, &words.device()),
            Self::Floats(floats) => indices(rows, &floats.device()),
        }
    }

    /// Concatenates `parts`: at least one, all of one layout.
    pub fn cat(parts: Vec<Self>) -> Self {
        let (mut words, mut floats) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Self::Bytes(part) => words.push(part),
                Self::Floats(part) => floats.push(part),
            }
        }
        if floats.is_empty() {
            Self::Bytes(Tensor::cat(words, 0))
        } else {
            Self::Floats(Tensor::cat(floats, 0))
        }
    }

    /// Unpacks the rows to `[rows, length]`, like [`ObservationLayout::tensor`].
    pub fn unpack(&self, layout: ObservationLayout) -> Tensor<2> {
        let words = match self {
            Self::Bytes(words) => words.clone(),
            Self::Floats(floats) => return floats.clone(),
        };
        let (channels, pixels) = match layout {
            ObservationLayout::Images { channels, height, width } => (channels, height * width),
            ObservationLayout::Bytes { length } => (1, length),
            ObservationLayout::Floats { .. } | ObservationLayout::Mixed { .. } => {
                unreachable!("floats are uploaded as floats")
            }
        };
        let planes = Planes { words: words.dims()[1], channels, pixels };
        unpack::unpack(words, planes)
    }
}

/// Packs rows into `words` words each and uploads them to `device`.
fn upload_rows<'a>(
    rows: impl ExactSizeIterator<Item = &'a [u8]>,
    words: usize,
    device: &Device,
) -> Tensor<2, Int> {
    let rows: Vec<&[u8]> = rows.collect();
    let shape = [rows.len(), words];
    let mut words = vec![0; shape[0] * shape[1]];
    words.par_chunks_exact_mut(shape[1]).zip(rows).for_each(|(words, row)| pack(row, words));
    upload_words(words, shape, device)
}

/// Uploads words to `device`.
fn upload_words(words: Vec<i32>, shape: [usize; 2], device: &Device) -> Tensor<2, Int> {
    count_upload();
    Tensor::from_data(TensorData::new(words, shape), (device, DType::I32))
}

/// Packs the bytes of a row into words. The last word is padded with zeros.
fn pack(row: &[u8], words: &mut [i32]) {
    let (whole, rest) = row.as_chunks();
    for (word, &bytes) in words.iter_mut().zip(whole) {
        *word = i32::from_le_bytes(bytes);
    }
    if let Some(word) = words.get_mut(whole.len()) {
        let mut last = [0; BYTES];
        last[..rest.len()].copy_from_slice(rest);
        *word = i32::from_le_bytes(last);
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::ImageShape;

    const NONE: ImageShape = ImageShape { channels: 0, height: 0, width: 0 };

    const LAYOUTS: [ObservationLayout; 5] = [
        ObservationLayout::Images { channels: 4, height: 36, width: 40 },
        ObservationLayout::Images { channels: 1, height: 37, width: 39 },
        ObservationLayout::Bytes { length: 9 },
        ObservationLayout::Floats { length: 3 },
        ObservationLayout::Mixed {
            images: [ImageShape { channels: 3, height: 5, width: 3 }, NONE, NONE, NONE],
            floats: 2,
        },
    ];

    fn host(tensor: Tensor<2>) -> Vec<f32> {
        tensor.try_into_vec_as().unwrap()
    }

    /// Rows of random bytes, below 127 for floats, so that these are finite.
    fn rows(layout: ObservationLayout, count: usize) -> Vec<Vec<u8>> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let has_floats = matches!(layout, ObservationLayout::Floats { .. } | ObservationLayout::Mixed { .. });
        let high = if has_floats { 126 } else { 255 };
        (0..count).map(|_| (0..layout.row_bytes()).map(|_| rng.random_range(0..=high)).collect()).collect()
    }

    #[test]
    fn packed_rows_unpack_to_the_values_of_the_host() {
        let device = Device::flex();
        for layout in LAYOUTS {
            let rows = rows(layout, 5);
            let slices = || rows.iter().map(Vec::as_slice);
            let packed = PackedRows::new(layout, slices(), &device);
            assert_eq!(host(packed.unpack(layout)), host(layout.tensor(slices(), &device)), "{layout:?}");
        }
    }

    #[test]
    fn rows_are_selected_across_concatenated_parts() {
        let device = Device::flex();
        for layout in LAYOUTS {
            let rows = rows(layout, 5);
            let part = |rows: &[Vec<u8>]| PackedRows::new(layout, rows.iter().map(Vec::as_slice), &device);
            let joined = PackedRows::cat(vec![part(&rows[..2]), part(&rows[2..])]);
            let picked = joined.select(joined.indices([4, 0, 0].into_iter()));
            let expected = [&rows[4], &rows[0], &rows[0]].map(Vec::as_slice);
            let expected = layout.tensor(expected.into_iter(), &device);
            assert_eq!(host(picked.unpack(layout)), host(expected), "{layout:?}");
        }
    }

    #[test]
    fn rows_become_a_tensor() {
        let layout = ObservationLayout::Floats { length: 2 };
        let rows = [[1.5f32, -2.0], [0.25, 8.0]].map(|row| row.map(f32::to_ne_bytes).concat());
        let tensor = layout.tensor(rows.iter().map(Vec::as_slice), &Device::flex());
        assert_eq!(tensor.dims(), [2, 2]);
        assert_eq!(tensor.try_into_vec_as::<f32>().unwrap(), [1.5, -2.0, 0.25, 8.0]);
    }
}
