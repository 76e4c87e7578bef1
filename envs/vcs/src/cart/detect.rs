//! Detection of a cartridge's scheme from its image.

use std::ops::RangeInclusive;

use super::error::CartridgeError;
use super::scheme::Scheme;

/// Detects the scheme from the size and contents of an image.
pub(super) fn detect(rom: &[u8]) -> Result<Scheme, CartridgeError> {
    match rom.len() {
        0 => Err(CartridgeError::Empty),
        2048 if is_commavid(rom) => Ok(Scheme::Cv),
        2048 => Ok(Scheme::Rom2K),
        4096 => Ok(Scheme::Rom4K),
        8192 if is_superchip(rom) => Ok(Scheme::F8Sc),
        8192 if is_parker(rom) => Ok(Scheme::E0),
        8192 if is_activision_fe(rom) => Ok(Scheme::Fe),
        8192 if is_snooping(rom, [0x0220, 0x0240]) => Ok(Scheme::Ua),
        8192 if is_snooping(rom, [0x0800, 0x0840]) => Ok(Scheme::Econobanking),
        8192 if !is_tigervision(rom) => Ok(Scheme::F8),
        12288 => Ok(Scheme::Fa),
        10240 | 10495 | 10496 => Ok(Scheme::Dpc),
        16384 if is_superchip(rom) => Ok(Scheme::F6Sc),
        16384 if is_m_network(rom) => Ok(Scheme::E7),
        16384 if !is_tigervision(rom) => Ok(Scheme::F6),
        32768 if is_superchip(rom) => Ok(Scheme::F4Sc),
        32768 if !is_tigervision(rom) => Ok(Scheme::F4),
        // The remaining images whose size is possible for this scheme.
        size if Scheme::Tigervision.sizes().contains(&size) && is_tigervision(rom) => Ok(Scheme::Tigervision),
        size => Err(CartridgeError::UnknownSize { size }),
    }
}

/// Returns true if every bank repeats a single byte in the 256 bytes of RAM ports, which hide the ROM below them.
fn is_superchip(rom: &[u8]) -> bool {
    rom.chunks_exact(4096).all(|bank| bank[..256].iter().all(|&byte| byte == bank[0]))
}

/// The number of matching instructions that makes a scheme likely. Real programs have more; code and graphics of other
/// games occasionally contain one by chance.
const ENOUGH: usize = 3;

/// Returns true for programs that access $xFE0-$xFF7 by absolute addresses. Programs for E0 switch slices this way;
/// other programs do not access these addresses.
fn is_parker(rom: &[u8]) -> bool {
    count_accesses(rom, 0xFE0..=0xFF7) >= ENOUGH
}

/// Returns true for programs that access $xFE0-$xFEB and none of F6's hotspots, as programs for E7 do.
fn is_m_network(rom: &[u8]) -> bool {
    count_accesses(rom, 0xFE0..=0xFEB) >= ENOUGH && count_accesses(rom, 0xFF6..=0xFF9) == 0
}

/// Returns true if each bank calls routines in both banks, by addresses $Dxxx and $Fxxx, as programs for FE do.
fn is_activision_fe(rom: &[u8]) -> bool {
    rom.chunks_exact(4096).all(|bank| count_calls(bank, 0xD) >= ENOUGH && count_calls(bank, 0xF) >= ENOUGH)
}

/// Returns true for programs that access both addresses. Those of UA and Econobanking are decoded by no other device.
fn is_snooping(rom: &[u8], addresses: [u16; 2]) -> bool {
    addresses.iter().all(|&address| absolute_operands(rom, &ACCESSES).any(|operand| operand == address))
}

/// Returns true for programs that store to $3F, a mirror of an unused register, at least twice, as programs for 3F do.
fn is_tigervision(rom: &[u8]) -> bool {
    const STORE: [u8; 2] = [0x85, 0x3F];
    rom.windows(STORE.len()).filter(|window| *window == STORE).count() >= 2
}

/// Returns true for programs that store to $x400-$x7FF, the RAM's write port of CV, by absolute indexed instructions.
fn is_commavid(rom: &[u8]) -> bool {
    let to_ram = |operand: u16| operand & 0x1C00 == 0x1400;
    absolute_operands(rom, &[STA_X, STA_Y]).filter(|&operand| to_ram(operand)).count() >= ENOUGH
}

/// Opcodes with an absolute operand: `JSR`, indexed `STA`, and unindexed reads and writes.
const JSR: u8 = 0x20;
const STA_X: u8 = 0x9D;
const STA_Y: u8 = 0x99;
/// `STA STX STY LDA LDX LDY BIT CMP NOP`
const ACCESSES: [u8; 9] = [0x8D, 0x8E, 0x8C, 0xAD, 0xAE, 0xAC, 0x2C, 0xCD, 0x0C];

/// Returns the number of instructions that access these addresses of the cartridge's window.
fn count_accesses(rom: &[u8], addresses: RangeInclusive<u16>) -> usize {
    absolute_operands(rom, &ACCESSES)
        .filter(|operand| operand & 0x1000 != 0 && addresses.contains(&(operand & 0xFFF)))
        .count()
}

/// Returns the number of calls of addresses whose highest hexadecimal digit is `digit`.
fn count_calls(bank: &[u8], digit: u16) -> usize {
    absolute_operands(bank, &[JSR]).filter(|&target| target >> 12 == digit).count()
}

/// Returns the operands of all byte sequences that look like one of these instructions, data included.
fn absolute_operands(rom: &[u8], opcodes: &[u8]) -> impl Iterator<Item = u16> {
    rom.windows(3)
        .filter(|window| opcodes.contains(&window[0]))
        .map(|window| u16::from_le_bytes([window[1], window[2]]))
}
