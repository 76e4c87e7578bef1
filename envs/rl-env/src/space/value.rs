//! Values of a space: membership, elements and flattening.

use super::{Dtype, Leaf, Space};

impl Space {
    /// Returns true if the row is a value of this space.
    pub fn contains(&self, row: &[u8]) -> bool {
        row.len() == self.byte_len() && self.leaves().iter().all(|leaf| leaf.contains(row))
    }

    /// Returns the length of a flattened value.
    pub fn flat_len(&self) -> usize {
        match self {
            Self::Box { .. } | Self::MultiBinary { .. } => self.num_elements(),
            Self::Discrete { n, .. } => *n,
            Self::MultiDiscrete { nvec, .. } => nvec.iter().sum(),
            Self::Dict(_) | Self::Tuple(_) => self.parts().map(Self::flat_len).sum(),
        }
    }

    /// Writes the value in `row` as [`flat_len`](Self::flat_len) floats, for networks: discrete values one-hot,
    /// everything else unchanged, leaf by leaf. This is `gymnasium.spaces.flatten`.
    ///
    /// A discrete value outside its space is written as zeros.
    pub fn flatten(&self, row: &[u8], flat: &mut [f32]) {
        let mut rest = flat;
        for leaf in self.leaves() {
            let (elements, others) = rest.split_at_mut(leaf.space.flat_len());
            leaf.flatten(row, elements);
            rest = others;
        }
    }

    /// Returns the smallest and the largest value of element `index`. For `Dict` and `Tuple` both are NaN.
    pub(crate) fn range(&self, index: usize) -> (f64, f64) {
        let choice = |n: usize, start: i64| (start as f64, start as f64 + n as f64 - 1.0);
        match self {
            Self::Box { low, high, .. } => (low.of(index), high.of(index)),
            &Self::Discrete { n, start } => choice(n, start),
            Self::MultiDiscrete { nvec, start } => choice(nvec[index], start[index]),
            Self::MultiBinary { .. } => (0.0, 1.0),
            Self::Dict(_) | Self::Tuple(_) => (f64::NAN, f64::NAN),
        }
    }
}

impl Leaf<'_> {
    /// Returns element `index` (axes flattened) of the leaf from a row of the whole space. Exact for integers up to
    /// 2^53.
    pub fn element(&self, row: &[u8], index: usize) -> f64 {
        let size = self.dtype.size();
        let bytes = &row[self.offset + index * size..][..size];
        match self.dtype {
            Dtype::U8 => f64::from(bytes[0]),
            Dtype::I8 => f64::from(bytes[0].cast_signed()),
            Dtype::I64 => bytemuck::pod_read_unaligned::<i64>(bytes) as f64,
            Dtype::F32 => f64::from(bytemuck::pod_read_unaligned::<f32>(bytes)),
            Dtype::F64 => bytemuck::pod_read_unaligned(bytes),
        }
    }

    /// Writes element `index`, truncated and saturated to the type of the leaf.
    pub fn set_element(&self, row: &mut [u8], index: usize, value: f64) {
        let size = self.dtype.size();
        let bytes = &mut row[self.offset + index * size..][..size];
        match self.dtype {
            Dtype::U8 => bytes[0] = value as u8,
            Dtype::I8 => bytes[0] = (value as i8).cast_unsigned(),
            Dtype::I64 => bytes.copy_from_slice(&(value as i64).to_ne_bytes()),
            Dtype::F32 => bytes.copy_from_slice(&(value as f32).to_ne_bytes()),
            Dtype::F64 => bytes.copy_from_slice(&value.to_ne_bytes()),
        }
    }

    fn elements(&self, row: &[u8]) -> impl Iterator<Item = f64> {
        (0..self.space.num_elements()).map(|index| self.element(row, index))
    }

    fn contains(&self, row: &[u8]) -> bool {
        self.elements(row).enumerate().all(|(index, value)| {
            let (low, high) = self.space.range(index);
            (low..=high).contains(&value)
        })
    }

    fn flatten(&self, row: &[u8], flat: &mut [f32]) {
        let counts = match self.space {
            Space::Discrete { n, .. } => std::slice::from_ref(n),
            Space::MultiDiscrete { nvec, .. } => nvec,
            _ => {
                flat.iter_mut().zip(self.elements(row)).for_each(|(to, value)| *to = value as f32);
                return;
            }
        };
        flat.fill(0.0);
        let mut first = 0;
        for (index, (value, count)) in self.elements(row).zip(counts).enumerate() {
            let (low, high) = self.space.range(index);
            if (low..=high).contains(&value) {
                flat[first + (value - low) as usize] = 1.0;
            }
            first += count;
        }
    }
}
