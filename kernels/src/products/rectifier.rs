use pulp::{Simd, WithSimd};

/// Operation that copies the gradient where the output is positive. Elsewhere the result is 0.
pub(crate) struct Unrectified<'a> {
    pub(crate) gradient: &'a [f32],
    pub(crate) output: &'a [f32],
    pub(crate) result: &'a mut [f32],
}

impl WithSimd for Unrectified<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let zero = simd.splat_f32s(0.0);
        let (gradients, last_gradients) = S::as_simd_f32s(self.gradient);
        let (outputs, last_outputs) = S::as_simd_f32s(self.output);
        let (results, last_results) = S::as_mut_simd_f32s(self.result);
        for ((result, &gradient), &output) in results.iter_mut().zip(gradients).zip(outputs) {
            *result = simd.select_f32s(simd.greater_than_f32s(output, zero), gradient, zero);
        }
        for ((result, &gradient), &output) in last_results.iter_mut().zip(last_gradients).zip(last_outputs) {
            *result = if output > 0.0 { gradient } else { 0.0 };
        }
    }
}
