//! Layers with the names of PyTorch modules.

use algorithms::networks::NamedWeights;
use anyhow::{Context, Result};

use super::graph::{Graph, Value};
use super::messages::Attribute;

/// Added to variances by normalisations.
const EPSILON: f32 = 1e-5;

/// The function after a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    Relu,
    Tanh,
}

impl Activation {
    fn operator(self) -> &'static str {
        match self {
            Self::Relu => "Relu",
            Self::Tanh => "Tanh",
        }
    }
}

/// The parameters of a network by their names.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a>(pub(super) &'a [NamedWeights]);

impl<'a> Weights<'a> {
    pub(super) fn find(self, name: &str) -> Option<&'a NamedWeights> {
        self.0.iter().find(|weights| weights.name == name)
    }

    pub(super) fn get(self, name: &str) -> Result<&'a NamedWeights> {
        self.find(name).with_context(|| format!("the network has no parameter {name}"))
    }

    /// Adds a parameter to a graph.
    pub(super) fn constant(self, graph: &mut Graph, name: &str) -> Result<Value> {
        let NamedWeights { name, shape, values } = self.get(name)?;
        Ok(graph.floats(name, shape, values))
    }

    /// Returns the name of a layer's parameter: for a noisy layer, that of the mean.
    fn parameter(self, layer: &str, parameter: &str) -> String {
        let noisy = format!("{layer}.{parameter}_mu");
        if self.find(&noisy).is_some() { noisy } else { format!("{layer}.{parameter}") }
    }

    /// Applies a fully connected layer to `[rows, inputs]`. Noisy layers have no noise.
    pub(super) fn linear(self, graph: &mut Graph, layer: &str, input: &Value) -> Result<Value> {
        self.product(graph, input, ["weight", "bias"].map(|parameter| self.parameter(layer, parameter)))
    }

    /// Multiplies `[rows, inputs]` by a weight `[outputs, inputs]`, and adds a bias.
    pub(super) fn product(
        self,
        graph: &mut Graph,
        input: &Value,
        [weight, bias]: [String; 2],
    ) -> Result<Value> {
        let (weight, bias) = (self.constant(graph, &weight)?, self.constant(graph, &bias)?);
        Ok(graph.apply("Gemm", &[input, &weight, &bias], &[Attribute::of_int("transB", 1)]))
    }

    /// Applies a convolution to `[rows, channels, height, width]`.
    pub(super) fn convolution(
        self,
        graph: &mut Graph,
        layer: &str,
        input: &Value,
        stride: usize,
        padding: i64,
    ) -> Result<Value> {
        let mut inputs = vec![input.clone(), self.constant(graph, &format!("{layer}.weight"))?];
        let bias = format!("{layer}.bias");
        if self.find(&bias).is_some() {
            inputs.push(self.constant(graph, &bias)?);
        }
        let attributes =
            [Attribute::of_ints("strides", &[stride as i64; 2]), Attribute::of_ints("pads", &[padding; 4])];
        Ok(graph.apply("Conv", &inputs.iter().collect::<Vec<_>>(), &attributes))
    }

    /// Returns true if there is a normalisation of this name: it has a value for each channel or pixel.
    pub(super) fn is_norm(self, name: &str) -> bool {
        self.find(&format!("{name}.weight")).is_some_and(|weights| [1, 3].contains(&weights.shape.len()))
    }

    /// Applies the normalisation of this name to all axes but the first, if there is one, and then the activation.
    pub(super) fn activated(
        self,
        graph: &mut Graph,
        norm: &str,
        input: &Value,
        activation: Activation,
    ) -> Result<Value> {
        let mut value = input.clone();
        if self.is_norm(norm) {
            let (weight, bias) = (format!("{norm}.weight"), format!("{norm}.bias"));
            let (weight, bias) = (self.constant(graph, &weight)?, self.constant(graph, &bias)?);
            let attributes = [Attribute::of_int("axis", 1), Attribute::of_float("epsilon", EPSILON)];
            value = graph.apply("LayerNormalization", &[&value, &weight, &bias], &attributes);
        }
        Ok(graph.apply(activation.operator(), &[&value], &[]))
    }
}

/// A place in an `nn.Sequential`, whose indices count layers, normalisations, activations and the flattening of images.
pub(super) struct Sequence<'a> {
    pub(super) weights: Weights<'a>,
    pub(super) name: String,
    pub(super) index: usize,
}

impl Sequence<'_> {
    /// Returns the name of the module at the current place.
    pub(super) fn module(&self) -> String {
        format!("{}.{}", self.name, self.index)
    }

    /// Adds the normalisation, if there is one, and the activation at the current place, and moves behind them.
    pub(super) fn activated(
        &mut self,
        graph: &mut Graph,
        input: &Value,
        activation: Activation,
    ) -> Result<Value> {
        let norm = self.module();
        self.index += if self.weights.is_norm(&norm) { 2 } else { 1 };
        self.weights.activated(graph, &norm, input, activation)
    }

    /// Adds a fully connected layer, and what follows it, and moves behind them.
    pub(super) fn hidden(
        &mut self,
        graph: &mut Graph,
        input: &Value,
        activation: Activation,
    ) -> Result<Value> {
        let output = self.weights.linear(graph, &self.module(), input)?;
        self.index += 1;
        self.activated(graph, &output, activation)
    }

    /// Adds a convolution and what follows it, and moves behind them.
    pub(super) fn convolution(&mut self, graph: &mut Graph, input: &Value, stride: usize) -> Result<Value> {
        let output = self.weights.convolution(graph, &self.module(), input, stride, 0)?;
        self.index += 1;
        self.activated(graph, &output, Activation::Relu)
    }
}
