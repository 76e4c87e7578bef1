//! Operations that layers share on devices: products of matrices, sums, biases and ReLU.

#![allow(unsafe_code, reason = "launches without bounds checks, which the kernels make themselves")]

mod kernels;

use burn::backend::cubecl::dtype_to_storage_type;
use burn::backend::ops::FloatTensorOps;
use burn::backend::{Cube, DType, Shape};
use burn::cubecl::calculate_cube_count_elemwise;
use burn::cubecl::ir::ElemType;
use burn::cubecl::prelude::*;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::kernel::matmul::init_matmul_output;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
use cubek::matmul::launch::launch_ref;
use cubek::matmul::multi_level::Strategy;
use cubek::matmul::multi_level::components::tile::TileMatmulKind;
use cubek::matmul::multi_level::routines::batch::ordered_double_buffering::OrderedSelectionArgs;
use cubek::matmul::routine::BlueprintStrategy;
use cubek::std::InputBinding;

/// The largest number of bytes that a thread reads or writes at once.
const MAX_VECTOR_BYTES: usize = 16;

/// The largest number of rows that one thread adds. burn's kernels read the rows of a sum one after the other, at 190
/// ns per row on an H100.
const MAX_ROWS: usize = 256;

/// The largest number of parts into which the rows of a transposed product are divided, the fewest rows of a part, and
/// the largest number of values of all parts.
const MAX_PARTS: usize = 128;
const MIN_ROWS: usize = 1024;
const MAX_VALUES: usize = 1 << 21;

/// Multiplies two matrices, or matrices one by one.
///
/// burn's choice without autotuning is a simple kernel. In 16 bits, double buffering is up to four times as fast on an
/// H100 for the sizes of the layers here. Devices that do not support it use burn's choice, as do products in 32 bits.
pub(super) fn product(left: CubeTensor, right: CubeTensor) -> CubeTensor {
    double_buffered(&left, &right).unwrap_or_else(|| Cube::float_matmul(left, right))
}

/// Multiplies 16-bit matrices with double buffering. Returns `None` if the device or the format does not support it.
fn double_buffered(left: &CubeTensor, right: &CubeTensor) -> Option<CubeTensor> {
    if left.dtype == DType::F32 {
        return None;
    }
    let strategy = Strategy::OrderedDoubleCmma(BlueprintStrategy::Inferred(OrderedSelectionArgs {
        tile_matmul: TileMatmulKind::Cmma,
        partition_k: Some(2),
        row_count: Some(8),
        rows_per_plane: Some(2),
    }));
    let element = dtype_to_storage_type(left.dtype);
    let input = |tensor: &CubeTensor| InputBinding::new(tensor.clone().binding(), element);
    let mut elements =
        MatmulElems::from_globals(&MatmulGlobalElems { lhs: element, rhs: element, out: element });
    let output = init_matmul_output(left, right, left.dtype);
    let result = launch_ref(
        &strategy.into(),
        &left.client,
        input(left),
        input(right),
        output.clone().binding(),
        &mut elements,
    );
    result.ok().map(|()| output)
}

/// Multiplies the transpose of `[rows, inputs]` with `[rows, outputs]`, which gives `[inputs, outputs]`.
///
/// A single product would add all rows in turn. If there are many rows and few results, parts of the rows are added in
/// parallel instead.
pub(super) fn transposed_product(left: CubeTensor, right: CubeTensor) -> CubeTensor {
    let [rows, inputs] = left.meta.shape().dims();
    let [_, outputs] = right.meta.shape().dims();
    let limit = MAX_PARTS.min(rows / MIN_ROWS).min(MAX_VALUES / (inputs * outputs).max(1));
    let parts = divisor(rows, limit);
    if parts == 1 {
        return product(Cube::float_swap_dims(left, 0, 1), right);
    }
    let part = |tensor, columns| Cube::float_reshape(tensor, Shape::new([parts, rows / parts, columns]));
    let left = Cube::float_swap_dims(part(left, inputs), 1, 2);
    let sum = Cube::float_sum_dim(product(left, part(right, outputs)), 0);
    Cube::float_reshape(sum, Shape::new([inputs, outputs]))
}

/// Sums `[rows, columns]` to `[columns]`: first a few rows at a time, then those sums.
pub(super) fn sum_of_rows(rows: CubeTensor) -> CubeTensor {
    let [count, columns] = rows.meta.shape().dims();
    let step = divisor(count, MAX_ROWS);
    if step == count || step == 1 {
        return Cube::float_reshape(Cube::float_sum_dim(rows, 0), Shape::new([columns]));
    }
    let steps = Cube::float_reshape(rows, Shape::new([count / step, step, columns]));
    let sums = Cube::float_sum_dim(steps, 1);
    sum_of_rows(Cube::float_reshape(sums, Shape::new([count / step, columns])))
}

/// Returns the largest divisor of `count` up to `limit`.
fn divisor(count: usize, limit: usize) -> usize {
    (1..=limit.min(count)).rev().find(|divisor| count.is_multiple_of(*divisor)).unwrap_or(1)
}

/// Adds a bias `[columns]` to `[rows, columns]`, and sets negative sums to 0 if `rectify` is true.
pub(super) fn bias_and_relu(rows: CubeTensor, bias: CubeTensor, rectify: bool) -> CubeTensor {
    let (rows, bias) = (into_contiguous(rows), into_contiguous(bias));
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
pub(super) fn relu_backward(gradients: CubeTensor, outputs: CubeTensor) -> CubeTensor {
    let (gradients, outputs) = (into_contiguous(gradients), into_contiguous(outputs));
    let shape: [usize; 2] = gradients.meta.shape().dims();
    let vector = vector(gradients.dtype, &[shape[1]]);
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

/// Returns the largest number of values that are a vector and divide all `spans`.
pub(super) fn vector(dtype: DType, spans: &[usize]) -> usize {
    let sizes = [8, 4, 2].into_iter().filter(|size| size * dtype.size() <= MAX_VECTOR_BYTES);
    sizes.into_iter().find(|size| spans.iter().all(|span| span.is_multiple_of(*size))).unwrap_or(1)
}

/// Returns a contiguous tensor of unspecified values with the format of `tensor`.
pub(super) fn empty_like<const D: usize>(tensor: &CubeTensor, shape: [usize; D]) -> CubeTensor {
    empty_device_contiguous_dtype(
        tensor.client.clone(),
        tensor.device.clone(),
        Shape::new(shape),
        tensor.dtype,
    )
}

/// The arguments of a launch with a thread for each vector of the output.
pub(super) struct Launch {
    pub(super) count: CubeCount,
    pub(super) dim: CubeDim,
    pub(super) address: AddressType,
    pub(super) dtype: ElemType,
}

impl Launch {
    /// Prepares a launch for an output. `tensors` are those that the kernel indexes.
    pub(super) fn new(output: &CubeTensor, vector: usize, tensors: &[&CubeTensor]) -> Self {
        let threads = output.meta.num_elements() / vector;
        let dim = CubeDim::new(&output.client, threads);
        Self {
            count: calculate_cube_count_elemwise(&output.client, threads, dim),
            dim,
            address: tensors.iter().map(|tensor| tensor.required_address_type()).max().unwrap_or_default(),
            dtype: dtype_to_storage_type(output.dtype),
        }
    }
}
