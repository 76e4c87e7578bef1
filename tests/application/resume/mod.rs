//! An interrupted run continues as if it had never stopped. Errors in writing or reading checkpoints are reported and
//! lose nothing.

mod disk;
mod evaluations;
mod foreign;
mod kills;
mod signals;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{self, Line, checkpoints};

/// A run of the built-in game with about forty updates of one epoch each, because epochs on images are slow.
const HARVEST: &str =
    "ppo --games harvest --total-frames 40000 --set ppo.num_steps=32 --set ppo.update_epochs=1";
const CART_POLE: &str = "ppo --games CartPole-v1 --total-frames 20000";
/// A run with a recurrent network, whose updates are slow.
const RECURRENT: &str =
    "ppo --games CartPole-v1 --total-frames 5000 --set ppo.num_steps=64 --set policy.lstm=16";
/// A run whose replay is full before the run ends.
const DQN: &str = "dqn --games harvest --total-frames 16000 --set dqn.buffer_size=3000 \
    --set dqn.learning_starts=200 --set dqn.batch_size=8 --set policy.hidden_size=64";
/// A run with regular evaluations.
const EVALUATED: &str = "ppo --games CartPole-v1 --total-frames 20000 \
    --set evaluation.interval_frames=3000 --set evaluation.episodes=5";
/// Two games, one of which rests in the second half.
const BUDGET: &str = "ppo --games CartPole-v1,Acrobot-v1 --num-envs 4 --total-frames 20000 \
    --set environments.game.CartPole-v1.total_frames=5555";
/// Three games, one of which rests in the second half.
const THREE_GAMES: &str = "ppo --games CartPole-v1,Acrobot-v1,MountainCar-v0 --num-envs 4 --total-frames 20000 \
    --set environments.game.CartPole-v1.total_frames=3333 --set ppo.num_steps=32";
/// Continuous actions and statistics of observations.
const PENDULUM: &str = "ppo --games Pendulum-v1 --total-frames 20000";
/// A run whose halves take turns.
const HALVES: &str = "ppo --games CartPole-v1 --total-frames 20000 --set environments.halves=true";
/// A run that collects rollouts during updates.
const OVERLAP: &str = "ppo --games CartPole-v1 --total-frames 20000 --set ppo.overlap=true";
/// A run with intrinsic rewards, after two updates that only initialise statistics.
const RND: &str = "ppo --games CartPole-v1 --total-frames 20000 --set ppo.rnd.enabled=true \
    --set ppo.rnd.num_iterations_obs_norm_init=2 --set ppo.rnd.features=32";
const PQN: &str = "pqn --games CartPole-v1 --total-frames 100000";
/// A run with continuous actions, correlated noise and a replay that is full before the run ends.
const SAC: &str = "sac --games Pendulum-v1 --num-envs 2 --total-frames 16000 --set sac.buffer_size=3000 \
    --set sac.noise_correlation=0.5 --set policy.hidden_size=16 --set sac.learning_starts=300 \
    --set sac.batch_size=32 --set sac.train_ratio=0.25";
/// SAC with discrete actions of two tasks.
const DISCRETE_SAC: &str = "sac --games CartPole-v1,Acrobot-v1 --num-envs 2 --total-frames 16000 \
    --set sac.buffer_size=3000 --set policy.hidden_size=16 --set sac.learning_starts=300 --set sac.batch_size=32 \
    --set sac.train_ratio=0.1";

/// Returns a [training](program::train) with a seed.
fn train(run: &Path, threads: u32, words: &str) -> Line {
    program::train(run, words).words(&format!("--seed 4 --num-threads {threads}"))
}

fn resume(run: &Path) -> Line {
    program::run("resume").arg(run)
}

fn updates(run: &Path) -> usize {
    // Each algorithm reports one of these metrics.
    let reports = |text: String| {
        ["losses/value_loss", "losses/td_loss", "losses/qf_loss"].map(|tag| text.matches(tag).count())
    };
    fs::read_to_string(run.join("metrics.jsonl")).map_or(0, |text| reports(text).into_iter().sum())
}

/// Returns the loss in a record, if there is one.
fn loss(record: &Value) -> Option<&Value> {
    ["losses/value_loss", "losses/td_loss", "losses/qf_loss"].into_iter().find_map(|tag| record.get(tag))
}

/// Returns the number of steps at the newest checkpoint.
fn steps(run: &Path) -> u64 {
    let newest = checkpoints(run).pop().expect("a checkpoint").join("progress.json");
    let progress: Value = serde_json::from_slice(&fs::read(newest).expect("progress")).expect("JSON");
    progress["moment"]["steps"].as_u64().expect("a number")
}
