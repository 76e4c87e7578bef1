//! Cartridges: a ROM image of up to 512 KB behind the CPU's 4 KB window, with bank switching, RAM and extra
//! chips.

mod detect;
mod dpc;
mod error;
mod scheme;
#[cfg(test)]
mod tests;
mod unit;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::mt19937::Mt19937;
use dpc::Dpc;
pub use error::CartridgeError;
pub use scheme::Scheme;
use unit::by_a13;
pub(crate) use unit::{Mapping, Unit};

/// Bytes in a slice, the granularity of the window's map.
const SLICE: usize = 1024;
/// Bytes in the window, and in a bank of most schemes.
const BANK: usize = 4096;
/// Bytes in a bank of the schemes that switch half of the window.
const HALF_BANK: usize = 2048;

/// A cartridge: the image, which never changes, and the state of its electronics.
///
/// # Examples
///
/// ```
/// use vcs::{Cartridge, CartridgeError, Scheme};
///
/// let cartridge = Cartridge::detect(vec![0xEA; 2048].into())?;
/// assert_eq!(cartridge.scheme(), Scheme::Rom2K);
///
/// let error = Cartridge::detect(vec![0xEA; 1000].into()).unwrap_err();
/// assert_eq!(error, CartridgeError::UnknownSize { size: 1000 });
/// # Ok::<(), CartridgeError>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cartridge {
    /// Shared by all consoles that play the game. Not part of a snapshot.
    #[serde(skip)]
    rom: Arc<[u8]>,
    scheme: Scheme,
    /// The offset in the image of the slice mapped to each kilobyte of the window.
    pub(crate) window: [u32; 4],
    /// First address and number of addresses within the window whose reads yield the mapped byte and have no
    /// side effect. Such addresses are called plain.
    plain: (u16, u16),
    /// RAM on the cartridge; empty if it has none.
    ram: Vec<u8>,
    /// E7: the mapped 256-byte page of RAM, and true if the 1 KB of RAM replaces the lower bank.
    ram_page: u8,
    ram_below: bool,
    dpc: Option<Box<Dpc>>,
    /// The slice that the program runs in, cached until the program leaves it or the window changes.
    #[serde(skip)]
    code: CodeSlice,
}

/// The part of a cartridge that changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CartridgeState {
    window: [u32; 4],
    ram: Vec<u8>,
    ram_page: u8,
    ram_below: bool,
    dpc: Option<Box<Dpc>>,
}

/// A slice of plain ROM from which instructions are fetched.
#[derive(Clone, Copy, Debug, Default)]
struct CodeSlice {
    /// The CPU address of the first byte.
    base: u16,
    /// Instructions that begin at this distance from the base or beyond it may not be plain. 0 if there is no slice.
    limit: u16,
    /// The offset in the image.
    start: u32,
}

impl Cartridge {
    /// Creates a cartridge of the given scheme.
    pub fn new(rom: Arc<[u8]>, scheme: Scheme) -> Result<Self, CartridgeError> {
        if rom.is_empty() {
            return Err(CartridgeError::Empty);
        }
        if !scheme.sizes().contains(&rom.len()) {
            return Err(CartridgeError::WrongSize { scheme, size: rom.len(), expected: scheme.sizes() });
        }
        let ram = vec![0; scheme.ram_bytes()];
        let dpc = (scheme == Scheme::Dpc).then(Box::default);
        let mut cartridge = Self {
            rom,
            scheme,
            window: [0; 4],
            plain: scheme.plain_reads(),
            ram,
            ram_page: 0,
            ram_below: false,
            dpc,
            code: CodeSlice::default(),
        };
        cartridge.select_start();
        Ok(cartridge)
    }

    /// Creates a cartridge and detects its scheme from the size and contents of the image.
    pub fn detect(rom: Arc<[u8]>) -> Result<Self, CartridgeError> {
        let scheme = detect::detect(&rom)?;
        Self::new(rom, scheme)
    }

    /// Returns the bank switching scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the image.
    pub fn rom(&self) -> &Arc<[u8]> {
        &self.rom
    }

    /// Attaches the image of another cartridge, because a snapshot does not contain it.
    pub(crate) fn attach(&mut self, other: &Self) {
        self.rom = Arc::clone(&other.rom);
    }

    /// Returns true if a deserialised state is valid for this cartridge. Accesses of a valid state stay
    /// within the image.
    pub(crate) fn accepts(&self, state: &Self) -> bool {
        state.scheme == self.scheme && state.plain == self.plain && self.accepts_state(&state.state())
    }

    /// Returns true if the part that changes is valid for this cartridge.
    pub(crate) fn accepts_state(&self, state: &CartridgeState) -> bool {
        state.ram.len() == self.ram.len()
            && state.ram_page < 4
            && state.dpc.is_some() == self.dpc.is_some()
            && self.accepts_window(&state.window)
    }

    /// Returns true if a window consists of whole banks of the image where the scheme switches them, and of the same
    /// slices as now elsewhere.
    fn accepts_window(&self, window: &[u32; 4]) -> bool {
        let (banks, slices) = self.scheme.switched_banks();
        let (switched, fixed) = window.split_at(banks * slices);
        switched.chunks(slices).all(|slots| self.is_bank(slots)) && fixed == &self.window[banks * slices..]
    }

    /// Returns true if these slots of the window map a whole bank of the image.
    fn is_bank(&self, slots: &[u32]) -> bool {
        let size = slots.len() * SLICE;
        let start = slots[0] as usize / size * size;
        start < self.rom.len() / size * size
            && slots.iter().zip((start..).step_by(SLICE)).all(|(&slot, offset)| slot as usize == offset)
    }

    /// Resets the cartridge with the console: selects the start banks and randomises the RAM.
    pub(crate) fn reset(&mut self, random: &mut Mt19937) {
        self.select_start();
        self.ram.fill_with(|| random.next_u32() as u8);
        if let Some(dpc) = &mut self.dpc {
            dpc.reset();
        }
    }

    /// Moves all times back by `cycles`.
    pub(crate) fn rebase(&mut self, cycles: u32) {
        if let Some(dpc) = &mut self.dpc {
            dpc.rebase(cycles);
        }
    }

    /// Returns the number of banks that [`code_index`](Self::code_index) distinguishes. `None` if code of this scheme
    /// is not translated.
    pub(crate) fn code_banks(&self) -> Option<usize> {
        self.scheme.is_translated().then(|| self.scheme.banks(self.rom.len()))
    }

    /// Returns the index of translated code at `address`: the bank, or for E0 the slice, times 4 KB, plus the
    /// offset in the window.
    #[inline]
    pub(crate) fn code_index(&self, address: u16) -> Option<usize> {
        if address & 0x1000 == 0 {
            return None;
        }
        let offset = usize::from(address) % BANK;
        Some(match self.scheme {
            Scheme::E0 => self.window[offset / SLICE] as usize * (BANK / SLICE) + offset,
            Scheme::Fe => by_a13(address),
            _ => self.window[0] as usize + offset,
        })
    }

    /// Returns the unit that contains an address: the piece of ROM around it that is switched as a whole.
    pub(crate) fn unit(&self, address: u16) -> Option<Unit> {
        let (first, count) = self.plain;
        let plain = first..first + count;
        let whole = 0..BANK as u16;
        let base = address & 0xF000;
        let size = self.rom.len().min(BANK);
        Some(match self.scheme {
            Scheme::E0 => {
                let slot = address & (BANK as u16 - 1) & !(SLICE as u16 - 1);
                let start = self.window[usize::from(slot) / SLICE] as usize;
                Unit {
                    base: base | slot,
                    image: start..start + SLICE,
                    window: slot..slot + SLICE as u16,
                    plain,
                    mapping: Mapping::Slices,
                }
            }
            Scheme::Fe => {
                let start = by_a13(base);
                let image = start..start + BANK;
                Unit { base, image, window: whole.clone(), plain: whole, mapping: Mapping::ByA13 }
            }
            scheme if scheme.is_translated() => {
                let start = self.window[0] as usize;
                Unit { base, image: start..start + size, window: whole, plain, mapping: Mapping::Whole }
            }
            _ => return None,
        })
    }

    /// Reads at a CPU address with A12 set, at CPU cycle `now`.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Several times per instruction.
    pub(crate) fn read(&mut self, address: u16, now: u32) -> u8 {
        let (first, count) = self.plain;
        if (address & 0xFFF).wrapping_sub(first) < count {
            self.mapped(address)
        } else {
            self.read_special(address, now)
        }
    }

    /// Returns the three bytes from `address` on if they are plain and within one slice.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Once per instruction.
    pub(crate) fn plain_code(&mut self, address: u16) -> Option<[u8; 3]> {
        if address ^ self.code.base >= self.code.limit {
            self.code = self.code_slice(address)?;
        }
        let start = self.code.start as usize + usize::from(address ^ self.code.base);
        self.rom.get(start..start + 3).map(|bytes| [bytes[0], bytes[1], bytes[2]])
    }

    /// Returns the slice around `address` if three plain bytes begin there.
    #[inline(never)]
    fn code_slice(&self, address: u16) -> Option<CodeSlice> {
        let (base, offset) = (address & !(SLICE as u16 - 1), address & (SLICE as u16 - 1));
        let in_window = base & (BANK as u16 - 1);
        let (first, count) = self.plain;
        let limit = (first + count).saturating_sub(in_window).min(SLICE as u16).saturating_sub(2);
        let start = self.window[usize::from(in_window) / SLICE];
        (in_window >= first && offset < limit).then_some(CodeSlice { base, limit, start })
    }

    /// Reads an address that is not plain. A hotspot yields the byte of the bank that it selects.
    #[inline(never)]
    fn read_special(&mut self, address: u16, now: u32) -> u8 {
        if let Some(dpc) = self.dpc.as_deref_mut() {
            dpc.clock_if_selected(address);
            if address & 0xFFF < 0x040 {
                let display = &self.rom[dpc::DISPLAY_OFFSET..];
                return dpc.read(address, display, now);
            }
        }
        self.switch(address);
        self.peek(address)
    }

    /// Reads without side effects, for the rules of a game (klax keeps its score in Superchip RAM).
    pub fn peek(&self, address: u16) -> u8 {
        if self.scheme == Scheme::Fe {
            return self.rom[by_a13(address)];
        }
        match self.ram_at(address) {
            Some(RamPort::Read(offset)) => self.ram[offset],
            _ => self.mapped(address),
        }
    }

    /// Writes at a CPU address with A12 set.
    pub(crate) fn write(&mut self, address: u16, value: u8) {
        if let Some(dpc) = self.dpc.as_deref_mut() {
            dpc.write(address, value);
        }
        self.switch(address);
        if let Some(RamPort::Write(offset)) = self.ram_at(address) {
            self.ram[offset] = value;
        }
    }

    /// Returns the part that changes.
    pub(crate) fn state(&self) -> CartridgeState {
        CartridgeState {
            window: self.window,
            ram: self.ram.clone(),
            ram_page: self.ram_page,
            ram_below: self.ram_below,
            dpc: self.dpc.clone(),
        }
    }

    /// Restores a former state of this cartridge.
    pub(crate) fn restore(&mut self, state: &CartridgeState) {
        self.code = CodeSlice::default();
        self.window = state.window;
        self.ram.clone_from(&state.ram);
        (self.ram_page, self.ram_below) = (state.ram_page, state.ram_below);
        self.dpc.clone_from(&state.dpc);
    }

    /// Returns true if the cartridge watches accesses outside of its window.
    #[inline]
    pub(crate) fn snoops(&self) -> bool {
        matches!(self.scheme, Scheme::Tigervision | Scheme::Ua | Scheme::Econobanking)
    }

    /// Reacts to an access with A12 clear. `written` is the value of a write.
    pub(crate) fn snoop(&mut self, address: u16, written: Option<u8>) {
        match (self.scheme, written) {
            (Scheme::Tigervision, Some(value)) if address & 0x1FFF < 0x40 => {
                let bank = usize::from(value) % (self.rom.len() / HALF_BANK);
                self.map(0, bank * HALF_BANK, 2);
            }
            (Scheme::Ua, _) if address & 0x1260 == 0x0220 => self.select(0),
            (Scheme::Ua, _) if address & 0x1260 == 0x0240 => self.select(1),
            (Scheme::Econobanking, _) if address & 0x1840 == 0x0800 => self.select(0),
            (Scheme::Econobanking, _) if address & 0x1840 == 0x0840 => self.select(1),
            _ => {}
        }
    }

    #[inline]
    fn mapped(&self, address: u16) -> u8 {
        let address = usize::from(address) % BANK;
        self.rom[self.window[address / SLICE] as usize + address % SLICE]
    }

    /// Switches banks if the address is a hotspot of the scheme.
    fn switch(&mut self, address: u16) {
        let address = usize::from(address) % BANK;
        match self.scheme {
            // $xFE0-7 select the slice of slot 0, $xFE8-F of slot 1, $xFF0-7 of slot 2.
            Scheme::E0 => {
                if let hotspot @ 0..0x18 = address.wrapping_sub(0xFE0) {
                    self.map(hotspot / 8, hotspot % 8 * SLICE, 1);
                }
            }
            // $xFE0-6 select the lower half of the window, $xFE7 maps RAM there, $xFE8-B select the page of
            // RAM.
            Scheme::E7 => match address.wrapping_sub(0xFE0) {
                bank @ 0..7 => {
                    self.ram_below = false;
                    self.map(0, bank * HALF_BANK, 2);
                }
                7 => self.ram_below = true,
                page @ 8..12 => self.ram_page = page as u8 - 8,
                _ => {}
            },
            scheme => {
                let (first, banks) = scheme.hotspots();
                let bank = address.wrapping_sub(first.into());
                if bank < banks.into() {
                    self.select(bank);
                }
            }
        }
    }

    /// Maps an address to the cartridge's RAM. Each byte has one address to write it and another to read it.
    fn ram_at(&self, address: u16) -> Option<RamPort> {
        let address = usize::from(address) % BANK;
        let (ports, offset) = match self.scheme {
            Scheme::F8Sc | Scheme::F6Sc | Scheme::F4Sc => {
                (RamPorts { write: 0x000, read: 0x080, size: 128 }, 0)
            }
            Scheme::Fa => (RamPorts { write: 0x000, read: 0x100, size: 256 }, 0),
            Scheme::Cv => (RamPorts { write: 0x400, read: 0x000, size: 1024 }, 0),
            Scheme::E7 if address < 0x800 && self.ram_below => {
                (RamPorts { write: 0x000, read: 0x400, size: 1024 }, 0)
            }
            Scheme::E7 => {
                let page = 1024 + 256 * usize::from(self.ram_page);
                (RamPorts { write: 0x800, read: 0x900, size: 256 }, page)
            }
            _ => return None,
        };
        ports.port_at(address, offset)
    }

    /// Maps a bank to the whole window.
    fn select(&mut self, bank: usize) {
        self.map(0, bank * BANK, 4);
    }

    /// Maps `slices` slices of the image, from `offset` on, to the window from slot `first` on.
    fn map(&mut self, first: usize, offset: usize, slices: usize) {
        self.code = CodeSlice::default();
        for slice in 0..slices {
            self.window[first + slice] = (offset + slice * SLICE) as u32;
        }
    }

    fn select_start(&mut self) {
        (self.ram_page, self.ram_below) = (0, false);
        match self.scheme {
            Scheme::E0 => self.map(0, BANK, 4),
            Scheme::Rom2K | Scheme::Cv | Scheme::E7 | Scheme::Tigervision => {
                self.map(0, 0, 2);
                self.map(2, self.rom.len() - HALF_BANK, 2);
            }
            scheme => self.select(scheme.start_bank()),
        }
    }
}

/// The addresses within the window that access RAM: `size` from `write` on to write it, and as many from `read` on to
/// read it.
struct RamPorts {
    write: usize,
    read: usize,
    size: usize,
}

impl RamPorts {
    /// Returns the port at an address. The first byte of the ports is the byte `offset` of RAM.
    fn port_at(&self, address: usize, offset: usize) -> Option<RamPort> {
        let byte = |first: usize| address.checked_sub(first).filter(|&byte| byte < self.size);
        let read = byte(self.read).map(|byte| RamPort::Read(offset + byte));
        read.or_else(|| byte(self.write).map(|byte| RamPort::Write(offset + byte)))
    }
}

/// A byte of the cartridge's RAM, and the kind of access that an address makes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RamPort {
    Read(usize),
    Write(usize),
}
