use std::ops::Range;

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::activation::relu;
use burn::tensor::{DType, Device, Tensor, TensorData};
use kernels::{Computation, affine, cast_like, noisy_weight, on_cpu};
use rand::Rng;

use super::init::standard_normal;
use super::{Initializer, RowTasks};

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

/// The noise of one layer, for each row of a batch or the same for all rows.
#[derive(Clone, Debug)]
pub struct LayerNoise {
    /// `[rows, inputs]` or `[1, inputs]`.
    inputs: Tensor<2>,
    /// `[rows, outputs]` or `[1, outputs]`.
    outputs: Tensor<2>,
}

impl LayerNoise {
    /// Returns true if adding the noise to the weights takes less time than a second product.
    fn is_cheaper_on_weights(&self, input: &Tensor<2>) -> bool {
        let is_shared = self.inputs.dims()[0] == 1 && input.dims()[0] > 1;
        is_shared && on_cpu(&input.device()) && input.dtype() == DType::F32
    }

    /// Returns the noise of some of the rows.
    pub(super) fn of_rows(&self, rows: Range<usize>) -> Self {
        let part = |noise: &Tensor<2>| noise.clone().narrow(0, rows.start, rows.len());
        Self { inputs: part(&self.inputs), outputs: part(&self.outputs) }
    }
}

impl NoisyLinear {
    /// Computes `[rows, outputs]` of `[rows, inputs]` in the precision of the input. Without noise, uses the mean
    /// weights. With `tasks`, the outputs are those of each row's task. Sets negative outputs to 0 if `rectify` is
    /// true.
    pub fn forward(
        &self,
        input: Tensor<2>,
        tasks: Option<&RowTasks>,
        noise: Option<&LayerNoise>,
        computation: Computation,
    ) -> Tensor<2> {
        let Some(noise) = noise else {
            return product(input, self.weight.val(), self.bias.val(), tasks, computation);
        };
        if noise.is_cheaper_on_weights(&input) {
            let (weight, bias) = self.with_noise(noise);
            return product(input, weight, bias, tasks, computation);
        }
        // The outer product is never formed: its factors are applied to both sides of the product.
        let [inputs, outputs] = [&noise.inputs, &noise.outputs].map(|noise| cast_like(noise.clone(), &input));
        let linear = Computation { rectify: false, ..computation.clone() };
        let mean = product(input.clone(), self.weight.val(), self.bias.val(), tasks, linear.clone());
        let sigma = product(input * inputs, self.weight_sigma.val(), self.bias_sigma.val(), tasks, linear);
        let output = mean + sigma * outputs;
        if computation.rectify { relu(output) } else { output }
    }

    /// Returns weight and bias with the same noise for all rows, on the CPU.
    fn with_noise(&self, noise: &LayerNoise) -> (Tensor<2>, Tensor<1>) {
        let LayerNoise { inputs, outputs } = noise;
        let weight =
            noisy_weight(self.weight.val(), self.weight_sigma.val(), inputs.clone(), outputs.clone());
        let row = |bias: &Param<Tensor<1>>| bias.val().unsqueeze_dim::<2>(0);
        let one = Tensor::ones([1, 1], &inputs.device());
        let bias = noisy_weight(row(&self.bias), row(&self.bias_sigma), one, outputs.clone());
        (weight, bias.squeeze_dim(0))
    }

    /// Draws noise for `rows` rows, or with `rows = 1` the same noise for any number of rows: normal values `x`,
    /// transformed to `sign(x) * sqrt(|x|)`. Each row uses only one of the `layers` layers side by side, so they share
    /// the noise.
    pub fn draw_noise(&self, rows: usize, layers: usize, rng: &mut impl Rng, device: &Device) -> LayerNoise {
        let [inputs, outputs] = self.weight.dims();
        let outputs = outputs / layers;
        let mut values = |count: usize| {
            let values: Vec<f32> = (0..rows * count)
                .map(|_| {
                    let value = standard_normal(rng);
                    (value.signum() * value.abs().sqrt()) as f32
                })
                .collect();
            Tensor::from_data(TensorData::new(values, [rows, count]), device)
        };
        LayerNoise { inputs: values(inputs), outputs: values(outputs) }
    }
}

/// Computes `[rows, outputs]` of `[rows, inputs]` in the precision of the input; with `tasks`, only the outputs of each
/// row's task. Sets negative outputs to 0 if `rectify` is true.
fn product(
    input: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    tasks: Option<&RowTasks>,
    computation: Computation,
) -> Tensor<2> {
    let Some(tasks) = tasks else { return affine(input, weight, Some(bias), computation) };
    let [_, outputs] = weight.dims();
    if outputs == tasks.num_tasks() {
        // burn's product with a single column sums in an order that depends on the number of rows.
        return tasks.pick(affine(input, weight, Some(bias), computation));
    }
    let (weight, bias) = (cast_like(weight, &input), cast_like(bias, &input));
    let output = tasks.group(&input).product(weight, bias);
    if computation.rectify { relu(output) } else { output }
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
    /// Creates `count` layers of `outputs` outputs side by side: noisy with initial scale `noisy_sigma` if given, else
    /// each orthogonal with `gain`.
    pub fn new(
        inputs: usize,
        [outputs, count]: [usize; 2],
        gain: f64,
        noisy_sigma: Option<f64>,
        initializer: &mut Initializer<'_>,
    ) -> Self {
        match noisy_sigma {
            Some(sigma) => Self::Noisy(initializer.noisy_linear(inputs, outputs * count, sigma)),
            None => Self::Plain(initializer.linears(inputs, outputs, count, gain)),
        }
    }

    /// Computes `[rows, outputs]` of `[rows, inputs]`. With `tasks`, computes only the outputs of the layer of each
    /// row's task, out of several layers side by side. Sets negative outputs to 0 if `rectify` is true.
    pub fn forward(
        &self,
        input: Tensor<2>,
        tasks: Option<&RowTasks>,
        noise: Option<&LayerNoise>,
        computation: Computation,
    ) -> Tensor<2> {
        match self {
            Self::Plain(Linear { weight, bias }) => {
                let bias = bias.as_ref().expect("the layer has a bias");
                product(input, weight.val(), bias.val(), tasks, computation)
            }
            Self::Noisy(linear) => linear.forward(input, tasks, noise, computation),
        }
    }

    /// Draws noise for `rows` rows, or with `rows = 1` the same noise for any number of rows. The `layers` layers side
    /// by side share it. Returns `None` for a plain layer.
    pub fn draw_noise(
        &self,
        rows: usize,
        layers: usize,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Option<LayerNoise> {
        match self {
            Self::Plain(_) => None,
            Self::Noisy(linear) => Some(linear.draw_noise(rows, layers, rng, device)),
        }
    }
}

impl Initializer<'_> {
    /// Creates a noisy fully connected layer as in its paper: weights and biases initialised as in PyTorch,
    /// the noise scale `sigma / sqrt(inputs)` everywhere.
    pub(crate) fn noisy_linear(&mut self, inputs: usize, outputs: usize, sigma: f64) -> NoisyLinear {
        let Linear { weight, bias } = self.uniform_linear(inputs, outputs);
        let scale = (sigma / (inputs as f64).sqrt()) as f32;
        NoisyLinear {
            weight,
            bias: bias.expect("the layer has a bias"),
            weight_sigma: Param::from_tensor(Tensor::full([inputs, outputs], scale, self.device)),
            bias_sigma: Param::from_tensor(Tensor::full([outputs], scale, self.device)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::Task;

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
        assert_eq!(host(layer.forward(input.clone(), None, None, Computation::default())), [17.0, 30.0]);
        // Noise (2, -1) of the inputs and (1, 3) of the outputs. The noise of the weights is 0.5 * 2 * 1 and
        // 1.5 * -1 * 1 in the first column, 1 * 2 * 3 and 2 * -1 * 3 in the second; that of the biases is 0.1
        // * 1 and 0.2 * 3.
        let noise = LayerNoise { inputs: tensor([2.0, -1.0], [1, 2]), outputs: tensor([1.0, 3.0], [1, 2]) };
        let expected = [17.0 + (1.0 - 3.0) + 0.1, 30.0 + (6.0 - 12.0) + 0.6];
        let outputs = host(layer.forward(input, None, Some(&noise), Computation::default()));
        assert!(outputs.iter().zip(expected).all(|(output, expected)| (output - expected).abs() < 1e-5));
    }

    #[test]
    fn every_row_has_its_own_noise() {
        let (layer, input) = (layer(), tensor([1.0, 2.0, 1.0, 2.0], [2, 2]));
        let host = |tensor: Tensor<2>| tensor.try_into_vec_as::<f32>().unwrap();
        let noise = layer.draw_noise(2, 1, &mut ChaCha8Rng::seed_from_u64(1), &Device::flex());
        let both = host(layer.forward(input.clone(), None, Some(&noise), Computation::default()));
        assert!(both[0] != both[2] && both[1] != both[3], "{both:?}");
        for row in 0..2 {
            let noise = noise.of_rows(row..row + 1);
            let alone = host(layer.forward(
                input.clone().narrow(0, row, 1),
                None,
                Some(&noise),
                Computation::default(),
            ));
            assert_eq!(alone, both[2 * row..2 * row + 2]);
        }
    }

    #[test]
    fn noise_on_weights_gives_the_outputs_and_gradients_of_two_products() {
        let device = Device::flex().autodiff();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        // Two layers of three outputs side by side.
        let layer = Initializer { rng: &mut rng, device: &device }.noisy_linear(5, 6, 0.5);
        let shared = layer.draw_noise(1, 2, &mut rng, &device);
        let of_rows = |noise: &Tensor<2>| noise.clone().repeat_dim(0, 4);
        let each = LayerNoise { inputs: of_rows(&shared.inputs), outputs: of_rows(&shared.outputs) };
        let values: Vec<f32> = (0..20).map(|_| standard_normal(&mut rng) as f32).collect();
        let input = Tensor::from_data(TensorData::new(values, [4, 5]), &device);
        let tasks: Vec<Task> = ["one", "two"].map(|name| Task::new(name, 3)).into();
        let rows = RowTasks::new([1, 0, 0, 1].into_iter(), &tasks, &device);
        let results = [&shared, &each].map(|noise| {
            let output = layer.forward(input.clone(), Some(&rows), Some(noise), Computation::default());
            let gradients = output.clone().square().sum().backward();
            let matrices = [&layer.weight, &layer.weight_sigma]
                .map(|parameter| parameter.val().grad(&gradients).unwrap());
            let vectors =
                [&layer.bias, &layer.bias_sigma].map(|parameter| parameter.val().grad(&gradients).unwrap());
            let all = matrices.map(|matrix| matrix.reshape([30])).into_iter().chain(vectors);
            let values: Vec<f32> = Tensor::cat(all.chain([output.inner().reshape([12])]).collect(), 0)
                .try_into_vec_as()
                .unwrap();
            values
        });
        assert!(shared.is_cheaper_on_weights(&input) && !each.is_cheaper_on_weights(&input));
        assert!(results[0].iter().all(|value| *value != 0.0), "{results:?}");
        let close = |(one, other): (&f32, &f32)| (one - other).abs() < 1e-5 * one.abs().max(1.0);
        assert!(results[0].iter().zip(&results[1]).all(close), "{results:?}");
    }

    #[test]
    fn rectified_outputs_have_zeros_in_place_of_negative_numbers() {
        let device = Device::flex();
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let layer = Initializer { rng: &mut rng, device: &device }.noisy_linear(5, 6, 0.5);
        let values: Vec<f32> = (0..20).map(|_| standard_normal(&mut rng) as f32).collect();
        let input = Tensor::from_data(TensorData::new(values, [4, 5]), &device);
        let tasks: Vec<Task> = ["one", "two"].map(|name| Task::new(name, 3)).into();
        let rows = RowTasks::new([1, 0, 0, 1].into_iter(), &tasks, &device);
        for (num_rows, tasks) in [(0, None), (1, None), (4, None), (0, Some(&rows)), (4, Some(&rows))] {
            let layers = if tasks.is_some() { 2 } else { 1 };
            let noise = (num_rows > 0).then(|| layer.draw_noise(num_rows, layers, &mut rng, &device));
            let output = |rectify: bool| -> Vec<f32> {
                layer
                    .forward(input.clone(), tasks, noise.as_ref(), Computation::plain(rectify))
                    .try_into_vec_as()
                    .unwrap()
            };
            let plain = output(false);
            assert!(plain.iter().any(|&value| value < 0.0));
            assert_eq!(output(true), plain.iter().map(|value| value.max(0.0)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn noise_is_the_signed_root_of_a_normal_value() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let device = Device::flex();
        let layer = Initializer { rng: &mut rng, device: &device }.noisy_linear(1000, 1000, 0.5);
        let noise = layer.draw_noise(1, 1, &mut rng, &device);
        let values: Vec<f32> = noise.inputs.try_into_vec_as().unwrap();
        let mean = |power: i32| values.iter().map(|value| value.powi(power)).sum::<f32>() / 1000.0;
        // Symmetric; squares are |x|, whose mean is sqrt(2 / pi) = 0.798 with a deviation of 0.603.
        assert!(mean(1).abs() < 5.0 * 0.893 / 1000f32.sqrt(), "{}", mean(1));
        assert!((mean(2) - 0.798).abs() < 5.0 * 0.603 / 1000f32.sqrt(), "{}", mean(2));
        let sigma: Vec<f32> = layer.weight_sigma.val().try_into_vec_as().unwrap();
        assert!(sigma.iter().all(|sigma| (sigma - 0.5 / 1000f32.sqrt()).abs() < 1e-7));
    }
}
