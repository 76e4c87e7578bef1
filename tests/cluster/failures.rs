//! Processes that fail: the whole job ends within seconds with one message, and keeps everything that was saved.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{DQN, DQN_OF_PIXELS, GAMES, PQN, job, mpirun, mpirun_of, resume, text, training};
use crate::program::{self, ALE_TRAIN, Line, checkpoints, is_alive, outcome, signal, succeed, wait_for};

/// The time within which a job must end after the failure of a process.
pub(crate) const END: Duration = Duration::from_secs(10);

pub(crate) fn wait_for_update(job: &mut Child, run: &Path) {
    wait_for_updates(job, run, 1);
}

pub(crate) fn wait_for_updates(job: &mut Child, run: &Path, count: usize) {
    let updates =
        || fs::read_to_string(run.join("metrics.jsonl")).map_or(0, |text| text.matches("charts/SPS").count());
    wait_for(job, "update", || updates() >= count);
}

/// Returns the processes of a job, in the order of their ranks.
fn processes(launcher: u32) -> Vec<u32> {
    let mut ranks: Vec<(usize, u32)> = Vec::new();
    for entry in fs::read_dir("/proc").expect("processes").flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let parent = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The fields follow the name, which is in parentheses.
        let fields: Vec<&str> = parent.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        if fields.get(1) != Some(&launcher.to_string().as_str()) {
            continue;
        }
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let rank = environment.split(|&byte| byte == 0).find_map(|variable| {
            std::str::from_utf8(variable).ok()?.strip_prefix("OMPI_COMM_WORLD_RANK=")?.parse().ok()
        });
        ranks.extend(rank.map(|rank| (rank, process)));
    }
    ranks.sort_unstable();
    ranks.into_iter().map(|(_, process)| process).collect()
}

/// The recipient of a signal.
#[derive(Clone, Copy)]
enum Victim {
    Rank(usize),
    Launcher,
}

#[test]
fn the_death_of_a_process_ends_the_job_and_loses_nothing() {
    use Victim::{Launcher, Rank};
    // The launcher kills the processes after the last signal, too early for a checkpoint.
    let signals = [(Rank(1), "-KILL"), (Rank(0), "-KILL"), (Rank(1), "-ABRT"), (Launcher, "-TERM")];
    assert_deaths_lose_nothing(GAMES, &signals);
}

#[test]
fn the_death_of_a_process_loses_nothing_of_a_replay() {
    assert_deaths_lose_nothing(DQN, &[(Victim::Rank(1), "-KILL")]);
}

/// Sends signals, each after a checkpoint.
fn assert_deaths_lose_nothing(settings: &str, signals: &[(Victim, &str)]) {
    let temp = TempDir::new().expect("a directory");
    let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
    let training = |run: &Path| training(run, settings).set("checkpoints.interval_frames", 2000);
    succeed(&mut job(2, &training(&whole)));
    for &(victim, name) in signals {
        let mut command = if parts.exists() { resume(2, &parts) } else { job(4, &training(&parts)) };
        let before = checkpoints(&parts).pop();
        let mut job = command.spawn().expect("a job");
        wait_for(&mut job, "checkpoint", || checkpoints(&parts).pop() != before);
        let ranks = processes(job.id());
        let recipient = match victim {
            Victim::Rank(rank) => ranks[rank],
            Victim::Launcher => job.id(),
        };
        signal(recipient, name);
        let stderr = end(job, &ranks);
        if let Victim::Rank(rank) = victim {
            // The launcher names the process.
            assert!(stderr.contains(&format!("rank {rank}")), "{stderr}");
        }
    }
    succeed(&mut resume(2, &parts));
    let (expected, resumed) = (outcome(&whole), outcome(&parts));
    assert!(resumed == expected, "the runs differ");
}

/// Waits for the end of a job that fails from now on. Returns its standard error.
fn end(job: Child, ranks: &[u32]) -> String {
    let failed = Instant::now();
    let Output { status, stderr, .. } = job.wait_with_output().expect("the job ends");
    let stderr = text(&stderr);
    assert!(!status.success(), "{stderr}");
    // Killed processes may briefly outlive the launcher.
    while ranks.iter().any(|&process| is_alive(process)) && failed.elapsed() < END {
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(failed.elapsed() < END, "{:?}: {stderr}", failed.elapsed());
    stderr
}

#[test]
fn a_process_without_memory_ends_the_job() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let mut job = job(2, &training(&run, DQN_OF_PIXELS)).spawn().expect("a job");
    wait_for_update(&mut job, &run);
    // The memory of the process cannot grow any more.
    let ranks = processes(job.id());
    succeed(Command::new("prlimit").args(["--pid", &ranks[1].to_string(), "--as=1"]));
    let stderr = end(job, &ranks);
    // The thread that sends gradients gets no stack for its signals.
    assert!(stderr.contains("rank 1 panicked") && stderr.contains("Cannot allocate memory"), "{stderr}");
}

#[test]
fn a_process_without_memory_for_its_replay_is_named() {
    const LIMIT: u64 = 800_000_000;
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    // A gigabyte for each process.
    let training = training(&run, DQN_OF_PIXELS).set("dqn.buffer_size", 1_000_000);
    let mut job = job(1, &training);
    job.args([":", "-n", "1", "prlimit", &format!("--as={LIMIT}"), ALE_TRAIN]).args(training.arguments());
    let stderr = end(job.spawn().expect("a job"), &[]);
    assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
    let available = stderr
        .split_once("error: rank 1 of 2: a replay buffer of ")
        .and_then(|(_, error)| error.split_once("but ")?.1.split_once(' ')?.0.parse().ok());
    assert!(available.is_some_and(|bytes: u64| bytes < LIMIT), "{stderr}");
}

#[test]
fn a_process_that_loses_the_disk_of_its_replay_ends_the_job() {
    let temp = TempDir::new().expect("a directory");
    let [run, whole] = ["run", "whole"].map(|name| temp.path().join(name));
    let training = |run: &Path| {
        let line = training(run, DQN_OF_PIXELS).set("checkpoints.interval_frames", 2000);
        line.set("replay.folder", temp.path().display())
    };
    succeed(&mut job(2, &training(&whole)));
    let mut job = job(2, &training(&run)).spawn().expect("a job");
    wait_for_update(&mut job, &run);
    let ranks = processes(job.id());
    // The signal that follows an access to a page of a file that cannot be read. The program continues after the first
    // one, to repeat the access. Signals sent before the first one is handled are lost.
    while is_alive(ranks[1]) {
        let _ = Command::new("kill").args(["-BUS", &ranks[1].to_string()]).stderr(Stdio::null()).status();
        std::thread::sleep(Duration::from_millis(2));
    }
    let stderr = end(job, &ranks);
    assert!(stderr.contains("rank 1"), "{stderr}");
    succeed(&mut resume(2, &run));
    assert!(outcome(&run) == outcome(&whole), "the runs differ");
}

#[test]
fn a_process_without_the_directory_of_its_replay_is_named() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let mut job = mpirun(1);
    for (rank, folder) in [temp.path().to_owned(), temp.path().join("missing")].iter().enumerate() {
        if rank > 0 {
            job.args([":", "-n", "1", ALE_TRAIN]);
        }
        job.args(training(&run, DQN).set("replay.folder", folder.display()).arguments());
    }
    let job = job.spawn().expect("a job");
    let stderr = end(job, &[]);
    assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
    assert!(stderr.contains("error: rank 1 of 2: ") && stderr.contains("missing: cannot create"), "{stderr}");
}

#[test]
fn an_error_of_one_process_names_it_and_ends_all() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    succeed(&mut job(1, &training(&run, PQN)));
    fs::remove_dir_all(run.join("checkpoints")).expect("checkpoints");
    // The second process, with its own arguments, finds no run.
    let missing = temp.path().join("missing");
    let mut job = resume(1, &run);
    job.args([":", "-n", "1", ALE_TRAIN, "resume"]).arg(&missing);
    let began = Instant::now();
    let Output { status, stderr, .. } = job.output().expect("the job ends");
    assert!(began.elapsed() < END + Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(status.code(), Some(2), "{}", text(&stderr));
    assert_eq!(text(&stderr).matches("error: rank 1 of 2: ").count(), 1, "{}", text(&stderr));
}

#[test]
fn an_error_of_all_processes_is_reported_once() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let says = |processes, line: &Line, expected: &str| {
        let Output { status, stderr, .. } = job(processes, line).output().expect("the job ends");
        assert_eq!(status.code(), Some(2), "{}", text(&stderr));
        assert_eq!(text(&stderr).matches("error: ").count(), 1, "{}", text(&stderr));
        assert!(text(&stderr).contains(expected), "{}", text(&stderr));
    };
    says(3, &training(&run, PQN), "8 shards cannot be divided among 3 processes");
    let three = training(&run, PQN).set("distributed.shards", 3);
    says(2, &three, "distributed.shards = 3 is invalid: it must be a power of two");
    let alone = training(&run, "pqn --games CartPole-v1 --num-envs 1 --set distributed.exact=false");
    says(2, &alone, "2 processes cannot share 1 environment");
    let halves = training(&run, PQN).set("environments.halves", true);
    says(2, &halves, "environments.halves = true is not possible with several processes");
    says(2, &program::run("bench env"), "only training, `resume` and `bench cluster` use several");
    assert!(!run.exists());
}

#[test]
fn a_full_disk_of_the_leader_ends_the_job_with_one_message() {
    let temp = TempDir::new().expect("a directory");
    let [whole, full] = ["whole", "full"].map(|name| temp.path().join(name));
    let training = |run: &Path| training(run, DQN).set("checkpoints.interval_frames", 500);
    succeed(&mut job(2, &training(&whole)));

    // Writing beyond the file size limit then fails instead of ending the process.
    let mut job = mpirun_of(2, &["bash", "-c", "trap '' XFSZ; exec \"$0\" \"$@\"", ALE_TRAIN]);
    let mut job = job.args(training(&full).arguments()).spawn().expect("a job");
    wait_for_update(&mut job, &full);
    let leader = processes(job.id())[0].to_string();
    succeed(Command::new("prlimit").args(["--pid", &leader, "--fsize=16:unlimited"]));
    let Output { status, stderr, .. } = job.wait_with_output().expect("the job ends");
    let stderr = text(&stderr);
    assert_eq!(status.code(), Some(1), "{stderr}");
    let errors: Vec<&str> = stderr.lines().filter(|line| line.contains("error: ")).collect();
    let expected = "error: rank 0 of 2: training failed: cannot write the checkpoint";
    assert!(errors.len() == 1 && errors[0].contains(expected), "{stderr}");
    assert!(stderr.matches("; training continues").count() > 1, "{stderr}");

    // All processes continued together, so the run continues from its last checkpoint.
    succeed(&mut resume(4, &full));
    let (expected, resumed) = (outcome(&whole), outcome(&full));
    assert!((resumed.0, resumed.1) == (expected.0, expected.1), "the runs differ");
}
