//! `OpenCV`'s area resize (`INTER_AREA`), bit for bit.
//!
//! The arithmetic depends on the two scales, source size divided by target size:
//!
//! | scales                       | arithmetic                                              |
//! |------------------------------|---------------------------------------------------------|
//! | both 1                       | a copy                                                  |
//! | both integers                | [`blocks`]: the mean of a block of pixels               |
//! | both at least 1              | [`area`]: weighted sums in `f32`                        |
//! | one below 1                  | [`linear`]: two neighbours with 11-bit weights          |

mod area;
mod axis;
mod blocks;
mod linear;
mod rows;

use area::Area;
use axis::Axis;
use blocks::Blocks;
use linear::Linear;
pub(crate) use rows::{Rows, Sameness};

/// The height and width of an image in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) height: usize,
    pub(crate) width: usize,
}

/// Resizes images of one size to another. Clones share the tables.
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
    /// Returns a resizer from `source` to `target` for pixels of `channels` bytes.
    pub(crate) fn new(source: Size, target: Size, channels: usize) -> Self {
        let rows = Axis::new(source.height, target.height);
        let columns = Axis::new(source.width, target.width);
        let kernel = if source == target {
            Kernel::Copy { row_len: source.width * channels }
        } else if rows.scale < 1.0 || columns.scale < 1.0 {
            Kernel::Linear(Linear::new(&rows, &columns, channels))
        } else if let (Some(rows), Some(columns)) = (rows.integer_scale(), columns.integer_scale()) {
            Kernel::Blocks(Blocks::new(rows, columns, target.width, channels))
        } else {
            Kernel::Area(Area::new(&rows, &columns, channels))
        };
        Self { kernel }
    }

    /// Resizes an image. `previous` is the result for the previous image, if it is known: rows of the target may be
    /// copied from it.
    pub(crate) fn resize(&mut self, source: &mut impl Rows, previous: Option<&[u8]>, target: &mut [u8]) {
        match &mut self.kernel {
            Kernel::Copy { row_len } => copy(source, target, *row_len),
            Kernel::Blocks(blocks) => blocks.resize(source, target),
            Kernel::Area(area) => area.resize(source, previous, target),
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

#[cfg(test)]
mod tests;
