//! Settings of which each episode draws a value.

use std::slice;

use serde::{Deserialize, Serialize};
use settings::{Kind, Value};

/// A number, or several, of which each episode draws one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Drawn {
    Always(u32),
    OneOf(Vec<u32>),
}

impl Value for Drawn {
    const KIND: Kind = Kind::Integers { max: u32::MAX as u64 };
}

impl Drawn {
    pub(crate) fn values(&self) -> &[u32] {
        match self {
            Self::Always(value) => slice::from_ref(value),
            Self::OneOf(values) => values,
        }
    }

    /// Returns the number if it is always the same.
    pub(crate) fn single(&self) -> Option<u32> {
        match self.values() {
            [first, rest @ ..] if rest.iter().all(|value| value == first) => Some(*first),
            _ => None,
        }
    }

    /// Returns the numbers as text.
    pub(crate) fn joined(&self, separator: &str) -> String {
        self.values().iter().map(u32::to_string).collect::<Vec<_>>().join(separator)
    }
}
