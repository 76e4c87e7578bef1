//! The runs that the arguments of `report` name: directories of runs, directories that contain runs, and patterns, each
//! after a name for the page if the user gives one.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::iter::zip;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::runs::RunHistory;
use crate::failure::sentence;
use crate::runs::runs_below;

/// Reads every run that the arguments name, each once. Calls `note` for each file or directory without runs, and `warn`
/// for each run that cannot be read; they are skipped.
pub(super) fn read(
    arguments: &[PathBuf],
    note: impl Fn(&str),
    warn: impl Fn(&str),
) -> Result<Vec<RunHistory>> {
    let mut runs = Vec::new();
    let mut seen = HashSet::new();
    let arguments: Vec<Argument> = arguments.iter().map(|argument| Argument::parse(argument)).collect();
    let paths: Vec<&Path> = arguments.iter().map(|argument| argument.path.as_path()).collect();
    let matches = paths.iter().map(|path| find(path, &paths)).collect::<Result<Vec<_>>>()?;
    for (argument, Matches { directories, skipped, is_explicit }) in arguments.iter().zip(matches) {
        for path in skipped {
            note(&format!("skipped {}: it contains no run", path.display()));
        }
        for directory in directories {
            // Two arguments may include the same run.
            if !seen.insert(directory.canonicalize().unwrap_or_else(|_| directory.clone())) {
                continue;
            }
            match RunHistory::read(&directory) {
                Ok(run) => runs.push(RunHistory { setting: argument.name.clone(), ..run }),
                Err(error) if is_explicit => return Err(error),
                Err(error) => warn(&format!("skipped {}: {}", directory.display(), sentence(&error))),
            }
        }
    }
    if runs.is_empty() {
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        bail!("no run found in {}", paths.join(", "));
    }
    Ok(runs)
}

/// An argument: a path or a pattern, with a name as in `NAME=checkpoints/RUN`.
struct Argument {
    name: Option<String>,
    path: PathBuf,
}

impl Argument {
    /// A path that exists has no name, and neither has one with a `=` below its first directory, as in that of a sweep.
    fn parse(argument: &Path) -> Self {
        let named = argument.to_str().and_then(|text| text.split_once('='));
        let named = named.filter(|(name, path)| {
            !argument.exists() && !name.is_empty() && !name.contains(['/', '\\']) && !path.is_empty()
        });
        match named {
            Some((name, path)) => Self { name: Some(name.to_owned()), path: path.into() },
            None => Self { name: None, path: argument.to_owned() },
        }
    }
}

/// The runs that an argument names.
#[derive(Debug)]
struct Matches {
    directories: Vec<PathBuf>,
    /// Files and directories without runs.
    skipped: Vec<PathBuf>,
    /// True if the argument is the directory of a run.
    is_explicit: bool,
}

fn find(argument: &Path, arguments: &[&Path]) -> Result<Matches> {
    if argument.exists() {
        let directories = below(argument);
        ensure!(
            !directories.is_empty() || is_from_pattern(argument, arguments),
            "{} is not the directory of a run and contains no run",
            argument.display()
        );
        let skipped = if directories.is_empty() { vec![argument.to_owned()] } else { Vec::new() };
        let is_explicit = directories == [argument];
        return Ok(Matches { directories, skipped, is_explicit });
    }
    let mut matches = Matches { directories: Vec::new(), skipped: Vec::new(), is_explicit: false };
    for path in expand(argument)? {
        match below(&path) {
            directories if directories.is_empty() => matches.skipped.push(path),
            directories => matches.directories.extend(directories),
        }
    }
    Ok(matches)
}

/// Returns true if a shell may have made an argument from a pattern such as `checkpoints/*`: another argument is in the
/// same directory.
fn is_from_pattern(argument: &Path, arguments: &[&Path]) -> bool {
    arguments.iter().any(|&other| other != argument && other.parent() == argument.parent())
}

/// Returns the paths that a pattern matches, for shells that do not expand it and for quoted ones.
fn expand(pattern: &Path) -> Result<Vec<PathBuf>> {
    let shown = pattern.display();
    let text = pattern.to_str().filter(|text| text.contains(['*', '?', '[']));
    let Some(text) = text else { bail!("{shown} does not exist") };
    let paths = glob::glob(text).with_context(|| format!("'{shown}' is not a pattern"))?;
    let paths: Vec<PathBuf> = paths.filter_map(Result::ok).collect();
    if paths.is_empty() { Err(anyhow!("nothing matches {shown}")) } else { Ok(paths) }
}

/// Returns the directory if it is that of a run, or else the runs in it, by name. Numbers in a name, such as those of a
/// sweep, are compared by value.
fn below(directory: &Path) -> Vec<PathBuf> {
    let mut runs = runs_below(directory);
    runs.sort_by(|a, b| by_parts(&a.to_string_lossy(), &b.to_string_lossy()));
    runs
}

/// Compares names such as `num_steps=16__seed=2` by their parts.
fn by_parts(a: &str, b: &str) -> Ordering {
    let unequal = zip(parts(a), parts(b)).map(|(a, b)| by_value(a, b)).find(|order| order.is_ne());
    unequal.unwrap_or_else(|| a.cmp(b))
}

fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(['=', '/']).flat_map(|part| part.split("__"))
}

/// Compares numbers by value and other texts by their characters. Numbers precede other texts.
fn by_value(a: &str, b: &str) -> Ordering {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.total_cmp(&b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::checkpoint::{CONFIG, PROVENANCE};
    use crate::telemetry::METRICS_FILE;

    /// Returns a sweep with two runs, a run beside it, and a file.
    fn checkpoints() -> TempDir {
        let temp = TempDir::new().unwrap();
        for run in ["sweep/seed=1", "sweep/seed=2", "alone"] {
            let directory = temp.path().join(run);
            fs::create_dir_all(&directory).unwrap();
            for file in [CONFIG, PROVENANCE, METRICS_FILE] {
                fs::write(directory.join(file), "").unwrap();
            }
        }
        fs::write(temp.path().join("README.md"), "").unwrap();
        fs::create_dir(temp.path().join("sweep/settings")).unwrap();
        temp
    }

    /// Returns the names of the runs and the notes, with paths relative to the directory.
    fn read_relative(temp: &TempDir, arguments: &[&str]) -> Result<(Vec<String>, Vec<String>), String> {
        let notes = RefCell::new(Vec::new());
        let paths: Vec<PathBuf> = arguments.iter().map(|argument| temp.path().join(argument)).collect();
        let root = format!("{}/", temp.path().display());
        let relative = |text: &str| text.replace(&root, "");
        let add = |note: &str| notes.borrow_mut().push(relative(note));
        let runs = read(&paths, add, add);
        let runs = runs.map_err(|error| relative(&sentence(&error)))?;
        Ok((runs.iter().map(|run| run.name.clone()).collect(), notes.into_inner()))
    }

    #[test]
    fn directories_of_runs_and_patterns_name_every_run_once() {
        let temp = checkpoints();
        // A run that has only just started has no curves.
        fs::remove_file(temp.path().join("alone").join(METRICS_FILE)).unwrap();
        let names = ["alone", "seed=1", "seed=2"].map(str::to_owned).to_vec();
        assert_eq!(read_relative(&temp, &["sweep"]).unwrap(), (names[1..].to_vec(), vec![]));
        assert_eq!(read_relative(&temp, &["sweep/seed=2"]).unwrap(), (names[2..].to_vec(), vec![]));
        let skipped = vec!["skipped README.md: it contains no run".to_owned()];
        // Quoted, and as the shell expands it.
        assert_eq!(read_relative(&temp, &["*"]).unwrap(), (names.clone(), skipped.clone()));
        assert_eq!(
            read_relative(&temp, &["README.md", "alone", "sweep", "alone"]).unwrap(),
            (names, skipped)
        );
        let (runs, notes) =
            read_relative(&temp, &["sweep/settings", "sweep/seed=1", "sweep/seed=2"]).unwrap();
        assert_eq!((runs.len(), notes.len()), (2, 1));
    }

    #[test]
    fn runs_are_sorted_by_the_numbers_in_their_names() {
        let sorted = [
            "rate=1e-5__seed=2",
            "rate=1e-5__seed=10",
            "rate=0.0001__seed=1",
            "rate=0.01__seed=1",
            "rate=auto",
        ];
        let mut names = sorted;
        names.reverse();
        names.sort_by(|a, b| by_parts(a, b));
        assert_eq!(names, sorted);
    }

    #[test]
    fn names_precede_paths_but_a_path_may_contain_an_equals_sign() {
        let parsed = |text: &str| {
            let Argument { name, path } = Argument::parse(Path::new(text));
            (name.unwrap_or_default(), path.display().to_string())
        };
        let pair = |name: &str, path: &str| (name.to_owned(), path.to_owned());
        assert_eq!(parsed("my run=checkpoints/a"), pair("my run", "checkpoints/a"));
        assert_eq!(parsed("lr=1e-3=checkpoints/b*"), pair("lr", "1e-3=checkpoints/b*"));
        for path in ["checkpoints/sweep/seed=1", "./seed=*", "=a", "a=", "plain"] {
            assert_eq!(parsed(path), pair("", path));
        }
        let temp = checkpoints();
        let existing = temp.path().join("sweep/seed=1").display().to_string();
        assert_eq!(parsed(&existing), pair("", &existing));
        let named: PathBuf = format!("best={existing}").into();
        let runs = read(&[named, temp.path().join("alone")], |_| (), |_| ()).unwrap();
        let names: Vec<_> = runs.iter().map(|run| (run.setting.as_deref(), run.name.as_str())).collect();
        assert_eq!(names, [(Some("best"), "seed=1"), (None, "alone")]);
    }

    #[test]
    fn damaged_records_are_skipped_and_missing_files_named() {
        let temp = checkpoints();
        let alone = temp.path().join("alone");
        fs::write(alone.join(METRICS_FILE), b"\xFF\n{\"frames\": 8}\n").unwrap();
        assert_eq!(RunHistory::read(&alone).unwrap().reached.frames, 8);
        fs::remove_file(alone.join(CONFIG)).unwrap();
        let error = sentence(&RunHistory::read(&alone).err().unwrap());
        assert!(error.contains("alone is not a readable run: config.toml cannot be read: "), "{error}");
    }

    #[test]
    fn paths_without_runs_are_errors() {
        let temp = checkpoints();
        let error = |arguments: &[&str]| read_relative(&temp, arguments).unwrap_err();
        assert_eq!(error(&["README.md"]), "README.md is not the directory of a run and contains no run");
        assert_eq!(
            error(&["alone", "sweep/settings"]),
            "sweep/settings is not the directory of a run and contains no run"
        );
        assert_eq!(error(&["alone", "missing"]), "missing does not exist");
        assert_eq!(error(&["missing*"]), "nothing matches missing*");
        assert_eq!(error(&["README*"]), "no run found in README*");
    }
}
