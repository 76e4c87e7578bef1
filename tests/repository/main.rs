//! The repository itself: its crates, contents, documents and packages.

mod architecture;
mod checks;
mod comments;
mod contents;
mod documents;
mod environments;
mod imports;
mod packaging;
#[path = "../program/mod.rs"]
mod program;
