//! Every error message is one sentence that names the cause.

use std::fs;
use std::path::Path;
use std::process::Command;

use mujoco::{Installation, Library, Task, Value};
use tempfile::{TempDir, tempdir};

use crate::installation;

/// The library that is downloaded.
const LIBRARY: &str = "mujoco/libmujoco.so.3.17.0";
const ANT: &str = "gymnasium/envs/mujoco/assets/ant.xml";

fn error(installation: &Installation, id: &str, arguments: &[(&str, Value)]) -> String {
    Task::load(installation, id, arguments).err().expect("an error").to_string()
}

/// Returns a copy of the installation with only these files.
fn copy(files: &[&str]) -> TempDir {
    let directory = tempdir().unwrap();
    for file in files {
        let to = directory.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(installation().directory().join(file), to).unwrap();
    }
    directory
}

/// Builds a library from a line of C.
pub(crate) fn build(directory: &Path, source: &str) -> std::path::PathBuf {
    let (file, library) = (directory.join("library.c"), directory.join("library.so"));
    fs::write(&file, source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&file);
    assert!(compiler.status().unwrap().success());
    library
}

#[test]
fn missing_files_are_named() {
    let nowhere = Installation::new("no/such/directory");
    let help = "`pip install --no-deps --target DIRECTORY mujoco==3.17.0 gymnasium==1.4.0` with ALE_TRAIN_MUJOCO=DIRECTORY provides it";
    let missing = format!("MuJoCo is missing: no/such/directory/{ANT} does not exist; {help}");
    assert_eq!(error(&nowhere, "Ant-v5", &[]), missing);
    let without_library = copy(&[ANT]);
    let path = without_library.path().join(LIBRARY);
    let missing = format!("MuJoCo is missing: {} does not exist; {help}", path.display());
    assert_eq!(error(&Installation::new(without_library.path()), "Ant-v5", &[]), missing);
}

#[test]
fn damaged_files_are_not_used() {
    let library = format!("mujoco/libmujoco.so.{}", installation().library().unwrap().version());
    for damaged in [&library, ANT] {
        let directory = copy(&[&library, ANT]);
        let path = directory.path().join(damaged);
        let mut bytes = fs::read(&path).unwrap();
        bytes.truncate(bytes.len() / 2);
        fs::write(&path, bytes).unwrap();
        let message = error(&Installation::new(directory.path()), "Ant-v5", &[]);
        let start = format!("{} is damaged or from another version: its SHA-256 is ", path.display());
        assert!(message.starts_with(&start), "{message}");
        assert_eq!(Installation::new(directory.path()).check().unwrap_err().to_string(), message);
    }
    installation().check().unwrap();
}

#[test]
fn other_libraries_are_refused() {
    let directory = tempdir().unwrap();
    // SAFETY: the functions of the libraries built below do nothing, and their version is not supported.
    #[allow(unsafe_code)]
    let message = |path: &Path| unsafe { Library::load(path) }.err().unwrap().to_string();
    let text = directory.path().join("text.so");
    fs::write(&text, "no library").unwrap();
    let refused = format!("{} is not a MuJoCo library: ", text.display());
    assert!(message(&text).starts_with(&refused), "{}", message(&text));
    let foreign = build(directory.path(), "int answer(void) { return 42; }");
    assert!(message(&foreign).contains("mj_version"), "{}", message(&foreign));
    let old = tempdir().unwrap();
    let old = build(old.path(), "int mj_version(void) { return 3006000; }");
    let refused = format!("{} is MuJoCo 3.6.0; the supported versions are 3.17.0 and 4.0.0", old.display());
    assert_eq!(message(&old), refused);
}

#[test]
fn bad_models_are_refused() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("model.xml");
    let xml_file = [("xml_file", Value::from(path.to_str().unwrap()))];
    let refused = format!("{} is not a model that MuJoCo can load: ", path.display());
    for damaged in ["", "<mujoco><worldbody>", "<mujoco><nothing/></mujoco>"] {
        fs::write(&path, damaged).unwrap();
        let message = error(&installation(), "Ant-v5", &xml_file);
        assert!(message.starts_with(&refused), "{damaged}: {message}");
    }
    fs::write(&path, "<mujoco/>").unwrap();
    let reason = "it has 0 positions, but 2 are needed";
    assert_eq!(
        error(&installation(), "HalfCheetah-v5", &xml_file),
        format!("{} is not suitable for HalfCheetah-v5: {reason}", path.display())
    );
    let missing = [("xml_file", Value::from("no/model.xml"))];
    assert!(error(&installation(), "Ant-v5", &missing).starts_with("no/model.xml is not a model"));
    let cheetah = [("xml_file", Value::from("half_cheetah.xml"))];
    assert!(error(&installation(), "Reacher-v5", &cheetah).ends_with("it has no body \"target\""));
}

#[test]
fn arguments_are_checked() {
    let message = |id: &str, name: &str, value: Value| error(&installation(), id, &[(name, value)]);
    assert_eq!(
        error(&installation(), "Aunt-v5", &[]),
        r#"there is no MuJoCo task "Aunt-v5"; the nearest is "Ant-v5""#
    );
    let known = "xml_file, frame_skip, reset_noise_scale";
    assert_eq!(
        message("InvertedPendulum-v5", "healthy_reward", 1.0.into()),
        format!("InvertedPendulum-v5 has no argument \"healthy_reward\"; its arguments are {known}")
    );
    for (name, value, expected) in [
        ("frame_skip", Value::Number(0.0), "a positive integer of at most a million, not 0"),
        ("reset_noise_scale", Value::Number(-0.1), "a number of 0 or more, not -0.1"),
        ("frame_skip", Value::Flag(true), "a number, not true"),
        ("healthy_reward", Value::Number(f64::NAN), "a finite number, not NaN"),
        ("healthy_z_range", Value::Range(1.0, 0.5), "a lower and an upper limit, not (1, 0.5)"),
        ("healthy_z_range", Value::Range(f64::NAN, 0.5), "a lower and an upper limit, not (NaN, 0.5)"),
        ("terminate_when_unhealthy", Value::Number(1.0), "true or false, not 1"),
        ("main_body", Value::Number(0.5), "the index or the name of a body, not 0.5"),
        ("xml_file", Value::Number(1.0), "a path, not 1"),
    ] {
        assert_eq!(message("Ant-v5", name, value), format!("{name} of Ant-v5 must be {expected}"));
    }
    assert!(message("Ant-v5", "main_body", "tail".into()).ends_with("it has no body \"tail\""));
    let bodies = "it has 14 bodies, but 15 are needed";
    assert!(message("Ant-v5", "main_body", 14.0.into()).ends_with(bodies));
}
