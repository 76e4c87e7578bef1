//! Tests the players of every algorithm, greedy and sampling as in training.

use algorithms::cluster::Cluster;
use algorithms::networks::PolicyConfig;
use algorithms::{ContinuousActions, JointActions, Task, TaskActions, VectorSpec};
use burn::tensor::Device;
use rl_env::{ActionBuffer, AutoresetMode, Batch, Space};
use toml::Table;

use super::{Algorithm, Learner};

/// The number of environments in which a player acts.
const ENVS: usize = 50;
/// The number of actions that it takes in each of them.
const STEPS: usize = 8;

const DQN: &str = "[dqn]\nbuffer_size = 1000\nlearning_starts = 100\n";
const PQN: &str = "[pqn]\n";
const SAC: &str = "[sac]\nbuffer_size = 1000\nlearning_starts = 100\n";

fn choices() -> JointActions {
    JointActions::discrete(5)
}

fn floats() -> ContinuousActions {
    ContinuousActions::of_space(&Space::floats(2, -1.0, 1.0)).unwrap()
}

/// Returns a new learner with these sections of an experiment, for a task with these actions.
fn learner(algorithm: Algorithm, sections: &str, actions: impl Into<TaskActions>) -> Box<dyn Learner> {
    let task = Task::of_actions("task", actions);
    let spec = VectorSpec {
        observation_space: Space::floats(3, -1.0, 1.0),
        shared_outputs: task.actions.num_outputs(),
        tasks: vec![task],
        task_ids: vec![0; ENVS],
        autoreset_mode: AutoresetMode::SameStep,
    };
    let sections: Table = sections.parse().unwrap();
    let config = (algorithm.descriptor().read)(&sections).unwrap();
    let policy = PolicyConfig { hidden_size: Some(16), ..PolicyConfig::default() };
    config.create(policy, spec, Cluster::default(), &Device::flex(), 3).unwrap()
}

/// Returns the actions of a player on observations that are the same for every player.
fn actions(learner: &dyn Learner, greedy: bool, seed: u64) -> Vec<ActionBuffer> {
    let spec = learner.spec();
    let mut player = learner.player(spec, greedy, seed).unwrap();
    let mut batch = Batch::new(ENVS, spec.observation_space.byte_len(), true);
    let act = |step: usize| {
        for (row, bytes) in batch.observations.rows_mut().enumerate() {
            for (column, number) in bytes.as_chunks_mut().0.iter_mut().enumerate() {
                let angle = (step * 7 + row * 3 + column * 5) as f32;
                *number = angle.sin().to_ne_bytes();
            }
        }
        player.act(&batch).unwrap()
    };
    (0..STEPS).map(act).collect()
}

#[test]
fn greedy_players_do_not_depend_on_the_seed_and_others_sample() {
    for (name, learner) in [
        ("PPO", learner(Algorithm::Ppo, "", choices())),
        ("PPO with continuous actions", learner(Algorithm::Ppo, "", floats())),
        ("PPO with overlap", learner(Algorithm::Ppo, "[ppo]\noverlap = true\n", choices())),
        ("DQN", learner(Algorithm::Dqn, &format!("{DQN}eval_epsilon = 0.5\n"), choices())),
        ("PQN", learner(Algorithm::Pqn, &format!("{PQN}eval_epsilon = 0.5\n"), choices())),
        ("SAC", learner(Algorithm::Sac, SAC, choices())),
        ("SAC with continuous actions", learner(Algorithm::Sac, SAC, floats())),
    ] {
        let of_seeds = |greedy| [1, 2].map(|seed| actions(learner.as_ref(), greedy, seed));
        let [first, second] = of_seeds(true);
        assert!(first == second, "{name}: a greedy player depends on the seed");
        let [first, second] = of_seeds(false);
        assert!(first != second, "{name}: a player does not sample");
    }
}

#[test]
fn eval_epsilon_is_the_probability_of_a_random_action_unless_the_player_is_greedy() {
    for (algorithm, sections) in [(Algorithm::Dqn, DQN), (Algorithm::Pqn, PQN)] {
        // Four of the five actions are not the greedy one. Five standard deviations are 49.
        for (epsilon, expected) in [("0.0", 0..=0), ("0.5", 111..=209)] {
            let learner = learner(algorithm, &format!("{sections}eval_epsilon = {epsilon}\n"), choices());
            let [greedy, others] = [true, false].map(|greedy| -> Vec<i32> {
                let batches = actions(learner.as_ref(), greedy, 1);
                batches.iter().flat_map(|batch| batch.discrete().unwrap().to_vec()).collect()
            });
            assert_eq!(greedy.len(), ENVS * STEPS);
            let count = greedy.iter().zip(&others).filter(|(greedy, other)| greedy != other).count();
            assert!(expected.contains(&count), "{algorithm} with {epsilon}: {count}");
        }
    }
}
