//! Execution of all operations.

use super::code::Code;
use super::{Bus, Cpu, Mode, Operation, opcodes};

impl Cpu {
    #[inline(always)]
    pub(super) fn execute_next<B: Bus>(&mut self, bus: &mut B, code: &mut impl Code) {
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

    /// Inlined into every arm of the dispatcher, where both arguments are constants and the matches
    /// disappear.
    #[inline(always)]
    pub(super) fn execute(
        &mut self,
        bus: &mut impl Bus,
        code: &mut impl Code,
        operation: Operation,
        mode: Mode,
    ) {
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
    pub(super) fn execute_undocumented(
        &mut self,
        bus: &mut impl Bus,
        code: &mut impl Code,
        operation: Operation,
        mode: Mode,
    ) {
        use Operation as O;
        /// Bits that the chip's analogue feedback sets in the accumulator for ANE and LXA.
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
}
