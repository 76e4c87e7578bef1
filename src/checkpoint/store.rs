use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::file_name::{PREFIX, number};
use super::in_training;
use super::lock;
use super::manifest::Manifest;
use super::{CONFIG, Checkpoint, LearnerState, PROGRESS};
use crate::durable;
use crate::enclosure;
use crate::files::limit;
use crate::output::quoted;
use crate::scores::FinalScores;
use crate::telemetry::Telemetry;

/// The subdirectory of a run that contains its checkpoints.
const CHECKPOINTS: &str = "checkpoints";
/// The subdirectory of a run for checkpoints that it has abandoned.
const ABANDONED: &str = "abandoned";

/// The file with the provenance of a run.
pub(crate) const PROVENANCE: &str = "run.json";

/// Creates an empty directory with this name, or with a number after it if there is one already. Two processes never get
/// the same directory.
pub(crate) fn create_unused(run_dir: &Path) -> Result<PathBuf> {
    let numbered = (2..).map(|number| {
        let mut name = run_dir.as_os_str().to_owned();
        name.push(format!("-{number}"));
        PathBuf::from(name)
    });
    let create = || -> io::Result<PathBuf> {
        if let Some(parent) = run_dir.parent() {
            fs::create_dir_all(parent)?;
        }
        for directory in std::iter::once(run_dir.to_owned()).chain(numbered) {
            match fs::create_dir(&directory) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|()| directory),
            }
        }
        unreachable!("the names never end")
    };
    create().with_context(|| cannot_create(run_dir))
}

/// Creates the directory of a new run with its configuration and provenance. Fails if the directory contains a run.
pub(crate) fn create_run(run_dir: &Path, config: &str, provenance: &str) -> Result<()> {
    let file = run_dir.join(CONFIG);
    let check = || -> Result<()> {
        // Checkpoints count even without a configuration file: they would mix with those of the new run.
        let has_checkpoints = newest_first(run_dir).is_ok_and(|checkpoints| !checkpoints.is_empty());
        ensure!(
            !file.exists() && !has_checkpoints,
            "{} contains a run; continue it with `ale-train resume {0}`, or choose another --run-dir",
            quoted(run_dir)
        );
        // Commands do not look for runs inside a run.
        if let Some(outer) = enclosing_run(run_dir)? {
            bail!("{} is inside the run {}; choose another --run-dir", run_dir.display(), outer.display())
        }
        ensure!(
            !contains_runs(run_dir) && !contains_runs(&checkpoints_of(run_dir)?),
            "{} contains other runs; choose a new directory, such as --run-dir {}",
            run_dir.display(),
            quoted(&run_dir.join("NAME"))
        );
        // They may be of a run whose configuration was removed, or of another program.
        let has_contents = |name: &str| fs::metadata(run_dir.join(name)).is_ok_and(|file| file.len() > 0);
        if let Some(name) = Telemetry::FILES.into_iter().find(|name| has_contents(name)) {
            bail!(
                "{} contains {name}, which the run would overwrite; choose another --run-dir",
                run_dir.display()
            );
        }
        Ok(())
    };
    check()?;
    fs::create_dir_all(run_dir).with_context(|| cannot_create(run_dir))?;
    // Another process may be creating a run there.
    let _lock = lock::acquire(run_dir)?;
    check()?;
    let write = || -> Result<()> {
        durable::write_inside(run_dir, &run_dir.join(PROVENANCE), provenance.as_bytes())?;
        durable::write_inside(run_dir, &file, config.as_bytes())
    };
    write().with_context(|| cannot_create(run_dir))
}

/// Returns true if a subdirectory is a run.
fn contains_runs(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|entries| entries.flatten().any(|entry| is_run(&entry.path())))
}

/// Returns the run that a directory is inside of, if there is one.
fn enclosing_run(directory: &Path) -> Result<Option<PathBuf>> {
    let directory = path::absolute(directory)?;
    Ok(directory.ancestors().skip(1).find(|outer| is_run(outer)).map(Path::to_owned))
}

fn is_run(directory: &Path) -> bool {
    [CONFIG, PROVENANCE].iter().all(|name| directory.join(name).exists())
}

fn cannot_create(run_dir: &Path) -> String {
    format!("cannot write the run directory {}; choose another with --run-dir", run_dir.display())
}

/// Returns the directory with the checkpoints of a run, which may not exist. Fails if it is a symbolic link that leads out
/// of the run.
pub(super) fn checkpoints_of(run_dir: &Path) -> Result<PathBuf> {
    subdirectory(run_dir, CHECKPOINTS)
}

fn is_missing(error: &io::Error) -> bool {
    [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind())
}

fn subdirectory(run_dir: &Path, name: &str) -> Result<PathBuf> {
    let path = run_dir.join(name);
    match enclosure::check(run_dir, &path) {
        // There is no such run.
        Err(error) if !is_missing(&error) => {
            Err(error).with_context(|| format!("cannot use the run {}", run_dir.display()))
        }
        _ => Ok(path),
    }
}

/// Writes a checkpoint of a run and returns its directory.
pub(super) fn save(run_dir: &Path, checkpoint: &Checkpoint<impl LearnerState>) -> Result<PathBuf> {
    let parent = checkpoints_of(run_dir)?;
    let directory = parent.join(next_name(run_dir, checkpoint.progress.moment.updates));
    let write = || -> Result<()> {
        fs::create_dir_all(&parent)?;
        durable::write_directory(&directory, |partial| checkpoint.write_into(partial))
    };
    write().with_context(|| format!("cannot write the checkpoint {}", directory.display()))?;
    Ok(directory)
}

/// Returns the name of the next checkpoint after `updates` updates. There may be several: one is written whenever the run
/// stops or a setting changes. The names continue those of the remaining checkpoints, because the names of removed ones
/// would make the new checkpoint the oldest.
fn next_name(run_dir: &Path, updates: u64) -> String {
    let existing = newest_first(run_dir).unwrap_or_default();
    let newest = existing.iter().filter_map(|path| number(path)).find(|&(own, _)| own == updates);
    match newest {
        None => format!("{PREFIX}{updates:08}"),
        Some((_, again)) => format!("{PREFIX}{updates:08}.{:03}", again + 1),
    }
}

/// Returns the newest checkpoint of a run, or `path` if it is a checkpoint.
pub(super) fn latest(path: &Path) -> Result<PathBuf> {
    if path.join(Manifest::FILE).exists() {
        return Ok(path.to_owned());
    }
    ensure!(path.exists(), "{} does not exist", path.display());
    checkpoints_of_begun(path)?
        .into_iter()
        .next()
        .with_context(|| format!("the run {} has no checkpoint yet", path.display()))
}

/// Returns the checkpoints of a run, the newest first. The error about a run before its first one says when that comes.
pub(super) fn checkpoints_of_begun(run_dir: &Path) -> Result<Vec<PathBuf>> {
    ensure!(!is_before_first_checkpoint(run_dir), in_training::without_checkpoint(run_dir));
    newest_first(run_dir)
}

/// Returns true if `path` is a run that has no checkpoint yet. Returns false if its directory of checkpoints cannot be
/// read or contains anything else: the run must not start again then.
pub(crate) fn is_before_first_checkpoint(path: &Path) -> bool {
    let Ok(checkpoints) = checkpoints_of(path) else { return false };
    let is_hidden = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name().as_encoded_bytes().starts_with(b"."))
    };
    // The directory of a checkpoint contains a configuration, but no provenance.
    [CONFIG, PROVENANCE].iter().all(|name| path.join(name).exists())
        && match fs::symlink_metadata(&checkpoints) {
            Err(error) => error.kind() == io::ErrorKind::NotFound,
            Ok(_) => fs::read_dir(&checkpoints).is_ok_and(|mut entries| entries.all(is_hidden)),
        }
}

/// Returns the run that `path` refers to: `path` itself, or the run of the checkpoint `path`.
pub(crate) fn run_at(path: &Path) -> Result<PathBuf> {
    if !path.join(Manifest::FILE).exists() {
        return Ok(path.to_owned());
    }
    run_of(path).with_context(|| {
        format!(
            "the checkpoint {0} is not in the directory of its run; start a new run with its weights: --init-from {0}",
            path.display()
        )
    })
}

/// Returns the directory of the run that a checkpoint belongs to, or `None` if the checkpoint is elsewhere, such as a
/// copy.
pub(crate) fn run_of(checkpoint: &Path) -> Option<PathBuf> {
    let run_above = |checkpoint: &Path| -> Option<PathBuf> {
        let run = checkpoint.parent().filter(|parent| parent.ends_with(CHECKPOINTS))?.parent()?;
        let run = if run.as_os_str().is_empty() { Path::new(".") } else { run };
        run.join(CONFIG).is_file().then(|| run.to_owned())
    };
    // Prefer the path as given, because messages repeat it.
    run_above(checkpoint).or_else(|| run_above(&fs::canonicalize(checkpoint).ok()?))
}

/// Returns the checkpoints of a run, the newest first.
pub(super) fn newest_first(run_dir: &Path) -> Result<Vec<PathBuf>> {
    let checkpoints = match fs::read_dir(checkpoints_of(run_dir)?) {
        Ok(entries) => entries,
        Err(error) if is_missing(&error) => {
            bail!("{} is neither a checkpoint nor a run with checkpoints", run_dir.display())
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", run_dir.display())),
    };
    let paths = checkpoints.filter_map(|entry| Some(entry.ok()?.path()));
    let mut numbered: Vec<_> = paths.filter_map(|path| Some((number(&path)?, path))).collect();
    numbered.sort_unstable_by(|a, b| b.cmp(a));
    Ok(numbered.into_iter().map(|(_, path)| path).collect())
}

/// Moves the checkpoints that are newer than `checkpoint` into a subdirectory, with copies of the run's other files, so
/// that they form a separate run. Otherwise a run that continues from an older checkpoint would mistake them for its
/// newest ones. Returns the subdirectory if there is a newer checkpoint.
pub(super) fn abandon_newer(run_dir: &Path, checkpoint: &Path) -> Result<Option<PathBuf>> {
    // The path may be a symbolic link.
    let own = fs::canonicalize(checkpoint).ok().and_then(|checkpoint| number(&checkpoint));
    let checkpoints = checkpoints_of(run_dir)?;
    let Some(own) = own.filter(|_| checkpoints.is_dir()) else { return Ok(None) };
    let newer: Vec<PathBuf> = newest_first(run_dir)?
        .into_iter()
        .take_while(|path| number(path).is_some_and(|number| number > own))
        .collect();
    if newer.is_empty() {
        return Ok(None);
    }
    let abandoned = create_unused(&subdirectory(run_dir, ABANDONED)?.join("run"))?;
    let set_aside = || -> Result<()> {
        let checkpoints = checkpoints_of(&abandoned)?;
        fs::create_dir_all(&checkpoints)?;
        for name in [CONFIG, PROVENANCE, FinalScores::FILE].into_iter().chain(Telemetry::FILES) {
            match enclosure::copy(run_dir, &run_dir.join(name), &abandoned.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("cannot copy {name}"));
                }
                _ => {}
            }
        }
        newer.iter().filter_map(|checkpoint| Some((checkpoint, checkpoint.file_name()?))).try_for_each(
            |(checkpoint, name)| {
                enclosure::check(run_dir, checkpoint)?;
                durable::move_directory(run_dir, checkpoint, &checkpoints.join(name))
            },
        )
    };
    set_aside().with_context(|| format!("cannot move newer checkpoints to {}", abandoned.display()))?;
    Ok(Some(abandoned))
}

/// Reads the newest checkpoint of a run, or `path` if it is a checkpoint. If the newest checkpoint of a run is damaged,
/// reads the newest intact one and calls `warn` with the reason.
pub(crate) fn load_latest(path: &Path, warn: impl Fn(&str)) -> Result<(PathBuf, Checkpoint)> {
    let newest = latest(path)?;
    let error = match load(&newest) {
        Ok(checkpoint) => return Ok((newest, checkpoint)),
        Err(error) => error,
    };
    if newest == path {
        return Err(error);
    }
    for older in newest_first(path)?.into_iter().skip(1) {
        if let Ok(checkpoint) = load(&older) {
            warn(&format!("{error:#}; using {} instead", older.display()));
            return Ok((older, checkpoint));
        }
    }
    Err(error)
}

/// Reads a checkpoint and verifies every byte.
pub(crate) fn load(directory: &Path) -> Result<Checkpoint> {
    let load = || -> Result<Checkpoint> {
        let manifest = Manifest::parse(&read(directory, Manifest::FILE)?)?;
        Checkpoint::from_files(|name| {
            let contents = read(directory, name)?;
            manifest.verify(name, &contents)?;
            Ok(contents)
        })
    };
    load().with_context(|| unusable(directory))
}

/// Reads a file of a checkpoint.
pub(super) fn read(directory: &Path, name: &str) -> Result<Vec<u8>> {
    let most = match name {
        Manifest::FILE => limit::MANIFEST,
        CONFIG => limit::EXPERIMENT,
        PROGRESS => limit::PROGRESS,
        _ => limit::STATE,
    };
    let root = root_of(directory);
    enclosure::read(&root, &directory.join(name), most).with_context(|| format!("{name} cannot be read"))
}

/// Returns the directory that links in a checkpoint must not leave: its run, or the checkpoint itself if it is elsewhere.
pub(super) fn root_of(checkpoint: &Path) -> PathBuf {
    run_of(checkpoint).unwrap_or_else(|| checkpoint.to_owned())
}

/// Returns the opening of every error about the contents of a checkpoint.
pub(crate) fn unusable(directory: &Path) -> String {
    format!("the checkpoint {} cannot be used", directory.display())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::super::Progress;
    use super::*;
    use crate::recent_returns::RecentReturns;
    use crate::telemetry::Moment;

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
        // Numbers that need 17 digits.
        (1..1000_u16).for_each(|number| recent.push(number.into(), 1e3 * f64::from(number).sqrt(), 1000));
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
        let names = |run: &Path| -> Vec<String> {
            let paths = newest_first(run).unwrap();
            paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&first), ["update-00000006", "update-00000004.001"]);
        assert_eq!(names(run.path()), ["update-00000004", "update-00000001"]);
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
        assert_eq!(names(&second), ["update-00000006", "update-00000004"]);
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
        assert!(
            error.contains("is not in the directory of its run") && error.contains("--init-from"),
            "{error}"
        );
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
        let found = load_latest(run.path(), |line| *warned.borrow_mut() = line.to_owned()).unwrap();
        assert_eq!(found, (older.clone(), checkpoint(1)));
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
        assert!(message(temp.path()).contains("neither a checkpoint nor"));
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
}
