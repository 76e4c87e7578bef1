use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::checkpoint::CONFIG;
use crate::cli::SyncArgs;
use crate::enclosure;
use crate::files::limit;
use crate::provenance::Provenance;

/// The most characters of an id: Weights & Biases takes no more.
const ID: usize = 128;

/// Describes a run, as `tracker.py` expects it.
pub(super) fn of_run(run_dir: &Path, args: &SyncArgs) -> Result<Value> {
    let text = enclosure::read_text(run_dir, &run_dir.join(CONFIG), limit::EXPERIMENT)
        .with_context(|| format!("{CONFIG} of {} cannot be read", run_dir.display()))?;
    let settings: Value =
        toml::from_str(&text).with_context(|| format!("{CONFIG} of {} is damaged", run_dir.display()))?;
    let provenance = Provenance::read(run_dir)?;
    let directory = std::path::absolute(run_dir)?;
    let name = directory.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy());
    Ok(json!({
        "service": args.to.name(),
        "project": args.project,
        "id": id(&name, provenance.started.unwrap_or_default()),
        "name": name,
        "settings": settings,
        "provenance": provenance,
    }))
}

/// Returns a name of the run for the service, which is the same after the run has moved: that of its directory and the
/// time of its start.
fn id(name: &str, started: u64) -> String {
    let end = format!("-{started}");
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let beginning: String = name.chars().map(allowed).take(ID - end.len()).collect();
    beginning + &end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_only_characters_that_services_take() {
        assert_eq!(id("pong seed/1 é", 1_796_055_890), "pong-seed-1---1796055890");
        assert_eq!(id(&"x".repeat(200), 7).len(), ID);
    }
}
