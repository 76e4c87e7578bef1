//! Checks the paths that the code of every crate names: there is no circle of files, and the parts of a crate use each other
//! only downwards.

mod graph;
mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use graph::{Arrows, arrows, circles, described};

use crate::architecture::workspace_packages;

/// The parts of crates, lowest first: the top-level modules of a line may use each other and those of earlier lines.
const LAYERS: [(&str, &[&str]); 1] = [(
    "algorithms",
    &[
        "tasks named_weights cluster",
        "error",
        "state_bytes",
        "networks",
        "experience",
        "engine action_values",
        "ppo pqn dqn sac",
    ],
)];

/// Returns the arrows of every crate by its name.
fn crates() -> Vec<(String, Arrows)> {
    let packages = workspace_packages();
    let libraries = packages.iter().filter_map(|package| {
        let is_library = |kind: &String| ["lib", "cdylib", "rlib"].contains(&kind.as_str());
        let library = package.targets.iter().find(|target| target.kind.iter().any(is_library))?;
        Some((package.name.clone(), arrows(&modules::read(&library.src_path))))
    });
    libraries.collect()
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut found = Vec::new();
    for (_, arrows) in crates() {
        let files: BTreeMap<&Path, BTreeSet<&Path>> = arrows
            .iter()
            .map(|(from, targets)| (from.as_path(), targets.keys().map(|to| to.as_path()).collect()))
            .collect();
        found.extend(circles(&files).iter().map(|files| described(&arrows, files)));
    }
    assert!(found.is_empty(), "{} circles:\n{}", found.len(), found.join("\n\n"));
}
