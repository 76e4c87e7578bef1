//! Every key of an experiment: the page `docs/src/reference/configuration.md`, and what a misspelt key is compared with.

use std::fmt::Write;

use toml::{Table, Value};

use super::raw::RawConfig;

/// One key.
pub(super) struct Key {
    /// With its section, such as `ppo.gamma`.
    pub(super) name: &'static str,
    kind: Kind,
    /// What it may be.
    range: &'static str,
    meaning: &'static str,
}

/// What a value is in TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integer,
    Float,
    Switch,
    Text,
    Names,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Float => "float",
            Self::Switch => "true or false",
            Self::Text => "text",
            Self::Names => "list of names",
        }
    }
}

const fn key(name: &'static str, kind: Kind, range: &'static str, meaning: &'static str) -> Key {
    Key { name, kind, range, meaning }
}

/// The sections, in their order, with what they are about.
const SECTIONS: [(&str, &str); 10] = [
    ("experiment", "What is made of the whole run."),
    ("environments", "What is played, and how it is shown to the learner."),
    (
        "environments.game.NAME",
        "What a single game has of its own, such as `[environments.game.pong]`. What is absent is as in `[environments]`. \
         The part of `experiment.total_frames` that a game gets is that of its environments, until it has used up a \
         `total_frames` of its own: the run is over when one or the other is used up, for all games.",
    ),
    ("policy", "What the agent's network looks like, whatever it learns by."),
    ("ppo", "Proximal Policy Optimization, by the names of the papers."),
    ("dqn", "DQN and what was added to it, up to Rainbow, by the names of the papers."),
    ("pqn", "The parallelised Q-network, by the names of the papers."),
    ("replay", "Where DQN's replay is kept."),
    (
        "evaluation",
        "Whole games without learning, in environments of their own: on the way, and at the end beside a random player.",
    ),
    ("checkpoints", "When the run is saved, and what is kept."),
];

/// Every key, section after section.
pub(super) const KEYS: &[Key] = {
    use Kind::{Float, Integer, Names, Switch, Text};
    &[
        key("experiment.algorithm", Text, "ppo, dqn or pqn", "How the agent learns"),
        key("experiment.seed", Integer, "0 or more", "Seed of everything random"),
        key(
            "experiment.total_frames",
            Integer,
            "at least one update",
            "Emulated frames to train for, over all environments",
        ),
        key(
            "experiment.num_threads",
            Integer,
            "0 or more",
            "Threads that emulate and learn; 0 is one for each core",
        ),
        key(
            "experiment.device",
            Text,
            "cpu, wgpu, vulkan, cuda, cuda:1, ..",
            "What the networks run on; all but cpu take a program that was built for it (docs/src/how-to/devices.md)",
        ),
        key(
            "environments.games",
            Names,
            "ids and sets; `ale-train games`",
            "What is played; a name with `-` before it takes games out again. Also one text with commas",
        ),
        key("environments.num_envs", Integer, "1 or more", "Environments of each game"),
        key("environments.frame_skip", Integer, "1 or more", "Emulated frames of a step"),
        key(
            "environments.repeat_action_probability",
            Float,
            "0 to 1",
            "How likely a frame repeats the action before (sticky actions)",
        ),
        key(
            "environments.img_height",
            Integer,
            "36 or more",
            "Rows of an observation. The network's convolutions see 36 and every eight more (44, .., 84) whole; of a size \
             between these they leave out the last rows",
        ),
        key(
            "environments.img_width",
            Integer,
            "36 or more",
            "Columns of an observation; the same holds for them",
        ),
        key("environments.stack_num", Integer, "1 or more", "Pictures in an observation, the newest last"),
        key("environments.maxpool", Switch, "", "Whether a picture is the maximum of the last two frames"),
        key(
            "environments.noop_max",
            Integer,
            "0 or more",
            "Most frames that an episode begins with doing nothing",
        ),
        key(
            "environments.use_fire_reset",
            Switch,
            "",
            "Whether an episode begins with the fire button, where the game has one",
        ),
        key(
            "environments.episodic_life",
            Switch,
            "",
            "Whether the loss of a life ends the return that is learned, while the game goes on",
        ),
        key("environments.reward_clipping", Switch, "", "Whether learners see rewards clipped to -1 to 1"),
        key(
            "environments.full_action_space",
            Switch,
            "",
            "Whether all 18 actions are offered, not only those that do something in the game",
        ),
        key(
            "environments.max_num_frames_per_episode",
            Integer,
            "1 or more",
            "Frames after which an episode is cut off",
        ),
        key(
            "environments.rescale_observations",
            Switch,
            "",
            "Whether the numbers that classic control observes are brought to -1 to 1, those that have bounds; pictures \
             always come to 0 to 1",
        ),
        key(
            "environments.halves",
            Switch,
            "",
            "Whether two halves of the environments take turns: one steps while the actions of the other are chosen. Changes \
             nothing in what is learned; not for dqn",
        ),
        key("environments.game.NAME.num_envs", Integer, "1 or more", "Environments of the game"),
        key(
            "environments.game.NAME.total_frames",
            Integer,
            "a step of each of its environments, or more",
            "Most emulated frames that the game is trained on, over all its environments. Then their episodes are cut off and \
             they rest, while the other games go on",
        ),
        key(
            "environments.game.NAME.mode",
            Integer,
            "`ale-train games --json`",
            "The game's mode; absent for its own default",
        ),
        key(
            "environments.game.NAME.difficulty",
            Integer,
            "`ale-train games --json`",
            "The difficulty switches; absent for the game's own default",
        ),
        key(
            "environments.game.NAME.max_num_frames_per_episode",
            Integer,
            "1 or more",
            "Frames after which an episode is cut off",
        ),
        key(
            "policy.torso",
            Text,
            "nature or impala",
            "The convolutions that see pictures: three (Mnih et al. 2015), or fifteen in residual blocks (Espeholt et al. 2018)",
        ),
        key("policy.width", Float, "more than 0", "The factor of the convolutions' channels"),
        key(
            "policy.layer_norm",
            Switch,
            "true, false or absent",
            "Whether every layer is normalised before its rectifier; absent, PQN does and the others do not",
        ),
        key(
            "policy.head",
            Text,
            "per_game or shared",
            "Whether each game has a head of its own, or all have one over the 18 actions, with those masked that a game \
             does not have. Values of PPO are each game's own in both cases",
        ),
        key(
            "policy.game_embedding",
            Integer,
            "0 or more; 0 for none",
            "Learned numbers of each game that the last hidden layer reads beside the features",
        ),
        key(
            "policy.hidden_size",
            Integer,
            "1 or more, or absent",
            "Width of the last hidden layer; absent, 512 behind `nature`, 256 behind `impala`, and behind vectors 64 for PPO \
             and 128 for DQN and PQN, there of both layers",
        ),
        key(
            "policy.lstm",
            Integer,
            "0 or more; 0 for none; PPO alone",
            "Numbers that the network remembers from step to step, by long short-term memory behind the last hidden layer. \
             Minibatches are whole environments then: at least as many of these as `ppo.num_minibatches`",
        ),
        key(
            "policy.value_scale",
            Text,
            "none, popart, h or symlog",
            "The scale that values are learned in, so that rewards need not be clipped (`environments.reward_clipping`): as they \
             are; by mean and deviation of each game's returns (PopArt, van Hasselt et al. 2016, Hessel et al. 2018; for action \
             values with heads of each game and without c51); by the h of Pohlen et al. 2018; by a logarithm on both sides of 0",
        ),
        key(
            "policy.popart_beta",
            Float,
            "above 0 to 1",
            "How much of a game's mean and deviation an update renews where `value_scale` is `popart`; the first updates count alike",
        ),
        key(
            "policy.precision",
            Text,
            "f32, bf16 or f16; f32 on the CPU",
            "The numbers that layers behind pictures calculate with on a device; parameters, normalisations, heads and losses keep 32 \
             bits. wgpu and vulkan have f16, cuda has both",
        ),
        key("ppo.num_steps", Integer, "2 or more", "Steps of each environment between two updates"),
        key("ppo.learning_rate", Float, "more than 0", "The optimiser's step size at the beginning"),
        key(
            "ppo.anneal_lr",
            Switch,
            "",
            "Whether the learning rate falls on a straight line to 0 in the course of training",
        ),
        key("ppo.gamma", Float, "0 to 1", "The discount of rewards from step to step"),
        key(
            "ppo.gae_lambda",
            Float,
            "0 to 1",
            "How far advantages look ahead: from 0 (one step) to 1 (the whole rollout)",
        ),
        key(
            "ppo.num_minibatches",
            Integer,
            "1 to the rollout's steps",
            "Parts that a rollout is split into, each one step of the optimiser",
        ),
        key("ppo.update_epochs", Integer, "1 or more", "How often each rollout is learned from"),
        key(
            "ppo.norm_adv",
            Text,
            "batch, game or none",
            "Among what advantages are normalised: those of each minibatch, those of each game in a rollout, or not at all. \
             `true` is `batch`, `false` is `none`",
        ),
        key(
            "ppo.clip_coef",
            Float,
            "more than 0",
            "How far the probability of an action may move before its gradient ends, as a part of it; also how far \
             values may move",
        ),
        key("ppo.clip_vloss", Switch, "", "Whether the value loss is clipped as well"),
        key("ppo.ent_coef", Float, "0 or more", "The weight of the entropy bonus"),
        key("ppo.vf_coef", Float, "0 or more", "The weight of the value loss"),
        key(
            "ppo.max_grad_norm",
            Float,
            "more than 0",
            "The length to which the gradient of all parameters together is clipped",
        ),
        key(
            "ppo.target_kl",
            Float,
            "more than 0, or absent",
            "Ends an update after the epoch that moved the policy further than this (approximate KL divergence)",
        ),
        key("dqn.learning_rate", Float, "more than 0", "The optimiser's step size"),
        key("dqn.adam_epsilon", Float, "more than 0", "What Adam adds to the root of its second moment"),
        key(
            "dqn.buffer_size",
            Integer,
            "batch_size or more",
            "Steps that the replay holds, over all environments; every game has the same share",
        ),
        key("dqn.gamma", Float, "0 to 1", "The discount of rewards from step to step"),
        key(
            "dqn.tau",
            Float,
            "above 0 to 1",
            "How far the target network moves to the trained one when it moves; 1 is a copy",
        ),
        key(
            "dqn.target_network_frequency",
            Integer,
            "1 or more",
            "Gradient steps between two moves of the target network",
        ),
        key("dqn.batch_size", Integer, "1 or more", "Steps that a gradient step learns from"),
        key("dqn.start_e", Float, "0 to 1", "The probability of a random action at the beginning"),
        key("dqn.end_e", Float, "0 to 1", "The probability of a random action at the end"),
        key(
            "dqn.exploration_fraction",
            Float,
            "0 to 1",
            "The part of training in which the probability falls on a straight line",
        ),
        key(
            "dqn.eval_epsilon",
            Float,
            "0 to 1",
            "The probability of a random action when the agent plays without learning",
        ),
        key(
            "dqn.learning_starts",
            Integer,
            "0 to buffer_size",
            "Steps that the replay sees before learning starts",
        ),
        key(
            "dqn.train_ratio",
            Float,
            "more than 0",
            "Gradient steps for each step of an environment; 0.25 is one for four steps",
        ),
        key("dqn.n_step", Integer, "1 or more", "Steps of a return before it is bootstrapped"),
        key(
            "dqn.double",
            Switch,
            "",
            "Whether the trained network chooses the action that the target network values",
        ),
        key(
            "dqn.dueling",
            Switch,
            "",
            "Whether values are the sum of a value of the observation and advantages of the actions",
        ),
        key(
            "dqn.noisy",
            Switch,
            "",
            "Whether the fully connected layers have learned noise; `start_e` and `end_e` are best 0 then",
        ),
        key("dqn.noisy_sigma", Float, "more than 0", "The scale with which that noise begins"),
        key(
            "dqn.prioritized",
            Switch,
            "",
            "Whether steps are drawn in proportion to how wrong the network was about them",
        ),
        key("dqn.per_alpha", Float, "0 to 1", "The exponent of priorities; 0 makes all equal"),
        key(
            "dqn.per_beta",
            Float,
            "0 to 1",
            "How much of the bias of priorities is taken back at the beginning; at the end all is",
        ),
        key("dqn.distribution", Text, "mean, c51 or quantile", "What is learned of the return of an action"),
        key("dqn.num_atoms", Integer, "2 or more", "Numbers of an action where a distribution is learned"),
        key("dqn.v_min", Float, "any", "The least return of `c51`"),
        key("dqn.v_max", Float, "more than v_min", "The greatest return of `c51`"),
        key("dqn.loss", Text, "mse or huber", "The loss of `mean`"),
        key(
            "dqn.max_grad_norm",
            Float,
            "more than 0, or absent",
            "The length to which the gradient of all parameters together is clipped",
        ),
        key("pqn.num_steps", Integer, "2 or more", "Steps of each environment between two updates"),
        key("pqn.learning_rate", Float, "more than 0", "The optimiser's step size at the beginning"),
        key(
            "pqn.anneal_lr",
            Switch,
            "",
            "Whether the learning rate falls on a straight line to 0 in the course of training",
        ),
        key("pqn.gamma", Float, "0 to 1", "The discount of rewards from step to step"),
        key(
            "pqn.q_lambda",
            Float,
            "0 to 1",
            "How far returns look ahead: from 0 (one step) to 1 (the whole rollout)",
        ),
        key("pqn.start_e", Float, "0 to 1", "The probability of a random action at the beginning"),
        key("pqn.end_e", Float, "0 to 1", "The probability of a random action at the end"),
        key(
            "pqn.exploration_fraction",
            Float,
            "0 to 1",
            "The part of training in which the probability falls on a straight line",
        ),
        key(
            "pqn.eval_epsilon",
            Float,
            "0 to 1",
            "The probability of a random action when the agent plays without learning",
        ),
        key(
            "pqn.num_minibatches",
            Integer,
            "1 to the rollout's steps",
            "Parts that a rollout is split into, each one step of the optimiser",
        ),
        key("pqn.update_epochs", Integer, "1 or more", "How often each rollout is learned from"),
        key(
            "pqn.max_grad_norm",
            Float,
            "more than 0",
            "The length to which the gradient of all parameters together is clipped",
        ),
        key(
            "replay.folder",
            Text,
            "a folder, or absent",
            "Where a file holds the replay's pictures; without it they are in memory",
        ),
        key(
            "replay.in_checkpoint",
            Switch,
            "",
            "Whether checkpoints hold the replay; without it a run that is resumed fills its replay again before it learns",
        ),
        key(
            "evaluation.interval_frames",
            Integer,
            "0 or more; 0 for one at the end only",
            "Emulated frames of training between two evaluations",
        ),
        key(
            "evaluation.episodes",
            Integer,
            "0 or more; 0 for none",
            "Episodes of each game in an evaluation; at the end a random player plays as many",
        ),
        key(
            "evaluation.greedy",
            Switch,
            "",
            "Whether the agent takes the best action each time, rather than leaving some to chance as in training",
        ),
        key(
            "evaluation.repeat_action_probability",
            Float,
            "0 to 1, or absent",
            "How likely a frame repeats the action before; absent for the probability of training",
        ),
        key(
            "checkpoints.interval_frames",
            Integer,
            "0 or more; 0 for one at the end only",
            "Emulated frames between two checkpoints",
        ),
        key("checkpoints.keep_last", Integer, "1 or more", "The newest checkpoints that are kept"),
        key(
            "checkpoints.keep_best",
            Switch,
            "",
            "Whether the best checkpoint is kept as well: that with the highest score in the newest evaluation, or with the \
             highest recent return where the training is not evaluated on its way",
        ),
    ]
};

/// The page with every key.
pub(crate) fn reference() -> String {
    let defaults = Table::try_from(RawConfig::default()).expect("every field has a TOML form");
    let mut page = String::from(
        "# Configuration\n\n\
         Every key of an experiment, as `ale-train config --reference` prints it. An experiment is a TOML file with these \
         sections,\nread by `--config`; `--set section.key=value` changes one key. A key that is left out has its \
         default. `ale-train config`\nwith the flags of a training command prints the experiment that they mean.\n",
    );
    for (section, about) in SECTIONS {
        // Writing to a string cannot fail.
        let _ = write!(
            page,
            "\n## [{section}]\n\n{about}\n\n| key | type | default | range | meaning |\n|---|---|---|---|---|\n"
        );
        for (name, key) in
            KEYS.iter().filter_map(|key| Some((key.name.strip_prefix(section)?.strip_prefix('.')?, key)))
        {
            if name.contains('.') {
                // Of a section within this one.
                continue;
            }
            let default = default_of(&defaults, key.name).map_or_else(|| "absent".to_owned(), shown);
            let (kind, range, meaning) = (key.kind.word(), key.range, key.meaning);
            let _ = writeln!(page, "| `{name}` | {kind} | {default} | {range} | {meaning} |");
        }
    }
    page
}

fn default_of<'a>(defaults: &'a Table, name: &str) -> Option<&'a Value> {
    let (section, key) = name.split_once('.')?;
    defaults.get(section)?.as_table()?.get(key)
}

/// A default as somebody would write it. An `f32` has more digits in TOML than were written.
fn shown(value: &Value) -> String {
    match value {
        Value::Float(number) => format!("`{:?}`", *number as f32),
        value => format!("`{value}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_key_once_with_its_type() {
        let defaults = Table::try_from(RawConfig::default()).unwrap();
        for (section, keys) in &defaults {
            for name in keys.as_table().unwrap().keys().map(|key| format!("{section}.{key}")) {
                let listed = KEYS.iter().filter(|key| key.name == name).count();
                // The one that follows from others.
                assert_eq!(listed, usize::from(!name.ends_with(".total_steps")), "{name}");
            }
        }
        for key in KEYS {
            assert!(
                SECTIONS.iter().any(|(section, _)| key.name.starts_with(&format!("{section}."))),
                "{}",
                key.name
            );
            let kind = default_of(&defaults, key.name).map(|value| match value {
                Value::Integer(_) => Kind::Integer,
                Value::Float(_) => Kind::Float,
                Value::Boolean(_) => Kind::Switch,
                Value::Array(_) => Kind::Names,
                _ => Kind::Text,
            });
            assert!(kind.is_none_or(|kind| kind == key.kind), "{} is {kind:?}", key.name);
        }
    }

    #[test]
    fn the_page_is_up_to_date() {
        let page = include_str!("../../docs/src/reference/configuration.md");
        assert!(
            page == reference(),
            "write it anew: ale-train config --reference > docs/src/reference/configuration.md"
        );
    }
}
