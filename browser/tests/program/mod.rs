//! What the driver of Chromium needs of the module with the same name in the tests of `ale-train`.

#[path = "../../../tests/program/skip.rs"]
mod skip;
#[path = "../../../tests/program/succeed.rs"]
mod succeed;

pub(crate) use skip::skip;
pub(crate) use succeed::succeed;
