//! The inner loops of the area resize in plain Rust. They define the results that the vector versions reproduce.

/// Writes the weighted sums of a row of bytes.
///
/// `sources` and `weights` hold a run of elements for each tap, as long as `sums`; `gathered` is working memory of the
/// same length as `sources`.
pub(super) fn sum_row(
    sources: &[usize],
    weights: &[f32],
    pixels: &[u8],
    gathered: &mut [f32],
    sums: &mut [f32],
) {
    // Gathering first leaves loops over neighbouring floats, which the compiler vectorises.
    for (gathered, &source) in gathered.iter_mut().zip(sources) {
        *gathered = f32::from(pixels[source]);
    }
    sums.fill(0.0);
    let taps = gathered.chunks_exact(sums.len()).zip(weights.chunks_exact(sums.len()));
    for (gathered, weights) in taps {
        for ((sum, element), weight) in sums.iter_mut().zip(gathered).zip(weights) {
            *sum += element * weight;
        }
    }
}

/// Writes a target row: the weighted sums of some rows, one for each weight, rounded to bytes, halves to even. The rows
/// are whole vectors; the target may end within one.
#[inline(always)]
pub(super) fn sum_columns(rows: &[f32], weights: &[f32], target: &mut [u8]) {
    /// Floats that one iteration handles.
    const LANES: usize = 8;
    /// At 2^23 the spacing of `f32` is 1, so that the addition itself rounds, and the low bits are the integer.
    const ONES: f32 = 8388608.0;
    let vectors = rows.as_chunks::<LANES>().0;
    let row_vectors = vectors.len() / weights.len();
    for (column, target) in target.chunks_mut(LANES).enumerate() {
        let mut sums = [0.0; LANES];
        for (row, weight) in vectors.chunks_exact(row_vectors).zip(weights) {
            for (sum, element) in sums.iter_mut().zip(row[column]) {
                *sum += element * weight;
            }
        }
        // The subtraction never wraps, but an overflow check would prevent vectorisation.
        let bytes = sums.map(|sum| (sum + ONES).to_bits().wrapping_sub(ONES.to_bits()).min(255) as u8);
        target.copy_from_slice(&bytes[..target.len()]);
    }
}
