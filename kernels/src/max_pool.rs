//! Max pooling of 3 x 3 pixels with stride 2, on images with channels last: a custom operation on the CPU,
//! burn's elsewhere.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::module::max_pool2d;
use burn::tensor::ops::MaxPoolOptions;
use burn::tensor::{DType, Device, Tensor};
use rayon::prelude::*;

use super::flex::{slice, tensor};

/// Returns the height or width of the result for images of height or width `side`.
pub fn pooled_side(side: usize) -> usize {
    side.div_ceil(2)
}

/// Maps `[rows, height, width, channels]` to `[rows, pooled height, pooled width, channels]`. Pixels beyond
/// the border are ignored. The gradient goes to the first of equal maxima.
pub fn max_pool(input: Tensor<4>) -> Tensor<4> {
    if input.device() == Device::flex() && input.dtype() == DType::F32 {
        Tensor::from_dispatch(<Dispatch as MaxPool>::max_pool(input.into_dispatch()))
    } else {
        burn_max_pool(input)
    }
}

/// Computes the same pooling with burn's operations, on any device.
fn burn_max_pool(input: Tensor<4>) -> Tensor<4> {
    let options = MaxPoolOptions::new([3; 2]).with_stride([2; 2]).with_padding([1; 2]);
    max_pool2d(input.permute([0, 3, 1, 2]), options).permute([0, 2, 3, 1])
}

/// Backends with the operation.
#[backend_extension(Flex, Autodiff)]
trait MaxPool: Backend {
    fn max_pool(input: FloatTensor<Self>) -> FloatTensor<Self>;
}

impl MaxPool for Flex {
    fn max_pool(input: FlexTensor) -> FlexTensor {
        let input = input.to_contiguous();
        let shape: [usize; 4] = input.shape().dims();
        let [rows, height, width, channels] = shape;
        let pooled = [rows, pooled_side(height), pooled_side(width), channels];
        let mut output = vec![f32::NEG_INFINITY; pooled.iter().product()];
        let images = slice(&input).par_chunks(height * width * channels);
        images.zip(output.par_chunks_mut(pooled[1] * pooled[2] * channels)).for_each(|(input, output)| {
            for (index, output) in output.chunks_exact_mut(channels).enumerate() {
                for pixel in window(index, height, width) {
                    let input = &input[pixel * channels..][..channels];
                    for (output, &input) in output.iter_mut().zip(input) {
                        // Unlike `max`, this propagates NaN.
                        *output = if input > *output || input.is_nan() { input } else { *output };
                    }
                }
            }
        });
        tensor(output, pooled)
    }
}

impl<C: CheckpointStrategy> MaxPool for Autodiff<Flex, C> {
    fn max_pool(input: FloatTensor<Self>) -> FloatTensor<Self> {
        let (input, node) = input.into_parts();
        let output = Flex::max_pool(input.clone());
        match MaxPoolBackward.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(preparation) => preparation.finish((input, output.clone()), output),
            OpsKind::UnTracked(preparation) => preparation.finish(output),
        }
    }
}

#[derive(Debug)]
struct MaxPoolBackward;

impl Backward<Flex, 1> for MaxPoolBackward {
    /// Input and output.
    type State = (FlexTensor, FlexTensor);

    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let [Some(node)] = ops.parents else { return };
        let (input, output) = ops.state;
        let input = input.to_contiguous();
        let [rows, height, width, channels] = input.shape().dims();
        let mut result = vec![0.0; rows * height * width * channels];
        let image = height * width * channels;
        let pooled = pooled_side(height) * pooled_side(width) * channels;
        let outputs = slice(&output).par_chunks(pooled).zip(slice(&gradient).par_chunks(pooled));
        let inputs = slice(&input).par_chunks(image).zip(result.par_chunks_mut(image));
        inputs.zip(outputs).for_each(|((input, result), (output, gradient))| {
            let mut remaining = vec![0.0; channels];
            let pixels = output.chunks_exact(channels).zip(gradient.chunks_exact(channels));
            for (index, (output, gradient)) in pixels.enumerate() {
                remaining.copy_from_slice(gradient);
                for pixel in window(index, height, width) {
                    let values = pixel * channels..(pixel + 1) * channels;
                    let (input, result) = (&input[values.clone()], &mut result[values]);
                    for channel in 0..channels {
                        let is_maximum = input[channel] == output[channel];
                        let share = if is_maximum { remaining[channel] } else { 0.0 };
                        result[channel] += share;
                        remaining[channel] -= share;
                    }
                }
            }
        });
        gradients.register::<Flex>(node.id, tensor(result, [rows, height, width, channels]));
    }
}

/// Returns the input pixels of pixel `index` of the result, row by row.
fn window(index: usize, height: usize, width: usize) -> impl Iterator<Item = usize> {
    let side = |center: usize, end: usize| center.saturating_sub(1)..(center + 2).min(end);
    let (y, x) = (2 * (index / pooled_side(width)), 2 * (index % pooled_side(width)));
    side(y, height).flat_map(move |y| side(x, width).map(move |x| y * width + x))
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;
    use rand::SeedableRng;
    use rand::seq::SliceRandom;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const SHAPES: [[usize; 4]; 4] = [[3, 12, 11, 16], [2, 7, 8, 3], [1, 1, 1, 2], [2, 2, 1, 1]];

    /// Values that differ by at least a tenth, in random order.
    fn input(shape: [usize; 4]) -> Vec<f32> {
        let mut values: Vec<f32> =
            (0..shape.iter().product()).map(|index: usize| index as f32 / 10.0).collect();
        values.shuffle(&mut ChaCha8Rng::seed_from_u64(3));
        values
    }

    fn with_gradient(values: Vec<f32>, shape: [usize; 4]) -> Tensor<4> {
        Tensor::from_data(TensorData::new(values, shape), &Device::flex().autodiff()).require_grad()
    }

    fn host(tensor: Tensor<4>) -> Vec<f32> {
        tensor.try_into_vec_as().unwrap()
    }

    #[test]
    fn a_window_with_nan_has_the_maximum_nan() {
        let shape = [1, 4, 4, 1];
        for nan in 0..16 {
            let mut values = input(shape);
            values[nan] = f32::NAN;
            let pooled = host(max_pool(Tensor::from_data(TensorData::new(values, shape), &Device::flex())));
            let expected: Vec<usize> =
                (0..pooled.len()).filter(|&index| window(index, 4, 4).any(|pixel| pixel == nan)).collect();
            let maxima: Vec<usize> = (0..pooled.len()).filter(|&index| pooled[index].is_nan()).collect();
            assert!(!maxima.is_empty() && maxima == expected, "NaN at {nan}: {maxima:?}, not {expected:?}");
        }
    }

    /// Returns a scalar function of the output that weights every element differently.
    fn loss(output: Tensor<4>) -> Tensor<1> {
        let count = output.shape().num_elements();
        let factors: Vec<f32> = (0..count).map(|index| ((index * 7919) % 23) as f32 / 11.0 - 1.0).collect();
        let factors = Tensor::from_data(TensorData::new(factors, output.dims()), &output.device());
        (output * factors).sum()
    }

    fn run(shape: [usize; 4], pool: fn(Tensor<4>) -> Tensor<4>) -> (Vec<f32>, Vec<f32>) {
        let input = with_gradient(input(shape), shape);
        let output = pool(input.clone());
        let gradients = loss(output.clone()).backward();
        (host(output), host(input.grad(&gradients).unwrap()))
    }

    #[test]
    fn outputs_and_gradients_equal_those_of_burn() {
        for shape in SHAPES {
            let ((output, gradient), (expected, expected_gradient)) =
                (run(shape, max_pool), run(shape, burn_max_pool));
            assert_eq!(output, expected, "{shape:?}");
            let near = |(ours, theirs): (&f32, &f32)| (ours - theirs).abs() < 1e-6;
            assert!(gradient.iter().zip(&expected_gradient).all(near), "{shape:?}");
        }
    }

    #[test]
    fn gradients_equal_finite_differences() {
        let shape = SHAPES[1];
        let (_, gradient) = run(shape, max_pool);
        for index in 0..gradient.len() {
            // The order of the values changes only beyond a tenth.
            let [above, below] = [0.04, -0.04].map(|step| {
                let mut values = input(shape);
                values[index] += step;
                loss(max_pool(with_gradient(values, shape))).into_scalar::<f32>()
            });
            let slope = (above - below) / 0.08;
            assert!((slope - gradient[index]).abs() < 1e-2, "{index}: {slope} and {}", gradient[index]);
        }
    }

    #[test]
    fn the_first_of_equal_maxima_receives_the_gradient() {
        let input = with_gradient(vec![5.0; 4], [1, 2, 2, 1]);
        let gradients = max_pool(input.clone()).sum().backward();
        assert_eq!(host(input.grad(&gradients).unwrap()), [1.0, 0.0, 0.0, 0.0]);
    }
}
