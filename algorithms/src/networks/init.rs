use std::f64::consts::TAU;

use burn::module::Param;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor, TensorData};
use ndarray::{Array2, Axis};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::Conv;

/// Returns a random matrix of `rows` x `columns` in row-major order. The vectors along its shorter side are
/// orthonormal, times `gain`.
///
/// Gaussian vectors are orthogonalised by modified Gram-Schmidt in `f64`, which makes the distribution
/// uniform over all such matrices (Saxe et al. 2014, "Exact solutions to the nonlinear dynamics of learning
/// in deep linear neural networks", <https://arxiv.org/abs/1312.6120>).
pub fn orthogonal(rows: usize, columns: usize, gain: f64, rng: &mut impl Rng) -> Vec<f32> {
    let (count, length) = (rows.min(columns), rows.max(columns));
    let mut vectors = Array2::from_shape_simple_fn((count, length), || standard_normal(rng));
    for index in 0..count {
        let (done, mut rest) = vectors.view_mut().split_at(Axis(0), index);
        let mut vector = rest.row_mut(0);
        for other in done.rows() {
            let projection = other.dot(&vector);
            vector.scaled_add(-projection, &other);
        }
        let norm = vector.dot(&vector).sqrt();
        vector.mapv_inplace(|element| element / norm);
    }
    let matrix = if rows <= columns { vectors.view() } else { vectors.t() };
    matrix.iter().map(|&element| (gain * element) as f32).collect()
}

/// Samples a standard normal value by the Box-Muller transform.
pub(crate) fn standard_normal(rng: &mut impl Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (TAU * rng.random::<f64>()).cos()
}

/// Creates initialised layers, one after another from one random stream.
///
/// Random values are drawn on the host, so that a seed gives the same weights on every device.
pub struct Initializer<'a> {
    /// The source of randomness.
    pub rng: &'a mut ChaCha8Rng,
    /// The device of the layers.
    pub device: &'a Device,
}

impl Initializer<'_> {
    /// Creates a fully connected layer with orthogonal weights and zero biases.
    pub fn linear(&mut self, inputs: usize, outputs: usize, gain: f64) -> Linear {
        self.linears(inputs, outputs, 1, gain)
    }

    /// Creates `count` fully connected layers side by side in one: `count * outputs` outputs, each layer
    /// orthogonal on its own.
    pub fn linears(&mut self, inputs: usize, outputs: usize, count: usize, gain: f64) -> Linear {
        let layers: Vec<Vec<f32>> = (0..count).map(|_| orthogonal(inputs, outputs, gain, self.rng)).collect();
        let row = |input: usize| input * outputs..(input + 1) * outputs;
        let weight: Vec<f32> = (0..inputs)
            .flat_map(|input| layers.iter().flat_map(move |layer| &layer[row(input)]))
            .copied()
            .collect();
        let width = count * outputs;
        Linear {
            weight: Param::from_data(TensorData::new(weight, [inputs, width]), self.device),
            bias: Some(Param::from_tensor(Tensor::zeros([width], self.device))),
        }
    }

    /// Creates a fully connected layer initialised as in PyTorch: weights and biases uniform within
    /// `1 / sqrt(inputs)` of 0.
    pub fn uniform_linear(&mut self, inputs: usize, outputs: usize) -> Linear {
        let (weight, bias) = (self.uniform(inputs * outputs, inputs), self.uniform(outputs, inputs));
        Linear {
            weight: Param::from_data(TensorData::new(weight, [inputs, outputs]), self.device),
            bias: Some(Param::from_data(TensorData::new(bias, [outputs]), self.device)),
        }
    }

    /// Creates a 3 x 3 convolution that keeps the size of images, initialised as in PyTorch.
    pub fn uniform_conv(&mut self, channels: [usize; 2], rectify: bool) -> Conv {
        let [inputs, outputs] = channels;
        let patch = 9 * inputs;
        let (weight, bias) = (self.uniform(patch * outputs, patch), self.uniform(outputs, patch));
        Conv {
            weight: Param::from_data(TensorData::new(weight, [3, 3, inputs, outputs]), self.device),
            bias: Param::from_data(TensorData::new(bias, [outputs]), self.device),
            stride: 1,
            padding: 1,
            rectify,
            arithmetic: None,
        }
    }

    /// Samples values uniform within `1 / sqrt(inputs)` of 0.
    fn uniform(&mut self, count: usize, inputs: usize) -> Vec<f32> {
        let bound = 1.0 / (inputs as f64).sqrt();
        (0..count).map(|_| self.rng.random_range(-bound..bound) as f32).collect()
    }

    /// Creates a convolution with a square kernel, initialised for a ReLU after it. The ReLU is fused if `rectify` is
    /// true.
    pub fn conv(&mut self, channels: [usize; 2], kernel: usize, stride: usize, rectify: bool) -> Conv {
        let [inputs, outputs] = channels;
        let weight = orthogonal(kernel * kernel * inputs, outputs, 2f64.sqrt(), self.rng);
        Conv {
            weight: Param::from_data(TensorData::new(weight, [kernel, kernel, inputs, outputs]), self.device),
            bias: Param::from_tensor(Tensor::zeros([outputs], self.device)),
            stride,
            padding: 0,
            rectify,
            arithmetic: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// Returns the largest deviation of the shorter side's Gram matrix from `gain^2` times the identity.
    fn deviation(rows: usize, columns: usize, gain: f64) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let weights = orthogonal(rows, columns, gain, &mut rng);
        let matrix = Array2::from_shape_vec((rows, columns), weights).unwrap().mapv(f64::from);
        let gram = if rows <= columns { matrix.dot(&matrix.t()) } else { matrix.t().dot(&matrix) };
        let identity = Array2::<f64>::eye(rows.min(columns)) * (gain * gain);
        (gram - identity).iter().fold(0.0, |largest, difference: &f64| largest.max(difference.abs()))
    }

    #[test]
    fn the_shorter_side_is_orthonormal_times_the_gain() {
        for (rows, columns) in [(1, 1), (5, 5), (64, 64), (4, 30), (300, 20), (64, 1)] {
            for gain in [1.0, 0.01, 2f64.sqrt()] {
                assert!(deviation(rows, columns, gain) < 1e-6, "{rows} x {columns}, gain {gain}");
            }
        }
    }

    #[test]
    fn biases_are_zero() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut initializer = Initializer { rng: &mut rng, device: &Device::flex() };
        let linear = initializer.linear(3, 2, 1.0);
        let conv = initializer.conv([2, 4], 3, 1, true);
        assert_eq!(linear.bias.unwrap().val().try_into_vec_as::<f32>().unwrap(), [0.0; 2]);
        assert_eq!(conv.bias.val().try_into_vec_as::<f32>().unwrap(), [0.0; 4]);
    }
}
