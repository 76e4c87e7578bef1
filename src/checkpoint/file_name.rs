//! The names of checkpoints: `update-00000400`, and `update-00000400.001` for a second one of the same update.

use std::path::Path;

/// Prefix of the names of checkpoints, before the number of updates.
pub(super) const PREFIX: &str = "update-";

/// Returns the number of updates in the name of a checkpoint, and the number of earlier checkpoints of the same update.
/// The pairs order checkpoints by age.
pub(super) fn number(checkpoint: &Path) -> Option<(u64, u64)> {
    let name = checkpoint.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let (updates, again) = name.split_once('.').unwrap_or((name, "0"));
    Some((updates.parse().ok()?, again.parse().ok()?))
}
