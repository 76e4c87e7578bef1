//! The part of an agent that plays some of its games.

use algorithms::VectorSpec;
use algorithms::networks::TrainedNetwork;
use anyhow::{Context, Result, ensure};
use burn::tensor::Device;

use super::{Exported, TrainedAgent, Weights};
use crate::learner::Algorithm;

impl TrainedAgent {
    /// Returns the agent with the heads, embeddings, statistics and value scales of the games that `names` select, as
    /// for [`games`](Self::games), in their order. It plays them with the same outputs. Returns the whole agent if
    /// `names` is empty.
    pub(crate) fn with_games(self, names: &[String]) -> Result<Self> {
        if names.is_empty() {
            return Ok(self);
        }
        let games = self.games(names)?;
        let kept = games.names();
        let whole = self.exported()?;
        let spec = only(&whole.spec, &kept).with_context(|| self.unusable())?;
        check_critics(self.experiment.run.algorithm, &whole.spec, &spec)?;
        let experiment = self.experiment.with_games(&kept)?;
        let (algorithm, policy) = (&self.experiment.algorithm, self.experiment.policy.clone());
        let learner = algorithm.with_weights(policy, spec.clone(), &whole.network, &Device::flex());
        let learner = learner.with_context(|| self.unusable())?;
        let network =
            TrainedNetwork { description: learner.description(), weights: learner.torch_weights()? };
        Ok(Self {
            scores: self.scores.as_ref().map(|scores| scores.only(&kept)),
            experiment,
            weights: Weights::Network(Box::new(Exported { network, spec })),
            ..self
        })
    }
}

/// Fails if the critics of SAC, which read the components of continuous actions, would have fewer inputs.
fn check_critics(algorithm: Algorithm, whole: &VectorSpec, part: &VectorSpec) -> Result<()> {
    let most = |spec: &VectorSpec| spec.tasks.iter().map(|task| task.actions.num_components()).max();
    let (all, kept) = (most(whole).unwrap_or(0), most(part).unwrap_or(0));
    ensure!(
        algorithm != Algorithm::Sac || all == kept,
        "the critics of the agent read actions of {all} components, but those of these games have at most {kept}; \
         keep a game with {all}"
    );
    Ok(())
}

/// Returns the specification of one environment of each of these tasks, in their order; `None` if there is no such
/// task. The outputs that all tasks share stay the same.
fn only(spec: &VectorSpec, names: &[&str]) -> Option<VectorSpec> {
    let task = |name: &&str| spec.tasks.iter().find(|task| task.name == **name).cloned();
    let tasks = names.iter().map(task).collect::<Option<Vec<_>>>()?;
    Some(VectorSpec { task_ids: (0..tasks.len()).collect(), tasks, ..spec.clone() })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use algorithms::cluster::Cluster;
    use algorithms::networks::NetworkDescription;
    use algorithms::{ContinuousActions, JointActions, Task};
    use rl_env::{AutoresetMode, Batch, Space};

    use super::*;
    use crate::config::{self, Config};
    use crate::learner::Reading;
    use crate::scores::{FinalScores, Scores};

    const IMAGES: [usize; 3] = [4, 44, 44];
    /// The rows of a batch, in which all games of the agent take turns.
    const ROWS: usize = 13;

    /// Returns the specification of the games of an experiment, which differ in the number of their actions.
    fn spec(games: &[&str], observation_space: Space, is_continuous: bool) -> VectorSpec {
        let task = |(index, name): (usize, &&str)| {
            if is_continuous {
                let actions =
                    ContinuousActions::of_space(&Space::floats(index + 1, -2.0, 2.0)).expect("actions");
                return Task::of_actions(*name, actions);
            }
            let mut task = Task::of_actions(*name, JointActions::discrete(2 + 3 * index));
            task.shared.iter_mut().for_each(|output| *output = 17 - *output);
            task
        };
        VectorSpec {
            observation_space,
            tasks: games.iter().enumerate().map(task).collect(),
            task_ids: (0..games.len()).collect(),
            shared_outputs: 18,
            autoreset_mode: AutoresetMode::SameStep,
        }
    }

    /// Returns an agent with initial weights, and different value scales of its games.
    fn agent(sections: &str, spec: VectorSpec) -> TrainedAgent {
        let names: Vec<String> = spec.tasks.iter().map(|task| format!("{:?}", task.name)).collect();
        let text = format!("{sections}\n[environments]\nnum_envs = 2\ngames = [{}]\n", names.join(", "));
        let experiment = config::from_toml(&text).and_then(Config::resolve).expect("an experiment");
        let config = experiment.algorithm.trial(&spec).config;
        let learner =
            config.create(experiment.policy.clone(), spec.clone(), Cluster::default(), &Device::flex(), 7);
        let learner = learner.expect("a learner");
        let network = TrainedNetwork {
            description: with_scales(&learner.description()),
            weights: learner.torch_weights().expect("weights"),
        };
        let scores = |task: &Task| Scores { task: task.name.clone(), returns: vec![1.0], lengths: vec![1] };
        let scores: Vec<Scores> = spec.tasks.iter().map(scores).collect();
        TrainedAgent {
            origin: PathBuf::from("agent"),
            experiment,
            frames: 1,
            commit: None,
            scores: Some(FinalScores { frames: 1, agent: scores.clone(), random: Some(scores) }),
            weights: Weights::Network(Box::new(Exported { network, spec })),
        }
    }

    /// Returns the description with different statistics of the returns of each task, if it has statistics.
    fn with_scales(description: &NetworkDescription) -> NetworkDescription {
        let mut fields = serde_json::to_value(description).expect("JSON");
        let statistics = fields["scales"]["statistics"].as_array_mut().expect("statistics");
        for (index, of_task) in statistics.iter_mut().enumerate() {
            let mean = index as f64 - 0.3;
            *of_task =
                serde_json::json!({ "mean": mean, "second_moment": mean * mean + 3.3, "samples": 9.0 });
        }
        serde_json::from_value(fields).expect("a description")
    }

    /// Returns the outputs of an agent for environments of the games `names`, which take turns.
    fn readings(agent: &TrainedAgent, names: &[&str]) -> Vec<Reading> {
        let learner = agent.restore().expect("a learner");
        let spec = only(learner.spec(), names).expect("the games");
        let spec = VectorSpec { task_ids: (0..ROWS).map(|row| row % names.len()).collect(), ..spec };
        let mut batch = Batch::new(ROWS, spec.observation_space.byte_len(), true);
        let is_image = spec.observation_space.shape().is_some_and(|shape| shape.len() == 3);
        for (row, bytes) in batch.observations.rows_mut().enumerate() {
            for (element, bytes) in bytes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let number = ((row * 31 + element * 7) as f32).sin();
                *bytes = if is_image {
                    number.to_bits().rotate_left(9).to_ne_bytes()
                } else {
                    number.to_ne_bytes()
                };
            }
        }
        let player = learner.player(&spec, true, 0).expect("a player");
        player.readings(&batch).expect("outputs")
    }

    /// Returns a network of each kind that the games of an agent share: its sections, whether its observations are
    /// images, and whether its actions are continuous.
    fn kinds() -> impl Iterator<Item = (String, bool, bool)> {
        let of = |algorithm: &str, rest: &str| format!("[experiment]\nalgorithm = \"{algorithm}\"\n{rest}");
        let buffer = "buffer_size = 64\nlearning_starts = 64\n";
        [
            (of("ppo", "[policy]\nvalue_scale = \"popart\"\nlayer_norm = true\n"), true, false),
            (of("ppo", "[policy]\nhead = \"shared\"\ngame_embedding = 5\n"), true, false),
            (of("ppo", "[policy]\nlstm = 8\nhidden_size = 16\n[ppo]\nnum_minibatches = 8\n"), false, false),
            (of("ppo", "[policy]\nnormalize_observations = true\n"), false, true),
            (of("ppo", "[policy]\ndeviation = \"state\"\n"), false, true),
            (
                of("dqn", &format!("[dqn]\n{buffer}dueling = true\nnum_atoms = 5\nnoisy = true\n")),
                true,
                false,
            ),
            (of("pqn", "[policy]\nvalue_scale = \"popart\"\n"), false, false),
            (
                of("sac", &format!("[policy]\nhidden_size = 16\n[sac]\n{buffer}batch_size = 32\n")),
                false,
                true,
            ),
            (of("sac", &format!("[policy]\nwidth = 0.25\n[sac]\n{buffer}batch_size = 32\n")), true, false),
            (
                of("sac", &format!("[policy]\nhead = \"shared\"\n[sac]\n{buffer}batch_size = 32\n")),
                false,
                false,
            ),
        ]
        .into_iter()
    }

    fn games(is_image: bool, is_continuous: bool) -> [&'static str; 4] {
        match (is_image, is_continuous) {
            (true, _) => ["pong", "breakout", "boxing", "qbert"],
            (false, false) => ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "Taxi-v4"],
            (false, true) => ["Pendulum-v1", "MountainCarContinuous-v0", "Hopper-v5", "Ant-v5"],
        }
    }

    #[test]
    fn outputs_of_the_kept_games_are_equal_bit_for_bit() {
        for (sections, is_image, is_continuous) in kinds() {
            let observations = if is_image { Space::bytes(IMAGES) } else { Space::floats(6, -1.0, 1.0) };
            let all = games(is_image, is_continuous);
            let whole = agent(&sections, spec(&all, observations, is_continuous));
            let is_sac = whole.experiment.run.algorithm == Algorithm::Sac;
            for kept in [&[all[1]][..], &[all[3], all[0]], &[all[2], all[1], all[0]], &all] {
                let names: Vec<String> = kept.iter().map(|&name| name.to_owned()).collect();
                let expected = readings(&whole, kept);
                let part = agent(&sections, whole.exported().expect("a network").spec);
                if is_sac && is_continuous && !kept.contains(&all[3]) {
                    let error = part.with_games(&names).err().expect("an error").to_string();
                    assert!(error.ends_with("keep a game with 4"), "{error}");
                    continue;
                }
                let part = part.with_games(&names).expect("a part");
                assert_eq!(part.experiment.games.names(), kept);
                let Exported { network, spec } = part.exported().expect("a network");
                assert!(spec.tasks == network.description.tasks && spec.tasks.len() == kept.len());
                assert_eq!(readings(&part, kept), expected, "{sections} {kept:?}");
                let scores = part.scores.as_ref().expect("scores");
                assert!(scores.are_of(kept), "{scores:?}");
                assert_eq!(part.experiment.num_envs(), whole.experiment.num_envs());
            }
        }
    }

    #[test]
    fn unknown_games_and_games_of_others_are_refused() {
        let error = |name: &str| {
            let whole = agent("", spec(&["pong", "breakout"], Space::bytes(IMAGES), false));
            whole.with_games(&[name.to_owned()]).err().expect("an error").to_string()
        };
        assert!(error("bretakout").ends_with("did you mean breakout?"), "{}", error("bretakout"));
        assert_eq!(error("qbert"), "the agent was not trained on 'qbert'; it plays pong, breakout");
    }
}
