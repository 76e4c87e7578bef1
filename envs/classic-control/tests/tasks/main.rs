//! The classic control tasks.

mod conformance;
mod trace;
mod traces;
