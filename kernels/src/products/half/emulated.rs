//! Both arithmetics with ordinary instructions.

use pulp::{Arch, Simd, WithSimd};

use super::arithmetic::Bf16Arithmetic;
use super::number::{flush, lower, upper};
use super::outer_products::HalfOuterProducts;
use super::product::HalfProduct;
use super::sizes::{BLOCK_PAIRS, BLOCK_ROWS, BLOCK_WORDS, PANEL_COLUMNS, TILE};

/// Computes a product whose sizes have been checked.
pub(super) fn multiply(product: &mut HalfProduct<'_>, arithmetic: Bf16Arithmetic) {
    Arch::new().dispatch(Multiply { product, arithmetic });
}

struct Multiply<'a, 'b> {
    product: &'a mut HalfProduct<'b>,
    arithmetic: Bf16Arithmetic,
}

impl WithSimd for Multiply<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { product, arithmetic } = self;
        let (left, right) = (product.left, product.right);
        for panel in 0..right.count() {
            for row in 0..left.count {
                let mut sums = [0.0; PANEL_COLUMNS];
                let mut blocks = product.panel(panel).chunks_exact(BLOCK_WORDS);
                for run in left.runs {
                    let values = &left.values[run + row * left.step..];
                    for (values, block) in
                        values.chunks_exact(BLOCK_ROWS).zip(blocks.by_ref().take(right.blocks()))
                    {
                        match arithmetic {
                            Bf16Arithmetic::Tiles => add_sums(values, block, &mut sums),
                            Bf16Arithmetic::Dots => add_pairs(values, block, &mut sums),
                        }
                    }
                }
                product.write(row, panel, &[sums]);
            }
        }
    }
}

/// Adds outer products whose sizes have been checked.
pub(super) fn add(products: &mut HalfOuterProducts<'_>, arithmetic: Bf16Arithmetic) {
    Arch::new().dispatch(Add { products, arithmetic });
}

struct Add<'a, 'b> {
    products: &'a mut HalfOuterProducts<'b>,
    arithmetic: Bf16Arithmetic,
}

impl WithSimd for Add<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { products, arithmetic } = self;
        let HalfOuterProducts { left, left_row, left_step, right, right_pair, right_step, .. } = *products;
        let (pairs, height, columns) = (products.pairs, products.height, products.columns);
        let mut block = [0; BLOCK_WORDS];
        for y in 0..height {
            for column in (0..columns).step_by(PANEL_COLUMNS) {
                for pair in 0..pairs {
                    let words = &right[y * right_step + pair * right_pair + column..][..PANEL_COLUMNS];
                    block[pair * TILE..][..TILE].copy_from_slice(&words[..TILE]);
                    block[(BLOCK_PAIRS + pair) * TILE..][..TILE].copy_from_slice(&words[TILE..]);
                }
                for row in 0..products.rows() {
                    let values = &left[row * left_row + y * left_step..][..2 * pairs];
                    let sums = &mut products.sums[row * columns + column..][..PANEL_COLUMNS];
                    let sums: &mut [f32; PANEL_COLUMNS] = sums.try_into().expect("the columns of a panel");
                    match arithmetic {
                        Bf16Arithmetic::Tiles => add_sums(values, &block, sums),
                        Bf16Arithmetic::Dots => add_pairs(values, &block, sums),
                    }
                }
            }
        }
    }
}

/// Adds a block in the order of [`Bf16Arithmetic::Tiles`].
#[inline(always)]
fn add_sums(values: &[u16], block: &[u32], sums: &mut [f32; PANEL_COLUMNS]) {
    let (mut even, mut odd) = ([0.0; PANEL_COLUMNS], [0.0; PANEL_COLUMNS]);
    each_pair(values, block, |column, [first, second], word| {
        even[column] = flush(even[column] + first * lower(word));
        odd[column] = flush(odd[column] + second * upper(word));
    });
    for ((sum, even), odd) in sums.iter_mut().zip(even).zip(odd) {
        *sum = flush(*sum + flush(even + odd));
    }
}

/// Adds a block in the order of [`Bf16Arithmetic::Dots`].
#[inline(always)]
fn add_pairs(values: &[u16], block: &[u32], sums: &mut [f32; PANEL_COLUMNS]) {
    each_pair(values, block, |column, [first, second], word| {
        let with_second = flush(sums[column] + second * upper(word));
        sums[column] = flush(with_second + first * lower(word));
    });
}

/// Calls `add` for each pair of values and each column, with the pair of the column. The product of two `bf16` is exact
/// in 32 bits, so that a multiplication and an addition round like a fused one.
#[inline(always)]
fn each_pair(values: &[u16], block: &[u32], mut add: impl FnMut(usize, [f32; 2], u32)) {
    let (pairs, _) = values.as_chunks::<2>();
    let (left, right) = block.split_at(BLOCK_PAIRS * TILE);
    let lines = left.as_chunks::<TILE>().0.iter().zip(right.as_chunks::<TILE>().0);
    for (pair, (left, right)) in pairs.iter().zip(lines) {
        let pair = pair.map(|number| lower(u32::from(number)));
        for (column, &word) in left.iter().enumerate() {
            add(column, pair, word);
        }
        for (column, &word) in right.iter().enumerate() {
            add(TILE + column, pair, word);
        }
    }
}
