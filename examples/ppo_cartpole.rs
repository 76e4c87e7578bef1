//! Proximal Policy Optimization on `CartPole` in one file.
//!
//! ```text
//! cargo run --release --example ppo_cartpole [SEED]
//! ```
//!
//! The algorithm in the order in which it runs: collect a rollout, estimate advantages, take clipped gradient steps. The
//! environments, the network and the advantage estimation come from the library; the optimiser is burn's.
//! `algorithms::ppo` adds several tasks, recurrent networks, other autoreset modes, GPUs and checkpoints.

use std::error::Error;
use std::iter::repeat_n;
use std::time::Instant;

use algorithms::networks::{ActorCritic, ObservationLayout, PolicyConfig, RowTasks};
use algorithms::returns::{Trajectory, gae};
use algorithms::schedule::LinearSchedule;
use algorithms::{VectorSpec, categorical};
use burn::grad_clipping::GradientClippingConfig;
use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use classic_control::{CartPole, Control};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rl_env::{Actions, AutoresetMode, Batch, ResetSeeds, TimeLimit, VectorEnv};
use vector::{PoolOptions, PoolVectorEnv};

type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Envs = PoolVectorEnv<TimeLimit<Control<CartPole>>>;

const NUM_ENVS: usize = 8;
/// Steps of each environment between two updates.
const NUM_STEPS: usize = 32;
/// Updates of the whole run, of 8 * 32 steps each: 102,400 steps.
const NUM_UPDATES: u64 = 400;
const LEARNING_RATE: f64 = 1e-3;
const GAMMA: f32 = 0.99;
const GAE_LAMBDA: f32 = 0.95;
const UPDATE_EPOCHS: usize = 10;
const MINIBATCH_SIZE: usize = 64;
const CLIP_COEF: f32 = 0.2;
const VF_COEF: f32 = 0.5;
const MAX_GRAD_NORM: f32 = 0.5;

/// Network and optimiser.
struct Agent {
    network: ActorCritic,
    optimizer: ModuleOptimizer,
    layout: ObservationLayout,
    spec: VectorSpec,
    device: Device,
}

/// The last steps of all environments. Step `t` of environment `env` is entry `env * NUM_STEPS + t`.
struct Rollout {
    observations: Vec<Vec<u8>>,
    actions: Vec<i32>,
    log_probs: Vec<f32>,
    values: Vec<f32>,
    rewards: Vec<f32>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    /// True for steps that only reset their environment, from which nothing can be learned.
    autoreset: Vec<bool>,
    /// The value of each environment's observation after its last step.
    last_values: Vec<f32>,
}

fn main() -> Result<()> {
    let seed = std::env::args().nth(1).map_or(Ok(1), |seed| seed.parse())?;
    let start = Instant::now();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut envs = make_envs(NUM_ENVS)?;
    let mut agent = Agent::new(&envs, &mut rng)?;
    envs.reset(ResetSeeds::From(seed))?;

    let learning_rate = LinearSchedule { start: LEARNING_RATE, end: 0.0, steps: NUM_UPDATES };
    let mut returns = Vec::new();
    for update in 0..NUM_UPDATES {
        let rollout = Rollout::collect(&mut envs, &agent, &mut rng, &mut returns)?;
        agent.update(&rollout, learning_rate.value(update), &mut rng);
        if (update + 1).is_multiple_of(40) {
            let steps = (update + 1) * (NUM_ENVS * NUM_STEPS) as u64;
            let recent = &returns[returns.len().saturating_sub(20)..];
            println!(
                "{steps:>7} steps, mean return of the last {} episodes: {:.1}",
                recent.len(),
                mean(recent)
            );
        }
    }
    let trained = start.elapsed().as_secs_f64();
    println!(
        "greedy policy: mean return of 100 episodes {:.1}, trained in {trained:.1} s",
        agent.evaluate()?
    );
    Ok(())
}

fn make_envs(count: usize) -> Result<Envs> {
    let env = || TimeLimit::new(Control::new(CartPole), CartPole::MAX_STEPS);
    let envs = (0..count).map(|_| ("CartPole".to_owned(), env())).collect();
    let autoreset_mode = AutoresetMode::NextStep;
    Ok(PoolVectorEnv::new(envs, PoolOptions { num_threads: 1, autoreset_mode, ..PoolOptions::default() })?)
}

impl Rollout {
    /// Acts for `NUM_STEPS` steps, and appends the returns of finished episodes.
    fn collect(envs: &mut Envs, agent: &Agent, rng: &mut ChaCha8Rng, returns: &mut Vec<f64>) -> Result<Self> {
        let entries = NUM_ENVS * NUM_STEPS;
        let mut rollout = Self {
            observations: vec![Vec::new(); entries],
            actions: vec![0; entries],
            log_probs: vec![0.0; entries],
            values: vec![0.0; entries],
            rewards: vec![0.0; entries],
            terminated: vec![false; entries],
            truncated: vec![false; entries],
            autoreset: vec![false; entries],
            last_values: Vec::new(),
        };
        for t in 0..NUM_STEPS {
            let batch = envs.batch();
            let (log_probs, values) = agent.act(batch)?;
            let mut actions = Vec::with_capacity(NUM_ENVS);
            for env in 0..NUM_ENVS {
                let (entry, action) = (env * NUM_STEPS + t, categorical::sample(&log_probs[env], rng));
                rollout.observations[entry] = batch.observations.row(env).to_vec();
                rollout.actions[entry] = action as i32;
                rollout.log_probs[entry] = log_probs[env][action];
                rollout.values[entry] = values[env];
                actions.push(action as i32);
            }
            let batch = envs.step(Actions::Discrete(&actions))?;
            for env in 0..NUM_ENVS {
                let entry = env * NUM_STEPS + t;
                rollout.rewards[entry] = batch.rewards[env];
                rollout.terminated[entry] = batch.terminated[env];
                rollout.truncated[entry] = batch.truncated[env];
                rollout.autoreset[entry] = batch.autoreset[env];
            }
            returns.extend(batch.episodes.iter().flatten().map(|episode| episode.total_reward));
        }
        (_, rollout.last_values) = agent.act(envs.batch())?;
        Ok(rollout)
    }

    /// Estimates the advantage of every entry. In this autoreset mode the observation of entry `t + 1` is the final one
    /// where entry `t` was truncated, so that its value is the right one to bootstrap from.
    fn advantages(&self) -> Vec<f32> {
        let mut advantages = vec![0.0; self.values.len()];
        for (env, advantages) in advantages.chunks_exact_mut(NUM_STEPS).enumerate() {
            let steps = env * NUM_STEPS..(env + 1) * NUM_STEPS;
            let values = &self.values[steps.clone()];
            let next_values = [&values[1..], &[self.last_values[env]]].concat();
            let trajectory = Trajectory {
                rewards: &self.rewards[steps.clone()],
                values,
                next_values: &next_values,
                terminated: &self.terminated[steps.clone()],
                truncated: &self.truncated[steps],
            };
            gae(trajectory, GAMMA, GAE_LAMBDA, advantages);
        }
        advantages
    }
}

impl Agent {
    fn new(envs: &Envs, rng: &mut ChaCha8Rng) -> Result<Self> {
        let (spec, device) = (VectorSpec::of(envs)?, Device::flex());
        let layout = ObservationLayout::of(&spec.observation_space)?;
        let config = PolicyConfig::default();
        let network = ActorCritic::new(layout, &spec, &config, rng, &device.clone().autodiff());
        let clipping = Some(GradientClippingConfig::Norm(MAX_GRAD_NORM));
        let optimizer = AdamConfig::new().with_epsilon(1e-5).with_grad_clipping(clipping).init();
        Ok(Self { network, optimizer, layout, spec, device })
    }

    /// Returns the log-probabilities of the actions and the value of each row.
    fn act(&self, batch: &Batch) -> Result<(Vec<Vec<f32>>, Vec<f32>)> {
        let rows = (0..batch.len()).map(|row| batch.observations.row(row));
        let observations = self.layout.tensor(rows, &self.device);
        let tasks = RowTasks::new(repeat_n(0, batch.len()), &self.spec.tasks, &self.device);
        let (outputs, _) = self.network.valid().forward(observations, &tasks, None);
        let logits: Vec<f32> = outputs.logits.try_into_vec_as()?;
        let log_probs = logits.chunks_exact(self.spec.max_actions()).map(|logits| {
            let mut log_probs = logits.to_vec();
            categorical::log_softmax(&mut log_probs);
            log_probs
        });
        Ok((log_probs.collect(), outputs.values.try_into_vec_as()?))
    }

    /// Learns from a rollout: several epochs of minibatches in random order.
    fn update(&mut self, rollout: &Rollout, learning_rate: f64, rng: &mut ChaCha8Rng) {
        let advantages = rollout.advantages();
        let mut entries: Vec<usize> =
            (0..advantages.len()).filter(|&entry| !rollout.autoreset[entry]).collect();
        for _ in 0..UPDATE_EPOCHS {
            entries.shuffle(rng);
            for minibatch in entries.chunks(MINIBATCH_SIZE) {
                let loss = self.loss(rollout, &advantages, minibatch);
                let gradients = GradientsParams::from_grads(loss.backward(), &self.network);
                self.network = self.optimizer.step(learning_rate, self.network.clone(), gradients);
            }
        }
    }

    /// Computes the clipped surrogate loss plus the value loss of a minibatch, `[1]`.
    fn loss(&self, rollout: &Rollout, advantages: &[f32], minibatch: &[usize]) -> Tensor<1> {
        let device = self.device.clone().autodiff();
        let floats = |value: &dyn Fn(usize) -> f32| -> Tensor<1> {
            let values: Vec<f32> = minibatch.iter().map(|&entry| value(entry)).collect();
            Tensor::from_data(TensorData::new(values, [minibatch.len()]), &device)
        };
        let rows = minibatch.iter().map(|&entry| rollout.observations[entry].as_slice());
        let tasks = RowTasks::new(repeat_n(0, minibatch.len()), &self.spec.tasks, &device);
        let (outputs, _) = self.network.forward(self.layout.tensor(rows, &device), &tasks, None);

        let actions: Vec<i32> = minibatch.iter().map(|&entry| rollout.actions[entry]).collect();
        let actions: Tensor<2, Int> =
            Tensor::from_data(TensorData::new(actions, [minibatch.len(), 1]), &device);
        let log_probs = log_softmax(outputs.logits, 1).gather(1, actions).squeeze_dim::<1>(1);
        let ratio = (log_probs - floats(&|entry| rollout.log_probs[entry])).exp();

        let chosen: Vec<f64> = minibatch.iter().map(|&entry| advantages[entry].into()).collect();
        let center = mean(&chosen);
        let variance = mean(&chosen.iter().map(|advantage| (advantage - center).powi(2)).collect::<Vec<_>>());
        let normalized =
            |entry: usize| ((f64::from(advantages[entry]) - center) / variance.sqrt().max(1e-8)) as f32;
        let advantage = floats(&normalized);
        let clipped = ratio.clone().clamp(1.0 - CLIP_COEF, 1.0 + CLIP_COEF);
        let policy_loss = (advantage.clone() * ratio).min_pair(advantage * clipped).mean().neg();

        let returns = floats(&|entry| advantages[entry] + rollout.values[entry]);
        let value_loss = (outputs.values - returns).square().mean().mul_scalar(0.5);
        policy_loss + value_loss.mul_scalar(VF_COEF)
    }

    /// Returns the mean return of the greedy policy over the first episode of 100 new environments.
    fn evaluate(&self) -> Result<f64> {
        let mut envs = make_envs(100)?;
        envs.reset(ResetSeeds::From(1_000_000))?;
        let mut returns = vec![None; envs.num_envs()];
        while returns.iter().any(Option::is_none) {
            let (log_probs, _) = self.act(envs.batch())?;
            let actions: Vec<i32> =
                log_probs.iter().map(|log_probs| categorical::argmax(log_probs) as i32).collect();
            let batch = envs.step(Actions::Discrete(&actions))?;
            for (first, episode) in returns.iter_mut().zip(&batch.episodes) {
                *first = first.or(episode.map(|episode| episode.total_reward));
            }
        }
        Ok(mean(&returns.into_iter().flatten().collect::<Vec<_>>()))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
