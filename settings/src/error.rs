use thiserror::Error;

/// A change of a setting that is fixed once training has begun.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
#[error("{field} cannot change during training: {reason}")]
pub struct FixedSetting {
    /// The name of the setting.
    pub field: &'static str,
    /// The reason.
    pub reason: &'static str,
}

/// A setting outside its limits.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
#[error("{field} = {value} is invalid: it must be {allowed}")]
pub struct ConfigError {
    /// The name of the setting.
    pub field: String,
    /// Its value.
    pub value: String,
    /// The values that are allowed.
    pub allowed: String,
}

impl ConfigError {
    /// Returns an error about the value of `field`.
    pub fn new(field: &str, value: &impl ToString, allowed: impl Into<String>) -> Self {
        Self { field: field.to_owned(), value: value.to_string(), allowed: allowed.into() }
    }

    /// Returns an error about `field` unless its value is possible.
    pub fn unless(
        is_possible: bool,
        field: &str,
        value: &impl ToString,
        allowed: impl Into<String>,
    ) -> Result<(), Self> {
        if is_possible { Ok(()) } else { Err(Self::new(field, value, allowed)) }
    }

    /// Puts the name of a section before the name of the setting.
    #[must_use]
    pub fn within(self, section: &str) -> Self {
        Self { field: format!("{section}.{}", self.field), ..self }
    }
}
