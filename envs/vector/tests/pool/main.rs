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
#[cfg(feature = "atari")]
mod players;
mod selected_envs;
mod sequences;
mod step_limit;
#[path = "../stub/mod.rs"]
mod stub;
mod take_observations;
mod threads;

impl stub::Stub {
    /// Creates a stub with `num_actions` actions that calls `on_step` in each step.
    pub(crate) fn calling(num_actions: usize, on_step: fn(u64) -> Result<(), rl_env::EnvError>) -> Self {
        let mut stub = Self::new(num_actions);
        stub.on_step = on_step;
        stub
    }
}
