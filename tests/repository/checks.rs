//! The checks of `.ci/run` stay complete and fast.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::architecture::workspace_packages;
use crate::contents::{ROOT, tracked_files};
use crate::program::succeed;

/// The largest number of test programs in the directories `tests` of all crates.
const TEST_PROGRAMS: usize = 20;

/// Each test program links hundreds of megabytes. Add a test to an existing program, unless it changes the whole
/// process or needs a feature.
#[test]
fn crates_have_few_test_programs() {
    let programs: BTreeMap<String, Vec<String>> = workspace_packages()
        .into_iter()
        .map(|package| {
            let tests =
                package.targets.into_iter().filter(|target| target.kind.iter().any(|kind| kind == "test"));
            (package.name, tests.map(|target| target.name).collect())
        })
        .collect();
    let count: usize = programs.values().map(Vec::len).sum();
    assert!(count <= TEST_PROGRAMS, "{count} test programs: {programs:?}");
}

/// A dependency that is slow only in release builds, or only in tests, would be hard to explain.
#[test]
fn the_same_dependencies_are_unoptimised_in_development_and_in_releases() {
    let manifest = fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).expect("the manifest");
    let manifest: toml::Table = manifest.parse().expect("TOML");
    let members: BTreeSet<String> = workspace_packages().into_iter().map(|package| package.name).collect();
    let release = unoptimised(&manifest["profile"]["release"], &members);
    assert!(release.len() > 10, "{release:?}");
    assert_eq!(unoptimised(&manifest["profile"]["dev"], &members), release);
}

/// Returns the packages without optimisation in a profile, other than `members` of the workspace.
fn unoptimised<'a>(profile: &'a toml::Value, members: &BTreeSet<String>) -> BTreeSet<&'a String> {
    let packages = profile["package"].as_table().expect("a table of packages");
    let levels = packages.iter().filter(|(name, _)| !members.contains(*name));
    levels
        .filter(|(_, settings)| settings.get("opt-level").and_then(toml::Value::as_integer) == Some(0))
        .map(|(name, _)| name)
        .collect()
}

/// `.ci/run` leaves out crates whose tests have passed. Then the rest must not be compiled with other features.
#[test]
fn crates_that_are_left_out_do_not_change_the_features_of_others() {
    let script = fs::read_to_string(Path::new(ROOT).join(".ci/run")).expect("the script of the checks");
    let list = |name: &str| -> Vec<String> {
        let line = script.lines().find_map(|line| line.strip_prefix(&format!("{name}=\"")));
        line.expect("a list").trim_end_matches('"').split('|').map(str::to_owned).collect()
    };
    let all = dependency_tree(&[]);
    let (environments, learners) = (list("environments"), list("learners"));
    assert!(environments.len() > 5 && learners.len() > 2);
    for left_out in [&environments, &learners, &[environments.clone(), learners.clone()].concat()] {
        let rest = dependency_tree(left_out);
        let changed: Vec<&String> = rest.difference(&all).collect();
        assert!(changed.is_empty(), "without {left_out:?}: {changed:?}");
    }
}

/// Returns the packages that the tests of the workspace need, each with its features.
fn dependency_tree(left_out: &[String]) -> BTreeSet<String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--locked", "--workspace", "--edges", "normal,build,dev", "--prefix", "none"]);
    command.args(["--format", "{p} {f}"]).current_dir(ROOT);
    command.args(left_out.iter().map(|name| format!("--exclude={name}")));
    let tree = String::from_utf8(succeed(&mut command).stdout).expect("text");
    tree.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

/// `.ci/run` skips the lints for GPUs unless the crate `kernels` or these files have changed.
#[test]
fn lints_for_gpus_cover_every_file_with_code_for_a_kind_of_gpu() {
    let script = fs::read_to_string(Path::new(ROOT).join(".ci/run")).expect("the script of the checks");
    let line = script.lines().find(|line| line.starts_with("recorded \"lints for GPUs\""));
    let covered: BTreeSet<&str> =
        line.expect("a recorded check").split([' ', '"']).filter(|word| word.starts_with("src/")).collect();
    let others = tracked_files().into_iter().filter_map(|path| {
        let name = path.strip_prefix(ROOT).expect("a file of the repository").to_str()?.to_owned();
        let is_code = path.extension().is_some_and(|extension| extension == "rs");
        (is_code && !name.starts_with("kernels/") && !name.starts_with("tests/repository/"))
            .then_some((name, path))
    });
    for (name, path) in others {
        let code = fs::read_to_string(&path).unwrap_or_default();
        let has_kinds =
            ["wgpu", "vulkan", "cuda"].iter().any(|kind| code.contains(&format!("feature = \"{kind}\"")));
        assert_eq!(covered.contains(name.as_str()), has_kinds, "{name}");
    }
}
