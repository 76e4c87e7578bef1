//! Keys that an unknown key may stand for: the same name in another section, a name from another library, or a
//! misspelling.

use rl_env::nearest;

/// Names in other libraries, with the names of the keys that have their purpose here. A target with a section is a
/// single key. Values can be copied, except for those of [`OTHER_VALUES`].
const ALIASES: &[(&str, &[&str])] = &[
    // The experiment and its environments.
    ("algo", &["algorithm"]),
    ("random_seed", &["seed"]),
    ("frames", &["total_frames"]),
    ("num_frames", &["total_frames"]),
    ("timesteps", &["total_frames"]),
    ("total_timesteps", &["total_frames"]),
    ("threads", &["num_threads"]),
    ("n_threads", &["num_threads"]),
    ("workers", &["num_threads"]),
    ("num_workers", &["num_threads"]),
    ("env", &["games"]),
    ("env_id", &["games"]),
    ("env_name", &["games"]),
    ("game", &["games"]),
    ("n_envs", &["num_envs"]),
    ("nenvs", &["num_envs"]),
    ("num_environments", &["num_envs"]),
    ("action_repeat", &["frame_skip"]),
    ("frameskip", &["frame_skip"]),
    ("sticky", &["environments.repeat_action_probability"]),
    ("sticky_actions", &["environments.repeat_action_probability"]),
    ("sticky_action_prob", &["environments.repeat_action_probability"]),
    ("image_size", &["img_height", "img_width"]),
    ("screen_size", &["img_height", "img_width"]),
    ("height", &["img_height"]),
    ("width", &["img_width"]),
    ("frame_stack", &["stack_num"]),
    ("n_stack", &["stack_num"]),
    ("num_stack", &["stack_num"]),
    ("max_noops", &["noop_max"]),
    ("fire_reset", &["use_fire_reset"]),
    ("terminal_on_life_loss", &["episodic_life"]),
    ("clip_reward", &["reward_clipping"]),
    ("clip_rewards", &["reward_clipping"]),
    ("max_episode_frames", &["max_num_frames_per_episode"]),
    ("max_episode_steps", &["max_num_frames_per_episode"]),
    // The network.
    ("backbone", &["torso"]),
    ("encoder", &["torso"]),
    ("hidden", &["hidden_size"]),
    ("hidden_dim", &["hidden_size"]),
    ("hidden_units", &["hidden_size"]),
    ("lstm_hidden_size", &["lstm"]),
    ("lstm_size", &["lstm"]),
    ("rnn_size", &["lstm"]),
    ("use_lstm", &["lstm"]),
    ("use_layer_norm", &["layer_norm"]),
    ("norm_obs", &["normalize_observations"]),
    ("normalize_obs", &["normalize_observations"]),
    ("popart", &["value_scale"]),
    ("dtype", &["precision"]),
    // Optimisers and returns.
    ("lr", &["learning_rate", "policy_lr", "q_lr"]),
    ("step_size", &["learning_rate", "policy_lr", "q_lr"]),
    ("learning_rate", &["policy_lr", "q_lr"]),
    ("actor_lr", &["policy_lr"]),
    ("critic_lr", &["q_lr"]),
    ("lr_decay", &["anneal_lr"]),
    ("lr_schedule", &["anneal_lr"]),
    ("clip_grad_norm", &["max_grad_norm"]),
    ("grad_clip", &["max_grad_norm"]),
    ("grad_norm_clip", &["max_grad_norm"]),
    ("adam_eps", &["adam_epsilon"]),
    ("discount", &["gamma"]),
    ("discount_factor", &["gamma"]),
    ("gae_lambda", &["q_lambda"]),
    ("lam", &["gae_lambda", "q_lambda"]),
    ("lambda", &["gae_lambda", "q_lambda"]),
    // Rollouts and PPO.
    ("n_step", &["num_steps"]),
    ("n_steps", &["num_steps", "n_step"]),
    ("horizon", &["num_steps"]),
    ("rollout_length", &["num_steps"]),
    ("batch_size", &["num_minibatches"]),
    ("minibatch_size", &["num_minibatches", "batch_size"]),
    ("n_minibatches", &["num_minibatches"]),
    ("epochs", &["update_epochs"]),
    ("n_epochs", &["update_epochs"]),
    ("num_epochs", &["update_epochs"]),
    ("clip", &["clip_coef"]),
    ("clip_eps", &["clip_coef"]),
    ("clip_param", &["clip_coef"]),
    ("clip_range", &["clip_coef"]),
    ("clip_ratio", &["clip_coef"]),
    ("clip_range_vf", &["clip_vloss"]),
    ("entropy_coef", &["ent_coef"]),
    ("entropy_coeff", &["ent_coef"]),
    ("value_coef", &["vf_coef"]),
    ("value_loss_coef", &["vf_coef"]),
    ("norm_advantage", &["norm_adv"]),
    ("normalize_advantage", &["norm_adv"]),
    ("normalize_advantages", &["norm_adv"]),
    // Exploration, replay and targets.
    ("epsilon_start", &["start_e"]),
    ("eps_start", &["start_e"]),
    ("exploration_initial_eps", &["start_e"]),
    ("initial_epsilon", &["start_e"]),
    ("epsilon_end", &["end_e"]),
    ("eps_end", &["end_e"]),
    ("exploration_final_eps", &["end_e"]),
    ("final_epsilon", &["end_e"]),
    ("epsilon_decay", &["exploration_fraction"]),
    ("epsilon_eval", &["eval_epsilon"]),
    ("memory_size", &["buffer_size"]),
    ("replay_capacity", &["buffer_size"]),
    ("replay_size", &["buffer_size"]),
    ("min_replay_history", &["learning_starts"]),
    ("start_steps", &["learning_starts"]),
    ("warmup_steps", &["learning_starts"]),
    ("gradient_steps", &["train_ratio"]),
    ("replay_ratio", &["train_ratio"]),
    ("train_freq", &["train_ratio"]),
    ("train_frequency", &["train_ratio"]),
    ("polyak", &["tau"]),
    ("target_update_freq", &["target_network_frequency"]),
    ("target_update_interval", &["target_network_frequency"]),
    ("target_update_period", &["target_network_frequency"]),
    // Extensions of DQN, and SAC.
    ("num_steps", &["n_step"]),
    ("multi_step", &["n_step"]),
    ("double_q", &["double"]),
    ("noisy_nets", &["noisy"]),
    ("per", &["prioritized"]),
    ("prioritized_replay", &["prioritized"]),
    ("atoms", &["num_atoms"]),
    ("n_atoms", &["num_atoms"]),
    ("n_quantiles", &["num_atoms"]),
    ("ent_coef", &["alpha"]),
    ("temperature", &["alpha"]),
    ("policy_delay", &["policy_frequency"]),
    // Evaluations and checkpoints.
    ("eval_episodes", &["evaluation.episodes"]),
    ("n_eval_episodes", &["evaluation.episodes"]),
    ("eval_freq", &["evaluation.interval_frames"]),
    ("eval_interval", &["evaluation.interval_frames"]),
    ("save_freq", &["checkpoints.interval_frames"]),
    ("save_interval", &["checkpoints.interval_frames"]),
];

/// The aliases, with the names of their keys, whose values have another unit or another type there.
const OTHER_VALUES: &[(&str, &str)] = &[
    ("timesteps", "total_frames"),
    ("total_timesteps", "total_frames"),
    ("sticky", "repeat_action_probability"),
    ("sticky_actions", "repeat_action_probability"),
    ("max_episode_steps", "max_num_frames_per_episode"),
    ("use_lstm", "lstm"),
    ("popart", "value_scale"),
    ("lr_decay", "anneal_lr"),
    ("lr_schedule", "anneal_lr"),
    ("batch_size", "num_minibatches"),
    ("minibatch_size", "num_minibatches"),
    ("clip_range_vf", "clip_vloss"),
    ("epsilon_decay", "exploration_fraction"),
    ("gradient_steps", "train_ratio"),
    ("train_freq", "train_ratio"),
    ("train_frequency", "train_ratio"),
    ("eval_freq", "interval_frames"),
    ("eval_interval", "interval_frames"),
    ("save_freq", "interval_frames"),
    ("save_interval", "interval_frames"),
];

/// Returns true if a value of `written`, the name of a key or of an alias, is also a value of `key`.
pub(super) fn has_values_of(written: &str, key: &str) -> bool {
    !OTHER_VALUES.contains(&(parts(written).1, parts(key).1))
}

/// Returns the keys that `key` means: those of the same name in other sections, or of its meaning in other libraries.
/// Keys of its section come first.
pub(super) fn synonyms<'a>(key: &str, known: &'a [String]) -> Vec<&'a str> {
    let (section, name) = parts(key);
    let targets = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(&[][..], |(_, targets)| targets);
    let is_meant = |known: &str| targets.iter().any(|target| *target == known || *target == parts(known).1);
    let section = section_like(section, known);
    let is_in_section = |known: &str| section.is_some_and(|section| parts(known).0 == section);
    let has_name = |known: &str| parts(known).1 == name;
    first_fulfilled(
        &[&|key| is_in_section(key) && (has_name(key) || is_meant(key)), &has_name, &is_meant],
        known,
    )
}

/// Returns the keys that `key` may be a misspelling of: those with a similar name, in its section if there are any.
pub(super) fn similar<'a>(key: &str, known: &'a [String]) -> Vec<&'a str> {
    let (section, name) = parts(key);
    let mut names: Vec<&str> = known.iter().map(|key| parts(key).1).collect();
    names.sort_unstable();
    names.dedup();
    let near = nearest(name, names);
    let section = section_like(section, known);
    let is_in_section = |key: &str| section.is_some_and(|section| parts(key).0 == section);
    let is_best = |key: &str| near.first() == Some(&parts(key).1);
    first_fulfilled(
        &[
            &|key| is_in_section(key) && is_best(key),
            &|key| is_in_section(key) && near.contains(&parts(key).1),
            &is_best,
        ],
        known,
    )
}

/// Returns the keys that fulfil the first of the conditions that any key fulfils.
fn first_fulfilled<'a>(conditions: &[&dyn Fn(&str) -> bool], known: &'a [String]) -> Vec<&'a str> {
    for condition in conditions {
        let keys: Vec<&str> = known.iter().map(String::as_str).filter(|key| condition(key)).collect();
        if !keys.is_empty() {
            return keys;
        }
    }
    Vec::new()
}

/// Returns the section that `written` is, or may be a misspelling of.
fn section_like<'a>(written: &str, known: &'a [String]) -> Option<&'a str> {
    let sections = || known.iter().map(|key| parts(key).0);
    sections().find(|section| *section == written).or_else(|| nearest(written, sections()).first().copied())
}

/// Splits a key into its section, which may be empty, and its name.
fn parts(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::schema::keys_with_help;
    use super::*;

    #[test]
    fn every_alias_is_listed_once_and_stands_for_keys() {
        let known: Vec<String> = keys_with_help().into_iter().map(|(key, _)| key).collect();
        let aliases: BTreeSet<&str> = ALIASES.iter().map(|(alias, _)| *alias).collect();
        assert_eq!(aliases.len(), ALIASES.len(), "an alias is repeated");
        for (alias, targets) in ALIASES {
            for target in *targets {
                let is_meant = |key: &String| key == target || parts(key).1 == *target;
                assert!(known.iter().any(is_meant), "{alias} stands for {target}, which is no key");
                let section = known.iter().find(|key| is_meant(key)).map(|key| parts(key).0).unwrap();
                assert!(!synonyms(&format!("{section}.{alias}"), &known).is_empty(), "{alias}");
            }
        }
    }

    #[test]
    fn every_alias_with_other_values_is_an_alias() {
        for (alias, key) in OTHER_VALUES {
            let targets = ALIASES.iter().find(|(name, _)| name == alias).map(|(_, targets)| *targets);
            let is_meant = |target: &&str| parts(target).1 == *key;
            assert!(targets.is_some_and(|targets| targets.iter().any(is_meant)), "{alias}, {key}");
            assert!(!has_values_of(alias, key));
        }
        assert!(has_values_of("minibatch_size", "dqn.batch_size"));
        assert!(!has_values_of("ppo.minibatch_size", "ppo.num_minibatches"));
    }

    #[test]
    fn keys_of_the_section_come_before_closer_names_elsewhere() {
        let known = ["ppo.clip_coef", "ppo.num_steps", "dqn.n_step", "other.lr"].map(str::to_owned);
        assert_eq!(synonyms("ppo.n_steps", &known), ["ppo.num_steps"]);
        assert_eq!(synonyms("dqn.n_steps", &known), ["dqn.n_step"]);
        assert_eq!(synonyms("n_steps", &known), ["ppo.num_steps", "dqn.n_step"]);
        assert_eq!(similar("ppo.clip_cof", &known), ["ppo.clip_coef"]);
        assert_eq!(similar("pp.nun_steps", &known), ["ppo.num_steps"]);
        assert!(synonyms("ppo.xyzzy", &known).is_empty() && similar("ppo.xyzzy", &known).is_empty());
    }
}
