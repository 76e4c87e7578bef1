//! Tests which preset an experiment has, and what depends on it.

use tempfile::TempDir;

use super::{config, experiment, experiment_by, experiment_with_file};
use crate::config::{from_preset, from_toml, presets};

#[test]
fn the_games_select_the_preset() {
    let open = experiment(&[]).unwrap();
    assert_eq!((open.games.names(), open.environments.img_width), (vec!["harvest"], 44));
    let pong = experiment(&["--games", "pong"]).unwrap();
    assert_eq!((pong.games.names(), pong.environments.img_width), (vec!["pong"], 44));
    let breakout = experiment(&["--games", "breakout"]).unwrap();
    assert_eq!((breakout.games.names(), breakout.environments.img_width), (vec!["breakout"], 84));
    let pole = experiment(&["--games", "CartPole-v1"]).unwrap();
    assert_eq!((pole.frames_per_step(), pole.environments.num_envs), (1, 8));
    let acrobot = experiment(&["--games", "Acrobot-v1"]).unwrap();
    assert_eq!((acrobot.games.names(), acrobot.environments.num_envs), (vec!["Acrobot-v1"], 16));
    let car = |algorithm| experiment_by(algorithm, &["--games", "MountainCar-v0"]).unwrap().environments;
    assert_eq!(["dqn", "ppo"].map(|algorithm| car(algorithm).num_envs), [1, 8]);
    assert!(car("dqn").rescale_observations && !car("ppo").rescale_observations);
    assert_eq!(experiment(&["--games", "classic"]).unwrap().num_envs(), 24);
    assert_eq!(experiment(&["--games", "atari57,-skiing"]).unwrap().num_envs(), 112);
    // --set selects a preset too.
    let several = experiment(&["--set", "environments.games=pong,harvest"]).unwrap();
    assert_eq!((several.num_envs(), several.environments.img_width), (32, 44));
}

#[test]
fn a_preset_is_requested_by_name() {
    let machado = experiment(&["--preset", "machado-ppo"]).unwrap();
    assert_eq!((machado.games.names(), machado.frames_per_step()), (vec!["seaquest"], 5));
    let large = experiment(&["--preset", "atari", "--games", "pong"]).unwrap();
    assert_eq!((large.games.names(), large.environments.img_width), (vec!["pong"], 84));
    let error = experiment(&["--preset", "pong-dqn"]).unwrap_err();
    assert!(error.contains("use `ale-train dqn --preset pong-dqn`"), "{error}");
    let rainbow = config(&["--preset", "rainbow-dqn"]).unwrap();
    assert_eq!(rainbow.sections.run.algorithm.name(), "dqn");
    let other = config(&["--preset", "rainbow-dqn", "--set", "experiment.algorithm=ppo"]).unwrap_err();
    assert!(other.to_string().contains("rainbow-dqn is a preset of dqn"), "{other}");
    let sentence = config(&["--games", "atari57"]).unwrap().preset.unwrap().sentence();
    assert!(sentence.starts_with("preset many-ppo, chosen for 57 games"), "{sentence}");
}

#[test]
fn the_atari_preset_is_the_default() {
    let toml = |text| from_toml(text).unwrap().resolve().unwrap().to_toml().unwrap();
    assert_eq!(toml(include_str!("../../../configs/atari-ppo.toml")), toml(""));
}

#[test]
fn sizes_of_a_preset_for_several_games_are_those_of_its_file() {
    for preset in presets().iter().filter(|preset| preset.about.by_games.is_some()) {
        let file = from_toml(preset.text).unwrap().resolve().unwrap().to_toml().unwrap();
        assert_eq!(
            from_preset(preset).unwrap().resolve().unwrap().to_toml().unwrap(),
            file,
            "{}",
            preset.name
        );
    }
}

#[test]
fn keys_of_the_user_override_sizes_for_the_number_of_games() {
    for (arguments, num_envs, steps_per_update, total_frames) in [
        (&[][..], 32, 128, 12_000_000),
        (&["--total-frames", "50000"], 32, 128, 50_000),
        (&["--num-envs", "60", "--set", "ppo.num_steps=20"], 120, 20, 12_000_000),
        (&["--set", "environments.game.pong.num_envs=100"], 116, 32, 12_000_000),
    ] {
        let experiment = experiment(&[&["--games", "pong,breakout"], arguments].concat()).unwrap();
        assert_eq!(experiment.num_envs(), num_envs, "{arguments:?}");
        assert_eq!(experiment.algorithm.steps_per_update(), steps_per_update, "{arguments:?}");
        assert_eq!(experiment.total_frames(), total_frames, "{arguments:?}");
    }
}

#[test]
fn a_file_may_start_from_a_preset() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("mine.toml");
    let path = file.to_str().unwrap();
    let with_file = |text, algorithm, flags| experiment_with_file(path, text, algorithm, flags);
    let text = "preset = \"many-ppo\"\n[environments]\ngames = ['pong', 'qbert']\n[ppo]\ngamma = 0.9\n";
    let of_file = with_file(text, "ppo", &["--seed", "3"]).unwrap().to_toml().unwrap();
    let by_flags = ["--preset", "many-ppo", "--games", "pong,qbert", "--set", "ppo.gamma=0.9", "--seed", "3"];
    assert_eq!(of_file, experiment(&by_flags).unwrap().to_toml().unwrap());
    // The name may omit the algorithm of the command, and the sizes adapt to the games of the flags.
    let short = text.replace("many-ppo", "many");
    let five = with_file(&short, "ppo", &["--games", "atari5"]).unwrap().to_toml().unwrap();
    let by_flags = ["--preset", "many", "--games", "atari5", "--set", "ppo.gamma=0.9"];
    assert_eq!(five, experiment(&by_flags).unwrap().to_toml().unwrap());
    let empty = with_file("preset = \"cartpole-dqn\"\n", "dqn", &[]).unwrap().to_toml().unwrap();
    assert_eq!(empty, experiment_by("dqn", &["--preset", "cartpole-dqn"]).unwrap().to_toml().unwrap());
    for (text, algorithm, expected) in [
        ("preset = \"manny-ppo\"\n", "ppo", "unknown preset 'manny-ppo'; did you mean many-ppo?"),
        ("preset = \"many-ppo\"\n", "dqn", "preset = many-ppo requires `ale-train ppo`, not `ale-train dqn`"),
        ("preset = 3\n", "ppo", "preset = 3 is invalid: it must be the name of a preset in quotes"),
    ] {
        let error = with_file(text, algorithm, &[]).unwrap_err();
        assert!(error.starts_with(path) && error.ends_with(expected), "{error}");
    }
}
