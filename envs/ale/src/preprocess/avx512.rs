//! The inner loops of the preprocessing for processors with AVX-512 and its byte permutations. They produce the same
//! bits as the scalar loops.

/// Grey values of the even screen bytes.
pub(super) type EvenGreys = [[u8; 64]; 2];

#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::Avx512;

#[cfg(not(target_arch = "x86_64"))]
pub(super) use elsewhere::Avx512;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m512, __m512i, _mm_mask_storeu_epi8, _mm512_add_ps, _mm512_and_si512, _mm512_cvtepi32_ps,
        _mm512_cvtps_epi32, _mm512_cvtusepi32_epi8, _mm512_loadu_ps, _mm512_loadu_si512,
        _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8, _mm512_maskz_permutexvar_epi8, _mm512_max_epu8,
        _mm512_mul_ps, _mm512_or_si512, _mm512_permutex2var_epi8, _mm512_set1_epi8, _mm512_set1_ps,
        _mm512_setzero_ps, _mm512_srli_epi16, _mm512_storeu_ps, _mm512_test_epi8_mask,
    };

    use super::EvenGreys;
    use crate::preprocess::gather::Avx512Gather;
    use crate::screen::Row;

    /// Floats in a vector.
    const LANES: usize = 16;

    /// Proof that the processor has AVX-512 with byte permutations (VBMI).
    #[derive(Clone, Copy, Debug)]
    pub(in crate::preprocess) struct Avx512(());

    #[allow(clippy::unused_self)] // The value is the proof that the call is sound.
    impl Avx512 {
        pub(in crate::preprocess) fn detect() -> Option<Self> {
            (is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vbmi"))
            .then_some(Self(()))
        }

        /// Writes the maximum grey of two rows of screen bytes. Returns false if a byte is odd; the contents of
        /// `pooled` are then unspecified.
        pub(in crate::preprocess) fn pool(
            self,
            greys: &EvenGreys,
            rows: [&Row; 2],
            pooled: &mut Row,
        ) -> bool {
            // SAFETY: a value of this type exists only if `detect` found the instructions.
            #[allow(unsafe_code)]
            unsafe {
                pool(greys, rows, pooled)
            }
        }

        /// Writes the weighted sums of a row of bytes, one vector per gather.
        pub(in crate::preprocess) fn sum_row(
            self,
            gathers: &[Avx512Gather],
            pixels: &[u8],
            sums: &mut [f32],
        ) {
            // SAFETY: a value of this type exists only if `detect` found the instructions.
            #[allow(unsafe_code)]
            unsafe {
                sum_row(gathers, pixels, sums);
            }
        }

        /// Computes the same as the scalar [`sum_columns`](crate::preprocess::scalar::sum_columns).
        pub(in crate::preprocess) fn sum_columns(self, rows: &[f32], weights: &[f32], target: &mut [u8]) {
            // SAFETY: a value of this type exists only if `detect` found the instructions.
            #[allow(unsafe_code)]
            unsafe {
                sum_columns(rows, weights, target);
            }
        }
    }

    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn sum_row(gathers: &[Avx512Gather], pixels: &[u8], sums: &mut [f32]) {
        /// The lowest byte of each lane.
        const LOWEST: u64 = 0x1111_1111_1111_1111;
        for (gather, sums) in gathers.iter().zip(sums.as_chunks_mut::<LANES>().0) {
            let window: &[u8; Avx512Gather::WINDOW] =
                pixels[gather.windows[0]..].first_chunk().expect("a window lies within the row");
            // SAFETY: the window has the length of a vector.
            #[allow(unsafe_code)]
            let window = unsafe { _mm512_loadu_si512(window.as_ptr().cast()) };
            let mut sum = _mm512_setzero_ps();
            for tap in &gather.taps {
                // SAFETY: the elements have the length of a vector.
                #[allow(unsafe_code)]
                let elements = unsafe { _mm512_loadu_si512(tap.elements.as_ptr().cast()) };
                let elements = _mm512_cvtepi32_ps(_mm512_maskz_permutexvar_epi8(LOWEST, elements, window));
                // Not a fused multiply-add: the product is rounded before the addition.
                sum = _mm512_add_ps(sum, _mm512_mul_ps(elements, load(&tap.weights)));
            }
            // SAFETY: the chunk has the length of a vector.
            #[allow(unsafe_code)]
            unsafe {
                _mm512_storeu_ps(sums.as_mut_ptr(), sum);
            }
        }
    }

    #[target_feature(enable = "avx512bw,avx512vl")]
    fn sum_columns(rows: &[f32], weights: &[f32], target: &mut [u8]) {
        let vectors = rows.as_chunks::<LANES>().0;
        let row_vectors = vectors.len() / weights.len();
        for (column, target) in target.chunks_mut(LANES).enumerate() {
            let mut sum = _mm512_setzero_ps();
            for (row, weight) in vectors.chunks_exact(row_vectors).zip(weights) {
                sum = _mm512_add_ps(sum, _mm512_mul_ps(load(&row[column]), _mm512_set1_ps(*weight)));
            }
            // The default rounding mode of the processor takes halves to even.
            let bytes = _mm512_cvtusepi32_epi8(_mm512_cvtps_epi32(sum));
            let lanes = u16::MAX >> (LANES - target.len());
            // SAFETY: the mask has a bit for each byte of the target and none beyond it.
            #[allow(unsafe_code)]
            unsafe {
                _mm_mask_storeu_epi8(target.as_mut_ptr().cast(), lanes, bytes);
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    fn load(floats: &[f32; LANES]) -> __m512 {
        // SAFETY: the array has the length of a vector.
        #[allow(unsafe_code)]
        unsafe {
            _mm512_loadu_ps(floats.as_ptr())
        }
    }

    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn pool(greys: &EvenGreys, [first, second]: [&Row; 2], pooled: &mut Row) -> bool {
        // SAFETY: each half of the table has the length of a vector.
        #[allow(unsafe_code)]
        let greys = greys.each_ref().map(|half| unsafe { _mm512_loadu_si512(half.as_ptr().cast()) });
        let mut odd = 0;
        for ((first, second), pooled) in first.chunks(64).zip(second.chunks(64)).zip(pooled.chunks_mut(64)) {
            let lanes = u64::MAX >> (64 - pooled.len());
            // SAFETY: the mask has a bit for each byte of the three slices and none beyond them.
            #[allow(unsafe_code)]
            let (first, second) = unsafe {
                (
                    _mm512_maskz_loadu_epi8(lanes, first.as_ptr().cast()),
                    _mm512_maskz_loadu_epi8(lanes, second.as_ptr().cast()),
                )
            };
            odd |= _mm512_test_epi8_mask(_mm512_or_si512(first, second), _mm512_set1_epi8(1));
            let larger = _mm512_max_epu8(look_up(greys, first), look_up(greys, second));
            // SAFETY: as above.
            #[allow(unsafe_code)]
            unsafe {
                _mm512_mask_storeu_epi8(pooled.as_mut_ptr().cast(), lanes, larger);
            }
        }
        odd == 0
    }

    /// Looks up 64 even bytes in a table of 128 entries.
    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn look_up(greys: [__m512i; 2], bytes: __m512i) -> __m512i {
        // There is no byte shift; the mask clears the bit that crosses over from the neighbouring byte.
        let indices = _mm512_and_si512(_mm512_srli_epi16::<1>(bytes), _mm512_set1_epi8(0x7f));
        _mm512_permutex2var_epi8(greys[0], indices, greys[1])
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    use super::EvenGreys;
    use crate::preprocess::gather::Avx512Gather;
    use crate::screen::Row;

    /// Uninhabited on other processors.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::preprocess) enum Avx512 {}

    impl Avx512 {
        pub(in crate::preprocess) fn detect() -> Option<Self> {
            None
        }

        pub(in crate::preprocess) fn pool(self, _: &EvenGreys, _: [&Row; 2], _: &mut Row) -> bool {
            match self {}
        }

        pub(in crate::preprocess) fn sum_row(self, _: &[Avx512Gather], _: &[u8], _: &mut [f32]) {
            match self {}
        }

        pub(in crate::preprocess) fn sum_columns(self, _: &[f32], _: &[f32], _: &mut [u8]) {
            match self {}
        }
    }
}
