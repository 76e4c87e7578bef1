//! Tests the path from flags and files to experiments.

use std::fs;

use algorithms::networks::Bf16Arithmetic;
use tempfile::TempDir;
use toml::Value;

use super::schema::{Keys, keys};
use super::{Config, Experiment, changed_keys, from_layers, from_preset, from_toml, presets, values};
use crate::cli::{self, Command};
use crate::telemetry::Moment;

/// Returns the experiment of `ale-train ppo ARGUMENTS`, or the error.
fn experiment(arguments: &[&str]) -> Result<Experiment, String> {
    experiment_by("ppo", arguments)
}

fn experiment_by(algorithm: &str, arguments: &[&str]) -> Result<Experiment, String> {
    let line = ["ale-train", algorithm].into_iter().chain(arguments.iter().copied());
    let Command::Train(command) = cli::parse(line).expect("flags that exist").command else {
        unreachable!("{algorithm} is a training command")
    };
    from_layers(&command.args.experiment.layers(), Some(command.algorithm))
        .and_then(Config::resolve)
        .map_err(|error| format!("{error:#}"))
}

/// Returns the configuration that `ale-train config ARGUMENTS` prints.
fn config(arguments: &[&str]) -> anyhow::Result<Config> {
    let line = ["ale-train", "config"].into_iter().chain(arguments.iter().copied());
    let Command::Config(args) = cli::parse(line).unwrap().command else { unreachable!() };
    from_layers(&args.experiment.layers(), None)
}

/// Returns `first`, followed by `--set` and each of `sets`.
fn with_sets<'a>(first: &[&'a str], sets: &[&'a str]) -> Vec<&'a str> {
    first.iter().copied().chain(sets.iter().flat_map(|&set| ["--set", set])).collect()
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
    let rainbow = config(&["--preset", "rainbow-dqn"]).unwrap();
    assert_eq!(rainbow.sections.run.algorithm.name(), "dqn");
    let other = config(&["--preset", "rainbow-dqn", "--set", "experiment.algorithm=ppo"]).unwrap_err();
    assert!(other.to_string().contains("rainbow-dqn is a preset of dqn"), "{other}");
    let sentence = config(&["--games", "atari57"]).unwrap().preset.unwrap().sentence();
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
fn a_run_is_done_only_when_its_training_is_complete() {
    // Updates of 8 environments and 32 steps.
    let sizes = ["--num-envs", "8", "--set", "ppo.num_steps=32", "--total-frames", "1000"];
    let requested = experiment(&[&["--games", "CartPole-v1"], &sizes[..]].concat()).unwrap();
    assert_eq!(requested.final_frames(), 768);
    for (updates, percent) in [(0, 0), (1, 33), (2, 66), (3, 100)] {
        let steps = updates * 256;
        let reached = Moment { updates, steps, frames: steps, seconds: 1.0 };
        assert_eq!(requested.percent_done(&reached), percent, "{updates} updates");
    }
    // The last update is not yet done.
    let before = Moment { updates: 2, steps: 768, frames: 768, seconds: 1.0 };
    assert_eq!(requested.percent_done(&before), 99);
    // A game that rests: 100 frames of one and, in three updates of 32 rounds, 4 * 96 of the other.
    let budget = "environments.game.CartPole-v1.total_frames=100";
    let games = ["--games", "CartPole-v1,Acrobot-v1", "--num-envs", "4", "--total-frames", "500"];
    let limited = [&games[..], &["--set", "ppo.num_steps=32", "--set", budget]].concat();
    assert_eq!(experiment(&limited).unwrap().final_frames(), 484);
    let dqn = experiment_by("dqn", &["--games", "CartPole-v1", "--total-frames", "1000"]).unwrap();
    assert_eq!(dqn.final_frames(), 1000);
    // The last step of three environments exceeds the total.
    assert_eq!(dqn.percent_done(&Moment { steps: 1002, frames: 1002, ..Moment::default() }), 100);
    assert_eq!(dqn.percent_done(&Moment { steps: 999, frames: 999, ..Moment::default() }), 99);
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

/// Returns the warnings about settings without effect.
fn effect_warnings(games: &str, sets: &[&str]) -> Vec<String> {
    let experiment = experiment(&with_sets(&["--games", games], sets)).unwrap();
    experiment.warnings().into_iter().filter(|line| line.contains("no effect")).collect()
}

#[test]
fn keys_of_the_emulation_have_no_effect_for_other_tasks() {
    let keys =
        ["environments.frame_skip=2", "environments.stack_num=2", "environments.reward_clipping=false"];
    assert_eq!(
        effect_warnings("CartPole-v1", &keys),
        [
            "environments.frame_skip has no effect: only Atari games are emulated",
            "environments.stack_num, environments.reward_clipping have no effect: only Atari games are emulated"
        ]
    );
    assert_eq!(
        effect_warnings("CartPole-v1", &["evaluation.repeat_action_probability=0.25"]),
        ["evaluation.repeat_action_probability has no effect: only Atari games are emulated"]
    );
    assert!(effect_warnings("CartPole-v1", &["environments.num_envs=2"]).is_empty());
    assert!(effect_warnings("harvest", &keys).is_empty());
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
    assert!(error("policy.torso=resnet").ends_with(
        "policy.torso = \"resnet\" is invalid: it must be nature, impala, data_efficient or small"
    ));
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
fn unknown_keys_suggest_keys_of_their_section_or_with_their_meaning() {
    for (written, expected) in [
        // Misspellings in the section that was written.
        ("ppo.lerning_rate", "did you mean 'ppo.learning_rate'?"),
        ("dqn.gama", "did you mean 'dqn.gamma'?"),
        ("sac.gama", "did you mean 'sac.gamma'?"),
        ("ppo.norm_advantage", "did you mean 'ppo.norm_adv'?"),
        ("environments.mode", "did you mean 'environments.game.NAME.mode'?"),
        ("environments.difficulty", "did you mean 'environments.game.NAME.difficulty'?"),
        ("mode", "did you mean 'environments.game.NAME.mode'?"),
        ("environments.num_env", "did you mean 'environments.num_envs'?"),
        ("enviroments.num_envs", "did you mean 'environments.num_envs'?"),
        ("env.noop", "did you mean 'environments.noop_max'?"),
        ("evaluation.interval_frame", "did you mean 'evaluation.interval_frames'?"),
        ("checkpoint.interval_frames", "did you mean 'checkpoints.interval_frames'?"),
        // Names in other libraries.
        ("ppo.lr", "did you mean 'ppo.learning_rate'?"),
        ("pqn.lr", "did you mean 'pqn.learning_rate'?"),
        ("sac.lr", "did you mean 'sac.policy_lr' or 'sac.q_lr'?"),
        ("sac.learning_rate", "did you mean 'sac.policy_lr' or 'sac.q_lr'?"),
        ("ppo.n_steps", "did you mean 'ppo.num_steps'?"),
        ("dqn.n_steps", "did you mean 'dqn.n_step'?"),
        ("ppo.batch_size", "did you mean 'ppo.num_minibatches'?"),
        ("dqn.minibatch_size", "did you mean 'dqn.batch_size'?"),
        ("ppo.n_epochs", "did you mean 'ppo.update_epochs'?"),
        ("ppo.clip_range", "did you mean 'ppo.clip_coef'?"),
        ("ppo.entropy_coef", "did you mean 'ppo.ent_coef'?"),
        ("ppo.value_coef", "did you mean 'ppo.vf_coef'?"),
        ("ppo.discount", "did you mean 'ppo.gamma'?"),
        ("pqn.gae_lambda", "did you mean 'pqn.q_lambda'?"),
        ("ppo.lambda", "did you mean 'ppo.gae_lambda'?"),
        ("dqn.target_update_interval", "did you mean 'dqn.target_network_frequency'?"),
        ("dqn.exploration_final_eps", "did you mean 'dqn.end_e'?"),
        ("sac.ent_coef", "did you mean 'sac.alpha'?"),
        ("policy.hidden_dim", "did you mean 'policy.hidden_size'?"),
        ("environments.frameskip", "did you mean 'environments.frame_skip'?"),
        ("environments.frame_stack", "did you mean 'environments.stack_num'?"),
        ("environments.width", "did you mean 'environments.img_width'?"),
        ("environments.sticky_actions", "did you mean 'environments.repeat_action_probability'?"),
        (
            "lr",
            "did you mean 'ppo.learning_rate' or 'dqn.learning_rate' or 'pqn.learning_rate' or 'sac.policy_lr' or",
        ),
        ("n_envs", "did you mean 'environments.num_envs'?"),
        // Names of other sections.
        ("ppo.num_envs", "did you mean 'environments.num_envs'?"),
        ("ppo.total_timesteps", "did you mean 'experiment.total_frames'?"),
        ("ppo.lstm", "did you mean 'policy.lstm'?"),
        ("experiment.games", "did you mean 'environments.games'?"),
        ("ppo.num_thread", "did you mean 'experiment.num_threads'?"),
        ("ppo.buffer_size", "did you mean 'dqn.buffer_size' or 'sac.buffer_size'?"),
        // Sections of games.
        ("environments.game.pong.mod", "did you mean 'environments.game.pong.mode'?"),
        ("environments.game.pong.n_envs", "did you mean 'environments.game.pong.num_envs'?"),
        ("environments.game.pong.timesteps", "did you mean 'environments.game.pong.total_frames'?"),
        ("game.pong.mode", "did you mean 'environments.game.pong.mode'?"),
        ("environments.pong.mode", "did you mean 'environments.game.pong.mode'?"),
        ("pong.dificulty", "did you mean 'environments.game.pong.difficulty'?"),
        // Nothing is similar.
        ("ppo.xyzzy", "the keys of this section are num_steps, learning_rate, anneal_lr, gamma,"),
        ("xyzzy.lorem", "the sections are experiment, environments, policy,"),
        (
            "experiment.preset",
            "write `preset = \"NAME\"` before the first section of a file, or use --preset",
        ),
        ("preset", "write `preset = \"NAME\"` before the first section of a file, or use --preset"),
    ] {
        let by_flag = experiment(&["--set", &format!("{written}=1")]).unwrap_err();
        assert!(by_flag.contains(&format!("unknown key '{written}'; ")), "{by_flag}");
        assert!(by_flag.contains(expected), "{by_flag}");
        let (section, name) = written.rsplit_once('.').unwrap_or(("", written));
        if !section.is_empty() {
            let in_file = from_toml(&format!("[{section}]\n{name} = 1\n")).unwrap_err().to_string();
            assert!(by_flag.ends_with(&in_file), "{in_file}");
        }
    }
}

#[test]
fn keys_that_cannot_differ_between_games_are_named() {
    for (written, expected) in [
        ("environments.game.breakout.frame_skip", "'environments.frame_skip' cannot differ between games"),
        ("game.breakout.frame_skip", "'environments.frame_skip' cannot differ between games"),
        ("breakout.frameskip", "'environments.frame_skip' cannot differ between games"),
        (
            "environments.game.breakout.reward_clip",
            "'environments.reward_clipping' cannot differ between games",
        ),
        (
            "environments.game.breakout.gamma",
            "'ppo.gamma' and 'dqn.gamma' and 'pqn.gamma' and 'sac.gamma' cannot differ between games",
        ),
        ("environments.game.breakout.seed", "'experiment.seed' cannot differ between games"),
    ] {
        let error = experiment(&["--games", "breakout", "--set", &format!("{written}=1")]).unwrap_err();
        let allowed = "only num_envs, total_frames, mode, difficulty, max_num_frames_per_episode can";
        assert!(error.ends_with(&format!("{written} is not possible: {expected}; {allowed}")), "{error}");
    }
}

#[test]
fn unknown_sections_suggest_a_section() {
    let error = |text| from_toml(text).unwrap_err().to_string();
    assert_eq!(error("[ppoo]\n"), "unknown section [ppoo]; did you mean [ppo]?");
    assert_eq!(error("[enviroments]\n"), "unknown section [enviroments]; did you mean [environments]?");
    assert!(error("[xyzzy]\n").starts_with("unknown key 'xyzzy'; the sections are experiment, "));
}

#[test]
fn games_that_a_flag_leaves_out_lose_their_overrides_in_a_file() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("six.toml");
    let path = file.to_str().unwrap();
    let text = "[environments]\ngames = ['pong', 'breakout', 'qbert']\n\
                [environments.game.pong]\nnum_envs = 3\n\
                [environments.game.'ALE/Breakout-v5']\nmode = 12\n[environments.game.qbert]\nnum_envs = 5\n";
    fs::write(&file, text).unwrap();
    let narrowed = |flags: &[&str]| experiment(&[&["--config", path], flags].concat());
    let notes = |flags: &[&str]| narrowed(flags).unwrap().notes;
    assert_eq!(notes(&[]), Vec::<String>::new());
    assert_eq!(notes(&["--games", "qbert,breakout,pong"]), Vec::<String>::new());
    let cause = "because other games are selected";
    let left_out = |games| format!("{path}: its overrides for {games} have no effect, {cause}");
    let one = narrowed(&["--games", "pong,boxing"]).unwrap();
    assert_eq!(one.notes, [left_out("breakout, qbert")]);
    assert_eq!((one.num_envs(), one.environments.game.len()), (3 + 8, 1));
    // The written experiment has no trace of them.
    assert_eq!(from_toml(&one.to_toml().unwrap()).unwrap().resolve().unwrap().notes, Vec::<String>::new());
    assert_eq!(notes(&["--set", "environments.games=breakout"]), [left_out("pong, qbert")]);
    assert_eq!(notes(&["--games", "atari57,-qbert"]), [left_out("qbert")]);
    // Flags that contradict each other are a mistake.
    let error = narrowed(&["--games", "pong", "--set", "environments.game.qbert.mode=0"]).unwrap_err();
    assert!(error.contains("'qbert' is not among the games of the experiment"), "{error}");

    // A misspelt game of the file remains an error, whatever the flags select.
    fs::write(&file, text.replace("[environments.game.qbert]", "[environments.game.qbrt]")).unwrap();
    for flags in [&[][..], &["--games", "pong"], &["--games", "qbert"]] {
        let error = narrowed(flags).unwrap_err();
        let expected = "environments.game.qbrt is not possible: 'qbrt' is not among the games of the experiment; \
                        did you mean qbert?";
        assert!(error.ends_with(expected), "{error}");
    }
    // A file that names no games is for any games.
    fs::write(&file, "[environments.game.pong]\nnum_envs = 3\n[environments.game.qbert]\nnum_envs = 5\n")
        .unwrap();
    assert_eq!(notes(&["--games", "pong,boxing"]), [left_out("qbert")]);
    fs::write(&file, "[environments.game.pong]\nnum_envs = 3\n[environments.game.qbrt]\nnum_envs = 5\n")
        .unwrap();
    assert!(narrowed(&["--games", "pong,qbert"]).unwrap_err().ends_with("did you mean qbert?"));
}

/// Returns the games for which a file and `sets` override settings.
fn overridden_games(path: &str, sets: &[&str]) -> Result<Vec<String>, String> {
    let experiment = experiment(&with_sets(&["--config", path], sets))?;
    Ok(experiment.environments.game.into_keys().collect())
}

#[test]
fn absent_removes_the_overrides_for_a_game() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("mine.toml");
    let text = "[environments]\ngames = ['pong', 'qbert']\n\
                [environments.game.'ALE/Pong-v5']\nnum_envs = 3\nmode = 1\n[environments.game.qbert]\nnum_envs = 5\n";
    fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let games = |sets: &[&str]| overridden_games(path, sets);
    assert_eq!(games(&[]).unwrap(), ["pong", "qbert"]);
    assert_eq!(games(&["environments.game.pong=absent"]).unwrap(), ["qbert"]);
    assert_eq!(games(&["environments.game.'ALE/Pong-v5'=absent"]).unwrap(), ["qbert"]);
    assert_eq!(games(&["environments.game=absent"]).unwrap(), Vec::<String>::new());
    assert_eq!(games(&["environments.game.boxing=absent"]).unwrap(), ["pong", "qbert"]);
    // Later assignments set keys of the removed section again.
    let again = ["environments.game.pong=absent", "environments.game.pong.num_envs=2"];
    let arguments = ["--config", path, "--set", again[0], "--set", again[1]];
    let pong = experiment(&arguments).unwrap().environments.game.remove("pong").unwrap();
    assert_eq!((pong.num_envs, pong.mode), (Some(2), None));
    let narrow = ["environments.games=qbert", "environments.game.pong=absent"];
    assert_eq!(games(&narrow).unwrap(), ["qbert"]);
    for (set, expected) in [
        ("environments.game.pogn=absent", "unknown game or set 'pogn'; did you mean pong?"),
        ("environments.game.pong=5", "environments.game.pong = 5 is not possible: it is a section with keys"),
        (
            "policy=absent",
            "policy = \"absent\" is not possible: it is a section with keys such as policy.torso",
        ),
    ] {
        let error = games(&[set]).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

/// Writes a configuration to a file. Returns the experiment that the file and the flags describe.
fn experiment_with_file(
    path: &str,
    text: &str,
    algorithm: &str,
    flags: &[&str],
) -> Result<Experiment, String> {
    fs::write(path, text).unwrap();
    experiment_by(algorithm, &[&["--config", path], flags].concat())
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
        ("preset = \"mny-ppo\"\n", "ppo", "unknown preset 'mny-ppo'; did you mean many-ppo?"),
        ("preset = \"many-ppo\"\n", "dqn", "preset = many-ppo requires `ale-train ppo`, not `ale-train dqn`"),
        ("preset = 3\n", "ppo", "preset = 3 is invalid: it must be the name of a preset in quotes"),
    ] {
        let error = with_file(text, algorithm, &[]).unwrap_err();
        assert!(error.starts_with(path) && error.ends_with(expected), "{error}");
    }
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
    for name in types {
        assert!(!contains_word(message, name), "{name} in: {message}");
    }
}

/// Returns true if `word` is in `text`, not as a part of a longer one.
fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let (before, after) = (&text[..start], &text[start + word.len()..]);
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
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

/// Returns the arithmetic that a new run keeps, and whether it does not use the requested precision.
fn settled_arithmetic(text: &str) -> (Option<Bf16Arithmetic>, bool) {
    let mut experiment = from_toml(text).unwrap().resolve().unwrap();
    crate::train::processes::settle_bf16_arithmetic(&mut experiment).unwrap();
    (experiment.policy.bf16_arithmetic, experiment.unused_precision().is_some())
}

#[test]
fn new_runs_on_the_cpu_keep_the_arithmetic_of_their_16_bit_products() {
    let here = Bf16Arithmetic::here();
    assert_eq!(settled_arithmetic(""), (None, false));
    assert_eq!(settled_arithmetic("policy.precision = 'bf16'"), (Some(here), false));
    for &chosen in Bf16Arithmetic::ALL {
        let text = format!("policy.precision = 'bf16'\npolicy.bf16_arithmetic = '{}'", chosen.name());
        assert_eq!(settled_arithmetic(&text), (Some(chosen), false));
    }
    assert_eq!(settled_arithmetic("policy.precision = 'bf16'\nexperiment.device = 'cuda'"), (None, false));
    // A run in 32 bits whose precision is changed later.
    let changed = from_toml("policy.precision = 'bf16'").unwrap().resolve().unwrap();
    let warning = changed.unused_precision().unwrap();
    assert!(warning.ends_with(&format!("add --set policy.bf16_arithmetic={}", here.name())), "{warning}");
}

/// Returns the least divisor of returns that a new run keeps.
fn settled_floor(text: &str) -> Option<f64> {
    let mut experiment = from_toml(text).unwrap().resolve().unwrap();
    experiment.settle_popart_floor();
    experiment.policy.popart_floor
}

#[test]
fn new_runs_with_clipped_rewards_divide_returns_by_at_least_1() {
    let popart = |keys: &str| format!("policy.value_scale = 'popart'\n{keys}");
    assert_eq!(settled_floor(&popart("")), Some(1.0));
    assert_eq!(settled_floor(&popart("policy.popart_floor = 0.25")), Some(0.25));
    assert_eq!(settled_floor(&popart("environments.reward_clipping = false")), None);
    assert_eq!(settled_floor(&popart("environments.games = ['CartPole-v1']")), None);
    assert_eq!(settled_floor(""), None);
}
