//! The fused normalisation as an extension of burn's flex backend, with its own backward pass.

use std::sync::Arc;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::Tensor;

use super::rows::{self, Moments};
use crate::flex::{register, slice, tensor};

/// [`layer_norm`](super::layer_norm) on flex. Tracks gradients if the arguments do.
pub(super) fn layer_norm(values: Tensor<2>, gamma: Tensor<1>, beta: Tensor<1>, rectify: bool) -> Tensor<2> {
    let (values, gamma, beta) = (values.into_dispatch(), gamma.into_dispatch(), beta.into_dispatch());
    Tensor::from_dispatch(<Dispatch as FusedLayerNorm>::fused_layer_norm(values, gamma, beta, rectify))
}

/// Backends with a fused layer normalisation.
#[backend_extension(Flex, Autodiff)]
trait FusedLayerNorm: Backend {
    /// [`layer_norm`](super::layer_norm) of `[rows, width]` with `gamma` and `beta` of `[width]`.
    fn fused_layer_norm(
        values: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        rectify: bool,
    ) -> FloatTensor<Self>;
}

impl FusedLayerNorm for Flex {
    fn fused_layer_norm(
        values: FlexTensor,
        gamma: FlexTensor,
        beta: FlexTensor,
        rectify: bool,
    ) -> FlexTensor {
        let shape: [usize; 2] = values.shape().dims();
        let [values, gamma, beta] = [values, gamma, beta].map(|tensor| tensor.to_contiguous());
        tensor(rows::forward(slice(&values), slice(&gamma), slice(&beta), rectify).0, shape)
    }
}

impl<C: CheckpointStrategy> FusedLayerNorm for Autodiff<Flex, C> {
    fn fused_layer_norm(
        values: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        rectify: bool,
    ) -> FloatTensor<Self> {
        let [(values, values_node), (gamma, gamma_node), (beta, beta_node)] =
            [values, gamma, beta].map(FloatTensor::<Self>::into_parts);
        let shape: [usize; 2] = values.shape().dims();
        let [values, gamma, beta] = [values, gamma, beta].map(|tensor| tensor.to_contiguous());
        let (output, moments) = rows::forward(slice(&values), slice(&gamma), slice(&beta), rectify);
        let output = tensor(output, shape);
        let nodes = [values_node, gamma_node, beta_node];
        match FusedLayerNormBackward.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(preparation) => {
                let moments = Arc::new(moments);
                let forward = Forward { values, gamma, moments, output: output.clone(), rectify };
                preparation.finish(forward, output)
            }
            OpsKind::UnTracked(preparation) => preparation.finish(output),
        }
    }
}

/// Tensors of the forward pass that the backward pass needs.
#[derive(Clone, Debug)]
struct Forward {
    values: FlexTensor,
    gamma: FlexTensor,
    moments: Arc<Moments>,
    output: FlexTensor,
    rectify: bool,
}

#[derive(Debug)]
struct FusedLayerNormBackward;

impl Backward<Flex, 3> for FusedLayerNormBackward {
    type State = Forward;

    fn backward(self, ops: Ops<Forward, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let Forward { values, gamma, moments, output, rectify } = ops.state;
        let backward = rows::Backward {
            values: slice(&values),
            gamma: slice(&gamma),
            moments: &moments,
            output: slice(&output),
            gradient: slice(&gradient),
            rectified: rectify,
        };
        let result = backward.run();
        let [values_node, gamma_node, beta_node] = ops.parents.map(|parent| parent.map(|node| node.id));
        register(gradients, values_node, result.values, values.shape().dims::<2>());
        let width = [slice(&gamma).len()];
        register(gradients, gamma_node, result.gamma, width);
        register(gradients, beta_node, result.beta, width);
    }
}
