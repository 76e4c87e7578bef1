//! The fused convolution on devices: a product of matrices, with kernels for everything around it.

#![allow(unsafe_code, reason = "launches without bounds checks, which the kernels make themselves")]

use burn::backend::ops::FloatTensorOps;
use burn::backend::{Cube, Shape};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;

use super::extension::{FusedConv, FusedConvGradients, Results};
use super::geometry::{Geometry, Window};
use super::kernels;
use super::kernels::Sizes;
use crate::device::{
    Launch, bias_and_relu, empty_like, product, relu_backward, sum_of_rows, transposed_product, vector,
};
use crate::products::Computation;

impl FusedConv for Cube {
    fn fused_conv(
        input: CubeTensor,
        weight: CubeTensor,
        bias: CubeTensor,
        window: Window,
        computation: Computation,
    ) -> CubeTensor {
        Self::forward(input, weight, bias, window, computation).0
    }
}

impl FusedConvGradients for Cube {
    /// The values under each position of the kernel, `[positions, patch]`.
    type Saved = CubeTensor;

    fn forward(
        input: CubeTensor,
        weight: CubeTensor,
        bias: CubeTensor,
        window: Window,
        computation: Computation,
    ) -> (CubeTensor, CubeTensor) {
        let geometry = Geometry::new(input.meta.shape().dims(), weight.meta.shape().dims(), window);
        let patches = patches(into_contiguous(input), geometry);
        let weight = Self::float_reshape(weight, Shape::new([geometry.patch(), geometry.outputs]));
        let output = bias_and_relu(product(patches.clone(), weight), bias, computation.rectify);
        (Self::float_reshape(output, Shape::new(geometry.output_shape())), patches)
    }

    fn gradients(
        patches: CubeTensor,
        weight: CubeTensor,
        output: CubeTensor,
        gradient: CubeTensor,
        geometry: Geometry,
        computation: Computation,
        of_input: bool,
    ) -> Results<CubeTensor> {
        let [rows, patch] = patches.meta.shape().dims();
        let Geometry { kernel, inputs, outputs, .. } = geometry;
        let flat = |of_images: CubeTensor| Self::float_reshape(of_images, Shape::new([rows, outputs]));
        let gradient = flat(gradient);
        let gradient = if computation.rectify { relu_backward(gradient, flat(output)) } else { gradient };
        let of_weight = transposed_product(patches, gradient.clone());
        Results {
            weight: Self::float_reshape(of_weight, Shape::new([kernel, kernel, inputs, outputs])),
            bias: sum_of_rows(gradient.clone()),
            input: of_input.then(|| {
                let weight = Self::float_reshape(weight, Shape::new([patch, outputs]));
                patches_backward(product(gradient, Self::float_swap_dims(weight, 0, 1)), geometry)
            }),
        }
    }
}

/// Copies the values under each position of the kernel: `[positions, patch]`.
fn patches(images: CubeTensor, geometry: Geometry) -> CubeTensor {
    let Geometry { width, inputs, kernel, stride, padding, .. } = geometry;
    // Vectors may span pixels, unless zeros lie between them.
    let spans =
        if padding == 0 { vec![kernel * inputs, stride * inputs, width * inputs] } else { vec![inputs] };
    let sizes = sizes(geometry, vector(images.dtype, &spans));
    let rows = geometry.images * geometry.positions();
    let output = empty_like(&images, [rows, geometry.patch()]);
    let launch = Launch::new(&output, sizes.vector, &[&images, &output]);
    // SAFETY: the kernel writes only to places below the length of the output, and the geometry is that of the images.
    unsafe {
        kernels::patches::launch_unchecked(
            &output.client,
            launch.count,
            launch.dim,
            launch.address,
            sizes.vector,
            images.into_buffer_arg(),
            output.clone().into_buffer_arg(),
            padding,
            sizes,
            launch.dtype,
        );
    }
    output
}

/// Sums the gradients of patches `[positions, patch]` to those of images.
fn patches_backward(gradients: CubeTensor, geometry: Geometry) -> CubeTensor {
    let Geometry { images, height, width, inputs, .. } = geometry;
    let gradients = into_contiguous(gradients);
    let sizes = sizes(geometry, vector(gradients.dtype, &[inputs]));
    let output = empty_like(&gradients, [images, height, width, inputs]);
    let launch = Launch::new(&output, sizes.vector, &[&gradients, &output]);
    // SAFETY: the kernel writes only to places below the length of the output, and reads only positions that exist.
    unsafe {
        kernels::patches_backward::launch_unchecked(
            &output.client,
            launch.count,
            launch.dim,
            launch.address,
            sizes.vector,
            gradients.into_buffer_arg(),
            output.clone().into_buffer_arg(),
            sizes,
            launch.dtype,
        );
    }
    output
}

fn sizes(geometry: Geometry, vector: usize) -> Sizes {
    Sizes {
        height: geometry.height,
        width: geometry.width,
        channels: geometry.inputs,
        kernel: geometry.kernel,
        stride: geometry.stride,
        padding: geometry.padding,
        output_height: geometry.output_height(),
        output_width: geometry.output_width(),
        vector,
    }
}
