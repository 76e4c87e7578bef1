use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Tensor, TensorData};
use rand_chacha::ChaCha8Rng;

use super::Initializer;
use super::init::standard_normal;
use super::precision::{cast_like, fully_connected};

/// A fully connected layer with learned noise on its weights, which drives exploration (Fortunato et al.
/// 2018, "Noisy networks for exploration", <https://arxiv.org/abs/1706.10295>), in the factorised form.
///
/// With the noise `e_in` of the inputs and `e_out` of the outputs:
///
/// ```text
/// y = (W + W_sigma * outer(e_in, e_out)) x + b + b_sigma * e_out
/// ```
#[derive(Module, Debug)]
pub struct NoisyLinear {
    /// `[inputs, outputs]`.
    pub weight: Param<Tensor<2>>,
    /// `[outputs]`.
    pub bias: Param<Tensor<1>>,
    /// `[inputs, outputs]`: the noise scale of the weights.
    pub weight_sigma: Param<Tensor<2>>,
    /// `[outputs]`: the noise scale of the biases.
    pub bias_sigma: Param<Tensor<1>>,
}

/// The noise of one layer, the same for all rows of a batch.
#[derive(Clone, Debug)]
pub struct LayerNoise {
    /// `[1, inputs]`.
    inputs: Tensor<2>,
    /// `[1, outputs]`.
    outputs: Tensor<2>,
}

impl NoisyLinear {
    /// Computes `[rows, outputs]` of `[rows, inputs]` in the precision of the input. Without noise, uses the
    /// mean weights.
    pub fn forward(&self, input: Tensor<2>, noise: Option<&LayerNoise>) -> Tensor<2> {
        let layer = |weight: &Param<Tensor<2>>, bias: &Param<Tensor<1>>, input: Tensor<2>| {
            let (weight, bias) = (cast_like(weight.val(), &input), cast_like(bias.val(), &input));
            input.matmul(weight) + bias.unsqueeze()
        };
        let output = layer(&self.weight, &self.bias, input.clone());
        match noise {
            // The outer product is never formed: its factors are applied to both sides of the product.
            Some(noise) => {
                let [inputs, outputs] =
                    [&noise.inputs, &noise.outputs].map(|noise| cast_like(noise.clone(), &input));
                output + layer(&self.weight_sigma, &self.bias_sigma, input * inputs) * outputs
            }
            None => output,
        }
    }

    /// Draws noise: normal values `x`, transformed to `sign(x) * sqrt(|x|)`.
    pub fn draw_noise(&self, rng: &mut ChaCha8Rng, device: &Device) -> LayerNoise {
        let [inputs, outputs] = self.weight.dims();
        let mut values = |count: usize| {
            let values: Vec<f32> = (0..count)
                .map(|_| {
                    let number = standard_normal(rng);
                    (number.signum() * number.abs().sqrt()) as f32
                })
                .collect();
            Tensor::from_data(TensorData::new(values, [1, count]), device)
        };
        LayerNoise { inputs: values(inputs), outputs: values(outputs) }
    }
}

/// A fully connected layer, with or without noise.
#[derive(Module, Debug)]
pub enum Dense {
    /// Without noise.
    Plain(Linear),
    /// With noise.
    Noisy(NoisyLinear),
}

impl Dense {
    /// Creates a layer: noisy with initial scale `noisy_sigma` if given, else orthogonal with `gain`.
    pub fn new(
        inputs: usize,
        outputs: usize,
        gain: f64,
        noisy_sigma: Option<f64>,
        initializer: &mut Initializer<'_>,
    ) -> Self {
        match noisy_sigma {
            Some(sigma) => Self::Noisy(initializer.noisy_linear(inputs, outputs, sigma)),
            None => Self::Plain(initializer.linear(inputs, outputs, gain)),
        }
    }

    /// Computes `[rows, outputs]` of `[rows, inputs]`.
    pub fn forward(&self, input: Tensor<2>, noise: Option<&LayerNoise>) -> Tensor<2> {
        match self {
            Self::Plain(layer) => fully_connected(layer, input),
            Self::Noisy(linear) => linear.forward(input, noise),
        }
    }

    /// Draws noise; `None` for a plain layer.
    pub fn draw_noise(&self, rng: &mut ChaCha8Rng, device: &Device) -> Option<LayerNoise> {
        match self {
            Self::Plain(_) => None,
            Self::Noisy(linear) => Some(linear.draw_noise(rng, device)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn tensor<const N: usize>(values: [f32; N], shape: [usize; 2]) -> Tensor<2> {
        Tensor::from_data(TensorData::new(values.to_vec(), shape), &Device::flex())
    }

    fn layer() -> NoisyLinear {
        let flat = |values: [f32; 2]| Param::from_tensor(tensor(values, [1, 2]).squeeze_dim(0));
        NoisyLinear {
            weight: Param::from_tensor(tensor([1.0, 2.0, 3.0, 4.0], [2, 2])),
            bias: flat([10.0, 20.0]),
            weight_sigma: Param::from_tensor(tensor([0.5, 1.0, 1.5, 2.0], [2, 2])),
            bias_sigma: flat([0.1, 0.2]),
        }
    }

    #[test]
    fn outputs_by_hand() {
        let (layer, input) = (layer(), tensor([1.0, 2.0], [1, 2]));
        let host = |tensor: Tensor<2>| tensor.try_into_vec_as::<f32>().unwrap();
        // 1 * 1 + 2 * 3 + 10 and 1 * 2 + 2 * 4 + 20.
        assert_eq!(host(layer.forward(input.clone(), None)), [17.0, 30.0]);
        // Noise (2, -1) of the inputs and (1, 3) of the outputs. The noise of the weights is 0.5 * 2 * 1 and
        // 1.5 * -1 * 1 in the first column, 1 * 2 * 3 and 2 * -1 * 3 in the second; that of the biases is 0.1
        // * 1 and 0.2 * 3.
        let noise = LayerNoise { inputs: tensor([2.0, -1.0], [1, 2]), outputs: tensor([1.0, 3.0], [1, 2]) };
        let expected = [17.0 + (1.0 - 3.0) + 0.1, 30.0 + (6.0 - 12.0) + 0.6];
        let outputs = host(layer.forward(input, Some(&noise)));
        assert!(outputs.iter().zip(expected).all(|(output, expected)| (output - expected).abs() < 1e-5));
    }

    #[test]
    fn noise_is_the_signed_root_of_a_normal_value() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let device = Device::flex();
        let layer = Initializer { rng: &mut rng, device: &device }.noisy_linear(1000, 1000, 0.5);
        let noise = layer.draw_noise(&mut rng, &device);
        let values: Vec<f32> = noise.inputs.try_into_vec_as().unwrap();
        let mean = |power: i32| values.iter().map(|number| number.powi(power)).sum::<f32>() / 1000.0;
        // Symmetric; squares are |x|, whose mean is sqrt(2 / pi) = 0.798 with a deviation of 0.603.
        assert!(mean(1).abs() < 5.0 * 0.893 / 1000f32.sqrt(), "{}", mean(1));
        assert!((mean(2) - 0.798).abs() < 5.0 * 0.603 / 1000f32.sqrt(), "{}", mean(2));
        let sigma: Vec<f32> = layer.weight_sigma.val().try_into_vec_as().unwrap();
        assert!(sigma.iter().all(|sigma| (sigma - 0.5 / 1000f32.sqrt()).abs() < 1e-7));
    }
}
