//! Loops that wait for the timer. They account for a sixth of all executed instructions.

use std::ops::RangeInclusive;

use super::region::BasicBlock;
use crate::cpu::{Mode, Operation};
use crate::machine::Device;

/// A loop that reads the timer until it has counted down far enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TimerWait {
    /// The counts for which the loop continues.
    pub(super) counts: RangeInclusive<u8>,
    /// CPU cycles from the start of an iteration to its read of the timer.
    pub(super) read_after: u8,
    /// CPU cycles of an iteration.
    pub(super) period: u32,
}

impl TimerWait {
    /// Recognises a wait loop at `start`: a load, optionally a comparison, and a branch back to the load.
    pub(super) fn recognize(start: u16, block: &BasicBlock) -> Option<Self> {
        use Operation as O;
        let (load, compared, branch) = match block.instructions.as_slice() {
            [load, branch] => (load, None, branch),
            [load, compare, branch] if compare.opcode.mode == Mode::Immediate => {
                (load, Some(compare), branch)
            }
            _ => return None,
        };
        if !branch.is_branch() || branch.branch_target() != start || load.opcode.mode != Mode::Absolute {
            return None;
        }
        let loads = load.opcode.operation;
        let limit = match (loads, compared.map(|compare| (compare.opcode.operation, compare.operand as u8))) {
            (O::Lda | O::Ldx | O::Ldy | O::Bit, None) => None,
            (O::Lda, Some((O::Cmp, limit)))
            | (O::Ldx, Some((O::Cpx, limit)))
            | (O::Ldy, Some((O::Cpy, limit))) => Some(limit),
            _ => return None,
        };
        let counts = match (TimerRegister::at(load.operand)?, limit, branch.opcode.operation) {
            (TimerRegister::Count, None, O::Bne) if loads != O::Bit => 1..=0xFF,
            (TimerRegister::Count, None, O::Bmi) => 0x80..=0xFF,
            (TimerRegister::Count, None, O::Bpl) => 0..=0x7F,
            // The flag is clear until the timer expires.
            (TimerRegister::Flag, None, O::Bpl) => 0..=0xFF,
            (TimerRegister::Count, Some(limit), O::Bne) => limit.checked_add(1)?..=0xFF,
            (TimerRegister::Count, Some(limit), O::Bcs) => limit..=0xFF,
            _ => return None,
        };
        let cycles: u32 =
            block.instructions.iter().map(|instruction| u32::from(instruction.opcode.cycles)).sum();
        // A branch that is taken lasts longer, more so to another page.
        let taken_branch_cycles = if (start ^ branch.next()) & 0xFF00 == 0 { 1 } else { 2 };
        Some(Self { counts, read_after: load.opcode.cycles, period: cycles + taken_branch_cycles })
    }
}

/// A timer register of the RIOT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimerRegister {
    Count,
    Flag,
}

impl TimerRegister {
    fn at(address: u16) -> Option<Self> {
        match (Device::at(address), address & 7) {
            (Device::Riot, 4 | 6) => Some(Self::Count),
            (Device::Riot, 5 | 7) => Some(Self::Flag),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cart::{Mapping, Unit};

    /// Returns the first basic block of a ROM that begins with `bytes`.
    fn first_block(bytes: &[u8]) -> BasicBlock {
        let mut rom = vec![0xEA; 4096];
        rom[..bytes.len()].copy_from_slice(bytes);
        let unit = Unit {
            base: 0xF000,
            image: 0..4096,
            window: 0..0x1000,
            plain: 0..0x1000,
            mapping: Mapping::Whole,
        };
        let region = crate::translate::region::Region::discover(&unit, &rom, 0xF000)
            .expect("the instructions are supported");
        region.blocks[&0xF000].clone()
    }

    #[test]
    fn recognises_loops_that_wait_for_the_timer() {
        let wait = |bytes: &[u8]| TimerWait::recognize(0xF000, &first_block(bytes));
        let expected = |counts, period| Some(TimerWait { counts, read_after: 4, period });
        // LDA INTIM, BNE
        assert_eq!(wait(&[0xAD, 0x84, 0x02, 0xD0, 0xFB]), expected(1..=0xFF, 7));
        // BIT INSTAT, BPL
        assert_eq!(wait(&[0x2C, 0x85, 0x02, 0x10, 0xFB]), expected(0..=0xFF, 7));
        // LDX INTIM, CPX #5, BCS
        assert_eq!(wait(&[0xAE, 0x84, 0x02, 0xE0, 0x05, 0xB0, 0xF9]), expected(5..=0xFF, 9));
        // LDA INTIM, BPL
        assert_eq!(wait(&[0xAD, 0x84, 0x02, 0x10, 0xFB]), expected(0..=0x7F, 7));
        // BIT INTIM, BNE depends on the accumulator; LDA SWCHA, BNE on the player; the last branch leads
        // elsewhere.
        assert_eq!(wait(&[0x2C, 0x84, 0x02, 0xD0, 0xFB]), None);
        assert_eq!(wait(&[0xAD, 0x80, 0x02, 0xD0, 0xFB]), None);
        assert_eq!(wait(&[0xAD, 0x84, 0x02, 0xD0, 0x10]), None);
    }
}
