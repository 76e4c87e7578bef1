//! The passes over the rows of a batch.
//!
//! Rows are split into parts whose size never depends on the number of threads, and sums over parts are computed in
//! order. Results are therefore bit-identical on any number of threads.

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use super::EPSILON;

/// Number of rows that one task normalises.
const PART_ROWS: usize = 16;

/// Number of sums that are computed side by side, so that the compiler can vectorise them.
const LANES: usize = 32;

/// The moments of the rows of a batch.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    /// The mean of each row.
    means: Vec<f32>,
    /// The inverse standard deviation of each row.
    scales: Vec<f32>,
}

/// Normalises the rows of `values`, `[rows, width]`. Also returns their moments.
pub(super) fn forward(values: &[f32], gamma: &[f32], beta: &[f32], rectify: bool) -> (Vec<f32>, Moments) {
    let width = gamma.len();
    let rows = values.len() / width;
    let (mut output, mut means, mut scales) = (vec![0.0; values.len()], vec![0.0; rows], vec![0.0; rows]);
    let least = if rectify { 0.0 } else { f32::NEG_INFINITY };
    let inputs = values.par_chunks(PART_ROWS * width).zip(output.par_chunks_mut(PART_ROWS * width));
    let moments = means.par_chunks_mut(PART_ROWS).zip(scales.par_chunks_mut(PART_ROWS));
    inputs.zip(moments).for_each(|((values, output), (means, scales))| {
        Arch::new().dispatch(ForwardPart { values, gamma, beta, least, output, means, scales });
    });
    (output, Moments { means, scales })
}

/// Some rows of a forward pass.
struct ForwardPart<'a> {
    values: &'a [f32],
    gamma: &'a [f32],
    beta: &'a [f32],
    /// The smallest possible output.
    least: f32,
    output: &'a mut [f32],
    means: &'a mut [f32],
    scales: &'a mut [f32],
}

impl NullaryFnOnce for ForwardPart<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { values, gamma, beta, least, output, means, scales } = self;
        let rows = values.chunks_exact(gamma.len()).zip(output.chunks_exact_mut(gamma.len()));
        for ((values, output), (mean, scale)) in rows.zip(means.iter_mut().zip(scales)) {
            (*mean, *scale) = mean_and_scale(values);
            for (((output, value), gamma), beta) in output.iter_mut().zip(values).zip(gamma).zip(beta) {
                let normalised = (value - *mean) * *scale * gamma + beta;
                // Unlike `max`, this propagates NaN.
                *output = if normalised < least { least } else { normalised };
            }
        }
    }
}

/// Returns the mean and the inverse standard deviation of a row.
#[inline(always)]
fn mean_and_scale(values: &[f32]) -> (f32, f32) {
    let count = values.len() as f32;
    let mean = sum(values, values, |value, _| value) / count;
    let variance = sum(values, values, |value, _| (value - mean) * (value - mean)) / count;
    (mean, (variance + EPSILON as f32).sqrt().recip())
}

/// Returns the sum of `term` over pairs, in an order that depends only on their number.
#[inline(always)]
fn sum(left: &[f32], right: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let (lefts, rights) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
    let rest = lefts.remainder().iter().zip(rights.remainder());
    for (left, right) in lefts.zip(rights) {
        for lane in 0..LANES {
            sums[lane] += term(left[lane], right[lane]);
        }
    }
    sums.iter().sum::<f32>() + rest.map(|(left, right)| term(*left, *right)).sum::<f32>()
}

/// The tensors of a forward pass, and the gradient of its output, `[rows, width]`.
#[derive(Clone, Copy)]
pub(super) struct Backward<'a> {
    pub(super) values: &'a [f32],
    pub(super) gamma: &'a [f32],
    pub(super) moments: &'a Moments,
    /// The result of the forward pass.
    pub(super) output: &'a [f32],
    pub(super) gradient: &'a [f32],
    /// True if the forward pass rectified.
    pub(super) rectified: bool,
}

/// The gradients of a backward pass.
pub(super) struct Gradients {
    /// `[rows, width]`.
    pub(super) values: Vec<f32>,
    /// `[width]`.
    pub(super) gamma: Vec<f32>,
    /// `[width]`.
    pub(super) beta: Vec<f32>,
}

impl Backward<'_> {
    /// Computes all gradients.
    pub(super) fn run(self) -> Gradients {
        let width = self.gamma.len();
        let mut values = vec![0.0; self.values.len()];
        let parts: Vec<[Vec<f32>; 2]> = values
            .par_chunks_mut(PART_ROWS * width)
            .enumerate()
            .map(|(part, result)| {
                let first = part * PART_ROWS;
                Arch::new().dispatch(BackwardPart { pass: self, first, result })
            })
            .collect();
        let [mut gamma, mut beta] = [vec![0.0; width], vec![0.0; width]];
        for [of_gamma, of_beta] in &parts {
            add(&mut gamma, of_gamma);
            add(&mut beta, of_beta);
        }
        Gradients { values, gamma, beta }
    }
}

/// Some rows of a backward pass: as many as `result` has room for, starting at `first`.
struct BackwardPart<'a> {
    pass: Backward<'a>,
    first: usize,
    /// The gradients of the values.
    result: &'a mut [f32],
}

impl NullaryFnOnce for BackwardPart<'_> {
    /// The gradients of `gamma` and `beta`.
    type Output = [Vec<f32>; 2];

    #[inline(always)]
    fn call(self) -> [Vec<f32>; 2] {
        let Self { pass: Backward { values, gamma, moments, output, gradient, rectified }, first, result } =
            self;
        let width = gamma.len();
        let [mut of_gamma, mut of_beta] = [vec![0.0; width], vec![0.0; width]];
        // The normalised row, and its gradient.
        let [mut normal, mut of_normal] = [vec![0.0; width], vec![0.0; width]];
        for (index, result) in (first..).zip(result.chunks_exact_mut(width)) {
            let of_row = index * width..(index + 1) * width;
            let (mean, scale) = (moments.means[index], moments.scales[index]);
            let [values, output, gradient] =
                [values, output, gradient].map(|of_rows| &of_rows[of_row.clone()]);
            for column in 0..width {
                let passed = !rectified || output[column] > 0.0;
                let gradient = if passed { gradient[column] } else { 0.0 };
                normal[column] = (values[column] - mean) * scale;
                of_gamma[column] += gradient * normal[column];
                of_beta[column] += gradient;
                of_normal[column] = gradient * gamma[column];
            }
            let count = width as f32;
            let shift = sum(&of_normal, &normal, |gradient, _| gradient) / count;
            let slope = sum(&of_normal, &normal, |gradient, value| gradient * value) / count;
            for ((result, of_normal), normal) in result.iter_mut().zip(&of_normal).zip(&normal) {
                *result = scale * (of_normal - shift - normal * slope);
            }
        }
        [of_gamma, of_beta]
    }
}

fn add(sums: &mut [f32], values: &[f32]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}
