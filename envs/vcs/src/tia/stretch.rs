//! Tables that repeat each bit of a byte of pixels.

/// Each bit twice.
pub(super) static TWICE: [u64; 256] = stretched(2);
/// Each bit four times.
pub(super) static FOUR_TIMES: [u64; 256] = stretched(4);
/// Each bit eight times: a byte per bit.
pub(super) static EIGHT_TIMES: [u64; 256] = stretched(8);

const fn stretched(factor: usize) -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 * factor {
            table[byte] |= (byte as u64 >> (bit / factor) & 1) << bit;
            bit += 1;
        }
        byte += 1;
    }
    table
}
