//! Tells the program which commit it is built from, so that runs can say what made them.

use std::process::Command;

fn main() {
    // What the program is made of, and the list that grows with every commit and checkout.
    for path in ["src", "algorithms", "envs", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={path}");
    }
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    println!("cargo::rustc-env=ALE_TRAIN_COMMIT={}", commit().unwrap_or_else(|| "unknown".to_owned()));
}

/// The commit, with `+changes` where files differ from it. None where this is no git checkout.
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
