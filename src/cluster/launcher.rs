//! Detects launchers by the variables that they set in the environment of the process.

use std::env;

/// Variables with the rank of the process, which Open MPI, `PMIx` (Slurm, Open MPI 5) and MPICH set.
#[cfg(feature = "mpi")]
const RANKS: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];
/// Variables with the number of processes.
#[cfg(not(feature = "mpi"))]
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];

/// Returns true if a launcher has started the process.
#[cfg(feature = "mpi")]
pub(super) fn is_present() -> bool {
    RANKS.iter().any(|name| env::var_os(name).is_some())
}

/// Fails if a launcher has started several processes, which would each train the same run.
#[cfg(not(feature = "mpi"))]
pub(super) fn check_alone() -> anyhow::Result<()> {
    let size = |name: &&str| env::var(name).ok()?.parse::<usize>().ok();
    let most = SIZES.iter().filter_map(size).max().unwrap_or(1);
    anyhow::ensure!(
        most <= 1,
        "a launcher has started {most} processes, but this build trains in one: build with \
         `cargo build --release --features mpi` to train with several"
    );
    Ok(())
}
