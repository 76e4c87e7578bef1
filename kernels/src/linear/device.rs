//! The fused layer on devices.

use burn::backend::Cube;
use burn::backend::ops::FloatTensorOps;
use burn_cubecl::tensor::CubeTensor;

use super::extension::{Forward, FusedLinear, FusedLinearGradients, Results, Wanted};
use crate::device::{bias_and_relu, product, relu_backward, sum_of_rows, transposed_product};
use crate::products::Computation;

impl FusedLinear for Cube {
    fn fused_linear(
        input: CubeTensor,
        weight: CubeTensor,
        bias: CubeTensor,
        computation: Computation,
    ) -> CubeTensor {
        bias_and_relu(product(input, weight), bias, computation.rectify)
    }
}

impl FusedLinearGradients for Cube {
    fn gradients(forward: Forward<CubeTensor>, gradient: CubeTensor, wanted: Wanted) -> Results<CubeTensor> {
        let Forward { input, weight, output, computation } = forward;
        let gradient = if computation.rectify { relu_backward(gradient, output) } else { gradient };
        let parameters = wanted
            .parameters
            .then(|| (transposed_product(input, gradient.clone()), sum_of_rows(gradient.clone())));
        let input = wanted.input.then(|| product(gradient, Self::float_swap_dims(weight, 0, 1)));
        Results { input, parameters }
    }
}
