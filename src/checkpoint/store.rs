use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::manifest::Manifest;
use super::{CONFIG, Checkpoint};

/// The subfolder of a run that holds its checkpoints.
const CHECKPOINTS: &str = "checkpoints";
/// The name of a checkpoint is this and the number of updates, in as many digits as sort well.
const PREFIX: &str = "update-";

/// Makes the folder of a new run and puts its configuration there. Refuses a folder in which a run was made before.
pub(crate) fn create_run(run_dir: &Path, config: &str) -> Result<()> {
    let file = run_dir.join(CONFIG);
    ensure!(
        !file.exists(),
        "{} holds a run already; go on with `ale-train resume {0}`, or choose another --run-dir",
        run_dir.display()
    );
    fs::create_dir_all(run_dir).and_then(|()| replace_file(&file, config.as_bytes())).with_context(|| {
        format!("cannot write the run folder {}; choose another with --run-dir", run_dir.display())
    })
}

/// Writes a checkpoint of a run and returns its folder.
pub(crate) fn save(run_dir: &Path, checkpoint: Checkpoint) -> Result<PathBuf> {
    let parent = run_dir.join(CHECKPOINTS);
    let folder = vacant_folder(&parent, checkpoint.progress.moment.updates);
    let write = || -> Result<()> {
        fs::create_dir_all(&parent)?;
        let files = checkpoint.into_files()?;
        let temporary = tempfile::Builder::new().prefix(".partial-").tempdir_in(&parent)?;
        for (name, contents) in &files {
            write_synced(&temporary.path().join(name), contents)?;
        }
        write_synced(&temporary.path().join(Manifest::FILE), &Manifest::of(&files).to_bytes()?)?;
        sync_folder(temporary.path())?;
        fs::rename(temporary.keep(), &folder)?;
        Ok(sync_folder(&parent)?)
    };
    write().with_context(|| format!("cannot write the checkpoint {}", folder.display()))?;
    Ok(folder)
}

/// Where the checkpoint after so many updates goes. A run that is resumed and stopped at once saves the same update
/// again: that one gets a longer name, which sorts behind the first, and nothing is ever removed.
fn vacant_folder(parent: &Path, updates: u64) -> PathBuf {
    let again = (1..).map(|time| format!("{PREFIX}{updates:08}.{time:03}"));
    let names = std::iter::once(format!("{PREFIX}{updates:08}")).chain(again);
    let mut folders = names.map(|name| parent.join(name));
    folders.find(|folder| !folder.exists()).expect("the names never end")
}

/// The newest checkpoint of `path`, which is the folder of a run or of a checkpoint.
pub(crate) fn latest(path: &Path) -> Result<PathBuf> {
    if path.join(Manifest::FILE).exists() {
        return Ok(path.to_owned());
    }
    ensure!(path.exists(), "there is no {}", path.display());
    let checkpoints = match fs::read_dir(path.join(CHECKPOINTS)) {
        Ok(entries) => entries,
        Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {
            bail!("{} is neither a checkpoint nor the folder of a run with checkpoints", path.display())
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let names = checkpoints.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let newest = names.filter(|name| name.starts_with(PREFIX)).max();
    let newest = newest.with_context(|| format!("the run {} has no checkpoint yet", path.display()))?;
    Ok(path.join(CHECKPOINTS).join(newest))
}

/// Reads a checkpoint and checks every byte.
pub(crate) fn load(folder: &Path) -> Result<Checkpoint> {
    let read = |name: &str| fs::read(folder.join(name)).with_context(|| format!("{name} cannot be read"));
    let load = || -> Result<Checkpoint> {
        let manifest = Manifest::parse(&read(Manifest::FILE)?)?;
        Checkpoint::from_files(|name| {
            let contents = read(name)?;
            manifest.verify(name, &contents)?;
            Ok(contents)
        })
    };
    load().with_context(|| format!("the checkpoint {} cannot be used", folder.display()))
}

/// Writes a file so that after a crash there is either the old one or the new one.
fn replace_file(path: &Path, contents: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".partial-").tempfile_in(folder)?;
    file.write_all(contents)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_folder(folder)
}

fn write_synced(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(contents)?;
    file.sync_all()
}

/// A rename is only safe once the folder is on the disk too. Windows has no such operation.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::super::Progress;
    use super::*;
    use crate::telemetry::Moment;

    fn checkpoint(updates: u64) -> Checkpoint {
        let moment = Moment { updates, steps: 10 * updates, frames: 40 * updates, seconds: 0.1 };
        Checkpoint {
            config: "a = 1\n".to_owned(),
            progress: Progress { moment, recent_returns: vec![vec![1.5]], ..Progress::default() },
            learner: vec![1, 2, 3],
            environments: vec![0; 1000],
        }
    }

    #[test]
    fn what_was_saved_is_loaded_and_the_newest_is_found() {
        let run = TempDir::new().unwrap();
        for updates in [9, 100, 20] {
            save(run.path(), checkpoint(updates)).unwrap();
        }
        let newest = latest(run.path()).unwrap();
        assert!(newest.ends_with("checkpoints/update-00000100"));
        assert_eq!(latest(&newest).unwrap(), newest);
        assert_eq!(load(&newest).unwrap(), checkpoint(100));
        // The same update may be saved twice.
        let again = save(run.path(), checkpoint(100)).unwrap();
        assert_ne!(again, newest);
        assert_eq!(latest(run.path()).unwrap(), again);
        assert_eq!(
            fs::read_dir(run.path().join(CHECKPOINTS)).unwrap().count(),
            4,
            "a temporary folder is left"
        );
    }

    #[test]
    fn a_changed_byte_anywhere_is_found() {
        let run = TempDir::new().unwrap();
        let folder = save(run.path(), checkpoint(1)).unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let good = fs::read(&path).unwrap();
            for position in [0, good.len() / 2, good.len() - 1] {
                let mut bad = good.clone();
                bad[position] ^= 1;
                fs::write(&path, &bad).unwrap();
                // A change that the manifest survives is one in the name of the program.
                if let Ok(loaded) = load(&folder) {
                    assert!(path.ends_with(Manifest::FILE) && loaded == checkpoint(1), "{}", path.display());
                }
            }
            fs::write(&path, &good[..good.len() - 1]).unwrap();
            assert!(load(&folder).is_err(), "{} cut", path.display());
            fs::write(&path, &good).unwrap();
        }
        assert_eq!(load(&folder).unwrap(), checkpoint(1));
    }

    #[test]
    fn folders_without_a_run_are_told_apart() {
        let temp = TempDir::new().unwrap();
        let message = |path: &Path| latest(path).unwrap_err().to_string();
        assert!(message(&temp.path().join("nowhere")).starts_with("there is no "));
        assert!(message(temp.path()).contains("neither a checkpoint nor"));
        fs::create_dir(temp.path().join(CHECKPOINTS)).unwrap();
        assert!(message(temp.path()).contains("has no checkpoint yet"));
        // What a crash left behind is no checkpoint.
        fs::create_dir(temp.path().join(CHECKPOINTS).join(".partial-x")).unwrap();
        assert!(message(temp.path()).contains("has no checkpoint yet"));
    }

    #[test]
    fn a_folder_holds_one_run() {
        let temp = TempDir::new().unwrap();
        let run = temp.path().join("run");
        create_run(&run, "x = 1").unwrap();
        let error = create_run(&run, "x = 2").unwrap_err().to_string();
        assert!(error.contains("holds a run already"), "{error}");
        assert_eq!(fs::read_to_string(run.join(CONFIG)).unwrap(), "x = 1");
    }
}
