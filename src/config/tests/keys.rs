//! Tests suggestions for unknown keys, and settings without effect.

use super::{experiment, with_sets};
use crate::config::from_toml;

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
fn an_error_names_several_wrong_keys() {
    let error =
        from_toml("[ppo]\nlr = 1e-4\nn_epochs = 3\n[environments]\nnum_envs = 8\n").unwrap_err().to_string();
    assert_eq!(
        error,
        "several keys are wrong:\n  unknown key 'ppo.lr'; did you mean 'ppo.learning_rate'?\n  \
         unknown key 'ppo.n_epochs'; did you mean 'ppo.update_epochs'?"
    );
    let many = (0..100_000).map(|index| format!("x{index} = 1\n")).collect::<Vec<_>>().concat();
    let started = std::time::Instant::now();
    assert_eq!(from_toml(&format!("[ppo]\n{many}")).unwrap_err().to_string().lines().count(), 11);
    assert!(started.elapsed().as_secs() < 60, "only the named keys are compared with all others");
}

#[test]
fn unknown_sections_suggest_a_section() {
    let error = |text| from_toml(text).unwrap_err().to_string();
    assert_eq!(error("[ppoo]\n"), "unknown section [ppoo]; did you mean [ppo]?");
    assert_eq!(error("[enviroments]\n"), "unknown section [enviroments]; did you mean [environments]?");
    assert!(error("[xyzzy]\n").starts_with("unknown key 'xyzzy'; the sections are experiment, "));
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
