//! The fused convolution as an extension of burn's flex backend, with its own backward pass.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::Tensor;

use super::geometry::{Geometry, Window};
use super::{backward, forward};
use crate::networks::flex::{register, slice, tensor};

/// [`Conv::forward`](super::Conv::forward) on flex. Tracks gradients if the arguments do.
pub(super) fn conv(
    input: Tensor<4>,
    weight: Tensor<4>,
    bias: Tensor<1>,
    window: Window,
    rectify: bool,
) -> Tensor<4> {
    let (input, weight, bias) = (input.into_dispatch(), weight.into_dispatch(), bias.into_dispatch());
    Tensor::from_dispatch(<Dispatch as FusedConv>::fused_conv(input, weight, bias, window, rectify))
}

/// Backends with a fused convolution.
#[backend_extension(Flex, Autodiff)]
trait FusedConv: Backend {
    /// Convolves an input `[images, height, width, inputs]` with a weight `[kernel, kernel, inputs, outputs]`
    /// and a bias `[outputs]`.
    fn fused_conv(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        window: Window,
        rectify: bool,
    ) -> FloatTensor<Self>;
}

impl FusedConv for Flex {
    fn fused_conv(
        input: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        window: Window,
        rectify: bool,
    ) -> FlexTensor {
        let geometry = Geometry::new(input.shape().dims(), weight.shape().dims(), window);
        let (input, weight, bias) = (input.to_contiguous(), weight.to_contiguous(), bias.to_contiguous());
        let output = forward::forward(geometry, slice(&input), slice(&weight), slice(&bias), rectify);
        tensor(output, geometry.output_shape())
    }
}

impl<C: CheckpointStrategy> FusedConv for Autodiff<Flex, C> {
    fn fused_conv(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        window: Window,
        rectify: bool,
    ) -> FloatTensor<Self> {
        let (input, input_node) = input.into_parts();
        let (weight, weight_node) = weight.into_parts();
        let (bias, bias_node) = bias.into_parts();
        let output = Flex::fused_conv(input.clone(), weight.clone(), bias, window, rectify);
        let nodes = [input_node, weight_node, bias_node];
        match FusedConvBackward.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(preparation) => {
                let forward = Forward { input, weight, output: output.clone(), window, rectify };
                preparation.finish(forward, output)
            }
            OpsKind::UnTracked(preparation) => preparation.finish(output),
        }
    }
}

/// Tensors of the forward pass that the backward pass needs.
#[derive(Clone, Debug)]
struct Forward {
    input: FlexTensor,
    weight: FlexTensor,
    output: FlexTensor,
    window: Window,
    rectify: bool,
}

#[derive(Debug)]
struct FusedConvBackward;

impl Backward<Flex, 3> for FusedConvBackward {
    type State = Forward;

    fn backward(self, ops: Ops<Forward, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let Forward { input, weight, output, window, rectify } = ops.state;
        let (input_shape, weight_shape) = (input.shape().dims(), weight.shape().dims());
        let geometry = Geometry::new(input_shape, weight_shape, window);
        let (input, weight) = (input.to_contiguous(), weight.to_contiguous());
        let backward = backward::Backward {
            input: slice(&input),
            weight: slice(&weight),
            output: slice(&output),
            gradient: slice(&gradient),
            rectified: rectify,
        };
        let [input_node, weight_node, bias_node] = ops.parents.map(|parent| parent.map(|node| node.id));
        // The first layer's input is an observation, which has no gradient.
        let result = backward.run(geometry, input_node.is_some());
        if let Some(gradient) = result.input {
            register(gradients, input_node, gradient, input_shape);
        }
        register(gradients, weight_node, result.weight, weight_shape);
        register(gradients, bias_node, result.bias, [geometry.outputs]);
    }
}
