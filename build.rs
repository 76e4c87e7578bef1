//! Passes the commit to the program, which records it in every run.

use std::process::Command;

fn main() {
    // The sources, and the reflog, which grows with every commit and checkout.
    for path in ["src", "algorithms", "envs", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={path}");
    }
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    println!("cargo::rustc-env=ALE_TRAIN_COMMIT={}", commit().unwrap_or_else(|| "unknown".to_owned()));
}

/// Returns the commit, with `+changes` if files differ from it, or `None` outside a git checkout.
fn commit() -> Option<String> {
    let commit = git(&["rev-parse", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changes.is_empty() { commit } else { format!("{commit}+changes") })
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
