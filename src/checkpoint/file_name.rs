//! The names of checkpoints: `update-00000400`, and `update-00000400.001` for a second one of the same update.

use std::path::Path;

/// Prefix of the names of checkpoints, before the number of updates.
pub(super) const PREFIX: &str = "update-";

/// Returns the sort key of a checkpoint, by which older checkpoints come first: the number of updates in its name, and
/// its index among the checkpoints of the same update. Returns `None` for other names.
pub(super) fn sort_key(checkpoint: &Path) -> Option<(u64, u64)> {
    let name = checkpoint.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let (updates, index) = name.split_once('.').unwrap_or((name, "0"));
    Some((updates.parse().ok()?, index.parse().ok()?))
}
