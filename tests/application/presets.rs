//! Every experiment in `configs/` resolves with its games, and trains on them for an update and an evaluation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::program::{ALE_TRAIN, run, succeed, train};
use crate::python::python_with;

fn presets() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    let mut presets: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    presets.sort();
    presets
}

#[test]
fn every_preset_reads_back_the_same() {
    let temp = TempDir::new().expect("a directory");
    let copy = temp.path().join("copy.toml");
    for preset in presets() {
        let shown = run("config --config").arg(&preset).stdout();
        fs::write(&copy, &shown).expect("a file");
        let again = run("config --config").arg(&copy).stdout();
        assert_eq!(again, shown, "{}", preset.display());
    }
}

/// The algorithms, with settings for a quick update and a metric that it reports.
const SMALL: [(&str, &[&str], &str); 4] = [
    (
        "ppo",
        &[
            "ppo.num_steps=8",
            "ppo.num_minibatches=2",
            "ppo.update_epochs=2",
            "ppo.rnd.num_iterations_obs_norm_init=0",
        ],
        "losses/policy_loss",
    ),
    ("dqn", &["dqn.buffer_size=2000", "dqn.learning_starts=10", "dqn.train_ratio=0.1"], "losses/td_loss"),
    ("pqn", &["pqn.num_steps=8"], "losses/td_loss"),
    ("sac", &["sac.buffer_size=2000", "sac.learning_starts=10", "sac.train_ratio=0.1"], "losses/qf_loss"),
];

/// Returns true unless MuJoCo is missing and tests without a network are requested.
fn has_mujoco() -> bool {
    std::env::var_os(ale::roms::WITHOUT_ROMS).is_none_or(|value| value != "1")
        || mujoco::Installation::locate(None).is_ok_and(|installation| installation.check().is_ok())
}

/// Returns the games of a preset. A set of games, games without ROMs, tasks without MuJoCo and, without `python`,
/// environments in Python are replaced by the built-in game, or by a task with continuous actions.
fn games(preset: &Path, python: Option<&str>) -> String {
    let shown = run("config --config").arg(preset).stdout();
    let experiment: toml::Table = shown.parse().expect("TOML");
    let games = experiment["environments"]["games"].as_array().expect("a list");
    let games: Vec<&str> = games.iter().map(|game| game.as_str().expect("a name")).collect();
    let is_playable = |id: &&str| match ale::game(id) {
        Ok(game) => ale::roms::built_in(game.id).is_some() || ale::roms::for_tests(game.id).is_some(),
        Err(_) if id.starts_with("gymnasium:") => python.is_some(),
        Err(_) if mujoco::Task::ids().any(|task| task == *id) => has_mujoco(),
        Err(_) => *id != "atari57",
    };
    if games.iter().all(is_playable) {
        games.join(",")
    } else if games.iter().any(|id| id.contains("Continuous") || mujoco::Task::ids().any(|task| task == *id))
    {
        "Pendulum-v1".to_owned()
    } else {
        "harvest".to_owned()
    }
}

#[test]
fn every_preset_makes_an_update() {
    let python = python_with("Box2D,minigrid");
    for preset in presets() {
        let temp = TempDir::new().expect("a directory");
        let run = temp.path().join("run");
        let file = preset.to_str().expect("a name");
        let games = games(&preset, python.as_deref());
        let (algorithm, small, metric) = SMALL
            .into_iter()
            .find(|(algorithm, _, _)| file.ends_with(&format!("-{algorithm}.toml")))
            .expect("a preset is named after its algorithm");
        let line = train(&run, algorithm).args(["--config", file, "--games", &games]).settings(small);
        let line = line.words("--num-envs 2 --total-frames 400 --num-threads 1 --quiet");
        let line = match &python {
            Some(python) => line.set("environments.gymnasium.python", format!("{python:?}")),
            None => line,
        };
        line.set("evaluation.episodes", 1).succeed();
        let metrics = fs::read_to_string(run.join("metrics.jsonl")).expect("curves");
        assert!(metrics.contains(metric) && metrics.contains("evaluation/return"), "{file}");
        let provenance = fs::read_to_string(run.join("run.json")).expect("a provenance");
        let provenance: serde_json::Value = serde_json::from_str(&provenance).expect("JSON");
        assert!(
            provenance["commit"].as_str().is_some_and(|commit| commit == "unknown" || commit.len() >= 40)
        );
        if games == "harvest" {
            let md5 = ale::roms::Md5Sum::of(include_bytes!("../../roms/open/harvest.bin")).to_string();
            assert_eq!(provenance["games"][0]["rom_md5"], md5);
        }
    }
}

#[test]
fn scores_and_times_are_those_of_the_recorded_runs() {
    let Some(python) = python_with("json,tomllib") else { return };
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/results");
    succeed(Command::new(&python).arg(results.join("presets.py")).arg("--check"));
    succeed(Command::new(python).arg(results.join("evidence.py")).args(["--check", "--program", ALE_TRAIN]));
}
