use burn::tensor::Tensor;

use super::optimizer_step::Details;

/// The loss of a minibatch.
pub struct Loss {
    /// The scalar that is minimised, `[1]`.
    pub(crate) total: Tensor<1>,
    /// The terms to report, `[1]` each.
    pub(crate) terms: Vec<Tensor<1>>,
    /// The values to report besides the terms.
    pub(crate) details: Details,
}
