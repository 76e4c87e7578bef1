//! Code that stays where it is: the largest piece of ROM that is switched as a whole.

use std::ops::Range;

/// A piece of the ROM image as the CPU sees it while it executes code there. What it holds never changes, and a
/// program that runs in it can tell from an address alone what a read of it yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// The CPU address of its first byte.
    pub(crate) base: u16,
    /// Its bytes: 1, 2 or 4 kilobytes of the image.
    pub(crate) image: Range<usize>,
    /// Addresses in the 4 KB window that it fills.
    pub(crate) window: Range<u16>,
    /// Addresses in the window where reading does nothing but yield the byte, in the cartridge as a whole.
    pub(crate) plain: Range<u16>,
    /// Where other reads of the window go.
    pub(crate) mapping: Mapping,
}

/// How the byte at an address of the window that is only known at run time is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapping {
    /// The unit fills the window, several times if it is small.
    Whole,
    /// Through the table of slices.
    Slices,
    /// A13 of the address chooses the half of the image (robotank).
    ByA13,
}

impl Unit {
    /// The offset in the image of a plain address of the unit.
    pub(crate) fn offset(&self, address: u16) -> Option<usize> {
        let place = address & 0xFFF;
        match self.mapping {
            Mapping::ByA13 => Some(by_a13(address)),
            Mapping::Whole | Mapping::Slices => {
                let within = self.plain.contains(&place) && self.window.contains(&place);
                within.then(|| self.image.start + usize::from(place - self.window.start) % self.image.len())
            }
        }
    }

    /// The byte that a read of `address` yields, if that is known beforehand and reading does nothing else.
    pub(crate) fn constant(&self, rom: &[u8], address: u16) -> Option<u8> {
        if address & 0x1000 == 0 {
            return None;
        }
        rom.get(self.offset(address)?).copied()
    }

    /// Addresses from the base on that belong to the unit.
    pub(crate) fn length(&self) -> u16 {
        self.window.end - self.window.start
    }
}

/// The offset in the image of an address of an FE cartridge.
pub(crate) fn by_a13(address: u16) -> usize {
    let bank = if address & 0x2000 == 0 { 0x1000 } else { 0 };
    bank + usize::from(address) % 0x1000
}
