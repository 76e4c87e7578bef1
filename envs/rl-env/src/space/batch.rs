//! Spaces of batches: Gymnasium's `batch_space` and `batch_differing_spaces`.

use thiserror::Error;

use super::{Bound, Dtype, Space};

/// An error in batching spaces.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CannotBatch {
    /// The list of spaces is empty.
    #[error("a batch needs at least one space")]
    Empty,
    /// Two spaces differ in kind, shape, type or keys.
    #[error("{found} cannot be batched with {expected}: only bounds may differ")]
    Different {
        /// The first space.
        expected: Box<Space>,
        /// The first one that differs.
        found: Box<Space>,
    },
}

impl Space {
    /// Returns the space of `count` values of this space.
    ///
    /// A `Box` gets a leading axis; `Discrete` becomes `MultiDiscrete`; `MultiDiscrete` and `MultiBinary` become a
    /// `Box` of their type; the parts of `Dict` and `Tuple` are batched separately.
    #[must_use]
    pub fn batch(&self, count: usize) -> Self {
        match self {
            Self::Box { low, high, shape, dtype } => Self::Box {
                low: low.repeat(count),
                high: high.repeat(count),
                shape: with_axis(count, shape),
                dtype: *dtype,
            },
            &Self::Discrete { n, start } => {
                Self::MultiDiscrete { nvec: vec![n; count], start: vec![start; count] }
            }
            Self::MultiDiscrete { nvec, start } => {
                let (low, high) = ends(nvec, start);
                Self::Box {
                    low: Bound::each(low).repeat(count),
                    high: Bound::each(high).repeat(count),
                    shape: with_axis(count, &[nvec.len()]),
                    dtype: Dtype::I64,
                }
            }
            Self::MultiBinary { shape } => binaries(with_axis(count, shape)),
            Self::Dict(spaces) => {
                Self::Dict(spaces.iter().map(|(key, space)| (key.clone(), space.batch(count))).collect())
            }
            Self::Tuple(spaces) => Self::Tuple(spaces.iter().map(|space| space.batch(count)).collect()),
        }
    }

    /// Returns the space of one value from each of the `spaces`, which may differ in bounds, but not in kind, shape,
    /// type or keys.
    pub fn batch_differing(spaces: &[&Self]) -> Result<Self, CannotBatch> {
        let Some(&first) = spaces.first() else {
            return Err(CannotBatch::Empty);
        };
        if let Some(&found) = spaces.iter().find(|space| !first.is_like(space)) {
            return Err(CannotBatch::Different {
                expected: Box::new(first.clone()),
                found: Box::new(found.clone()),
            });
        }
        Ok(match first {
            Self::Box { shape, dtype, .. } => {
                let elements = first.num_elements();
                let bounds = spaces.iter().filter_map(|space| match space {
                    Self::Box { low, high, .. } => Some((low, high)),
                    _ => None,
                });
                let (low, high): (Vec<f64>, Vec<f64>) = bounds
                    .flat_map(|(low, high)| (0..elements).map(|index| (low.of(index), high.of(index))))
                    .unzip();
                Self::Box {
                    low: Bound::each(low),
                    high: Bound::each(high),
                    shape: with_axis(spaces.len(), shape),
                    dtype: *dtype,
                }
            }
            Self::Discrete { .. } => {
                let choices = spaces.iter().filter_map(|space| match space {
                    &&Self::Discrete { n, start } => Some((n, start)),
                    _ => None,
                });
                let (nvec, start) = choices.unzip();
                Self::MultiDiscrete { nvec, start }
            }
            Self::MultiDiscrete { nvec: first, .. } => {
                let choices = spaces.iter().filter_map(|space| match space {
                    Self::MultiDiscrete { nvec, start } => Some(ends(nvec, start)),
                    _ => None,
                });
                let (low, high): (Vec<_>, Vec<_>) = choices.unzip();
                Self::Box {
                    low: Bound::each(low.concat()),
                    high: Bound::each(high.concat()),
                    shape: with_axis(spaces.len(), &[first.len()]),
                    dtype: Dtype::I64,
                }
            }
            Self::MultiBinary { shape } => binaries(with_axis(spaces.len(), shape)),
            Self::Dict(named) => {
                let keys = named.keys().cloned();
                Self::Dict(keys.zip(Self::batch_parts(spaces)?).collect())
            }
            Self::Tuple(_) => Self::Tuple(Self::batch_parts(spaces)?),
        })
    }

    /// Batches the first parts of the spaces, the second parts, and so on.
    fn batch_parts(spaces: &[&Self]) -> Result<Vec<Self>, CannotBatch> {
        let parts: Vec<Vec<&Self>> = spaces.iter().map(|space| space.parts().collect()).collect();
        let count = parts.first().map_or(0, Vec::len);
        (0..count)
            .map(|index| Self::batch_differing(&parts.iter().map(|parts| parts[index]).collect::<Vec<_>>()))
            .collect()
    }

    /// Returns true if the spaces have the same kind, shape and type; of their parts only the number or names are
    /// compared.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dict(parts), Self::Dict(others)) => parts.keys().eq(others.keys()),
            (Self::Tuple(parts), Self::Tuple(others)) => parts.len() == others.len(),
            _ => {
                let same_kind = std::mem::discriminant(self) == std::mem::discriminant(other);
                same_kind && self.shape() == other.shape() && self.dtype() == other.dtype()
            }
        }
    }
}

impl Bound {
    fn repeat(&self, count: usize) -> Self {
        match self {
            Self::All(value) => Self::All(*value),
            Self::Each(values) => Self::Each(values.repeat(count)),
        }
    }
}

fn with_axis(count: usize, shape: &[usize]) -> Vec<usize> {
    [&[count], shape].concat()
}

fn binaries(shape: Vec<usize>) -> Space {
    Space::Box { low: Bound::All(0.0), high: Bound::All(1.0), shape, dtype: Dtype::I8 }
}

/// Returns the smallest and the largest value of each choice.
fn ends(nvec: &[usize], start: &[i64]) -> (Vec<f64>, Vec<f64>) {
    let ends = nvec.iter().zip(start).map(|(&n, &start)| (start as f64, (start + n as i64 - 1) as f64));
    ends.unzip()
}
