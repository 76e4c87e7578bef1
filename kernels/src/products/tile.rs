//! Register tiles.
//!
//! A tile of a result, a few rows of a [panel](super::panel), stays in vector registers while its products are summed.
//! Each value loaded then serves many multiplications (Goto and van de Geijn 2008, "Anatomy of high-performance matrix
//! multiplication"). A general matrix product packs both factors first. Here only the weights are packed: the values
//! under a kernel are contiguous runs of an image with channels last.
//!
//! Each element of a result is a sum in a fixed order, regardless of the size of its tile.

use std::ops::Range;

use pulp::Simd;

/// Returns the maximum number of rows of a tile. With two vectors per row it leaves registers for the factors. With 11
/// rows the compiler stores all sums after every multiplication.
const fn max_rows<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { 10 } else { 6 }
}

/// Splits rows into tiles of nearly equal height for these instructions.
#[inline(always)]
pub(crate) fn tiles<S: Simd>(rows: usize) -> impl Iterator<Item = Range<usize>> {
    tiles_of(rows, max_rows::<S>())
}

/// Splits rows into tiles of nearly equal height, at most `max_rows`.
#[inline(always)]
pub(crate) fn tiles_of(rows: usize, max_rows: usize) -> impl Iterator<Item = Range<usize>> {
    let count = rows.div_ceil(max_rows);
    (0..count).map(move |tile| tile * rows / count..(tile + 1) * rows / count)
}

/// Calls a function with the number of rows of a tile as a constant.
macro_rules! with_rows {
    ($rows:expr, $function:ident $(::<$simd:ident>)? ($($argument:expr),*)) => {
        match $rows {
            1 => $function::<$($simd,)? 1>($($argument),*),
            2 => $function::<$($simd,)? 2>($($argument),*),
            3 => $function::<$($simd,)? 3>($($argument),*),
            4 => $function::<$($simd,)? 4>($($argument),*),
            5 => $function::<$($simd,)? 5>($($argument),*),
            6 => $function::<$($simd,)? 6>($($argument),*),
            7 => $function::<$($simd,)? 7>($($argument),*),
            8 => $function::<$($simd,)? 8>($($argument),*),
            9 => $function::<$($simd,)? 9>($($argument),*),
            10 => $function::<$($simd,)? 10>($($argument),*),
            rows => unreachable!("a tile of {rows} rows"),
        }
    };
}
pub(crate) use with_rows;
