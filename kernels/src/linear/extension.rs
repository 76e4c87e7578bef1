//! The fused layer as an extension of burn's backends, with its own backward pass.

use std::sync::Arc;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::{DType, Device, Tensor};

use super::{Sizes, backward, forward, half};
use crate::flex::{slice, tensor};
use crate::products::Computation;
use crate::products::half::HalfPanels;

/// [`fully_connected`](super::fully_connected). Tracks gradients if the arguments do.
pub(super) fn linear(
    input: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    computation: Computation,
) -> Tensor<2> {
    let dtype = input.dtype();
    // The CPU computes in 32 bits. Only tests use other formats there.
    if input.device() == Device::flex() && dtype != DType::F32 {
        let (input, weight, bias) = (input.cast(DType::F32), weight.cast(DType::F32), bias.cast(DType::F32));
        return linear(input, weight, bias, computation).cast(dtype);
    }
    let (input, weight, bias) = (input.into_dispatch(), weight.into_dispatch(), bias.into_dispatch());
    Tensor::from_dispatch(<Dispatch as FusedLinear>::fused_linear(input, weight, bias, computation))
}

/// Backends with a fused layer.
#[backend_extension(Flex, Cube: cfg(any(feature = "cuda", feature = "wgpu")), Autodiff)]
pub(super) trait FusedLinear: Backend {
    /// Multiplies an input `[rows, inputs]` with a weight `[inputs, outputs]` and adds a bias `[outputs]`.
    fn fused_linear(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        computation: Computation,
    ) -> FloatTensor<Self>;
}

/// Backends that compute the gradients of the fused layer.
pub(super) trait FusedLinearGradients: FusedLinear {
    /// Computes the gradients that `wanted` names.
    fn gradients(
        forward: Forward<FloatTensor<Self>>,
        gradient: FloatTensor<Self>,
        wanted: Wanted,
    ) -> Results<FloatTensor<Self>>;
}

/// The arguments of a layer whose gradients are computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// False for an observation.
    pub(super) input: bool,
    /// Weight and bias. False for a network that does not learn.
    pub(super) parameters: bool,
}

/// The gradients of a layer's arguments.
pub(super) struct Results<T> {
    pub(super) input: Option<T>,
    /// Weight and bias.
    pub(super) parameters: Option<(T, T)>,
}

impl FusedLinear for Flex {
    fn fused_linear(
        input: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        computation: Computation,
    ) -> FlexTensor {
        let sizes = Sizes::new(input.shape().dims(), weight.shape().dims());
        let [input, weight, bias] = [input, weight, bias].map(|tensor| tensor.to_contiguous());
        let [rows, matrix, biases] = [&input, &weight, &bias].map(slice);
        let output = match computation.arithmetic {
            None => forward::forward(sizes, rows, matrix, biases, computation.rectify),
            Some(arithmetic) => {
                let pack = || HalfPanels::pack(matrix, 1, sizes.inputs, sizes.outputs);
                let panels = match &computation.packed {
                    Some(packed) => packed.get_or_pack(&weight, pack),
                    None => Arc::new(pack()),
                };
                half::forward(sizes, rows, &panels, biases, computation.rectify, arithmetic)
            }
        };
        tensor(output, [sizes.rows, sizes.outputs])
    }
}

impl FusedLinearGradients for Flex {
    fn gradients(forward: Forward<FlexTensor>, gradient: FlexTensor, wanted: Wanted) -> Results<FlexTensor> {
        let Forward { input, weight, output, computation } = forward;
        let sizes = Sizes::new(input.shape().dims(), weight.shape().dims());
        let [input, weight, gradient] = [input, weight, gradient].map(|tensor| tensor.to_contiguous());
        let backward = backward::Backward {
            sizes,
            input: slice(&input),
            weight: slice(&weight),
            output: slice(&output),
            gradient: slice(&gradient),
            rectified: computation.rectify,
            arithmetic: computation.arithmetic,
        };
        let unrectified = backward.unrectified();
        let input =
            wanted.input.then(|| tensor(backward.input_gradient(&unrectified), [sizes.rows, sizes.inputs]));
        let parameters = wanted.parameters.then(|| {
            let (weight, bias) = backward.parameter_gradients(&unrectified);
            (tensor(weight, [sizes.inputs, sizes.outputs]), tensor(bias, [sizes.outputs]))
        });
        Results { input, parameters }
    }
}

impl<B: FusedLinearGradients, C: CheckpointStrategy> FusedLinear for Autodiff<B, C> {
    fn fused_linear(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        computation: Computation,
    ) -> FloatTensor<Self> {
        let [(input, input_node), (weight, weight_node), (bias, bias_node)] =
            [input, weight, bias].map(FloatTensor::<Self>::into_parts);
        // A weight that is learned changes after each pass.
        let computation = Computation { packed: None, ..computation };
        let output = B::fused_linear(input.clone(), weight.clone(), bias, computation.clone());
        let nodes = [input_node, weight_node, bias_node];
        match FusedLinearBackward.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(preparation) => {
                let forward = Forward { input, weight, output: output.clone(), computation };
                preparation.finish(forward, output)
            }
            OpsKind::UnTracked(preparation) => preparation.finish(output),
        }
    }
}

/// Tensors of the forward pass that the backward pass needs.
#[derive(Clone, Debug)]
pub(super) struct Forward<T> {
    pub(super) input: T,
    pub(super) weight: T,
    pub(super) output: T,
    pub(super) computation: Computation,
}

#[derive(Debug)]
struct FusedLinearBackward;

impl<B: FusedLinearGradients> Backward<B, 3> for FusedLinearBackward {
    type State = Forward<FloatTensor<B>>;

    fn backward(self, ops: Ops<Self::State, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<B>(&ops.node);
        let [input_node, weight_node, bias_node] = ops.parents.map(|parent| parent.map(|node| node.id));
        let wanted =
            Wanted { input: input_node.is_some(), parameters: weight_node.is_some() || bias_node.is_some() };
        let Results { input, parameters } = B::gradients(ops.state, gradient, wanted);
        let (weight, bias) = parameters.unzip();
        for (node, gradient) in [(input_node, input), (weight_node, weight), (bias_node, bias)] {
            if let (Some(node), Some(gradient)) = (node, gradient) {
                gradients.register::<B>(node, gradient);
            }
        }
    }
}
