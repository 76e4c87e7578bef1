use thiserror::Error;

/// The reason why a replay buffer cannot be created.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayError {
    /// It needs more memory than is available.
    #[error(
        "a replay buffer of {steps} steps needs {wanted} bytes ({}), but {available} ({}) are available; reduce \
         buffer_size to about {} steps, or keep the replay buffer in a file",
        gibibytes(*.wanted), gibibytes(*.available), affordable(*.steps, *.wanted, *.available)
    )]
    TooLarge {
        /// The number of steps that it would hold.
        steps: u64,
        /// The number of bytes that it needs.
        wanted: u64,
        /// The number of bytes available.
        available: u64,
    },
    /// An environment's share of the steps is too small to learn from.
    #[error(
        "buffer_size = {buffer_size} leaves each environment of {task} a share of {share}; at least {least} steps are needed"
    )]
    SmallShare {
        /// The number of steps over all environments.
        buffer_size: usize,
        /// The number of steps of an environment.
        share: usize,
        /// The task with the smallest share.
        task: String,
        /// The smallest share that can be learned from.
        least: usize,
    },
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

/// Returns the number of steps that fit into the available bytes, rounded down to two digits.
fn affordable(steps: u64, wanted: u64, available: u64) -> u64 {
    let steps = (u128::from(steps) * u128::from(available) / u128::from(wanted.max(1))) as u64;
    let unit = 10u64.pow(steps.checked_ilog10().unwrap_or(0).saturating_sub(1));
    steps / unit * unit
}
