//! The functions of `tests/program` that the driver of Chromium calls.

#[path = "../../../tests/program/skip.rs"]
mod skip;
#[path = "../../../tests/program/succeed.rs"]
mod succeed;

pub(crate) use skip::skip;
pub(crate) use succeed::succeed;
