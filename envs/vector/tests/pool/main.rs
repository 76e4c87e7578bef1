//! The thread pool and the vector environments over it.

mod environments;
mod equivalence;
mod failures;
mod first_come;
#[cfg(feature = "atari")]
mod games;
mod in_turn;
#[cfg(feature = "atari")]
mod instead_of_hanging;
mod selected_envs;
mod sequences;
mod step_limit;
#[path = "../stub/mod.rs"]
mod stub;
mod take_observations;
mod threads;
