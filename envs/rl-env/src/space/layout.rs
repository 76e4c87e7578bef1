//! The layout of values in a row.

use super::{Dtype, Space};

/// One array in a row: the location of a [`Space`] that is neither a `Dict` nor a `Tuple`.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf<'a> {
    /// The keys (of a `Dict`) and positions (in a `Tuple`) that lead to the leaf, joined by `/`. Empty if the whole
    /// space is a leaf.
    pub path: String,
    /// The space of the leaf.
    pub space: &'a Space,
    /// Offset of the first element from the beginning of the row, in bytes.
    pub offset: usize,
    /// Element type, in native byte order.
    pub dtype: Dtype,
    /// Length of every axis, outermost first; the last axis is contiguous. Empty for a scalar.
    pub shape: Vec<usize>,
}

impl Leaf<'_> {
    /// Returns the size of the leaf in bytes.
    pub fn byte_len(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.size()
    }
}

impl Space {
    /// Returns the arrays of a row of an [`ObservationBuffer`](crate::ObservationBuffer), in their order.
    ///
    /// Leaves are in the order of a `Tuple`'s positions or a `Dict`'s sorted keys, depth first. Each starts at the next
    /// multiple of its element size; as rows are aligned to eight bytes, every leaf is aligned for its type. Padding
    /// bytes have no meaning.
    pub fn leaves(&self) -> Vec<Leaf<'_>> {
        let mut leaves = Vec::new();
        self.collect_leaves(String::new(), 0, &mut leaves);
        leaves
    }

    /// Returns the size of a value in a row, in bytes.
    pub fn byte_len(&self) -> usize {
        self.end(0)
    }

    /// Returns the end of the last leaf if the first one may start at `offset`.
    fn end(&self, offset: usize) -> usize {
        match self.dtype() {
            Some(dtype) => offset.next_multiple_of(dtype.size()) + self.num_elements() * dtype.size(),
            None => self.parts().fold(offset, |offset, part| part.end(offset)),
        }
    }

    fn collect_leaves<'a>(&'a self, path: String, offset: usize, leaves: &mut Vec<Leaf<'a>>) -> usize {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        match self {
            Self::Dict(spaces) => spaces
                .iter()
                .fold(offset, |offset, (key, space)| space.collect_leaves(below(key), offset, leaves)),
            Self::Tuple(spaces) => spaces.iter().enumerate().fold(offset, |offset, (position, space)| {
                space.collect_leaves(below(&position.to_string()), offset, leaves)
            }),
            _ => {
                let (dtype, shape) = (self.dtype(), self.shape());
                let (dtype, shape) = dtype.zip(shape).expect("a space without parts is an array");
                let offset = offset.next_multiple_of(dtype.size());
                let leaf = Leaf { path, space: self, offset, dtype, shape };
                let end = offset + leaf.byte_len();
                leaves.push(leaf);
                end
            }
        }
    }
}
