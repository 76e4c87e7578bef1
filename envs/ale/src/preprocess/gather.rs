//! Sums along a row by vectors: which bytes of the row come into which lane.

use std::ops::Range;

/// A vector of 8 sums; each half of it is made from 16 neighbouring bytes.
pub(super) type Avx2Gather = Gather<8, 2, 16>;
/// A vector of 16 sums, made from 64 neighbouring bytes.
pub(super) type Avx512Gather = Gather<16, 1, 64>;

/// Lanes that all vectors' are divisors of.
pub(super) const MAX_LANES: usize = 16;

/// How to make a vector of weighted sums from a row of bytes. Each of the vector's parts has its window of the row, and for
/// every tap there are the bytes to take from the windows, and their weights.
#[derive(Clone, Debug)]
pub(super) struct Gather<const LANES: usize, const WINDOWS: usize, const WINDOW: usize> {
    /// Where the windows begin.
    pub(super) windows: [usize; WINDOWS],
    pub(super) taps: Vec<Tap<LANES>>,
}

/// One source element of each lane. Aligned so that each field is a vector where it stands.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Tap<const LANES: usize> {
    /// For each lane its byte's place in the window, and three [`NONE`](Self::NONE).
    pub(super) elements: [[u8; 4]; LANES],
    pub(super) weights: [f32; LANES],
}

impl<const LANES: usize> Tap<LANES> {
    /// No element: a byte shuffle of AVX2 makes it zero.
    const NONE: u8 = 0x80;
}

/// For every tap the source elements of the sums and their weights; where the weight is 0 the element does not matter.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    pub(super) sources: &'a [usize],
    pub(super) weights: &'a [f32],
    /// Sums of a row: elements of a tap.
    pub(super) sums: usize,
    /// Elements of a source row.
    pub(super) source_len: usize,
}

impl Elements<'_> {
    fn taps(&self) -> impl Iterator<Item = (&[usize], &[f32])> {
        self.sources.chunks_exact(self.sums).zip(self.weights.chunks_exact(self.sums))
    }

    /// Where a window of `len` bytes with all elements of the sums `lanes` begins.
    fn window(&self, lanes: &Range<usize>, len: usize) -> Option<usize> {
        let used = || {
            self.taps().flat_map(|(sources, weights)| {
                let lanes = sources[lanes.clone()].iter().zip(&weights[lanes.clone()]);
                lanes.filter(|(_, weight)| **weight != 0.0).map(|(source, _)| *source)
            })
        };
        let start = used().min().unwrap_or(0).min(self.source_len.checked_sub(len)?);
        used().all(|source| source - start < len).then_some(start)
    }
}

impl<const LANES: usize, const WINDOWS: usize, const WINDOW: usize> Gather<LANES, WINDOWS, WINDOW> {
    /// Bytes of a window.
    pub(super) const WINDOW: usize = WINDOW;

    /// The gathers of a row of sums; `None` if the elements of some part lie too far apart.
    pub(super) fn all(elements: Elements<'_>) -> Option<Box<[Self]>> {
        (0..elements.sums).step_by(LANES).map(|first| Self::new(elements, first)).collect()
    }

    fn new(elements: Elements<'_>, first: usize) -> Option<Self> {
        let part = LANES / WINDOWS;
        let mut windows = [0; WINDOWS];
        for (index, window) in windows.iter_mut().enumerate() {
            let lanes = first + index * part..first + (index + 1) * part;
            *window = elements.window(&lanes, WINDOW)?;
        }
        let tap = |(sources, weights): (&[usize], &[f32])| {
            let mut tap = Tap { elements: [[Tap::<LANES>::NONE; 4]; LANES], weights: [0.0; LANES] };
            for lane in 0..LANES {
                let (source, weight) = (sources[first + lane], weights[first + lane]);
                if weight != 0.0 {
                    tap.elements[lane][0] = (source - windows[lane / part]) as u8;
                    tap.weights[lane] = weight;
                }
            }
            tap
        };
        Some(Self { windows, taps: elements.taps().map(tap).collect() })
    }
}
