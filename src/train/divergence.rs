//! Reports NaN and infinity during training.

use std::collections::HashMap;
use std::path::Path;

use algorithms::{Divergence, LearnerError};
use anyhow::{Error, anyhow};

use crate::checkpoint;
use crate::enclosure;
use crate::failure::sentence;
use crate::tensors::{self, Precision};

/// The file in the directory of a run that contains the batch.
const FILE: &str = "diverged_batch.safetensors";

/// Saves the batch that led to an error, if there is one, and adds the paths of the batch and of the last checkpoint to
/// the message.
pub(super) fn report(error: LearnerError, run_dir: &Path) -> Error {
    match error {
        LearnerError::Diverged(divergence) => {
            let (message, batch) = (divergence.to_string(), save(*divergence, run_dir));
            anyhow!("{message}; {batch}; {}", last_good_checkpoint(run_dir))
        }
        LearnerError::NonFinite { .. } => anyhow!("{error}; {}", last_good_checkpoint(run_dir)),
        other => other.into(),
    }
}

/// Returns the learner's error if NaN or infinity caused a failure.
pub(super) fn cause_of(failure: &Error) -> Option<LearnerError> {
    let error = failure.downcast_ref::<LearnerError>()?;
    matches!(error, LearnerError::Diverged(_) | LearnerError::NonFinite { .. }).then(|| error.clone())
}

/// Saves the batch and returns a clause that says where.
fn save(divergence: Divergence, run_dir: &Path) -> String {
    let path = run_dir.join(FILE);
    let texts = HashMap::from([("about".to_owned(), divergence.to_string())]);
    let written = enclosure::check_file(run_dir, &path)
        .map_err(Error::from)
        .and_then(|()| tensors::write(&path, divergence.batch, Precision::F32, texts));
    match written {
        Ok(()) => format!("the batch is in {}", path.display()),
        Err(error) => format!("the batch could not be saved: {}", sentence(&error)),
    }
}

fn last_good_checkpoint(run_dir: &Path) -> String {
    match checkpoint::chosen(run_dir, false) {
        Ok(directory) => format!("the last good checkpoint is {}", directory.display()),
        Err(_) => "there is no checkpoint yet".to_owned(),
    }
}
