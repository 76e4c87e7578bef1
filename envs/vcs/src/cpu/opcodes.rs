//! The table of all 256 opcodes, from which dispatcher, disassembler and tests are generated.

/// The operation of an instruction, by its usual mnemonic; undocumented ones by their most common name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
#[allow(missing_docs)] // The mnemonics are the documentation.
pub enum Operation {
    Adc, And, Asl, Bcc, Bcs, Beq, Bit, Bmi, Bne, Bpl, Brk, Bvc, Bvs, Clc, Cld, Cli, Clv, Cmp, Cpx, Cpy,
    Dec, Dex, Dey, Eor, Inc, Inx, Iny, Jmp, Jsr, Lda, Ldx, Ldy, Lsr, Nop, Ora, Pha, Php, Pla, Plp, Rol,
    Ror, Rti, Rts, Sbc, Sec, Sed, Sei, Sta, Stx, Sty, Tax, Tay, Tsx, Txa, Txs, Tya,
    Alr, Anc, Ane, Arr, Dcp, Isc, Jam, Las, Lax, Lxa, Rla, Rra, Sax, Sbx, Sha, Shs, Shx, Shy, Slo, Sre,
}

/// The addressing mode of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No operand.
    Implied,
    /// The accumulator.
    Accumulator,
    /// `#$nn`
    Immediate,
    /// `$nn`
    ZeroPage,
    /// `$nn,X`
    ZeroPageX,
    /// `$nn,Y`
    ZeroPageY,
    /// `$nnnn`
    Absolute,
    /// `$nnnn,X`
    AbsoluteX,
    /// `$nnnn,Y`
    AbsoluteY,
    /// `($nnnn)`, for `JMP` only
    Indirect,
    /// `($nn,X)`
    IndirectX,
    /// `($nn),Y`
    IndirectY,
    /// A signed distance from the next instruction.
    Relative,
}

impl Mode {
    /// Returns true if the operand is always in the zero page.
    pub const fn is_zero_page(self) -> bool {
        matches!(self, Self::ZeroPage | Self::ZeroPageX | Self::ZeroPageY)
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcode {
    /// The operation.
    pub operation: Operation,
    /// The addressing mode.
    pub mode: Mode,
    /// CPU cycles without penalties for page crossings and taken branches.
    pub cycles: u8,
}

/// Passes the table to the macro `$user`, once per opcode.
///
/// The cycles are those of the NMOS 6502 with one deviation of the reference: `LAX $nn` (`$A7`) takes 4
/// instead of 3.
macro_rules! opcodes {
    ($user:ident) => {
        $user! {
            0x00 Brk Implied 7,     0x01 Ora IndirectX 6,  0x02 Jam Implied 2,     0x03 Slo IndirectX 8,
            0x04 Nop ZeroPage 3,    0x05 Ora ZeroPage 3,   0x06 Asl ZeroPage 5,    0x07 Slo ZeroPage 5,
            0x08 Php Implied 3,     0x09 Ora Immediate 2,  0x0A Asl Accumulator 2, 0x0B Anc Immediate 2,
            0x0C Nop Absolute 4,    0x0D Ora Absolute 4,   0x0E Asl Absolute 6,    0x0F Slo Absolute 6,
            0x10 Bpl Relative 2,    0x11 Ora IndirectY 5,  0x12 Jam Implied 2,     0x13 Slo IndirectY 8,
            0x14 Nop ZeroPageX 4,   0x15 Ora ZeroPageX 4,  0x16 Asl ZeroPageX 6,   0x17 Slo ZeroPageX 6,
            0x18 Clc Implied 2,     0x19 Ora AbsoluteY 4,  0x1A Nop Implied 2,     0x1B Slo AbsoluteY 7,
            0x1C Nop AbsoluteX 4,   0x1D Ora AbsoluteX 4,  0x1E Asl AbsoluteX 7,   0x1F Slo AbsoluteX 7,
            0x20 Jsr Absolute 6,    0x21 And IndirectX 6,  0x22 Jam Implied 2,     0x23 Rla IndirectX 8,
            0x24 Bit ZeroPage 3,    0x25 And ZeroPage 3,   0x26 Rol ZeroPage 5,    0x27 Rla ZeroPage 5,
            0x28 Plp Implied 4,     0x29 And Immediate 2,  0x2A Rol Accumulator 2, 0x2B Anc Immediate 2,
            0x2C Bit Absolute 4,    0x2D And Absolute 4,   0x2E Rol Absolute 6,    0x2F Rla Absolute 6,
            0x30 Bmi Relative 2,    0x31 And IndirectY 5,  0x32 Jam Implied 2,     0x33 Rla IndirectY 8,
            0x34 Nop ZeroPageX 4,   0x35 And ZeroPageX 4,  0x36 Rol ZeroPageX 6,   0x37 Rla ZeroPageX 6,
            0x38 Sec Implied 2,     0x39 And AbsoluteY 4,  0x3A Nop Implied 2,     0x3B Rla AbsoluteY 7,
            0x3C Nop AbsoluteX 4,   0x3D And AbsoluteX 4,  0x3E Rol AbsoluteX 7,   0x3F Rla AbsoluteX 7,
            0x40 Rti Implied 6,     0x41 Eor IndirectX 6,  0x42 Jam Implied 2,     0x43 Sre IndirectX 8,
            0x44 Nop ZeroPage 3,    0x45 Eor ZeroPage 3,   0x46 Lsr ZeroPage 5,    0x47 Sre ZeroPage 5,
            0x48 Pha Implied 3,     0x49 Eor Immediate 2,  0x4A Lsr Accumulator 2, 0x4B Alr Immediate 2,
            0x4C Jmp Absolute 3,    0x4D Eor Absolute 4,   0x4E Lsr Absolute 6,    0x4F Sre Absolute 6,
            0x50 Bvc Relative 2,    0x51 Eor IndirectY 5,  0x52 Jam Implied 2,     0x53 Sre IndirectY 8,
            0x54 Nop ZeroPageX 4,   0x55 Eor ZeroPageX 4,  0x56 Lsr ZeroPageX 6,   0x57 Sre ZeroPageX 6,
            0x58 Cli Implied 2,     0x59 Eor AbsoluteY 4,  0x5A Nop Implied 2,     0x5B Sre AbsoluteY 7,
            0x5C Nop AbsoluteX 4,   0x5D Eor AbsoluteX 4,  0x5E Lsr AbsoluteX 7,   0x5F Sre AbsoluteX 7,
            0x60 Rts Implied 6,     0x61 Adc IndirectX 6,  0x62 Jam Implied 2,     0x63 Rra IndirectX 8,
            0x64 Nop ZeroPage 3,    0x65 Adc ZeroPage 3,   0x66 Ror ZeroPage 5,    0x67 Rra ZeroPage 5,
            0x68 Pla Implied 4,     0x69 Adc Immediate 2,  0x6A Ror Accumulator 2, 0x6B Arr Immediate 2,
            0x6C Jmp Indirect 5,    0x6D Adc Absolute 4,   0x6E Ror Absolute 6,    0x6F Rra Absolute 6,
            0x70 Bvs Relative 2,    0x71 Adc IndirectY 5,  0x72 Jam Implied 2,     0x73 Rra IndirectY 8,
            0x74 Nop ZeroPageX 4,   0x75 Adc ZeroPageX 4,  0x76 Ror ZeroPageX 6,   0x77 Rra ZeroPageX 6,
            0x78 Sei Implied 2,     0x79 Adc AbsoluteY 4,  0x7A Nop Implied 2,     0x7B Rra AbsoluteY 7,
            0x7C Nop AbsoluteX 4,   0x7D Adc AbsoluteX 4,  0x7E Ror AbsoluteX 7,   0x7F Rra AbsoluteX 7,
            0x80 Nop Immediate 2,   0x81 Sta IndirectX 6,  0x82 Nop Immediate 2,   0x83 Sax IndirectX 6,
            0x84 Sty ZeroPage 3,    0x85 Sta ZeroPage 3,   0x86 Stx ZeroPage 3,    0x87 Sax ZeroPage 3,
            0x88 Dey Implied 2,     0x89 Nop Immediate 2,  0x8A Txa Implied 2,     0x8B Ane Immediate 2,
            0x8C Sty Absolute 4,    0x8D Sta Absolute 4,   0x8E Stx Absolute 4,    0x8F Sax Absolute 4,
            0x90 Bcc Relative 2,    0x91 Sta IndirectY 6,  0x92 Jam Implied 2,     0x93 Sha IndirectY 6,
            0x94 Sty ZeroPageX 4,   0x95 Sta ZeroPageX 4,  0x96 Stx ZeroPageY 4,   0x97 Sax ZeroPageY 4,
            0x98 Tya Implied 2,     0x99 Sta AbsoluteY 5,  0x9A Txs Implied 2,     0x9B Shs AbsoluteY 5,
            0x9C Shy AbsoluteX 5,   0x9D Sta AbsoluteX 5,  0x9E Shx AbsoluteY 5,   0x9F Sha AbsoluteY 5,
            0xA0 Ldy Immediate 2,   0xA1 Lda IndirectX 6,  0xA2 Ldx Immediate 2,   0xA3 Lax IndirectX 6,
            0xA4 Ldy ZeroPage 3,    0xA5 Lda ZeroPage 3,   0xA6 Ldx ZeroPage 3,    0xA7 Lax ZeroPage 4,
            0xA8 Tay Implied 2,     0xA9 Lda Immediate 2,  0xAA Tax Implied 2,     0xAB Lxa Immediate 2,
            0xAC Ldy Absolute 4,    0xAD Lda Absolute 4,   0xAE Ldx Absolute 4,    0xAF Lax Absolute 4,
            0xB0 Bcs Relative 2,    0xB1 Lda IndirectY 5,  0xB2 Jam Implied 2,     0xB3 Lax IndirectY 5,
            0xB4 Ldy ZeroPageX 4,   0xB5 Lda ZeroPageX 4,  0xB6 Ldx ZeroPageY 4,   0xB7 Lax ZeroPageY 4,
            0xB8 Clv Implied 2,     0xB9 Lda AbsoluteY 4,  0xBA Tsx Implied 2,     0xBB Las AbsoluteY 4,
            0xBC Ldy AbsoluteX 4,   0xBD Lda AbsoluteX 4,  0xBE Ldx AbsoluteY 4,   0xBF Lax AbsoluteY 4,
            0xC0 Cpy Immediate 2,   0xC1 Cmp IndirectX 6,  0xC2 Nop Immediate 2,   0xC3 Dcp IndirectX 8,
            0xC4 Cpy ZeroPage 3,    0xC5 Cmp ZeroPage 3,   0xC6 Dec ZeroPage 5,    0xC7 Dcp ZeroPage 5,
            0xC8 Iny Implied 2,     0xC9 Cmp Immediate 2,  0xCA Dex Implied 2,     0xCB Sbx Immediate 2,
            0xCC Cpy Absolute 4,    0xCD Cmp Absolute 4,   0xCE Dec Absolute 6,    0xCF Dcp Absolute 6,
            0xD0 Bne Relative 2,    0xD1 Cmp IndirectY 5,  0xD2 Jam Implied 2,     0xD3 Dcp IndirectY 8,
            0xD4 Nop ZeroPageX 4,   0xD5 Cmp ZeroPageX 4,  0xD6 Dec ZeroPageX 6,   0xD7 Dcp ZeroPageX 6,
            0xD8 Cld Implied 2,     0xD9 Cmp AbsoluteY 4,  0xDA Nop Implied 2,     0xDB Dcp AbsoluteY 7,
            0xDC Nop AbsoluteX 4,   0xDD Cmp AbsoluteX 4,  0xDE Dec AbsoluteX 7,   0xDF Dcp AbsoluteX 7,
            0xE0 Cpx Immediate 2,   0xE1 Sbc IndirectX 6,  0xE2 Nop Immediate 2,   0xE3 Isc IndirectX 8,
            0xE4 Cpx ZeroPage 3,    0xE5 Sbc ZeroPage 3,   0xE6 Inc ZeroPage 5,    0xE7 Isc ZeroPage 5,
            0xE8 Inx Implied 2,     0xE9 Sbc Immediate 2,  0xEA Nop Implied 2,     0xEB Sbc Immediate 2,
            0xEC Cpx Absolute 4,    0xED Sbc Absolute 4,   0xEE Inc Absolute 6,    0xEF Isc Absolute 6,
            0xF0 Beq Relative 2,    0xF1 Sbc IndirectY 5,  0xF2 Jam Implied 2,     0xF3 Isc IndirectY 8,
            0xF4 Nop ZeroPageX 4,   0xF5 Sbc ZeroPageX 4,  0xF6 Inc ZeroPageX 6,   0xF7 Isc ZeroPageX 6,
            0xF8 Sed Implied 2,     0xF9 Sbc AbsoluteY 4,  0xFA Nop Implied 2,     0xFB Isc AbsoluteY 7,
            0xFC Nop AbsoluteX 4,   0xFD Sbc AbsoluteX 4,  0xFE Inc AbsoluteX 7,   0xFF Isc AbsoluteX 7,
        }
    };
}
pub(super) use opcodes;

macro_rules! table {
    ($($code:literal $operation:ident $mode:ident $cycles:literal),* $(,)?) => {
        [$(Opcode { operation: Operation::$operation, mode: Mode::$mode, cycles: $cycles }),*]
    };
}

/// All opcodes, indexed by their code.
pub static OPCODES: [Opcode; 256] = opcodes!(table);
