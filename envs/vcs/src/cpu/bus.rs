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

    /// A write that directly follows another one within an instruction (the second and third push of `JSR` and
    /// `BRK`). The console's WSYNC cannot hold the CPU there.
    fn write_again(&mut self, address: u16, value: u8) {
        self.write(address, value);
    }

    /// Lets `cycles` CPU cycles pass.
    fn tick(&mut self, cycles: u32);
}
