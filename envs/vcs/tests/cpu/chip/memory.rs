//! 64 KB of memory that records all bus accesses.

use vcs::Bus;

/// An access, with the number of cycles since the start of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read {
        cycle: u32,
        address: u16,
        value: u8,
    },
    Write {
        cycle: u32,
        address: u16,
        value: u8,
    },
    /// A write that directly follows another one.
    WriteAgain {
        cycle: u32,
        address: u16,
        value: u8,
    },
}

/// Memory at every address, and the recorded accesses.
#[derive(Clone)]
pub(crate) struct Memory {
    pub(crate) bytes: Vec<u8>,
    pub(crate) cycles: u32,
    pub(crate) accesses: Vec<Access>,
    /// True if instructions are fetched as a whole, as from plain ROM.
    pub(crate) is_plain: bool,
    /// The address of the next byte that the CPU will latch.
    next_latched: u16,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; 0x1_0000], cycles: 0, accesses: Vec::new(), is_plain: false, next_latched: 0 }
    }

    /// Writes `bytes` to consecutive addresses.
    pub(crate) fn place(&mut self, address: u16, bytes: &[u8]) {
        for (i, &byte) in bytes.iter().enumerate() {
            self.bytes[usize::from(address.wrapping_add(i as u16))] = byte;
        }
    }

    /// Clears the accesses and the time.
    pub(crate) fn start(&mut self) {
        self.cycles = 0;
        self.accesses.clear();
    }
}

impl Bus for Memory {
    fn read(&mut self, address: u16) -> u8 {
        let value = self.bytes[usize::from(address)];
        self.accesses.push(Access::Read { cycle: self.cycles, address, value });
        value
    }

    fn write(&mut self, address: u16, value: u8) {
        self.bytes[usize::from(address)] = value;
        self.accesses.push(Access::Write { cycle: self.cycles, address, value });
    }

    fn write_again(&mut self, address: u16, value: u8) {
        self.bytes[usize::from(address)] = value;
        self.accesses.push(Access::WriteAgain { cycle: self.cycles, address, value });
    }

    fn plain_code(&mut self, address: u16) -> Option<[u8; 3]> {
        self.next_latched = address;
        let byte = |offset: u16| self.bytes[usize::from(address.wrapping_add(offset))];
        // Plain code is ROM. `JSR` fetches its last byte after its pushes, which may have overwritten it on
        // the stack.
        let on_stack = |offset: u16| address.wrapping_add(offset) >> 8 == 1;
        (self.is_plain && !on_stack(0) && !on_stack(2)).then(|| [byte(0), byte(1), byte(2)])
    }

    /// Records each byte that the CPU uses as a read.
    fn latch(&mut self, byte: u8) {
        self.accesses.push(Access::Read { cycle: self.cycles, address: self.next_latched, value: byte });
        self.next_latched = self.next_latched.wrapping_add(1);
    }

    fn tick(&mut self, cycles: u32) {
        self.cycles += cycles;
    }
}
