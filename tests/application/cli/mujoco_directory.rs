//! The tasks of MuJoCo without a directory for its installation.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::program::{Line, fail, run, stdout};

/// Returns the program in a current directory, with no variable that names a directory for MuJoCo.
fn without_directory(line: Line, current: &Path) -> Command {
    let mut command = line.within(current).command();
    for name in ["ALE_TRAIN_MUJOCO", "XDG_DATA_HOME", "HOME", "LOCALAPPDATA"] {
        command.env_remove(name);
    }
    command
}

#[test]
fn nothing_is_downloaded_into_the_current_directory() {
    let scripts = TempDir::new().expect("a directory");
    let current = TempDir::new().expect("a directory");
    let started = scripts.path().join("started");
    let python = scripts.path().join("python3");
    fs::write(&python, format!("#!/bin/sh\n: > '{}'\nexit 1\n", started.display())).expect("a script");
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("an executable");
    for offline in ["--offline", ""] {
        let line = run("ppo --games Hopper-v5 --quiet --run-dir run").words(offline);
        let error = fail(without_directory(line, current.path()).env("PATH", scripts.path()), 2);
        let expected = "there is no directory for MuJoCo because none of ALE_TRAIN_MUJOCO, XDG_DATA_HOME and HOME \
                        is set";
        assert!(error.starts_with("error: ") && error.contains(expected), "{offline:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(!started.exists(), "{offline:?}: pip was started");
        let written = fs::read_dir(current.path()).expect("a directory").count();
        assert_eq!(written, 0, "{offline:?}: something was written");
    }
}

#[test]
fn tasks_are_listed_without_a_directory() {
    let current = TempDir::new().expect("a directory");
    let listed = stdout(&mut without_directory(run("games --games mujoco"), current.path()));
    assert!(listed.contains("Hopper-v5") && listed.contains("Ant-v5"), "{listed}");
}
