//! The inner loops of the preprocessing for processors with AVX2. They produce the same bits as the scalar loops, which
//! run on all other processors.

/// Grey values of the even screen bytes, in rows of sixteen, the size of a byte shuffle's table.
pub(super) type EvenGreys = [[u8; 16]; 8];

#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::Avx2;

#[cfg(not(target_arch = "x86_64"))]
pub(super) use elsewhere::Avx2;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m256, __m256i, _mm256_add_epi8, _mm256_add_ps, _mm256_and_si256, _mm256_broadcastsi128_si256,
        _mm256_cvtepi32_ps, _mm256_max_epu8, _mm256_mul_ps, _mm256_or_si256, _mm256_set_m128i,
        _mm256_set1_epi8, _mm256_setzero_ps, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
        _mm256_testz_si256, _mm256_xor_si256,
    };

    use bytemuck::{cast, cast_ref};

    use super::EvenGreys;
    use crate::preprocess::gather::Avx2Gather;
    use crate::preprocess::scalar;
    use crate::screen::Row;

    /// Proof that the processor has AVX2.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::preprocess) struct Avx2(());

    #[allow(clippy::unused_self)] // The value is the proof that the call is sound.
    impl Avx2 {
        pub(in crate::preprocess) fn detect() -> Option<Self> {
            is_x86_feature_detected!("avx2").then_some(Self(()))
        }

        /// Writes the maximum grey of two rows of screen bytes. Returns false and writes nothing if a byte is odd.
        pub(in crate::preprocess) fn pool(
            self,
            greys: &EvenGreys,
            rows: [&Row; 2],
            pooled: &mut Row,
        ) -> bool {
            // SAFETY: a value of this type exists only if `detect` found AVX2.
            #[allow(unsafe_code)]
            unsafe {
                pool(greys, rows, pooled)
            }
        }

        /// Writes the weighted sums of a row of bytes, one vector per gather.
        pub(in crate::preprocess) fn sum_row(self, gathers: &[Avx2Gather], pixels: &[u8], sums: &mut [f32]) {
            // SAFETY: a value of this type exists only if `detect` found AVX2.
            #[allow(unsafe_code)]
            unsafe {
                sum_row(gathers, pixels, sums);
            }
        }

        /// Runs the scalar [`sum_columns`](scalar::sum_columns), compiled for AVX2.
        pub(in crate::preprocess) fn sum_columns(self, rows: &[f32], weights: &[f32], target: &mut [u8]) {
            // SAFETY: a value of this type exists only if `detect` found AVX2.
            #[allow(unsafe_code)]
            unsafe {
                sum_columns_avx2(rows, weights, target);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    fn pool(greys: &EvenGreys, [first, second]: [&Row; 2], pooled: &mut Row) -> bool {
        let (first, second) = (first.as_chunks::<32>().0, second.as_chunks::<32>().0);
        let any = first
            .iter()
            .chain(second)
            .fold(_mm256_setzero_si256(), |any, bytes| _mm256_or_si256(any, cast(*bytes)));
        if _mm256_testz_si256(any, _mm256_set1_epi8(1)) == 0 {
            return false;
        }
        let same = first == second;
        for ((first, second), pooled) in first.iter().zip(second).zip(pooled.as_chunks_mut::<32>().0) {
            let grey = look_up(greys, cast(*first));
            let grey = if same { grey } else { _mm256_max_epu8(grey, look_up(greys, cast(*second))) };
            *pooled = cast(grey);
        }
        true
    }

    /// Looks up 32 even bytes, sixteen table entries at a time.
    ///
    /// A shuffle uses the low four bits of an index and gives zero if bit 7 is set. XOR with the index of the current
    /// sixteen clears the high bits of the indices that belong to it; adding 0x70 then sets bit 7 in all others.
    #[target_feature(enable = "avx2")]
    fn look_up(greys: &EvenGreys, bytes: __m256i) -> __m256i {
        // There is no byte shift; the mask clears the bit that crosses over from the neighbouring byte.
        let indices = _mm256_and_si256(_mm256_srli_epi16::<1>(bytes), _mm256_set1_epi8(0x7f));
        let mut values = _mm256_setzero_si256();
        for (index, sixteen) in greys.iter().enumerate() {
            let selected = _mm256_xor_si256(indices, _mm256_set1_epi8((index as i8) << 4));
            let selected = _mm256_add_epi8(selected, _mm256_set1_epi8(0x70));
            let table = _mm256_broadcastsi128_si256(cast(*sixteen));
            values = _mm256_or_si256(values, _mm256_shuffle_epi8(table, selected));
        }
        values
    }

    #[target_feature(enable = "avx2")]
    fn sum_row(gathers: &[Avx2Gather], pixels: &[u8], sums: &mut [f32]) {
        for (gather, sums) in gathers.iter().zip(sums.as_chunks_mut::<8>().0) {
            let [low, high] = gather.windows;
            let windows = _mm256_set_m128i(cast(window(pixels, high)), cast(window(pixels, low)));
            let mut sum: __m256 = _mm256_setzero_ps();
            for tap in &gather.taps {
                let (shuffle, weights): (&__m256i, &__m256) =
                    (cast_ref(&tap.elements), cast_ref(&tap.weights));
                let elements = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(windows, *shuffle));
                // Not a fused multiply-add: the product is rounded before the addition.
                sum = _mm256_add_ps(sum, _mm256_mul_ps(elements, *weights));
            }
            *sums = cast(sum);
        }
    }

    fn window(pixels: &[u8], start: usize) -> [u8; Avx2Gather::WINDOW] {
        *pixels[start..].first_chunk().expect("a window lies within the row")
    }

    #[target_feature(enable = "avx2")]
    fn sum_columns_avx2(rows: &[f32], weights: &[f32], target: &mut [u8]) {
        scalar::sum_columns(rows, weights, target);
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    use super::EvenGreys;
    use crate::preprocess::gather::Avx2Gather;
    use crate::screen::Row;

    /// Uninhabited on other processors.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::preprocess) enum Avx2 {}

    impl Avx2 {
        pub(in crate::preprocess) fn detect() -> Option<Self> {
            None
        }

        pub(in crate::preprocess) fn pool(self, _: &EvenGreys, _: [&Row; 2], _: &mut Row) -> bool {
            match self {}
        }

        pub(in crate::preprocess) fn sum_row(self, _: &[Avx2Gather], _: &[u8], _: &mut [f32]) {
            match self {}
        }

        pub(in crate::preprocess) fn sum_columns(self, _: &[f32], _: &[f32], _: &mut [u8]) {
            match self {}
        }
    }
}
