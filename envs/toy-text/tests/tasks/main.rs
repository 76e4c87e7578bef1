//! The toy text environments.

mod conformance;
#[path = "../../../classic-control/tests/tasks/trace.rs"]
mod trace;
mod traces;
