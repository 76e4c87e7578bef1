//! Spaces: the sets of possible observations and actions.
//!
//! The kinds and their meaning are those of `gymnasium.spaces`. A value of a space is a row of bytes, whose layout
//! [`Space::leaves`] describes.

mod batch;
mod layout;
mod sample;
mod value;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use batch::CannotBatch;
pub use layout::Leaf;

/// The element type of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dtype {
    /// Unsigned bytes, for images and RAM.
    U8,
    /// Signed bytes, for binary values.
    I8,
    /// 64-bit integers, for discrete values.
    I64,
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
}

impl Dtype {
    /// Returns the size of an element in bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::I64 | Self::F64 => 8,
            Self::F32 => 4,
        }
    }

    /// Returns NumPy's name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "uint8",
            Self::I8 => "int8",
            Self::I64 => "int64",
            Self::F32 => "float32",
            Self::F64 => "float64",
        }
    }

    /// Returns true for floats, false for integers.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

/// The lower or upper bounds of a [`Space::Box`]. `f64` represents every value of every [`Dtype`] exactly (integers up
/// to 2^53).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Bound {
    /// The same bound for all elements.
    All(f64),
    /// One bound for each element.
    Each(Vec<f64>),
}

impl Bound {
    /// Creates bounds from one value for each element; equal values become `All`.
    pub fn each(values: impl Into<Vec<f64>>) -> Self {
        let values = values.into();
        match values.first() {
            Some(&first) if values.iter().all(|&value| value == first) => Self::All(first),
            _ => Self::Each(values),
        }
    }

    /// Returns the bound of element `index`.
    pub fn of(&self, index: usize) -> f64 {
        match self {
            Self::All(value) => *value,
            Self::Each(values) => values[index],
        }
    }
}

/// A set of possible observations or actions.
///
/// ```
/// use rl_env::{Pcg64, Space};
///
/// let space = Space::dict([("speed", Space::floats(2, -1.0, 1.0)), ("gear", Space::discrete(6))]);
/// assert_eq!(space.to_string(), r#"Dict("gear": Discrete(6), "speed": Box(-1, 1, [2], float32))"#);
///
/// // A value is a row of bytes: here an i64, then two f32.
/// let mut row = vec![0; space.byte_len()];
/// space.sample(&mut Pcg64::new(7), &mut row);
/// assert_eq!(row.len(), 16);
/// assert!(space.contains(&row));
///
/// // Flattened for networks: six values one-hot, then the two floats.
/// let mut flat = vec![0.0; space.flat_len()];
/// space.flatten(&row, &mut flat);
/// assert_eq!(flat.len(), 8);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Space {
    /// An n-dimensional array whose elements lie in closed intervals.
    Box {
        /// Lower bounds.
        low: Bound,
        /// Upper bounds.
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
    /// Several independent discrete values.
    MultiDiscrete {
        /// Number of values of each.
        nvec: Vec<usize>,
        /// The first value of each.
        start: Vec<i64>,
    },
    /// An array of zeros and ones.
    MultiBinary {
        /// Length of every axis, outermost first.
        shape: Vec<usize>,
    },
    /// Named spaces, sorted by name.
    Dict(BTreeMap<String, Space>),
    /// A sequence of spaces.
    Tuple(Vec<Space>),
}

impl Space {
    /// Creates a box of unsigned bytes, for images and RAM.
    pub fn bytes(shape: impl Into<Vec<usize>>) -> Self {
        Self::Box { low: Bound::All(0.0), high: Bound::All(255.0), shape: shape.into(), dtype: Dtype::U8 }
    }

    /// Creates a vector of `length` floats in `low..=high`.
    pub fn floats(length: usize, low: f32, high: f32) -> Self {
        let [low, high] = [low, high].map(|bound| Bound::All(bound.into()));
        Self::Box { low, high, shape: vec![length], dtype: Dtype::F32 }
    }

    /// Creates a vector of floats with a range for each element.
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

    /// Creates the space of the integers `0..n`.
    pub const fn discrete(n: usize) -> Self {
        Self::Discrete { n, start: 0 }
    }

    /// Creates the space of vectors whose element `i` lies in `0..nvec[i]`.
    pub fn multi_discrete(nvec: impl Into<Vec<usize>>) -> Self {
        let nvec = nvec.into();
        Self::MultiDiscrete { start: vec![0; nvec.len()], nvec }
    }

    /// Creates the space of vectors of `length` zeros and ones.
    pub fn multi_binary(length: usize) -> Self {
        Self::MultiBinary { shape: vec![length] }
    }

    /// Creates a dictionary of spaces.
    pub fn dict<K: Into<String>>(spaces: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Dict(spaces.into_iter().map(|(key, space)| (key.into(), space)).collect())
    }

    /// Creates a tuple of spaces.
    pub fn tuple(spaces: impl Into<Vec<Self>>) -> Self {
        Self::Tuple(spaces.into())
    }

    /// Returns the length of every axis, empty for a scalar. `None` for `Dict` and `Tuple`.
    pub fn shape(&self) -> Option<Vec<usize>> {
        match self {
            Self::Box { shape, .. } | Self::MultiBinary { shape } => Some(shape.clone()),
            Self::Discrete { .. } => Some(Vec::new()),
            Self::MultiDiscrete { nvec, .. } => Some(vec![nvec.len()]),
            Self::Dict(_) | Self::Tuple(_) => None,
        }
    }

    /// Returns the element type. `None` for `Dict` and `Tuple`.
    ///
    /// As in Gymnasium, discrete values are 64-bit integers and binary values are signed bytes.
    pub fn dtype(&self) -> Option<Dtype> {
        match self {
            Self::Box { dtype, .. } => Some(*dtype),
            Self::Discrete { .. } | Self::MultiDiscrete { .. } => Some(Dtype::I64),
            Self::MultiBinary { .. } => Some(Dtype::I8),
            Self::Dict(_) | Self::Tuple(_) => None,
        }
    }

    /// Iterates over the parts of a `Dict` or `Tuple`; other spaces have none.
    pub fn parts(&self) -> impl Iterator<Item = &Self> {
        let (named, numbered) = match self {
            Self::Dict(spaces) => (Some(spaces.values()), None),
            Self::Tuple(spaces) => (None, Some(spaces.iter())),
            _ => (None, None),
        };
        named.into_iter().flatten().chain(numbered.into_iter().flatten())
    }

    /// Returns the number of elements of a value.
    pub fn num_elements(&self) -> usize {
        match self {
            Self::Box { shape, .. } | Self::MultiBinary { shape } => shape.iter().product(),
            Self::Discrete { .. } => 1,
            Self::MultiDiscrete { nvec, .. } => nvec.len(),
            Self::Dict(_) | Self::Tuple(_) => self.parts().map(Self::num_elements).sum(),
        }
    }
}

/// Formats a space in the manner of Gymnasium, with lists instead of arrays and tuples.
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
            // Most of these bounds are `f32`, which would be printed with meaningless digits as `f64`.
            Self::Each(values) => {
                write!(f, "{:?}", values.iter().map(|&value| value as f32).collect::<Vec<_>>())
            }
        }
    }
}
