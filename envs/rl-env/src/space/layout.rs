//! How a value of a space lies in a row.

use super::{Dtype, Space};

/// One array in a row: the place of a [`Space`] that is not made of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf<'a> {
    /// The keys (of a `Dict`) and positions (in a `Tuple`) that lead to the leaf, joined by `/`. Empty if the space is
    /// itself a leaf.
    pub path: String,
    /// The leaf's own space.
    pub space: &'a Space,
    /// Bytes between the beginning of the row and the leaf's first element.
    pub offset: usize,
    /// Type of the elements, in native byte order.
    pub dtype: Dtype,
    /// Length of every axis, outermost first; the last axis is contiguous. Empty for a single number.
    pub shape: Vec<usize>,
}

impl Leaf<'_> {
    /// Bytes that the leaf takes.
    pub fn byte_len(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.size()
    }
}

impl Space {
    /// The arrays that a row of an [`ObservationBuffer`](crate::ObservationBuffer) is made of, in their order.
    ///
    /// Leaves follow each other in the order of a `Tuple`'s positions or a `Dict`'s sorted names, depth first. Each
    /// begins at the next multiple of its element's size; as rows are aligned to eight bytes, every leaf is aligned
    /// for its type. The bytes skipped for that are zero and mean nothing.
    pub fn leaves(&self) -> Vec<Leaf<'_>> {
        let mut leaves = Vec::new();
        self.collect_leaves(String::new(), 0, &mut leaves);
        leaves
    }

    /// Bytes that one value takes in a row.
    pub fn byte_len(&self) -> usize {
        self.end(0)
    }

    /// Where this space's last leaf ends, if its first one may begin at `offset`.
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
                let (dtype, shape) =
                    dtype.zip(shape).expect("a space that is not made of others is an array");
                let offset = offset.next_multiple_of(dtype.size());
                let leaf = Leaf { path, space: self, offset, dtype, shape };
                let end = offset + leaf.byte_len();
                leaves.push(leaf);
                end
            }
        }
    }
}
