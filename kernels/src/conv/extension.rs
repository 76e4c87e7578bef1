//! The fused convolution as an extension of burn's backends, with its own backward pass.

use std::fmt::Debug;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::{DType, Device, Tensor};

use super::geometry::{Geometry, Window};
use super::{backward, forward, half};
use crate::flex::{slice, tensor};
use crate::products::Computation;

/// [`Conv::forward`](super::Conv::forward). Tracks gradients if the arguments do.
pub(super) fn conv(
    input: Tensor<4>,
    weight: Tensor<4>,
    bias: Tensor<1>,
    window: Window,
    computation: Computation,
) -> Tensor<4> {
    let dtype = input.dtype();
    // The CPU computes in 32 bits. Only tests use other formats there.
    if input.device() == Device::flex() && dtype != DType::F32 {
        let (input, weight, bias) = (input.cast(DType::F32), weight.cast(DType::F32), bias.cast(DType::F32));
        return conv(input, weight, bias, window, computation).cast(dtype);
    }
    let (input, weight, bias) = (input.into_dispatch(), weight.into_dispatch(), bias.into_dispatch());
    Tensor::from_dispatch(<Dispatch as FusedConv>::fused_conv(input, weight, bias, window, computation))
}

/// Backends with a fused convolution.
#[backend_extension(Flex, Cube: cfg(any(feature = "cuda", feature = "wgpu")), Autodiff)]
pub(super) trait FusedConv: Backend {
    /// Convolves an input `[images, height, width, inputs]` with a weight `[kernel, kernel, inputs, outputs]`
    /// and a bias `[outputs]`.
    fn fused_conv(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        window: Window,
        computation: Computation,
    ) -> FloatTensor<Self>;
}

/// Backends that compute the gradients of the fused convolution.
pub(super) trait FusedConvGradients: FusedConv {
    /// The form of the input that the backward pass reads.
    type Saved: Clone + Debug + Send;

    /// Convolves an input, like [`FusedConv::fused_conv`].
    fn forward(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        window: Window,
        computation: Computation,
    ) -> (FloatTensor<Self>, Self::Saved);

    /// Computes the gradients of all arguments; that of the input only if `of_input` is true.
    fn gradients(
        saved: Self::Saved,
        weight: FloatTensor<Self>,
        output: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        geometry: Geometry,
        computation: Computation,
        of_input: bool,
    ) -> Results<FloatTensor<Self>>;
}

/// The gradients of a convolution's arguments.
pub(super) struct Results<T> {
    pub(super) input: Option<T>,
    pub(super) weight: T,
    pub(super) bias: T,
}

impl FusedConv for Flex {
    fn fused_conv(
        input: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        window: Window,
        computation: Computation,
    ) -> FlexTensor {
        Self::forward(input, weight, bias, window, computation).0
    }
}

impl FusedConvGradients for Flex {
    type Saved = FlexTensor;

    fn forward(
        input: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        window: Window,
        computation: Computation,
    ) -> (FlexTensor, FlexTensor) {
        let geometry = Geometry::new(input.shape().dims(), weight.shape().dims(), window);
        let (input, weight, bias) = (input.to_contiguous(), weight.to_contiguous(), bias.to_contiguous());
        let [images, kernel, biases] = [&input, &weight, &bias].map(slice);
        let output = match computation.arithmetic {
            None => forward::forward(geometry, images, kernel, biases, computation.rectify),
            Some(arithmetic) => {
                half::forward(geometry, images, kernel, biases, computation.rectify, arithmetic)
            }
        };
        (tensor(output, geometry.output_shape()), input)
    }

    fn gradients(
        input: FlexTensor,
        weight: FlexTensor,
        output: FlexTensor,
        gradient: FlexTensor,
        geometry: Geometry,
        computation: Computation,
        of_input: bool,
    ) -> Results<FlexTensor> {
        let (input_shape, weight_shape) = (input.shape(), weight.shape());
        let (weight, gradient) = (weight.to_contiguous(), gradient.to_contiguous());
        let backward = backward::Backward {
            input: slice(&input),
            weight: slice(&weight),
            output: slice(&output),
            gradient: slice(&gradient),
            rectified: computation.rectify,
        };
        let result = match computation.arithmetic {
            None => backward.run(geometry, of_input),
            Some(arithmetic) => half::backward(backward, geometry, of_input, arithmetic),
        };
        Results {
            input: result.input.map(|values| tensor(values, input_shape.dims::<4>())),
            weight: tensor(result.weight, weight_shape.dims::<4>()),
            bias: tensor(result.bias, [geometry.outputs]),
        }
    }
}

impl<B: FusedConvGradients, C: CheckpointStrategy> FusedConv for Autodiff<B, C> {
    fn fused_conv(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        window: Window,
        computation: Computation,
    ) -> FloatTensor<Self> {
        let (input, input_node) = input.into_parts();
        let (weight, weight_node) = weight.into_parts();
        let (bias, bias_node) = bias.into_parts();
        let geometry = Geometry::new(input.shape().dims(), weight.shape().dims(), window);
        let (output, saved) = B::forward(input, weight.clone(), bias, window, computation.clone());
        let nodes = [input_node, weight_node, bias_node];
        match FusedConvBackward.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(preparation) => {
                let forward = Forward { saved, weight, output: output.clone(), geometry, computation };
                preparation.finish(forward, output)
            }
            OpsKind::UnTracked(preparation) => preparation.finish(output),
        }
    }
}

/// Tensors and sizes of the forward pass that the backward pass reads.
#[derive(Clone, Debug)]
struct Forward<S, T> {
    saved: S,
    weight: T,
    output: T,
    geometry: Geometry,
    computation: Computation,
}

#[derive(Debug)]
struct FusedConvBackward;

impl<B: FusedConvGradients> Backward<B, 3> for FusedConvBackward {
    type State = Forward<B::Saved, FloatTensor<B>>;

    fn backward(self, ops: Ops<Self::State, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<B>(&ops.node);
        let Forward { saved, weight, output, geometry, computation } = ops.state;
        let [input_node, weight_node, bias_node] = ops.parents.map(|parent| parent.map(|node| node.id));
        // The first layer's input is an observation, which has no gradient.
        let results =
            B::gradients(saved, weight, output, gradient, geometry, computation, input_node.is_some());
        let results = [
            (input_node, results.input),
            (weight_node, Some(results.weight)),
            (bias_node, Some(results.bias)),
        ];
        for (node, gradient) in results {
            if let (Some(node), Some(gradient)) = (node, gradient) {
                gradients.register::<B>(node, gradient);
            }
        }
    }
}
