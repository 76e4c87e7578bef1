//! Products of `bf16` matrices with 32-bit sums, for processors that have instructions for them.
//!
//! Two families of processors compute such products several times as fast as those of `f32`, and each adds in its own
//! order: Intel's tiles (AMX, since Sapphire Rapids) and AMD's dot products (AVX-512 BF16, since Zen 4). Both orders
//! are also computed by ordinary instructions, bit for bit, so that a run can continue on any processor.
//!
//! * `arithmetic`: the two orders of a sum
//! * `number`: conversion to `bf16`
//! * `words`: conversion of many numbers
//! * `sizes`, `panels`: the layout of the right factor
//! * `packed_weight`: panels that are kept between steps
//! * `product`: rows that are read in place, times all panels
//! * `outer_products`: sums of outer products, the gradients of weights
//! * `instructions`: those that this processor has
//! * `tiles`, `dots`, `emulated`: both operations by each kind of instructions
//! * `dispatch`: the choice between them

mod arithmetic;
mod dispatch;
#[cfg(target_arch = "x86_64")]
mod dots;
mod emulated;
mod instructions;
mod number;
mod outer_products;
mod packed_weight;
mod panels;
mod product;
mod sizes;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod tiles;
mod words;

pub use arithmetic::Bf16Arithmetic;
pub(crate) use outer_products::{HalfOuterProducts, ROWS};
pub use packed_weight::PackedWeight;
pub(crate) use panels::HalfPanels;
pub(crate) use product::{HalfProduct, HalfRows};
pub(crate) use sizes::{BLOCK_PAIRS, BLOCK_ROWS, PANEL_COLUMNS};
pub(crate) use words::{round_all, round_transposed};
