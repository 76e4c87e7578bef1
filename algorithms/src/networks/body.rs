use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Tensor, TensorData};
use kernels::{Computation, PackedWeight, cast_like, fully_connected};

use super::convolutions::{Convolutions, DATA_EFFICIENT, NATURE, small};
use super::impala::Impala;
use super::init::standard_normal;
use super::norm::Activation;
use super::{
    Bf16Arithmetic, ImageShape, Initializer, ObservationLayout, PolicyConfig, Precision, RowTasks, TorsoKind,
};

/// The number by which an [`ObservationLayout`] divides bytes.
const BYTES: f32 = 255.0;

/// All layers of a network up to the last hidden one, and the game embedding, which is appended to their
/// features.
#[derive(Module, Debug)]
pub(super) struct Body {
    /// Those of the first image, or of a vector.
    layers: Layers,
    /// Those of further images.
    further: Vec<Layers>,
    /// `[tasks, values]`.
    embedding: Option<Param<Tensor<2>>>,
    /// Height, width and channels of the first feature maps; features of vectors count as one pixel.
    #[module(skip)]
    feature_map: [usize; 3],
    /// The number of features of further images, and of floats beside images, which are features as they are.
    further_features: usize,
    /// Height, width and channels of each image; a vector counts as one pixel.
    #[module(skip)]
    inputs: Vec<[usize; 3]>,
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

impl Layers {
    /// Creates the layers for an image. Also returns the shape of their feature maps.
    fn for_image(
        image: ImageShape,
        layer_norm: bool,
        config: &PolicyConfig,
        initializer: &mut Initializer<'_>,
    ) -> (Self, [usize; 3]) {
        let ImageShape { channels, height, width } = image;
        let input = [height, width, channels];
        let mut convolutions = |kernels| Convolutions::new(kernels, input, layer_norm, config, initializer);
        let (layers, map) = match config.torso_for_image(image) {
            TorsoKind::Nature => wrapped(convolutions(NATURE), Self::Nature),
            TorsoKind::DataEfficient => wrapped(convolutions(DATA_EFFICIENT), Self::DataEfficient),
            TorsoKind::Small => wrapped(convolutions(small(height, width)), Self::Small),
            TorsoKind::Impala => wrapped(Impala::new(input, layer_norm, config, initializer), Self::Impala),
        };
        (layers, map)
    }

    /// Computes features `[rows, features]` of observations `[rows, length]`: images of the shape `input`, whose
    /// features have the given precision, or vectors.
    fn forward(
        &self,
        observations: Tensor<2>,
        [height, width, channels]: [usize; 3],
        precision: Precision,
    ) -> Tensor<2> {
        let [count, _] = observations.dims();
        let images = |flat: Tensor<2>| flat.cast(precision.dtype()).reshape([count, height, width, channels]);
        match self {
            Self::Nature(layers) | Self::DataEfficient(layers) => {
                layers.forward(images(observations)).flatten(1, 3)
            }
            // Symbols are small numbers, which would vanish if they were divided by 255.
            Self::Small(layers) => layers.forward(images(observations * BYTES)).flatten(1, 3),
            Self::Impala(impala) => impala.forward(images(observations)).flatten(1, 3),
            Self::Vector(hidden) => hidden.forward(observations),
        }
    }
}

/// Makes layers of some kind from convolutions, whose feature maps have the given shape.
fn wrapped<T>((layers, map): (T, [usize; 3]), kind: fn(T) -> Layers) -> (Layers, [usize; 3]) {
    (kind(layers), map)
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
        let images: Vec<ImageShape> = layout.images().collect();
        let mut branches =
            images.iter().map(|&image| Layers::for_image(image, layer_norm, config, initializer));
        let first = branches.next();
        let (further, maps): (Vec<Layers>, Vec<[usize; 3]>) = branches.unzip();
        let (layers, feature_map) = first.unwrap_or_else(|| {
            let linear = initializer.linear(layout.length(), vector.width, 2f64.sqrt());
            let activation = Activation::new(vector.width, layer_norm, vector.tanh, initializer.device);
            (Layers::Vector(Hidden::new(linear, activation)), [1, 1, vector.width])
        });
        let inputs: Vec<[usize; 3]> = match &images[..] {
            [] => vec![[1, 1, layout.length()]],
            images => images.iter().map(|image| [image.height, image.width, image.channels]).collect(),
        };
        let floats = layout.length() - inputs.iter().map(size).sum::<usize>();
        let embedding = (config.game_embedding > 0).then(|| {
            let shape = [num_tasks, config.game_embedding];
            let values: Vec<f32> =
                (0..shape[0] * shape[1]).map(|_| standard_normal(initializer.rng) as f32).collect();
            Param::from_data(TensorData::new(values, shape), initializer.device)
        });
        Self {
            layers,
            further,
            embedding,
            feature_map,
            further_features: maps.iter().map(size).sum::<usize>() + floats,
            inputs,
            precision: config.precision.effective_on(initializer.device),
        }
    }

    /// Returns the number of features per row, including the embedding.
    pub(super) fn features(&self) -> usize {
        let embedding = self.embedding.as_ref().map_or(0, |embedding| embedding.dims()[1]);
        size(&self.feature_map) + self.further_features + embedding
    }

    /// Computes the features of images, followed by the floats beside them.
    fn features_of_parts(&self, observations: &Tensor<2>) -> Tensor<2> {
        let [_, length] = observations.dims();
        let mut start = 0;
        let mut features = Vec::new();
        for (layers, input) in std::iter::once(&self.layers).chain(&self.further).zip(&self.inputs) {
            let images = observations.clone().narrow(1, start, size(input));
            features.push(layers.forward(images, *input, self.precision));
            start += size(input);
        }
        if start < length {
            features.push(cast_like(observations.clone().narrow(1, start, length - start), &features[0]));
        }
        Tensor::cat(features, 1)
    }

    /// Returns height, width and channels of the first feature maps, without the embedding.
    pub(super) fn feature_map(&self) -> [usize; 3] {
        self.feature_map
    }

    /// Computes features `[rows, features]` of observations `[rows, length]`; those of images have the
    /// configured precision.
    pub(super) fn forward(&self, observations: Tensor<2>, rows: &RowTasks) -> Tensor<2> {
        let features = if self.further_features == 0 {
            self.layers.forward(observations, self.inputs[0], self.precision)
        } else {
            self.features_of_parts(&observations)
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

/// Returns the number of values of a shape.
fn size(shape: &[usize; 3]) -> usize {
    shape.iter().product()
}
