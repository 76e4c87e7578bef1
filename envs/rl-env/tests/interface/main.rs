//! Spaces, the registry, wrappers and the conformance test of environments.

mod check_env;
mod registry;
mod rescale_observation;
mod spaces;
