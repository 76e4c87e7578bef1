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

pub(super) mod area;
mod blocks;
mod linear;

use area::Area;
use blocks::Blocks;
use linear::Linear;

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
    Copy,
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
            Kernel::Copy
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
    pub(crate) fn resize(&mut self, source: &[u8], target: &mut [u8]) {
        match &mut self.kernel {
            Kernel::Copy => target.copy_from_slice(source),
            Kernel::Blocks(blocks) => blocks.resize(source, target),
            Kernel::Area(area) => area.resize(source, target),
            Kernel::Linear(linear) => linear.resize(source, target),
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
