//! Compares the operation with sums computed by definition, with burn's operations, and with itself on different
//! numbers of threads and rows.

use burn::module::{Module, Param};
use burn::tensor::{Device, TensorData};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::products::half::Bf16Arithmetic;
use crate::testing::{largest, with_threads};

/// Computes the layer in 32 bits.
fn fused(input: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>, rectify: bool) -> Tensor<2> {
    extension::linear(input, weight, bias, Computation::plain(rectify))
}

/// Computes the layer with products of 16-bit numbers, in the order of tiles.
fn tiles(input: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>, rectify: bool) -> Tensor<2> {
    let computation = Computation::new(rectify, Some(Bf16Arithmetic::Tiles));
    extension::linear(input, weight, bias, computation)
}

/// Computes the layer with products of 16-bit numbers, in the order of dot products.
fn dots(input: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>, rectify: bool) -> Tensor<2> {
    let computation = Computation::new(rectify, Some(Bf16Arithmetic::Dots));
    extension::linear(input, weight, bias, computation)
}

type Operation = fn(Tensor<2>, Tensor<2>, Tensor<1>, bool) -> Tensor<2>;

fn burns(input: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>, rectify: bool) -> Tensor<2> {
    let output = input.matmul(weight) + bias.unsqueeze();
    if rectify { relu(output) } else { output }
}

/// Rows, inputs and outputs: one of each, few and many rows, several parts of rows, and outputs below, at and beyond
/// the width of a panel. With the second and the last sizes the gradient is transposed rather than the weight.
const SIZES: [[usize; 3]; 8] = [
    [1, 1, 1],
    [1, 17, 64],
    [5, 3, 32],
    [31, 8, 45],
    [32, 8, 45],
    [61, 23, 16],
    [130, 70, 100],
    [33, 96, 100],
];

/// Returns an input, a weight, a bias and the factors of the outputs in the loss, drawn by `draw`.
fn arguments([rows, inputs, outputs]: [usize; 3], mut draw: impl FnMut() -> f32) -> [TensorData; 4] {
    let shapes = [vec![rows, inputs], vec![inputs, outputs], vec![outputs], vec![rows, outputs]];
    shapes.map(|shape| TensorData::new((0..shape.iter().product()).map(|_| draw()).collect(), shape))
}

/// The results of a run: the output, and the gradients of the arguments.
const RESULTS: [&str; 4] = ["output", "input", "weight", "bias"];

/// Returns the output and the gradients of input, weight and bias, of a loss that weights every output differently.
fn run(operation: Operation, arguments: &[TensorData; 4], rectify: bool) -> [Vec<f32>; 4] {
    let device = Device::flex().autodiff();
    let [input, weight, bias, factors] = arguments.clone();
    let input: Tensor<2> = Tensor::from_data(input, &device).require_grad();
    let weight: Tensor<2> = Tensor::from_data(weight, &device).require_grad();
    let bias: Tensor<1> = Tensor::from_data(bias, &device).require_grad();
    let output = operation(input.clone(), weight.clone(), bias.clone(), rectify);
    let gradients = (output.clone() * Tensor::from_data(factors, &device)).sum().backward();
    let matrix = |tensor: Tensor<2>| tensor.try_into_vec_as().unwrap();
    [
        matrix(output),
        matrix(input.grad(&gradients).unwrap()),
        matrix(weight.grad(&gradients).unwrap()),
        bias.grad(&gradients).unwrap().try_into_vec_as().unwrap(),
    ]
}

fn random(sizes: [usize; 3]) -> [TensorData; 4] {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    arguments(sizes, || rng.random_range(-1.0..1.0))
}

/// The layer computed by definition, without vectors.
struct Definition {
    sizes: [usize; 3],
    input: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    /// The gradient of the output before the rectifier.
    gradient: Vec<f32>,
    rectify: bool,
}

impl Definition {
    fn new(sizes: [usize; 3], arguments: &[TensorData; 4], rectify: bool) -> Self {
        let [input, weight, bias, factors] =
            arguments.clone().map(|data| data.try_into_vec::<f32>().unwrap());
        let mut layer = Self { sizes, input, weight, bias, gradient: factors, rectify };
        for (row, column) in each_element(sizes[0], sizes[2]) {
            if rectify && layer.sum(row, column) <= 0.0 {
                layer.gradient[row * sizes[2] + column] = 0.0;
            }
        }
        layer
    }

    /// Returns an element of the output before the rectifier.
    fn sum(&self, row: usize, column: usize) -> f32 {
        let [_, inputs, outputs] = self.sizes;
        let row = &self.input[row * inputs..][..inputs];
        sum_of_products((0..inputs).map(|k| (row[k], self.weight[k * outputs + column]))) + self.bias[column]
    }

    fn output(&self, row: usize, column: usize) -> f32 {
        if self.rectify { self.sum(row, column).max(0.0) } else { self.sum(row, column) }
    }

    fn input_gradient(&self, row: usize, k: usize) -> f32 {
        let outputs = self.sizes[2];
        let (row, weight) = (&self.gradient[row * outputs..], &self.weight[k * outputs..]);
        sum_of_products((0..outputs).map(|column| (row[column], weight[column])))
    }

    fn weight_gradient(&self, k: usize, column: usize) -> f32 {
        let [rows, inputs, outputs] = self.sizes;
        sum_of_products(
            (0..rows).map(|row| (self.gradient[row * outputs + column], self.input[row * inputs + k])),
        )
    }

    fn bias_gradient(&self, column: usize) -> f32 {
        let [rows, _, outputs] = self.sizes;
        sum_of_products((0..rows).map(|row| (self.gradient[row * outputs + column], 1.0)))
    }

    /// Returns the output and the gradients of input, weight and bias.
    fn results(&self) -> [Vec<f32>; 4] {
        let [rows, inputs, outputs] = self.sizes;
        [
            each_element(rows, outputs).map(|(row, column)| self.output(row, column)).collect(),
            each_element(rows, inputs).map(|(row, k)| self.input_gradient(row, k)).collect(),
            each_element(inputs, outputs).map(|(k, column)| self.weight_gradient(k, column)).collect(),
            (0..outputs).map(|column| self.bias_gradient(column)).collect(),
        ]
    }
}

/// Returns the rows and columns of all elements of a matrix.
fn each_element(rows: usize, columns: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).flat_map(move |row| (0..columns).map(move |column| (row, column)))
}

/// Adds products in the order of the factors, each with one rounding.
fn sum_of_products(factors: impl Iterator<Item = (f32, f32)>) -> f32 {
    factors.fold(0.0, |sum, (a, b)| a.mul_add(b, sum))
}

#[test]
fn outputs_and_gradients_equal_sums_by_definition() {
    for (sizes, rectify) in SIZES.into_iter().flat_map(|sizes| [(sizes, true), (sizes, false)]) {
        // Whole numbers, whose sums are exact.
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let arguments = arguments(sizes, || rng.random_range(-4..=4) as f32);
        let expected = Definition::new(sizes, &arguments, rectify).results();
        for operation in [fused as Operation, tiles, dots] {
            assert_eq!(run(operation, &arguments, rectify), expected, "{sizes:?}, {rectify}");
        }
    }
}

#[test]
fn sums_do_not_depend_on_the_width_of_vectors() {
    // The definition has no vectors.
    for sizes in SIZES {
        let arguments = random(sizes);
        let expected = Definition::new(sizes, &arguments, false).results();
        assert_eq!(run(fused, &arguments, false), expected, "{sizes:?}");
    }
}

#[test]
fn outputs_and_gradients_equal_those_of_burn() {
    for (sizes, rectify) in SIZES.into_iter().flat_map(|sizes| [(sizes, true), (sizes, false)]) {
        let arguments = random(sizes);
        let [fused, expected] =
            [fused as Operation, burns].map(|operation| run(operation, &arguments, rectify));
        for (name, (fused, expected)) in RESULTS.iter().zip(fused.iter().zip(&expected)) {
            assert_eq!(fused.len(), expected.len());
            // Sums of up to 130 products in another order.
            let size = expected.iter().fold(1.0, |largest: f32, value| largest.max(value.abs()));
            let error = largest(fused.iter().zip(expected).map(|(a, b)| (a - b).abs()));
            assert!(error < 2e-5 * size, "{sizes:?}, {name}: {error} of {size}");
        }
    }
}

#[test]
fn products_of_16_bit_numbers_are_near_those_of_32() {
    for sizes in SIZES {
        let arguments = random(sizes);
        let expected = run(fused, &arguments, false);
        for operation in [tiles as Operation, dots] {
            let results = run(operation, &arguments, false);
            for (name, (values, expected)) in RESULTS.iter().zip(results.iter().zip(&expected)) {
                let errors: Vec<f32> = values.iter().zip(expected).map(|(a, b)| a - b).collect();
                // Numbers of up to 1 have 8 significant bits.
                assert!(
                    norm(&errors) <= 0.01 * norm(expected).max(1.0),
                    "{sizes:?}, {name}: {}",
                    norm(&errors)
                );
            }
        }
    }
}

fn norm(values: &[f32]) -> f32 {
    values.iter().map(|value| value * value).sum::<f32>().sqrt()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let operations = [fused as Operation, tiles, dots];
    for (sizes, operation) in
        SIZES.into_iter().flat_map(|sizes| operations.map(|operation| (sizes, operation)))
    {
        let arguments = random(sizes);
        let [one, two, three] =
            [1, 2, 3].map(|count| with_threads(count, || run(operation, &arguments, true)));
        assert_eq!(one, two);
        assert_eq!(one, three);
    }
}

#[test]
fn outputs_of_a_row_do_not_depend_on_the_other_rows() {
    let [input, weight, bias, _] = random([130, 70, 100]);
    let device = Device::flex();
    let (weight, bias) = (Tensor::from_data(weight, &device), Tensor::from_data(bias, &device));
    let input: Tensor<2> = Tensor::from_data(input, &device);
    for operation in [fused as Operation, tiles, dots] {
        let output = |input: Tensor<2>| -> Vec<f32> {
            operation(input, weight.clone(), bias.clone(), false).try_into_vec_as().unwrap()
        };
        let outputs = output(input.clone());
        // Below and above the number of rows at which the weight is packed.
        for count in [1, 7, 31, 32, 65] {
            assert_eq!(
                output(input.clone().narrow(0, 20, count)),
                outputs[20 * 100..][..count * 100],
                "{count} rows"
            );
        }
    }
}

#[test]
fn a_batch_without_rows_has_gradients_of_zero() {
    for operation in [fused as Operation, tiles, dots] {
        let [output, input, weight, bias] = run(operation, &random([0, 3, 2]), true);
        assert!(output.is_empty() && input.is_empty());
        assert_eq!((weight, bias), (vec![0.0; 6], vec![0.0; 2]));
    }
}

#[test]
fn constants_get_no_gradients() {
    let device = Device::flex().autodiff();
    let [input, weight, bias, _] = random([4, 3, 2]);
    let input = Tensor::<2>::from_data(input, &device);
    let weight = Param::from_tensor(Tensor::from_data(weight, &device));
    let layer = Linear { weight, bias: Some(Param::from_tensor(Tensor::from_data(bias, &device))) };
    assert_eq!(have_gradients(&layer, &input), (false, true));
    assert_eq!(have_gradients(&layer.no_grad(), &input.require_grad()), (true, false));
}

/// Returns true for the input and for the weight if they get a gradient.
fn have_gradients(layer: &Linear, input: &Tensor<2>) -> (bool, bool) {
    let output = fully_connected(layer, input.clone(), Computation::plain(true));
    let gradients = output.sum().backward();
    (input.grad(&gradients).is_some(), layer.weight.val().grad(&gradients).is_some())
}
