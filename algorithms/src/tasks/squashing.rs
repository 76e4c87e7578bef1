//! Actions within -1..1 as the hyperbolic tangents of unbounded numbers (Haarnoja et al. 2018, appendix C).
//!
//! The log-density of `tanh(u)` is that of `u` minus the logarithm of the slope of tanh at `u`, `ln(1 - tanh(u)^2)`.
//! The latter equals `2 (ln 2 - u - ln(1 + exp(-2 u)))`, which stays finite where tanh rounds to 1.

use std::f64::consts::LN_2;

use burn::tensor::Tensor;
use burn::tensor::activation::log_sigmoid;

/// Returns the logarithm of the slope of tanh at each number.
pub(crate) fn log_slopes(numbers: Tensor<2>) -> Tensor<2> {
    let twice = numbers.mul_scalar(2.0);
    (log_sigmoid(twice.clone()).mul_scalar(2.0) - twice).add_scalar(2.0 * LN_2)
}

/// Returns the logarithm of the slope of tanh at a number.
pub(crate) fn log_slope(value: f32) -> f32 {
    // The slope is an even function; this exponential cannot overflow.
    let value = f64::from(value).abs();
    (2.0 * (LN_2 - value - (-2.0 * value).exp().ln_1p())) as f32
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn logarithms_of_slopes_are_exact_and_finite() {
        let numbers = [-30f32, -3.0, -0.5, 0.0, 0.1, 2.0, 200.0];
        let slopes = log_slopes(Tensor::from_floats([numbers], &Device::flex()));
        let slopes: Vec<f32> = slopes.try_into_vec_as().unwrap();
        for (value, slope) in numbers.into_iter().zip(slopes) {
            // tanh'(u) = 1 / cosh(u)^2.
            let expected = if value.abs() < 100.0 {
                -2.0 * f64::from(value).cosh().ln()
            } else {
                2.0 * (LN_2 - f64::from(value.abs()))
            };
            for slope in [slope, log_slope(value)] {
                let error = (f64::from(slope) - expected).abs();
                assert!(error <= 1e-6 * expected.abs().max(1.0), "{value}: {slope} {expected}");
            }
        }
    }
}
