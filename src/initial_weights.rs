//! Weights that a new run starts from.

use std::fmt::Write;
use std::path::Path;

use algorithms::networks::{NamedWeights, TrainedNetwork, Transferred};
use anyhow::{Result, bail};
use sha2::{Digest, Sha256};

use crate::agent::TrainedAgent;
use crate::cli::CheckpointArgs;
use crate::provenance::{Origin, Provenance};
use crate::telemetry::Printer;

/// Reads the newest checkpoint of a run, a checkpoint, a file of `ale-train export`, or an agent of the zoo.
pub(crate) fn open(path: &Path, printer: &Printer) -> Result<(TrainedNetwork, Origin)> {
    let agent = TrainedAgent::open(&CheckpointArgs { checkpoint: path.to_owned(), best: false }, printer)?;
    let network = agent.exported()?.network;
    let weights_sha256 = sha256(&network.weights);
    Ok((network, Origin { path: path.to_owned(), commit: agent.commit, weights_sha256 }))
}

/// Fails if a run started from other weights. They are stored in its first checkpoint, so without one it cannot start
/// again.
pub(crate) fn check_absent(run_dir: &Path) -> Result<()> {
    match Provenance::read(run_dir)?.init_from {
        None => Ok(()),
        Some(origin) => bail!(
            "the run {} ended before it stored the weights of {}; remove it and start it again",
            run_dir.display(),
            origin.path.display()
        ),
    }
}

/// Returns the outcome of a transfer as a sentence.
pub(crate) fn sentence(origin: &Origin, transferred: &Transferred) -> String {
    let Transferred { tensors, of, fresh_heads } = transferred;
    let heads = match fresh_heads.as_slice() {
        [] => String::new(),
        tasks if tasks.len() > 6 => format!("; fresh heads for {} games", tasks.len()),
        tasks => format!("; fresh heads for {}", tasks.join(", ")),
    };
    format!("{tensors} of {of} tensors from {}{heads}", origin.path.display())
}

fn sha256(weights: &[NamedWeights]) -> String {
    let mut hash = Sha256::new();
    for NamedWeights { name, shape, values } in weights_in_order(weights) {
        hash.update(format!("{name} {shape:?}\n"));
        for value in values {
            hash.update(value.to_le_bytes());
        }
    }
    hash.finalize().iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Returns the weights ordered by name: the order in files differs from that in networks.
fn weights_in_order(weights: &[NamedWeights]) -> Vec<&NamedWeights> {
    let mut ordered: Vec<&NamedWeights> = weights.iter().collect();
    ordered.sort_by(|a, b| a.name.cmp(&b.name));
    ordered
}
