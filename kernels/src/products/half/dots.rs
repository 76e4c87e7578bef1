//! Products by AVX-512 BF16.

use std::arch::x86_64::{
    __m512bh, _mm512_dpbf16_ps, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_setzero_ps,
    _mm512_storeu_ps,
};
use std::mem;

use super::instructions::dots_are_available;
use super::outer_products::HalfOuterProducts;
use super::product::HalfProduct;
use super::sizes::{BLOCK_PAIRS, BLOCK_ROWS, BLOCK_WORDS, PANEL_COLUMNS, TILE};
use crate::products::tile::{tiles_of, with_rows};

/// Most rows of a tile: their sums take two registers each, 20 of 32.
const MAX_TILE_ROWS: usize = 10;

/// Computes a product whose sizes have been checked.
#[allow(unsafe_code)]
pub(super) fn multiply(product: &mut HalfProduct<'_>) {
    assert!(dots_are_available());
    // SAFETY: the processor has the instructions.
    unsafe { multiply_with_instructions(product) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
fn multiply_with_instructions(product: &mut HalfProduct<'_>) {
    for panel in 0..product.right.count() {
        for tile in tiles_of(product.left.count, MAX_TILE_ROWS) {
            with_rows!(tile.len(), multiply_rows(product, tile.start, panel));
        }
    }
}

/// Computes the rows `first..first + ROWS` in the columns of a panel.
#[allow(unsafe_code)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
#[inline]
fn multiply_rows<const ROWS: usize>(product: &mut HalfProduct<'_>, first: usize, panel: usize) {
    let (left, right) = (product.left, product.right);
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    let mut words = product.panel(panel).as_ptr();
    for run in left.runs {
        let mut values = left.values[run + first * left.step..].as_ptr();
        for _ in 0..right.blocks() {
            for pair in 0..BLOCK_PAIRS {
                // SAFETY: `HalfProduct::check` has checked that whole blocks of each row are within the values, and
                // that the panel has as many blocks. Vectors and pairs may be loaded from any address.
                unsafe {
                    // The same line of both tiles of the block.
                    let line = words.add(pair * TILE);
                    let columns: [__m512bh; 2] = [line, line.add(BLOCK_PAIRS * TILE)]
                        .map(|line| mem::transmute(_mm512_loadu_si512(line.cast())));
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let factor = values.add(row * left.step + 2 * pair).cast::<i32>().read_unaligned();
                        let factor: __m512bh = mem::transmute(_mm512_set1_epi32(factor));
                        sums[0] = _mm512_dpbf16_ps(sums[0], factor, columns[0]);
                        sums[1] = _mm512_dpbf16_ps(sums[1], factor, columns[1]);
                    }
                }
            }
            values = values.wrapping_add(BLOCK_ROWS);
            words = words.wrapping_add(BLOCK_WORDS);
        }
    }
    let mut stored = [[0.0; PANEL_COLUMNS]; ROWS];
    for (stored, sums) in stored.iter_mut().zip(sums) {
        // SAFETY: a row has two vectors.
        unsafe {
            _mm512_storeu_ps(stored.as_mut_ptr(), sums[0]);
            _mm512_storeu_ps(stored.as_mut_ptr().add(TILE), sums[1]);
        }
    }
    product.write(first, panel, &stored);
}

/// Adds outer products whose sizes have been checked.
#[allow(unsafe_code)]
pub(super) fn add_outer_products(products: &mut HalfOuterProducts<'_>) {
    assert!(dots_are_available());
    // SAFETY: the processor has the instructions.
    unsafe { add_with_instructions(products) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
fn add_with_instructions(products: &mut HalfOuterProducts<'_>) {
    for column in (0..products.columns).step_by(PANEL_COLUMNS) {
        for tile in tiles_of(products.rows(), MAX_TILE_ROWS) {
            with_rows!(tile.len(), add_rows(products, tile.start, column));
        }
    }
}

/// Adds to the rows `first..first + ROWS` in the `PANEL_COLUMNS` columns from `column` on.
#[allow(unsafe_code)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
#[inline]
fn add_rows<const ROWS: usize>(products: &mut HalfOuterProducts<'_>, first: usize, column: usize) {
    let HalfOuterProducts { left, left_row, left_step, right, right_pair, right_step, .. } = *products;
    let first_row = products.sums[first * products.columns + column..].as_mut_ptr();
    let row_start = |row: usize| first_row.wrapping_add(row * products.columns);
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    for (row, sums) in sums.iter_mut().enumerate() {
        // SAFETY: `HalfOuterProducts::check` has checked that there are two vectors in each row.
        *sums = unsafe { [_mm512_loadu_ps(row_start(row)), _mm512_loadu_ps(row_start(row).add(TILE))] };
    }
    for y in 0..products.height {
        let values = left[first * left_row + y * left_step..].as_ptr();
        let words = right[y * right_step + column..].as_ptr();
        for pair in 0..products.pairs {
            // SAFETY: `HalfOuterProducts::check` has checked that all pairs of each row are within the values, and two
            // vectors of each pair within the words. Vectors and pairs may be loaded from any address.
            unsafe {
                let line = words.add(pair * right_pair);
                let columns: [__m512bh; 2] =
                    [line, line.add(TILE)].map(|line| mem::transmute(_mm512_loadu_si512(line.cast())));
                for (row, sums) in sums.iter_mut().enumerate() {
                    let factor = values.add(row * left_row + 2 * pair).cast::<i32>().read_unaligned();
                    let factor: __m512bh = mem::transmute(_mm512_set1_epi32(factor));
                    sums[0] = _mm512_dpbf16_ps(sums[0], factor, columns[0]);
                    sums[1] = _mm512_dpbf16_ps(sums[1], factor, columns[1]);
                }
            }
        }
    }
    for (row, sums) in sums.into_iter().enumerate() {
        // SAFETY: as above.
        unsafe {
            _mm512_storeu_ps(row_start(row), sums[0]);
            _mm512_storeu_ps(row_start(row).add(TILE), sums[1]);
        }
    }
}
