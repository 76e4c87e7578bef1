//! The layout of vectorised sums along a row: the source bytes and weights of each vector lane.

// Only x86-64 has code that follows the plan.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

use std::ops::Range;

/// A vector of 8 sums; each half is computed from 16 neighbouring bytes.
pub(super) type Avx2Gather = Gather<8, 2, 16>;
/// A vector of 16 sums, computed from 64 neighbouring bytes.
pub(super) type Avx512Gather = Gather<16, 1, 64>;

/// The number of lanes of the widest vector, a multiple of that of every other vector.
pub(super) const MAX_LANES: usize = 16;

/// The plan of one vector of weighted sums over a row of bytes. Each part of the vector reads from a window of the row;
/// each tap lists the bytes to take from the windows, and their weights.
#[derive(Clone, Debug)]
pub(super) struct Gather<const LANES: usize, const WINDOWS: usize, const WINDOW: usize> {
    /// The first byte of each window.
    pub(super) windows: [usize; WINDOWS],
    pub(super) taps: Vec<Tap<LANES>>,
}

/// One source element of each lane. Aligned so that each field can be loaded as a vector.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Tap<const LANES: usize> {
    /// For each lane the index of its byte in the window, then three [`NONE`](Self::NONE).
    pub(super) elements: [[u8; 4]; LANES],
    pub(super) weights: [f32; LANES],
}

impl<const LANES: usize> Tap<LANES> {
    /// An index that selects no element: a byte shuffle of AVX2 gives zero for it.
    const NONE: u8 = 0x80;

    /// Creates a tap from the source element and the weight of each lane.
    fn new<const WINDOWS: usize>(sources: &[usize], weights: &[f32], windows: [usize; WINDOWS]) -> Self {
        let mut tap = Self { elements: [[Self::NONE; 4]; LANES], weights: [0.0; LANES] };
        for (lane, (&source, &weight)) in sources.iter().zip(weights).enumerate() {
            if weight != 0.0 {
                tap.elements[lane][0] = (source - windows[lane / (LANES / WINDOWS)]) as u8;
                tap.weights[lane] = weight;
            }
        }
        tap
    }
}

/// For every tap the source elements of the sums and their weights. An element of weight 0 is ignored.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    pub(super) sources: &'a [usize],
    pub(super) weights: &'a [f32],
    /// The number of sums of a row, and of elements of a tap.
    pub(super) sums: usize,
    /// The number of elements of a source row.
    pub(super) source_len: usize,
}

impl Elements<'_> {
    fn taps(&self) -> impl Iterator<Item = (&[usize], &[f32])> {
        self.sources.chunks_exact(self.sums).zip(self.weights.chunks_exact(self.sums))
    }

    /// Returns the start of a window of `len` bytes that holds all elements of the sums `lanes`, if there is one.
    fn window(&self, lanes: &Range<usize>, len: usize) -> Option<usize> {
        let start = self.used_by(lanes).min().unwrap_or(0).min(self.source_len.checked_sub(len)?);
        self.used_by(lanes).all(|source| source - start < len).then_some(start)
    }

    /// Returns the elements of the sums `lanes` whose weight is not 0.
    fn used_by(&self, lanes: &Range<usize>) -> impl Iterator<Item = usize> {
        self.taps().flat_map(|(sources, weights)| {
            let elements = sources[lanes.clone()].iter().zip(&weights[lanes.clone()]);
            elements.filter(|(_, weight)| **weight != 0.0).map(|(source, _)| *source)
        })
    }
}

impl<const LANES: usize, const WINDOWS: usize, const WINDOW: usize> Gather<LANES, WINDOWS, WINDOW> {
    /// The length of a window in bytes.
    pub(super) const WINDOW: usize = WINDOW;

    /// Plans a row of sums. Returns `None` if the elements of some part lie too far apart for its window.
    pub(super) fn plan_row(elements: Elements<'_>) -> Option<Box<[Self]>> {
        (0..elements.sums).step_by(LANES).map(|first| Self::new(elements, first)).collect()
    }

    fn new(elements: Elements<'_>, first: usize) -> Option<Self> {
        let part = LANES / WINDOWS;
        let mut windows = [0; WINDOWS];
        for (index, window) in windows.iter_mut().enumerate() {
            let lanes = first + index * part..first + (index + 1) * part;
            *window = elements.window(&lanes, WINDOW)?;
        }
        let lanes = first..first + LANES;
        let taps = elements.taps();
        let taps = taps
            .map(|(sources, weights)| Tap::new(&sources[lanes.clone()], &weights[lanes.clone()], windows));
        Some(Self { windows, taps: taps.collect() })
    }
}
