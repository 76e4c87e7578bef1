use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Tensor, TensorData};
use kernels::{Computation, PackedWeight, cast_like, fully_connected};

use super::convolutions::{Convolutions, DATA_EFFICIENT, NATURE, small};
use super::impala::Impala;
use super::init::standard_normal;
use super::norm::Activation;
use super::{Bf16Arithmetic, Initializer, ObservationLayout, PolicyConfig, Precision, RowTasks, TorsoKind};

/// The number by which an [`ObservationLayout`] divides bytes.
const BYTES: f32 = 255.0;

/// All layers of a network up to the last hidden one, and the game embedding, which is appended to their
/// features.
#[derive(Module, Debug)]
pub(super) struct Body {
    layers: Layers,
    /// `[tasks, values]`.
    embedding: Option<Param<Tensor<2>>>,
    /// Height, width and channels of the feature maps; features of vectors count as one pixel.
    #[module(skip)]
    feature_map: [usize; 3],
    #[module(skip)]
    input: [usize; 3],
    /// Precision of the layers for images.
    #[module(skip)]
    precision: Precision,
}

/// The layers that depend on the kind of observations.
#[derive(Module, Debug)]
#[expect(clippy::large_enum_variant, reason = "a network has one body and is moved a few times an update")]
enum Layers {
    Nature(Convolutions),
    DataEfficient(Convolutions),
    Small(Convolutions),
    Impala(Impala),
    Vector(Hidden),
}

/// A fully connected layer and its activation.
#[derive(Module, Debug)]
pub(super) struct Hidden {
    linear: Linear,
    activation: Activation,
    /// The arithmetic of products of 16-bit numbers on the CPU; `None` for 32 bits.
    #[module(skip)]
    arithmetic: Option<Bf16Arithmetic>,
    #[module(skip)]
    packed: PackedWeight,
}

impl Hidden {
    pub(super) fn new(linear: Linear, activation: Activation) -> Self {
        Self { linear, activation, arithmetic: None, packed: PackedWeight::default() }
    }

    /// Multiplies 16-bit numbers if `arithmetic` is given.
    #[must_use]
    pub(super) fn with_arithmetic(self, arithmetic: Option<Bf16Arithmetic>) -> Self {
        Self { arithmetic, ..self }
    }

    /// Maps `[rows, inputs]` to `[rows, outputs]`.
    pub(super) fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        self.activation.after(|rectify| {
            let packed = self.arithmetic.map(|_| self.packed.clone());
            let computation = Computation { packed, ..Computation::new(rectify, self.arithmetic) };
            fully_connected(&self.linear, input, computation)
        })
    }
}

/// The fully connected layers for vector observations.
#[derive(Clone, Copy, Debug)]
pub(super) struct VectorLayers {
    pub(super) width: usize,
    /// True for tanh, false for ReLU.
    pub(super) tanh: bool,
}

impl Body {
    /// Creates a body for observations of `layout` and `num_tasks` tasks.
    pub(super) fn new(
        layout: ObservationLayout,
        num_tasks: usize,
        config: &PolicyConfig,
        layer_norm: bool,
        vector: VectorLayers,
        initializer: &mut Initializer<'_>,
    ) -> Self {
        let (layers, input, feature_map) = match layout {
            ObservationLayout::Images { channels, height, width } => {
                let input = [height, width, channels];
                let (layers, feature_map) = match config.torso_for(layout) {
                    TorsoKind::Nature => {
                        let (layers, map) = Convolutions::new(NATURE, input, layer_norm, config, initializer);
                        (Layers::Nature(layers), map)
                    }
                    TorsoKind::DataEfficient => {
                        let (layers, map) =
                            Convolutions::new(DATA_EFFICIENT, input, layer_norm, config, initializer);
                        (Layers::DataEfficient(layers), map)
                    }
                    TorsoKind::Small => {
                        let (layers, map) =
                            Convolutions::new(small(height, width), input, layer_norm, config, initializer);
                        (Layers::Small(layers), map)
                    }
                    TorsoKind::Impala => {
                        let (impala, feature_map) = Impala::new(input, layer_norm, config, initializer);
                        (Layers::Impala(impala), feature_map)
                    }
                };
                (layers, input, feature_map)
            }
            ObservationLayout::Bytes { length } | ObservationLayout::Floats { length } => {
                let linear = initializer.linear(length, vector.width, 2f64.sqrt());
                let activation = Activation::new(vector.width, layer_norm, vector.tanh, initializer.device);
                (Layers::Vector(Hidden::new(linear, activation)), [1, 1, length], [1, 1, vector.width])
            }
        };
        let embedding = (config.game_embedding > 0).then(|| {
            let shape = [num_tasks, config.game_embedding];
            let values: Vec<f32> =
                (0..shape[0] * shape[1]).map(|_| standard_normal(initializer.rng) as f32).collect();
            Param::from_data(TensorData::new(values, shape), initializer.device)
        });
        Self {
            layers,
            embedding,
            feature_map,
            input,
            precision: config.precision.effective_on(initializer.device),
        }
    }

    /// Returns the number of features per row, including the embedding.
    pub(super) fn features(&self) -> usize {
        let embedding = self.embedding.as_ref().map_or(0, |embedding| embedding.dims()[1]);
        self.feature_map.iter().product::<usize>() + embedding
    }

    /// Returns height, width and channels of the feature maps, without the embedding.
    pub(super) fn feature_map(&self) -> [usize; 3] {
        self.feature_map
    }

    /// Computes features `[rows, features]` of observations `[rows, length]`; those of images have the
    /// configured precision.
    pub(super) fn forward(&self, observations: Tensor<2>, rows: &RowTasks) -> Tensor<2> {
        let [count, _] = observations.dims();
        let [height, width, channels] = self.input;
        let images =
            |flat: Tensor<2>| flat.cast(self.precision.dtype()).reshape([count, height, width, channels]);
        let features = match &self.layers {
            Layers::Nature(layers) | Layers::DataEfficient(layers) => {
                layers.forward(images(observations)).flatten(1, 3)
            }
            // Symbols are small numbers, which would vanish if they were divided by 255.
            Layers::Small(layers) => layers.forward(images(observations * BYTES)).flatten(1, 3),
            Layers::Impala(impala) => impala.forward(images(observations)).flatten(1, 3),
            Layers::Vector(hidden) => hidden.forward(observations),
        };
        match &self.embedding {
            Some(embedding) => {
                let embedding = cast_like(rows.embed(embedding.val()), &features);
                Tensor::cat(vec![features, embedding], 1)
            }
            None => features,
        }
    }
}
