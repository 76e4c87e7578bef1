use burn::tensor::Tensor;

/// The targets of the rows of a minibatch besides their advantages, `[rows]` each.
pub(super) struct RowTargets {
    pub(super) log_probs: Tensor<1>,
    pub(super) returns: Tensor<1>,
    pub(super) values: Tensor<1>,
    pub(super) entropy_weights: Tensor<1>,
}

impl RowTargets {
    /// Creates the targets from a function that returns each [column](super::targets::Targets::row).
    pub(super) fn from_columns(column: impl Fn(usize) -> Tensor<1>) -> Self {
        Self { log_probs: column(0), returns: column(1), values: column(2), entropy_weights: column(3) }
    }
}
