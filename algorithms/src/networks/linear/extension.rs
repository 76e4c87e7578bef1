//! The fused layer as an extension of burn's flex backend, with its own backward pass.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::Tensor;

use super::{Sizes, backward, forward};
use crate::networks::flex::{register, slice, tensor};

/// [`fully_connected`](super::fully_connected) on flex. Tracks gradients if the arguments do.
pub(super) fn linear(input: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>, rectify: bool) -> Tensor<2> {
    let (input, weight, bias) = (input.into_dispatch(), weight.into_dispatch(), bias.into_dispatch());
    Tensor::from_dispatch(<Dispatch as FusedLinear>::fused_linear(input, weight, bias, rectify))
}

/// Backends with a fused layer.
#[backend_extension(Flex, Autodiff)]
trait FusedLinear: Backend {
    /// Multiplies an input `[rows, inputs]` with a weight `[inputs, outputs]` and adds a bias `[outputs]`.
    fn fused_linear(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rectify: bool,
    ) -> FloatTensor<Self>;
}

impl FusedLinear for Flex {
    fn fused_linear(input: FlexTensor, weight: FlexTensor, bias: FlexTensor, rectify: bool) -> FlexTensor {
        let sizes = Sizes::new(input.shape().dims(), weight.shape().dims());
        let [input, weight, bias] = [input, weight, bias].map(|tensor| tensor.to_contiguous());
        let output = forward::forward(sizes, slice(&input), slice(&weight), slice(&bias), rectify);
        tensor(output, [sizes.rows, sizes.outputs])
    }
}

impl<C: CheckpointStrategy> FusedLinear for Autodiff<Flex, C> {
    fn fused_linear(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rectify: bool,
    ) -> FloatTensor<Self> {
        let [(input, input_node), (weight, weight_node), (bias, bias_node)] =
            [input, weight, bias].map(FloatTensor::<Self>::into_parts);
        let [input, weight] = [input, weight].map(|tensor| tensor.to_contiguous());
        let output = Flex::fused_linear(input.clone(), weight.clone(), bias, rectify);
        let nodes = [input_node, weight_node, bias_node];
        match FusedLinearBackward.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(preparation) => {
                let forward = Forward { input, weight, output: output.clone(), rectify };
                preparation.finish(forward, output)
            }
            OpsKind::UnTracked(preparation) => preparation.finish(output),
        }
    }
}

/// Tensors of the forward pass that the backward pass needs, contiguous.
#[derive(Clone, Debug)]
struct Forward {
    input: FlexTensor,
    weight: FlexTensor,
    output: FlexTensor,
    rectify: bool,
}

#[derive(Debug)]
struct FusedLinearBackward;

impl Backward<Flex, 3> for FusedLinearBackward {
    type State = Forward;

    fn backward(self, ops: Ops<Forward, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let Forward { input, weight, output, rectify } = ops.state;
        let sizes = Sizes::new(input.shape().dims(), weight.shape().dims());
        let backward = backward::Backward {
            sizes,
            input: slice(&input),
            weight: slice(&weight),
            output: slice(&output),
            gradient: slice(&gradient),
            rectified: rectify,
        };
        let unrectified = backward.unrectified();
        let [input_node, weight_node, bias_node] = ops.parents.map(|parent| parent.map(|node| node.id));
        // An observation has no gradient.
        if input_node.is_some() {
            let of_input = backward.of_input(&unrectified);
            register(gradients, input_node, of_input, [sizes.rows, sizes.inputs]);
        }
        // Neither have the weights of a network that does not learn.
        if weight_node.is_some() || bias_node.is_some() {
            let (weight, bias) = backward.of_parameters(&unrectified);
            register(gradients, weight_node, weight, [sizes.inputs, sizes.outputs]);
            register(gradients, bias_node, bias, [sizes.outputs]);
        }
    }
}
