use std::fmt;

use serde::{Deserialize, Serialize};

/// The element type of a [`Space::Box`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dtype {
    /// Bytes: pictures and RAM.
    U8,
    /// 32-bit floats: physical states.
    F32,
}

impl Dtype {
    /// Bytes an element takes.
    pub const fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::F32 => 4,
        }
    }
}

/// The set of possible observations or actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Space {
    /// An n-dimensional box; every element lies in `low..=high`.
    Box {
        /// Smallest value of any element.
        low: f32,
        /// Largest value of any element.
        high: f32,
        /// Length of every axis, outermost first.
        shape: Vec<usize>,
        /// Element type.
        dtype: Dtype,
    },
    /// The integers `0..n`.
    Discrete {
        /// Number of values.
        n: usize,
    },
    /// Several independent discrete choices.
    MultiDiscrete {
        /// Number of values of each choice.
        nvec: Vec<usize>,
    },
}

impl Space {
    /// Pictures and RAM: bytes of any value.
    pub fn bytes(shape: impl Into<Vec<usize>>) -> Self {
        Self::Box { low: 0.0, high: 255.0, shape: shape.into(), dtype: Dtype::U8 }
    }

    /// A vector of `length` floats in `low..=high`.
    pub fn floats(length: usize, low: f32, high: f32) -> Self {
        Self::Box { low, high, shape: vec![length], dtype: Dtype::F32 }
    }

    /// Length of every axis; empty for a single number.
    pub fn shape(&self) -> Vec<usize> {
        match self {
            Self::Box { shape, .. } => shape.clone(),
            Self::Discrete { .. } => Vec::new(),
            Self::MultiDiscrete { nvec } => vec![nvec.len()],
        }
    }

    /// Bytes that one value takes in a row of an [`ObservationBuffer`](crate::ObservationBuffer).
    /// Discrete numbers are stored as `i32`.
    pub fn byte_len(&self) -> usize {
        let elements: usize = self.shape().iter().product();
        match self {
            Self::Box { dtype, .. } => elements * dtype.size(),
            Self::Discrete { .. } | Self::MultiDiscrete { .. } => elements * size_of::<i32>(),
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Box { low, high, shape, dtype } => write!(f, "Box({low}, {high}, {shape:?}, {dtype:?})"),
            Self::Discrete { n } => write!(f, "Discrete({n})"),
            Self::MultiDiscrete { nvec } => write!(f, "MultiDiscrete({nvec:?})"),
        }
    }
}
