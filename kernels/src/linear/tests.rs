//! Compares the operation with sums computed by definition, with burn's operations, and with itself on different
//! numbers of threads and rows.

use burn::module::{Module, Param};
use burn::tensor::{Device, TensorData};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::ThreadPoolBuilder;

use super::*;
use crate::products::half::Bf16Arithmetic;
use crate::testing::largest;

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

/// Rows, inputs and outputs: one of each, few and many rows, several parts of rows, and outputs below, at and beyond the width
/// of a panel. With the second and the last sizes the gradient is transposed rather than the weight.
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

#[test]
fn outputs_and_gradients_equal_sums_by_definition() {
    for (sizes, rectify) in SIZES.into_iter().flat_map(|sizes| [(sizes, true), (sizes, false)]) {
        // Whole numbers, whose sums are exact.
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let arguments = arguments(sizes, || rng.random_range(-4..=4) as f32);
        let [rows, inputs, outputs] = sizes;
        let [input, weight, bias, factors] =
            arguments.clone().map(|data| data.try_into_vec::<f32>().unwrap());
        let sums = |row: usize, column: usize| {
            bias[column]
                + (0..inputs).map(|k| input[row * inputs + k] * weight[k * outputs + column]).sum::<f32>()
        };
        let gradient = |row: usize, column: usize| {
            if rectify && sums(row, column) <= 0.0 { 0.0 } else { factors[row * outputs + column] }
        };
        let each =
            |rows: usize, columns: usize| (0..rows * columns).map(move |at| (at / columns, at % columns));
        let output = |(row, column)| if rectify { sums(row, column).max(0.0) } else { sums(row, column) };
        let of_input = |(row, k): (usize, usize)| {
            (0..outputs).map(|column| gradient(row, column) * weight[k * outputs + column]).sum()
        };
        let of_weight = |(k, column): (usize, usize)| {
            (0..rows).map(|row| gradient(row, column) * input[row * inputs + k]).sum()
        };
        let expected: [Vec<f32>; 4] = [
            each(rows, outputs).map(output).collect(),
            each(rows, inputs).map(of_input).collect(),
            each(inputs, outputs).map(of_weight).collect(),
            (0..outputs).map(|column| (0..rows).map(|row| gradient(row, column)).sum()).collect(),
        ];
        for operation in [fused as Operation, tiles, dots] {
            assert_eq!(run(operation, &arguments, rectify), expected, "{sizes:?}, {rectify}");
        }
    }
}

#[test]
fn sums_do_not_depend_on_the_width_of_vectors() {
    // The definition has no vectors: products are added in ascending order, each with one rounding.
    let sum = |factors: &mut dyn Iterator<Item = (f32, f32)>| {
        factors.fold(0.0, |sum, (a, b): (f32, f32)| a.mul_add(b, sum))
    };
    for sizes @ [rows, inputs, outputs] in SIZES {
        let arguments = random(sizes);
        let [input, weight, bias, factors] =
            arguments.clone().map(|data| data.try_into_vec::<f32>().unwrap());
        let each =
            |rows: usize, columns: usize| (0..rows * columns).map(move |at| (at / columns, at % columns));
        let output = |(row, column)| {
            sum(&mut (0..inputs).map(|k| (input[row * inputs + k], weight[k * outputs + column])))
                + bias[column]
        };
        let of_input = |(row, k)| {
            sum(&mut (0..outputs)
                .map(|column| (factors[row * outputs + column], weight[k * outputs + column])))
        };
        let of_weight = |(k, column)| {
            sum(&mut (0..rows).map(|row| (input[row * inputs + k], factors[row * outputs + column])))
        };
        let expected: [Vec<f32>; 4] = [
            each(rows, outputs).map(output).collect(),
            each(rows, inputs).map(of_input).collect(),
            each(inputs, outputs).map(of_weight).collect(),
            (0..outputs)
                .map(|column| sum(&mut (0..rows).map(|row| (factors[row * outputs + column], 1.0))))
                .collect(),
        ];
        assert_eq!(run(fused, &arguments, false), expected, "{sizes:?}");
    }
}

#[test]
fn outputs_and_gradients_equal_those_of_burn() {
    for (sizes, rectify) in SIZES.into_iter().flat_map(|sizes| [(sizes, true), (sizes, false)]) {
        let arguments = random(sizes);
        let [fused, expected] =
            [fused as Operation, burns].map(|operation| run(operation, &arguments, rectify));
        for (name, (fused, expected)) in
            ["output", "input", "weight", "bias"].iter().zip(fused.iter().zip(&expected))
        {
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
            let found = run(operation, &arguments, false);
            for (name, (found, expected)) in
                ["output", "input", "weight", "bias"].iter().zip(found.iter().zip(&expected))
            {
                let norm = |values: &[f32]| values.iter().map(|value| value * value).sum::<f32>().sqrt();
                let errors: Vec<f32> = found.iter().zip(expected).map(|(a, b)| a - b).collect();
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

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let operations = [fused as Operation, tiles, dots];
    for (sizes, operation) in
        SIZES.into_iter().flat_map(|sizes| operations.map(|operation| (sizes, operation)))
    {
        let arguments = random(sizes);
        let with_threads = |count| {
            let pool = ThreadPoolBuilder::new().num_threads(count).build().unwrap();
            pool.install(|| run(operation, &arguments, true))
        };
        assert_eq!(with_threads(1), with_threads(2));
        assert_eq!(with_threads(1), with_threads(3));
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
        let all = output(input.clone());
        // Below and above the number of rows at which the weight is packed.
        for count in [1, 7, 31, 32, 65] {
            assert_eq!(
                output(input.clone().narrow(0, 20, count)),
                all[20 * 100..][..count * 100],
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
    let data = random([4, 3, 2]);
    let layer = |input: Tensor<2>, learns: bool| {
        let [_, weight, bias, _] = data.clone();
        let weight = Param::from_tensor(Tensor::from_data(weight, &device));
        let bias = Some(Param::from_tensor(Tensor::from_data(bias, &device)));
        let layer = Linear { weight, bias };
        let layer = if learns { layer } else { layer.no_grad() };
        let gradients = fully_connected(&layer, input.clone(), Computation::plain(true)).sum().backward();
        (input.grad(&gradients).is_some(), layer.weight.val().grad(&gradients).is_some())
    };
    let input = Tensor::<2>::from_data(data[0].clone(), &device);
    assert_eq!(layer(input.clone(), true), (false, true));
    assert_eq!(layer(input.require_grad(), false), (true, false));
}
