//! Conversion of `f32` to words, which hold a pair of `bf16` numbers each.

use std::ops::Range;

use super::number::{pair, round};
use super::sizes::{BLOCK_ROWS, TILE};

/// Words of 16 rows and 16 columns.
pub(super) type Tile = [[u32; TILE]; TILE];

/// Writes the pairs of two rows of up to 16 columns. A `second` row without values stands for zeros.
#[allow(unsafe_code)]
pub(super) fn pair_rows(first: &[f32], second: &[f32], line: &mut [u32; TILE]) {
    #[cfg(target_arch = "x86_64")]
    if let (Ok(first), Ok(second)) = (first.try_into(), second.try_into())
        && super::instructions::dots_are_available()
    {
        // SAFETY: the processor has the instructions.
        *line = unsafe { avx512::pair_rows(first, second) };
        return;
    }
    for (column, (word, &first)) in line.iter_mut().zip(first).enumerate() {
        *word = pair(first, second.get(column).copied().unwrap_or(0.0));
    }
}

/// Returns some columns of a row of a matrix in row-major order; nothing if the matrix ends before the row.
pub(super) fn part_of_row<'a>(
    matrix: &'a [f32],
    width: usize,
    row: usize,
    columns: &Range<usize>,
) -> &'a [f32] {
    let start = row * width;
    matrix.get(start + columns.start..start + columns.end).unwrap_or_default()
}

/// Writes the pairs of up to 32 values next to each other. A last value without a partner is paired with 0.
#[allow(unsafe_code)]
pub(super) fn pair_neighbours(values: &[f32], line: &mut [u32; TILE]) {
    #[cfg(target_arch = "x86_64")]
    if let Ok(values) = values.try_into()
        && super::instructions::dots_are_available()
    {
        // SAFETY: the processor has the instructions.
        *line = unsafe { avx512::pair_neighbours(values) };
        return;
    }
    for (word, values) in line.iter_mut().zip(values.chunks(2)) {
        *word = pair(values[0], values.get(1).copied().unwrap_or(0.0));
    }
}

/// Transposes a tile.
#[allow(unsafe_code)]
pub(super) fn transpose(tile: &mut Tile) {
    #[cfg(target_arch = "x86_64")]
    if super::instructions::dots_are_available() {
        // SAFETY: the processor has the instructions.
        return unsafe { avx512::transpose(tile) };
    }
    let words = *tile;
    for (row, line) in tile.iter_mut().enumerate() {
        line.iter_mut().zip(&words).for_each(|(word, column)| *word = column[row]);
    }
}

/// Rounds each of `values`.
///
/// # Panics
/// Panics if the lengths differ.
#[allow(unsafe_code)]
pub(crate) fn round_all(values: &[f32], rounded: &mut [u16]) {
    assert_eq!(values.len(), rounded.len());
    let ((values, rest), (lines, rounded_rest)) =
        (values.as_chunks::<{ 2 * TILE }>(), rounded.as_chunks_mut::<{ 2 * TILE }>());
    #[cfg(target_arch = "x86_64")]
    let is_native = super::instructions::dots_are_available();
    for (values, line) in values.iter().zip(lines) {
        #[cfg(target_arch = "x86_64")]
        if is_native {
            // SAFETY: the processor has the instructions.
            *line = unsafe { avx512::round(values) };
            continue;
        }
        line.iter_mut().zip(values).for_each(|(rounded, &value)| *rounded = round(value));
    }
    rounded_rest.iter_mut().zip(rest).for_each(|(rounded, &value)| *rounded = round(value));
}

/// Rounds a matrix `[rows, columns]` in row-major order and transposes it: `[columns, padded_rows]`, where the rows
/// beyond those of the matrix are zeros.
pub(crate) fn round_transposed(matrix: &[f32], columns: usize, padded_rows: usize) -> Vec<u16> {
    let rows = matrix.len() / columns;
    let mut result = vec![0; columns * padded_rows];
    let mut tile = [[0; TILE]; TILE];
    for first_row in (0..rows).step_by(BLOCK_ROWS) {
        let count = (rows - first_row).min(BLOCK_ROWS);
        for first in (0..columns).step_by(TILE) {
            let shown = first..(first + TILE).min(columns);
            for (index, line) in tile.iter_mut().enumerate() {
                *line = [0; TILE];
                let row = first_row + 2 * index;
                let [first, second] = [row, row + 1].map(|row| part_of_row(matrix, columns, row, &shown));
                pair_rows(first, second, line);
            }
            transpose(&mut tile);
            for (column, line) in shown.zip(&tile) {
                let values = &mut result[column * padded_rows + first_row..][..count];
                for (values, word) in values.chunks_mut(2).zip(line) {
                    let both = [*word as u16, (word >> 16) as u16];
                    values.copy_from_slice(&both[..values.len()]);
                }
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hold_pairs_of_rows_or_of_neighbours() {
        let values: Vec<f32> = (0..64).map(|index| index as f32 * 0.37 - 5.0).collect();
        for columns in [1, 7, TILE] {
            for second in [&values[32..32 + columns], &[]] {
                let mut line = [0; TILE];
                pair_rows(&values[..columns], second, &mut line);
                for (column, word) in line.into_iter().enumerate() {
                    let [first, second] =
                        [&values[..columns], second].map(|row| row.get(column).copied().unwrap_or(0.0));
                    assert_eq!(word, pair(first, second), "{columns}, {column}");
                }
            }
        }
        for count in [1, 2, 13, 2 * TILE] {
            let mut line = [0; TILE];
            pair_neighbours(&values[..count], &mut line);
            for (index, word) in line.into_iter().enumerate() {
                let [first, second] = [2 * index, 2 * index + 1]
                    .map(|index| values[..count].get(index).copied().unwrap_or(0.0));
                assert_eq!(word, pair(first, second), "{count}, {index}");
            }
        }
    }

    #[test]
    fn tiles_are_transposed() {
        let mut tile: Tile =
            std::array::from_fn(|row| std::array::from_fn(|column| (100 * row + column) as u32));
        transpose(&mut tile);
        for (row, line) in tile.iter().enumerate() {
            assert!(
                line.iter().enumerate().all(|(column, &word)| word == (100 * column + row) as u32),
                "{row}"
            );
        }
    }

    #[test]
    fn all_numbers_round_like_one() {
        // More than a vector, and numbers that need care.
        let special = [
            f32::NAN,
            f32::INFINITY,
            f32::MAX,
            f32::MIN_POSITIVE,
            1e-40,
            -1e-40,
            0.0,
            -0.0,
            f32::from_bits(0x7f80_0001),
        ];
        let values: Vec<f32> =
            (0..70).map(|index| (index as f32 - 50.0) * 0.37).chain(special).chain(special).collect();
        let mut rounded = vec![0; values.len()];
        round_all(&values, &mut rounded);
        for (&value, rounded) in values.iter().zip(rounded) {
            assert_eq!(rounded, round(value), "{value}");
        }
    }

    #[test]
    fn matrices_are_rounded_and_transposed() {
        for [rows, columns, padded_rows] in [[1, 1, 1], [33, 17, 40], [64, 48, 64], [7, 35, 32]] {
            let matrix: Vec<f32> = (0..rows * columns).map(|index| index as f32 * 0.11 - 3.0).collect();
            let result = round_transposed(&matrix, columns, padded_rows);
            for column in 0..columns {
                for row in 0..padded_rows {
                    let expected = if row < rows { round(matrix[row * columns + column]) } else { 0 };
                    assert_eq!(
                        result[column * padded_rows + row],
                        expected,
                        "{rows} x {columns}: {row}, {column}"
                    );
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    //! The same by AVX-512 BF16, which rounds like [`round`](super::round).

    use std::arch::x86_64::{
        __m512bh, __m512i, _mm512_cvtne2ps_pbh, _mm512_loadu_ps, _mm512_loadu_si512,
        _mm512_permutex2var_epi32, _mm512_permutexvar_epi16, _mm512_storeu_si512,
    };
    use std::mem::transmute;

    use super::{TILE, Tile};

    /// The order that interleaves both halves of a vector.
    const INTERLEAVED: [u16; 2 * TILE] = {
        let mut order = [0; 2 * TILE];
        let mut index = 0;
        while index < TILE {
            order[2 * index] = index as u16;
            order[2 * index + 1] = (TILE + index) as u16;
            index += 1;
        }
        order
    };

    /// For blocks of 1, 2, 4 and 8 columns, the words of two rows after an exchange of their blocks off the diagonal.
    const EXCHANGES: [[[u32; TILE]; 2]; 4] = {
        let mut exchanges = [[[0; TILE]; 2]; 4];
        let mut step = 0;
        while step < 4 {
            let size = 1 << step;
            let mut column = 0;
            while column < TILE {
                // Words of the second row have numbers from 16 on.
                let [first, second] = if column & size == 0 {
                    [column, column + size]
                } else {
                    [TILE + column - size, TILE + column]
                };
                exchanges[step][0][column] = first as u32;
                exchanges[step][1][column] = second as u32;
                column += 1;
            }
            step += 1;
        }
        exchanges
    };

    #[allow(unsafe_code)]
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    pub(super) fn pair_rows(first: &[f32; TILE], second: &[f32; TILE]) -> [u32; TILE] {
        // SAFETY: vectors may be loaded from any address, and have as many bits as the arrays.
        unsafe {
            let both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(second.as_ptr()), _mm512_loadu_ps(first.as_ptr()));
            let order = transmute::<[u16; 2 * TILE], __m512i>(INTERLEAVED);
            transmute(_mm512_permutexvar_epi16(order, transmute::<__m512bh, __m512i>(both)))
        }
    }

    #[allow(unsafe_code)]
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    pub(super) fn pair_neighbours(values: &[f32; 2 * TILE]) -> [u32; TILE] {
        // SAFETY: words are little-endian, so that the first of two numbers is in the lower half.
        unsafe { transmute(round(values)) }
    }

    #[allow(unsafe_code)]
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    pub(super) fn round(values: &[f32; 2 * TILE]) -> [u16; 2 * TILE] {
        let (lower, upper) = values.split_at(TILE);
        // SAFETY: as above; both halves have the length of a vector.
        unsafe {
            transmute(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(upper.as_ptr()), _mm512_loadu_ps(lower.as_ptr())))
        }
    }

    #[allow(unsafe_code)]
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    pub(super) fn transpose(tile: &mut Tile) {
        // SAFETY: vectors may be loaded from any address, and a row has the length of a vector.
        let load = |row: &[u32; TILE]| unsafe { _mm512_loadu_si512(row.as_ptr().cast()) };
        let mut rows = tile.each_ref().map(load);
        for (step, exchange) in EXCHANGES.iter().enumerate() {
            let [first_order, second_order] = exchange.each_ref().map(load);
            for first in (0..TILE).filter(|row| row & 1 << step == 0) {
                let second = first + (1 << step);
                (rows[first], rows[second]) = (
                    _mm512_permutex2var_epi32(rows[first], first_order, rows[second]),
                    _mm512_permutex2var_epi32(rows[first], second_order, rows[second]),
                );
            }
        }
        for (stored, row) in tile.iter_mut().zip(rows) {
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(stored.as_mut_ptr().cast(), row) };
        }
    }
}
