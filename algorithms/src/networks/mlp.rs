use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;

use super::Initializer;

/// Two fully connected layers with hyperbolic tangents, for observations that are short vectors.
#[derive(Module, Debug)]
pub struct Mlp {
    linear1: Linear,
    linear2: Linear,
}

impl Mlp {
    /// Width of both layers, and number of features.
    pub const FEATURES: usize = 64;

    /// A torso for vectors of `inputs` elements.
    pub fn new(inputs: usize, initializer: &mut Initializer<'_>) -> Self {
        let gain = 2f64.sqrt();
        Self {
            linear1: initializer.linear(inputs, Self::FEATURES, gain),
            linear2: initializer.linear(Self::FEATURES, Self::FEATURES, gain),
        }
    }

    /// Features `[rows, 64]` of observations `[rows, inputs]`.
    pub fn forward(&self, observations: Tensor<2>) -> Tensor<2> {
        let hidden = self.linear1.forward(observations).tanh();
        self.linear2.forward(hidden).tanh()
    }
}
