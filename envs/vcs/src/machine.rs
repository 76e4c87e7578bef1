//! Everything on the CPU's bus: RAM, the chips, the cartridge and the controllers.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::cart::Cartridge;
use crate::controllers::{Inputs, Wiring};
use crate::cpu::Bus;
use crate::riot::Riot;
use crate::tia::registers::{VBLANK, WSYNC};
use crate::tia::{PINS, Tia};

/// Size of RAM in bytes.
pub const RAM: usize = 128;

/// The devices on the CPU's bus and the state of the bus.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// CPU cycles since the start of the frame.
    pub(crate) cycles: u32,
    /// The last byte on the bus.
    pub(crate) open_bus: u8,
    #[serde(with = "BigArray")]
    pub(crate) ram: [u8; RAM],
    pub(crate) riot: Riot,
    pub(crate) tia: Tia,
    pub(crate) cartridge: Cartridge,
    pub(crate) wiring: Wiring,
    pub(crate) inputs: Inputs,
    /// For each register from INPT0 on, the CPU cycle from which its pin is set. Valid while a frame runs.
    #[serde(skip)]
    pub(crate) pins_set_from: [u32; PINS],
}

impl Machine {
    /// Returns the time in colour clocks.
    pub(crate) fn clock(&self) -> i32 {
        (self.cycles as i32).wrapping_mul(3)
    }

    /// Makes the current time cycle 0.
    pub(crate) fn rebase(&mut self) {
        let cycles = std::mem::take(&mut self.cycles);
        self.riot.rebase(cycles);
        self.tia.rebase(cycles);
        self.cartridge.rebase(cycles);
    }

    #[inline(never)]
    fn read_chip(&mut self, address: u16) -> u8 {
        if self.cartridge.snoops() {
            self.cartridge.snoop(address, None);
        }
        match Device::at(address) {
            Device::Ram => self.ram[usize::from(address) % RAM],
            Device::Tia => self.tia.read(address, self.cycles, self.open_bus, self.wiring, &self.inputs),
            _ => self.read_riot(address, self.cycles),
        }
    }

    /// Reads a register of the RIOT at CPU cycle `now`.
    #[inline]
    pub(crate) fn read_riot(&mut self, address: u16, now: u32) -> u8 {
        self.riot.read(address, now, || self.wiring.ports(&self.inputs))
    }

    /// Recomputes the times at which pins are set. Call it after a change of the inputs, the origin of time or the
    /// discharge of the paddles.
    pub(crate) fn refresh_pins(&mut self) {
        self.pins_set_from =
            std::array::from_fn(|pin| self.tia.pin_set_from(pin as u16, self.wiring, &self.inputs));
    }

    /// Returns the three bytes from `address` on if they are in RAM and the instruction, if any begins there, reads
    /// all of its bytes before it writes. JSR does not.
    fn code_in_ram(&self, address: u16) -> Option<[u8; 3]> {
        const JSR: u8 = 0x20;
        if Device::at(address) != Device::Ram || self.cartridge.snoops() {
            return None;
        }
        let code = self.ram[usize::from(address) % RAM..].first_chunk()?;
        (code[0] != JSR).then_some(*code)
    }

    #[inline(never)]
    fn write_anywhere(&mut self, address: u16, value: u8) {
        self.open_bus = value;
        if self.cartridge.snoops() {
            self.cartridge.snoop(address, Some(value));
        }
        match Device::at(address) {
            Device::Cartridge => self.cartridge.write(address, value),
            Device::Tia => {
                self.tia.write(address, value, self.cycles);
                if address & 0x3F == VBLANK {
                    self.refresh_pins();
                }
            }
            Device::Ram => self.ram[usize::from(address) % RAM] = value,
            Device::Riot => self.riot.write(address, value, self.cycles),
        }
    }
}

/// The device that answers at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    Cartridge,
    Tia,
    Ram,
    Riot,
}

impl Device {
    /// Decodes an address. The console connects A12, A7 and A9 only.
    #[inline]
    pub(crate) fn at(address: u16) -> Self {
        if address & 0x1000 != 0 {
            Self::Cartridge
        } else if address & 0x0080 == 0 {
            Self::Tia
        } else if address & 0x0200 == 0 {
            Self::Ram
        } else {
            Self::Riot
        }
    }
}

impl Bus for Machine {
    #[inline(always)]
    #[allow(clippy::inline_always)] // Several times per instruction.
    fn read(&mut self, address: u16) -> u8 {
        let value = match Device::at(address) {
            Device::Cartridge => self.cartridge.read(address, self.cycles),
            _ => self.read_chip(address),
        };
        self.open_bus = value;
        value
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn read_zero_page(&mut self, address: u8) -> u8 {
        let value = match address {
            0x80.. => self.ram[usize::from(address) % RAM],
            _ => self.read_chip(address.into()),
        };
        self.open_bus = value;
        value
    }

    #[inline]
    fn write(&mut self, address: u16, value: u8) {
        self.write_anywhere(address, value);
        if Device::at(address) == Device::Tia && address & 0x3F == WSYNC {
            self.tick(self.tia.cycles_to_next_line(self.clock()));
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn write_zero_page(&mut self, address: u8, value: u8) {
        match address {
            0x80.. => {
                self.open_bus = value;
                self.ram[usize::from(address) % RAM] = value;
            }
            _ => self.write(address.into(), value),
        }
    }

    fn write_again(&mut self, address: u16, value: u8) {
        self.write_anywhere(address, value);
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn plain_code(&mut self, address: u16) -> Option<[u8; 3]> {
        if address & 0x1000 == 0 { self.code_in_ram(address) } else { self.cartridge.plain_code(address) }
    }

    #[inline]
    fn latch(&mut self, byte: u8) {
        self.open_bus = byte;
    }

    #[inline]
    fn stops(&self) -> bool {
        !self.tia.is_unfinished() || self.tia.has_read_unknown_latch()
    }

    #[inline]
    fn tick(&mut self, cycles: u32) {
        self.cycles = self.cycles.wrapping_add(cycles);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Cartridge, Console, ConsoleOptions, TvFormat};

    /// JSR pushes its return address before it reads the upper byte of its target. In RAM it can overwrite that byte.
    #[test]
    fn a_call_in_ram_may_change_its_own_target() {
        #[rustfmt::skip]
        let program = [
            0xA9, 0x20, 0x85, 0xF0, // LDA #$20, STA $F0: JSR ...
            0xA9, 0x34, 0x85, 0xF1, // ... $F334
            0xA9, 0xF3, 0x85, 0xF2,
            0xA2, 0xF3, 0x9A,       // LDX #$F3, TXS: the return address $00F2 goes to $F3 and $F2
            0x4C, 0xF0, 0x00,       // JMP $00F0
        ];
        let mut rom = vec![0xEA; 4096];
        rom[..program.len()].copy_from_slice(&program);
        // LDA #1 or #2, STA $80, and a loop that waits forever.
        for (start, value) in [(0x234, 1), (0x334, 2)] {
            rom[start..start + 7].copy_from_slice(&[0xA9, value, 0x85, 0x80, 0x4C, start as u8 + 4, 0xF2]);
        }
        rom[0xFFC..0xFFE].copy_from_slice(&[0x00, 0xF0]);
        let options = ConsoleOptions { tv: Some(TvFormat::Ntsc), ..ConsoleOptions::default() };
        let cartridge = Cartridge::detect(rom.into()).expect("the image has 4 KB");
        let mut console = Console::new(cartridge, &options);
        console.run_frame();
        assert_eq!(console.ram()[0], 1);
    }
}
