//! Tests the order of files and flags, and what is written of their result.

use std::fs;

use tempfile::TempDir;
use toml::Value;

use super::{experiment, experiment_by, value};
use crate::config::{changed_keys, from_toml};

#[test]
fn set_overrides_a_file_and_flags_override_both() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("mine.toml");
    fs::write(&file, "[experiment]\nseed = 3\ntotal_frames = 8192\n[ppo]\nnum_steps = 16\ngamma = 0.9\n")
        .unwrap();
    let file = file.to_str().unwrap();
    let changed =
        ["--config", file, "--set", "ppo.num_steps=32", "--set", "experiment.seed=4", "--seed", "5"];
    let experiment = experiment(&changed).unwrap();
    assert_eq!((experiment.run.seed, experiment.algorithm.steps_per_update()), (5, 32));
    assert_eq!(value(&experiment, "ppo.gamma"), Value::Float(0.9));
    // Keys that a file leaves out have their defaults, not the values of a preset.
    assert_eq!(experiment.environments.img_width, 84);
    // The number of steps follows from the frames.
    assert!(format!("{:?}", experiment.algorithm).contains("total_steps: 2048,"));
}

#[test]
fn absent_unsets_optional_keys() {
    let toml =
        |arguments: &[&str]| experiment_by("dqn", arguments).map(|experiment| experiment.to_toml().unwrap());
    let preset = ["--preset", "cartpole-dqn"];
    assert!(toml(&preset).unwrap().contains("\nmax_grad_norm = 10.0\n"));
    let unset = [&preset[..], &["--set", "dqn.max_grad_norm=absent"]].concat();
    assert!(!toml(&unset).unwrap().contains("max_grad_norm"));
    let set_again = [&unset[..], &["--set", "dqn.max_grad_norm=5"]].concat();
    assert!(toml(&set_again).unwrap().contains("\nmax_grad_norm = 5.0\n"));
    // The sizes of this preset follow from the environments.
    let several = ["--games", "pong,breakout", "--set", "environments.game.pong.num_envs=absent"];
    assert!(toml(&several).is_ok());
    let required = experiment_by("dqn", &["--set", "dqn.gamma=absent"]).unwrap_err();
    assert!(required.contains("dqn.gamma = \"absent\" is invalid"), "{required}");
}

#[test]
fn a_written_experiment_reads_back_the_same() {
    let experiment = experiment(&["--set", "ppo.clip_coef=0.2", "--set", "ppo.target_kl=0.01"]).unwrap();
    let text = experiment.to_toml().unwrap();
    assert!(text.contains("clip_coef = 0.2\n"), "{text}");
    assert!(!text.contains("total_steps") && !text.contains("[dqn]") && !text.contains("[replay]"), "{text}");
    let again = from_toml(&text).unwrap().resolve().unwrap();
    assert_eq!(again.to_toml().unwrap(), text);
    assert_eq!(format!("{again:?}"), format!("{experiment:?}"));
}

#[test]
fn only_the_sections_of_the_algorithm_are_kept() {
    let config =
        from_toml("[experiment]\nalgorithm = 'dqn'\n[ppo]\ngamma = 0.5\n[dqn]\ngamma = 0.25\n").unwrap();
    let text = config.resolve().unwrap().to_toml().unwrap();
    assert!(text.contains("[replay]") && text.contains("gamma = 0.25") && !text.contains("[ppo]"), "{text}");
    let error =
        from_toml("[ppo]\ngamma = 'high'\n[experiment]\nalgorithm = 'dqn'\n").unwrap_err().to_string();
    assert!(error.contains("ppo.gamma"), "{error}");
}

#[test]
fn changed_keys_are_named() {
    let ours = experiment(&[]).unwrap().to_toml().unwrap();
    assert!(changed_keys(&ours, &ours).unwrap().is_empty());
    let theirs = ours.replace("\ngamma = 0.99", "\ngamma = 0.9").replace("seed = 1\n", "");
    assert_eq!(changed_keys(&ours, &theirs).unwrap(), ["experiment.seed", "ppo.gamma"]);
    assert!(changed_keys(&ours, "[ppo").is_err());
}
