//! Files of a run: permissions, full disks, deletions and damage.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{CART_POLE, HARVEST, resume, train, updates};
use crate::program::{self, ALE_TRAIN, Line, checkpoints, outcome, wait_for};

#[cfg(unix)]
#[test]
fn files_of_a_run_have_the_usual_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    train(&run, 1, "ppo --games CartPole-v1 --total-frames 256").succeed();
    let mode = |name: &str| fs::metadata(run.join(name)).expect("a file").permissions().mode();
    for name in ["config.toml", "run.json"] {
        assert_eq!(mode(name), mode("metrics.jsonl"), "{name}");
    }
}

#[test]
fn a_full_disk_leaves_no_incomplete_output() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    train(&run, 1, "ppo --games CartPole-v1 --total-frames 2048").succeed();
    for (command, name) in
        [("export", "agent.safetensors"), ("report", "report.html"), ("report", "report.png")]
    {
        let out = temp.path().join(name);
        let write = program::run(command).arg(&run).arg("--out").arg(&out);
        let output = on_a_small_disk(&write, 1).output().expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let expected = format!("error: cannot write {}: File too large", out.display());
        assert!(stderr.starts_with(&expected) && stderr.lines().count() == 1, "{stderr}");
        assert_eq!(output.status.code(), Some(1), "{stderr}");
    }
    let left =
        fs::read_dir(temp.path()).expect("a directory").map(|entry| entry.expect("an entry").file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["run"]);
}

#[test]
fn a_directory_that_is_deleted_during_training_is_created_again() {
    let temp = TempDir::new().expect("a directory");
    let [whole, deleted] = ["whole", "deleted"].map(|name| temp.path().join(name));
    train(&whole, 1, CART_POLE).succeed();
    let mut command = train(&deleted, 1, CART_POLE).command();
    let mut going = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a run");
    wait_for(&mut going, "second update", || updates(&deleted) >= 2);
    // Moving the directory has the same effect as deleting it, and nothing can be written into it meanwhile.
    fs::rename(&deleted, temp.path().join("moved")).expect("a directory");
    let output = going.wait_with_output().expect("the run ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let warnings: Vec<&str> = said.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert_eq!(warnings.len(), 1, "{said}");
    assert!(warnings[0].contains("was deleted or moved; it is created again"), "{said}");
    assert!(outcome(&deleted) == outcome(&whole), "the runs differ");
    for name in ["config.toml", "run.json"] {
        let read = |run: &Path| fs::read(run.join(name)).expect("a file");
        assert_eq!(read(&deleted), read(&temp.path().join("moved")));
    }
    assert!(checkpoints(&deleted).len() >= 2, "one after the deletion and one at the end");
}

/// Wraps a command so that writing files of more than the given number of kilobytes fails.
fn on_a_small_disk(line: &Line, kilobytes: u32) -> Command {
    let mut limited = Command::new("bash");
    limited.args(["-c", &format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\""), ALE_TRAIN]);
    limited.args(line.arguments());
    limited
}

#[test]
fn training_continues_on_a_full_disk_with_warnings() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let command = train(&run, 1, HARVEST).set("checkpoints.interval_frames", 10000);
    let output = on_a_small_disk(&command, 300).output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let warnings: Vec<&str> = stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert!(warnings.len() >= 3, "{stderr}");
    for warning in warnings {
        assert!(warning.contains("cannot write the checkpoint"), "{warning}");
        assert!(warning.ends_with("; training continues"), "{warning}");
    }
    let last = stderr.lines().last().expect("an error");
    assert!(last.starts_with("error: training failed: cannot write the checkpoint"), "{last}");
    assert_eq!(updates(&run), 39, "training is complete");
    assert!(checkpoints(&run).is_empty());
    let left = fs::read_dir(run.join("checkpoints")).expect("a directory").count();
    assert_eq!(left, 0, "an incomplete checkpoint remains");
}

/// Returns the error of `ale-train resume`.
fn refusal(run: &Path) -> String {
    let stderr = resume(run).fail(2);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr
}

#[test]
fn a_run_continues_from_an_older_checkpoint_and_keeps_the_new_ones() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let interval = ["checkpoints.interval_frames=3000", "checkpoints.keep_last=4"];
    train(&run, 1, CART_POLE).settings(&interval).succeed();
    let whole = outcome(&run);
    let before = checkpoints(&run);
    let [older, newer @ ..] = &before[..] else { panic!("no checkpoints") };
    assert!(newer.len() >= 2, "{before:?}");

    // Only one checkpoint is kept: if the old ones stayed, each new one would be removed in favour of them.
    let settings = ["checkpoints.keep_last=1", "checkpoints.keep_best=false"];
    let said = resume(older).settings(&settings).messages();
    assert!(said.contains(&format!("continues from {}; its newer checkpoints", older.display())), "{said}");
    assert_eq!(checkpoints(&run), [newer.last().expect("a checkpoint").clone()]);
    assert!(outcome(&run) == whole, "the results differ");

    // The newer checkpoints form another run, with its curves.
    let abandoned = run.join("abandoned/run");
    let names = |paths: &[PathBuf]| -> Vec<OsString> {
        paths.iter().filter_map(|path| path.file_name()).map(Into::into).collect()
    };
    assert_eq!(names(&checkpoints(&abandoned)), names(newer));
    assert!(outcome(&abandoned) == whole, "the results differ");
    fs::remove_dir_all(newer.last().expect("a checkpoint")).expect("a checkpoint");
    fs::remove_dir_all(checkpoints(&abandoned).pop().expect("a checkpoint")).expect("a checkpoint");
    resume(&abandoned).succeed();
    assert!(outcome(&abandoned) == whole, "the results differ");
}

#[test]
fn going_back_reverts_later_changes_of_settings() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let interval = ["checkpoints.interval_frames=2048", "checkpoints.keep_last=9"];
    train(&run, 1, "ppo --games CartPole-v1 --total-frames 6144").settings(&interval).succeed();
    let read = |name: &str| fs::read_to_string(run.join(name)).expect("a file");
    let before = [read("config.toml"), read("run.json")];
    let [first, second, ..] = &checkpoints(&run)[..] else { panic!("too few checkpoints") };
    // The checkpoint is given by a link whose name is not that of a checkpoint.
    let link = temp.path().join("second");
    std::os::unix::fs::symlink(second, &link).expect("a link");
    resume(&link).set("ppo.gamma", 0.9).succeed();
    assert!(read("config.toml").contains("gamma = 0.9\n") && read("run.json").contains("ppo.gamma"));
    let said = resume(first).messages();
    assert!(!said.contains("warning"), "{said}");
    assert_eq!(read("config.toml"), before[0]);
    assert!(!read("run.json").contains("ppo.gamma"));
    let branch = fs::read_to_string(run.join("abandoned/run-2/config.toml")).expect("a file");
    assert!(branch.contains("gamma = 0.9\n"), "{branch}");
}

#[test]
fn a_run_whose_checkpoints_are_missing_is_not_started_again() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    train(&run, 1, "ppo --games CartPole-v1 --total-frames 2048").succeed();
    let curves = fs::read(run.join("metrics.jsonl")).expect("curves");
    // As if they were on a disk that is not mounted.
    fs::rename(run.join("checkpoints"), temp.path().join("disk")).expect("a directory");
    std::os::unix::fs::symlink(temp.path().join("nowhere"), run.join("checkpoints")).expect("a link");
    refusal(&run);
    assert_eq!(fs::read(run.join("metrics.jsonl")).expect("curves"), curves);
    // A copy of a checkpoint does not reveal the directory of its run.
    let [copy] = &fs::read_dir(temp.path().join("disk"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .collect::<Vec<_>>()[..]
    else {
        panic!("one checkpoint")
    };
    assert!(refusal(copy).contains("is not in the directory of its run"));
}

#[test]
fn damaged_and_changed_runs_have_different_errors() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let settings = "ppo --games CartPole-v1 --total-frames 4096 --set checkpoints.interval_frames=2048";
    train(&run, 1, settings).succeed();
    let [older, newest] = checkpoints(&run).try_into().expect("two checkpoints");

    // A modified configuration file.
    let config = fs::read_to_string(run.join("config.toml")).expect("a configuration");
    fs::write(run.join("config.toml"), config.replace("\ngamma = 0.99", "\ngamma = 0.5")).expect("a file");
    let stderr = resume(&run).messages();
    assert!(stderr.contains("changes ppo.gamma; the run continues with the configuration"), "{stderr}");
    fs::write(run.join("config.toml"), config).expect("a file");

    // A damaged newest checkpoint: the previous one is used, with the same result.
    let learner = fs::read(newest.join("learner.bin")).expect("a learner");
    fs::write(newest.join("learner.bin"), &learner[1..]).expect("a file");
    let stderr = resume(&run).messages();
    assert!(stderr.contains("learner.bin is damaged") && stderr.contains("; using "), "{stderr}");
    let again = checkpoints(&run).pop().expect("a checkpoint");
    assert_eq!(fs::read(again.join("learner.bin")).expect("a learner"), learner);
    assert!(refusal(&run.join("abandoned/run")).contains("learner.bin is damaged"));

    // A later format.
    let manifest = fs::read_to_string(older.join("manifest.json")).expect("a manifest");
    fs::write(older.join("manifest.json"), manifest.replace("\"format\": 1", "\"format\": 9"))
        .expect("a file");
    assert!(refusal(&older).contains("it has format 9, written by ale-train"));
    fs::write(older.join("manifest.json"), "{}").expect("a file");
    assert!(refusal(&older).contains("its manifest is damaged"));
    assert!(refusal(temp.path()).contains("neither a checkpoint nor a run with checkpoints"));
}
