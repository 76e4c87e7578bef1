//! The backward pass in two stages: first the layers above the body of a network, then the body. In a network for
//! images, the upper layers hold most of the weights, and their gradients are summed over processes while the second
//! stage runs.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Gradients, Tensor};

/// Where the forward pass hands the body's features to the upper layers. The backward pass can be split here; by
/// default it is not.
#[derive(Default)]
pub struct SplitPoint {
    is_split: bool,
    features: Option<SplitFeatures>,
}

/// The features of the body at which the backward pass is split.
struct SplitFeatures {
    /// The features in the graph of the body, as its output.
    body_output: Tensor<2>,
    /// The same values in the graph of the upper layers, as a leaf.
    upper_input: Tensor<2>,
}

/// The second stage of a backward pass.
pub(crate) struct BodyBackward {
    features: Tensor<2>,
    /// The gradient of the features.
    gradient: Tensor<2>,
}

impl SplitPoint {
    /// Creates the point, which splits the backward pass if `is_split` is true.
    pub(crate) fn new(is_split: bool) -> Self {
        Self { is_split, features: None }
    }

    /// Passes on the features of the body to the upper layers. If split, as a leaf of a new graph.
    pub(crate) fn pass(&mut self, features: Tensor<2>) -> Tensor<2> {
        if !self.is_split {
            return features;
        }
        let upper_input = Tensor::from_inner(features.clone().inner()).require_grad();
        self.features = Some(SplitFeatures { body_output: features, upper_input: upper_input.clone() });
        upper_input
    }

    /// Returns the second stage if the backward pass is split, given the gradients of the first.
    pub(crate) fn body_backward(self, gradients: &Gradients) -> Option<BodyBackward> {
        let SplitFeatures { body_output, upper_input } = self.features?;
        let gradient = upper_input.grad(gradients).expect("the loss depends on the features");
        Some(BodyBackward { features: body_output, gradient })
    }
}

impl BodyBackward {
    /// Returns the gradients of the body. They are bit-identical to those of a backward pass that is not split.
    pub(crate) fn run(self, network: &impl Module) -> GradientsParams {
        // Backpropagating this sum passes `gradient` on to the features.
        let loss = (self.features * Tensor::from_inner(self.gradient)).sum();
        GradientsParams::from_grads(loss.backward(), network)
    }
}
