//! The `ale-train` application.

fn main() {}
