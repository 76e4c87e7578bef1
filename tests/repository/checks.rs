//! The checks of `.ci/run` stay complete and fast.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::architecture::workspace_packages;
use crate::contents::{ROOT, tracked_files};

/// The largest number of test programs in the directories `tests` of all crates.
const TEST_PROGRAMS: usize = 20;

/// Each test program links hundreds of megabytes. Add a test to an existing program, unless it changes the whole process or
/// needs a feature.
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

/// `.ci/run` skips the lints for GPUs unless these files have changed.
#[test]
fn lints_for_gpus_cover_every_file_with_code_for_a_kind_of_gpu() {
    let script = fs::read_to_string(Path::new(ROOT).join(".ci/run")).expect("the script of the checks");
    let line = script.lines().find(|line| line.starts_with("recorded \"lints for GPUs\""));
    let covered: BTreeSet<&str> =
        line.expect("a recorded check").split([' ', '"']).filter(|word| word.starts_with("src/")).collect();
    let application = tracked_files().into_iter().filter_map(|path| {
        let name = path.strip_prefix(ROOT).expect("a file of the repository").to_str()?.to_owned();
        let is_code = path.extension().is_some_and(|extension| extension == "rs");
        (name.starts_with("src/") && is_code).then_some((name, path))
    });
    for (name, path) in application {
        let code = fs::read_to_string(&path).unwrap_or_default();
        let has_kinds =
            ["wgpu", "vulkan", "cuda"].iter().any(|kind| code.contains(&format!("feature = \"{kind}\"")));
        assert_eq!(covered.contains(name.as_str()), has_kinds, "{name}");
    }
}
