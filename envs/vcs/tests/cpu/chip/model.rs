//! A slow model of the 6507 that follows its datasheet and the notes on undocumented opcodes. It was written separately
//! from the emulator, so an error goes unnoticed only if both have it.
//!
//! The order of accesses is that of the reference emulator: opcode, all base cycles, operand bytes, the cycle
//! for crossing a page, the operand, the result.

use vcs::Bus;

use super::datasheet::Instruction;
use super::memory::Memory;

pub(crate) const N: u8 = 0x80;
pub(crate) const V: u8 = 0x40;
pub(crate) const D: u8 = 0x08;
pub(crate) const I: u8 = 0x04;
pub(crate) const Z: u8 = 0x02;
pub(crate) const C: u8 = 0x01;

/// The registers. Bits 4 and 5 of `p` do not exist and are 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    pub(crate) a: u8,
    pub(crate) x: u8,
    pub(crate) y: u8,
    pub(crate) s: u8,
    pub(crate) p: u8,
    pub(crate) pc: u16,
}

pub(crate) struct Model<'a> {
    pub(crate) registers: Registers,
    pub(crate) memory: &'a mut Memory,
    pub(crate) jammed: bool,
    pushed: bool,
}

impl<'a> Model<'a> {
    pub(crate) fn new(registers: Registers, memory: &'a mut Memory) -> Self {
        Self { registers, memory, jammed: false, pushed: false }
    }

    /// Executes the instruction at PC.
    pub(crate) fn step(&mut self, datasheet: &[Instruction; 256]) {
        let instruction = datasheet[usize::from(self.next_byte())];
        self.memory.tick(instruction.cycles);
        self.execute(instruction);
    }

    fn next_byte(&mut self) -> u8 {
        let byte = self.memory.read(self.registers.pc);
        self.registers.pc = self.registers.pc.wrapping_add(1);
        byte
    }

    fn next_word(&mut self) -> u16 {
        let low = self.next_byte();
        let high = self.next_byte();
        u16::from(high) * 0x100 + u16::from(low)
    }

    /// Returns the address that the operand bytes specify.
    fn address(&mut self, instruction: Instruction) -> u16 {
        let Registers { x, y, .. } = self.registers;
        match instruction.mode {
            "zp" => self.next_byte().into(),
            // Indexing stays in page zero.
            "zp,x" => self.next_byte().wrapping_add(x).into(),
            "zp,y" => self.next_byte().wrapping_add(y).into(),
            "abs" => self.next_word(),
            "abs,x" => {
                let base = self.next_word();
                self.indexed(instruction, base, x)
            }
            "abs,y" => {
                let base = self.next_word();
                self.indexed(instruction, base, y)
            }
            "(zp,x)" => {
                let pointer = self.next_byte().wrapping_add(x);
                self.pointed(pointer)
            }
            "(zp),y" => {
                let pointer = self.next_byte();
                let base = self.pointed(pointer);
                self.indexed(instruction, base, y)
            }
            mode => panic!("{mode} has no address"),
        }
    }

    /// Reads a pointer in the zero page. The reference reads a pointer at $FF from $FF and $100, the chip
    /// from $FF and $00.
    fn pointed(&mut self, pointer: u8) -> u16 {
        let low = self.memory.read(u16::from(pointer));
        let high = self.memory.read(u16::from(pointer) + 1);
        u16::from(high) * 0x100 + u16::from(low)
    }

    fn indexed(&mut self, instruction: Instruction, base: u16, index: u8) -> u16 {
        let address = base.wrapping_add(u16::from(index));
        if instruction.page_penalty && address / 0x100 != base / 0x100 {
            self.memory.tick(1);
        }
        address
    }

    /// Returns the instruction's operand.
    fn operand(&mut self, instruction: Instruction) -> u8 {
        match instruction.mode {
            "imm" => self.next_byte(),
            "acc" => self.registers.a,
            _ => {
                let address = self.address(instruction);
                self.memory.read(address)
            }
        }
    }

    fn store(&mut self, instruction: Instruction, value: u8) {
        let address = self.address(instruction);
        self.memory.write(address, value);
    }

    /// Stores `value` AND the high byte of the address plus one.
    fn store_with_high(&mut self, instruction: Instruction, value: u8) {
        let address = self.address(instruction);
        self.memory.write(address, value & ((address / 0x100) as u8).wrapping_add(1));
    }

    /// Reads, changes and writes a byte, and returns the value written.
    fn change(&mut self, instruction: Instruction, change: impl FnOnce(&mut Self, u8) -> u8) -> u8 {
        if instruction.mode == "acc" {
            self.registers.a = change(self, self.registers.a);
            return self.registers.a;
        }
        let address = self.address(instruction);
        let value = self.memory.read(address);
        let changed = change(self, value);
        self.memory.write(address, changed);
        changed
    }

    pub(crate) fn flag(&self, flag: u8) -> bool {
        self.registers.p & flag != 0
    }

    pub(crate) fn set(&mut self, flag: u8, on: bool) {
        if on {
            self.registers.p |= flag;
        } else {
            self.registers.p &= !flag;
        }
    }

    /// Sets N and Z from `value`, and returns it.
    pub(crate) fn nz(&mut self, value: u8) -> u8 {
        self.set(N, value >= 0x80);
        self.set(Z, value == 0);
        value
    }

    fn compare(&mut self, register: u8, m: u8) {
        self.set(C, register >= m);
        self.nz(register.wrapping_sub(m));
    }

    fn stack(&self) -> u16 {
        0x0100 + u16::from(self.registers.s)
    }

    fn push(&mut self, byte: u8) {
        let address = self.stack();
        if self.pushed {
            self.memory.write_again(address, byte);
        } else {
            self.memory.write(address, byte);
        }
        self.pushed = true;
        self.registers.s = self.registers.s.wrapping_sub(1);
    }

    /// The read before a change of the stack pointer.
    fn peek_stack(&mut self) {
        self.memory.read(self.stack());
    }

    fn pull(&mut self) -> u8 {
        self.registers.s = self.registers.s.wrapping_add(1);
        self.memory.read(self.stack())
    }

    fn pull_word(&mut self) -> u16 {
        let low = self.pull();
        let high = self.pull();
        u16::from(high) * 0x100 + u16::from(low)
    }

    fn push_word(&mut self, word: u16) {
        self.push((word / 0x100) as u8);
        self.push((word % 0x100) as u8);
    }

    fn branch(&mut self, condition: bool) {
        let offset = i32::from(self.next_byte().cast_signed());
        if condition {
            let next = i32::from(self.registers.pc);
            let target = (next + offset).rem_euclid(0x1_0000);
            self.memory.tick(if target / 0x100 == next / 0x100 { 1 } else { 2 });
            self.registers.pc = target as u16;
        }
    }

    fn execute(&mut self, instruction: Instruction) {
        match instruction.mnemonic {
            "LDA" => self.registers.a = self.operand_nz(instruction),
            "LDX" => self.registers.x = self.operand_nz(instruction),
            "LDY" => self.registers.y = self.operand_nz(instruction),
            "STA" => self.store(instruction, self.registers.a),
            "STX" => self.store(instruction, self.registers.x),
            "STY" => self.store(instruction, self.registers.y),
            "TAX" => self.registers.x = self.nz(self.registers.a),
            "TAY" => self.registers.y = self.nz(self.registers.a),
            "TXA" => self.registers.a = self.nz(self.registers.x),
            "TYA" => self.registers.a = self.nz(self.registers.y),
            "TSX" => self.registers.x = self.nz(self.registers.s),
            "TXS" => self.registers.s = self.registers.x,
            "INX" => self.registers.x = self.nz(self.registers.x.wrapping_add(1)),
            "INY" => self.registers.y = self.nz(self.registers.y.wrapping_add(1)),
            "DEX" => self.registers.x = self.nz(self.registers.x.wrapping_sub(1)),
            "DEY" => self.registers.y = self.nz(self.registers.y.wrapping_sub(1)),
            "CLC" => self.set(C, false),
            "SEC" => self.set(C, true),
            "CLD" => self.set(D, false),
            "SED" => self.set(D, true),
            "CLI" => self.set(I, false),
            "SEI" => self.set(I, true),
            "CLV" => self.set(V, false),
            "BPL" => self.branch(!self.flag(N)),
            "BMI" => self.branch(self.flag(N)),
            "BVC" => self.branch(!self.flag(V)),
            "BVS" => self.branch(self.flag(V)),
            "BCC" => self.branch(!self.flag(C)),
            "BCS" => self.branch(self.flag(C)),
            "BNE" => self.branch(!self.flag(Z)),
            "BEQ" => self.branch(self.flag(Z)),
            "JAM" => self.jammed = true,
            "JMP" | "JSR" | "RTS" | "RTI" | "BRK" | "PHA" | "PHP" | "PLA" | "PLP" => {
                self.jump_or_stack(instruction);
            }
            "ASL" | "LSR" | "ROL" | "ROR" | "INC" | "DEC" | "SLO" | "SRE" | "RLA" | "RRA" | "ISC" | "DCP" => {
                self.read_modify_write(instruction);
            }
            "SAX" => self.store(instruction, self.registers.a & self.registers.x),
            "SHA" => self.store_with_high(instruction, self.registers.a & self.registers.x),
            "SHX" => self.store_with_high(instruction, self.registers.x),
            "SHY" => self.store_with_high(instruction, self.registers.y),
            "SHS" => {
                self.registers.s = self.registers.a & self.registers.x;
                self.store_with_high(instruction, self.registers.s);
            }
            "NOP" if instruction.mode == "imp" => {}
            _ => self.read_and_compute(instruction),
        }
    }

    fn operand_nz(&mut self, instruction: Instruction) -> u8 {
        let m = self.operand(instruction);
        self.nz(m)
    }

    fn jump_or_stack(&mut self, instruction: Instruction) {
        match (instruction.mnemonic, instruction.mode) {
            ("JMP", "abs") => self.registers.pc = self.next_word(),
            ("JMP", _) => {
                // The pointer's high byte comes from the same page.
                let pointer = self.next_word();
                let low = self.memory.read(pointer);
                let high =
                    self.memory.read(if pointer % 0x100 == 0xFF { pointer - 0xFF } else { pointer + 1 });
                self.registers.pc = u16::from(high) * 0x100 + u16::from(low);
            }
            ("JSR", _) => {
                // The address pushed is that of the instruction's last byte.
                let low = self.next_byte();
                self.peek_stack();
                self.push_word(self.registers.pc);
                let high = self.next_byte();
                self.registers.pc = u16::from(high) * 0x100 + u16::from(low);
            }
            ("RTS", _) => {
                self.peek_stack();
                self.registers.pc = self.pull_word();
                self.next_byte();
            }
            ("RTI", _) => {
                self.peek_stack();
                self.registers.p = self.pull() | 0x30;
                self.registers.pc = self.pull_word();
            }
            ("BRK", _) => {
                self.next_byte();
                self.push_word(self.registers.pc);
                self.push(self.registers.p);
                self.set(I, true);
                let low = self.memory.read(0xFFFE);
                let high = self.memory.read(0xFFFF);
                self.registers.pc = u16::from(high) * 0x100 + u16::from(low);
            }
            ("PHA", _) => self.push(self.registers.a),
            ("PHP", _) => self.push(self.registers.p),
            ("PLA", _) => {
                self.peek_stack();
                let byte = self.pull();
                self.registers.a = self.nz(byte);
            }
            ("PLP", _) => {
                self.peek_stack();
                self.registers.p = self.pull() | 0x30;
            }
            other => panic!("{other:?}"),
        }
    }

    fn read_modify_write(&mut self, instruction: Instruction) {
        let shift_or_count = match instruction.mnemonic {
            "SLO" => "ASL",
            "SRE" => "LSR",
            "RLA" => "ROL",
            "RRA" => "ROR",
            "ISC" => "INC",
            "DCP" => "DEC",
            plain => plain,
        };
        let m = self.change(instruction, |model, m| {
            let carry_in = u8::from(model.flag(C));
            let changed = match shift_or_count {
                "ASL" => m << 1,
                "ROL" => m << 1 | carry_in,
                "LSR" => m >> 1,
                "ROR" => m >> 1 | carry_in << 7,
                "INC" => m.wrapping_add(1),
                "DEC" => m.wrapping_sub(1),
                other => panic!("{other}"),
            };
            match shift_or_count {
                "ASL" | "ROL" => model.set(C, m >= 0x80),
                "LSR" | "ROR" => model.set(C, m % 2 == 1),
                _ => {}
            }
            model.nz(changed)
        });
        match instruction.mnemonic {
            "SLO" => self.registers.a = self.nz(self.registers.a | m),
            "SRE" => self.registers.a = self.nz(self.registers.a ^ m),
            "RLA" => self.registers.a = self.nz(self.registers.a & m),
            "RRA" => self.add(m),
            "ISC" => self.subtract(m),
            "DCP" => self.compare(self.registers.a, m),
            _ => {}
        }
    }

    fn read_and_compute(&mut self, instruction: Instruction) {
        let m = self.operand(instruction);
        let Registers { a, x, y, s, .. } = self.registers;
        match instruction.mnemonic {
            "ADC" => self.add(m),
            "SBC" => self.subtract(m),
            "AND" => self.registers.a = self.nz(a & m),
            "ORA" => self.registers.a = self.nz(a | m),
            "EOR" => self.registers.a = self.nz(a ^ m),
            "CMP" => self.compare(a, m),
            "CPX" => self.compare(x, m),
            "CPY" => self.compare(y, m),
            "BIT" => {
                self.set(Z, a & m == 0);
                self.set(N, m & 0x80 != 0);
                self.set(V, m & 0x40 != 0);
            }
            "NOP" => {}
            "LAX" => {
                self.registers.a = self.nz(m);
                self.registers.x = m;
            }
            "LAS" => {
                self.registers.a = self.nz(s & m);
                self.registers.x = s & m;
                self.registers.s = s & m;
            }
            "ANC" => {
                self.registers.a = self.nz(a & m);
                self.set(C, self.flag(N));
            }
            "ALR" => {
                self.set(C, a & m & 1 != 0);
                self.registers.a = self.nz((a & m) >> 1);
            }
            "ARR" => self.and_rotate(a & m),
            "ANE" => self.registers.a = self.nz((a | 0xEE) & x & m),
            "LXA" => {
                self.registers.a = self.nz((a | 0xEE) & m);
                self.registers.x = self.registers.a;
            }
            "SBX" => {
                self.compare(a & x, m);
                self.registers.x = (a & x).wrapping_sub(m);
            }
            other => panic!("{other}"),
        }
    }
}
