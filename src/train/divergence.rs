//! The end of a training whose numbers are none any more.

use std::collections::HashMap;
use std::path::Path;

use algorithms::LearnerError;
use anyhow::{Error, anyhow};

use crate::checkpoint;
use crate::failure::sentence;
use crate::tensors;

/// The file in the run's folder that has the batch.
const FILE: &str = "diverged_batch.safetensors";

/// Saves the batch that an error is about, if it is about one, and says where that and the last good checkpoint are.
pub(super) fn keep(error: LearnerError, run_dir: &Path) -> Error {
    let LearnerError::Diverged(divergence) = error else { return error.into() };
    let message = divergence.to_string();
    let path = run_dir.join(FILE);
    let texts = HashMap::from([("about".to_owned(), message.clone())]);
    let batch = match tensors::write(&path, divergence.batch, texts) {
        Ok(()) => format!("the batch is in {}", path.display()),
        Err(error) => format!("the batch could not be saved: {}", sentence(&error)),
    };
    let checkpoint = match checkpoint::chosen(run_dir, false) {
        Ok(folder) => format!("the last good checkpoint is {}", folder.display()),
        Err(_) => "there is no checkpoint yet".to_owned(),
    };
    anyhow!("{message}; {batch}; {checkpoint}")
}
