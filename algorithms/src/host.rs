use burn::tensor::Tensor;

use crate::LearnerError;

/// Copies the values of a tensor to the host, in row-major order. Waits for the device.
pub(crate) fn to_host<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, LearnerError> {
    tensor.try_into_vec_as::<f32>().map_err(|error| LearnerError::Device(error.to_string()))
}
