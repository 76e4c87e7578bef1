//! The values of tensors of burn's flex backend, for operations of our own.

use burn::backend::flex::FlexTensor;
use burn::tensor::TensorData;

/// Returns the values of a contiguous tensor of `f32`.
pub(super) fn slice(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("a contiguous tensor of f32")
}

pub(super) fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}
