/// The devices that the CPU is connected to. Dispatch is static: the console has one bus, tests use flat RAM.
pub trait Bus {
    /// Reads a byte, with all side effects of the read.
    fn read(&mut self, address: u16) -> u8;

    /// Writes a byte.
    fn write(&mut self, address: u16, value: u8);

    /// Reads a byte of the zero page. Equivalent to [`read`](Self::read); a bus may implement it faster.
    fn read_zero_page(&mut self, address: u8) -> u8 {
        self.read(address.into())
    }

    /// Writes a byte of the zero page. Equivalent to [`write`](Self::write); a bus may implement it faster.
    fn write_zero_page(&mut self, address: u8, value: u8) {
        self.write(address.into(), value);
    }

    /// Returns the three bytes from `address` on if reading them has no effect except putting each on the bus.
    /// The CPU then takes an instruction from them and reports every byte that it uses to
    /// [`latch`](Self::latch).
    fn plain_code(&mut self, address: u16) -> Option<[u8; 3]> {
        let _ = address;
        None
    }

    /// Puts a byte from [`plain_code`](Self::plain_code) on the bus.
    fn latch(&mut self, byte: u8) {
        let _ = byte;
    }

    /// Writes a byte directly after another write of the same instruction (the second and third push of `JSR`
    /// and `BRK`). The console's WSYNC cannot hold the CPU there.
    fn write_again(&mut self, address: u16, value: u8) {
        self.write(address, value);
    }

    /// Returns true if [`Cpu::run`](super::Cpu::run) must return after the current instruction.
    fn stops(&self) -> bool {
        false
    }

    /// Advances the time by `cycles` CPU cycles.
    fn tick(&mut self, cycles: u32);
}
