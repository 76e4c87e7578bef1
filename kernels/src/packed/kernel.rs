//! The conversion of packed bytes on devices, written in `CubeCL`.

#![allow(
    clippy::used_underscore_binding,
    reason = "the macros of CubeCL read the types of values from arguments"
)]
#![allow(unsafe_code, reason = "launches without bounds checks, which the kernel makes itself")]

use burn::backend::{Cube, DType, Shape};
use burn::cubecl;
use burn::cubecl::calculate_cube_count_elemwise;
use burn::cubecl::prelude::*;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;

use super::unpack::{Planes, Unpack};

/// A thread converts the bytes of one pixel in `N` adjacent channels.
#[cube(launch_unchecked, address_type = "dynamic")]
fn unpack<N: Size>(words: &[i32], output: &mut [Vector<f32, N>], #[comptime] planes: Planes) {
    if ABSOLUTE_POS >= output.len() {
        terminate!();
    }
    let size = comptime!(vector(planes.channels));
    let depth = comptime!(planes.channels / size);
    let channel = ABSOLUTE_POS % depth * size;
    let rest = ABSOLUTE_POS / depth;
    let pixel = rest % comptime!(planes.pixels);
    let row = rest / comptime!(planes.pixels);
    let mut values = Vector::<f32, N>::new(0.0);
    #[unroll]
    for index in 0..size {
        let byte = (channel + index) * comptime!(planes.pixels) + pixel;
        let word = words[row * comptime!(planes.words) + byte / 4];
        let value = (word >> i32::cast_from(byte % 4 * 8)) & 255;
        values.insert(index, f32::cast_from(value) / 255.0);
    }
    output[ABSOLUTE_POS] = values;
}

/// Returns the number of channels that a thread converts.
fn vector(channels: usize) -> usize {
    [4, 2].into_iter().find(|size| channels.is_multiple_of(*size)).unwrap_or(1)
}

impl Unpack for Cube {
    fn unpack(words: CubeTensor, planes: Planes) -> CubeTensor {
        let words = into_contiguous(words);
        let [rows, _] = words.meta.shape().dims();
        let Planes { channels, pixels, .. } = planes;
        let shape = Shape::new([rows, pixels * channels]);
        let output =
            empty_device_contiguous_dtype(words.client.clone(), words.device.clone(), shape, DType::F32);
        let vector = vector(channels);
        let threads = rows * pixels * channels / vector;
        let dim = CubeDim::new(&output.client, threads);
        let count = calculate_cube_count_elemwise(&output.client, threads, dim);
        let address = words.required_address_type().max(output.required_address_type());
        // SAFETY: the kernel writes only to places below the length of the output, whose rows are those of the words.
        unsafe {
            unpack::launch_unchecked(
                &output.client,
                count,
                dim,
                address,
                vector,
                words.into_buffer_arg(),
                output.clone().into_buffer_arg(),
                planes,
            );
        }
        output
    }
}
