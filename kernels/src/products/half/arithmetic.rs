use serde::{Deserialize, Serialize};
use settings::choices;

choices! {
    /// The order in which a CPU sums the products of a row and a column of `bf16` numbers. Factors are read in blocks
    /// of 32. All results round to nearest, and those below the smallest normal number become 0.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Bf16Arithmetic {
        /// Within a block, one sum of the products at even positions and one of those at odd positions. Both are added,
        /// and then added to the sum of the blocks before: Intel's instruction `TDPBF16PS`.
        Tiles = "tiles",
        /// Pair by pair, first the product at the odd position: AMD's and Intel's instruction `VDPBF16PS`.
        Dots = "dots",
    }
}

impl Bf16Arithmetic {
    /// Returns the faster arithmetic of this processor.
    pub fn here() -> Self {
        if Self::Tiles.is_native() { Self::Tiles } else { Self::Dots }
    }

    /// Returns true if this processor has instructions for the arithmetic.
    pub fn is_native(self) -> bool {
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::Tiles => super::instructions::tiles_are_available(),
            #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
            Self::Tiles => false,
            #[cfg(target_arch = "x86_64")]
            Self::Dots => super::instructions::dots_are_available(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Dots => false,
        }
    }
}
