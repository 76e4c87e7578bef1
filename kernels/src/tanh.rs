//! The hyperbolic tangent: a custom operation on the CPU, burn's elsewhere.
//!
//! burn calls the system's `tanhf` for each value, which took a third of the time of PPO with layers of 64 units. This
//! implementation computes a vector of values at a time, and its results do not depend on the system or the processor.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::{DType, Device, Tensor, TensorData};
use pulp::Arch;
use rayon::prelude::*;

use super::flex::slice;

/// Number of values that one task computes.
const PART: usize = 1 << 13;

/// Returns the hyperbolic tangent of each value. In `f32`, errors are at most 2.5 units in the last place.
pub fn tanh<const D: usize>(values: Tensor<D>) -> Tensor<D> {
    if values.device() == Device::flex() && values.dtype() == DType::F32 {
        Tensor::from_dispatch(<Dispatch as Tanh>::vector_tanh(values.into_dispatch()))
    } else {
        values.tanh()
    }
}

/// Backends with the operation.
#[backend_extension(Flex, Autodiff)]
trait Tanh: Backend {
    fn vector_tanh(values: FloatTensor<Self>) -> FloatTensor<Self>;
}

impl Tanh for Flex {
    fn vector_tanh(values: FlexTensor) -> FlexTensor {
        let values = values.to_contiguous();
        map(&values, &values, |value, _| tangent(value))
    }
}

impl<C: CheckpointStrategy> Tanh for Autodiff<Flex, C> {
    fn vector_tanh(values: FloatTensor<Self>) -> FloatTensor<Self> {
        let (values, node) = values.into_parts();
        let output = Flex::vector_tanh(values);
        match TanhBackward.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(preparation) => preparation.finish(output.clone(), output),
            OpsKind::UnTracked(preparation) => preparation.finish(output),
        }
    }
}

#[derive(Debug)]
struct TanhBackward;

impl Backward<Flex, 1> for TanhBackward {
    /// The output.
    type State = FlexTensor;

    fn backward(self, ops: Ops<FlexTensor, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let [Some(node)] = ops.parents else { return };
        let slopes = |output: f32, gradient: f32| gradient * (1.0 - output * output);
        gradients.register::<Flex>(node.id, map(&ops.state, &gradient, slopes));
    }
}

/// Applies a function to pairs of values of two contiguous tensors of the same shape.
fn map(first: &FlexTensor, second: &FlexTensor, function: impl Fn(f32, f32) -> f32 + Sync) -> FlexTensor {
    let mut output = vec![0.0; slice(first).len()];
    // Handing a few values to other threads takes longer than computing them.
    if output.len() <= PART {
        map_part(&mut output, slice(first), slice(second), &function);
    } else {
        let inputs = slice(first).par_chunks(PART).zip(slice(second).par_chunks(PART));
        output
            .par_chunks_mut(PART)
            .zip(inputs)
            .for_each(|(output, (first, second))| map_part(output, first, second, &function));
    }
    FlexTensor::from_data(TensorData::new(output, first.shape()))
}

/// Applies a function to pairs of values on one thread, with the widest vectors of the processor.
fn map_part(output: &mut [f32], first: &[f32], second: &[f32], function: &impl Fn(f32, f32) -> f32) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for ((output, &first), &second) in output.iter_mut().zip(first).zip(second) {
                *output = function(first, second);
            }
        },
    );
}

/// Returns the hyperbolic tangent of a number: `e / (e + 2)` with `e = exp(2 |x|) - 1`, and the sign of `x`.
///
/// With `2 |x| = n ln 2 + r`, `e` is `2^n (exp(r) - 1) + 2^n - 1` (Cody and Waite 1980, chapters 6 and 12). Since `|r|`
/// is at most `ln 2 / 2`, seven terms of the Taylor series of `exp(r) - 1` are exact to a quarter unit in the last
/// place.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "code over vectors must be compiled into the caller that has enabled their instructions"
)]
fn tangent(x: f32) -> f32 {
    /// From this value on, the result rounds to 1.
    const BOUND: f32 = 9.02;
    /// At this size the spacing of `f32` is 1, so adding it rounds to integers.
    const ROUNDING: f32 = 1.5 * (1 << 23) as f32;
    /// ln 2 in two parts: multiples of the first by small integers are exact.
    const LN_2: [f32; 2] = [355.0 / 512.0, (std::f64::consts::LN_2 - 355.0 / 512.0) as f32];
    const EXPONENT_BIAS: u32 = 127;

    // Unlike `min`, this propagates NaN.
    let size = if x.abs() > BOUND { BOUND } else { x.abs() };
    let rounded = 2.0 * size * std::f32::consts::LOG2_E + ROUNDING;
    let n = rounded - ROUNDING;
    let r = 2.0 * size - n * LN_2[0] - n * LN_2[1];
    let series = 1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0));
    let exponential = r + r * r * (1.0 / 2.0 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * series)));
    // The lowest bits of `rounded` are n.
    let power = f32::from_bits(rounded.to_bits().wrapping_add(EXPONENT_BIAS) << (f32::MANTISSA_DIGITS - 1));
    let e = power * exponential + (power - 1.0);
    (e / (e + 2.0)).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: [usize; 2] = [300, 64];

    fn with_gradient(values: &[f32]) -> Tensor<2> {
        Tensor::from_data(TensorData::new(values.to_vec(), SHAPE), &Device::flex().autodiff()).require_grad()
    }

    fn host(tensor: Tensor<2>) -> Vec<f32> {
        tensor.try_into_vec_as().unwrap()
    }

    /// Values from -12 to 12.
    fn values() -> Vec<f32> {
        let count = SHAPE[0] * SHAPE[1];
        (0..count).map(|index| (index as f32 / count as f32 - 0.5) * 24.0).collect()
    }

    #[test]
    fn errors_are_at_most_two_and_a_half_units_in_the_last_place() {
        // Every 97th number of each sign, from the smallest to infinity.
        let infinity = f32::INFINITY.to_bits();
        for bits in (0..infinity).step_by(97).chain([infinity]) {
            let x = f32::from_bits(bits);
            let expected = f64::from(x).tanh();
            let exponent = (expected as f32).to_bits() >> (f32::MANTISSA_DIGITS - 1);
            let unit = 2f64.powi(exponent.max(1) as i32 - 150);
            let error = (f64::from(tangent(x)) - expected).abs() / unit;
            assert!(error <= 2.5, "tanh({x:e}) = {:e}: {error} units", tangent(x));
            assert_eq!(tangent(-x).to_bits(), (-tangent(x)).to_bits(), "tanh is odd: {x:e}");
        }
        assert!(tangent(f32::NAN).is_nan());
    }

    #[test]
    fn tensors_contain_the_tangents_of_numbers() {
        let input: Tensor<2> = Tensor::from_data(TensorData::new(values(), SHAPE), &Device::flex());
        let expected: Vec<f32> = values().into_iter().map(tangent).collect();
        assert_eq!(host(tanh(input.clone())), expected, "a value depends on the vectors of the processor");
        // A tensor that is not contiguous.
        assert_eq!(host(tanh(input.transpose()).transpose()), expected);
    }

    /// Returns the gradient of a loss that weights every value of the function differently.
    fn gradient(function: fn(Tensor<2>) -> Tensor<2>) -> Vec<f32> {
        let factors: Vec<f32> = values().iter().map(|value| (value * 7.0).sin()).collect();
        let input = with_gradient(&values());
        let factors = Tensor::from_data(TensorData::new(factors, SHAPE), &input.device());
        let gradients = (function(input.clone()) * factors).sum().backward();
        host(input.grad(&gradients).unwrap())
    }

    #[test]
    fn gradients_equal_those_of_burn() {
        for (ours, theirs) in gradient(tanh).into_iter().zip(gradient(Tensor::tanh)) {
            assert!((ours - theirs).abs() < 3e-7, "{ours} and {theirs}");
        }
    }
}
