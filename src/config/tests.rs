//! Tests the path from flags and files to experiments.

use std::fs;

use tempfile::TempDir;
use toml::Value;

use super::schema::{Keys, keys};
use super::{Config, Experiment, changed_keys, from_args, from_preset, from_toml, presets, values};
use crate::cli::{self, Command};

/// Returns the experiment of `ale-train ppo ARGUMENTS`, or the error.
fn experiment(arguments: &[&str]) -> Result<Experiment, String> {
    experiment_by("ppo", arguments)
}

fn experiment_by(algorithm: &str, arguments: &[&str]) -> Result<Experiment, String> {
    let line = ["ale-train", algorithm].into_iter().chain(arguments.iter().copied());
    let Command::Train(command) = cli::parse(line).expect("flags that exist").command else {
        unreachable!("{algorithm} is a training command")
    };
    from_args(&command.args.experiment, Some(command.algorithm))
        .and_then(Config::resolve)
        .map_err(|error| format!("{error:#}"))
}

/// Returns the value of a key of an experiment.
fn value(experiment: &Experiment, key: &str) -> Value {
    values(&experiment.to_toml().unwrap()).unwrap().remove(key).expect(key)
}

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
    let chosen = |arguments: &[&str]| {
        let line = ["ale-train", "config"].into_iter().chain(arguments.iter().copied());
        let Command::Config(args) = cli::parse(line).unwrap().command else { unreachable!() };
        from_args(&args.experiment, None)
    };
    let rainbow = chosen(&["--preset", "rainbow-dqn"]).unwrap();
    assert_eq!(rainbow.sections.run.algorithm.name(), "dqn");
    let other = chosen(&["--preset", "rainbow-dqn", "--set", "experiment.algorithm=ppo"]).unwrap_err();
    assert!(other.to_string().contains("rainbow-dqn is a preset of dqn"), "{other}");
    let sentence = chosen(&["--games", "atari57"]).unwrap().preset.unwrap().sentence();
    assert!(sentence.starts_with("preset many-ppo, chosen for 57 games"), "{sentence}");
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
    let sizes = |arguments: &[&str]| {
        let experiment = experiment(&[&["--games", "pong,breakout"], arguments].concat()).unwrap();
        (experiment.num_envs(), experiment.algorithm.steps_per_update(), experiment.total_frames())
    };
    assert_eq!(sizes(&[]), (32, 128, 12_000_000));
    assert_eq!(sizes(&["--total-frames", "50000"]), (32, 128, 50_000));
    assert_eq!(sizes(&["--num-envs", "60", "--set", "ppo.num_steps=20"]), (120, 20, 12_000_000));
    assert_eq!(sizes(&["--set", "environments.game.pong.num_envs=100"]), (116, 32, 12_000_000));
}

#[test]
fn the_atari_preset_is_the_default() {
    let toml = |text| from_toml(text).unwrap().resolve().unwrap().to_toml().unwrap();
    assert_eq!(toml(include_str!("../../configs/atari-ppo.toml")), toml(""));
}

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
fn keys_of_the_emulation_have_no_effect_for_other_tasks() {
    let warnings = |games, sets: &[&str]| {
        let sets = sets.iter().flat_map(|&set| ["--set", set]);
        let arguments: Vec<_> = ["--games", games].into_iter().chain(sets).collect();
        experiment(&arguments)
            .unwrap()
            .warnings()
            .into_iter()
            .filter(|line| line.contains("no effect"))
            .collect::<Vec<_>>()
    };
    let keys =
        ["environments.frame_skip=2", "environments.stack_num=2", "environments.reward_clipping=false"];
    assert_eq!(
        warnings("CartPole-v1", &keys),
        [
            "environments.frame_skip has no effect: only Atari games are emulated",
            "environments.stack_num, environments.reward_clipping have no effect: only Atari games are emulated"
        ]
    );
    assert_eq!(
        warnings("CartPole-v1", &["evaluation.repeat_action_probability=0.25"]),
        ["evaluation.repeat_action_probability has no effect: only Atari games are emulated"]
    );
    assert!(warnings("CartPole-v1", &["environments.num_envs=2"]).is_empty());
    assert!(warnings("harvest", &keys).is_empty());
}

#[test]
fn absent_unsets_optional_keys() {
    let toml = |arguments: &[&str]| experiment_by("dqn", arguments).map(|found| found.to_toml().unwrap());
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
fn norm_adv_is_a_name_or_a_boolean() {
    for (written, name) in [("game", "game"), ("true", "batch"), ("false", "none"), ("none", "none")] {
        let set = format!("ppo.norm_adv={written}");
        assert_eq!(
            value(&experiment(&["--set", &set]).unwrap(), "ppo.norm_adv"),
            Value::String(name.to_owned())
        );
    }
}

#[test]
fn errors_name_the_key_and_the_allowed_values() {
    let error = |set| experiment(&["--set", set]).unwrap_err();
    assert!(error("ppo.lerning_rate=1").contains("did you mean 'ppo.learning_rate'?"));
    let gammas = "did you mean 'ppo.gamma' or 'dqn.gamma' or 'pqn.gamma' or 'sac.gamma'?";
    assert!(error("gamma=0.9").contains(gammas));
    assert!(
        error("\"ppo.gamma\"=0.9")
            .contains("unknown key '\"ppo.gamma\"'; write it without quotes: ppo.gamma")
    );
    assert!(error("policy.torsos=impala").contains("did you mean 'policy.torso'?"));
    assert!(
        error("policy.torso=resnet")
            .ends_with("policy.torso = \"resnet\" is invalid: it must be nature, impala or data_efficient")
    );
    assert!(
        error("ppo.norm_adv=games")
            .ends_with("it must be batch, game, none, true or false; did you mean game?")
    );
    assert!(error("policy.width=0").contains("policy.width = 0 is invalid: it must be above 0"));
    assert!(error("ppo.gae_lambda=1.1").contains("ppo.gae_lambda = 1.1 is invalid: it must be in 0..=1"));
    assert!(error("ppo.total_steps=9").contains("experiment.total_frames"));
    assert!(
        error("xyz.qrstuvw=9")
            .contains("the sections are experiment, environments, policy, ppo, dqn, replay")
    );
    assert!(error("nonsense").contains("expected KEY=VALUE"));
    let wrong_type = error("ppo.gamma=high");
    assert!(wrong_type.contains("ppo.gamma") && wrong_type.contains("high"), "{wrong_type}");
    assert!(error("environments.games=pogn").contains("did you mean pong?"));
    assert!(error("environments.repeat_action_probability=2").contains("it must be in 0..=1"));
    assert!(error("environments.num_envs=0").contains("it must be in 1..=65536"));
    assert!(
        error("checkpoints.keep_last=0")
            .contains("checkpoints.keep_last = 0 is invalid: it must be 1 or more")
    );
    let short = experiment(&["--games", "breakout", "--total-frames", "100"]).unwrap_err();
    assert!(short.contains("one update takes 4096 frames"), "{short}");
}

#[test]
fn single_games_have_overrides() {
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

    let error = |set: &str| self::experiment(&["--games", "pong,qbert", "--set", set]).unwrap_err();
    for (set, expected) in [
        (
            "environments.game.pogn.mode=0",
            "'pogn' is not among the games of the experiment; did you mean pong?",
        ),
        ("environments.game.pong.mod=0", "did you mean 'environments.game.pong.mode'?"),
        (
            "environments.game.pong.mode=7",
            "environments.game.pong.mode = 7 is invalid: it must be one of [0, 1]",
        ),
        ("environments.game.pong.difficulty=9", "difficulty = 9 is invalid: it must be one of [0, 1, 2, 3]"),
        (
            "environments.game.pong.num_envs=0",
            "environments.game.pong.num_envs = 0 is invalid: it must be in 1..=65536",
        ),
        (
            "evaluation.repeat_action_probability=2",
            "evaluation.repeat_action_probability = 2 is invalid: it must be in 0..=1",
        ),
    ] {
        let error = error(set);
        assert!(error.contains(expected), "{set}: {error}");
    }
    let classic = ["--games", "CartPole-v1", "--set", "environments.game.CartPole-v1.mode=1"];
    let error = self::experiment(&classic).unwrap_err();
    assert!(error.contains("mode is not possible: CartPole-v1 is not emulated"), "{error}");
}

#[test]
fn errors_in_a_file_name_the_file() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("mine.toml");
    let path = file.to_str().unwrap();
    for (text, expected) in [
        ("[ppo]\ngama = 0.9\n", "did you mean 'ppo.gamma'?"),
        ("[ppo]\ngamma = 'high'\n", "ppo.gamma = \"high\" is invalid: it must be a number in 0..=1"),
        ("[ppo\n", "line 1"),
    ] {
        fs::write(&file, text).unwrap();
        let error = experiment(&["--config", path]).unwrap_err();
        assert!(error.starts_with(path) && error.contains(expected), "{error}");
    }
}

#[test]
fn changed_keys_are_named() {
    let ours = experiment(&[]).unwrap().to_toml().unwrap();
    assert!(changed_keys(&ours, &ours).unwrap().is_empty());
    let theirs = ours.replace("gamma = 0.99", "gamma = 0.9").replace("seed = 1\n", "");
    assert_eq!(changed_keys(&ours, &theirs).unwrap(), ["experiment.seed", "ppo.gamma"]);
    assert!(changed_keys(&ours, "[ppo").is_err());
}

/// Asserts that a message does not mention Rust types.
pub(crate) fn assert_without_types(message: &str) {
    let types = [
        "usize",
        "u64",
        "u32",
        "i64",
        "i128",
        "f32",
        "f64",
        "bool",
        "struct",
        "enum",
        "variant",
        "Option",
        "String",
        "str",
        "Vec",
        "invalid digit",
        "invalid type",
        "literal",
        "integer",
        "sequence",
        "map",
        "target type",
    ];
    let has = |name: &&str| {
        let mut parts = message.match_indices(*name);
        parts.any(|(at, _)| {
            let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
            !is_letter(message[..at].chars().next_back())
                && !is_letter(message[at + name.len()..].chars().next())
        })
    };
    let found = types.iter().find(|name| has(name));
    assert!(found.is_none(), "{} in: {message}", found.unwrap_or(&""));
}

#[test]
fn values_of_the_wrong_kind_are_explained_for_every_key() {
    let values = [
        "-1",
        "1.5",
        "'x'",
        "''",
        "true",
        "[]",
        "[1]",
        "['a', 2]",
        "{}",
        "{ a = 1 }",
        "1979-05-27",
        "nan",
        "inf",
        "9223372036854775807",
        "1e300",
        "'1e300'",
    ];
    let (mut refused, mut read) = (0, 0);
    for Keys { section, fields, .. } in keys() {
        let section = section.replace("NAME", "harvest");
        for (key, field) in fields.iter().map(|field| (format!("{section}.{}", field.name), field)) {
            for value in values {
                let message = match from_toml(&format!("{key} = {value}")) {
                    Ok(_) => {
                        read += 1;
                        continue;
                    }
                    Err(error) => format!("{error:#}"),
                };
                refused += 1;
                assert!(message.contains(&key), "{message}");
                assert!(message.contains("it must be ") || message.starts_with("unknown key"), "{message}");
                let kind = field.allowed();
                // Precisions have the names of types, such as `f32`.
                assert_without_types(&message.replace(&kind, ""));
                let is_of_the_kind = ["-1", "9223372036854775807", "1e300", "'1e300'"].contains(&value);
                assert!(
                    is_of_the_kind || message.contains(&kind) || message.starts_with("unknown"),
                    "{message}"
                );
            }
        }
        for wrong in ["5", "'x'", "[]", "[[]]"] {
            let message = format!("{:#}", from_toml(&format!("{section} = {wrong}")).unwrap_err());
            assert!(message.contains("is a section with keys such as"), "{message}");
            assert_without_types(&message);
        }
    }
    assert!(refused > 500 && read > 100, "{refused} refused, {read} read");
}

#[test]
fn accepts_whole_numbers_with_separators_exponents_and_suffixes() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("mine.toml");
    fs::write(&file, "[experiment]\ntotal_frames = 1e7\nseed = '1_000'\n[ppo]\nnum_steps = '0.1k'\n")
        .unwrap();
    let config = ["--config", file.to_str().unwrap()];
    let sets = ["--set", "environments.num_envs=1e1", "--set", "checkpoints.interval_frames=10M"];
    let experiment = experiment(&[config, [sets[0], sets[1]], [sets[2], sets[3]]].concat()).unwrap();
    assert_eq!((experiment.run.total_frames, experiment.run.seed), (10_000_000, 1_000));
    assert_eq!((experiment.num_envs(), experiment.checkpoints.interval_frames), (10, 10_000_000));
    assert_eq!(value(&experiment, "ppo.num_steps"), Value::Integer(100));
    let error = |set| self::experiment(&["--set", set]).unwrap_err();
    assert!(error("experiment.seed=18446744073709551615").ends_with("it must be in 0..=9223372036854775807"));
    assert!(error("experiment.seed=-1").ends_with("experiment.seed = -1 is invalid: it must be 0 or more"));
    assert!(error("ppo.num_steps=1.5").ends_with("it must be a whole number in 2..=1000000"));
    assert!(error("environments.noop_max=5G").ends_with("it must be in 0..=108000"));
    // Numbers that are not valid TOML.
    assert_eq!(value(&self::experiment(&["--set", "ppo.gamma=.5"]).unwrap(), "ppo.gamma"), Value::Float(0.5));
}
