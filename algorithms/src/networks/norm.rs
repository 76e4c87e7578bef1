use burn::module::{Module, Param};
use burn::tensor::activation::relu;
use burn::tensor::module::layer_norm;
use burn::tensor::{DType, Device, Tensor};

/// What layer normalisation adds to a variance.
const EPSILON: f64 = 1e-5;

/// Layer normalisation of whole pictures, channels last, over all of their values, and then a rectifier.
#[derive(Module, Debug)]
pub(super) struct ImageNorm {
    /// `[height, width, channels]`.
    gamma: Param<Tensor<3>>,
    /// `[height, width, channels]`.
    beta: Param<Tensor<3>>,
}

impl ImageNorm {
    /// For pictures of `[height, width, channels]`.
    pub(super) fn new(image: [usize; 3], device: &Device) -> Self {
        Self {
            gamma: Param::from_tensor(Tensor::ones(image, device)),
            beta: Param::from_tensor(Tensor::zeros(image, device)),
        }
    }

    /// `[rows, height, width, channels]`, normalised in 32 bits and rectified.
    pub(super) fn forward(&self, maps: Tensor<4>) -> Tensor<4> {
        let shape = maps.dims();
        let flat = |parameter: &Param<Tensor<3>>| parameter.val().flatten::<1>(0, 2);
        let (precision, maps) = (maps.dtype(), maps.cast(DType::F32).flatten::<2>(1, 3));
        let normal = layer_norm(maps, flat(&self.gamma), Some(flat(&self.beta)), EPSILON);
        relu(normal).reshape(shape).cast(precision)
    }
}

/// What follows a fully connected layer: a rectifier or a hyperbolic tangent, if wanted after a layer normalisation.
#[derive(Module, Debug)]
pub(super) struct Activation {
    norm: Option<burn::nn::LayerNorm>,
    #[module(skip)]
    tanh: bool,
}

impl Activation {
    pub(super) fn new(width: usize, layer_norm: bool, tanh: bool, device: &Device) -> Self {
        let norm = || burn::nn::LayerNormConfig::new(width).with_epsilon(EPSILON).init(device);
        Self { norm: layer_norm.then(norm), tanh }
    }

    /// Of `[rows, width]`, of any precision, in 32 bits.
    pub(super) fn forward(&self, values: Tensor<2>) -> Tensor<2> {
        let values = values.cast(DType::F32);
        let values = match &self.norm {
            Some(norm) => norm.forward(values),
            None => values,
        };
        if self.tanh { values.tanh() } else { relu(values) }
    }
}
