//! Adam over the parameters of a network.

mod step;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::{AdamConfig, AdamState, AdaptiveMomentumState, GradientsParams, Optimizer as _};
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::step::StepParams;
use crate::host::DeviceError;
use crate::host::to_host;
use crate::on_cpu;
use crate::sum_of_squares::sum_of_squares;

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;

/// Adam over all parameters of a network, with one scale for the whole gradient.
///
/// burn's gradient clipping treats each tensor separately, and its optimiser record identifies parameters by
/// random ids. This optimiser stores moments in the order of the layers, so that equal states have equal
/// bytes.
#[derive(Clone)]
pub struct AdamOptimizer {
    epsilon: f32,
    /// The state of each parameter, in the order of the layers; `None` before its first gradient.
    states: Vec<Option<State>>,
}

/// Adam state of one parameter, on the device of the parameter.
#[derive(Clone)]
enum State {
    /// On the CPU, for the fused step.
    Host(Moments),
    /// On another device, for burn's step.
    Device(Box<AdamState<1>>),
}

/// The moments are those of another network.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("the optimiser's moments do not fit the network")]
pub struct ForeignMoments;

/// Factor of a gradient.
pub enum GradientScale {
    /// Known to the host.
    Host(f32),
    /// `[1]`, without waiting for the device.
    Device(Box<Tensor<1>>),
}

/// Adam moments of one parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// The number of steps taken.
    pub time: u64,
    /// The mean of the gradients.
    pub first: Vec<f32>,
    /// The mean of their squares.
    pub second: Vec<f32>,
}

impl AdamOptimizer {
    /// Creates Adam with betas 0.9 and 0.999 and the given epsilon (Kingma and Ba 2015,
    /// <https://arxiv.org/abs/1412.6980>).
    pub fn new(epsilon: f32) -> Self {
        Self { epsilon, states: Vec::new() }
    }

    /// Takes one step against the gradients times `scale`.
    pub fn step<M: Module>(
        &mut self,
        module: M,
        gradients: &mut GradientsParams,
        learning_rate: f64,
        scale: GradientScale,
    ) -> M {
        let epsilon = self.epsilon;
        let mut mapper =
            AdamMapper { states: &mut self.states, gradients, epsilon, learning_rate, scale, index: 0 };
        module.map(&mut mapper)
    }

    /// Returns the moments of all parameters.
    pub fn moments(&self) -> Result<Vec<Option<Moments>>, DeviceError> {
        self.states.iter().map(|state| state.as_ref().map(State::moments).transpose()).collect()
    }

    /// Restores moments that [`moments`](Self::moments) returned, for a network whose parameters have the given
    /// `sizes`.
    pub fn load_moments(
        &mut self,
        moments: Vec<Option<Moments>>,
        sizes: &[usize],
        device: &Device,
    ) -> Result<(), ForeignMoments> {
        // There are no moments before the first step.
        let complete = moments.is_empty() || moments.len() == sizes.len();
        let mut pairs = moments.iter().zip(sizes);
        if !complete
            || !pairs.all(|(moments, &size)| moments.as_ref().is_none_or(|moments| moments.fit(size)))
        {
            return Err(ForeignMoments);
        }
        self.states = moments.into_iter().map(|moments| Some(State::new(moments?, device))).collect();
        Ok(())
    }
}

impl State {
    fn new(moments: Moments, device: &Device) -> Self {
        if on_cpu(device) {
            return Self::Host(moments);
        }
        let Moments { time, first, second } = moments;
        let [first, second] = [first, second].map(|values| {
            let shape = [values.len()];
            Tensor::from_data(TensorData::new(values, shape), device)
        });
        let moments = AdaptiveMomentumState::new(time as usize, first, second);
        Self::Device(Box::new(AdamState::new(moments)))
    }

    fn moments(&self) -> Result<Moments, DeviceError> {
        match self {
            Self::Host(moments) => Ok(moments.clone()),
            Self::Device(state) => {
                let AdaptiveMomentumState { time, moment_1, moment_2, .. } = &state.momentum;
                let (first, second) = (to_host(moment_1.clone())?, to_host(moment_2.clone())?);
                Ok(Moments { time: *time as u64, first, second })
            }
        }
    }
}

impl Moments {
    /// Returns true if these are the moments of a parameter with `size` elements.
    fn fit(&self, size: usize) -> bool {
        [self.first.len(), self.second.len()] == [size; 2]
    }

    /// Returns the moments before the first step.
    fn zero(size: usize) -> Self {
        Self { time: 0, first: vec![0.0; size], second: vec![0.0; size] }
    }
}

struct AdamMapper<'a> {
    states: &'a mut Vec<Option<State>>,
    gradients: &'a mut GradientsParams,
    epsilon: f32,
    learning_rate: f64,
    scale: GradientScale,
    /// Index of the next parameter.
    index: usize,
}

impl AdamMapper<'_> {
    /// Returns a weight and its state after a step.
    fn update(&self, state: State, weight: Tensor<1>, gradient: Tensor<1>) -> (Tensor<1>, State) {
        match state {
            State::Host(mut moments) => {
                let (gradient, scale) = match &self.scale {
                    GradientScale::Host(scale) => (gradient, *scale),
                    GradientScale::Device(_) => (self.scale.apply(gradient), 1.0),
                };
                let params = StepParams { learning_rate: self.learning_rate, epsilon: self.epsilon, scale };
                let weight = step::step(weight, gradient, &mut moments, params);
                (weight, State::Host(moments))
            }
            State::Device(state) => {
                let adam = AdamConfig::new().with_beta_1(BETA_1).with_beta_2(BETA_2);
                let adam = adam.with_epsilon(self.epsilon).build();
                let (weight, state) =
                    adam.step(self.learning_rate, weight, self.scale.apply(gradient), Some(*state));
                (weight, State::Device(Box::new(state.expect("Adam returns its state"))))
            }
        }
    }
}

impl ModuleMapper for AdamMapper<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if self.states.len() == self.index {
            self.states.push(None);
        }
        let index = self.index;
        self.index += 1;
        let Some(gradient) = self.gradients.remove::<D>(param.id) else {
            return param;
        };
        param.map(|weight| {
            let (shape, size) = (weight.dims(), weight.shape().num_elements());
            let (weight, gradient) = (weight.inner().reshape([size]), gradient.reshape([size]));
            let state = self.states[index].take();
            let state = state.unwrap_or_else(|| State::new(Moments::zero(size), &weight.device()));
            let (weight, state) = self.update(state, weight, gradient);
            self.states[index] = Some(state);
            Tensor::from_inner(weight.reshape(shape)).require_grad()
        })
    }
}

/// Returns the norm of the gradient of all parameters of `module` together, `[1]`: the root of the sum of all
/// squares.
pub fn global_norm(module: &impl Module, gradients: &GradientsParams) -> Tensor<1> {
    struct SumOfSquares<'a> {
        gradients: &'a GradientsParams,
        sums: Vec<Tensor<1>>,
    }
    impl ModuleVisitor for SumOfSquares<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.sums.extend(self.gradients.get::<D>(param.id).map(sum_of_squares));
        }
    }
    let mut visitor = SumOfSquares { gradients, sums: Vec::new() };
    module.visit(&mut visitor);
    Tensor::cat(visitor.sums, 0).sum().sqrt()
}

impl GradientScale {
    /// Scales a gradient, `[size]`.
    fn apply(&self, gradient: Tensor<1>) -> Tensor<1> {
        match self {
            Self::Host(scale) => gradient.mul_scalar(*scale),
            Self::Device(scale) => gradient * Tensor::clone(scale),
        }
    }
}

/// Returns the factor that clips a gradient of norm `norm` to `max_norm`, like
/// `torch.nn.utils.clip_grad_norm_`.
pub fn clip_scale(norm: f32, max_norm: f32) -> f32 {
    (max_norm / (norm + 1e-6)).min(1.0)
}

/// Like [`clip_scale`], for a norm that stays on its device.
pub fn clip_scale_on_device(norm: Tensor<1>, max_norm: f32) -> Tensor<1> {
    norm.add_scalar(1e-6).recip().mul_scalar(max_norm).clamp_max(1.0)
}

#[cfg(test)]
mod tests {
    use burn::nn::Linear;

    use super::*;

    fn device() -> Device {
        Device::flex().autodiff()
    }

    /// Returns a layer with two inputs and one output.
    fn layer(weight: [f32; 2], bias: f32) -> Linear {
        let device = device();
        Linear {
            weight: Param::from_data(TensorData::new(weight.to_vec(), [2, 1]), &device),
            bias: Some(Param::from_data(TensorData::new(vec![bias], [1]), &device)),
        }
    }

    /// Gradients of `3 * w0 + 4 * w1 + 12 * b`.
    fn gradients(layer: &Linear) -> GradientsParams {
        let factors = Tensor::<2>::from_floats([[3.0], [4.0]], &device());
        let bias = layer.bias.as_ref().unwrap().val();
        let loss = (layer.weight.val() * factors).sum() + bias.mul_scalar(12.0).sum();
        GradientsParams::from_grads(loss.backward(), layer)
    }

    fn parameters(layer: &Linear) -> [f32; 3] {
        let mut values: Vec<f32> = layer.weight.val().try_into_vec_as().unwrap();
        values.push(layer.bias.as_ref().unwrap().val().into_scalar());
        values.try_into().unwrap()
    }

    #[test]
    fn the_global_norm_covers_all_parameters() {
        let layer = layer([0.0, 0.0], 0.0);
        let norm: f32 = global_norm(&layer, &gradients(&layer)).into_scalar();
        assert_eq!(norm, 13.0);
        assert!((clip_scale(norm, 0.5) * norm - 0.5).abs() < 1e-6);
        assert_eq!(clip_scale(0.3, 0.5), 1.0);
        let on_device: Vec<f32> =
            clip_scale_on_device(Tensor::from_floats([norm, 0.3], &device()), 0.5).try_into_vec_as().unwrap();
        assert_eq!(on_device[1], 1.0);
        assert!((on_device[0] - clip_scale(norm, 0.5)).abs() < 1e-8);
    }

    /// Computes a step of Adam as in the paper, in `f64`.
    fn adam(gradients: &[f64], learning_rate: f64, epsilon: f64) -> f64 {
        let (mut weight, mut first, mut second) = (0.0, 0.0, 0.0);
        for (time, gradient) in (1..).zip(gradients) {
            first = 0.9 * first + 0.1 * gradient;
            second = 0.999 * second + 0.001 * gradient * gradient;
            let corrected = first / (1.0 - 0.9f64.powi(time));
            let variance: f64 = second / (1.0 - 0.999f64.powi(time));
            weight -= learning_rate * corrected / (variance.sqrt() + epsilon);
        }
        weight
    }

    #[test]
    fn steps_follow_the_paper_with_a_scaled_gradient() {
        let mut layer = layer([0.0, 0.0], 0.0);
        let mut optimizer = AdamOptimizer::new(1e-5);
        for scale in [1.0, 0.25, 0.5] {
            let mut gradients = gradients(&layer);
            layer = optimizer.step(layer, &mut gradients, 0.1, GradientScale::Host(scale));
        }
        for (weight, gradient) in parameters(&layer).into_iter().zip([3.0, 4.0, 12.0]) {
            let expected = adam(&[gradient, 0.25 * gradient, 0.5 * gradient], 0.1, 1e-5);
            assert!((f64::from(weight) - expected).abs() < 1e-6, "{weight} and {expected}");
        }
    }

    #[test]
    fn restored_moments_continue_bit_for_bit() {
        let mut first = layer([1.0, -2.0], 0.5);
        let mut optimizer = AdamOptimizer::new(1e-5);
        let mut gradients_of_first = gradients(&first);
        first = optimizer.step(first, &mut gradients_of_first, 0.1, GradientScale::Host(1.0));

        let [w0, w1, b] = parameters(&first);
        let mut second = layer([w0, w1], b);
        let mut restored = AdamOptimizer::new(1e-5);
        restored.load_moments(optimizer.moments().unwrap(), &[2, 1], &Device::flex()).unwrap();

        let (mut left, mut right) = (gradients(&first), gradients(&second));
        first = optimizer.step(first, &mut left, 0.1, GradientScale::Host(0.5));
        second = restored.step(second, &mut right, 0.1, GradientScale::Host(0.5));
        assert_eq!(parameters(&first).map(f32::to_bits), parameters(&second).map(f32::to_bits));
        assert_eq!(optimizer.moments(), restored.moments());
    }

    #[test]
    fn foreign_moments_are_errors() {
        let mut layer = layer([1.0, -2.0], 0.5);
        let mut optimizer = AdamOptimizer::new(1e-5);
        let mut gradients = gradients(&layer);
        layer = optimizer.step(layer, &mut gradients, 0.1, GradientScale::Host(1.0));
        assert_eq!(parameters(&layer).len(), 3);
        let moments = optimizer.moments().unwrap();
        for sizes in [&[2, 2][..], &[2], &[2, 1, 1]] {
            let refused = AdamOptimizer::new(1e-5).load_moments(moments.clone(), sizes, &Device::flex());
            assert!(matches!(refused, Err(ForeignMoments)));
        }
    }
}
