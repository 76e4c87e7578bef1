//! `ale-train sweep`: one experiment with several values of its keys, several seeds, or a separate agent for each game.
//!
//! Every run is a separate process. The directory of the sweep records the completed runs, so the same command
//! continues an interrupted sweep.
//!
//! * `varied_settings` are the settings to train.
//! * `train_run` trains one of the runs, `pruning` ends it early if it is worse than others.
//! * `ranking` and `game_table` are the tables at the end, `pace` is the time left.

mod game_table;
mod pace;
mod pruning;
mod ranking;
mod train_run;
mod varied_settings;

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::checkpoint;
use crate::cli::{ExperimentArgs, Global, PruneRule, SweepArgs};
use crate::config::{self, Config, Experiment, Games, RunSettings};
use crate::durable;
use crate::enclosure;
use crate::failure::{Interrupted, RuntimeFailure};
use crate::files::limit;
use crate::interrupt::Interrupt;
use crate::learner::Algorithm;
use crate::output::notice;
use crate::quantity::clock;
use crate::report::RunHistory;
use crate::selection;
use crate::signal::Signal;
use crate::telemetry::Printer;

use pace::Pace;
use pruning::Pruning;
use train_run::{Outcome, train_run};
use varied_settings::{Setting, settings};

/// The subdirectory of a sweep with the experiment of each setting.
const SETTINGS: &str = "settings";
/// The message on the first signal.
const STOPPING: &str =
    "stopping once the active runs have written checkpoints; signal again to stop at once without them";
/// An empty file that marks the directory of a completed run.
const COMPLETE: &str = "complete";
/// A file with the reason in the directory of a run that was ended early.
const PRUNED: &str = "pruned";
/// The key that --games-each sets.
const GAMES: &str = "environments.games";
/// Keys that may differ when a sweep is continued: the seed is part of the name of a run, and threads do not affect
/// results.
const INCIDENTAL: [&str; 2] = ["experiment.seed", "experiment.num_threads"];

/// Trains every run that is not complete, then prints the table.
pub(crate) fn run(args: &SweepArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let settings = settings(&args.vary, args.random)?;
    settings.first().map_or(Ok(()), |setting| check_flags(args, setting))?;
    let games = games_each(args)?;
    let variants = settings.iter().flat_map(|setting| games.iter().map(move |&game| (setting, game)));
    let variants =
        variants.map(|(setting, game)| Variant::new(args, setting, game)).collect::<Result<Vec<_>>>()?;
    // The runs repeat warnings about the settings, but not those about how the flags are written.
    notes_of_all(&variants).for_each(|line| Printer::Plain.warn(line));
    check_names(&variants)?;
    ensure!(
        !args.run_dir.join(checkpoint::CONFIG).exists(),
        "{} is a run, which would hide those of the sweep; choose another --run-dir",
        args.run_dir.display()
    );
    check_links(args, &variants)?;
    // Nothing is written if a setting does not match.
    let new = variants.iter().map(|variant| Ok((variant, variant.is_new(&args.run_dir)?)));
    let new: Vec<_> = new.collect::<Result<_>>()?;
    new.iter().filter(|(_, is_new)| *is_new).try_for_each(|(variant, _)| variant.create(&args.run_dir))?;
    let runs = variants.iter().flat_map(|variant| variant.seeds(args).map(move |seed| (variant, seed)));
    let numbered: Vec<_> = (1..).zip(runs).collect();
    let is_missing = |variant: &Variant<'_>, seed: u64| {
        let run_dir = variant.run_dir(&args.run_dir, seed);
        !(run_dir.join(COMPLETE).exists() || args.prune.is_some() && run_dir.join(PRUNED).exists())
    };
    let missing = numbered.iter().filter(|(_, (variant, seed))| is_missing(variant, *seed));
    let pruning = args.prune.map(|rule| pruning(args, rule, &variants)).transpose()?;
    let total = numbered.len();
    let pace = Pace::new(missing.clone().count());
    let interrupt = Interrupt::on_first_signal(Printer::new(global.quiet), STOPPING);
    let failed = Mutex::new(Vec::new());
    run_parallel(args.jobs, missing, |&(index, (variant, seed))| {
        if let Some(signal) = interrupt.signal() {
            return Err(stopped(signal));
        }
        if !global.quiet {
            let left = pace.left().map_or_else(String::new, |left| format!(", about {} left", clock(left)));
            notice(format_args!("run {index} of {total}: {}{left}", variant.run_name(seed)));
        }
        if let Outcome::Failed = train_run(args, variant, seed, global, pruning.as_ref(), &interrupt)? {
            failed.lock().expect("no thread panics while it holds the lock").push(variant.run_name(seed));
        }
        pace.advance();
        Ok(())
    })?;
    print(args, &variants, out)?;
    let failed = failed.into_inner().expect("no thread panics while it holds the lock");
    if failed.is_empty() {
        return Ok(());
    }
    let error = anyhow!(RuntimeFailure("run the same command again to repeat only the failed runs"));
    Err(error.context(format!("{} of {total} runs failed ({})", failed.len(), failed.join(", "))))
}

/// Prepares to prune the runs.
fn pruning(args: &SweepArgs, rule: PruneRule, variants: &[Variant<'_>]) -> Result<Pruning> {
    let runs = variants.iter().flat_map(|variant| {
        variant.seeds(args).map(move |seed| {
            (variant.run_dir(&args.run_dir, seed), variant.games.clone(), variant.total_frames)
        })
    });
    let pruning = Pruning::new(rule, runs);
    pruning.read_all().context("cannot read the curves of the sweep")?;
    Ok(pruning)
}

/// Returns the games that are trained separately, or else `None` alone.
fn games_each(args: &SweepArgs) -> Result<Vec<Option<&'static str>>> {
    if args.games_each.is_empty() {
        return Ok(vec![None]);
    }
    let names = args.games_each.iter().map(|name| name.trim());
    Ok(selection::expand(names).context("--games-each")?.into_iter().map(Some).collect())
}

/// Fails if a flag sets a varied key, since flags override the values of the setting.
fn check_flags(args: &SweepArgs, setting: &Setting) -> Result<()> {
    let varied = setting.iter().filter_map(|assignment| assignment.split_once('=').map(|(key, _)| key));
    for key in varied {
        ensure!(
            key != GAMES || args.games_each.is_empty(),
            "--vary {key} cannot be used with --games-each, which sets the same key"
        );
        if let Some(flag) = config::flag_of(key, &args.experiment.layers()) {
            bail!("--vary {key} cannot be used with {flag}, which sets the same key");
        }
        let mut assignments = args.experiment.set.iter();
        let same = assignments
            .find(|assignment| assignment.split_once('=').is_some_and(|(set, _)| set.trim() == key));
        if let Some(assignment) = same {
            bail!("--vary {key} cannot be used with --set {assignment}, which sets the same key");
        }
    }
    Ok(())
}

/// Fails if two settings have the same name, which contains only letters, digits, dots and hyphens of the values.
fn check_names(variants: &[Variant<'_>]) -> Result<()> {
    let mut named = HashMap::new();
    for variant in variants {
        if let Some(before) = named.insert(variant.run_name(0), variant) {
            bail!(
                "the runs of {} and {} would have the same name; use values that differ in letters or digits",
                before.label(),
                variant.label()
            )
        }
    }
    Ok(())
}

/// Fails if a symbolic link leads from a run to a place outside the directory of the sweep.
fn check_links(args: &SweepArgs, variants: &[Variant<'_>]) -> Result<()> {
    if !args.run_dir.exists() {
        return Ok(());
    }
    let run_dirs = variants
        .iter()
        .flat_map(|variant| variant.seeds(args).map(move |seed| variant.run_dir(&args.run_dir, seed)));
    for run_dir in run_dirs {
        enclosure::check(&args.run_dir, &run_dir)?;
    }
    Ok(())
}

/// Calls `act` with each item on `jobs` threads. After the first failure no further call starts.
fn run_parallel<T: Send>(
    jobs: usize,
    items: impl Iterator<Item = T> + Send,
    act: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let (items, failure) = (Mutex::new(items), Mutex::new(None));
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| act_on_each(&items, &act, &failure));
        }
    });
    failure.into_inner().expect("no thread panics while it holds the lock").map_or(Ok(()), Err)
}

/// Calls `act` with one item after the other, until there are none or a thread has failed.
fn act_on_each<T>(
    items: &Mutex<impl Iterator<Item = T>>,
    act: &impl Fn(T) -> Result<()>,
    failure: &Mutex<Option<anyhow::Error>>,
) {
    loop {
        if failure.lock().expect("no thread panics while it holds the lock").is_some() {
            return;
        }
        let item = items.lock().expect("no thread panics while it holds the lock").next();
        let Some(item) = item else { return };
        if let Err(error) = act(item) {
            failure.lock().expect("no thread panics while it holds the lock").get_or_insert(error);
        }
    }
}

fn stopped(signal: Signal) -> anyhow::Error {
    Interrupted { signal, resume_command: Some("the same command".to_owned()) }.into()
}

/// The experiment of a setting. Its preset is the one that fits the setting, which may change the algorithm or the
/// games.
struct Variant<'a> {
    setting: &'a Setting,
    /// The only game, if each game is trained separately.
    game: Option<&'static str>,
    algorithm: Algorithm,
    seed: u64,
    games: Games,
    total_frames: u64,
    /// Warnings about how the experiment is written.
    notes: Vec<String>,
    /// The experiment as TOML.
    experiment: String,
}

impl<'a> Variant<'a> {
    fn new(args: &SweepArgs, setting: &'a Setting, game: Option<&'static str>) -> Result<Self> {
        let mut experiment: ExperimentArgs = args.experiment.clone();
        experiment.games.extend(game.map(str::to_owned));
        experiment.set.extend(setting.iter().cloned());
        let experiment = config::from_layers(&experiment.layers(), None)
            .and_then(Config::resolve)
            .with_context(|| format!("the setting {}", label(&assignments(setting, game))))?;
        let text = experiment.to_toml()?;
        let RunSettings { algorithm, seed, .. } = experiment.run;
        let total_frames = experiment.total_frames();
        let Experiment { games, notes, .. } = experiment;
        Ok(Self { setting, game, algorithm, seed, games, total_frames, notes, experiment: text })
    }

    fn label(&self) -> String {
        label(&assignments(self.setting, self.game))
    }

    fn run_name(&self, seed: u64) -> String {
        run_name(&assignments(self.setting, self.game), seed)
    }

    /// Returns the seeds to train the setting with: those of the sweep, or else the seed of the experiment.
    fn seeds<'b>(&self, args: &'b SweepArgs) -> impl Iterator<Item = u64> + use<'b> {
        let default = args.seeds.is_none().then_some(self.seed);
        args.seeds.iter().flat_map(|seeds| seeds.0.iter().copied()).chain(default)
    }

    fn run_dir(&self, sweep: &Path, seed: u64) -> PathBuf {
        sweep.join(self.run_name(seed))
    }

    /// Returns the path of the file with the experiment in the directory of a sweep.
    fn file(&self, sweep: &Path) -> PathBuf {
        let assignments: Vec<String> =
            assignments(self.setting, self.game).iter().map(|assignment| file_name(assignment)).collect();
        let name = if assignments.is_empty() { "as-given".to_owned() } else { assignments.join("__") };
        sweep.join(SETTINGS).join(name + ".toml")
    }

    /// Writes the experiment into the directory of a sweep.
    fn create(&self, sweep: &Path) -> Result<()> {
        let directory = sweep.join(SETTINGS);
        create_directory(sweep, &directory)
            .with_context(|| format!("cannot write the directory {}", directory.display()))?;
        durable::write_inside(sweep, &self.file(sweep), self.experiment.as_bytes())
    }

    /// Returns true if the directory of a sweep has no file for this setting. If it has one, checks that it describes
    /// the same experiment: names contain only the last parts of keys, so they may be ambiguous.
    fn is_new(&self, sweep: &Path) -> Result<bool> {
        let file = self.file(sweep);
        let before = match enclosure::read_text(sweep, &file, limit::EXPERIMENT) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            before => before.with_context(|| format!("cannot read {}", file.display()))?,
        };
        let changed =
            config::changed_keys(&before, &self.experiment).with_context(|| file.display().to_string())?;
        let changed: Vec<_> = changed.into_iter().filter(|key| !INCIDENTAL.contains(&key.as_str())).collect();
        ensure!(
            changed.is_empty(),
            "{} contains a sweep with a different {}; choose another --run-dir",
            sweep.display(),
            changed.join(", ")
        );
        Ok(false)
    }
}

/// Creates a directory in the directory of a sweep.
fn create_directory(sweep: &Path, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(sweep)?;
    enclosure::check(sweep, directory)?;
    fs::create_dir_all(directory)
}

/// Returns the warnings that all variants have.
fn notes_of_all<'a>(variants: &'a [Variant<'_>]) -> impl Iterator<Item = &'a String> {
    let first = variants.first().into_iter().flat_map(|variant| &variant.notes);
    first.filter(|note| variants.iter().all(|variant| variant.notes.contains(note)))
}

/// Returns the assignments of a setting, before them that of the game if each game is trained separately.
fn assignments(setting: &Setting, game: Option<&str>) -> Setting {
    game.map(|game| format!("{GAMES}={game}")).into_iter().chain(setting.iter().cloned()).collect()
}

/// Returns the assignments of a setting as one text. Without --vary there are none.
fn label(setting: &Setting) -> String {
    if setting.is_empty() { "as given".to_owned() } else { setting.join(" ") }
}

/// Returns the name of the directory of a run, such as `gamma=0.9__seed=1`.
fn run_name(setting: &Setting, seed: u64) -> String {
    let assignments = setting.iter().map(|assignment| file_name(assignment) + "__");
    format!("{}seed={seed}", assignments.collect::<String>())
}

/// Returns a part of a file name for an assignment, such as `gamma=0.9`.
fn file_name(assignment: &str) -> String {
    let (key, value) = assignment.split_once('=').unwrap_or((assignment, ""));
    let value: String = value
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || "-.".contains(letter) { letter } else { '_' })
        .collect();
    format!("{}={value}", key.rsplit('.').next().unwrap_or(key))
}

/// Prints the games that are trained separately, and the settings, best first.
fn print(args: &SweepArgs, variants: &[Variant<'_>], out: &mut impl Write) -> Result<()> {
    let results = variants.iter().map(|variant| SettingRuns::read(args, variant));
    let results = results.collect::<Result<Vec<_>>>()?;
    if args.games_each.is_empty() { ranking::print(&results, out) } else { game_table::print(&results, out) }
}

/// The completed runs of a setting, or of one of its games.
struct SettingRuns {
    setting: String,
    /// The only game, if each game is trained separately.
    game: Option<&'static str>,
    runs: Vec<RunHistory>,
    /// The number of runs that were ended early.
    pruned: usize,
}

impl SettingRuns {
    fn read(args: &SweepArgs, variant: &Variant<'_>) -> Result<Self> {
        let run_dirs = variant.seeds(args).map(|seed| variant.run_dir(&args.run_dir, seed));
        // Others have no final score, only one of unfinished training.
        let (completed, others): (Vec<_>, Vec<_>) = run_dirs.partition(|run| run.join(COMPLETE).exists());
        let runs = completed.iter().map(|run| RunHistory::read(run)).collect::<Result<_>>()?;
        let pruned = others.iter().filter(|run| run.join(PRUNED).exists()).count();
        Ok(Self { setting: label(variant.setting), game: variant.game, runs, pruned })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_the_given_number_in_parallel_and_stops_at_a_failure() {
        let meeting = std::sync::Barrier::new(3);
        // With fewer than three threads this would block forever.
        run_parallel(3, 0..6, |_| {
            meeting.wait();
            Ok(())
        })
        .unwrap();
        let done = Mutex::new(Vec::new());
        let outcome = run_parallel(1, 0..6, |item| {
            done.lock().unwrap().push(item);
            ensure!(item < 2, "the third fails");
            Ok(())
        });
        assert_eq!(outcome.unwrap_err().to_string(), "the third fails");
        assert_eq!(done.into_inner().unwrap(), [0, 1, 2]);
    }

    #[test]
    fn a_run_is_named_after_its_setting_and_seed() {
        let setting = vec!["ppo.learning_rate=1e-4".to_owned(), "environments.games=pong qbert".to_owned()];
        assert_eq!(run_name(&setting, 3), "learning_rate=1e-4__games=pong_qbert__seed=3");
    }
}
