//! Operands: direct accesses to RAM and ROM, callbacks for chips, and the interpreter for special cases.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};

use super::callbacks;
use super::emit::{Emitter, TRUSTED, Unsupported};
use super::instruction::Instruction;
use crate::cart::{Cartridge, Mapping};
use crate::cpu::{Mode, Opcode};
use crate::machine::{Device, Machine, RAM};
use crate::riot::Riot;

/// Offset of RAM in the machine.
const RAM_OFFSET: i32 = offset_of!(Machine, ram) as i32;
/// Offset of the table of slices in the machine.
const WINDOW_OFFSET: i32 = (offset_of!(Machine, cartridge) + offset_of!(Cartridge, window)) as i32;

impl Emitter<'_> {
    /// Emits the read of the operand, and charges the cycle for crossing a page.
    pub(super) fn operand(&mut self, instruction: Instruction) -> Result<Value, Unsupported> {
        let Instruction { operand, opcode, .. } = instruction;
        Ok(match opcode.mode {
            Mode::Immediate => self.const_i8(operand as u8),
            Mode::ZeroPage | Mode::Absolute => self.read_known(operand, opcode.mode),
            Mode::ZeroPageX | Mode::ZeroPageY => {
                let address = self.zero_page_indexed(instruction)?;
                let open_bus = self.const_i32(operand.into());
                self.read_zero_page(address, open_bus)
            }
            Mode::AbsoluteX | Mode::AbsoluteY => {
                let index = self.index(opcode)?;
                self.read_table(operand, index)
            }
            Mode::IndirectX => {
                let pointer = self.zero_page_indexed(instruction)?;
                self.interpret_unless_stack(pointer, 0x80, 0xFE);
                let high = self.code.ins().iadd_imm_s(pointer, 1);
                let address = self.load_word(pointer, high);
                let open_bus = self.code.ins().ushr_imm_u(address, 8);
                self.interpret_unless_simple(address);
                self.read_simple(address, open_bus)
            }
            Mode::IndirectY => {
                let base = self.pointer(operand as u8);
                let open_bus = self.code.ins().ushr_imm_u(base, 8);
                let index = self.index(opcode)?;
                let address = self.indexed(base, index);
                self.interpret_unless_simple(address);
                self.charge_crossing(base, address);
                self.read_simple(address, open_bus)
            }
            Mode::Implied | Mode::Accumulator | Mode::Indirect | Mode::Relative => {
                return Err(Unsupported(opcode));
            }
        })
    }

    /// Emits the store of a register.
    pub(super) fn store(&mut self, instruction: Instruction, value: Value) -> Result<(), Unsupported> {
        let Instruction { operand, opcode, .. } = instruction;
        match opcode.mode {
            Mode::ZeroPage | Mode::Absolute => self.write_known(instruction, operand, value),
            Mode::ZeroPageX | Mode::ZeroPageY => {
                let address = self.zero_page_indexed(instruction)?;
                self.write_zero_page(instruction, address, value);
            }
            Mode::AbsoluteX | Mode::AbsoluteY => {
                let base = self.const_i32(operand.into());
                self.write_indexed(instruction, base, value)?;
            }
            Mode::IndirectY => {
                let base = self.pointer(operand as u8);
                self.write_indexed(instruction, base, value)?;
            }
            Mode::Implied
            | Mode::Accumulator
            | Mode::Immediate
            | Mode::Indirect
            | Mode::IndirectX
            | Mode::Relative => return Err(Unsupported(opcode)),
        }
        Ok(())
    }

    /// Emits a store to `base` plus the instruction's index, which must be below the cartridge.
    fn write_indexed(
        &mut self,
        instruction: Instruction,
        base: Value,
        value: Value,
    ) -> Result<(), Unsupported> {
        let index = self.index(instruction.opcode)?;
        let address = self.indexed(base, index);
        self.interpret_if_cartridge(address);
        self.write_low(instruction, address, value);
        Ok(())
    }

    /// Returns the index register of an instruction.
    fn index(&mut self, opcode: Opcode) -> Result<Value, Unsupported> {
        let register = match opcode.mode {
            Mode::ZeroPageX | Mode::AbsoluteX | Mode::IndirectX => self.registers.x,
            Mode::ZeroPageY | Mode::AbsoluteY | Mode::IndirectY => self.registers.y,
            Mode::Implied
            | Mode::Accumulator
            | Mode::Immediate
            | Mode::ZeroPage
            | Mode::Absolute
            | Mode::Indirect
            | Mode::Relative => return Err(Unsupported(opcode)),
        };
        Ok(self.code.use_var(register))
    }

    /// Returns the indexed address in the zero page, as a byte.
    pub(super) fn zero_page_indexed(&mut self, instruction: Instruction) -> Result<Value, Unsupported> {
        let index = self.index(instruction.opcode)?;
        Ok(self.code.ins().iadd_imm_s(index, i64::from(instruction.operand as i8)))
    }

    fn indexed(&mut self, base: Value, index: Value) -> Value {
        let index = self.zero_extend(index);
        let address = self.code.ins().iadd(base, index);
        self.code.ins().band_imm_s(address, 0xFFFF)
    }

    fn charge_crossing(&mut self, base: Value, address: Value) {
        let changed = self.code.ins().bxor(base, address);
        let page = self.code.ins().band_imm_s(changed, 0xFF00);
        let crossed = self.code.ins().icmp_imm_s(IntCC::NotEqual, page, 0);
        self.charge(crossed);
    }

    fn charge(&mut self, condition: Value) {
        let extra = self.zero_extend(condition);
        let cycles = self.code.use_var(self.registers.cycles);
        let cycles = self.code.ins().iadd(cycles, extra);
        self.code.def_var(self.registers.cycles, cycles);
    }

    /// Returns the word at `address` and the next one of the zero page, both in RAM.
    pub(super) fn pointer(&mut self, address: u8) -> Value {
        let offset = Self::ram_offset(address.into());
        let word = self.code.ins().load(I16, TRUSTED, self.machine, offset);
        self.code.ins().uextend(I32, word)
    }

    /// Returns the word from two addresses in RAM.
    pub(super) fn load_word(&mut self, low: Value, high: Value) -> Value {
        let (low, high) = (self.load_ram(low), self.load_ram(high));
        let (low, high) = (self.zero_extend(low), self.zero_extend(high));
        let high = self.code.ins().ishl_imm_u(high, 8);
        self.code.ins().bor(low, high)
    }

    /// Returns the offset in the machine of the byte of RAM at a fixed address.
    pub(super) fn ram_offset(address: u16) -> i32 {
        RAM_OFFSET + i32::from(address % RAM as u16)
    }

    /// Returns the byte of RAM at an address from $80 to $FF.
    pub(super) fn load_ram(&mut self, address: Value) -> Value {
        let host = self.host_address(address);
        self.code.ins().load(I8, TRUSTED, host, RAM_OFFSET - RAM as i32)
    }

    pub(super) fn store_ram(&mut self, address: Value, value: Value) {
        let host = self.host_address(address);
        self.code.ins().store(TRUSTED, value, host, RAM_OFFSET - RAM as i32);
    }

    /// Returns the host's address of the byte `address` of the machine. The byte of RAM at that address of the console
    /// is `RAM_OFFSET - RAM` bytes after it, as RAM begins at $80, which equals its size.
    fn host_address(&mut self, address: Value) -> Value {
        let offset = self.code.ins().uextend(I64, address);
        self.code.ins().iadd(self.machine, offset)
    }

    /// Emits a read of a fixed address. The last byte on the bus is the operand's last byte.
    pub(super) fn read_known(&mut self, address: u16, mode: Mode) -> Value {
        if let Some(byte) = self.unit.constant(self.rom, address) {
            return self.const_i8(byte);
        }
        if Device::at(address) == Device::Ram {
            return self.code.ins().load(I8, TRUSTED, self.machine, Self::ram_offset(address));
        }
        let is_riot = Device::at(address) == Device::Riot;
        if is_riot && matches!(address & 7, 4 | 6) {
            return self.read_timer(address);
        }
        let open_bus = if mode == Mode::ZeroPage { address as u8 } else { (address >> 8) as u8 };
        if Device::at(address) == Device::Tia && address & 0x08 != 0 {
            let (address, open_bus) = (self.const_i32(address.into()), self.const_i8(open_bus));
            return self.read_pin(address, open_bus);
        }
        let function = if is_riot { callbacks::read_riot } else { callbacks::read };
        let (address, open_bus) = (self.const_i32(address.into()), self.const_i32(open_bus.into()));
        self.read_chip(function, address, open_bus)
    }

    /// Emits a read of the timer's count. A callback reads it after the timer has expired.
    fn read_timer(&mut self, address: u16) -> Value {
        let [expired, after] = self.create_blocks();
        self.code.append_block_param(after, I8);
        let timer = self.code.ins().load(I8, TRUSTED, self.machine, riot_offset(Riot::TIMER));
        let timer = self.zero_extend(timer);
        let shift = self.code.ins().load(I8, TRUSTED, self.machine, riot_offset(Riot::SHIFT));
        let set_at = self.code.ins().load(I32, TRUSTED, self.machine, riot_offset(Riot::SET_AT));
        let now = self.now();
        let since_set = self.code.ins().isub(now, set_at);
        let since_start = self.code.ins().iadd_imm_s(since_set, -1);
        let intervals = self.code.ins().ushr(since_start, shift);
        let count = self.code.ins().isub(timer, intervals);
        let count = self.code.ins().iadd_imm_s(count, -1);
        let value = self.code.ins().ireduce(I8, count);
        let negative = self.code.ins().icmp_imm_s(IntCC::SignedLessThan, count, 0);
        self.code.ins().brif(negative, expired, &[], after, &[value.into()]);
        self.code.switch_to_block(expired);
        self.code.set_cold_block(expired);
        let (address, open_bus) = (self.const_i32(address.into()), self.const_i32(0));
        let value = self.read_chip(callbacks::read_riot, address, open_bus);
        self.code.ins().jump(after, &[value.into()]);
        self.code.switch_to_block(after);
        self.code.block_params(after)[0]
    }

    /// Emits a read of a register of the TIA from INPT0 on. Its highest bit is a pin.
    fn read_pin(&mut self, address: Value, open_bus: Value) -> Value {
        let pin = self.code.ins().band_imm_s(address, 0x07);
        let offset = self.code.ins().ishl_imm_u(pin, 2);
        let offset = self.code.ins().uextend(I64, offset);
        let entry = self.code.ins().iadd(self.machine, offset);
        let set_from = self.code.ins().load(I32, TRUSTED, entry, offset_of!(Machine, pins_set_from) as i32);
        let now = self.now();
        let set = self.code.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, now, set_from);
        let set = self.code.ins().ishl_imm_u(set, 7);
        let lower = self.code.ins().band_imm_s(open_bus, 0x3F);
        self.code.ins().bor(set, lower)
    }

    /// Emits a read of a chip's address known at run time only.
    fn read_any_chip(&mut self, address: Value, open_bus: Value) -> Value {
        let [pin, other, after] = self.create_blocks();
        self.code.append_block_param(after, I8);
        let lines = self.code.ins().band_imm_s(address, 0x88);
        let is_pin = self.code.ins().icmp_imm_s(IntCC::Equal, lines, 0x08);
        self.code.ins().brif(is_pin, pin, &[], other, &[]);
        self.code.switch_to_block(pin);
        let last = self.code.ins().ireduce(I8, open_bus);
        let value = self.read_pin(address, last);
        self.code.ins().jump(after, &[value.into()]);
        self.code.switch_to_block(other);
        let value = self.read_chip(callbacks::read, address, open_bus);
        self.code.ins().jump(after, &[value.into()]);
        self.code.switch_to_block(after);
        self.code.block_params(after)[0]
    }

    fn read_chip(&mut self, function: callbacks::Access, address: Value, open_bus: Value) -> Value {
        let value = self.call_access(function, address, open_bus);
        self.code.ins().ireduce(I8, value)
    }

    /// Emits a read of the zero page or the stack page: RAM or TIA.
    pub(super) fn read_zero_page(&mut self, address: Value, open_bus: Value) -> Value {
        let [ram, tia, after] = self.create_blocks();
        self.code.append_block_param(after, I8);
        let is_ram = self.code.ins().icmp_imm_s(IntCC::SignedLessThan, address, 0);
        self.code.ins().brif(is_ram, ram, &[], tia, &[]);
        self.code.switch_to_block(ram);
        let value = self.load_ram(address);
        self.code.ins().jump(after, &[value.into()]);
        self.code.switch_to_block(tia);
        let address = self.zero_extend(address);
        let value = self.read_any_chip(address, open_bus);
        self.code.ins().jump(after, &[value.into()]);
        self.code.switch_to_block(after);
        self.code.block_params(after)[0]
    }

    pub(super) fn write_known(&mut self, instruction: Instruction, address: u16, value: Value) {
        if Device::at(address) == Device::Ram {
            self.code.ins().store(TRUSTED, value, self.machine, Self::ram_offset(address));
            return;
        }
        if Device::at(address) == Device::Tia {
            return self.write_tia(instruction, address & 0x3F, value);
        }
        let (address, value) = (self.const_i32(address.into()), self.zero_extend(value));
        self.write_chip(instruction, callbacks::write, address, value);
    }

    /// Emits a write below the cartridge by a callback, which may hold the CPU until the end of the line.
    pub(super) fn write_chip(
        &mut self,
        instruction: Instruction,
        function: callbacks::Access,
        address: Value,
        value: Value,
    ) {
        let result = self.call_access(function, address, value);
        let cycles = self.code.ins().band_imm_s(result, i64::from(!callbacks::STOP));
        self.set_now(cycles);
        self.stop_if(result, instruction.next());
        self.interpret_next_if_late(instruction.next());
    }

    /// Emits a write of the zero page or the stack page: RAM or TIA.
    pub(super) fn write_zero_page(&mut self, instruction: Instruction, address: Value, value: Value) {
        let [ram, tia, after] = self.create_blocks();
        let is_ram = self.code.ins().icmp_imm_s(IntCC::SignedLessThan, address, 0);
        self.code.ins().brif(is_ram, ram, &[], tia, &[]);
        self.code.switch_to_block(ram);
        self.store_ram(address, value);
        self.code.ins().jump(after, &[]);
        self.code.switch_to_block(tia);
        self.write_any_register(instruction, address, value);
        self.code.ins().jump(after, &[]);
        self.code.switch_to_block(after);
    }

    /// Emits an indexed read from a fixed base.
    fn read_table(&mut self, base: u16, index: Value) -> Value {
        let table = self.table(base);
        let address = match table {
            Some((_, 0xFF)) => self.const_i32(0),
            Some((_, last)) => {
                let outside = self.code.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, index, i64::from(last));
                self.interpret_if(outside);
                self.const_i32(0)
            }
            None => {
                let base = self.const_i32(base.into());
                let address = self.indexed(base, index);
                self.interpret_unless_simple(address);
                address
            }
        };
        let space = 0xFF - i64::from(base & 0xFF);
        if space < 0xFF {
            let index = self.zero_extend(index);
            let crossed = self.code.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, index, space);
            self.charge(crossed);
        }
        if let Some((start, _)) = table {
            let start = self.code.ins().iconst(I64, start as i64);
            let index = self.code.ins().uextend(I64, index);
            let byte = self.code.ins().iadd(start, index);
            return self.code.ins().load(I8, TRUSTED.with_readonly(), byte, 0);
        }
        let open_bus = self.const_i32((base >> 8).into());
        self.read_simple(address, open_bus)
    }

    /// Returns the host address of a table in plain ROM of this unit, and its last index, up to 255. `None` if the unit
    /// ends so soon after `base` that indices beyond it are likely.
    fn table(&self, base: u16) -> Option<(*const u8, u8)> {
        const SHORTEST: u8 = 16;
        let start = self.unit.offset(base)?;
        let last = (0..=0xFF).take_while(|&index| self.is_entry(base, start, index)).last()?;
        (last >= SHORTEST - 1).then(|| (self.rom[start..].as_ptr(), last))
    }

    /// Returns true if the byte `index` bytes after the address `base` is the one `index` bytes after the offset
    /// `start` of the image.
    fn is_entry(&self, base: u16, start: usize, index: u8) -> bool {
        let offset = start + usize::from(index);
        let address = base.checked_add(index.into());
        address.is_some_and(|address| self.unit.offset(address) == Some(offset)) && offset < self.rom.len()
    }

    /// Emits a read of an address known at run time only, which has passed `interpret_unless_simple`.
    fn read_simple(&mut self, address: Value, open_bus: Value) -> Value {
        let [rom, low, ram, chip, after] = self.create_blocks();
        self.code.append_block_param(after, I8);
        let in_cartridge = self.code.ins().band_imm_s(address, 0x1000);
        self.code.ins().brif(in_cartridge, rom, &[], low, &[]);
        self.code.switch_to_block(rom);
        let value = self.load_rom(address);
        self.code.ins().jump(after, &[value.into()]);
        self.code.switch_to_block(low);
        let is_ram = self.is_ram(address);
        self.code.ins().brif(is_ram, ram, &[], chip, &[]);
        self.code.switch_to_block(ram);
        let zero_page = self.zero_page_address(address);
        let value = self.load_ram(zero_page);
        self.code.ins().jump(after, &[value.into()]);
        self.code.switch_to_block(chip);
        let value = self.read_any_chip(address, open_bus);
        self.code.ins().jump(after, &[value.into()]);
        self.code.switch_to_block(after);
        self.code.block_params(after)[0]
    }

    /// Emits a write below the cartridge of an address known at run time only.
    fn write_low(&mut self, instruction: Instruction, address: Value, value: Value) {
        let [ram, chip, after] = self.create_blocks();
        let is_ram = self.is_ram(address);
        self.code.ins().brif(is_ram, ram, &[], chip, &[]);
        self.code.switch_to_block(ram);
        let zero_page = self.zero_page_address(address);
        self.store_ram(zero_page, value);
        self.code.ins().jump(after, &[]);
        self.code.switch_to_block(chip);
        let value = self.zero_extend(value);
        self.write_chip(instruction, callbacks::write, address, value);
        self.code.ins().jump(after, &[]);
        self.code.switch_to_block(after);
    }

    /// Returns true if an address below the cartridge is in RAM.
    fn is_ram(&mut self, address: Value) -> Value {
        let lines = self.code.ins().band_imm_s(address, 0x0280);
        self.code.ins().icmp_imm_s(IntCC::Equal, lines, 0x0080)
    }

    /// Returns the zero page address of a byte of RAM.
    fn zero_page_address(&mut self, address: Value) -> Value {
        let low = self.code.ins().ireduce(I8, address);
        self.code.ins().bor_imm_s(low, i64::from(0x80_u8 as i8))
    }

    /// Returns the byte at a plain address of the cartridge.
    fn load_rom(&mut self, address: Value) -> Value {
        let image = self.unit.image.clone();
        let offset = match self.unit.mapping {
            Mapping::Whole => {
                let offset = self.code.ins().band_imm_s(address, image.len() as i64 - 1);
                self.code.ins().iadd_imm_s(offset, image.start as i64)
            }
            Mapping::ByA13 => {
                let offset = self.code.ins().band_imm_s(address, 0xFFF);
                let a13 = self.code.ins().ushr_imm_u(address, 1);
                let bank = self.code.ins().band_imm_s(a13, 0x1000);
                let bank = self.code.ins().bxor_imm_s(bank, 0x1000);
                self.code.ins().bor(offset, bank)
            }
            Mapping::Slices => {
                let slot = self.code.ins().ushr_imm_u(address, 10);
                let slot = self.code.ins().band_imm_s(slot, 3);
                let slot = self.code.ins().ishl_imm_u(slot, 2);
                let slot = self.code.ins().uextend(I64, slot);
                let entry = self.code.ins().iadd(self.machine, slot);
                let slice = self.code.ins().load(I32, TRUSTED, entry, WINDOW_OFFSET);
                let offset = self.code.ins().band_imm_s(address, 0x3FF);
                self.code.ins().iadd(slice, offset)
            }
        };
        let offset = self.code.ins().uextend(I64, offset);
        let start = self.code.ins().iconst(I64, self.rom.as_ptr() as i64);
        let byte = self.code.ins().iadd(start, offset);
        self.code.ins().load(I8, TRUSTED.with_readonly(), byte, 0)
    }

    pub(super) fn interpret_unless_cartridge(&mut self, address: Value) {
        let in_cartridge = self.code.ins().band_imm_s(address, 0x1000);
        let outside = self.code.ins().icmp_imm_s(IntCC::Equal, in_cartridge, 0);
        self.interpret_if(outside);
    }

    /// Leaves the instruction to the interpreter unless the address is plain ROM.
    pub(super) fn interpret_unless_plain(&mut self, address: Value) {
        let plain = self.is_plain(address);
        let special = self.code.ins().icmp_imm_s(IntCC::Equal, plain, 0);
        self.interpret_if(special);
    }

    fn is_plain(&mut self, address: Value) -> Value {
        let plain = self.unit.plain.clone();
        let bits = self.code.ins().band_imm_s(address, 0x1FFF);
        let offset = self.code.ins().iadd_imm_s(bits, -0x1000 - i64::from(plain.start));
        let count = i64::from(plain.end - plain.start);
        self.code.ins().icmp_imm_u(IntCC::UnsignedLessThan, offset, count)
    }

    /// Leaves the instruction to the interpreter if the address is in the cartridge but not plain ROM.
    fn interpret_unless_simple(&mut self, address: Value) {
        let in_cartridge = self.code.ins().band_imm_s(address, 0x1000);
        let plain = self.is_plain(address);
        let outside = self.code.ins().icmp_imm_s(IntCC::Equal, in_cartridge, 0);
        let simple = self.code.ins().bor(plain, outside);
        let special = self.code.ins().icmp_imm_s(IntCC::Equal, simple, 0);
        self.interpret_if(special);
    }

    fn interpret_if_cartridge(&mut self, address: Value) {
        let in_cartridge = self.code.ins().band_imm_s(address, 0x1000);
        self.interpret_if(in_cartridge);
    }
}

/// Returns the offset in the machine of a field of the RIOT.
fn riot_offset(field: usize) -> i32 {
    (offset_of!(Machine, riot) + field) as i32
}
