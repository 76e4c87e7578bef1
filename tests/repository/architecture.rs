//! Checks that the crates of the workspace depend on each other only as allowed here. Add a new dependency to
//! `ARCHITECTURE.md` too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

/// Every crate of the workspace, with the workspace crates that it depends on.
const ALLOWED: [(&str, &[&str]); 15] = [
    ("downloads", &[]),
    ("rl-env", &[]),
    ("settings", &[]),
    ("kernels", &["settings"]),
    ("vcs", &[]),
    ("ale", &["downloads", "rl-env", "vcs"]),
    ("browser", &["ale", "rl-env"]),
    ("vector", &["ale", "rl-env"]),
    ("classic-control", &["rl-env"]),
    ("toy-text", &["rl-env"]),
    ("mujoco", &["downloads", "rl-env"]),
    ("gymnasium-workers", &["rl-env"]),
    ("algorithms", &["kernels", "rl-env", "settings"]),
    (
        "ale-train-python",
        &[
            "ale",
            "ale-train",
            "classic-control",
            "gymnasium-workers",
            "mujoco",
            "rl-env",
            "toy-text",
            "vector",
        ],
    ),
    (
        "ale-train",
        &[
            "ale",
            "algorithms",
            "classic-control",
            "gymnasium-workers",
            "mujoco",
            "rl-env",
            "settings",
            "toy-text",
            "vcs",
            "vector",
        ],
    ),
];

#[test]
fn crate_dependencies_match_the_architecture() {
    let packages = workspace_packages();
    let names: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let actual: BTreeMap<&str, BTreeSet<&str>> = packages
        .iter()
        .map(|package| (package.name.as_str(), normal_dependencies(package, &names)))
        .collect();
    let allowed: BTreeMap<&str, BTreeSet<&str>> =
        ALLOWED.iter().map(|&(name, others)| (name, others.iter().copied().collect())).collect();
    assert_eq!(actual, allowed, "left: Cargo.toml, right: this test and ARCHITECTURE.md; keep them equal");
}

#[test]
fn the_pool_builds_without_the_emulator() {
    let packages = workspace_packages();
    let vector = packages.iter().find(|package| package.name == "vector").expect("a crate vector");
    let ale = vector.dependencies.iter().find(|dependency| dependency.name == "ale").expect("a dependency");
    assert!(ale.optional, "the feature `atari` of vector enables the emulator");
}

#[test]
fn the_python_module_builds_without_the_application() {
    let packages = workspace_packages();
    let python =
        packages.iter().find(|package| package.name == "ale-train-python").expect("a crate for Python");
    let application =
        python.dependencies.iter().find(|dependency| dependency.name == "ale-train").expect("a dependency");
    assert!(application.optional, "the feature `learners` enables the application");
}

/// Environments are independent of the learners and their framework.
#[test]
fn only_learners_and_the_application_depend_on_burn() {
    for package in workspace_packages() {
        let depends = package.dependencies.iter().any(|dependency| dependency.name.starts_with("burn"));
        let may = ["algorithms", "ale-train", "kernels"].contains(&package.name.as_str());
        assert_eq!(depends, may, "{}", package.name);
    }
}

/// The output of `cargo metadata` for the workspace.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

/// A library, program, example or test program.
#[derive(Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev` or `build`; none for a normal dependency.
    kind: Option<String>,
    optional: bool,
}

pub(crate) fn workspace_packages() -> Vec<Package> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo runs");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    serde_json::from_slice::<Metadata>(&metadata.stdout).expect("the metadata of the workspace").packages
}

fn normal_dependencies<'a>(package: &'a Package, names: &BTreeSet<&str>) -> BTreeSet<&'a str> {
    let normal = package.dependencies.iter().filter(|dependency| dependency.kind.is_none());
    normal.map(|dependency| dependency.name.as_str()).filter(|name| names.contains(name)).collect()
}
