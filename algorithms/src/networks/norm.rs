use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Tensor};
use kernels::{layer_norm, tanh};

/// Layer normalisation over whole images with channels last, followed by a ReLU.
#[derive(Module, Debug)]
pub(super) struct ImageNorm {
    /// `[height, width, channels]`.
    gamma: Param<Tensor<3>>,
    /// `[height, width, channels]`.
    beta: Param<Tensor<3>>,
}

impl ImageNorm {
    /// Creates the normalisation of images of `[height, width, channels]`.
    pub(super) fn new(image: [usize; 3], device: &Device) -> Self {
        Self {
            gamma: Param::from_tensor(Tensor::ones(image, device)),
            beta: Param::from_tensor(Tensor::zeros(image, device)),
        }
    }

    /// Normalises `[rows, height, width, channels]` in `f32` and rectifies.
    pub(super) fn forward(&self, maps: Tensor<4>) -> Tensor<4> {
        let shape = maps.dims();
        let flat = |parameter: &Param<Tensor<3>>| parameter.val().flatten::<1>(0, 2);
        let (precision, maps) = (maps.dtype(), maps.cast(DType::F32).flatten::<2>(1, 3));
        layer_norm(maps, flat(&self.gamma), flat(&self.beta), true).reshape(shape).cast(precision)
    }
}

/// The activation of a fully connected layer: ReLU or tanh, optionally after layer normalisation.
#[derive(Module, Debug)]
pub(super) struct Activation {
    norm: Option<VectorNorm>,
    #[module(skip)]
    tanh: bool,
}

/// The parameters of a layer normalisation, `[width]` each.
#[derive(Module, Debug)]
struct VectorNorm {
    gamma: Param<Tensor<1>>,
    beta: Param<Tensor<1>>,
}

impl Activation {
    pub(super) fn new(width: usize, layer_norm: bool, tanh: bool, device: &Device) -> Self {
        let norm = || VectorNorm {
            gamma: Param::from_tensor(Tensor::ones([width], device)),
            beta: Param::from_tensor(Tensor::zeros([width], device)),
        };
        Self { norm: layer_norm.then(norm), tanh }
    }

    /// Applies the activation in `f32` to the outputs of a layer, `[rows, width]` of any precision. `layer` computes
    /// them, rectified if its argument is true.
    pub(super) fn after(&self, layer: impl FnOnce(bool) -> Tensor<2>) -> Tensor<2> {
        // A ReLU commutes with changes of the precision.
        let is_rectifier = self.norm.is_none() && !self.tanh;
        let values = layer(is_rectifier).cast(DType::F32);
        match &self.norm {
            Some(VectorNorm { gamma, beta }) => {
                let normal = layer_norm(values, gamma.val(), beta.val(), !self.tanh);
                if self.tanh { tanh(normal) } else { normal }
            }
            None if self.tanh => tanh(values),
            None => values,
        }
    }
}
