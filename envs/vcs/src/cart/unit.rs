//! Units: pieces of ROM that bank switching maps as a whole.

use std::ops::Range;

use super::{BANK, SLICE};

/// The largest piece of the image around the running code that is switched as a whole. While the program runs
/// in it, its contents are fixed, and the address alone tells what a plain read yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// The CPU address of the first byte.
    pub(crate) base: u16,
    /// The unit's part of the image: 1, 2 or 4 KB.
    pub(crate) image: Range<usize>,
    /// The unit's part of the 4 KB window.
    pub(crate) window: Range<u16>,
    /// The plain addresses of the whole window: those whose reads yield the mapped byte and have no side
    /// effect.
    pub(crate) plain: Range<u16>,
    /// The mapping of the other addresses of the window.
    pub(crate) mapping: Mapping,
}

/// The way to find the byte at an address of the window that is known at run time only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapping {
    /// The unit fills the window, repeatedly if it is smaller.
    Whole,
    /// The table of slices maps the address.
    Slices,
    /// A13 of the address selects the half of the image (robotank).
    ByA13,
}

impl Unit {
    /// Returns the offset in the image of a plain address of the unit.
    pub(crate) fn offset(&self, address: u16) -> Option<usize> {
        if address & 0x1000 == 0 {
            return None;
        }
        let offset = address & 0xFFF;
        match self.mapping {
            Mapping::ByA13 => Some(by_a13(address)),
            Mapping::Whole | Mapping::Slices => {
                let is_plain = self.plain.contains(&offset) && self.window.contains(&offset);
                is_plain
                    .then(|| self.image.start + usize::from(offset - self.window.start) % self.image.len())
            }
        }
    }

    /// Returns the byte that a read of `address` yields, if that is fixed and the read has no side effect.
    pub(crate) fn constant(&self, rom: &[u8], address: u16) -> Option<u8> {
        rom.get(self.offset(address)?).copied()
    }

    /// Returns [`Cartridge::code_index`](super::Cartridge::code_index) of an address while the unit remains mapped, or
    /// `None` if it depends on other units.
    pub(crate) fn code_index(&self, address: u16) -> Option<usize> {
        if address & 0x1000 == 0 {
            return None;
        }
        let offset = address & 0xFFF;
        match self.mapping {
            Mapping::Whole => Some(self.image.start + usize::from(offset)),
            Mapping::Slices => {
                self.window.contains(&offset).then(|| self.image.start * (BANK / SLICE) + usize::from(offset))
            }
            Mapping::ByA13 => Some(by_a13(address)),
        }
    }

    /// Returns the number of addresses, starting at the base, that belong to the unit.
    pub(crate) fn length(&self) -> u16 {
        self.window.end - self.window.start
    }
}

/// Returns the offset in the image of an address of an FE cartridge.
pub(crate) fn by_a13(address: u16) -> usize {
    let bank = if address & 0x2000 == 0 { 0x1000 } else { 0 };
    bank + usize::from(address) % 0x1000
}
