use thiserror::Error;

/// A hyperparameter outside its range.
///
/// ```
/// use algorithms::ppo::PpoConfig;
///
/// let num_envs = 8;
/// let config = PpoConfig { gamma: 1.5, ..PpoConfig::default() };
/// let error = config.validate(num_envs).unwrap_err();
/// assert_eq!((error.field, error.allowed.as_str()), ("gamma", "in 0..=1"));
/// ```
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field} = {value} is not possible: it must be {allowed}")]
#[non_exhaustive]
pub struct ConfigError {
    /// The name of the field in the algorithm's configuration.
    pub field: &'static str,
    /// The value of the field.
    pub value: String,
    /// The allowed values.
    pub allowed: String,
}

/// Fails with an error about `field` unless its value is `possible`.
pub(crate) fn check(
    field: &'static str,
    value: &impl ToString,
    possible: bool,
    allowed: impl Into<String>,
) -> Result<(), ConfigError> {
    if possible {
        return Ok(());
    }
    Err(ConfigError { field, value: value.to_string(), allowed: allowed.into() })
}

/// Fails unless `value` is in 0..=1.
pub(crate) fn check_unit(field: &'static str, value: f32) -> Result<(), ConfigError> {
    check(field, &value, (0.0..=1.0).contains(&value), "in 0..=1")
}

/// Fails unless `value` is finite and above 0.
pub(crate) fn check_positive(field: &'static str, value: f32) -> Result<(), ConfigError> {
    check(field, &value, value.is_finite() && value > 0.0, "a number above 0")
}

/// Fails unless `value` is 1 or more.
pub(crate) fn check_count(field: &'static str, value: usize) -> Result<(), ConfigError> {
    check(field, &value, value >= 1, "1 or more")
}
