//! Checkpoints and the directories of runs.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::abandon::abandon_newer;
use super::run_directory::{CHECKPOINTS, newest_first};
use super::store::{latest, save};
use super::*;
use crate::recent_returns::RecentReturns;
use crate::telemetry::{Moment, Telemetry};

#[test]
fn progress_that_no_run_reaches_is_damage() {
    assert_eq!(parsed_frames(Progress::LIMIT, 1e9), Ok(Progress::LIMIT));
    assert!(
        parsed_frames(u64::MAX, 1.0).unwrap_err().contains("has the number 18446744073709551615; at most")
    );
    for seconds in [-1.0, 1e300] {
        assert!(parsed_frames(1, seconds).unwrap_err().contains("seconds of training"));
    }
}

fn parsed_frames(frames: u64, seconds: f64) -> Result<u64, String> {
    let moment = Moment { frames, seconds, ..Moment::default() };
    let text = serde_json::to_vec(&Progress { moment, ..Progress::default() }).unwrap();
    Progress::parse(&text).map(|progress| progress.moment.frames).map_err(|error| error.to_string())
}

/// Returns the names of the checkpoints of a run, the newest first.
fn checkpoint_names(run: &Path) -> Vec<String> {
    let paths = newest_first(run).unwrap();
    paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

fn checkpoint(updates: u64) -> Checkpoint {
    let moment = Moment { updates, steps: 10 * updates, frames: 40 * updates, seconds: 0.1 };
    let mut recent = RecentReturns::default();
    recent.push(0, 1.5, 1);
    Checkpoint {
        config: "a = 1\n".to_owned(),
        progress: Progress { moment, recent_returns: vec![recent], ..Progress::default() },
        learner: vec![1, 2, 3],
        environments: vec![0; 1000],
    }
}

#[test]
fn loads_saved_checkpoints_and_finds_the_newest() {
    let run = TempDir::new().unwrap();
    for updates in [9, 100, 20] {
        save(run.path(), &checkpoint(updates)).unwrap();
    }
    let newest = latest(run.path()).unwrap();
    assert!(newest.ends_with("checkpoints/update-00000100"));
    assert_eq!(latest(&newest).unwrap(), newest);
    assert_eq!(load(&newest).unwrap(), checkpoint(100));
    // The same update may be saved twice.
    let again = save(run.path(), &checkpoint(100)).unwrap();
    assert_ne!(again, newest);
    assert_eq!(latest(run.path()).unwrap(), again);
    assert_eq!(
        fs::read_dir(run.path().join(CHECKPOINTS)).unwrap().count(),
        4,
        "a temporary directory remains"
    );
}

#[test]
fn returns_are_restored_bit_for_bit() {
    let run = TempDir::new().unwrap();
    let mut checkpoint = checkpoint(1);
    let mut recent = RecentReturns::default();
    // Values that need 17 digits.
    (1..1000_u16).for_each(|episode| recent.push(episode.into(), 1e3 * f64::from(episode).sqrt(), 1000));
    checkpoint.progress.recent_returns = vec![recent];
    let saved = save(run.path(), &checkpoint).unwrap();
    assert_eq!(load(&saved).unwrap(), checkpoint);
}

#[test]
fn checkpoints_are_ordered_by_their_number_of_updates() {
    let run = TempDir::new().unwrap();
    for updates in [99_999_999, 100_000_000] {
        save(run.path(), &checkpoint(updates)).unwrap();
    }
    assert!(latest(run.path()).unwrap().ends_with("update-100000000"));
}

#[test]
fn newer_checkpoints_move_to_a_separate_run() {
    let run = TempDir::new().unwrap();
    let saved = [1, 4, 4, 6].map(|updates| save(run.path(), &checkpoint(updates)).unwrap());
    fs::write(run.path().join(CONFIG), "a = 1").unwrap();
    fs::write(run.path().join(PROVENANCE), "{}").unwrap();
    let first = abandon_newer(run.path(), &saved[1]).unwrap().unwrap();
    assert_eq!(first, run.path().join("abandoned/run"));
    assert_eq!(checkpoint_names(&first), ["update-00000006", "update-00000004.001"]);
    assert_eq!(checkpoint_names(run.path()), ["update-00000004", "update-00000001"]);
    assert_eq!(load_latest(&first, |line| panic!("{line}")).unwrap().1, checkpoint(6));
    assert_eq!(fs::read_to_string(first.join(CONFIG)).unwrap(), "a = 1");
    // Again, after the run has reached the same update. The path of the checkpoint is a symbolic link.
    save(run.path(), &checkpoint(6)).unwrap();
    let chosen = run.path().join("chosen");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&saved[0], &chosen).unwrap();
    #[cfg(not(unix))]
    let chosen = saved[0].clone();
    let second = abandon_newer(run.path(), &chosen).unwrap().unwrap();
    assert_eq!(checkpoint_names(&second), ["update-00000006", "update-00000004"]);
    assert_eq!(abandon_newer(run.path(), &saved[0]).unwrap(), None);
    assert_eq!(latest(run.path()).unwrap(), saved[0]);
}

#[test]
fn the_run_of_a_checkpoint_is_found_by_any_path_to_it() {
    let temp = TempDir::new().unwrap();
    let run = temp.path().join("run");
    create_run(&run, "x = 1", "{}").unwrap();
    let saved = save(&run, &checkpoint(1)).unwrap();
    assert_eq!((run_of(&saved), run_at(&saved).unwrap()), (Some(run.clone()), run.clone()));
    assert_eq!(run_at(&run).unwrap(), run);
    #[cfg(unix)]
    {
        let link = temp.path().join("best");
        std::os::unix::fs::symlink(&saved, &link).unwrap();
        assert_eq!(run_of(&link), Some(fs::canonicalize(&run).unwrap()));
    }
    let copy = temp.path().join("copy");
    fs::rename(&saved, &copy).unwrap();
    let error = run_at(&copy).unwrap_err().to_string();
    assert!(error.contains("is not in the directory of its run") && error.contains("--init-from"), "{error}");
}

#[test]
fn a_run_starts_again_only_if_it_has_no_checkpoints() {
    let temp = TempDir::new().unwrap();
    let run = temp.path().join("run");
    create_run(&run, "x = 1", "{}").unwrap();
    assert!(is_before_first_checkpoint(&run));
    let checkpoints = run.join(CHECKPOINTS);
    fs::create_dir(&checkpoints).unwrap();
    fs::create_dir(checkpoints.join(".partial-x")).unwrap();
    assert!(is_before_first_checkpoint(&run));
    fs::create_dir(checkpoints.join("renamed")).unwrap();
    assert!(!is_before_first_checkpoint(&run));
    fs::remove_dir_all(&checkpoints).unwrap();
    // A disk that is not mounted.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(temp.path().join("nowhere"), &checkpoints).unwrap();
        assert!(!is_before_first_checkpoint(&run));
    }
    // A checkpoint whose manifest is missing.
    fs::remove_file(run.join(PROVENANCE)).unwrap();
    assert!(!is_before_first_checkpoint(&run));
}

#[test]
fn any_changed_byte_is_detected() {
    let run = TempDir::new().unwrap();
    let directory = save(run.path(), &checkpoint(1)).unwrap();
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        let good = fs::read(&path).unwrap();
        for position in [0, good.len() / 2, good.len() - 1] {
            let mut bad = good.clone();
            bad[position] ^= 1;
            fs::write(&path, &bad).unwrap();
            // The only change that goes undetected is one in the name of the program in the manifest.
            if let Ok(loaded) = load(&directory) {
                assert!(path.ends_with(Manifest::FILE) && loaded == checkpoint(1), "{}", path.display());
            }
        }
        fs::write(&path, &good[..good.len() - 1]).unwrap();
        assert!(load(&directory).is_err(), "{} cut", path.display());
        fs::write(&path, &good).unwrap();
    }
    assert_eq!(load(&directory).unwrap(), checkpoint(1));
}

#[test]
fn a_damaged_newest_checkpoint_is_skipped_with_a_warning() {
    let run = TempDir::new().unwrap();
    let older = save(run.path(), &checkpoint(1)).unwrap();
    let newest = save(run.path(), &checkpoint(2)).unwrap();
    let quiet = |line: &str| panic!("{line}");
    assert_eq!(load_latest(run.path(), quiet).unwrap(), (newest.clone(), checkpoint(2)));
    fs::write(newest.join("learner.bin"), [9, 9, 9]).unwrap();
    let warned = std::cell::RefCell::new(String::new());
    let loaded = load_latest(run.path(), |line| *warned.borrow_mut() = line.to_owned()).unwrap();
    assert_eq!(loaded, (older.clone(), checkpoint(1)));
    let warned = warned.into_inner();
    assert!(warned.contains("learner.bin is damaged"), "{warned}");
    assert!(warned.ends_with(&format!("; using {} instead", older.display())), "{warned}");
    // A checkpoint chosen by its path is never replaced by another.
    assert!(load_latest(&newest, quiet).is_err());
    fs::remove_file(older.join("learner.bin")).unwrap();
    let error = load_latest(run.path(), quiet).unwrap_err();
    assert!(format!("{error:#}").contains("update-00000002"), "{error:#}");
}

#[test]
fn paths_without_a_checkpoint_have_different_errors() {
    let temp = TempDir::new().unwrap();
    let message = |path: &Path| latest(path).unwrap_err().to_string();
    assert!(message(&temp.path().join("nowhere")).ends_with("nowhere does not exist"));
    assert!(message(temp.path()).ends_with("is neither a checkpoint nor a run with checkpoints"));
    let run = temp.path().join("run");
    fs::create_dir(&run).unwrap();
    fs::write(run.join(CONFIG), "").unwrap();
    assert!(message(temp.path()).ends_with(&format!("it contains 1 run, such as {}", run.display())));
    let within = run.join("plots");
    fs::create_dir(&within).unwrap();
    assert!(message(&within).ends_with(&format!("the run around it is {}", run.display())));
    fs::remove_dir_all(run).unwrap();
    fs::create_dir(temp.path().join(CHECKPOINTS)).unwrap();
    assert!(message(temp.path()).contains("has no checkpoint yet"));
    // The remains of a crash are ignored.
    fs::create_dir(temp.path().join(CHECKPOINTS).join(".partial-x")).unwrap();
    assert!(message(temp.path()).contains("has no checkpoint yet"));
}

#[test]
fn unused_directories_are_numbered() {
    let temp = TempDir::new().unwrap();
    let run = temp.path().join("runs/pong");
    let created = [(); 3].map(|()| create_unused(&run).unwrap());
    assert_eq!(created, ["pong", "pong-2", "pong-3"].map(|name| temp.path().join("runs").join(name)));
}

#[test]
fn processes_that_create_the_same_run_do_not_mix_their_files() {
    let temp = TempDir::new().unwrap();
    let run = temp.path().join("run");
    let held = lock::acquire(temp.path()).unwrap();
    let error = create_run(temp.path(), "x = 1", "{}").unwrap_err().to_string();
    assert!(error.starts_with("another process is training the run"), "{error}");
    assert!(!temp.path().join(CONFIG).exists() && !temp.path().join(PROVENANCE).exists());
    drop(held);
    create_run(&run, "x = 1", "{}").unwrap();
}

#[test]
fn a_directory_contains_at_most_one_run() {
    let temp = TempDir::new().unwrap();
    let run = temp.path().join("run");
    create_run(&run, "x = 1", "{}").unwrap();
    let error = create_run(&run, "x = 2", "{}").unwrap_err().to_string();
    assert!(error.contains("contains a run"), "{error}");
    assert_eq!(fs::read_to_string(run.join(CONFIG)).unwrap(), "x = 1");
    // Without checkpoints nothing would be lost.
    fs::remove_file(run.join(CONFIG)).unwrap();
    create_run(&run, "x = 3", "{}").unwrap();
    save(&run, &checkpoint(1)).unwrap();
    fs::remove_file(run.join(CONFIG)).unwrap();
    let error = create_run(&run, "x = 4", "{}").unwrap_err().to_string();
    assert!(error.contains("contains a run"), "{error}");
}

#[test]
fn a_run_does_not_hide_others() {
    let temp = TempDir::new().unwrap();
    create_run(&temp.path().join("one"), "x = 1", "{}").unwrap();
    let error = create_run(temp.path(), "x = 2", "{}").unwrap_err().to_string();
    assert!(error.contains("contains other runs; choose a new directory, such as --run-dir"), "{error}");
    create_run(&temp.path().join("two"), "x = 2", "{}").unwrap();
    // The default directory of runs has the name of a run's directory of checkpoints.
    let project = temp.path().join("project");
    create_run(&project.join(CHECKPOINTS).join("one"), "x = 1", "{}").unwrap();
    let error = create_run(&project, "x = 2", "{}").unwrap_err().to_string();
    assert!(error.contains("contains other runs"), "{error}");
    for inner in ["one/inner", "one/checkpoints/inner"] {
        let error = create_run(&temp.path().join(inner), "x = 2", "{}").unwrap_err().to_string();
        assert!(error.contains("is inside the run"), "{error}");
        assert!(!temp.path().join(inner).exists());
    }
}

#[test]
fn a_new_run_does_not_overwrite_curves() {
    let temp = TempDir::new().unwrap();
    for name in Telemetry::FILES {
        let directory = temp.path().join(name);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join(name), "").unwrap();
        create_run(&directory, "x = 1", "{}").unwrap();
        fs::remove_file(directory.join(CONFIG)).unwrap();
        fs::write(directory.join(name), "of another program").unwrap();
        let error = create_run(&directory, "x = 1", "{}").unwrap_err().to_string();
        assert!(error.contains(&format!("contains {name}, which the run would overwrite")), "{error}");
    }
}
