//! Settings that are declared in one place.
//!
//! [`settings!`] declares a struct in which every field has a default and may have [`Limits`]. Parsers, range checks,
//! references and help texts read the declaration through [`Settings::FIELDS`], so that none of them repeats it.
//! [`choices!`] does the same for settings that take one of several names.
//!
//! ```
//! use settings::{Settings, above, between, settings};
//!
//! settings! {
//!     /// An optimiser.
//!     #[derive(Debug)]
//!     pub struct Optimizer {
//!         /// The step size.
//!         pub learning_rate: f64 = 1e-3 => above(0.0),
//!         /// The decay rate of the first moment.
//!         pub beta: f32 = 0.9 => between(0.0, 1.0),
//!     }
//! }
//!
//! let error = Optimizer { beta: 1.5, ..Optimizer::default() }.check().unwrap_err();
//! assert_eq!(error.to_string(), "beta = 1.5 is invalid: it must be in 0..=1");
//! assert_eq!(Optimizer::FIELDS[0].about(), "The step size.");
//! ```

mod declare;
mod error;
mod limits;
mod value;
mod whole;

use std::ops::RangeInclusive;

pub use error::{ConfigError, FixedSetting};
pub use limits::{Limits, above, at_least, between};
pub use value::{Choice, Kind, Value};
pub use whole::{whole_number, whole_number_in};

/// A struct of settings, as [`settings!`] declares it.
pub trait Settings: Default {
    /// The lines of the struct's documentation.
    const ABOUT: &'static [&'static str];
    /// The fields, in the order of their declaration.
    const FIELDS: &'static [Field];

    /// Fails at the first field whose value is outside its limits.
    fn check(&self) -> Result<(), ConfigError>;

    /// Returns the fields whose values differ from those of `other`.
    fn changed(&self, other: &Self) -> Vec<&'static Field>;

    /// Fails at the first fixed field whose value differs from that of `before`.
    fn check_change(&self, before: &Self) -> Result<(), FixedSetting> {
        let fixed = |field: &Field| Some(FixedSetting { field: field.name, reason: field.fixed? });
        self.changed(before).into_iter().find_map(fixed).map_or(Ok(()), Err)
    }
}

/// The declaration of one setting.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name of the field.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// True if the setting may be absent.
    pub is_optional: bool,
    /// The limits of its values.
    pub limits: Limits,
    /// The reason why the setting cannot change once training has begun, if it cannot.
    pub fixed: Option<&'static str>,
    /// The lines of its documentation.
    pub lines: &'static [&'static str],
}

impl Field {
    /// Returns the documentation as one paragraph.
    pub fn about(&self) -> String {
        paragraph(self.lines)
    }

    /// Returns the allowed range if the setting is a whole number or a list of them.
    pub fn whole_numbers(&self) -> Option<RangeInclusive<u64>> {
        match self.kind {
            Kind::Integer { max } | Kind::Integers { max } => Some(self.limits.whole_numbers(max)),
            _ => None,
        }
    }

    /// Describes the allowed values. Completes "it must be ...".
    pub fn allowed(&self) -> String {
        let allowed = match self.kind {
            Kind::Integer { max } => self.limits.whole_number(max),
            Kind::Integers { max } => format!("{}, or a list of such numbers", self.limits.whole_number(max)),
            Kind::Float if self.limits == Limits::NONE => "a finite number".to_owned(),
            Kind::Float => {
                let limits = self.limits.to_string();
                let comma = if limits.starts_with(|letter: char| letter.is_ascii_digit()) { "," } else { "" };
                format!("a number{comma} {limits}")
            }
            Kind::Boolean => "true or false".to_owned(),
            Kind::Text => "a text in quotes".to_owned(),
            Kind::List => "a list of names, or names separated by commas".to_owned(),
            Kind::Choice(choices) => Choice::one_of(choices),
            Kind::Table { allowed } | Kind::Items { allowed } => allowed.to_owned(),
            Kind::Section { .. } | Kind::Tables { .. } => "a section with keys".to_owned(),
        };
        if self.is_optional { format!("{allowed}, or absent") } else { allowed }
    }
}

/// A named group of settings, such as a table of a TOML file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The name.
    pub name: &'static str,
    /// The lines of its documentation.
    pub lines: &'static [&'static str],
    /// The settings.
    pub fields: &'static [Field],
}

impl Section {
    /// Returns the settings of `T` under a name.
    pub const fn of<T: Settings>(name: &'static str) -> Self {
        Self { name, lines: T::ABOUT, fields: T::FIELDS }
    }
}

/// Joins the lines of a documentation comment.
pub fn paragraph(lines: &[&str]) -> String {
    let words = lines.iter().flat_map(|line| line.split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}
