use std::fmt;
use std::ops::RangeInclusive;

use crate::whole_number_in;

/// The range of a numeric setting. All numbers in it are finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    min: f64,
    max: f64,
    excludes_min: bool,
    excludes_max: bool,
}

/// Numbers that are at least `min`.
pub const fn at_least(min: f64) -> Limits {
    Limits { min, ..Limits::NONE }
}

/// Numbers above `min`.
pub const fn above(min: f64) -> Limits {
    Limits { min, excludes_min: true, ..Limits::NONE }
}

/// Numbers from `min` to `max`, both included.
pub const fn between(min: f64, max: f64) -> Limits {
    Limits { min, max, excludes_min: false, excludes_max: false }
}

impl Limits {
    /// All finite numbers.
    pub const NONE: Self = between(f64::NEG_INFINITY, f64::INFINITY);

    /// Excludes numbers above `max`.
    #[must_use]
    pub const fn up_to(self, max: f64) -> Self {
        Self { max, ..self }
    }

    /// Excludes `max` and the numbers above it.
    #[must_use]
    pub const fn below(self, max: f64) -> Self {
        Self { max, excludes_max: true, ..self }
    }

    /// Returns true if `number` is finite and within the limits.
    pub fn contains(&self, number: f64) -> bool {
        let is_above = if self.excludes_min { number > self.min } else { number >= self.min };
        let is_below = if self.excludes_max { number < self.max } else { number <= self.max };
        number.is_finite() && is_above && is_below
    }

    /// Returns the whole numbers from 0 to `max` that are within the limits.
    pub(crate) fn whole_numbers(&self, max: u64) -> RangeInclusive<u64> {
        let least = if self.excludes_min { self.min.floor() + 1.0 } else { self.min.ceil() };
        let most = if self.excludes_max { self.max.ceil() - 1.0 } else { self.max };
        // Casts of floats saturate.
        least as u64..=max.min(most as u64)
    }

    /// Describes the whole numbers from 0 to `max` that are within the limits.
    pub(crate) fn whole_number(&self, max: u64) -> String {
        // For an empty string the parser's error is just the expected kind of number.
        whole_number_in("", &self.whole_numbers(max)).expect_err("an empty text is no number")
    }
}

/// Completes "it must be ...".
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { min, max, excludes_min, excludes_max } = *self;
        match (min.is_finite(), max.is_finite()) {
            (true, true) if excludes_max => {
                write!(f, "{} {min} and below {max}", if excludes_min { "above" } else { "at least" })
            }
            (true, true) if excludes_min => write!(f, "above {min} and at most {max}"),
            (true, true) => write!(f, "in {min}..={max}"),
            (true, false) if excludes_min => write!(f, "above {min}"),
            (true, false) => write!(f, "{min} or more"),
            (false, true) if excludes_max => write!(f, "below {max}"),
            (false, true) => write!(f, "{max} or less"),
            (false, false) => write!(f, "finite"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_include_or_exclude_their_ends() {
        for (limits, ends, text) in [
            (between(0.0, 1.0), [true, true], "in 0..=1"),
            (above(0.0).up_to(1.0), [false, true], "above 0 and at most 1"),
            (at_least(0.0).below(1.0), [true, false], "at least 0 and below 1"),
            (above(0.0).below(1.0), [false, false], "above 0 and below 1"),
        ] {
            assert_eq!([0.0, 1.0].map(|end| limits.contains(end)), ends, "{text}");
            assert!(limits.contains(0.5) && !limits.contains(-0.1) && !limits.contains(1.1), "{text}");
            assert_eq!(limits.to_string(), text);
        }
        assert_eq!(at_least(1.0).below(3.0).whole_numbers(9), 1..=2);
        assert_eq!(above(1.0).below(3.5).whole_numbers(9), 2..=3);
        assert_eq!(Limits::NONE.below(3.0).to_string(), "below 3");
    }
}
