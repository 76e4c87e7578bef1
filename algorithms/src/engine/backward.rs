//! The backward pass in two stages: first the layers above the body of a network, then the body. In a network for
//! images, the upper layers hold most of the weights, and their gradients are summed over processes while the second
//! stage runs.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Gradients, Tensor};

/// A place in a network at which the backward pass pauses.
pub(crate) struct Pause {
    /// The features of the body, with its graph.
    features: Tensor<2>,
    /// The same values, as a leaf of the graph of the upper layers.
    leaf: Tensor<2>,
}

/// The second stage of a backward pass.
pub(crate) struct BodyBackward {
    features: Tensor<2>,
    /// The gradient of the features.
    gradient: Tensor<2>,
}

impl Pause {
    /// Pauses the backward pass at the features of a body if `pauses` is true. Returns the features for the upper
    /// layers.
    pub(crate) fn at(features: Tensor<2>, pauses: bool) -> (Tensor<2>, Option<Self>) {
        if !pauses {
            return (features, None);
        }
        let leaf = Tensor::from_inner(features.clone().inner()).require_grad();
        (leaf.clone(), Some(Self { features, leaf }))
    }

    /// Returns the second stage, given the gradients of the first.
    pub(crate) fn resume(self, gradients: &Gradients) -> BodyBackward {
        let gradient = self.leaf.grad(gradients).expect("the loss depends on the features");
        BodyBackward { features: self.features, gradient }
    }
}

/// The place in a network at which the backward pass may pause: where a loss passes its features.
pub struct PausePoint {
    pauses: bool,
    pause: Option<Pause>,
}

impl PausePoint {
    pub(crate) fn new(pauses: bool) -> Self {
        Self { pauses, pause: None }
    }

    /// Passes on the features of the body to the upper layers.
    pub(crate) fn pass(&mut self, features: Tensor<2>) -> Tensor<2> {
        let (features, pause) = Pause::at(features, self.pauses);
        self.pause = pause;
        features
    }

    pub(crate) fn into_pause(self) -> Option<Pause> {
        self.pause
    }
}

impl BodyBackward {
    /// Returns the gradients of the body. They are bit-identical to those of a backward pass without a pause.
    pub(crate) fn run(self, network: &impl Module) -> GradientsParams {
        // Backpropagating this sum passes `gradient` on to the features.
        let loss = (self.features * Tensor::from_inner(self.gradient)).sum();
        GradientsParams::from_grads(loss.backward(), network)
    }
}
