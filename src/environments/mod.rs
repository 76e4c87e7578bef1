//! The vector environments of an experiment.

mod atari;
mod builder;
mod interface;
mod joined;
mod padded;
pub(crate) mod provided;
#[cfg(unix)]
mod python;
mod registered;
mod roms;
mod share;
mod tasks;

pub(crate) use builder::{Builder, Overrides};
pub(crate) use interface::Environments;
pub(crate) use roms::{GameWithRom, with_roms};

/// Maximum number of steps of an episode, that of an Atari game. `CliffWalking-v1` has no limit, so the evaluation of
/// an agent that keeps walking into a wall would never end.
const LONGEST_EPISODE: u32 = 27_000;

/// The purpose of environments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Training with the settings of the experiment.
    Training,
    /// Evaluation on full episodes: the loss of a life has no effect.
    Evaluation,
    /// The same, with frames. The caller resets the environments after the end of an episode, whose last frame is
    /// shown.
    Showing,
}
