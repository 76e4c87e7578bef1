//! Records the commit and the cargo features of the build for `--version` and for each run's provenance.

use std::process::Command;

/// A file in which `git archive` writes the commit.
const SOURCE_COMMIT: &str = ".source-commit";

fn main() {
    // The sources and the files that they include, and the reflog, which grows with every commit and checkout.
    for path in [
        "src",
        "algorithms",
        "envs",
        "settings",
        "configs",
        "roms",
        "checkpoints/zoo",
        "benches/reference_scores.toml",
        "Cargo.toml",
        "Cargo.lock",
        SOURCE_COMMIT,
    ] {
        println!("cargo::rerun-if-changed={path}");
    }
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    println!("cargo::rustc-env=ALE_TRAIN_COMMIT={}", commit().unwrap_or_else(|| "unknown".to_owned()));
    println!("cargo::rustc-env=ALE_TRAIN_FEATURES={}", features().join(", "));
}

/// The cargo features of the build, without `default`.
fn features() -> Vec<String> {
    let enabled = std::env::var("CARGO_CFG_FEATURE").unwrap_or_default();
    enabled.split(',').filter(|name| !name.is_empty() && *name != "default").map(str::to_owned).collect()
}

/// Returns the commit, with `+changes` if files of a checkout differ from it, or `None` if it is unknown.
fn commit() -> Option<String> {
    if let Some(commit) = std::fs::read_to_string(SOURCE_COMMIT).ok().filter(|text| !text.starts_with('$')) {
        return Some(commit.trim().to_owned());
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changes.is_empty() { commit } else { format!("{commit}+changes") })
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
