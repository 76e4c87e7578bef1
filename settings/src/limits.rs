use std::fmt;
use std::ops::RangeInclusive;

/// The finite numbers that a setting may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    min: f64,
    max: f64,
    excludes_min: bool,
}

/// Numbers from `min` on.
pub const fn at_least(min: f64) -> Limits {
    Limits { min, ..Limits::NONE }
}

/// Numbers above `min`.
pub const fn above(min: f64) -> Limits {
    Limits { min, excludes_min: true, ..Limits::NONE }
}

/// Numbers from `min` to `max`, both included.
pub const fn between(min: f64, max: f64) -> Limits {
    Limits { min, max, excludes_min: false }
}

impl Limits {
    /// All finite numbers.
    pub const NONE: Self = between(f64::NEG_INFINITY, f64::INFINITY);

    /// Excludes numbers above `max`.
    #[must_use]
    pub const fn up_to(self, max: f64) -> Self {
        Self { max, ..self }
    }

    /// Returns true if `number` is finite and within the limits.
    pub fn contains(&self, number: f64) -> bool {
        let is_above = if self.excludes_min { number > self.min } else { number >= self.min };
        number.is_finite() && is_above && number <= self.max
    }

    /// Returns the whole numbers from 0 to `max` that are within the limits.
    pub(crate) fn whole_numbers(&self, max: u64) -> RangeInclusive<u64> {
        let least = if self.excludes_min { self.min.floor() + 1.0 } else { self.min.ceil() };
        // Casts of floats saturate.
        least as u64..=max.min(self.max as u64)
    }
}

/// Completes "it must be ...".
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { min, max, excludes_min } = *self;
        match (min.is_finite(), max.is_finite()) {
            (true, true) if excludes_min => write!(f, "above {min} and at most {max}"),
            (true, true) => write!(f, "in {min}..={max}"),
            (true, false) if excludes_min => write!(f, "above {min}"),
            (true, false) => write!(f, "{min} or more"),
            (false, true) => write!(f, "{max} or less"),
            (false, false) => write!(f, "finite"),
        }
    }
}
