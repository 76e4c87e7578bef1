//! Environments that fail.

use std::time::{Duration, Instant};

use gymnasium_workers::{WorkerOptions, WorkerVectorEnv};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rl_env::{Actions, ResetSeeds, VectorEnv, VectorError, interrupt};

use crate::support::{failure, group, group_with, make, options};

const NUM_ENVS: usize = 4;

/// Makes environments of which the one with seed 12 fails at step 3.
fn faulty(fault: &str, options: &WorkerOptions) -> WorkerVectorEnv {
    let kwargs = format!(r#"{{"fault": "{fault}", "at_seed": 12}}"#);
    let group = group_with("python:sample_envs:Faulty", NUM_ENVS, &kwargs);
    WorkerVectorEnv::new(&[group], options).unwrap_or_else(|error| panic!("{error}"))
}

/// Resets, and steps until an error.
fn run(envs: &mut WorkerVectorEnv, steps: usize) -> VectorError {
    envs.reset(ResetSeeds::From(10)).unwrap();
    step_on(envs, steps)
}

/// Steps until an error.
fn step_on(envs: &mut WorkerVectorEnv, steps: usize) -> VectorError {
    for _ in 0..steps {
        if let Err(error) = envs.step(Actions::Discrete(&[0; NUM_ENVS])) {
            return error;
        }
    }
    panic!("no error within {steps} steps");
}

/// Checks that environment 2 fails with a message, after which all environments can be reset.
fn check_error(fault: &str, expected: &[&str]) {
    let Some(options) = options(2) else { return };
    let mut envs = faulty(fault, &options);
    let error = run(&mut envs, 3);
    let place = "environment 2: python:sample_envs:Faulty (seed 12): ";
    assert!(error.to_string().starts_with(place), "{error}");
    let (_, message) = failure(error);
    for expected in expected {
        assert!(message.contains(expected), "{expected:?} is missing in {message}");
    }
    assert!(!message.contains("worker.py"), "{message}");
    assert!(matches!(envs.step(Actions::Discrete(&[0; NUM_ENVS])), Err(VectorError::OutOfOrder(_))));
    assert!(envs.is_usable());
    let again = run(&mut envs, 3);
    assert!(failure(again).1.contains(expected[0]));
}

#[test]
fn exceptions_have_a_traceback_and_the_last_output() {
    check_error(
        "raises",
        &[
            "step 3 of the episode failed: ValueError: the wall is missing",
            "sample_envs.py\", line",
            "in raises",
            "The worker printed last:\nabout to fail",
        ],
    );
    check_error("exits", &["step 3 of the episode failed: SystemExit: 3"]);
}

#[test]
fn unusable_observations_are_errors() {
    check_error("nan", &["element 1 of the observation of step 3 of the episode is NaN, but must be finite"]);
    check_error("infinite", &["element 2 of the observation of step 3 of the episode is -inf"]);
    check_error(
        "shape",
        &["step 3 of the episode failed: the observation has the shape (2,)", "its space is Box("],
    );
    check_error(
        "dtype",
        &["step 3 of the episode failed: the observation has the shape (3,) and the type <U1"],
    );
    check_error("complex", &["the type complex64"]);
}

#[test]
fn unusable_rewards_are_errors() {
    check_error("no_reward", &["step 3 of the episode failed: the reward is None of the type NoneType"]);
    check_error("text_reward", &["the reward is 'much' of the type str, but must be a number"]);
    check_error("nan_reward", &["the reward of step 3 of the episode is NaN, but must be finite"]);
}

#[test]
fn an_action_space_that_changes_is_an_error() {
    check_error(
        "action_space_changes",
        &["step 3 of the episode failed: the action space was Discrete(2), but is now Discrete(3)"],
    );
}

/// Checks that the worker of environment 2 ends with a message, after which no call is possible.
fn check_end(fault: &str, options: &WorkerOptions, expected: &[&str]) {
    let mut envs = faulty(fault, options);
    let begin = Instant::now();
    let error = run(&mut envs, 3);
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    let (env, message) = failure(error.clone());
    assert_eq!(env, 2, "{message}");
    for expected in ["python:sample_envs:Faulty (seed 12): its worker process "].iter().chain(expected) {
        assert!(message.contains(expected), "{expected:?} is missing in {message}");
    }
    assert!(!envs.is_usable());
    assert_eq!(envs.reset(ResetSeeds::From(1)).unwrap_err(), error);
    assert_eq!(envs.recv().unwrap_err(), error);
    assert_eq!(envs.snapshot().unwrap_err(), error);
    let begin = Instant::now();
    drop(envs);
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
}

#[test]
fn a_worker_that_ends_is_an_error() {
    for workers in [1, 2] {
        let Some(options) = options(workers) else { return };
        check_end("ends", &options, &["ended with exit status 3\nThe worker printed last:\nthe last words"]);
        check_end("crashes", &options, &["was ended by signal 11 (SIGSEGV)", "in crashes"]);
    }
}

#[test]
fn a_worker_that_does_not_respond_is_an_error() {
    for workers in [1, 2] {
        let Some(options) = options(workers) else { return };
        let options = WorkerOptions { timeout: 0.8, ..options };
        check_end("sleeps", &options, &["did not respond for 0.8 seconds", "in sleeps"]);
    }
}

#[test]
fn the_time_limit_is_that_of_a_single_environment() {
    let Some(options) = options(1) else { return };
    let options = WorkerOptions { timeout: 1.0, ..options };
    // The step of all environments takes 1.6 seconds.
    let group = group_with("python:sample_envs:Faulty", NUM_ENVS, r#"{"fault": "naps", "at_step": 1}"#);
    let mut envs = WorkerVectorEnv::new(&[group], &options).unwrap();
    envs.reset(ResetSeeds::From(10)).unwrap();
    envs.step(Actions::Discrete(&[0; NUM_ENVS])).unwrap();
}

#[test]
fn a_killed_worker_is_an_error() {
    let Some(options) = options(2) else { return };
    let mut envs = make("python:sample_envs:one_of_two", NUM_ENVS, &options);
    envs.reset(ResetSeeds::From(20)).unwrap();
    kill(Pid::from_raw(envs.worker_ids()[1].cast_signed()), Signal::SIGKILL).unwrap();
    let (env, message) = failure(envs.step(Actions::Discrete(&[0; NUM_ENVS])).unwrap_err());
    assert!((2..4).contains(&env), "{env}");
    let expected = format!("(seed {}): its worker process was ended by signal 9 (SIGKILL)", 20 + env);
    assert!(message.contains(&expected), "{message}");
    assert!(!envs.is_usable());
}

#[test]
fn waiting_can_be_interrupted() {
    let Some(options) = options(2) else { return };
    let mut envs = faulty("sleeps", &options);
    envs.reset(ResetSeeds::From(10)).unwrap();
    let begin = Instant::now();
    let error = interrupt::with_check(|| true, || step_on(&mut envs, 3));
    assert_eq!(error, VectorError::Interrupted);
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    let begin = Instant::now();
    drop(envs);
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
}

#[test]
fn an_interrupted_step_can_be_followed_by_a_reset() {
    let Some(options) = options(2) else { return };
    let mut envs = faulty("naps", &options);
    envs.reset(ResetSeeds::From(10)).unwrap();
    let interrupted = interrupt::with_check(|| true, || step_on(&mut envs, usize::MAX));
    assert_eq!(interrupted, VectorError::Interrupted);
    assert!(matches!(envs.recv(), Err(VectorError::OutOfOrder(_))));
    let found = envs.reset(ResetSeeds::From(30)).unwrap().observations.clone();
    let mut others = faulty("naps", &options);
    assert!(others.reset(ResetSeeds::From(30)).unwrap().observations == found);
}

#[test]
fn output_of_environments_is_captured() {
    let Some(options) = options(2) else { return };
    // More than pipes hold.
    let mut envs = WorkerVectorEnv::new(&[group("python:sample_envs:Printing", NUM_ENVS)], &options).unwrap();
    envs.reset(ResetSeeds::From(1)).unwrap();
    for _ in 0..20 {
        envs.step(Actions::Discrete(&[0; NUM_ENVS])).unwrap();
    }
}
