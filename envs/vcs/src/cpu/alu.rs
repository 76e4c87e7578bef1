//! Addition and subtraction, binary and decimal. The reference for decimal results is what ale-py computes.

/// Result and flags of an addition or subtraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) value: u8,
    pub(super) carry: bool,
    pub(super) overflow: bool,
}

/// Returns the value of a packed decimal byte. Digits above 9 have the values 10 to 15.
fn from_bcd(byte: u8) -> i32 {
    i32::from(byte >> 4) * 10 + i32::from(byte & 15)
}

fn to_bcd(value: i32) -> u8 {
    (((value / 10) << 4) | (value % 10)) as u8
}

/// Computes binary `ADC` of the accumulator `a` and the operand `m`.
pub(super) fn add(a: u8, m: u8, carry: bool) -> Sum {
    let sum = u16::from(a) + u16::from(m) + u16::from(carry);
    let value = sum as u8;
    Sum { value, carry: sum > 0xFF, overflow: (a ^ value) & (m ^ value) & 0x80 != 0 }
}

/// Computes binary `SBC`. A clear carry is a borrow.
pub(super) fn subtract(a: u8, m: u8, carry: bool) -> Sum {
    add(a, !m, carry)
}

/// Computes decimal `ADC` as the reference does. Digits above 9 occur in defender, blackjack and centipede.
pub(super) fn add_decimal(a: u8, m: u8, carry: bool) -> Sum {
    let sum = from_bcd(a) + from_bcd(m) + i32::from(carry);
    // The sum is at most 331, and the reference truncates it to a byte.
    let value = to_bcd((sum & 0xFF) % 100);
    Sum { value, carry: sum > 99, overflow: (a ^ value) & (value ^ m) & 0x80 != 0 }
}

/// Computes decimal `SBC` as the reference does. Digits above 9 occur in tutankham.
pub(super) fn subtract_decimal(a: u8, m: u8, carry: bool) -> Sum {
    let borrow = !carry;
    let mut difference = from_bcd(a) - from_bcd(m) - i32::from(borrow);
    if difference < 0 {
        difference += 100;
    }
    let value = if difference < 0 {
        // With digits above 9 the difference may still be negative. The reference then gives the value of the packed
        // decimal byte `256 + difference`.
        from_bcd((256 + difference) as u8) as u8
    } else {
        to_bcd(difference % 100)
    };
    Sum {
        value,
        carry: u16::from(a) >= u16::from(m) + u16::from(borrow),
        overflow: (a ^ value) & (value ^ m) & 0x80 != 0,
    }
}
