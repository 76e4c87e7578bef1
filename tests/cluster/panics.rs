//! A process of a job panics: the job ends within seconds, and a message names the rank.
//!
//! This test is also the program of the job. In one process, a separate thread panics while the processes train.
#![cfg(unix)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Trial};
use tempfile::TempDir;

/// The variable with the rank of a process of a job.
const RANK: &str = "OMPI_COMM_WORLD_RANK";
/// The variables with the rank that panics, and with the directory of the run.
const PANICS: &str = "ALE_TRAIN_TEST_PANICS";
const RUN: &str = "ALE_TRAIN_TEST_RUN";
/// The file that a process creates just before it panics.
const PANICKED: &str = "panicked";
/// The time within which a job must end.
const END: Duration = Duration::from_secs(10);
/// A run that would last for minutes.
const LONG: [&str; 7] = ["pqn", "--games", "CartPole-v1", "--num-envs", "8", "--total-frames", "10M"];

fn main() -> ExitCode {
    if let Ok(rank) = env::var(RANK) {
        if Ok(rank) == env::var(PANICS) {
            thread::spawn(|| panic_in(&PathBuf::from(env::var(RUN).expect("a directory"))));
        }
        let program = env::current_exe().expect("this program");
        return ale_train::main(program, env::args_os().collect()).into();
    }
    let trials = ["1", "0"].map(|rank| {
        Trial::test(format!("a_panic_of_rank_{rank}_ends_the_job"), move || {
            assert_panic_ends_all(rank);
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// Panics after the first updates of a run.
fn panic_in(run: &Path) {
    let metrics = run.join("metrics.jsonl");
    while !fs::read_to_string(&metrics).is_ok_and(|curves| curves.contains("_loss")) {
        thread::sleep(Duration::from_millis(2));
    }
    fs::write(run.join(PANICKED), "").expect("a file");
    panic!("a fault of the test");
}

fn assert_panic_ends_all(rank: &str) {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let mut job = Command::new("mpirun");
    job.args(["--allow-run-as-root", "--oversubscribe", "-n", "4"]);
    job.arg(env::current_exe().expect("this program")).args(LONG).args(["--num-threads", "1"]);
    job.arg("--run-dir").arg(&run).env(PANICS, rank).env(RUN, &run);
    let job = job.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a job");
    let deadline = Instant::now() + Duration::from_mins(2);
    while !run.join(PANICKED).exists() {
        assert!(Instant::now() < deadline, "no update in two minutes");
        thread::sleep(Duration::from_millis(2));
    }
    let panicked = Instant::now();
    let Output { status, stderr, .. } = job.wait_with_output().expect("the job ends");
    assert!(panicked.elapsed() < END, "{:?}", panicked.elapsed());
    let stderr = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(101), "{stderr}");
    assert_eq!(stderr.matches(&format!("rank {rank} panicked")).count(), 1, "{stderr}");
    assert_eq!(stderr.matches("a fault of the test").count(), 1, "{stderr}");
    println!("a panic of rank {rank} ends the job in {:?}", panicked.elapsed());
}
