//! Errors in starting workers and making environments.

use std::process::Command;

use gymnasium_workers::{BuildError, EnvGroup, EnvOptions, WorkerOptions, WorkerVectorEnv, WrapperOptions};
use rl_env::interrupt;

use crate::support::{group, group_with, options};

/// Returns the error of making environments.
fn error(groups: &[EnvGroup], options: &WorkerOptions) -> BuildError {
    match WorkerVectorEnv::new(groups, options) {
        Ok(_) => panic!("the environments can be made"),
        Err(error) => error,
    }
}

#[test]
fn numbers_and_names_are_checked_before_python_starts() {
    let nowhere = WorkerOptions { python: Some("/nowhere".into()), ..WorkerOptions::default() };
    let name = "gymnasium:CartPole-v1";
    assert!(matches!(error(&[], &nowhere), BuildError::NoEnvironments));
    assert!(matches!(error(&[group(name, 0)], &nowhere), BuildError::NoEnvironments));
    assert!(matches!(error(&[group(name, 1 << 20)], &nowhere), BuildError::TooManyEnvs { .. }));
    assert!(matches!(error(&[group("CartPole-v1", 1)], &nowhere), BuildError::Name(_)));
    let late = WorkerOptions { timeout: 0.0, ..nowhere.clone() };
    let message = error(&[group(name, 1)], &late).to_string();
    assert_eq!(message, "timeout is 0, but must be a positive number of seconds");
    let message = error(&[group(name, 1)], &nowhere).to_string();
    assert!(message.starts_with("cannot start Python as /nowhere: No such file"), "{message}");
}

#[test]
fn a_missing_package_is_named_with_the_command_that_installs_it() {
    if options(1).is_none() {
        return;
    }
    // A virtual environment without packages.
    let directory = tempfile::TempDir::new().unwrap();
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(directory.path()).output();
    assert!(made.unwrap().status.success());
    let python = directory.path().join("bin/python");
    let without = WorkerOptions { workers: 1, python: Some(python.clone()), ..WorkerOptions::default() };
    let message = error(&[group("gymnasium:CartPole-v1", 1)], &without).to_string();
    let python = python.display();
    let expected = format!(
        "{python} has no module \"gymnasium\"; install it: {python} -m pip install \"gymnasium>=1.0\""
    );
    assert_eq!(message, expected);
}

#[test]
fn a_missing_module_of_an_environment_is_named() {
    let Some(options) = options(2) else { return };
    let python = options.python.clone().unwrap().display().to_string();
    for name in ["gymnasium:no_such_package:Maze-v0", "python:no_such_package:make"] {
        let message = error(&[group(name, 2)], &options).to_string();
        let expected = format!(
            "{python} has no module \"no_such_package\", which {name} needs; install it: {python} -m pip install \
             no_such_package, or add its directory to paths"
        );
        assert_eq!(message, expected);
    }
}

#[test]
fn environments_that_cannot_be_made_say_why() {
    let Some(options) = options(2) else { return };
    let cases = [
        (
            "gymnasium:CartPol-v1",
            "cannot be made: Environment `CartPol` doesn't exist. Did you mean: `CartPole`?",
        ),
        (
            "python:sample_envs:coridor",
            "sample_envs has no attribute 'coridor'; the nearest name is 'corridor'",
        ),
        ("python:sample_envs:not_an_environment", "object is not an environment of Gymnasium"),
        ("python:sample_envs:raises_when_made", "ValueError: no such level\nTraceback"),
        ("python:sample_envs:text", "has the observation space Tuple(Text(1, 4"),
        ("python:sample_envs:whole_numbers", "has the action space Box(0, 5, (2,), int32); supported are"),
    ];
    for (name, expected) in cases {
        let groups = [group("python:sample_envs:corridor", 3), group(name, 2)];
        let message = error(&groups, &options).to_string();
        assert!(message.starts_with(&format!("environment 3 ({name}) ")), "{message}");
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("worker.py"), "{message}");
    }
    let message = error(&[group_with("gymnasium:CartPole-v1", 1, r#"{"gravity": 3}"#)], &options).to_string();
    assert!(message.contains("gravity"), "{message}");
    let wrappers =
        vec![WrapperOptions { name: "gymnasium.wrappers.ClipRewards".to_owned(), ..Default::default() }];
    let wrapped = EnvOptions { wrappers, ..EnvOptions::default() };
    let message =
        error(&[EnvGroup { options: wrapped, ..group("gym:CartPole-v1", 1) }], &options).to_string();
    assert!(message.contains("the nearest name is 'ClipReward'"), "{message}");
}

#[test]
fn environments_that_do_not_fit_together_are_named() {
    let Some(options) = options(2) else { return };
    let of = |name: &str| group(&format!("python:sample_envs:{name}"), 2);
    let different = error(&[of("corridor"), of("levels")], &options);
    assert!(matches!(different, BuildError::DifferentObservations { env: 2, .. }), "{different}");
    let different = error(&[of("one_of_two"), of("two_floats")], &options);
    assert!(matches!(different, BuildError::DifferentActions { env: 2, .. }), "{different}");
}

#[test]
fn a_program_that_is_not_python_is_an_error() {
    let options = WorkerOptions { workers: 1, python: Some("/bin/true".into()), ..WorkerOptions::default() };
    let message = error(&[group("gymnasium:CartPole-v1", 3)], &options).to_string();
    let expected = "cannot start the workers: the worker of environments 0 to 2 ended with exit status 0";
    assert_eq!(message, expected);
}

#[test]
fn starting_has_a_time_limit_and_can_be_interrupted() {
    let Some(options) = options(1) else { return };
    let options = WorkerOptions { start_timeout: 4.0, ..options };
    let groups = [group("python:sample_envs:never_made", 1)];
    let message = error(&groups, &options).to_string();
    assert!(message.contains("did not respond for 4 seconds"), "{message}");
    assert!(message.contains("in never_made"), "the traceback is missing: {message}");
    let options = WorkerOptions { start_timeout: 60.0, ..options };
    let interrupted = interrupt::with_check(|| true, || error(&groups, &options));
    assert!(matches!(interrupted, BuildError::Interrupted), "{interrupted}");
}
