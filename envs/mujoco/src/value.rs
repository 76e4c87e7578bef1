use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;

/// The value of an argument.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A switch.
    Flag(bool),
    /// A lower and an upper limit.
    Range(f64, f64),
    /// A name or a path.
    Text(Cow<'static, str>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::Range(low, high) => write!(f, "({low}, {high})"),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<(f64, f64)> for Value {
    fn from((low, high): (f64, f64)) -> Self {
        Self::Range(low, high)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned().into())
    }
}
