/// Rounds to the nearest `bf16`, ties to even. Numbers below the smallest normal one become 0, as in the instructions
/// that convert. NaN stays NaN.
#[inline(always)]
pub(super) fn round(value: f32) -> u16 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    // The significand of a NaN might become 0, which would be infinity.
    let quiet = bits >> 16 | 0x40;
    let result = if magnitude > 0x7f80_0000 { quiet } else { rounded };
    (if magnitude < 0x0080_0000 { bits >> 16 & 0x8000 } else { result }) as u16
}

/// Returns two numbers as one word: the first in the lower half.
#[inline(always)]
pub(super) fn pair(first: f32, second: f32) -> u32 {
    u32::from(round(first)) | u32::from(round(second)) << 16
}

/// Returns the value of the lower number of a pair.
#[inline(always)]
pub(super) fn lower(pair: u32) -> f32 {
    f32::from_bits(pair << 16)
}

/// Returns the value of the upper number of a pair.
#[inline(always)]
pub(super) fn upper(pair: u32) -> f32 {
    f32::from_bits(pair & 0xffff_0000)
}

/// Returns 0 for a number below the smallest normal one.
#[inline(always)]
pub(super) fn flush(value: f32) -> f32 {
    if value.abs() < f32::MIN_POSITIVE { 0.0f32.copysign(value) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_to_the_nearest_and_ties_to_even() {
        for (value, expected) in [
            (1.0, 0x3f80),
            (-2.0, 0xc000),
            // Between 1 and the next number, 1 + 2^-7: just below, at and just above the middle.
            (1.0 + 0.003_906, 0x3f80),
            (1.0 + 0.003_906_25, 0x3f80),
            (1.0 + 0.003_907, 0x3f81),
            // The middle above an odd significand.
            (1.0 + 3.0 * 0.003_906_25, 0x3f82),
            (f32::MAX, 0x7f80),
            (f32::NEG_INFINITY, 0xff80),
            (f32::MIN_POSITIVE, 0x0080),
            (-f32::MIN_POSITIVE / 2.0, 0x8000),
        ] {
            assert_eq!(round(value), expected, "{value}");
        }
        assert!(lower(u32::from(round(f32::from_bits(0x7f80_0001)))).is_nan());
    }

    #[test]
    fn pairs_hold_two_numbers() {
        let both = pair(1.5, -3.0);
        assert_eq!((lower(both), upper(both)), (1.5, -3.0));
        assert_eq!((flush(1e-39), flush(-1e-39).to_bits(), flush(1e-37)), (0.0, 0x8000_0000, 1e-37));
    }
}
