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
mod self_play;
mod share;
mod tasks;

pub(crate) use builder::{Builder, CommandOverrides};
pub(crate) use interface::Environments;
pub(crate) use roms::{GameWithRom, with_roms};
pub(crate) use self_play::copy_side;

/// Step limit of episodes: Atari's 108,000 frames / 4. Tasks without a limit of their own, such as `CliffWalking-v1`,
/// might otherwise never end.
const MAX_EPISODE_STEPS: u32 = 27_000;

/// The purpose of environments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Training with the settings of the experiment.
    Training,
    /// Evaluation on full episodes: the loss of a life has no effect.
    Evaluation,
    /// Evaluation with rendered frames and without autoreset, so that the last frame of an episode stays visible.
    Showing,
}
