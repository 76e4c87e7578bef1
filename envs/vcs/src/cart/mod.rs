//! Cartridges: how a ROM image of up to 64 KB appears in the CPU's 4 KB window.

mod dpc;
mod scheme;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Mt19937;
use dpc::Dpc;
pub use scheme::Scheme;

/// Why a ROM image cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CartridgeError {
    /// The image has no bytes.
    #[error("the ROM image is empty")]
    Empty,
    /// No known cartridge has this size.
    #[error("no cartridge has {size} bytes; known sizes are 2048, 4096, 8192, 10240, 12288, 16384 and 32768")]
    UnknownSize {
        /// Length of the image in bytes.
        size: usize,
    },
    /// The image does not fit the scheme that was asked for.
    #[error("an image of {size} bytes cannot be a {scheme} cartridge, which has {expected}")]
    WrongSize {
        /// The scheme.
        scheme: Scheme,
        /// Length of the image in bytes.
        size: usize,
        /// The length that the scheme needs.
        expected: usize,
    },
}

/// Bytes in a slice, the unit of the window's map.
const SLICE: usize = 1024;

/// A cartridge: the image, which never changes, and the state of its electronics.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cartridge {
    /// Shared by all consoles that play the game; not part of a snapshot.
    #[serde(skip)]
    rom: Arc<[u8]>,
    scheme: Scheme,
    /// For each kilobyte of the window the offset of the slice that it shows.
    window: [u32; 4],
    /// First address and number of addresses within the window where reading yields the mapped byte and does nothing.
    plain: (u16, u16),
    /// Superchip RAM (F8SC, F6SC, F4SC); empty in other cartridges.
    ram: Vec<u8>,
    dpc: Option<Box<Dpc>>,
}

/// Bytes of RAM in a Superchip. It is written at $x000-$x07F and read at $x080-$x0FF.
const SUPERCHIP: usize = 128;

impl Cartridge {
    /// A cartridge of a known scheme.
    pub fn new(rom: Arc<[u8]>, scheme: Scheme) -> Result<Self, CartridgeError> {
        if rom.is_empty() {
            return Err(CartridgeError::Empty);
        }
        if !scheme.sizes().contains(&rom.len()) {
            return Err(CartridgeError::WrongSize { scheme, size: rom.len(), expected: scheme.sizes()[0] });
        }
        let ram = if scheme.has_superchip() { vec![0; SUPERCHIP] } else { Vec::new() };
        let dpc = (scheme == Scheme::Dpc).then(Box::default);
        let mut cartridge = Self { rom, scheme, window: [0; 4], plain: scheme.plain_reads(), ram, dpc };
        cartridge.select_start();
        Ok(cartridge)
    }

    /// A cartridge whose scheme is told from the image's size and contents.
    pub fn detect(rom: Arc<[u8]>) -> Result<Self, CartridgeError> {
        let scheme = Scheme::detect(&rom)?;
        Self::new(rom, scheme)
    }

    /// The bank switching scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The image.
    pub fn rom(&self) -> &Arc<[u8]> {
        &self.rom
    }

    /// Gives a cartridge that came out of a snapshot its image back.
    pub(crate) fn attach(&mut self, other: &Self) {
        self.rom = Arc::clone(&other.rom);
    }

    /// Whether a state that came out of a snapshot can be that of this cartridge: damaged ones are refused so that
    /// no later access can leave the image.
    pub(crate) fn accepts(&self, state: &Self) -> bool {
        state.scheme == self.scheme
            && state.plain == self.plain
            && state.ram.len() == self.ram.len()
            && state.dpc.is_some() == self.dpc.is_some()
            && state.window.iter().all(|&offset| offset as usize + SLICE <= self.rom.len())
    }

    /// What a console reset does: start banks, and new random contents of the Superchip.
    pub(crate) fn reset(&mut self, random: &mut Mt19937) {
        self.select_start();
        self.ram.fill_with(|| random.next_u32() as u8);
        if let Some(dpc) = &mut self.dpc {
            dpc.reset();
        }
    }

    /// Moves all times `cycles` back.
    pub(crate) fn rebase(&mut self, cycles: u32) {
        if let Some(dpc) = &mut self.dpc {
            dpc.rebase(cycles);
        }
    }

    /// Reads at a CPU address with A12 set. `now` is the time in CPU cycles.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Several for every instruction.
    pub(crate) fn read(&mut self, address: u16, now: u32) -> u8 {
        let (first, count) = self.plain;
        if (address & 0xFFF).wrapping_sub(first) < count {
            self.mapped(address)
        } else {
            self.read_odd(address, now)
        }
    }

    /// Reads where reading does something, or where there is no plain ROM.
    #[inline(never)]
    fn read_odd(&mut self, address: u16, now: u32) -> u8 {
        match self.scheme {
            Scheme::Rom2K | Scheme::Rom4K => self.mapped(address),
            Scheme::F8 | Scheme::F6 | Scheme::F4 => {
                self.hotspot(address);
                self.mapped(address)
            }
            Scheme::F8Sc | Scheme::F6Sc | Scheme::F4Sc => {
                self.hotspot(address);
                match address & 0xF80 {
                    0x080 => self.ram[usize::from(address) & 0x7F],
                    _ => self.mapped(address),
                }
            }
            Scheme::E0 => {
                self.parker_hotspot(address);
                self.mapped(address)
            }
            // A13 of the full CPU address chooses the bank; there is no state.
            Scheme::Fe => {
                let bank = if address & 0x2000 == 0 { 0x1000 } else { 0 };
                self.rom[bank | usize::from(address) & 0xFFF]
            }
            Scheme::Dpc => self.read_dpc(address, now),
        }
    }

    /// Reads without side effects, as a game's rules do (klax keeps its score in Superchip RAM).
    pub fn peek(&self, address: u16) -> u8 {
        let superchip_read_port = self.scheme.has_superchip() && address & 0xF80 == 0x080;
        match self.scheme {
            Scheme::Fe => {
                let bank = if address & 0x2000 == 0 { 0x1000 } else { 0 };
                self.rom[bank | usize::from(address) & 0xFFF]
            }
            _ if superchip_read_port => self.ram[usize::from(address) & 0x7F],
            _ => self.mapped(address),
        }
    }

    /// Writes at a CPU address with A12 set.
    pub(crate) fn write(&mut self, address: u16, value: u8) {
        match self.scheme {
            Scheme::Rom2K | Scheme::Rom4K | Scheme::Fe => {}
            Scheme::F8 | Scheme::F6 | Scheme::F4 => self.hotspot(address),
            Scheme::F8Sc | Scheme::F6Sc | Scheme::F4Sc => {
                self.hotspot(address);
                if address & 0xF80 == 0 {
                    self.ram[usize::from(address) & 0x7F] = value;
                }
            }
            Scheme::E0 => self.parker_hotspot(address),
            Scheme::Dpc => {
                let dpc = self.dpc.as_deref_mut().expect("a DPC cartridge has a DPC");
                dpc.write(address, value);
                self.hotspot(address);
            }
        }
    }

    fn read_dpc(&mut self, address: u16, now: u32) -> u8 {
        let dpc = self.dpc.as_deref_mut().expect("a DPC cartridge has a DPC");
        dpc.clock_if_selected(address);
        if address & 0xFFF < 0x040 {
            let display = &self.rom[dpc::DISPLAY_OFFSET..];
            return dpc.read(address, display, now);
        }
        self.hotspot(address);
        self.mapped(address)
    }

    #[inline]
    fn mapped(&self, address: u16) -> u8 {
        let address = usize::from(address) & 0xFFF;
        self.rom[self.window[address / SLICE] as usize + address % SLICE]
    }

    /// Switches a whole 4 KB bank when the address is one of the scheme's hotspots.
    #[inline]
    fn hotspot(&mut self, address: u16) {
        let (first, banks) = self.scheme.hotspots();
        let bank = (address & 0xFFF).wrapping_sub(first);
        if bank < banks {
            self.select(bank.into());
        }
    }

    fn select(&mut self, bank: usize) {
        for (slot, offset) in self.window.iter_mut().enumerate() {
            *offset = ((bank * 4 + slot) * SLICE) as u32;
        }
    }

    /// Parker Brothers' scheme: $xFE0-7 choose the slice of slot 0, $xFE8-F of slot 1, $xFF0-7 of slot 2.
    #[inline]
    fn parker_hotspot(&mut self, address: u16) {
        let hotspot = usize::from(address & 0xFFF).wrapping_sub(0xFE0);
        if hotspot < 0x18 {
            self.window[hotspot / 8] = (hotspot % 8 * SLICE) as u32;
        }
    }

    fn select_start(&mut self) {
        match self.scheme {
            Scheme::E0 => self.window = [4, 5, 6, 7].map(|slice| slice * SLICE as u32),
            Scheme::Rom2K => self.window = [0, 1, 0, 1].map(|slice| slice * SLICE as u32),
            _ => self.select(self.scheme.start_bank()),
        }
    }
}
