//! Adam on the CPU, in a single pass over the values of a parameter. Tensor operations would take one pass each.

use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;
use pulp::Arch;
use rayon::prelude::*;

use super::{BETA_1, BETA_2, Moments};

/// Values that a thread processes at a time. The result does not depend on it.
const CHUNK: usize = 1 << 14;

/// Parameters of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepParams {
    pub(super) learning_rate: f64,
    pub(super) epsilon: f32,
    /// Factor of the gradient.
    pub(super) scale: f32,
}

/// Returns the parameter after a step, and updates its moments.
pub(super) fn step(
    weight: Tensor<1>,
    gradient: Tensor<1>,
    moments: &mut Moments,
    params: StepParams,
) -> Tensor<1> {
    let (weight, gradient) = (weight.into_dispatch(), gradient.into_dispatch());
    Tensor::from_dispatch(<Dispatch as FusedAdam>::fused_adam(weight, gradient, moments, params))
}

/// Backends with a fused Adam step.
#[backend_extension(Flex)]
trait FusedAdam: Backend {
    /// Returns the new weight, given a weight and its gradient, both `[values]`.
    fn fused_adam(
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        moments: &mut Moments,
        params: StepParams,
    ) -> FloatTensor<Self>;
}

impl FusedAdam for Flex {
    fn fused_adam(
        weight: FlexTensor,
        gradient: FlexTensor,
        moments: &mut Moments,
        params: StepParams,
    ) -> FlexTensor {
        let (weight, mut gradient) = (contiguous(weight), contiguous(gradient));
        let old = weight.as_slice::<f32>().expect("a contiguous tensor of f32");
        let (start, end) = gradient.layout().contiguous_offsets().expect("a contiguous tensor");
        // The gradient is not needed again: the new weight reuses its memory.
        update(old, &mut gradient.storage_mut::<f32>()[start..end], moments, params);
        gradient
    }
}

/// Returns a contiguous tensor, without copying if it is contiguous already.
fn contiguous(tensor: FlexTensor) -> FlexTensor {
    if tensor.is_contiguous() { tensor } else { tensor.to_contiguous() }
}

/// Replaces each gradient by the new weight.
fn update(weight: &[f32], gradient: &mut [f32], moments: &mut Moments, params: StepParams) {
    moments.time += 1;
    let time = i32::try_from(moments.time).unwrap_or(i32::MAX);
    let correction = |beta: f32| 1.0 - f64::from(beta).powi(time);
    let rate = (params.learning_rate / correction(BETA_1)) as f32;
    let correction_2 = correction(BETA_2) as f32;
    let chunks = gradient.par_chunks_mut(CHUNK).zip(weight.par_chunks(CHUNK));
    let moments = moments.first.par_chunks_mut(CHUNK).zip(moments.second.par_chunks_mut(CHUNK));
    let arch = Arch::new();
    chunks.zip(moments).for_each(|((gradient, weight), (first, second))| {
        // Uses the widest instructions of the processor. All give the same values.
        arch.dispatch(|| {
            for (((gradient, weight), first), second) in
                gradient.iter_mut().zip(weight).zip(first).zip(second)
            {
                let scaled = *gradient * params.scale;
                *first = BETA_1 * *first + (1.0 - BETA_1) * scaled;
                *second = BETA_2 * *second + (1.0 - BETA_2) * scaled * scaled;
                *gradient = weight - rate * *first / ((*second / correction_2).sqrt() + params.epsilon);
            }
        });
    });
}
