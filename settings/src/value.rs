use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::{ConfigError, Field, Limits, Settings};

/// The type of a setting's values.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number that is not negative.
    Integer {
        /// The largest value that fits both the type and the signed 64-bit integers of TOML.
        max: u64,
    },
    /// A whole number that is not negative, or a list of such numbers.
    Integers {
        /// The largest value.
        max: u64,
    },
    /// A floating-point number.
    Float,
    /// True or false.
    Boolean,
    /// A string.
    Text,
    /// A list of strings.
    List,
    /// One of several names.
    Choice(&'static [Choice]),
    /// A table with keys that the user chooses.
    Table {
        /// Completes "it must be ...".
        allowed: &'static str,
    },
    /// A list of names and tables.
    Items {
        /// Completes "it must be ...".
        allowed: &'static str,
    },
    /// A section within a section.
    Section {
        /// The lines of its documentation.
        lines: &'static [&'static str],
        /// Its fields.
        fields: &'static [Field],
    },
    /// Tables with the same settings, under names that the user chooses.
    Tables {
        /// The lines of their documentation.
        lines: &'static [&'static str],
        /// Their fields.
        fields: &'static [Field],
    },
}

/// One of the names that a setting accepts.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The name.
    pub name: &'static str,
    /// The lines of its documentation.
    pub lines: &'static [&'static str],
    /// The switch that means the same, if there is one.
    pub switch: Option<bool>,
}

impl Choice {
    /// Completes "it must be ...".
    pub(crate) fn one_of(choices: &[Self]) -> String {
        let switches =
            if choices.iter().any(|choice| choice.switch.is_some()) { &["true", "false"][..] } else { &[] };
        let names: Vec<&str> =
            choices.iter().map(|choice| choice.name).chain(switches.iter().copied()).collect();
        match names.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
            _ => names.concat(),
        }
    }
}

/// The type of a setting.
pub trait Value {
    /// The type of the values.
    const KIND: Kind;
    /// True if the setting may be absent.
    const IS_OPTIONAL: bool = false;

    /// Fails if the value is outside `limits`, which only numbers can be.
    fn check(&self, field: &str, limits: Limits) -> Result<(), ConfigError> {
        let _ = (field, limits);
        Ok(())
    }
}

macro_rules! numbers {
    ($($Number:ty => $kind:expr),*) => {
        $(impl Value for $Number {
            const KIND: Kind = $kind;

            fn check(&self, field: &str, limits: Limits) -> Result<(), ConfigError> {
                ConfigError::unless(limits.contains(*self as f64), field, self, limits.to_string())
            }
        })*
    };
}

/// The kind of 64-bit integers.
const LONG: Kind = Kind::Integer { max: i64::MAX as u64 };

numbers!(u32 => Kind::Integer { max: u32::MAX as u64 }, u64 => LONG, usize => LONG, f32 => Kind::Float, f64 => Kind::Float);

impl Value for bool {
    const KIND: Kind = Kind::Boolean;
}

impl Value for String {
    const KIND: Kind = Kind::Text;
}

impl Value for PathBuf {
    const KIND: Kind = Kind::Text;
}

impl Value for Vec<String> {
    const KIND: Kind = Kind::List;
}

impl<T: Value> Value for Option<T> {
    const KIND: Kind = T::KIND;
    const IS_OPTIONAL: bool = true;

    fn check(&self, field: &str, limits: Limits) -> Result<(), ConfigError> {
        let Some(value) = self else { return Ok(()) };
        value
            .check(field, limits)
            .map_err(|error| ConfigError { allowed: format!("{}, or absent", error.allowed), ..error })
    }
}

impl<T: Settings> Value for BTreeMap<String, T> {
    const KIND: Kind = Kind::Tables { lines: T::ABOUT, fields: T::FIELDS };

    fn check(&self, field: &str, _: Limits) -> Result<(), ConfigError> {
        for (name, settings) in self {
            settings.check().map_err(|error| error.within(&format!("{field}.{name}")))?;
        }
        Ok(())
    }
}
