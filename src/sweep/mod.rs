//! `ale-train sweep`: one experiment with several values of its keys and several seeds, run after run.
//!
//! Every run is a process of its own. The folder of the sweep says what has been done, so that the same command goes on
//! where it was stopped.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use rand::SeedableRng;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;

use crate::checkpoint;
use crate::cli::{ExperimentArgs, Global, SweepArgs};
use crate::config::{self, RawConfig};
use crate::failure::{AtWork, INTERRUPTED, Interrupted};
use crate::report::{RunHistory, mean};
use crate::table;

/// The experiment that is varied, in the folder of the sweep.
const EXPERIMENT: &str = "experiment.toml";
/// In the folder of a run, once it has come to its end.
const COMPLETE: &str = "complete";

/// Assignments such as `ppo.gamma=0.9`, one for each key that is varied.
type Setting = Vec<String>;

/// Makes every run that is not complete, then prints the table.
pub(crate) fn run(args: &SweepArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let settings = settings(args)?;
    let file = args.run_dir.join(EXPERIMENT);
    check(args, &settings)?;
    prepare(args, &file)?;
    let runs = settings.iter().flat_map(|setting| args.seeds.iter().map(move |&seed| (setting, seed)));
    let total = settings.len() * args.seeds.len();
    for (index, (setting, seed)) in runs.enumerate() {
        let name = name(setting, seed);
        if args.run_dir.join(&name).join(COMPLETE).exists() {
            continue;
        }
        if !global.quiet {
            eprintln!("run {} of {total}: {name}", index + 1);
        }
        train(&args.run_dir, &file, setting, seed, global)?;
    }
    print(&args.run_dir, &settings, &args.seeds, out)
}

/// Every combination of the values, or a random choice of them.
fn settings(args: &SweepArgs) -> Result<Vec<Setting>> {
    let mut settings: Vec<Setting> = vec![Vec::new()];
    for vary in &args.vary {
        let (key, values) = vary.split_once('=').with_context(|| {
            format!("--vary {vary}: expected KEY=VALUE,VALUE, such as ppo.gamma=0.9,0.99")
        })?;
        settings = settings
            .iter()
            .flat_map(|setting| {
                values.split(',').map(move |value| [setting.as_slice(), &[format!("{key}={value}")]].concat())
            })
            .collect();
    }
    if let Some(random) = args.random {
        ensure!(
            (1..=settings.len()).contains(&random),
            "--random {random} is not possible: there are {} combinations",
            settings.len()
        );
        // Always the same ones, so that the sweep can go on.
        let mut chosen = index::sample(&mut ChaCha8Rng::seed_from_u64(0), settings.len(), random).into_vec();
        chosen.sort_unstable();
        settings = chosen.into_iter().map(|index| settings[index].clone()).collect();
    }
    Ok(settings)
}

/// Every run has to be possible before the first one begins.
fn check(args: &SweepArgs, settings: &[Setting]) -> Result<()> {
    for setting in settings {
        let mut experiment: ExperimentArgs = args.experiment.clone();
        experiment.set.extend(setting.iter().cloned());
        config::from_args(&experiment, None)
            .and_then(RawConfig::resolve)
            .with_context(|| format!("the setting {}", setting.join(" ")))?;
    }
    Ok(())
}

/// Puts the experiment into the sweep's folder, or makes sure that it is the one that is there.
fn prepare(args: &SweepArgs, file: &Path) -> Result<()> {
    let experiment = config::from_args(&args.experiment, None)?.resolve()?.to_toml()?;
    if let Ok(before) = fs::read_to_string(file) {
        let changed = config::changed_keys(&before, &experiment)?;
        let folder = args.run_dir.display();
        ensure!(
            changed.is_empty(),
            "{folder} holds a sweep with another {}; choose another --run-dir",
            changed.join(", ")
        );
        return Ok(());
    }
    let write = || fs::create_dir_all(&args.run_dir).and_then(|()| fs::write(file, experiment));
    write().with_context(|| format!("cannot write the folder {}", args.run_dir.display()))
}

/// `gamma=0.9__seed=1`
fn name(setting: &Setting, seed: u64) -> String {
    let last = |assignment: &String| {
        let (key, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        let value: String = value
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() || "-.".contains(letter) { letter } else { '_' })
            .collect();
        format!("{}={value}__", key.rsplit('.').next().unwrap_or(key))
    };
    format!("{}seed={seed}", setting.iter().map(last).collect::<String>())
}

/// The algorithm of a run: that of the sweep, unless it is what is varied.
fn algorithm(file: &Path, setting: &Setting) -> Result<String> {
    if let Some(varied) =
        setting.iter().rev().find_map(|assignment| assignment.strip_prefix("experiment.algorithm="))
    {
        return Ok(varied.to_owned());
    }
    Ok(config::from_toml(&fs::read_to_string(file)?)?.experiment.algorithm.to_string())
}

/// Makes a run, or goes on with it.
fn train(sweep: &Path, file: &Path, setting: &Setting, seed: u64, global: &Global) -> Result<()> {
    let run_dir = sweep.join(name(setting, seed));
    let mut command = Command::new(std::env::current_exe().context("the program does not find itself")?);
    if checkpoint::chosen(&run_dir, false).is_ok() {
        command.arg("resume").arg(&run_dir);
    } else {
        // What was stopped before its first checkpoint has nothing to go on from.
        if run_dir.exists() {
            fs::remove_dir_all(&run_dir).with_context(|| format!("cannot remove {}", run_dir.display()))?;
        }
        command.arg(algorithm(file, setting)?).arg("--config").arg(file).args(["--seed", &seed.to_string()]);
        command.arg("--run-dir").arg(&run_dir);
        for assignment in setting {
            command.args(["--set", assignment]);
        }
    }
    if let Some(rom_dir) = &global.rom_dir {
        command.arg("--rom-dir").arg(rom_dir);
    }
    command.args(global.offline.then_some("--offline")).args(global.quiet.then_some("--quiet"));
    let status = command.stdout(Stdio::null()).status().context("a run does not start")?;
    match status.code() {
        Some(0) => {
            let complete = run_dir.join(COMPLETE);
            fs::write(&complete, "").with_context(|| format!("cannot write {}", complete.display()))
        }
        Some(code) if code == i32::from(INTERRUPTED) => {
            Err(Interrupted { run_dir: run_dir.display().to_string() }.into())
        }
        _ => bail!(AtWork { doing: "a run of the sweep failed; the same command goes on" }),
    }
}

/// The settings, the best first.
fn print(sweep: &Path, settings: &[Setting], seeds: &[u64], out: &mut impl Write) -> Result<()> {
    let mut rows = Vec::new();
    for setting in settings {
        let scores: Vec<f64> = seeds
            .iter()
            .filter_map(|&seed| {
                RunHistory::read(&sweep.join(name(setting, seed))).map(|run| run.score()).transpose()
            })
            .collect::<Result<_>>()?;
        let ends = [f64::min, f64::max].map(|pick| scores.iter().copied().reduce(pick).unwrap_or(f64::NAN));
        rows.push((setting, scores.len(), mean(scores), ends));
    }
    rows.sort_by(|(_, _, a, _), (_, _, b, _)| b.total_cmp(a));
    let cells: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(setting, seeds, mean, [low, high])| {
            let label = if setting.is_empty() { "-".to_owned() } else { setting.join(" ") };
            vec![label, seeds.to_string(), format!("{mean:.3}"), format!("{low:.3}"), format!("{high:.3}")]
        })
        .collect();
    table::print(&["setting", "seeds", "score", "lowest", "highest"], &cells, out)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn args(arguments: &[&str]) -> SweepArgs {
        let line = ["ale-train", "sweep", "--run-dir", "x"].into_iter().chain(arguments.iter().copied());
        let Command::Sweep(args) = Cli::try_parse_from(line).unwrap().command else { unreachable!() };
        args
    }

    #[test]
    fn every_combination_is_a_setting_and_some_can_be_chosen() {
        let vary = ["--vary", "ppo.gamma=0.9,0.99", "--vary", "ppo.num_steps=8,16,32"];
        let all = settings(&args(&vary)).unwrap();
        assert_eq!((all.len(), all[0].join(" ")), (6, "ppo.gamma=0.9 ppo.num_steps=8".to_owned()));
        let some = settings(&args(&[&vary[..], &["--random", "4"]].concat())).unwrap();
        assert!(some.len() == 4 && some.iter().all(|setting| all.contains(setting)));
        assert!(settings(&args(&[&vary[..], &["--random", "7"]].concat())).is_err());
        assert!(settings(&args(&["--vary", "nonsense"])).is_err());
    }

    #[test]
    fn a_run_is_named_by_what_tells_it_apart() {
        let setting = vec!["ppo.learning_rate=1e-4".to_owned(), "environments.games=pong qbert".to_owned()];
        assert_eq!(name(&setting, 3), "learning_rate=1e-4__games=pong_qbert__seed=3");
    }
}
