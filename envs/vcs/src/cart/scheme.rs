use std::fmt;

use serde::{Deserialize, Serialize};

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
    /// Tigervision; a write of a bank number to $00-$3F selects the lower half of the window.
    #[serde(rename = "3F")]
    Tigervision,
    /// Commavid, 2 KB of ROM and 1 KB of RAM.
    #[serde(rename = "CV")]
    Cv,
    /// M-Network, eight banks of 2 KB and 2 KB of RAM.
    E7,
    /// UA Limited, two banks of 4 KB selected by accesses to $0220 and $0240.
    #[serde(rename = "UA")]
    Ua,
    /// Econobanking, two banks of 4 KB selected by accesses to $0800 and $0840.
    #[serde(rename = "0840")]
    Econobanking,
    /// Parker Brothers, four slots of 1 KB, the last one fixed.
    E0,
    /// Activision, two banks of 4 KB selected by A13 of the address (robotank).
    #[serde(rename = "FE")]
    Fe,
    /// Activision's display processor (pitfall2).
    #[serde(rename = "DPC")]
    Dpc,
}

impl Scheme {
    /// Returns the sizes in bytes that an image of the scheme may have.
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
            // Dumps of Pitfall II end in 255 bytes of the random register.
            Self::Dpc => &[10495, 10240, 10496],
        }
    }

    /// Returns the size of the cartridge's RAM in bytes.
    pub(super) fn ram_bytes(self) -> usize {
        match self {
            Self::F8Sc | Self::F6Sc | Self::F4Sc => 128,
            Self::Fa => 256,
            Self::Cv => 1024,
            Self::E7 => 2048,
            _ => 0,
        }
    }

    /// Returns the first hotspot within the 4 KB window, and the number of hotspots: one per bank.
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

    /// Returns the first address and number of addresses within the 4 KB window whose reads yield the mapped byte and
    /// have no side effect.
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

    /// Returns true if the scheme maps pieces of ROM as a whole and switches them by accesses to the
    /// cartridge only.
    pub(super) fn is_translated(self) -> bool {
        !matches!(self, Self::Cv | Self::E7 | Self::Tigervision | Self::Ua | Self::Econobanking)
    }

    /// Returns the number of banks of an image of `size` bytes, or for E0 of its slices.
    pub(super) fn banks(self, size: usize) -> usize {
        match self {
            Self::E0 => size / 1024,
            _ => size.div_ceil(4096),
        }
    }

    /// Returns the number of banks that the window shows at a time, from its start on, and the number of slices in
    /// each. The rest of the window is never switched.
    pub(super) fn switched_banks(self) -> (usize, usize) {
        match self {
            Self::Rom2K | Self::Rom4K | Self::Cv | Self::Fe => (0, 4),
            Self::E0 => (3, 1),
            Self::E7 | Self::Tigervision => (1, 2),
            Self::F8
            | Self::F8Sc
            | Self::F6
            | Self::F6Sc
            | Self::F4
            | Self::F4Sc
            | Self::Fa
            | Self::Ua
            | Self::Econobanking
            | Self::Dpc => (1, 4),
        }
    }

    pub(super) fn start_bank(self) -> usize {
        match self {
            Self::F8 | Self::F8Sc | Self::Dpc => 1,
            Self::Fa => 2,
            _ => 0,
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
