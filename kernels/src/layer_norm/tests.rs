//! Compares the operation with burn's, and with itself on different numbers of threads.

use burn::tensor::TensorData;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::testing::{largest, with_threads};

type Operation = fn(Tensor<2>, Tensor<1>, Tensor<1>, bool) -> Tensor<2>;

/// Returns values up to 2 from `center`.
fn random(rng: &mut ChaCha8Rng, count: usize, center: f32) -> Vec<f32> {
    (0..count).map(|_| center + rng.random_range(-2.0..2.0)).collect()
}

/// Returns the output and the gradients of values, `gamma` and `beta`, of a loss that weights every output differently.
fn run(layer_norm: Operation, [rows, width]: [usize; 2], rectify: bool) -> [Vec<f32>; 4] {
    let (mut rng, device) = (ChaCha8Rng::seed_from_u64(5), Device::flex().autodiff());
    let values = TensorData::new(random(&mut rng, rows * width, 3.0), [rows, width]);
    let values: Tensor<2> = Tensor::from_data(values, &device).require_grad();
    let [gamma, beta]: [Tensor<1>; 2] = [1.0, 0.0].map(|center| {
        Tensor::from_data(TensorData::new(random(&mut rng, width, center), [width]), &device).require_grad()
    });
    let weights =
        Tensor::from_data(TensorData::new(random(&mut rng, rows * width, 0.0), [rows, width]), &device);
    let output = layer_norm(values.clone(), gamma.clone(), beta.clone(), rectify);
    let gradients = (output.clone() * weights).sum().backward();
    let host = |tensor: Option<Tensor<1>>| tensor.unwrap().try_into_vec_as().unwrap();
    [
        output.try_into_vec_as().unwrap(),
        values.grad(&gradients).unwrap().try_into_vec_as().unwrap(),
        host(gamma.grad(&gradients)),
        host(beta.grad(&gradients)),
    ]
}

/// One row and several parts of rows, with widths below, at and beyond the number of lanes.
const SHAPES: [[usize; 2]; 5] = [[1, 1], [3, 7], [16, 32], [37, 100], [50, 3200]];

#[test]
fn outputs_and_gradients_equal_those_of_burn() {
    for (shape, rectify) in SHAPES.into_iter().flat_map(|shape| [(shape, true), (shape, false)]) {
        let [fused, expected] = [run(extension::layer_norm, shape, rectify), run(composed, shape, rectify)];
        let names = ["output", "values", "gamma", "beta"];
        for (name, (fused, expected)) in names.iter().zip(fused.iter().zip(&expected)) {
            assert_eq!(fused.len(), expected.len());
            let size = expected.iter().fold(1.0, |largest: f32, value| largest.max(value.abs()));
            let error = largest(fused.iter().zip(expected).map(|(a, b)| (a - b).abs()));
            assert!(error < 2e-5 * size, "{shape:?}, {name}: {error} of {size}");
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let [one, two, three] =
        [1, 2, 3].map(|count| with_threads(count, || run(extension::layer_norm, [50, 100], true)));
    assert_eq!(one, two);
    assert_eq!(one, three);
}

#[test]
fn constant_rows_become_beta() {
    let device = Device::flex();
    let values = Tensor::full([2, 3], 5.0, &device);
    let output =
        layer_norm(values, Tensor::ones([3], &device), Tensor::from_data([1.0, -2.0, 3.0], &device), true);
    let output: Vec<f32> = output.try_into_vec_as().unwrap();
    assert_eq!(output, [1.0, 0.0, 3.0, 1.0, 0.0, 3.0]);
}

#[test]
fn a_row_with_nan_or_infinity_becomes_nan() {
    let device = Device::flex();
    for (odd, rectify) in [f32::NAN, f32::INFINITY].into_iter().flat_map(|odd| [(odd, true), (odd, false)]) {
        let values = Tensor::from_data([[1.0, odd, 3.0], [1.0, 2.0, 3.0]], &device);
        let output = layer_norm(values, Tensor::ones([3], &device), Tensor::zeros([3], &device), rectify);
        let output: Vec<f32> = output.try_into_vec_as().unwrap();
        let is_nan: Vec<bool> = output.iter().map(|value| value.is_nan()).collect();
        assert_eq!(is_nan, [true, true, true, false, false, false], "{odd}, {rectify}");
    }
}
