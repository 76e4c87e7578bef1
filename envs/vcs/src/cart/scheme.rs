use std::fmt;

use serde::{Deserialize, Serialize};

use super::CartridgeError;

/// A bank switching scheme, by its usual name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scheme {
    /// 2 KB, mirrored.
    #[serde(rename = "2K")]
    Rom2K,
    /// 4 KB.
    #[serde(rename = "4K")]
    Rom4K,
    /// Atari, two banks of 4 KB.
    F8,
    /// F8 with 128 bytes of RAM.
    #[serde(rename = "F8SC")]
    F8Sc,
    /// Atari, four banks of 4 KB.
    F6,
    /// F6 with 128 bytes of RAM.
    #[serde(rename = "F6SC")]
    F6Sc,
    /// Atari, eight banks of 4 KB.
    F4,
    /// F4 with 128 bytes of RAM.
    #[serde(rename = "F4SC")]
    F4Sc,
    /// Parker Brothers, four slots of 1 KB, the last one fixed.
    E0,
    /// Activision, two banks of 4 KB chosen by the address of the program (robotank).
    #[serde(rename = "FE")]
    Fe,
    /// Activision's display processor (pitfall2).
    #[serde(rename = "DPC")]
    Dpc,
}

impl Scheme {
    /// The lengths of image that the scheme can have, in bytes.
    pub(super) fn sizes(self) -> &'static [usize] {
        match self {
            Self::Rom2K => &[2048],
            Self::Rom4K => &[4096],
            Self::F8 | Self::F8Sc | Self::E0 | Self::Fe => &[8192],
            Self::F6 | Self::F6Sc => &[16384],
            Self::F4 | Self::F4Sc => &[32768],
            // Dumps of Pitfall II carry 255 bytes of the random register after program and display data.
            Self::Dpc => &[10495, 10240, 10496],
        }
    }

    pub(super) fn has_superchip(self) -> bool {
        matches!(self, Self::F8Sc | Self::F6Sc | Self::F4Sc)
    }

    /// The first hotspot within the 4 KB window and the number of hotspots, one a bank.
    #[inline]
    pub(super) fn hotspots(self) -> (u16, u16) {
        match self {
            Self::F8 | Self::F8Sc | Self::Dpc => (0xFF8, 2),
            Self::F6 | Self::F6Sc => (0xFF6, 4),
            Self::F4 | Self::F4Sc => (0xFF4, 8),
            _ => (0, 0),
        }
    }

    /// The first address and the number of addresses within the 4 KB window where a read has no side effect and
    /// yields the byte that is mapped there.
    pub(super) fn plain_reads(self) -> (u16, u16) {
        let (hotspots, _) = self.hotspots();
        match self {
            Self::Rom2K | Self::Rom4K => (0, 0x1000),
            Self::F8 | Self::F6 | Self::F4 => (0, hotspots),
            Self::F8Sc | Self::F6Sc | Self::F4Sc => (0x100, hotspots - 0x100),
            Self::E0 => (0, 0xFE0),
            Self::Fe => (0, 0),
            Self::Dpc => (0x080, 0xFC0 - 0x080),
        }
    }

    pub(super) fn start_bank(self) -> usize {
        usize::from(matches!(self, Self::F8 | Self::F8Sc | Self::Dpc))
    }

    /// Tells the scheme from the image alone.
    pub(super) fn detect(rom: &[u8]) -> Result<Self, CartridgeError> {
        match rom.len() {
            0 => Err(CartridgeError::Empty),
            2048 => Ok(Self::Rom2K),
            4096 => Ok(Self::Rom4K),
            8192 if is_superchip(rom) => Ok(Self::F8Sc),
            8192 if is_parker(rom) => Ok(Self::E0),
            8192 if is_activision_fe(rom) => Ok(Self::Fe),
            8192 => Ok(Self::F8),
            10240 | 10495 | 10496 => Ok(Self::Dpc),
            16384 if is_superchip(rom) => Ok(Self::F6Sc),
            16384 => Ok(Self::F6),
            32768 if is_superchip(rom) => Ok(Self::F4Sc),
            32768 => Ok(Self::F4),
            size => Err(CartridgeError::UnknownSize { size }),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Rom2K => "2K",
            Self::Rom4K => "4K",
            Self::F8 => "F8",
            Self::F8Sc => "F8SC",
            Self::F6 => "F6",
            Self::F6Sc => "F6SC",
            Self::F4 => "F4",
            Self::F4Sc => "F4SC",
            Self::E0 => "E0",
            Self::Fe => "FE",
            Self::Dpc => "DPC",
        };
        f.write_str(name)
    }
}

/// The 256 bytes that the RAM covers cannot be read, so every bank of an image repeats one byte there.
fn is_superchip(rom: &[u8]) -> bool {
    rom.chunks_exact(4096).all(|bank| bank[..256].iter().all(|&byte| byte == bank[0]))
}

/// Programs for E0 switch slices with absolute reads and writes of $xFE0 to $xFF7; others have nothing there.
fn is_parker(rom: &[u8]) -> bool {
    /// Real programs have more; code and graphics of other games look like it once by chance at most.
    const ENOUGH: usize = 3;
    let switches = |operand: u16| operand & 0x1000 != 0 && matches!(operand & 0xFFF, 0xFE0..=0xFF7);
    let accesses = absolute_operands(rom, &[STA, STX, STY, LDA, LDX, LDY, BIT, CMP, NOP]);
    accesses.filter(|&operand| switches(operand)).count() >= ENOUGH
}

/// Programs for FE call routines of both banks by their address alone: `JSR $Dxxx` beside `JSR $Fxxx`, and never
/// touch F8's hotspots.
fn is_activision_fe(rom: &[u8]) -> bool {
    const ENOUGH: usize = 3;
    let calls = |page: u16| absolute_operands(rom, &[JSR]).filter(|&operand| operand >> 12 == page).count();
    let f8_switches = absolute_operands(rom, &[STA, STX, STY, LDA, LDX, LDY, BIT, CMP, NOP])
        .filter(|&operand| operand & 0x1000 != 0 && matches!(operand & 0xFFF, 0xFF8 | 0xFF9))
        .count();
    f8_switches == 0 && calls(0xD) >= ENOUGH && calls(0xF) >= ENOUGH
}

/// Opcodes with an absolute operand.
const JSR: u8 = 0x20;
const STA: u8 = 0x8D;
const STX: u8 = 0x8E;
const STY: u8 = 0x8C;
const LDA: u8 = 0xAD;
const LDX: u8 = 0xAE;
const LDY: u8 = 0xAC;
const BIT: u8 = 0x2C;
const CMP: u8 = 0xCD;
const NOP: u8 = 0x0C;

/// The operands of everything that looks like one of these instructions, data included.
fn absolute_operands(rom: &[u8], opcodes: &[u8]) -> impl Iterator<Item = u16> {
    rom.windows(3)
        .filter(|window| opcodes.contains(&window[0]))
        .map(|window| u16::from_le_bytes([window[1], window[2]]))
}
