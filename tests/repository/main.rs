//! The repository itself: its crates, contents, documents and packages.

mod architecture;
mod contents;
mod documents;
mod packaging;
#[path = "../program/mod.rs"]
mod program;
