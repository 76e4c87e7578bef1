//! Expressions and their values.

use vcs::{Mt19937, RAM};

/// The parts of the machine that rules can read.
pub(crate) trait Memory {
    /// Returns the 128 bytes of RAM.
    fn ram(&self) -> &[u8; RAM];
    /// Returns the byte that the CPU would read from the cartridge.
    fn cartridge(&self, address: u16) -> u8;
}

impl Memory for vcs::Console {
    fn ram(&self) -> &[u8; RAM] {
        self.ram()
    }

    fn cartridge(&self, address: u16) -> u8 {
        self.peek_cartridge(address)
    }
}

/// The values of names while an expression is evaluated.
pub(crate) struct Scope<'a, M> {
    pub(crate) memory: &'a M,
    /// Current values by slot.
    pub(crate) current: &'a [i32],
    /// Values before the step, by slot.
    pub(crate) old: &'a [i32],
    /// The environment's random generator; without one `rng()` is 0.
    pub(crate) random: Option<&'a mut Mt19937>,
    /// The last byte that was read from RAM or cartridge.
    pub(crate) last_read: Option<u8>,
}

/// An expression whose names are resolved to slots.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Constant(i32),
    Current(usize),
    Old(usize),
    /// The current RAM byte of a `sum` or `count`.
    Element,
    Ram(Box<Self>),
    Cartridge(Box<Self>),
    Bcd(Vec<Self>),
    BlankTen(Box<Self>),
    AlienDigit(Box<Self>),
    RiverRaidDigit(Box<Self>),
    SignedByte(Box<Self>),
    Min(Box<Self>, Box<Self>),
    Max(Box<Self>, Box<Self>),
    Sum {
        from: Box<Self>,
        to: Box<Self>,
        each: Box<Self>,
    },
    Count {
        from: Box<Self>,
        to: Box<Self>,
        each: Box<Self>,
    },
    Random,
    Unary(Unary, Box<Self>),
    Binary(Binary, Box<Self>, Box<Self>),
    Conditional(Box<Self>, Box<Self>, Box<Self>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Minus,
    Not,
    Complement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    BitOr,
    BitXor,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Expression {
    /// Returns the value. Arithmetic wraps and division by zero gives zero, so that evaluation never fails.
    pub(crate) fn value<M: Memory>(&self, scope: &mut Scope<'_, M>) -> i32 {
        self.value_at(scope, 0)
    }

    /// Returns the value for the byte of RAM at an address, which is the element `x`.
    fn value_of_byte<M: Memory>(&self, scope: &mut Scope<'_, M>, address: i32) -> i32 {
        let byte = ram(scope, address);
        self.value_at(scope, byte)
    }

    fn value_at<M: Memory>(&self, scope: &mut Scope<'_, M>, element: u8) -> i32 {
        let mut eval = |expression: &Self| expression.value_at(scope, element);
        match self {
            Self::Constant(value) => *value,
            Self::Current(slot) => scope.current[*slot],
            Self::Old(slot) => scope.old[*slot],
            Self::Element => element.into(),
            Self::Ram(address) => {
                let address = eval(address);
                ram(scope, address).into()
            }
            Self::Cartridge(address) => {
                let address = eval(address);
                let byte = scope.memory.cartridge(address as u16);
                scope.last_read = Some(byte);
                byte.into()
            }
            Self::Bcd(addresses) => {
                let digits = addresses.iter().rev().map(|address| {
                    let address = address.value_at(scope, element);
                    i32::from(ram(scope, address))
                });
                digits.fold(0, |value, byte| value * 100 + 10 * (byte >> 4) + (byte & 15))
            }
            Self::BlankTen(value) => match eval(value) {
                10 => 0,
                digit => digit,
            },
            Self::AlienDigit(address) => {
                let address = eval(address);
                match ram(scope, address) {
                    0x80 => 0,
                    digit => i32::from(digit >> 3),
                }
            }
            Self::RiverRaidDigit(address) => {
                let address = eval(address);
                match ram(scope, address) {
                    digit if digit % 8 == 0 && digit <= 72 => i32::from(digit / 8),
                    _ => 0,
                }
            }
            Self::SignedByte(value) => (eval(value) as i8).into(),
            Self::Min(a, b) => eval(a).min(eval(b)),
            Self::Max(a, b) => eval(a).max(eval(b)),
            Self::Sum { from, to, each } => {
                let range = eval(from)..=eval(to);
                range.map(|address| each.value_of_byte(scope, address)).fold(0, i32::wrapping_add)
            }
            Self::Count { from, to, each } => {
                let range = eval(from)..=eval(to);
                range.filter(|&address| each.value_of_byte(scope, address) != 0).count() as i32
            }
            // The top bit is cleared so that the value is not negative.
            Self::Random => {
                scope.random.as_deref_mut().map_or(0, |random| random.next_u32() & 0x7FFF_FFFF) as i32
            }
            Self::Unary(operator, value) => {
                let value = eval(value);
                match operator {
                    Unary::Minus => value.wrapping_neg(),
                    Unary::Not => i32::from(value == 0),
                    Unary::Complement => !value,
                }
            }
            // Only `rng()` has side effects, so both sides may always be evaluated.
            Self::Binary(operator, a, b) => {
                let (a, b) = (eval(a), eval(b));
                binary(*operator, a, b)
            }
            Self::Conditional(condition, yes, no) => {
                if eval(condition) != 0 {
                    eval(yes)
                } else {
                    eval(no)
                }
            }
        }
    }
}

fn ram<M: Memory>(scope: &mut Scope<'_, M>, address: i32) -> u8 {
    let byte = scope.memory.ram()[(address & 0x7F) as usize];
    scope.last_read = Some(byte);
    byte
}

fn binary(operator: Binary, a: i32, b: i32) -> i32 {
    match operator {
        Binary::Or => i32::from(a != 0 || b != 0),
        Binary::And => i32::from(a != 0 && b != 0),
        Binary::Equal => i32::from(a == b),
        Binary::NotEqual => i32::from(a != b),
        Binary::Less => i32::from(a < b),
        Binary::LessOrEqual => i32::from(a <= b),
        Binary::Greater => i32::from(a > b),
        Binary::GreaterOrEqual => i32::from(a >= b),
        Binary::BitOr => a | b,
        Binary::BitXor => a ^ b,
        Binary::BitAnd => a & b,
        Binary::ShiftLeft => a.wrapping_shl(b as u32),
        Binary::ShiftRight => a.wrapping_shr(b as u32),
        Binary::Add => a.wrapping_add(b),
        Binary::Subtract => a.wrapping_sub(b),
        Binary::Multiply => a.wrapping_mul(b),
        Binary::Divide => a.checked_div(b).unwrap_or(0),
        Binary::Remainder => a.checked_rem(b).unwrap_or(0),
    }
}
