//! Sums of squares that do not depend on the number of threads.

use burn::tensor::Tensor;

/// The largest number of elements that are summed at once. For twice this number or more, burn's CPU backend sums parts
/// in parallel and adds them in an order that depends on the number of threads.
const PIECE: usize = 2 * 1024 * 1024;

/// Returns the sum of the squares of all elements, `[1]`.
pub fn sum_of_squares<const D: usize>(tensor: Tensor<D>) -> Tensor<1> {
    let squares = tensor.square();
    if squares.shape().num_elements() <= PIECE {
        return squares.sum();
    }
    let pieces = squares.flatten::<1>(0, D - 1).split(PIECE, 0);
    Tensor::cat(pieces.into_iter().map(Tensor::sum).collect(), 0).sum()
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::testing::with_threads;

    #[test]
    fn the_sum_is_the_same_for_any_number_of_threads() {
        let size = 5 * 1024 * 1024;
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let elements: Vec<f32> = (0..size).map(|_| rng.random()).collect();
        let expected: f64 = elements.iter().map(|&element| f64::from(element).powi(2)).sum();
        let tensor = Tensor::<2>::from_data(TensorData::new(elements, [5, 1024 * 1024]), &Device::flex());
        let sums = (1..=16).map(|num_threads| {
            with_threads(num_threads, || sum_of_squares(tensor.clone()).into_scalar::<f32>())
        });
        let sums: Vec<f32> = sums.collect();
        assert!(sums.iter().all(|sum| sum.to_bits() == sums[0].to_bits()), "{sums:?}");
        assert!((f64::from(sums[0]) / expected - 1.0).abs() < 1e-5);
    }
}
