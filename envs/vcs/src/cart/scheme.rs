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
    /// CBS, three banks of 4 KB and 256 bytes of RAM.
    #[serde(rename = "FA")]
    Fa,
    /// Tigervision, the lower half of the window chosen by writing a bank's number to $00-$3F.
    #[serde(rename = "3F")]
    Tigervision,
    /// Commavid, 2 KB of ROM and 1 KB of RAM.
    #[serde(rename = "CV")]
    Cv,
    /// M-Network, eight banks of 2 KB and 2 KB of RAM.
    E7,
    /// UA Limited, two banks of 4 KB chosen by $0220 and $0240.
    #[serde(rename = "UA")]
    Ua,
    /// Econobanking, two banks of 4 KB chosen by $0800 and $0840.
    #[serde(rename = "0840")]
    Econobanking,
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
            Self::Cv => &[2048, 4096],
            Self::F8 | Self::F8Sc | Self::E0 | Self::Fe | Self::Ua | Self::Econobanking => &[8192],
            Self::Tigervision => &[8192, 16384, 32768, 65536, 131072, 262144, 524288],
            Self::Fa => &[12288],
            Self::F6 | Self::F6Sc | Self::E7 => &[16384],
            Self::F4 | Self::F4Sc => &[32768],
            // Dumps of Pitfall II carry 255 bytes of the random register after program and display data.
            Self::Dpc => &[10495, 10240, 10496],
        }
    }

    /// Bytes of RAM on the cartridge.
    pub(super) fn ram_bytes(self) -> usize {
        match self {
            Self::F8Sc | Self::F6Sc | Self::F4Sc => 128,
            Self::Fa => 256,
            Self::Cv => 1024,
            Self::E7 => 2048,
            _ => 0,
        }
    }

    /// The first hotspot within the 4 KB window and the number of hotspots, one a bank.
    #[inline]
    pub(super) fn hotspots(self) -> (u16, u16) {
        match self {
            Self::F8 | Self::F8Sc | Self::Dpc => (0xFF8, 2),
            Self::F6 | Self::F6Sc => (0xFF6, 4),
            Self::F4 | Self::F4Sc => (0xFF4, 8),
            Self::Fa => (0xFF8, 3),
            _ => (0, 0),
        }
    }

    /// The first address and the number of addresses within the 4 KB window where a read has no side effect and
    /// yields the byte that is mapped there.
    pub(super) fn plain_reads(self) -> (u16, u16) {
        let (hotspots, _) = self.hotspots();
        match self {
            Self::Rom2K | Self::Rom4K | Self::Tigervision | Self::Ua | Self::Econobanking => (0, 0x1000),
            Self::Fa => (0x200, hotspots - 0x200),
            Self::Cv => (0x800, 0x800),
            Self::E7 => (0xA00, 0xFE0 - 0xA00),
            Self::F8 | Self::F6 | Self::F4 => (0, hotspots),
            Self::F8Sc | Self::F6Sc | Self::F4Sc => (0x100, hotspots - 0x100),
            Self::E0 => (0, 0xFE0),
            Self::Fe => (0, 0),
            Self::Dpc => (0x080, 0xFC0 - 0x080),
        }
    }

    /// Whether the scheme switches pieces of ROM as a whole, by accesses to addresses of the cartridge.
    pub(super) fn is_translated(self) -> bool {
        !matches!(self, Self::Cv | Self::E7 | Self::Tigervision | Self::Ua | Self::Econobanking)
    }

    /// The different ways to fill a window of 4 KB, or the pairs of slice and slot, of an image of `size` bytes.
    pub(super) fn banks(self, size: usize) -> usize {
        match self {
            Self::E0 => size / 1024,
            _ => size.div_ceil(4096),
        }
    }

    pub(super) fn start_bank(self) -> usize {
        match self {
            Self::F8 | Self::F8Sc | Self::Dpc => 1,
            Self::Fa => 2,
            _ => 0,
        }
    }

    /// Tells the scheme from the image alone.
    pub(super) fn detect(rom: &[u8]) -> Result<Self, CartridgeError> {
        match rom.len() {
            0 => Err(CartridgeError::Empty),
            2048 if is_commavid(rom) => Ok(Self::Cv),
            2048 => Ok(Self::Rom2K),
            4096 => Ok(Self::Rom4K),
            8192 if is_superchip(rom) => Ok(Self::F8Sc),
            8192 if is_parker(rom) => Ok(Self::E0),
            8192 if is_activision_fe(rom) => Ok(Self::Fe),
            8192 if is_snooping(rom, [0x0220, 0x0240]) => Ok(Self::Ua),
            8192 if is_snooping(rom, [0x0800, 0x0840]) => Ok(Self::Econobanking),
            8192 if !is_tigervision(rom) => Ok(Self::F8),
            12288 => Ok(Self::Fa),
            10240 | 10495 | 10496 => Ok(Self::Dpc),
            16384 if is_superchip(rom) => Ok(Self::F6Sc),
            16384 if is_m_network(rom) => Ok(Self::E7),
            16384 if !is_tigervision(rom) => Ok(Self::F6),
            32768 if is_superchip(rom) => Ok(Self::F4Sc),
            32768 if !is_tigervision(rom) => Ok(Self::F4),
            // What is left with a size of this scheme.
            size if Self::Tigervision.sizes().contains(&size) && is_tigervision(rom) => Ok(Self::Tigervision),
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
            Self::Fa => "FA",
            Self::Tigervision => "3F",
            Self::Cv => "CV",
            Self::E7 => "E7",
            Self::Ua => "UA",
            Self::Econobanking => "0840",
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

/// How many instructions that fit a scheme make it likely. Real programs have more; code and graphics of other games
/// look like one by chance now and then.
const ENOUGH: usize = 3;

/// Programs for E0 switch slices with absolute reads and writes of $xFE0 to $xFF7; others have nothing there.
fn is_parker(rom: &[u8]) -> bool {
    let switches = |operand: u16| operand & 0x1000 != 0 && matches!(operand & 0xFFF, 0xFE0..=0xFF7);
    absolute_operands(rom, &ACCESSES).filter(|&operand| switches(operand)).count() >= ENOUGH
}

/// Programs for E7 touch $xFE0 to $xFEB and none of F6's hotspots.
fn is_m_network(rom: &[u8]) -> bool {
    let touches = |first: u16, last: u16| {
        let there = |operand: &u16| operand & 0x1000 != 0 && (first..=last).contains(&(operand & 0xFFF));
        absolute_operands(rom, &ACCESSES).filter(there).count()
    };
    touches(0xFE0, 0xFEB) >= ENOUGH && touches(0xFF6, 0xFF9) == 0
}

/// Programs for FE call routines of either bank from either bank by their address alone, $Dxxx or $Fxxx.
fn is_activision_fe(rom: &[u8]) -> bool {
    let calls = |bank: &[u8], page: u16| {
        absolute_operands(bank, &[JSR]).filter(|&target| target >> 12 == page).count()
    };
    rom.chunks_exact(4096).all(|bank| calls(bank, 0xD) >= ENOUGH && calls(bank, 0xF) >= ENOUGH)
}

/// Programs for UA and Econobanking touch both of their addresses, which nothing else answers to.
fn is_snooping(rom: &[u8], addresses: [u16; 2]) -> bool {
    addresses.iter().all(|&address| absolute_operands(rom, &ACCESSES).any(|operand| operand == address))
}

/// Programs for 3F store to $3F, a mirror of an unused register.
fn is_tigervision(rom: &[u8]) -> bool {
    const STORE: [u8; 2] = [0x85, 0x3F];
    rom.windows(STORE.len()).filter(|window| *window == STORE).count() >= ENOUGH
}

/// Programs for CV store to the RAM's write port, $x400 to $x7FF, with absolute indexed instructions.
fn is_commavid(rom: &[u8]) -> bool {
    let to_ram = |operand: u16| operand & 0x1C00 == 0x1400;
    absolute_operands(rom, &[STA_X, STA_Y]).filter(|&operand| to_ram(operand)).count() >= ENOUGH
}

/// Opcodes with an absolute operand: `JSR`; `STA`, indexed; and everything that reads or writes the address itself.
const JSR: u8 = 0x20;
const STA_X: u8 = 0x9D;
const STA_Y: u8 = 0x99;
/// `STA STX STY LDA LDX LDY BIT CMP NOP`
const ACCESSES: [u8; 9] = [0x8D, 0x8E, 0x8C, 0xAD, 0xAE, 0xAC, 0x2C, 0xCD, 0x0C];

/// The operands of everything that looks like one of these instructions, data included.
fn absolute_operands(rom: &[u8], opcodes: &[u8]) -> impl Iterator<Item = u16> {
    rom.windows(3)
        .filter(|window| opcodes.contains(&window[0]))
        .map(|window| u16::from_le_bytes([window[1], window[2]]))
}
