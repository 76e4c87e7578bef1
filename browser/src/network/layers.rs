//! Layers with the names of PyTorch modules.

use super::products::products;
use super::weights::Weights;
use crate::error::FileError;

/// Added to variances by normalisations.
const EPSILON: f32 = 1e-5;

/// A fully connected layer. A noisy one has no noise.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    /// `[outputs, inputs]`.
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Linear {
    /// Reads a layer with this number of inputs.
    pub(super) fn read(weights: &Weights, name: &str, inputs: usize) -> Result<Self, FileError> {
        let is_noisy = weights.has(&format!("{name}.weight_mu"));
        let of = |part: &str| format!("{name}.{part}{}", if is_noisy { "_mu" } else { "" });
        Self::read_parts(weights, &of("weight"), &of("bias"), inputs)
    }

    /// Reads a layer whose tensors have these names.
    pub(super) fn read_parts(
        weights: &Weights,
        weight: &str,
        bias: &str,
        inputs: usize,
    ) -> Result<Self, FileError> {
        let ([outputs, found], values) = weights.get::<2>(weight)?;
        if found != inputs {
            return Err(FileError::Tensor(weight.to_owned()));
        }
        Ok(Self { weight: values.to_vec(), bias: weights.of_shape(bias, [outputs])?.to_vec() })
    }

    pub(super) fn outputs(&self) -> usize {
        self.bias.len()
    }

    pub(super) fn apply(&self, input: &[f32]) -> Vec<f32> {
        products(input, &self.weight, &self.bias, input.len())
    }
}

/// A ReLU, preceded by a layer normalisation over all values if there is one (Ba et al. 2016).
#[derive(Clone, Debug)]
pub(super) struct Rectifier {
    /// The weight and the bias of each value.
    norm: Option<(Vec<f32>, Vec<f32>)>,
}

impl Rectifier {
    /// Reads the normalisation of this name, if there is one, of a vector.
    pub(super) fn of_vector(weights: &Weights, name: &str, length: usize) -> Result<Self, FileError> {
        Self::read(weights, name, [length], <[f32]>::to_vec)
    }

    /// Reads the normalisation of this name, if there is one, of feature maps `[channels, height, width]`. `arrange`
    /// brings its values into the order of the maps.
    pub(super) fn read<const N: usize>(
        weights: &Weights,
        name: &str,
        shape: [usize; N],
        arrange: impl Fn(&[f32]) -> Vec<f32>,
    ) -> Result<Self, FileError> {
        if !Self::has_norm(weights, name) {
            return Ok(Self { norm: None });
        }
        let part = |part: &str| weights.of_shape(&format!("{name}.{part}"), shape).map(&arrange);
        Ok(Self { norm: Some((part("weight")?, part("bias")?)) })
    }

    /// Returns true if there is a normalisation of this name: it has a value for each channel or pixel.
    fn has_norm(weights: &Weights, name: &str) -> bool {
        weights.axes(&format!("{name}.weight")).is_some_and(|axes| [1, 3].contains(&axes))
    }

    /// Returns the number of modules of a sequence: the normalisation and the ReLU.
    pub(super) fn modules(&self) -> usize {
        if self.norm.is_some() { 2 } else { 1 }
    }

    pub(super) fn apply(&self, values: &mut [f32]) {
        if let Some((weight, bias)) = &self.norm {
            normalize(values, weight, bias);
        }
        for value in values {
            *value = value.max(0.0);
        }
    }
}

/// Subtracts the mean, divides by the standard deviation, multiplies by the weights and adds the biases.
fn normalize(values: &mut [f32], weight: &[f32], bias: &[f32]) {
    let count = values.len() as f64;
    let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / count;
    let variance = values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>() / count;
    let factor = (variance as f32 + EPSILON).sqrt().recip();
    for ((value, weight), bias) in values.iter_mut().zip(weight).zip(bias) {
        *value = (*value - mean as f32) * factor * weight + bias;
    }
}

/// A place in an `nn.Sequential`, whose indices count layers, normalisations, activations and the flattening of images.
pub(super) struct Sequence<'a> {
    weights: &'a Weights,
    name: &'a str,
    index: usize,
}

impl<'a> Sequence<'a> {
    pub(super) fn new(weights: &'a Weights, name: &'a str) -> Self {
        Self { weights, name, index: 0 }
    }

    pub(super) fn weights(&self) -> &'a Weights {
        self.weights
    }

    /// Returns the name of the module at the current place.
    pub(super) fn module(&self) -> String {
        format!("{}.{}", self.name, self.index)
    }

    /// Moves behind some modules.
    pub(super) fn skip(&mut self, modules: usize) {
        self.index += modules;
    }

    /// Reads a fully connected layer and what follows it, and moves behind them.
    pub(super) fn hidden(&mut self, inputs: usize) -> Result<Hidden, FileError> {
        let linear = Linear::read(self.weights, &self.module(), inputs)?;
        self.skip(1);
        let rectifier = Rectifier::of_vector(self.weights, &self.module(), linear.outputs())?;
        self.skip(rectifier.modules());
        Ok(Hidden { linear, rectifier })
    }

    /// Reads a fully connected layer without activation.
    pub(super) fn linear(&mut self, inputs: usize) -> Result<Linear, FileError> {
        Linear::read(self.weights, &self.module(), inputs)
    }
}

/// A fully connected layer and its activation.
#[derive(Clone, Debug)]
pub(super) struct Hidden {
    linear: Linear,
    rectifier: Rectifier,
}

impl Hidden {
    pub(super) fn outputs(&self) -> usize {
        self.linear.outputs()
    }

    pub(super) fn apply(&self, input: &[f32]) -> Vec<f32> {
        let mut values = self.linear.apply(input);
        self.rectifier.apply(&mut values);
        values
    }
}
