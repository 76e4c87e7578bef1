use super::half::{Bf16Arithmetic, PackedWeight};

/// Options of the product of a layer's input and weight.
#[derive(Clone, Debug, Default)]
pub struct Computation {
    /// True to set negative outputs to 0.
    pub rectify: bool,
    /// The arithmetic of products of 16-bit numbers on the CPU; `None` for 32 bits.
    pub arithmetic: Option<Bf16Arithmetic>,
    /// The cache of a fully connected layer's packed weight.
    pub packed: Option<PackedWeight>,
}

impl Computation {
    /// Returns a computation with products of 16-bit numbers on the CPU if `arithmetic` is given.
    pub fn new(rectify: bool, arithmetic: Option<Bf16Arithmetic>) -> Self {
        Self { rectify, arithmetic, packed: None }
    }

    /// Returns a computation in the format of the input.
    pub fn plain(rectify: bool) -> Self {
        Self::new(rectify, None)
    }
}
