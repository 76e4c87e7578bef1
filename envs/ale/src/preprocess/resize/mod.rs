//! `OpenCV`'s area resize (`INTER_AREA`), bit for bit.
//!
//! Which arithmetic `OpenCV` uses depends on the two scales, source size by target size:
//!
//! | scales                       | arithmetic                                              |
//! |------------------------------|---------------------------------------------------------|
//! | both 1                       | a copy                                                  |
//! | both whole numbers           | [`blocks`]: the mean of a block of pixels               |
//! | both at least 1              | [`area`]: weighted sums in `f32`                        |
//! | one below 1                  | [`linear`]: two neighbours with 11-bit weights          |

mod area;
mod blocks;
mod gather;
mod linear;

use area::Area;
pub(super) use area::sum_columns;
use blocks::Blocks;
pub(super) use gather::{Halves, Whole};
use linear::Linear;

/// A picture that is made row by row while it is resized.
pub(crate) trait Rows {
    /// The pixels of a row; `None` if they are those of the row above it. Every row is asked for once, in order.
    fn row(&mut self, row: usize) -> Option<&[u8]>;
}

/// Height and width of a picture in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) height: usize,
    pub(crate) width: usize,
}

/// Resizes pictures of one size to another. Clones share the tables.
#[derive(Clone, Debug)]
pub(crate) struct Resizer {
    kernel: Kernel,
}

#[derive(Clone, Debug)]
enum Kernel {
    Copy { row_len: usize },
    Blocks(Blocks),
    Area(Area),
    Linear(Linear),
}

impl Resizer {
    /// A resizer from `source` to `target` for pixels of `channels` bytes.
    pub(crate) fn new(source: Size, target: Size, channels: usize) -> Self {
        let rows = Axis::new(source.height, target.height);
        let columns = Axis::new(source.width, target.width);
        let kernel = if source == target {
            Kernel::Copy { row_len: source.width * channels }
        } else if rows.scale < 1.0 || columns.scale < 1.0 {
            Kernel::Linear(Linear::new(&rows, &columns, channels))
        } else if let (Some(rows), Some(columns)) = (rows.whole_scale(), columns.whole_scale()) {
            Kernel::Blocks(Blocks::new(rows, columns, target.width, channels))
        } else {
            Kernel::Area(Area::new(&rows, &columns, channels))
        };
        Self { kernel }
    }

    /// Resizes a picture.
    pub(crate) fn resize(&mut self, source: &mut impl Rows, target: &mut [u8]) {
        match &mut self.kernel {
            Kernel::Copy { row_len } => copy(source, target, *row_len),
            Kernel::Blocks(blocks) => blocks.resize(source, target),
            Kernel::Area(area) => area.resize(source, target),
            Kernel::Linear(linear) => linear.resize(source, target),
        }
    }
}

fn copy(source: &mut impl Rows, target: &mut [u8], row_len: usize) {
    for row in 0..target.len() / row_len {
        let start = row * row_len;
        match source.row(row) {
            Some(pixels) => target[start..start + row_len].copy_from_slice(pixels),
            None => target.copy_within(start - row_len..start, start),
        }
    }
}

/// One direction of the resize.
struct Axis {
    source: usize,
    target: usize,
    /// Target pixels for each source pixel.
    inverse_scale: f64,
    /// Source pixels for each target pixel; `OpenCV` computes it by inverting the inverse.
    scale: f64,
}

impl Axis {
    fn new(source: usize, target: usize) -> Self {
        let inverse_scale = target as f64 / source as f64;
        Self { source, target, inverse_scale, scale: 1.0 / inverse_scale }
    }

    /// The scale, if it is a whole number as far as `OpenCV` can tell.
    fn whole_scale(&self) -> Option<usize> {
        let whole = self.scale.round_ties_even();
        ((self.scale - whole).abs() < f64::EPSILON).then_some(whole as usize)
    }
}

#[cfg(test)]
mod tests;
