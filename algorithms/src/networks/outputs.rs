use burn::tensor::Tensor;

/// The outputs of a network for a batch of observations.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// `[rows, max_outputs]`: the logits of the options, or the means of the components of continuous actions. In the
    /// columns beyond the outputs of a row's task, logits are masked and means are arbitrary.
    pub logits: Tensor<2>,
    /// `[rows, max_outputs]`: the logarithms of the standard deviations of continuous actions.
    pub log_deviations: Option<Tensor<2>>,
    /// True if continuous actions are tanh of normally distributed numbers.
    pub squashes: bool,
    /// `[rows]`.
    pub values: Tensor<1>,
    /// `[rows]`: the values of intrinsic returns, if the agent learns from intrinsic rewards.
    pub intrinsic_values: Option<Tensor<1>>,
}
