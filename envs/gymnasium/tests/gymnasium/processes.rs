//! The lifetime of workers.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gymnasium_workers::{WorkerOptions, WorkerVectorEnv};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rl_env::{Actions, ResetSeeds, VectorEnv};

use crate::support::{group_with, make, options};

/// Set in the processes that [`parent`] starts.
const IS_PARENT: &str = "GYMNASIUM_WORKERS_TEST_PARENT";

/// Returns true if a process runs. A zombie has ended.
fn runs(id: u32) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", &id.to_string()]).output().unwrap();
    let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

/// Waits until none of the processes runs.
#[track_caller]
fn wait_for_end(ids: &[u32]) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while ids.iter().any(|&id| runs(id)) {
        assert!(Instant::now() < deadline, "workers are left: {ids:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A process that steps environments, for the tests below. Prints the ids of its workers.
#[test]
fn parent_process() {
    let Ok(fault) = env::var(IS_PARENT) else { return };
    let options = options(2).expect("Gymnasium");
    let kwargs = format!(r#"{{"fault": "{fault}", "at_step": 1, "at_seed": 1}}"#);
    let group = group_with("python:sample_envs:Faulty", 4, &kwargs);
    let mut envs = WorkerVectorEnv::new(&[group], &options).unwrap();
    envs.reset(ResetSeeds::From(0)).unwrap();
    envs.send(Actions::Discrete(&[0; 4])).unwrap();
    println!("workers {}", envs.worker_ids().iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
    loop {
        thread::sleep(Duration::from_secs(1));
    }
}

/// Starts [`parent_process`] in a process. Returns it with the ids of its workers.
fn parent(fault: &str) -> (Child, Vec<u32>) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["processes::parent_process", "--exact", "--nocapture", "--test-threads", "1"])
        .env(IS_PARENT, fault)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
    let line = lines.into_iter().find_map(|line| Some(line.split_once("workers ")?.1.to_owned())).unwrap();
    (child, line.split(' ').map(|id| id.parse().unwrap()).collect())
}

#[test]
fn workers_end_with_a_killed_parent() {
    if options(1).is_none() {
        return;
    }
    // One worker is idle, the other is in the middle of a step that never returns.
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let (mut child, workers) = parent("sleeps");
        assert!(workers.len() == 2 && workers.iter().all(|&id| runs(id)));
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(signal as i32));
        wait_for_end(&workers);
    }
}

#[test]
fn workers_ignore_signals_to_the_group() {
    let Some(options) = options(2) else { return };
    let mut envs = make("gymnasium:CartPole-v1", 2, &options);
    envs.reset(ResetSeeds::From(0)).unwrap();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        for id in envs.worker_ids() {
            kill(Pid::from_raw(id.cast_signed()), signal).unwrap();
        }
        envs.step(Actions::Discrete(&[0; 2])).unwrap();
    }
}

#[test]
fn dropping_ends_the_workers_promptly() {
    let Some(options) = options(2) else { return };
    let mut envs = make("gymnasium:CartPole-v1", 2, &options);
    envs.reset(ResetSeeds::From(0)).unwrap();
    let workers = envs.worker_ids();
    let begin = Instant::now();
    drop(envs);
    assert!(begin.elapsed() < Duration::from_millis(900), "{:?}", begin.elapsed());
    assert!(workers.iter().all(|&id| !runs(id)));
}

#[test]
fn dropping_ends_workers_within_a_step() {
    let Some(options) = options(2) else { return };
    let group = group_with("python:sample_envs:Faulty", 2, r#"{"fault": "sleeps", "at_step": 1}"#);
    let mut envs = WorkerVectorEnv::new(&[group], &options).unwrap();
    envs.reset(ResetSeeds::From(0)).unwrap();
    envs.send(Actions::Discrete(&[0; 2])).unwrap();
    let workers = envs.worker_ids();
    let begin = Instant::now();
    drop(envs);
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    assert!(workers.iter().all(|&id| !runs(id)));
}

#[test]
fn environments_are_closed() {
    let Some(options) = options(1) else { return };
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("closed");
    let group = group_with("python:sample_envs:Closing", 1, &serde_json::json!({"path": path}).to_string());
    drop(WorkerVectorEnv::new(&[group], &options).unwrap());
    assert!(path.exists());
}

/// Environments may be made by one thread and used by another.
#[test]
fn workers_survive_the_thread_that_started_them() {
    let Some(options) = options(1) else { return };
    let made = thread::spawn(move || make("gymnasium:CartPole-v1", 2, &options));
    let mut envs = made.join().unwrap();
    thread::sleep(Duration::from_millis(100));
    envs.reset(ResetSeeds::From(0)).unwrap();
}

#[test]
fn workers_leave_no_files() {
    let Some(options) = options(2) else { return };
    let directory = tempfile::TempDir::new().unwrap();
    let module = directory.path().join("lonely.py");
    fs::write(&module, "from sample_envs import corridor").unwrap();
    let paths = [options.paths.clone(), vec![directory.path().to_owned()]].concat();
    let mut envs = make("python:lonely:corridor", 2, &WorkerOptions { paths, ..options });
    envs.reset(ResetSeeds::From(0)).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "there is a __pycache__");
    // The file of the shared memory has been deleted, so that even a killed process leaves none.
    let deadline = Instant::now() + Duration::from_secs(20);
    // Other tests of this process may be starting their workers.
    while has_shared_file() {
        assert!(Instant::now() < deadline, "a file of shared memory is left");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns true if this process has mapped a file of shared memory that has not been deleted. Linux tells.
fn has_shared_file() -> bool {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().any(|line| line.contains("/ale-train-") && !line.ends_with("(deleted)"))
}
