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
    use rayon::ThreadPoolBuilder;

    use super::*;

    #[test]
    fn the_sum_is_the_same_for_any_number_of_threads() {
        let size = 5 * 1024 * 1024;
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let elements: Vec<f32> = (0..size).map(|_| rng.random()).collect();
        let sum = |num_threads| -> f32 {
            let threads = ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap();
            let data = TensorData::new(elements.clone(), [5, 1024 * 1024]);
            threads.install(|| sum_of_squares(Tensor::<2>::from_data(data, &Device::flex())).into_scalar())
        };
        let expected: f64 = elements.iter().map(|&element| f64::from(element).powi(2)).sum();
        let sums: Vec<u32> = (1..=16).map(|num_threads| sum(num_threads).to_bits()).collect();
        assert!(sums.iter().all(|&bits| bits == sums[0]), "{sums:?}");
        assert!((f64::from(f32::from_bits(sums[0])) / expected - 1.0).abs() < 1e-5);
    }
}
