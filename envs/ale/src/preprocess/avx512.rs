//! Looking grey values up with AVX-512: all of a palette's even bytes at once. What it computes is what the plain loop
//! computes.

/// Grey values of the even screen bytes.
pub(super) type EvenGreys = [[u8; 64]; 2];

#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::Avx512;

#[cfg(not(target_arch = "x86_64"))]
pub(super) use elsewhere::Avx512;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m512i, _mm512_and_si512, _mm512_loadu_si512, _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8,
        _mm512_max_epu8, _mm512_or_si512, _mm512_permutex2var_epi8, _mm512_set1_epi8, _mm512_srli_epi16,
        _mm512_test_epi8_mask,
    };

    use super::EvenGreys;
    use crate::preprocess::SCREEN_WIDTH;

    /// Proof that the processor has AVX-512 with the permutations of bytes (VBMI).
    #[derive(Clone, Copy, Debug)]
    pub(in crate::preprocess) struct Avx512(());

    #[allow(clippy::unused_self)] // Having the value is what allows the call.
    impl Avx512 {
        pub(in crate::preprocess) fn detect() -> Option<Self> {
            (is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi"))
                .then_some(Self(()))
        }

        /// Writes the larger grey of two rows of screen bytes. False, and nothing is to be relied on, if a byte is odd.
        pub(in crate::preprocess) fn pool(
            self,
            greys: &EvenGreys,
            rows: [&[u8; SCREEN_WIDTH]; 2],
            pooled: &mut [u8; SCREEN_WIDTH],
        ) -> bool {
            // SAFETY: the value `self` exists only where `detect` has found the instructions.
            #[allow(unsafe_code)]
            unsafe {
                pool(greys, rows, pooled)
            }
        }
    }

    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn pool(
        greys: &EvenGreys,
        [first, second]: [&[u8; SCREEN_WIDTH]; 2],
        pooled: &mut [u8; SCREEN_WIDTH],
    ) -> bool {
        // SAFETY: each half of the table is as long as a vector.
        #[allow(unsafe_code)]
        let greys = greys.each_ref().map(|half| unsafe { _mm512_loadu_si512(half.as_ptr().cast()) });
        let mut odd = 0;
        for ((first, second), pooled) in first.chunks(64).zip(second.chunks(64)).zip(pooled.chunks_mut(64)) {
            let lanes = u64::MAX >> (64 - pooled.len());
            // SAFETY: the mask has a bit for each byte of the three slices, and none beyond.
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

    /// Looks 64 even bytes up in a table of 128.
    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn look_up(greys: [__m512i; 2], bytes: __m512i) -> __m512i {
        // There is no shift of bytes; the mask removes what came over from the neighbour.
        let indices = _mm512_and_si512(_mm512_srli_epi16::<1>(bytes), _mm512_set1_epi8(0x7f));
        _mm512_permutex2var_epi8(greys[0], indices, greys[1])
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    use super::EvenGreys;
    use crate::preprocess::SCREEN_WIDTH;

    /// A processor without AVX-512 has no value of this.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::preprocess) enum Avx512 {}

    impl Avx512 {
        pub(in crate::preprocess) fn detect() -> Option<Self> {
            None
        }

        pub(in crate::preprocess) fn pool(
            self,
            _: &EvenGreys,
            _: [&[u8; SCREEN_WIDTH]; 2],
            _: &mut [u8; SCREEN_WIDTH],
        ) -> bool {
            match self {}
        }
    }
}
