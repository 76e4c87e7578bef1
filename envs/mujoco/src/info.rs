/// The contents of Gymnasium's `info`, and the reward in full precision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// The reward of the last step; 0 after a reset.
    pub reward: f64,
    names: &'static [&'static str],
    values: [f64; Info::CAPACITY],
    len: usize,
}

impl Info {
    /// The largest number of values, that of Humanoid.
    pub const CAPACITY: usize = 13;

    /// Creates an info with values for the first of the names.
    pub(crate) fn new(names: &'static [&'static str], reward: f64, values: &[f64]) -> Self {
        let mut info = Self { reward, names, len: values.len(), ..Self::default() };
        info.values[..values.len()].copy_from_slice(values);
        info
    }

    /// Returns the values without their names.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values[..self.len]
    }

    /// Iterates over Gymnasium's names with their values. Elements of arrays have numbered names, such as
    /// `tendon_length_0`. After a reset, only the values that do not depend on a step are present.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.names.iter().copied().zip(self.values).take(self.len)
    }
}
