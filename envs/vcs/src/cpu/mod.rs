//! The 6507: an NMOS 6502 with 13 address lines and no interrupts.
//!
//! Timing is that of whole instructions: the opcode is fetched, all base cycles pass, and every further access
//! happens at the end of the instruction. No dummy accesses are made but those noted at their instruction.

mod alu;
mod bus;
mod opcodes;

use serde::{Deserialize, Serialize};

pub use bus::Bus;
pub use opcodes::{Mode, OPCODES, Opcode, Operation};

/// Bits of the status byte as it is pushed.
mod status {
    pub(super) const CARRY: u8 = 0x01;
    pub(super) const ZERO: u8 = 0x02;
    pub(super) const INTERRUPT: u8 = 0x04;
    pub(super) const DECIMAL: u8 = 0x08;
    pub(super) const OVERFLOW: u8 = 0x40;
    pub(super) const NEGATIVE: u8 = 0x80;
    /// Break and the unused bit 5 have no storage: both are always pushed as 1.
    pub(super) const ALWAYS: u8 = 0x30;
}

/// The stack page; the console decodes it to TIA (below $80) and RAM.
const STACK: u16 = 0x0100;
/// Where `BRK` finds its target.
const BREAK_VECTOR: u16 = 0xFFFE;
/// Where a reset finds its target.
const RESET_VECTOR: u16 = 0xFFFC;

/// The registers of the CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Accumulator.
    pub a: u8,
    /// Index register X.
    pub x: u8,
    /// Index register Y.
    pub y: u8,
    /// Stack pointer.
    pub s: u8,
    /// Program counter.
    pub pc: u16,
    /// Carry flag.
    pub carry: bool,
    /// Decimal mode.
    pub decimal: bool,
    /// Interrupt disable; without effect, since nothing interrupts a 6507.
    pub interrupt: bool,
    /// Overflow flag.
    pub overflow: bool,
    /// The negative flag is bit 7 of this byte.
    negative: u8,
    /// The zero flag is set when this byte is 0.
    zero: u8,
    /// A JAM opcode was executed: nothing runs until the next reset.
    pub jammed: bool,
}

impl Cpu {
    /// Clears the registers and loads the program counter from the reset vector, low byte first.
    pub fn reset(&mut self, bus: &mut impl Bus) {
        *self = Self { s: 0xFF, zero: 1, ..Self::default() };
        self.pc = Self::read_word(bus, RESET_VECTOR);
    }

    /// The status byte as `PHP` pushes it.
    pub fn status(&self) -> u8 {
        let bit = |set: bool, mask: u8| if set { mask } else { 0 };
        status::ALWAYS
            | bit(self.carry, status::CARRY)
            | bit(self.zero == 0, status::ZERO)
            | bit(self.interrupt, status::INTERRUPT)
            | bit(self.decimal, status::DECIMAL)
            | bit(self.overflow, status::OVERFLOW)
            | (self.negative & status::NEGATIVE)
    }

    /// Sets the flags from a status byte as `PLP` does.
    pub fn set_status(&mut self, byte: u8) {
        self.carry = byte & status::CARRY != 0;
        self.zero = !byte & status::ZERO;
        self.interrupt = byte & status::INTERRUPT != 0;
        self.decimal = byte & status::DECIMAL != 0;
        self.overflow = byte & status::OVERFLOW != 0;
        self.negative = byte & status::NEGATIVE;
    }

    /// Executes up to `instructions` instructions; fewer if the bus asks for a stop or the CPU is jammed.
    pub fn run(&mut self, bus: &mut impl Bus, instructions: u32) {
        for _ in 0..instructions {
            if self.jammed {
                return;
            }
            match bus.plain_code(self.pc) {
                Some(bytes) => self.execute_next(bus, &mut Prefetched(bytes)),
                None => self.execute_next(bus, &mut Live),
            }
            if bus.stops() {
                return;
            }
        }
    }

    /// Executes one instruction. A jammed CPU does nothing.
    pub fn step(&mut self, bus: &mut impl Bus) {
        self.run(bus, 1);
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn execute_next<B: Bus>(&mut self, bus: &mut B, code: &mut impl Code) {
        let opcode = code.next(self, bus);
        macro_rules! dispatch {
            ($($code:literal $operation:ident $mode:ident $cycles:literal),* $(,)?) => {
                match opcode {
                    $($code => {
                        bus.tick($cycles);
                        self.execute(bus, code, Operation::$operation, Mode::$mode);
                    })*
                }
            };
        }
        opcodes::opcodes!(dispatch);
    }

    /// Inlined into every arm of the dispatcher, where both arguments are constants and the matches vanish.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn execute(&mut self, bus: &mut impl Bus, code: &mut impl Code, operation: Operation, mode: Mode) {
        use Operation as O;
        match operation {
            O::Lda => self.a = self.load(bus, code, mode),
            O::Ldx => self.x = self.load(bus, code, mode),
            O::Ldy => self.y = self.load(bus, code, mode),
            O::Sta => self.store(bus, code, mode, self.a),
            O::Stx => self.store(bus, code, mode, self.x),
            O::Sty => self.store(bus, code, mode, self.y),
            O::Tax => self.x = self.flags(self.a),
            O::Tay => self.y = self.flags(self.a),
            O::Tsx => self.x = self.flags(self.s),
            O::Txa => self.a = self.flags(self.x),
            O::Tya => self.a = self.flags(self.y),
            O::Txs => self.s = self.x,

            O::And => self.and(bus, code, mode),
            O::Ora => {
                let m = self.operand(bus, code, mode);
                self.a = self.flags(self.a | m);
            }
            O::Eor => {
                let m = self.operand(bus, code, mode);
                self.a = self.flags(self.a ^ m);
            }
            O::Bit => {
                let m = self.operand(bus, code, mode);
                self.negative = m;
                self.overflow = m & 0x40 != 0;
                self.zero = self.a & m;
            }
            O::Adc => {
                let m = self.operand(bus, code, mode);
                self.adc(m);
            }
            O::Sbc => {
                let m = self.operand(bus, code, mode);
                self.sbc(m);
            }
            O::Cmp => self.compare(bus, code, mode, self.a),
            O::Cpx => self.compare(bus, code, mode, self.x),
            O::Cpy => self.compare(bus, code, mode, self.y),

            O::Inx => self.x = self.flags(self.x.wrapping_add(1)),
            O::Iny => self.y = self.flags(self.y.wrapping_add(1)),
            O::Dex => self.x = self.flags(self.x.wrapping_sub(1)),
            O::Dey => self.y = self.flags(self.y.wrapping_sub(1)),
            O::Inc => _ = self.modify(bus, code, mode, Self::inc),
            O::Dec => _ = self.modify(bus, code, mode, Self::dec),
            O::Asl => _ = self.modify(bus, code, mode, Self::asl),
            O::Lsr => _ = self.modify(bus, code, mode, Self::lsr),
            O::Rol => _ = self.modify(bus, code, mode, Self::rol),
            O::Ror => _ = self.modify(bus, code, mode, Self::ror),

            O::Bpl => self.branch(bus, code, self.negative & 0x80 == 0),
            O::Bmi => self.branch(bus, code, self.negative & 0x80 != 0),
            O::Bvc => self.branch(bus, code, !self.overflow),
            O::Bvs => self.branch(bus, code, self.overflow),
            O::Bcc => self.branch(bus, code, !self.carry),
            O::Bcs => self.branch(bus, code, self.carry),
            O::Bne => self.branch(bus, code, self.zero != 0),
            O::Beq => self.branch(bus, code, self.zero == 0),

            O::Clc => self.carry = false,
            O::Sec => self.carry = true,
            O::Cld => self.decimal = false,
            O::Sed => self.decimal = true,
            O::Cli => self.interrupt = false,
            O::Sei => self.interrupt = true,
            O::Clv => self.overflow = false,

            O::Jmp => self.jmp(bus, code, mode),
            O::Jsr => self.jsr(bus, code),
            O::Rts => self.rts(bus),
            O::Rti => self.rti(bus),
            O::Brk => self.brk(bus, code),
            O::Pha => self.push(bus, self.a),
            O::Php => self.push(bus, self.status()),
            O::Pla => {
                self.peek_stack(bus);
                let value = self.pull(bus);
                self.a = self.flags(value);
            }
            O::Plp => {
                self.peek_stack(bus);
                let value = self.pull(bus);
                self.set_status(value);
            }
            O::Nop => {
                if mode != Mode::Implied {
                    self.operand(bus, code, mode);
                }
            }
            O::Jam => self.jammed = true,
            _ => self.execute_undocumented(bus, code, operation, mode),
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn execute_undocumented(
        &mut self,
        bus: &mut impl Bus,
        code: &mut impl Code,
        operation: Operation,
        mode: Mode,
    ) {
        use Operation as O;
        /// The bits that the chip's analogue feedback adds to the accumulator in ANE and LXA.
        const FEEDBACK: u8 = 0xEE;
        match operation {
            O::Slo => {
                let m = self.modify(bus, code, mode, Self::asl);
                self.a = self.flags(self.a | m);
            }
            O::Rla => {
                let m = self.modify(bus, code, mode, Self::rol);
                self.a = self.flags(self.a & m);
            }
            O::Sre => {
                let m = self.modify(bus, code, mode, Self::lsr);
                self.a = self.flags(self.a ^ m);
            }
            O::Rra => {
                let m = self.modify(bus, code, mode, Self::ror);
                self.adc(m);
            }
            O::Dcp => {
                let m = self.modify(bus, code, mode, Self::dec);
                self.compare_with(self.a, m);
            }
            O::Isc => {
                let m = self.modify(bus, code, mode, Self::inc);
                self.sbc(m);
            }
            O::Sax => self.store(bus, code, mode, self.a & self.x),
            O::Lax => {
                self.a = self.load(bus, code, mode);
                self.x = self.a;
            }
            O::Anc => {
                self.and(bus, code, mode);
                self.carry = self.a & 0x80 != 0;
            }
            O::Alr => {
                self.and(bus, code, mode);
                self.a = self.lsr(self.a);
            }
            O::Arr => self.arr(bus, code, mode),
            O::Sbx => {
                let m = self.operand(bus, code, mode);
                let ax = self.a & self.x;
                self.carry = ax >= m;
                self.x = self.flags(ax.wrapping_sub(m));
            }
            O::Ane => {
                let m = self.operand(bus, code, mode);
                self.a = self.flags((self.a | FEEDBACK) & self.x & m);
            }
            O::Lxa => {
                let m = self.operand(bus, code, mode);
                self.a = self.flags((self.a | FEEDBACK) & m);
                self.x = self.a;
            }
            O::Las => {
                let m = self.operand(bus, code, mode);
                self.s = self.flags(self.s & m);
                self.a = self.s;
                self.x = self.s;
            }
            O::Sha => self.store_and_high(bus, code, mode, self.a & self.x),
            O::Shx => self.store_and_high(bus, code, mode, self.x),
            O::Shy => self.store_and_high(bus, code, mode, self.y),
            O::Shs => {
                self.s = self.a & self.x;
                self.store_and_high(bus, code, mode, self.s);
            }
            _ => unreachable!("a documented operation"),
        }
    }

    // Memory.

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn next_word(&mut self, bus: &mut impl Bus, code: &mut impl Code) -> u16 {
        let low = code.next(self, bus);
        let high = code.next(self, bus);
        u16::from_le_bytes([low, high])
    }

    /// A word whose high byte lies at the following address, across pages too: the pointer at $FF takes its high
    /// byte from $0100 (which is the TIA), as in the reference.
    fn read_word(bus: &mut impl Bus, address: u16) -> u16 {
        let low = bus.read(address);
        let high = bus.read(address.wrapping_add(1));
        u16::from_le_bytes([low, high])
    }

    /// The operand's address. `crossing` is the cycles charged when indexing leaves the page: 1 for instructions
    /// that only read, 0 for those that write.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn address(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode, crossing: u32) -> u16 {
        match mode {
            Mode::ZeroPage => code.next(self, bus).into(),
            Mode::ZeroPageX => code.next(self, bus).wrapping_add(self.x).into(),
            Mode::ZeroPageY => code.next(self, bus).wrapping_add(self.y).into(),
            Mode::Absolute => self.next_word(bus, code),
            Mode::AbsoluteX => {
                let base = self.next_word(bus, code);
                index(bus, base, self.x, crossing)
            }
            Mode::AbsoluteY => {
                let base = self.next_word(bus, code);
                index(bus, base, self.y, crossing)
            }
            Mode::Indirect => {
                let pointer = self.next_word(bus, code);
                let low = bus.read(pointer);
                // The chip does not carry into the pointer's high byte.
                let high = bus.read((pointer & 0xFF00) | (pointer.wrapping_add(1) & 0x00FF));
                u16::from_le_bytes([low, high])
            }
            Mode::IndirectX => {
                let pointer = code.next(self, bus).wrapping_add(self.x);
                Self::read_word(bus, pointer.into())
            }
            Mode::IndirectY => {
                let pointer = code.next(self, bus);
                let base = Self::read_word(bus, pointer.into());
                index(bus, base, self.y, crossing)
            }
            Mode::Implied | Mode::Accumulator | Mode::Immediate | Mode::Relative => {
                unreachable!("the mode has no address")
            }
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn operand(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode) -> u8 {
        if mode == Mode::Immediate {
            return code.next(self, bus);
        }
        let address = self.address(bus, code, mode, 1);
        take(bus, mode, address)
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn load(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode) -> u8 {
        let value = self.operand(bus, code, mode);
        self.flags(value)
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn store(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode, value: u8) {
        let address = self.address(bus, code, mode, 0);
        put(bus, mode, address, value);
    }

    /// The unstable stores SHA, SHX, SHY and SHS: the value is and-ed with the final address's high byte plus one.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn store_and_high(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode, value: u8) {
        let address = self.address(bus, code, mode, 0);
        let high = (address >> 8) as u8;
        bus.write(address, value & high.wrapping_add(1));
    }

    /// Read, modify, write; returns the written value.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn modify(
        &mut self,
        bus: &mut impl Bus,
        code: &mut impl Code,
        mode: Mode,
        change: fn(&mut Self, u8) -> u8,
    ) -> u8 {
        if mode == Mode::Accumulator {
            self.a = change(self, self.a);
            return self.a;
        }
        let address = self.address(bus, code, mode, 0);
        let value = take(bus, mode, address);
        let changed = change(self, value);
        put(bus, mode, address, changed);
        changed
    }

    // Arithmetic.

    #[inline]
    fn flags(&mut self, value: u8) -> u8 {
        self.negative = value;
        self.zero = value;
        value
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn and(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode) {
        let m = self.operand(bus, code, mode);
        self.a = self.flags(self.a & m);
    }

    fn adc(&mut self, m: u8) {
        let add = if self.decimal { alu::add_decimal } else { alu::add };
        self.take_sum(add(self.a, m, self.carry));
    }

    fn sbc(&mut self, m: u8) {
        let subtract = if self.decimal { alu::subtract_decimal } else { alu::subtract };
        self.take_sum(subtract(self.a, m, self.carry));
    }

    fn take_sum(&mut self, sum: alu::Sum) {
        self.a = self.flags(sum.value);
        self.carry = sum.carry;
        self.overflow = sum.overflow;
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn compare(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode, register: u8) {
        let m = self.operand(bus, code, mode);
        self.compare_with(register, m);
    }

    fn compare_with(&mut self, register: u8, m: u8) {
        self.carry = register >= m;
        self.flags(register.wrapping_sub(m));
    }

    fn inc(&mut self, value: u8) -> u8 {
        self.flags(value.wrapping_add(1))
    }

    fn dec(&mut self, value: u8) -> u8 {
        self.flags(value.wrapping_sub(1))
    }

    fn asl(&mut self, value: u8) -> u8 {
        self.carry = value & 0x80 != 0;
        self.flags(value << 1)
    }

    fn lsr(&mut self, value: u8) -> u8 {
        self.carry = value & 0x01 != 0;
        self.flags(value >> 1)
    }

    fn rol(&mut self, value: u8) -> u8 {
        let carry_in = u8::from(self.carry);
        self.carry = value & 0x80 != 0;
        self.flags(value << 1 | carry_in)
    }

    fn ror(&mut self, value: u8) -> u8 {
        let carry_in = u8::from(self.carry) << 7;
        self.carry = value & 0x01 != 0;
        self.flags(value >> 1 | carry_in)
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn arr(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode) {
        let v = self.a & self.operand(bus, code, mode);
        let rotated = v >> 1 | u8::from(self.carry) << 7;
        self.a = self.flags(rotated);
        if !self.decimal {
            self.carry = rotated & 0x40 != 0;
            self.overflow = (rotated >> 6 ^ rotated >> 5) & 1 != 0;
            return;
        }
        self.overflow = (v ^ rotated) & 0x40 != 0;
        if (v & 0x0F) + (v & 0x01) > 5 {
            self.a = self.a & 0xF0 | self.a.wrapping_add(6) & 0x0F;
        }
        self.carry = u16::from(v & 0xF0) + u16::from(v & 0x10) > 0x50;
        if self.carry {
            self.a = self.a.wrapping_add(0x60);
        }
    }

    // Control flow and stack.

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn branch(&mut self, bus: &mut impl Bus, code: &mut impl Code, taken: bool) {
        let distance = code.next(self, bus) as i8;
        if taken {
            let target = self.pc.wrapping_add_signed(distance.into());
            bus.tick(if same_page(target, self.pc) { 1 } else { 2 });
            self.pc = target;
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn jmp(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode) {
        self.pc = self.address(bus, code, mode, 0);
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn jsr(&mut self, bus: &mut impl Bus, code: &mut impl Code) {
        let low = code.next(self, bus);
        self.peek_stack(bus);
        let [return_high, return_low] = self.pc.to_be_bytes();
        self.push(bus, return_high);
        self.push_again(bus, return_low);
        let high = code.next(self, bus);
        self.pc = u16::from_le_bytes([low, high]);
    }

    fn rts(&mut self, bus: &mut impl Bus) {
        self.peek_stack(bus);
        self.pc = self.pull_word(bus);
        Live.next(self, bus);
    }

    fn rti(&mut self, bus: &mut impl Bus) {
        self.peek_stack(bus);
        let status = self.pull(bus);
        self.set_status(status);
        self.pc = self.pull_word(bus);
    }

    /// A software interrupt; pong and breakout use it as a two-byte call. Decimal mode stays as it is.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn brk(&mut self, bus: &mut impl Bus, code: &mut impl Code) {
        code.next(self, bus);
        let [high, low] = self.pc.to_be_bytes();
        self.push(bus, high);
        self.push_again(bus, low);
        self.push_again(bus, self.status());
        self.interrupt = true;
        self.pc = Self::read_word(bus, BREAK_VECTOR);
    }

    /// The read of the stack page that pulls and `JSR` make before they move the stack pointer.
    fn peek_stack(&self, bus: &mut impl Bus) {
        bus.read(STACK | u16::from(self.s));
    }

    fn push(&mut self, bus: &mut impl Bus, value: u8) {
        bus.write(STACK | u16::from(self.s), value);
        self.s = self.s.wrapping_sub(1);
    }

    fn push_again(&mut self, bus: &mut impl Bus, value: u8) {
        bus.write_again(STACK | u16::from(self.s), value);
        self.s = self.s.wrapping_sub(1);
    }

    fn pull(&mut self, bus: &mut impl Bus) -> u8 {
        self.s = self.s.wrapping_add(1);
        bus.read(STACK | u16::from(self.s))
    }

    fn pull_word(&mut self, bus: &mut impl Bus) -> u16 {
        let low = self.pull(bus);
        let high = self.pull(bus);
        u16::from_le_bytes([low, high])
    }
}

/// Where the bytes of an instruction come from.
trait Code {
    /// The byte at the program counter, which moves on.
    fn next(&mut self, cpu: &mut Cpu, bus: &mut impl Bus) -> u8;
}

/// Read from the bus one by one.
struct Live;

impl Code for Live {
    #[inline]
    fn next(&mut self, cpu: &mut Cpu, bus: &mut impl Bus) -> u8 {
        let byte = bus.read(cpu.pc);
        cpu.pc = cpu.pc.wrapping_add(1);
        byte
    }
}

/// Known beforehand, because reading them does nothing but put them on the bus.
struct Prefetched([u8; 3]);

impl Code for Prefetched {
    #[inline(always)]
    fn next(&mut self, cpu: &mut Cpu, bus: &mut impl Bus) -> u8 {
        let [byte, ..] = self.0;
        self.0.rotate_left(1);
        bus.latch(byte);
        cpu.pc = cpu.pc.wrapping_add(1);
        byte
    }
}

fn same_page(a: u16, b: u16) -> bool {
    (a ^ b) & 0xFF00 == 0
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn take(bus: &mut impl Bus, mode: Mode, address: u16) -> u8 {
    if mode.is_zero_page() { bus.read_zero_page(address as u8) } else { bus.read(address) }
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn put(bus: &mut impl Bus, mode: Mode, address: u16, value: u8) {
    if mode.is_zero_page() { bus.write_zero_page(address as u8, value) } else { bus.write(address, value) }
}

#[inline]
fn index(bus: &mut impl Bus, base: u16, register: u8, crossing: u32) -> u16 {
    let address = base.wrapping_add(register.into());
    if crossing > 0 && !same_page(address, base) {
        bus.tick(crossing);
    }
    address
}
