//! Detects launchers by the variables that they set in the environment of the process.

use std::env;

use anyhow::{Result, bail};

/// Variables with the rank of the process, which Open MPI, `PMIx` (Slurm, Open MPI 5) and MPICH set.
#[cfg(feature = "mpi")]
const RANKS: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];
/// Variables with the number of processes. The first that is set counts: `mpirun` may itself use Slurm.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];

/// Returns true if a launcher has started the process.
#[cfg(feature = "mpi")]
pub(super) fn is_present() -> bool {
    RANKS.iter().any(|name| env::var_os(name).is_some())
}

/// Fails if a launcher has started more processes than the `connected` ones: each part would train the same run.
pub(super) fn check_size(connected: usize) -> Result<()> {
    let size = |name: &&str| env::var(name).ok()?.parse::<usize>().ok();
    let started = SIZES.iter().find_map(size).unwrap_or(1);
    if started <= connected {
        return Ok(());
    }
    if cfg!(feature = "mpi") {
        bail!(
            "a launcher has started {started} processes, but MPI connects only {connected}: use the launcher of the MPI \
             library that ale-train is linked to, and with `srun` a type from `srun --mpi=list`"
        );
    }
    bail!(
        "a launcher has started {started} processes, but this build supports only one: build with \
         `cargo build --release --features mpi` to train with several"
    );
}
