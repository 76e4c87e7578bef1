//! Conversion of packed bytes to floats, as an extension of burn's backends.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, AutodiffBackend, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::{Int, Tensor, TensorData};

/// The arrangement of the bytes of a row: one plane for each channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Planes {
    /// Words of a row, of four bytes each.
    pub(super) words: usize,
    pub(super) channels: usize,
    /// Bytes of a plane.
    pub(super) pixels: usize,
}

/// Converts words `[rows, words]` to `[rows, pixels * channels]` with channels last and values in 0..=1.
pub(super) fn unpack(words: Tensor<2, Int>, planes: Planes) -> Tensor<2> {
    Tensor::from_dispatch(<Dispatch as Unpack>::unpack(words.into_dispatch(), planes))
}

/// Backends that convert packed bytes.
#[backend_extension(Flex, Cube: cfg(any(feature = "cuda", feature = "wgpu")), Autodiff)]
pub(super) trait Unpack: Backend {
    /// Converts words of four bytes in little-endian order.
    fn unpack(words: IntTensor<Self>, planes: Planes) -> FloatTensor<Self>;
}

impl<B: Unpack, C: CheckpointStrategy> Unpack for Autodiff<B, C> {
    /// Observations have no gradient.
    fn unpack(words: IntTensor<Self>, planes: Planes) -> FloatTensor<Self> {
        Self::from_inner(B::unpack(words, planes))
    }
}

impl Unpack for Flex {
    fn unpack(words: FlexTensor, planes: Planes) -> FlexTensor {
        let [rows, _] = words.shape().dims();
        let words = words.to_contiguous();
        let words: &[i32] = words.as_slice().expect("a contiguous tensor of i32");
        let Planes { channels, pixels, .. } = planes;
        let values = words.chunks_exact(planes.words).flat_map(|row| {
            (0..pixels * channels).map(move |element| {
                let byte = element % channels * pixels + element / channels;
                f32::from(row[byte / 4].to_le_bytes()[byte % 4]) / 255.0
            })
        });
        FlexTensor::from_data(TensorData::new(values.collect::<Vec<f32>>(), [rows, pixels * channels]))
    }
}
