//! Fetching, with shell scripts in place of Python.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;

use mujoco::{Installation, MujocoError, Pip, Task};
use tempfile::tempdir;

use crate::installation;

const ANT: &str = "gymnasium/envs/mujoco/assets/ant.xml";

/// The announcements so far. Only one test reads them.
static ANNOUNCED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn announce(line: &str) {
    ANNOUNCED.lock().unwrap().push(line.to_owned());
}

/// Returns a pip that runs a script, in which `$target` is the directory of the packages and `$all` holds all
/// arguments.
fn pip(directory: &Path, script: &str, announce: fn(&str)) -> Pip {
    let path = directory.join("python");
    let target = "all=$*; while [ \"$1\" != --target ]; do shift; done; target=$2";
    fs::write(&path, format!("#!/bin/sh\n{target}\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    Pip::new(announce).with_interpreter(path)
}

/// Returns a script that installs what the tests use themselves.
fn installs() -> String {
    format!("cp -r '{0}/mujoco' '{0}/gymnasium' \"$target\"", installation().directory().display())
}

#[test]
fn files_are_announced_checked_and_complete() {
    let [scripts, directory] = [tempdir().unwrap(), tempdir().unwrap()];
    let fetched = Installation::new(directory.path().join("new"));
    let offline = pip(scripts.path(), "exit 1", announce);
    assert!(fetched.fetch(&offline).is_err());
    let online = pip(scripts.path(), &installs(), announce);
    fetched.fetch(&online).unwrap();
    Task::load(&fetched, "Ant-v5", &[]).unwrap();
    let line = "downloading mujoco==3.17.0 and gymnasium==1.4.0 with pip";
    assert_eq!(*ANNOUNCED.lock().unwrap(), [line, line]);
    let left = fs::read_dir(fetched.directory()).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, [".lock", "gymnasium", "mujoco"]);

    // Nothing is missing, so that pip is not needed.
    let offline = pip(scripts.path(), "exit 1", |_| ());
    fetched.fetch(&offline).unwrap();
}

#[test]
fn files_are_never_replaced_and_incomplete_downloads_are_deleted() {
    let [scripts, directory] = [tempdir().unwrap(), tempdir().unwrap()];
    let fetched = Installation::new(directory.path());
    let online = pip(scripts.path(), &installs(), |_| ());
    fetched.fetch(&online).unwrap();
    let (ant, left) = (directory.path().join(ANT), directory.path().join(".ale-train-download-1"));
    fs::write(&ant, "edited").unwrap();
    fs::create_dir(&left).unwrap();
    fs::write(left.join("file"), "").unwrap();
    fs::remove_file(directory.path().join("gymnasium/envs/mujoco/assets/hopper.xml")).unwrap();
    fetched.fetch(&online).unwrap();
    Task::load(&fetched, "Hopper-v5", &[]).unwrap();
    assert!(matches!(Task::load(&fetched, "Ant-v5", &[]), Err(MujocoError::Damaged { .. })));
    assert_eq!(fs::read_to_string(&ant).unwrap(), "edited");
    assert!(!left.exists());
    fs::remove_file(&ant).unwrap();
    fetched.fetch(&online).unwrap();
    Task::load(&fetched, "Ant-v5", &[]).unwrap();
}

#[test]
fn a_library_of_another_version_is_kept_and_completed() {
    let [scripts, directory] = [tempdir().unwrap(), tempdir().unwrap()];
    let [newer, downloaded] =
        ["4.0.0", "3.17.0"].map(|version| directory.path().join(format!("mujoco/libmujoco.so.{version}")));
    fs::create_dir(directory.path().join("mujoco")).unwrap();
    fs::write(&newer, "damaged").unwrap();
    let online = pip(scripts.path(), &installs(), |_| ());
    Installation::new(directory.path()).fetch(&online).unwrap();
    assert!(directory.path().join(ANT).exists() && !downloaded.exists());
    let unusable = Installation::new(directory.path()).check().unwrap_err();
    assert!(matches!(&unusable, MujocoError::Damaged { path, .. } if *path == newer), "{unusable}");

    // Of two versions, 3.17.0 is used.
    fs::remove_file(&newer).unwrap();
    Installation::new(directory.path()).fetch(&online).unwrap();
    fs::write(&newer, "damaged").unwrap();
    Task::load(&Installation::new(directory.path()), "Ant-v5", &[]).unwrap();
}

#[test]
fn nothing_is_written_into_a_directory_of_python_packages() {
    let [scripts, directory] = [tempdir().unwrap(), tempdir().unwrap()];
    let record = directory.path().join("mujoco-4.0.0.dist-info");
    fs::create_dir(&record).unwrap();
    fs::create_dir(directory.path().join("mujoco")).unwrap();
    let installation = Installation::new(directory.path());
    let online = pip(scripts.path(), &installs(), |_| ());
    let refused = installation.fetch(&online).unwrap_err();
    assert!(matches!(&refused, MujocoError::MissingPackage { .. }), "{refused}");
    assert!(
        refused.to_string().contains("nothing is written into a directory of Python packages"),
        "{refused}"
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    assert_eq!(fs::read_dir(directory.path().join("mujoco")).unwrap().count(), 0);

    fs::remove_dir(record).unwrap();
    installation.fetch(&online).unwrap();
}

#[test]
fn a_cancelled_download_is_not_tried_again() {
    let [scripts, directory] = [tempdir().unwrap(), tempdir().unwrap()];
    let script = format!(
        "echo tried >> {}/tries; echo 'ERROR: Operation cancelled by user' >&2; exit 1",
        scripts.path().display()
    );
    let cancelled = Installation::new(directory.path()).fetch(&pip(scripts.path(), &script, |_| ()));
    assert!(cancelled.unwrap_err().to_string().ends_with(": pip was interrupted"));
    assert_eq!(fs::read_to_string(scripts.path().join("tries")).unwrap(), "tried\n");
}

#[test]
fn a_user_installation_is_overridden() {
    let [scripts, directory] = [tempdir().unwrap(), tempdir().unwrap()];
    let script = format!("case $all in *' --no-user '*) {};; *) exit 1;; esac", installs());
    Installation::new(directory.path()).fetch(&pip(scripts.path(), &script, |_| ())).unwrap();
}

#[test]
fn wheels_of_another_python_are_installed_if_there_are_none_for_the_users() {
    let [scripts, directory] = [tempdir().unwrap(), tempdir().unwrap()];
    let platform = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x86_64" };
    let options = format!(
        "--platform=manylinux_2_28_{platform} --python-version=3.11 --implementation=cp --abi=cp311 \
         --ignore-requires-python --only-binary=:all: --no-user --target"
    );
    let fails = "echo \"ERROR: attempt with $all\" >&2; exit 1";
    let script = format!("case $all in *' {options} '*) {};; *) {fails};; esac", installs());
    Installation::new(directory.path()).fetch(&pip(scripts.path(), &script, |_| ())).unwrap();

    // If both attempts fail, the error is that of the first.
    let other = tempdir().unwrap();
    let offline = pip(scripts.path(), fails, |_| ());
    let error = Installation::new(other.path()).fetch(&offline).unwrap_err().to_string();
    assert!(error.contains("ERROR: attempt with ") && !error.contains("--python-version"), "{error}");
}

#[test]
fn a_download_with_other_contents_is_refused() {
    let [scripts, directory] = [tempdir().unwrap(), tempdir().unwrap()];
    let fetched = Installation::new(directory.path());
    let script = format!("{}; echo '<mujoco/>' > \"$target/{ANT}\"", installs());
    let refused = fetched.fetch(&pip(scripts.path(), &script, |_| ())).unwrap_err();
    assert!(matches!(&refused, MujocoError::Damaged { path, .. } if path.ends_with(ANT)), "{refused}");
    assert!(!directory.path().join(ANT).exists());
    let refused = fetched.fetch(&pip(scripts.path(), "", |_| ())).unwrap_err();
    assert!(matches!(refused, MujocoError::Missing { .. }), "{refused}");
}

#[test]
fn failures_of_pip_are_explained() {
    let [scripts, directory] = [tempdir().unwrap(), tempdir().unwrap()];
    let fetched = Installation::new(directory.path());
    let message = |pip: &Pip| fetched.fetch(pip).unwrap_err().to_string();
    let fails = |words: &str| message(&pip(scripts.path(), &format!("echo '{words}' >&2; exit 1"), |_| ()));
    assert_eq!(
        fails("ERROR: no space"),
        "cannot install mujoco==3.17.0 and gymnasium==1.4.0: ERROR: no space"
    );
    assert_eq!(
        message(&Pip::new(|_| ()).with_interpreter("no-such-python")),
        "cannot install mujoco==3.17.0 and gymnasium==1.4.0: this needs Python 3 with pip, but none of no-such-python can be \
         started"
    );
}
