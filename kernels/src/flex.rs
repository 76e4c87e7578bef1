//! Tensors and gradients of burn's flex backend, for custom operations.

use burn::backend::Flex;
use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::flex::FlexTensor;
use burn::tensor::TensorData;

/// Returns the values of a contiguous tensor of `f32`.
pub(super) fn slice(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("a contiguous tensor of f32")
}

pub(super) fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

/// Registers the gradient of an operation's argument, which is `None` if it is not tracked.
pub(super) fn register<const D: usize>(
    gradients: &mut Gradients,
    argument: Option<NodeId>,
    values: Vec<f32>,
    shape: [usize; D],
) {
    if let Some(node) = argument {
        gradients.register::<Flex>(node, tensor(values, shape));
    }
}
