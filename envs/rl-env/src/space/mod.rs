//! Spaces: the sets that observations and actions come from.
//!
//! The kinds and their meaning are Gymnasium's (`gymnasium.spaces`). A value of a space is a row of bytes, whose
//! layout [`Space::leaves`] describes.

mod batch;
mod layout;
mod sample;
mod value;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use batch::CannotBatch;
pub use layout::Leaf;

/// The type of the numbers in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dtype {
    /// Bytes: pictures and RAM.
    U8,
    /// Signed bytes: yes (1) or no (0).
    I8,
    /// 64-bit integers: numbered choices.
    I64,
    /// 32-bit floats: physical states.
    F32,
}

impl Dtype {
    /// Bytes an element takes.
    pub const fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::I64 => 8,
            Self::F32 => 4,
        }
    }

    /// NumPy's name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "uint8",
            Self::I8 => "int8",
            Self::I64 => "int64",
            Self::F32 => "float32",
        }
    }
}

/// The smallest or the largest values of a [`Space::Box`]. `f64` holds every value of every [`Dtype`] exactly
/// (integers up to 2^53).
///
/// Equal bounds are always written as `All`, if they come from [`Bound::each`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Bound {
    /// The same for every element.
    All(f64),
    /// One for each element, in the order of the elements.
    Each(Vec<f64>),
}

impl Bound {
    /// One bound for each element.
    pub fn each(values: impl Into<Vec<f64>>) -> Self {
        let values = values.into();
        match values.first() {
            Some(&first) if values.iter().all(|&value| value == first) => Self::All(first),
            _ => Self::Each(values),
        }
    }

    /// The bound of element `index`.
    pub fn of(&self, index: usize) -> f64 {
        match self {
            Self::All(value) => *value,
            Self::Each(values) => values[index],
        }
    }
}

/// The set of possible observations or actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Space {
    /// An n-dimensional box; every element lies in its own closed interval.
    Box {
        /// Smallest values.
        low: Bound,
        /// Largest values.
        high: Bound,
        /// Length of every axis, outermost first.
        shape: Vec<usize>,
        /// Element type.
        dtype: Dtype,
    },
    /// The integers `start..start + n`.
    Discrete {
        /// Number of values.
        n: usize,
        /// The first value.
        start: i64,
    },
    /// Several independent discrete choices.
    MultiDiscrete {
        /// Number of values of each choice.
        nvec: Vec<usize>,
        /// The first value of each choice.
        start: Vec<i64>,
    },
    /// An array of zeros and ones.
    MultiBinary {
        /// Length of every axis, outermost first.
        shape: Vec<usize>,
    },
    /// Named spaces, in the order of their names.
    Dict(BTreeMap<String, Space>),
    /// Spaces one after another.
    Tuple(Vec<Space>),
}

impl Space {
    /// Pictures and RAM: bytes of any value.
    pub fn bytes(shape: impl Into<Vec<usize>>) -> Self {
        Self::Box { low: Bound::All(0.0), high: Bound::All(255.0), shape: shape.into(), dtype: Dtype::U8 }
    }

    /// A vector of `length` floats in `low..=high`.
    pub fn floats(length: usize, low: f32, high: f32) -> Self {
        let [low, high] = [low, high].map(|bound| Bound::All(bound.into()));
        Self::Box { low, high, shape: vec![length], dtype: Dtype::F32 }
    }

    /// A vector of floats, each with its own smallest and largest value.
    pub fn float_ranges(ranges: &[(f32, f32)]) -> Self {
        let (low, high): (Vec<f64>, Vec<f64>) =
            ranges.iter().map(|&(low, high)| (f64::from(low), f64::from(high))).unzip();
        Self::Box {
            low: Bound::each(low),
            high: Bound::each(high),
            shape: vec![ranges.len()],
            dtype: Dtype::F32,
        }
    }

    /// The integers `0..n`.
    pub const fn discrete(n: usize) -> Self {
        Self::Discrete { n, start: 0 }
    }

    /// Independent choices, choice `i` among `0..nvec[i]`.
    pub fn multi_discrete(nvec: impl Into<Vec<usize>>) -> Self {
        let nvec = nvec.into();
        Self::MultiDiscrete { start: vec![0; nvec.len()], nvec }
    }

    /// A vector of `length` zeros and ones.
    pub fn multi_binary(length: usize) -> Self {
        Self::MultiBinary { shape: vec![length] }
    }

    /// Named spaces.
    pub fn dict<K: Into<String>>(spaces: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Dict(spaces.into_iter().map(|(key, space)| (key.into(), space)).collect())
    }

    /// Spaces one after another.
    pub fn tuple(spaces: impl Into<Vec<Self>>) -> Self {
        Self::Tuple(spaces.into())
    }

    /// Length of every axis; empty for a single number. None for spaces that are made of others.
    pub fn shape(&self) -> Option<Vec<usize>> {
        match self {
            Self::Box { shape, .. } | Self::MultiBinary { shape } => Some(shape.clone()),
            Self::Discrete { .. } => Some(Vec::new()),
            Self::MultiDiscrete { nvec, .. } => Some(vec![nvec.len()]),
            Self::Dict(_) | Self::Tuple(_) => None,
        }
    }

    /// The type of the numbers of a value. None for spaces that are made of others.
    ///
    /// As in Gymnasium, choices are 64-bit integers and binaries are signed bytes.
    pub fn dtype(&self) -> Option<Dtype> {
        match self {
            Self::Box { dtype, .. } => Some(*dtype),
            Self::Discrete { .. } | Self::MultiDiscrete { .. } => Some(Dtype::I64),
            Self::MultiBinary { .. } => Some(Dtype::I8),
            Self::Dict(_) | Self::Tuple(_) => None,
        }
    }

    /// The spaces that this one is made of, in order; none for a space that is not made of others.
    pub fn parts(&self) -> impl Iterator<Item = &Self> {
        let (named, numbered) = match self {
            Self::Dict(spaces) => (Some(spaces.values()), None),
            Self::Tuple(spaces) => (None, Some(spaces.iter())),
            _ => (None, None),
        };
        named.into_iter().flatten().chain(numbered.into_iter().flatten())
    }

    /// Numbers in a value.
    pub fn num_elements(&self) -> usize {
        match self {
            Self::Box { shape, .. } | Self::MultiBinary { shape } => shape.iter().product(),
            Self::Discrete { .. } => 1,
            Self::MultiDiscrete { nvec, .. } => nvec.len(),
            Self::Dict(_) | Self::Tuple(_) => self.parts().map(Self::num_elements).sum(),
        }
    }
}

/// As Gymnasium prints it, but for the shape of boxes, which is a list here.
impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Box { low, high, shape, dtype } => {
                write!(f, "Box({low}, {high}, {shape:?}, {})", dtype.name())
            }
            Self::Discrete { n, start: 0 } => write!(f, "Discrete({n})"),
            Self::Discrete { n, start } => write!(f, "Discrete({n}, start={start})"),
            Self::MultiDiscrete { nvec, start } if start.iter().all(|&start| start == 0) => {
                write!(f, "MultiDiscrete({nvec:?})")
            }
            Self::MultiDiscrete { nvec, start } => write!(f, "MultiDiscrete({nvec:?}, start={start:?})"),
            Self::MultiBinary { shape } => match shape[..] {
                [length] => write!(f, "MultiBinary({length})"),
                _ => write!(f, "MultiBinary({shape:?})"),
            },
            Self::Dict(spaces) => {
                let named = spaces.iter().map(|(key, space)| format!("{key:?}: {space}"));
                write!(f, "Dict({})", named.collect::<Vec<_>>().join(", "))
            }
            Self::Tuple(spaces) => {
                let spaces: Vec<String> = spaces.iter().map(Self::to_string).collect();
                write!(f, "Tuple({})", spaces.join(", "))
            }
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(value) => value.fmt(f),
            // Most such bounds are `f32`s, which read badly with the digits of an `f64`.
            Self::Each(values) => {
                write!(f, "{:?}", values.iter().map(|&value| value as f32).collect::<Vec<_>>())
            }
        }
    }
}
