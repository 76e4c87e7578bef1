//! Compares the operation with burn's convolution, on the CPU and on devices, and on the CPU with finite differences
//! and with itself on different numbers of threads.

use burn::tensor::activation::relu;
use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, TensorData};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::testing::{largest, with_threads};

/// Sizes of a convolution: input, kernel, stride and output channels.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    input: [usize; 4],
    kernel: usize,
    stride: usize,
    padding: usize,
    outputs: usize,
}

impl Sizes {
    fn window(self) -> Window {
        Window { stride: self.stride, padding: self.padding }
    }
}

/// The Nature layers on 84 x 84, strides as large as the kernel, shapes with remainders on every side, padding: an
/// IMPALA layer and two odd ones, and kernels of 2 x 2 pixels for small images.
const SIZES: [Sizes; 13] = [
    Sizes { input: [3, 84, 84, 4], kernel: 8, stride: 4, padding: 0, outputs: 32 },
    Sizes { input: [37, 20, 20, 32], kernel: 4, stride: 2, padding: 0, outputs: 64 },
    Sizes { input: [19, 9, 9, 64], kernel: 3, stride: 1, padding: 0, outputs: 64 },
    Sizes { input: [3, 36, 36, 4], kernel: 5, stride: 5, padding: 0, outputs: 8 },
    Sizes { input: [3, 7, 7, 8], kernel: 5, stride: 5, padding: 0, outputs: 16 },
    Sizes { input: [2, 7, 10, 3], kernel: 3, stride: 2, padding: 0, outputs: 5 },
    Sizes { input: [1, 4, 4, 1], kernel: 4, stride: 3, padding: 0, outputs: 1 },
    Sizes { input: [5, 6, 11, 2], kernel: 1, stride: 4, padding: 0, outputs: 3 },
    Sizes { input: [18, 6, 7, 32], kernel: 3, stride: 1, padding: 1, outputs: 32 },
    Sizes { input: [2, 5, 4, 3], kernel: 3, stride: 2, padding: 2, outputs: 2 },
    Sizes { input: [1, 1, 2, 2], kernel: 3, stride: 1, padding: 1, outputs: 3 },
    Sizes { input: [17, 7, 7, 3], kernel: 2, stride: 1, padding: 0, outputs: 16 },
    Sizes { input: [9, 17, 16, 16], kernel: 2, stride: 2, padding: 0, outputs: 32 },
];

/// Returns an input, a weight and a bias that track gradients.
fn arguments(sizes: Sizes, device: &Device) -> (Tensor<4>, Tensor<4>, Tensor<1>) {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    drawn(sizes, device, || rng.random_range(-1.0..1.0))
}

/// Returns arguments whose elements `draw` returns.
fn drawn(sizes: Sizes, device: &Device, mut draw: impl FnMut() -> f32) -> (Tensor<4>, Tensor<4>, Tensor<1>) {
    let device = device.clone().autodiff();
    let mut values = |count: usize| -> Vec<f32> { (0..count).map(|_| draw()).collect() };
    let weight = [sizes.kernel, sizes.kernel, sizes.input[3], sizes.outputs];
    let data = |values, shape: &[usize]| TensorData::new(values, shape.to_vec());
    (
        Tensor::from_data(data(values(sizes.input.iter().product()), &sizes.input), &device).require_grad(),
        Tensor::from_data(data(values(weight.iter().product()), &weight), &device).require_grad(),
        Tensor::from_data(data(values(sizes.outputs), &[sizes.outputs]), &device).require_grad(),
    )
}

fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.try_into_vec_as().unwrap()
}

/// Returns a scalar function of an output that weights every element differently.
fn loss(output: Tensor<4>) -> Tensor<1> {
    let count = output.shape().num_elements();
    let factors: Vec<f32> = (0..count).map(|index| ((index * 7919) % 23) as f32 / 11.0 - 1.0).collect();
    let factors = Tensor::from_data(TensorData::new(factors, output.dims()), &output.device());
    (output * factors).sum()
}

type Operation = fn(Tensor<4>, Tensor<4>, Tensor<1>, Window, bool) -> Tensor<4>;

/// Computes the convolution in 32 bits.
fn fused(input: Tensor<4>, weight: Tensor<4>, bias: Tensor<1>, window: Window, rectify: bool) -> Tensor<4> {
    extension::conv(input, weight, bias, window, Computation::plain(rectify))
}

/// Computes the convolution with products of 16-bit numbers, in the order of tiles.
fn tiles(input: Tensor<4>, weight: Tensor<4>, bias: Tensor<1>, window: Window, rectify: bool) -> Tensor<4> {
    let computation = Computation::new(rectify, Some(Bf16Arithmetic::Tiles));
    extension::conv(input, weight, bias, window, computation)
}

/// Computes the convolution with products of 16-bit numbers, in the order of dot products.
fn dots(input: Tensor<4>, weight: Tensor<4>, bias: Tensor<1>, window: Window, rectify: bool) -> Tensor<4> {
    let computation = Computation::new(rectify, Some(Bf16Arithmetic::Dots));
    extension::conv(input, weight, bias, window, computation)
}

/// The results of a run: the output, and the gradients of the arguments.
const RESULTS: [&str; 4] = ["output", "input", "weight", "bias"];

/// Returns the output and the gradients of input, weight and bias on the CPU.
fn run(sizes: Sizes, conv: Operation, rectify: bool) -> [Vec<f32>; 4] {
    run_on(&Device::flex(), sizes, conv, rectify)
}

/// Like [`run`] on any device.
fn run_on(device: &Device, sizes: Sizes, conv: Operation, rectify: bool) -> [Vec<f32>; 4] {
    results(arguments(sizes, device), sizes, conv, rectify, loss)
}

/// Returns the output and the gradients of the arguments.
fn results(
    (input, weight, bias): (Tensor<4>, Tensor<4>, Tensor<1>),
    sizes: Sizes,
    conv: Operation,
    rectify: bool,
    loss: fn(Tensor<4>) -> Tensor<1>,
) -> [Vec<f32>; 4] {
    let output = conv(input.clone(), weight.clone(), bias.clone(), sizes.window(), rectify);
    let gradients = loss(output.clone()).backward();
    let gradient = |tensor: Option<Tensor<4>>| host(tensor.unwrap());
    [
        host(output),
        gradient(input.grad(&gradients)),
        gradient(weight.grad(&gradients)),
        host(bias.grad(&gradients).unwrap()),
    ]
}

/// Computes the same convolution with burn.
fn burn_conv(
    input: Tensor<4>,
    weight: Tensor<4>,
    bias: Tensor<1>,
    window: Window,
    rectify: bool,
) -> Tensor<4> {
    let options = ConvOptions::new([window.stride; 2], [window.padding; 2], [1; 2], 1);
    let output = conv2d(input.permute([0, 3, 1, 2]), weight.permute([3, 2, 0, 1]), Some(bias), options);
    let output = if rectify { relu(output) } else { output };
    output.permute([0, 2, 3, 1])
}

/// Compares the operation on a device with burn's convolution on the CPU. Sums of up to 37 * 81 products are added in
/// another order; `tolerance` is relative to the largest value.
fn check_equal_to_burn(device: &Device, tolerance: f32) {
    for (sizes, rectify) in SIZES.into_iter().flat_map(|sizes| [(sizes, true), (sizes, false)]) {
        let results = run_on(device, sizes, fused, rectify);
        let expected = run(sizes, burn_conv, rectify);
        for (name, (values, expected)) in RESULTS.iter().zip(results.iter().zip(&expected)) {
            assert_eq!(values.len(), expected.len());
            let scale = expected.iter().fold(1.0, |largest: f32, value| largest.max(value.abs()));
            let error = largest(values.iter().zip(expected).map(|(a, b)| (a - b).abs()));
            assert!(error < tolerance * scale, "{sizes:?}, {name}: {error} of {scale}");
        }
    }
}

#[test]
fn outputs_and_gradients_equal_those_of_burn() {
    check_equal_to_burn(&Device::flex(), 2e-5);
}

mod device_tests {
    use super::check_equal_to_burn;
    use crate::testing::{TOLERANCE, gpus};

    #[test]
    fn convolutions_equal_those_of_burn_on_the_cpu() {
        for device in gpus() {
            check_equal_to_burn(&device, TOLERANCE);
        }
    }
}

#[test]
fn products_of_16_bit_numbers_are_exact_for_whole_numbers() {
    /// Weights every element by a whole number.
    fn loss(output: Tensor<4>) -> Tensor<1> {
        let factors: Vec<f32> =
            (0..output.shape().num_elements()).map(|index| (index * 7 % 9) as f32 - 4.0).collect();
        let factors = Tensor::from_data(TensorData::new(factors, output.dims()), &output.device());
        (output * factors).sum()
    }
    for (sizes, rectify) in SIZES.into_iter().flat_map(|sizes| [(sizes, true), (sizes, false)]) {
        let [expected, tiles, dots] = [fused as Operation, tiles, dots].map(|conv| {
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let arguments = drawn(sizes, &Device::flex(), || rng.random_range(-4..=4) as f32);
            results(arguments, sizes, conv, rectify, loss)
        });
        assert_eq!(tiles, expected, "tiles, {sizes:?}, {rectify}");
        assert_eq!(dots, expected, "dots, {sizes:?}, {rectify}");
    }
}

#[test]
fn products_of_16_bit_numbers_are_near_those_of_32() {
    for sizes in SIZES {
        let expected = run(sizes, fused, false);
        for conv in [tiles as Operation, dots] {
            let results = run(sizes, conv, false);
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
fn gradients_equal_finite_differences() {
    check_gradients(SIZES[5], true);
    // Without a rectifier the loss is linear in each argument.
    check_gradients(SIZES[9], false);
    check_gradients(SIZES[10], false);
}

fn check_gradients(sizes: Sizes, rectify: bool) {
    let (input, weight, bias) = arguments(sizes, &Device::flex());
    let [_, input_gradient, weight_gradient, bias_gradient] = run(sizes, fused, rectify);
    let value = |input: &Tensor<4>, weight: &Tensor<4>, bias: &Tensor<1>| -> f64 {
        let output = fused(input.clone(), weight.clone(), bias.clone(), sizes.window(), rectify);
        f64::from(loss(output).into_scalar::<f32>())
    };
    let wrong_slopes = [
        count_wrong_slopes(&input_gradient, |index, step| value(&moved(&input, index, step), &weight, &bias)),
        count_wrong_slopes(&weight_gradient, |index, step| {
            value(&input, &moved(&weight, index, step), &bias)
        }),
        count_wrong_slopes(&bias_gradient, |index, step| value(&input, &weight, &moved(&bias, index, step))),
    ];
    let gradients = [input_gradient, weight_gradient, bias_gradient];
    for (wrong, gradient) in wrong_slopes.into_iter().zip(gradients) {
        // The loss is linear in each argument, apart from the few ReLUs that switch within the step.
        let most = if rectify { gradient.len() / 20 } else { 0 };
        assert!(wrong <= most, "{wrong} of {}", gradient.len());
    }
}

/// Counts the elements of a gradient that differ from the slope of the loss. `value_at` returns the loss after a step
/// of one element.
fn count_wrong_slopes(gradient: &[f32], value_at: impl Fn(usize, f32) -> f64) -> usize {
    let step = 1e-2;
    let wrong = (0..gradient.len()).filter(|&index| {
        let slope = (value_at(index, step) - value_at(index, -step)) / f64::from(2.0 * step);
        let error = (slope - f64::from(gradient[index])).abs();
        error.is_nan() || error > 2e-3
    });
    wrong.count()
}

/// Returns `tensor` with `step` added to one element.
fn moved<const D: usize>(tensor: &Tensor<D>, index: usize, step: f32) -> Tensor<D> {
    let mut values = host(tensor.clone());
    values[index] += step;
    Tensor::from_data(TensorData::new(values, tensor.dims()), &tensor.device())
}

#[test]
fn results_are_bit_identical_on_one_two_and_three_threads() {
    for (sizes, conv) in
        SIZES.into_iter().flat_map(|sizes| [fused as Operation, tiles, dots].map(|conv| (sizes, conv)))
    {
        let [one, two, three] = [1, 2, 3].map(|num_threads| {
            let results = with_threads(num_threads, || run(sizes, conv, true));
            results.map(|values| values.into_iter().map(f32::to_bits).collect::<Vec<u32>>())
        });
        assert_eq!(one, two);
        assert_eq!(one, three);
    }
}

#[test]
fn no_gradient_is_computed_for_an_untracked_input() {
    let (input, weight, bias) = arguments(SIZES[5], &Device::flex());
    let constant = input.detach().set_require_grad(false);
    let output = fused(constant.clone(), weight.clone(), bias, SIZES[5].window(), true);
    let gradients = loss(output).backward();
    assert!(constant.grad(&gradients).is_none());
    assert!(weight.grad(&gradients).is_some());
}
