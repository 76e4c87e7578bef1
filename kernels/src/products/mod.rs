//! Products of matrices on the CPU, for layers that fuse them with bias and ReLU.
//!
//! * `panel`, `tile`: the layout of matrices in memory and in registers
//! * `product`: rows that are read in place, times a panel
//! * `affine`: the same with all panels of a layer's weights and its biases
//! * `computation`: the options of a product
//! * `outer_product`: sums of outer products, the gradients of weights
//! * `rectifier`: the gradient before a ReLU
//! * `half`: products of 16-bit numbers

#![allow(
    clippy::inline_always,
    reason = "code over vectors must be compiled into the caller that has enabled their instructions"
)]

mod affine;
mod computation;
pub(crate) mod half;
mod outer_product;
mod panel;
mod product;
mod rectifier;
mod tile;

pub(crate) use affine::Affine;
pub use computation::Computation;
pub(crate) use outer_product::{Grid, OuterProducts, PositionSums};
pub(crate) use panel::{Aligned, MAX_COLUMNS, Panels, columns_here};
pub(crate) use product::{Product, Rows};
pub(crate) use rectifier::Unrectified;
