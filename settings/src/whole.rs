use std::ops::RangeInclusive;

/// The suffixes of large numbers, with their powers of ten.
const SUFFIXES: [(char, i64); 3] = [('k', 3), ('m', 6), ('g', 9)];

/// Parses a whole number as people write it: `10000000`, `10_000_000`, `1e7`, `10M` and `0.01G` are equal.
///
/// The suffixes `k`, `M` and `G` stand for thousands, millions and billions, in upper or lower case (no setting is
/// measured in thousandths). Numbers that do not fit saturate at the smallest or largest `i128`.
///
/// ```
/// assert_eq!(settings::whole_number("1.5M"), Some(1_500_000));
/// assert_eq!(settings::whole_number("1.5"), None);
/// ```
pub fn whole_number(text: &str) -> Option<i128> {
    let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let rest = if sign == 1 { rest.strip_prefix('+').unwrap_or(rest) } else { rest };
    let (mantissa, exponent) = scientific(rest)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (whole, fraction) = (digits(whole)?, digits(fraction)?);
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() {
        return None;
    }
    let shift = exponent.saturating_sub(fraction.len() as i64);
    let kept = digits.len().saturating_sub(usize::try_from(shift.saturating_neg()).unwrap_or(0));
    let (kept, dropped) = digits.split_at(kept);
    if dropped.bytes().any(|digit| digit != b'0') {
        return None;
    }
    let append = |number: i128, digit: u8| number.saturating_mul(10).saturating_add(i128::from(digit - b'0'));
    let number = kept.bytes().fold(0, append);
    let zeros = u32::try_from(shift.max(0)).unwrap_or(u32::MAX);
    let factor = 10_i128.saturating_pow(zeros);
    Some(number.saturating_mul(factor).saturating_mul(sign))
}

/// Splits a number into its mantissa and the power of ten that an exponent or a suffix stands for.
fn scientific(text: &str) -> Option<(&str, i64)> {
    if let Some((mantissa, exponent)) = text.split_once(['e', 'E']) {
        return Some((mantissa, exponent.parse().ok()?));
    }
    let suffix = SUFFIXES
        .into_iter()
        .find_map(|(letter, power)| Some((text.strip_suffix([letter, letter.to_ascii_uppercase()])?, power)));
    Some(suffix.unwrap_or((text, 0)))
}

/// Returns digits without the underscores between them.
fn digits(text: &str) -> Option<String> {
    let is_grouped = text.is_empty() || text.split('_').all(|group| !group.is_empty());
    let is_number = text.bytes().all(|letter| letter.is_ascii_digit() || letter == b'_');
    (is_grouped && is_number).then(|| text.replace('_', ""))
}

/// Parses a whole number within a range. The error completes "it must be ...".
pub fn whole_number_in(text: &str, range: &RangeInclusive<u64>) -> Result<u64, String> {
    let (least, most) = (range.start(), range.end());
    let number = whole_number(text).ok_or_else(|| format!("a whole number{}", or_more(range)))?;
    if number > i128::from(*most) {
        return Err(format!("in {least}..={most}"));
    }
    let number = u64::try_from(number).ok().filter(|number| number >= least);
    number.ok_or_else(|| or_more(range).trim_start_matches([',', ' ']).to_owned())
}

/// Completes "a whole number". The largest value of a type is left out: it only matters to those who exceed it.
fn or_more(range: &RangeInclusive<u64>) -> String {
    let (least, most) = (range.start(), range.end());
    if *most < u64::from(u32::MAX) { format!(" in {least}..={most}") } else { format!(", {least} or more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers_as_people_write_them() {
        for (text, number) in [
            ("10000000", 10_000_000),
            ("10_000_000", 10_000_000),
            ("1e7", 10_000_000),
            ("1E+7", 10_000_000),
            ("10M", 10_000_000),
            ("10m", 10_000_000),
            ("0.01G", 10_000_000),
            ("1.5k", 1_500),
            (".5K", 500),
            ("2.0", 2),
            ("50e-1", 5),
            ("007", 7),
            ("+3", 3),
            ("-3", -3),
            ("0e5", 0),
            ("18446744073709551615", u64::MAX.into()),
        ] {
            assert_eq!(whole_number(text), Some(number), "{text}");
        }
        assert_eq!(whole_number("1e300"), Some(i128::MAX));
        assert_eq!(whole_number("-1e9999999999"), Some(-i128::MAX));
    }

    #[test]
    fn rejects_text_that_is_not_a_whole_number() {
        for text in [
            "", "-", ".", "_", "1_", "_1", "1__0", "1.5", "1e-1", "1.0005k", "10T", "1kk", "1e3k", "ten",
            "1 0",
        ] {
            assert_eq!(whole_number(text), None, "{text}");
        }
        for text in ["nan", "inf", "0x10", "--1", "+-1", "1e", "M", "½"] {
            assert_eq!(whole_number(text), None, "{text}");
        }
    }

    #[test]
    fn errors_name_the_range() {
        let error = |text, range| whole_number_in(text, &range).unwrap_err();
        assert_eq!(error("ten", 0..=u64::MAX), "a whole number, 0 or more");
        assert_eq!(error("-1", 0..=u64::MAX), "0 or more");
        assert_eq!(error("2.5", 1..=16), "a whole number in 1..=16");
        assert_eq!(error("0", 1..=16), "in 1..=16");
        assert_eq!(error("1e30", 0..=u64::MAX), "in 0..=18446744073709551615");
        assert_eq!(whole_number_in("16", &(1..=16)), Ok(16));
    }
}
