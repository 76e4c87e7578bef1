/// What the CPU is wired to. Dispatch is static: the console has one bus, tests use flat RAM.
pub trait Bus {
    /// Reads a byte, with all side effects that reading has.
    fn read(&mut self, address: u16) -> u8;

    /// Writes a byte.
    fn write(&mut self, address: u16, value: u8);

    /// Reads a byte of the zero page; the same as [`read`](Self::read), but a bus may do it faster.
    fn read_zero_page(&mut self, address: u8) -> u8 {
        self.read(address.into())
    }

    /// Writes a byte of the zero page; the same as [`write`](Self::write), but a bus may do it faster.
    fn write_zero_page(&mut self, address: u8, value: u8) {
        self.write(address.into(), value);
    }

    /// The three bytes from `address` on, if reading them has no effect but that each is on the bus in turn. The CPU
    /// then takes an instruction from them and reports every byte that it uses to [`latch`](Self::latch).
    fn plain_code(&mut self, address: u16) -> Option<[u8; 3]> {
        let _ = address;
        None
    }

    /// A byte of [`plain_code`](Self::plain_code) was on the bus.
    fn latch(&mut self, byte: u8) {
        let _ = byte;
    }

    /// A write that directly follows another one within an instruction (the second and third push of `JSR` and
    /// `BRK`). The console's WSYNC cannot hold the CPU there.
    fn write_again(&mut self, address: u16, value: u8) {
        self.write(address, value);
    }

    /// Whether [`Cpu::run`](super::Cpu::run) is to return after the present instruction.
    fn stops(&self) -> bool {
        false
    }

    /// Lets `cycles` CPU cycles pass.
    fn tick(&mut self, cycles: u32);
}
