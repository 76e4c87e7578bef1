//! The fused convolution on devices: a product of matrices, with kernels for everything around it.

#![allow(unsafe_code, reason = "launches without bounds checks, which the kernels make themselves")]

use burn::backend::ops::FloatTensorOps;
use burn::backend::{Cube, DType, Shape};
use burn::cubecl::calculate_cube_count_elemwise;
use burn::cubecl::ir::ElemType;
use burn::cubecl::prelude::*;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;

use super::extension::{FusedConv, FusedConvGradients, Results};
use super::geometry::{Geometry, Window};
use super::kernels;
use super::kernels::Sizes;

/// The largest number of bytes that a thread reads or writes at once.
const MAX_VECTOR_BYTES: usize = 16;

/// The largest number of parts into which the rows of a sum are divided.
const MAX_PARTS: usize = 128;

impl FusedConv for Cube {
    fn fused_conv(
        input: CubeTensor,
        weight: CubeTensor,
        bias: CubeTensor,
        window: Window,
        rectify: bool,
    ) -> CubeTensor {
        Self::forward(input, weight, bias, window, rectify).0
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
        rectify: bool,
    ) -> (CubeTensor, CubeTensor) {
        let geometry = Geometry::new(input.meta.shape().dims(), weight.meta.shape().dims(), window);
        let patches = patches(into_contiguous(input), geometry);
        let weight = Self::float_reshape(weight, Shape::new([geometry.patch(), geometry.outputs]));
        let output = into_contiguous(Self::float_matmul(patches.clone(), weight));
        let output = bias_and_relu(output, into_contiguous(bias), rectify);
        (Self::float_reshape(output, Shape::new(geometry.output_shape())), patches)
    }

    fn gradients(
        patches: CubeTensor,
        weight: CubeTensor,
        output: CubeTensor,
        gradient: CubeTensor,
        geometry: Geometry,
        rectify: bool,
        of_input: bool,
    ) -> Results<CubeTensor> {
        let [rows, _] = patches.meta.shape().dims();
        let Geometry { outputs, .. } = geometry;
        let gradient = into_contiguous(gradient);
        let gradient = if rectify { relu_backward(gradient, into_contiguous(output)) } else { gradient };

        // A single product or sum would compute each weight or bias in turn over all rows. Parts of them are computed
        // in parallel instead.
        let parts = (1..=MAX_PARTS).rev().find(|parts| rows.is_multiple_of(*parts)).unwrap_or(1);
        let part = |rows_of: CubeTensor, width| {
            Self::float_reshape(rows_of, Shape::new([parts, rows / parts, width]))
        };
        let sum = |of_parts| Self::float_sum_dim(of_parts, 0);
        let of_parts = part(gradient.clone(), outputs);
        let bias = Self::float_reshape(sum(Self::float_sum_dim(of_parts.clone(), 1)), Shape::new([outputs]));
        let transposed = Self::float_swap_dims(part(patches, geometry.patch()), 1, 2);
        let weight_gradient = sum(Self::float_matmul(transposed, of_parts));
        let weight_shape = Shape::new([geometry.kernel, geometry.kernel, geometry.inputs, outputs]);
        let weight_gradient = Self::float_reshape(weight_gradient, weight_shape);

        let input = of_input.then(|| {
            let gradient = Self::float_reshape(gradient, Shape::new([rows, outputs]));
            let weight = Self::float_reshape(weight, Shape::new([geometry.patch(), outputs]));
            let of_patches = Self::float_matmul(gradient, Self::float_swap_dims(weight, 0, 1));
            patches_backward(into_contiguous(of_patches), geometry)
        });
        Results { input, weight: weight_gradient, bias }
    }
}

/// Copies the values under each position of the kernel: `[positions, patch]`.
fn patches(images: CubeTensor, geometry: Geometry) -> CubeTensor {
    let Geometry { width, inputs, kernel, stride, padding, .. } = geometry;
    // Vectors may span pixels, unless zeros lie between them.
    let spans = if padding == 0 {
        vec![kernel * inputs, stride * inputs, width * inputs]
    } else {
        vec![inputs]
    };
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

/// Adds a bias `[columns]` to `[rows, columns]`, and sets negative sums to 0 if `rectify` is true.
fn bias_and_relu(rows: CubeTensor, bias: CubeTensor, rectify: bool) -> CubeTensor {
    let [count, columns] = rows.meta.shape().dims();
    let vector = vector(rows.dtype, &[columns]);
    let output = empty_like(&rows, [count, columns]);
    let launch = Launch::new(&output, vector, &[&rows, &output]);
    // SAFETY: the kernel accesses only places below the lengths of the rows and of the bias.
    unsafe {
        kernels::bias_and_relu::launch_unchecked(
            &output.client,
            launch.count,
            launch.dim,
            launch.address,
            vector,
            rows.into_buffer_arg(),
            bias.into_buffer_arg(),
            output.clone().into_buffer_arg(),
            rectify,
            launch.dtype,
        );
    }
    output
}

/// Sets the gradients of outputs that are not positive to 0.
fn relu_backward(gradients: CubeTensor, outputs: CubeTensor) -> CubeTensor {
    let shape: [usize; 4] = gradients.meta.shape().dims();
    let vector = vector(gradients.dtype, &[shape[3]]);
    let result = empty_like(&gradients, shape);
    let launch = Launch::new(&result, vector, &[&gradients, &result]);
    // SAFETY: the kernel accesses only places below the length of the result, which all three tensors have.
    unsafe {
        kernels::relu_backward::launch_unchecked(
            &result.client,
            launch.count,
            launch.dim,
            launch.address,
            vector,
            gradients.into_buffer_arg(),
            outputs.into_buffer_arg(),
            result.clone().into_buffer_arg(),
            launch.dtype,
        );
    }
    result
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

/// Returns the largest number of values that are a vector and divide all `spans`.
fn vector(dtype: DType, spans: &[usize]) -> usize {
    let sizes = [8, 4, 2].into_iter().filter(|size| size * dtype.size() <= MAX_VECTOR_BYTES);
    sizes.into_iter().find(|size| spans.iter().all(|span| span.is_multiple_of(*size))).unwrap_or(1)
}

/// Returns a contiguous tensor of unspecified values with the format of `tensor`.
fn empty_like<const D: usize>(tensor: &CubeTensor, shape: [usize; D]) -> CubeTensor {
    empty_device_contiguous_dtype(
        tensor.client.clone(),
        tensor.device.clone(),
        Shape::new(shape),
        tensor.dtype,
    )
}

/// The arguments of a launch with a thread for each vector of the output.
struct Launch {
    count: CubeCount,
    dim: CubeDim,
    address: AddressType,
    dtype: ElemType,
}

impl Launch {
    /// Prepares a launch for an output. `tensors` are those that the kernel indexes.
    fn new(output: &CubeTensor, vector: usize, tensors: &[&CubeTensor]) -> Self {
        let threads = output.meta.num_elements() / vector;
        let dim = CubeDim::new(&output.client, threads);
        Self {
            count: calculate_cube_count_elemwise(&output.client, threads, dim),
            dim,
            address: tensors.iter().map(|tensor| tensor.required_address_type()).max().unwrap_or_default(),
            dtype: burn::backend::cubecl::dtype_to_storage_type(output.dtype),
        }
    }
}
