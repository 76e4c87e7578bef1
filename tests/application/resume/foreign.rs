//! Runs of others: links that lead outside, pipes, and impossible numbers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{resume, train};
use crate::program::{self, Line, checkpoints};

/// A run with two checkpoints.
const SHORT: &str = "ppo --games CartPole-v1 --total-frames 4096 --set checkpoints.interval_frames=2048";
/// The time in which a command must end that reads a pipe without a writer.
const PATIENCE: Duration = Duration::from_mins(1);
/// The contents of the files outside.
const PRECIOUS: &str = "# precious\n";

/// Returns a directory with a finished run.
fn finished() -> (TempDir, PathBuf) {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    train(&run, 1, SHORT).succeed();
    (temp, run)
}

/// Replaces a directory by a copy of another one.
fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    program::copy(from, to);
}

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("a pipe").success());
}

/// Runs a command, which must end in time. Returns true if it succeeds, and its standard error.
fn ended(line: &Line) -> (bool, String) {
    let mut command = line.command();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a process");
    let began = Instant::now();
    while child.try_wait().expect("a process").is_none() {
        if began.elapsed() > PATIENCE {
            child.kill().expect("a process");
            panic!("{line:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().expect("a process");
    (output.status.success(), String::from_utf8(output.stderr).expect("text"))
}

/// Resumes a run further.
fn further(run: &Path) -> Line {
    resume(run).words("--total-frames 8192 -q")
}

#[test]
fn a_link_that_leaves_the_run_is_refused() {
    let (temp, run) = finished();
    let (evil, victim) = (temp.path().join("evil"), temp.path().join("victim"));
    let files = ["metrics.jsonl", "events.out.tfevents.ale-train", "run.json", "run.lock"];
    for name in files {
        copy(&run, &evil);
        // Valid contents, so that only the link can be the reason.
        let contents = if name == "run.json" { "{}\n" } else { PRECIOUS };
        fs::write(&victim, contents).expect("a file");
        fs::remove_file(evil.join(name)).expect("a file");
        symlink("../victim", evil.join(name)).expect("a link");
        let (success, message) = ended(&further(&evil));
        assert!(!success && message.contains(name) && message.contains("outside"), "{name}: {message}");
        assert_eq!(fs::read_to_string(&victim).expect("a file"), contents, "{name}");
        assert!(fs::symlink_metadata(evil.join(name)).expect("a link").is_symlink());
    }
}

/// The configuration of the checkpoint is used, and `config.toml` is written only when settings change.
#[test]
fn settings_and_scores_are_not_written_through_a_link_that_leaves_the_run() {
    let (temp, run) = finished();
    let (evil, victim) = (temp.path().join("evil"), temp.path().join("victim"));
    for (name, settings) in
        [("config.toml", "--set ppo.gamma=0.9"), ("scores.json", "--set evaluation.episodes=1")]
    {
        copy(&run, &evil);
        fs::write(&victim, PRECIOUS).expect("a file");
        let _ = fs::remove_file(evil.join(name));
        symlink(&victim, evil.join(name)).expect("a link");
        let (success, message) = ended(&further(&evil).words(settings));
        assert!(!success && message.contains(name) && message.contains("outside"), "{name}: {message}");
        assert_eq!(fs::read_to_string(&victim).expect("a file"), PRECIOUS, "{name}");
    }
}

#[test]
fn a_dangling_link_of_a_run_creates_no_file() {
    let (temp, run) = finished();
    let (evil, nowhere) = (temp.path().join("evil"), temp.path().join("nowhere"));
    for name in ["run.lock", "config.toml", "metrics.jsonl", "scores.json"] {
        copy(&run, &evil);
        let _ = fs::remove_file(evil.join(name));
        symlink(&nowhere, evil.join(name)).expect("a link");
        let (success, message) =
            ended(&further(&evil).words("--set evaluation.episodes=1 --set ppo.gamma=0.9"));
        assert!(!success && message.contains(name) && message.contains("outside"), "{name}: {message}");
        assert!(!nowhere.exists(), "{name}");
    }
}

#[test]
fn checkpoints_elsewhere_are_neither_used_nor_removed() {
    let (temp, run) = finished();
    let elsewhere = temp.path().join("elsewhere");
    fs::rename(run.join("checkpoints"), &elsewhere).expect("a directory");
    fs::create_dir(elsewhere.join(".removed-x")).expect("a directory");
    symlink(&elsewhere, run.join("checkpoints")).expect("a link");
    let names = || fs::read_dir(&elsewhere).expect("a directory").count();
    let before = names();
    for command in ["resume", "eval"] {
        let (success, message) = ended(&program::run(command).arg(&run));
        assert!(!success && message.contains("run/checkpoints") && message.contains("outside"), "{message}");
    }
    assert_eq!(names(), before);
    // Of the remains of a crash, links are removed, but not their targets.
    fs::remove_file(run.join("checkpoints")).expect("a link");
    copy(&elsewhere, &run.join("checkpoints"));
    symlink(&elsewhere, run.join("checkpoints/.partial-x")).expect("a link");
    further(&run).succeed();
    assert_eq!(names(), before);
    assert!(fs::symlink_metadata(run.join("checkpoints/.partial-x")).is_err());
}

#[test]
fn a_checkpoint_whose_files_are_elsewhere_is_not_used() {
    let (temp, run) = finished();
    let newest = checkpoints(&run).pop().expect("a checkpoint");
    for name in ["learner.bin", "environments.bin", "progress.json", "config.toml", "manifest.json"] {
        let (inside, outside) = (newest.join(name), temp.path().join(name));
        fs::rename(&inside, &outside).expect("a file");
        symlink(&outside, &inside).expect("a link");
        let (success, message) = ended(&program::run("eval").arg(&newest));
        assert!(!success && message.contains(name) && message.contains("outside"), "{name}: {message}");
        // A link to another place of the run is followed.
        fs::rename(&outside, run.join("moved")).expect("a file");
        fs::remove_file(&inside).expect("a link");
        symlink("../../moved", &inside).expect("a link");
        program::run("eval --episodes 1 -q").arg(&run).succeed();
        fs::remove_file(&inside).expect("a link");
        fs::rename(run.join("moved"), &inside).expect("a file");
    }
}

#[test]
fn the_directory_of_a_run_may_be_a_link() {
    let (temp, run) = finished();
    let disk = temp.path().join("disk");
    fs::create_dir(&disk).expect("a directory");
    fs::rename(&run, disk.join("moved")).expect("a directory");
    symlink(disk.join("moved"), &run).expect("a link");
    symlink(&disk, temp.path().join("runs")).expect("a link");
    further(&run).succeed();
    resume(&temp.path().join("runs/moved")).words("--total-frames 12288").succeed();
    program::run("eval --episodes 1").arg(&run).succeed();
}

#[test]
fn pipes_and_devices_in_a_run_block_no_command() {
    let (temp, run) = finished();
    let evil = temp.path().join("evil");
    let newest = checkpoints(&run).pop().expect("a checkpoint");
    let newest = newest.strip_prefix(&run).expect("a checkpoint of the run");
    let of_run = [
        "metrics.jsonl",
        "events.out.tfevents.ale-train",
        "config.toml",
        "run.json",
        "run.lock",
        "scores.json",
    ];
    let of_checkpoint = ["learner.bin", "environments.bin", "progress.json", "config.toml", "manifest.json"];
    let files = of_run.map(PathBuf::from).into_iter().chain(of_checkpoint.map(|name| newest.join(name)));
    for file in files {
        copy(&run, &evil);
        fs::remove_file(evil.join(&file))
            .or_else(|error| match error.kind() {
                // There are no scores.
                std::io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })
            .expect("a file");
        mkfifo(&evil.join(&file));
        let page = temp.path().join("page.html");
        for line in [
            program::run("runs").arg(&evil),
            program::run("report").arg(&evil).arg("--out").arg(&page),
            program::run("eval --episodes 1").arg(&evil),
            further(&evil).words("--set evaluation.episodes=1 --set ppo.gamma=0.9"),
        ] {
            let (success, message) = ended(&line);
            let name = file.file_name().expect("a name").to_str().expect("text");
            assert!(success || message.contains(name) || message.contains("evil"), "{line:?}: {message}");
        }
    }
}

/// Years were counted one by one.
#[test]
fn impossible_times_and_numbers_end_no_report() {
    let (temp, run) = finished();
    let path = run.join("run.json");
    let mut provenance: Value = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
    provenance["started"] = json!(u64::MAX);
    fs::write(&path, provenance.to_string()).expect("a file");
    let mut curves = fs::read_to_string(run.join("metrics.jsonl")).expect("curves");
    for (frames, value) in [("1e308", "-1e308"), ("1e300", "1e308"), ("5e-324", "1e-323"), ("-1e308", "0")] {
        let returns = format!("{{\"frames\":{frames},\"seconds\":1e308,\"charts/recent_return\":{value}}}\n");
        let losses = format!("{{\"frames\":{frames},\"charts/SPS\":{value},\"losses/entropy\":{value}}}\n");
        curves.extend([returns, losses]);
    }
    fs::write(run.join("metrics.jsonl"), curves).expect("a file");
    for page in ["page.html", "page.png", "page.svg"] {
        let (success, message) =
            ended(&program::run("report").arg(&run).arg("--out").arg(temp.path().join(page)));
        assert!(success, "{message}");
    }
    assert!(
        fs::read_to_string(temp.path().join("page.html")).expect("a page").contains("584554051223-11-09")
    );
}
