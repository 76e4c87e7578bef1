//! From flags and files to experiments.

use std::fs;

use algorithms::ppo::NormAdv;
use clap::Parser;
use tempfile::TempDir;

use super::{Algorithm, Experiment, RawConfig, changed_keys, from_args, from_toml};
use crate::cli::{Cli, Command};

/// The experiment that `ale-train ppo ARGUMENTS` asks for, or the complaint.
fn experiment(arguments: &[&str]) -> Result<Experiment, String> {
    experiment_by(Algorithm::Ppo, arguments)
}

/// The same for another algorithm, whose command takes the same arguments.
fn experiment_by(algorithm: Algorithm, arguments: &[&str]) -> Result<Experiment, String> {
    let line = ["ale-train", "ppo"].into_iter().chain(arguments.iter().copied());
    let Command::Ppo(args) = Cli::try_parse_from(line).expect("flags that exist").command else {
        unreachable!("the command is ppo")
    };
    from_args(&args.experiment, Some(algorithm))
        .and_then(RawConfig::resolve)
        .map_err(|error| format!("{error:#}"))
}

#[test]
fn the_games_choose_the_preset() {
    let open = experiment(&[]).unwrap();
    assert_eq!((open.games.names(), open.environments.img_width), (vec!["harvest"], 44));
    let pong = experiment(&["--games", "pong"]).unwrap();
    assert_eq!((pong.games.names(), pong.environments.img_width), (vec!["pong"], 84));
    let pole = experiment(&["--games", "CartPole-v1"]).unwrap();
    assert_eq!((pole.frames_per_step(), pole.environments.num_envs), (1, 8));
    let acrobot = experiment(&["--games", "Acrobot-v1"]).unwrap();
    assert_eq!((acrobot.games.names(), acrobot.environments.num_envs), (vec!["Acrobot-v1"], 16));
    let car = |algorithm| experiment_by(algorithm, &["--games", "MountainCar-v0"]).unwrap().environments;
    assert_eq!([Algorithm::Dqn, Algorithm::Ppo].map(|algorithm| car(algorithm).num_envs), [1, 8]);
    assert!(car(Algorithm::Dqn).rescale_observations && !car(Algorithm::Ppo).rescale_observations);
    assert_eq!(experiment(&["--games", "classic"]).unwrap().num_envs(), 24);
    assert_eq!(experiment(&["--games", "atari57,-skiing"]).unwrap().num_envs(), 448);
    // Also where they are named by `--set`.
    let several = experiment(&["--set", "environments.games=pong,harvest"]).unwrap();
    assert_eq!((several.num_envs(), several.environments.img_width), (16, 84));
}

#[test]
fn the_atari_preset_is_the_default() {
    let raw = from_toml(include_str!("../../configs/atari-ppo.toml")).unwrap();
    assert_eq!(raw, RawConfig::default());
}

#[test]
fn a_file_then_set_then_flags() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("mine.toml");
    fs::write(&file, "[experiment]\nseed = 3\ntotal_frames = 8192\n[ppo]\nnum_steps = 16\ngamma = 0.9\n")
        .unwrap();
    let file = file.to_str().unwrap();
    let changed =
        ["--config", file, "--set", "ppo.num_steps=32", "--set", "experiment.seed=4", "--seed", "5"];
    let experiment = experiment(&changed).unwrap();
    assert_eq!((experiment.seed, experiment.ppo.num_steps, experiment.ppo.gamma), (5, 32, 0.9));
    // The budget follows from the frames; what the file leaves out is the default, not a preset.
    assert_eq!((experiment.ppo.total_steps, experiment.environments.img_width), (2048, 84));
}

#[test]
fn a_run_reads_its_own_configuration_back() {
    let experiment = experiment(&["--set", "ppo.clip_coef=0.2", "--set", "ppo.target_kl=0.01"]).unwrap();
    let text = experiment.to_toml().unwrap();
    assert!(text.contains("clip_coef = 0.2\n"), "{text}");
    let again = from_toml(&text).unwrap().resolve().unwrap();
    assert_eq!(again.to_toml().unwrap(), text);
    assert_eq!(again.ppo, experiment.ppo);
}

#[test]
fn advantages_are_normalised_by_name_or_by_the_switch_of_old() {
    for (written, meant) in
        [("game", NormAdv::Game), ("true", NormAdv::Batch), ("false", NormAdv::None), ("none", NormAdv::None)]
    {
        let set = format!("ppo.norm_adv={written}");
        assert_eq!(experiment(&["--set", &set]).unwrap().ppo.norm_adv, meant);
    }
}

#[test]
fn complaints_name_the_key_and_what_was_allowed() {
    let complaint = |set| experiment(&["--set", set]).unwrap_err();
    assert!(complaint("ppo.lerning_rate=1").contains("did you mean 'ppo.learning_rate'?"));
    assert!(complaint("gamma=0.9").contains("did you mean 'ppo.gamma'?"));
    assert!(complaint("policy.torsos=impala").contains("did you mean 'policy.torso'?"));
    assert!(complaint("policy.torso=resnet").contains("expected `nature` or `impala`"));
    assert!(complaint("ppo.norm_adv=games").contains("`batch`, `game`, `none`"));
    assert!(
        complaint("policy.width=0").contains("policy.width = 0 is not possible: it must be a number above 0")
    );
    assert!(complaint("ppo.total_steps=9").contains("experiment.total_frames"));
    assert!(complaint("nonsense").contains("expected KEY=VALUE"));
    let wrong_type = complaint("ppo.gamma=high");
    assert!(wrong_type.contains("ppo.gamma") && wrong_type.contains("high"), "{wrong_type}");
    assert!(complaint("environments.games=pogn").contains("did you mean pong?"));
    assert!(complaint("environments.repeat_action_probability=2").contains("it must be in 0..=1"));
    assert!(complaint("environments.num_envs=0").contains("it must be 1 or more"));
    let short = experiment(&["--games", "pong", "--total-frames", "100"]).unwrap_err();
    assert!(short.contains("one update takes 4096 frames"), "{short}");
}

#[test]
fn single_games_have_settings_of_their_own() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("mine.toml");
    let text = "[environments]\ngames = ['pong', 'qbert']\n\
                [environments.game.pong]\nnum_envs = 3\nmode = 1\ndifficulty = 1\nmax_num_frames_per_episode = 400\n";
    fs::write(&file, text).unwrap();
    let config = ["--config", file.to_str().unwrap()];
    let experiment = experiment(&config).unwrap();
    assert_eq!(experiment.num_envs(), 3 + 8);
    let again = from_toml(&experiment.to_toml().unwrap()).unwrap().resolve().unwrap();
    assert_eq!(again.environments, experiment.environments);
    assert_eq!(again.environments.game["pong"].difficulty, Some(1));

    let complaint = |set: &str| self::experiment(&["--games", "pong,qbert", "--set", set]).unwrap_err();
    for (set, expected) in [
        (
            "environments.game.pogn.mode=0",
            "'pogn' is not among the games of the experiment; did you mean pong?",
        ),
        ("environments.game.pong.mod=0", "did you mean 'environments.game.pong.mode'?"),
        ("environments.game.pong.mode=7", "environments.game.pong.mode = 7 is not possible: pong has [0, 1]"),
        ("environments.game.pong.difficulty=9", "difficulty = 9 is not possible: pong has [0, 1, 2, 3]"),
        (
            "environments.game.pong.num_envs=0",
            "environments.game.pong.num_envs = 0 is not possible: it must be 1 or more",
        ),
        (
            "evaluation.repeat_action_probability=2",
            "evaluation.repeat_action_probability = 2 is not possible",
        ),
    ] {
        let complaint = complaint(set);
        assert!(complaint.contains(expected), "{set}: {complaint}");
    }
    let classic = ["--games", "CartPole-v1", "--set", "environments.game.CartPole-v1.mode=1"];
    let complaint = self::experiment(&classic).unwrap_err();
    assert!(complaint.contains("CartPole-v1 has []"), "{complaint}");
}

#[test]
fn a_mistake_in_a_file_is_told_with_the_file() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("mine.toml");
    let path = file.to_str().unwrap();
    for (text, expected) in [
        ("[ppo]\ngama = 0.9\n", "did you mean 'ppo.gamma'?"),
        ("[ppo]\ngamma = 'high'\n", "invalid type"),
        ("[ppo\n", "line 1"),
    ] {
        fs::write(&file, text).unwrap();
        let complaint = experiment(&["--config", path]).unwrap_err();
        assert!(complaint.starts_with(path) && complaint.contains(expected), "{complaint}");
    }
}

#[test]
fn changes_to_a_configuration_are_named() {
    let ours = experiment(&[]).unwrap().to_toml().unwrap();
    assert!(changed_keys(&ours, &ours).unwrap().is_empty());
    let theirs = ours.replace("gamma = 0.99", "gamma = 0.9").replace("seed = 1\n", "");
    assert_eq!(changed_keys(&ours, &theirs).unwrap(), ["experiment.seed", "ppo.gamma"]);
    assert!(changed_keys(&ours, "[ppo").is_err());
}
