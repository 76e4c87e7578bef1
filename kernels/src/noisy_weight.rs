//! Noisy weights as an extension of burn's flex backend, with their own backward pass. One pass over the weights
//! replaces a second matrix product.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::Tensor;
use pulp::Arch;
use rayon::prelude::*;

use crate::flex::{slice, tensor};

/// Returns `weight + sigma * outer(inputs, outputs)` on flex. Tracks gradients of `weight` and `sigma`, both
/// `[inputs, columns]`, if these do. The noise of the inputs is `[1, inputs]`; that of the outputs, `[1, outputs]`,
/// repeats over the columns.
pub fn noisy_weight(weight: Tensor<2>, sigma: Tensor<2>, inputs: Tensor<2>, outputs: Tensor<2>) -> Tensor<2> {
    let [weight, sigma, inputs, outputs] = [weight, sigma, inputs, outputs].map(Tensor::into_dispatch);
    Tensor::from_dispatch(<Dispatch as NoisyWeight>::noisy_weight(weight, sigma, inputs, outputs))
}

/// Backends with noisy weights.
#[backend_extension(Flex, Autodiff)]
trait NoisyWeight: Backend {
    /// [`noisy_weight`](fn@noisy_weight).
    fn noisy_weight(
        weight: FloatTensor<Self>,
        sigma: FloatTensor<Self>,
        inputs: FloatTensor<Self>,
        outputs: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
}

impl NoisyWeight for Flex {
    fn noisy_weight(
        weight: FlexTensor,
        sigma: FlexTensor,
        inputs: FlexTensor,
        outputs: FlexTensor,
    ) -> FlexTensor {
        let shape: [usize; 2] = weight.shape().dims();
        let (weight, sigma) = (weight.to_contiguous(), sigma.to_contiguous());
        let noise = Noise::new(&inputs, &outputs);
        let result = noise.map(slice(&weight), slice(&sigma), |weight, sigma, noise| weight + sigma * noise);
        tensor(result, shape)
    }
}

impl<C: CheckpointStrategy> NoisyWeight for Autodiff<Flex, C> {
    fn noisy_weight(
        weight: FloatTensor<Self>,
        sigma: FloatTensor<Self>,
        inputs: FloatTensor<Self>,
        outputs: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let [(weight, weight_node), (sigma, sigma_node), (inputs, _), (outputs, _)] =
            [weight, sigma, inputs, outputs].map(FloatTensor::<Self>::into_parts);
        let result = Flex::noisy_weight(weight, sigma, inputs.clone(), outputs.clone());
        match NoisyWeightBackward.prepare::<C>([weight_node, sigma_node]).compute_bound().stateful() {
            OpsKind::Tracked(preparation) => preparation.finish(Noise::new(&inputs, &outputs), result),
            OpsKind::UnTracked(preparation) => preparation.finish(result),
        }
    }
}

/// The noise of a layer.
#[derive(Clone, Debug)]
struct Noise {
    inputs: FlexTensor,
    outputs: FlexTensor,
}

impl Noise {
    fn new(inputs: &FlexTensor, outputs: &FlexTensor) -> Self {
        Self { inputs: inputs.to_contiguous(), outputs: outputs.to_contiguous() }
    }

    /// Computes a matrix of the shape of the weights. `element` returns a value, given the elements of both matrices
    /// and the noise at its place.
    #[allow(unsafe_code)]
    fn map(
        &self,
        first: &[f32],
        second: &[f32],
        element: impl Fn(f32, f32, f32) -> f32 + Copy + Sync,
    ) -> Vec<f32> {
        let (inputs, outputs) = (slice(&self.inputs), slice(&self.outputs));
        let columns = first.len() / inputs.len();
        assert!(first.len() == second.len() && first.len() == inputs.len() * columns);
        assert!(columns.is_multiple_of(outputs.len()));
        let mut result = Box::new_uninit_slice(first.len());
        let rows = first.par_chunks(columns).zip(second.par_chunks(columns)).zip(inputs);
        let arch = Arch::new();
        result.par_chunks_mut(columns).zip(rows).for_each(|(result, ((first, second), input))| {
            arch.dispatch(|| {
                // A copy stays in a register: the compiler does not see that the result never overwrites `input`.
                let (width, input) = (outputs.len(), *input);
                let layers = first.chunks_exact(width).zip(second.chunks_exact(width));
                for (result, (first, second)) in result.chunks_exact_mut(width).zip(layers) {
                    let elements = first.iter().zip(second).zip(outputs);
                    for (result, ((first, second), output)) in result.iter_mut().zip(elements) {
                        result.write(element(*first, *second, input * output));
                    }
                }
            });
        });
        // SAFETY: `inputs.len()` rows have been written, each in all its columns.
        unsafe { result.assume_init() }.into_vec()
    }
}

#[derive(Debug)]
struct NoisyWeightBackward;

impl Backward<Flex, 2> for NoisyWeightBackward {
    type State = Noise;

    fn backward(self, ops: Ops<Noise, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let [weight_node, sigma_node] = ops.parents;
        if let Some(node) = sigma_node {
            let shape: [usize; 2] = gradient.shape().dims();
            let gradient = slice(&gradient);
            let result = ops.state.map(gradient, gradient, |gradient, _, noise| gradient * noise);
            gradients.register::<Flex>(node.id, tensor(result, shape));
        }
        if let Some(node) = weight_node {
            gradients.register::<Flex>(node.id, gradient);
        }
    }
}
