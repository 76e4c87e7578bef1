use serde::{Deserialize, Serialize};

/// The order in which the products of a row and a column are summed. Factors are read in blocks of 32. All results round to
/// nearest, and those below the smallest normal number become 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::networks) enum Arithmetic {
    /// Within a block, one sum of the products at even positions and one of those at odd positions. Both are added, and
    /// then added to the sum of the blocks before: Intel's instruction `TDPBF16PS`.
    Tiles,
    /// Pair by pair, first the product at the odd position: AMD's and Intel's instruction `VDPBF16PS`.
    Dots,
}

impl Arithmetic {
    pub(in crate::networks) const ALL: [Self; 2] = [Self::Tiles, Self::Dots];

    /// Returns the faster arithmetic of this processor.
    pub(in crate::networks) fn here() -> Self {
        if Self::Tiles.is_native() { Self::Tiles } else { Self::Dots }
    }

    /// Returns true if this processor has instructions for the arithmetic.
    pub(in crate::networks) fn is_native(self) -> bool {
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::Tiles => super::tiles::are_available(),
            #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
            Self::Tiles => false,
            #[cfg(target_arch = "x86_64")]
            Self::Dots => super::dots::are_available(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Dots => false,
        }
    }
}
