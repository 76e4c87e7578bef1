//! Proximal Policy Optimization on `CartPole`, with the training loop written out.
//!
//! ```text
//! cargo run --release --example ppo_cartpole [SEED]
//! ```
//!
//! Prints the returns of the training episodes, and at the end the mean return of the greedy policy, whose maximum is
//! 500. `algorithms::ppo` names the files that implement each step of the algorithm, in reading order.

use std::error::Error;
use std::time::Instant;

use algorithms::networks::PolicyConfig;
use algorithms::ppo::{Policy, Ppo, PpoConfig};
use algorithms::{Learner, VectorSpec};
use burn::tensor::Device;
use classic_control::{CartPole, Control};
use rl_env::{AutoresetMode, ResetSeeds, TimeLimit, VectorEnv};
use vector::{PoolOptions, PoolVectorEnv};

type Envs = PoolVectorEnv<TimeLimit<Control<CartPole>>>;

fn main() -> Result<(), Box<dyn Error>> {
    let seed = std::env::args().nth(1).map_or(Ok(1), |seed| seed.parse())?;
    let start = Instant::now();
    let config = PpoConfig {
        total_steps: 200_000,
        num_steps: 32,
        learning_rate: 1e-3,
        update_epochs: 10,
        clip_coef: 0.2,
        clip_vloss: false,
        ent_coef: 0.0,
        ..PpoConfig::default()
    };
    let mut envs = make_envs(8)?;
    let spec = VectorSpec::of(&envs)?;
    let mut ppo = Ppo::new(config, PolicyConfig::default(), spec, &Device::flex(), seed)?;

    let mut returns = Vec::new();
    let mut batch = envs.reset(ResetSeeds::From(seed))?;
    while !ppo.is_complete() {
        let actions = ppo.act(batch)?;
        batch = envs.step(actions)?;
        ppo.observe(batch)?;
        returns.extend(batch.episodes.iter().flatten().map(|episode| episode.total_reward));
        if ppo.is_ready() {
            let metrics = ppo.update()?;
            if ppo.updates().is_multiple_of(50) {
                let recent = &returns[returns.len().saturating_sub(20)..];
                let (updates, entropy) = (ppo.updates(), metrics.entropy);
                println!("update {updates}: mean return {:.1}, entropy {entropy:.2}", mean(recent));
            }
        }
    }

    let seconds = start.elapsed().as_secs_f64();
    let mut envs = make_envs(100)?;
    let policy = ppo.policy(&VectorSpec::of(&envs)?)?;
    println!("greedy policy: mean return {:.1}, trained in {seconds:.1} s", evaluate(&policy, &mut envs)?);
    Ok(())
}

fn make_envs(count: usize) -> Result<Envs, Box<dyn Error>> {
    let env = || TimeLimit::new(Control::new(CartPole::default()), CartPole::MAX_STEPS);
    let envs = (0..count).map(|_| ("CartPole".to_owned(), env())).collect();
    let autoreset_mode = AutoresetMode::NextStep;
    Ok(PoolVectorEnv::new(envs, PoolOptions { num_threads: 1, autoreset_mode, ..PoolOptions::default() })?)
}

/// Returns the mean return of the greedy policy over the first episode of each environment.
fn evaluate(policy: &Policy, envs: &mut Envs) -> Result<f64, Box<dyn Error>> {
    let mut returns = vec![None; envs.num_envs()];
    let mut batch = envs.reset(ResetSeeds::From(1_000_000))?;
    while returns.iter().any(Option::is_none) {
        let actions = policy.greedy(batch)?;
        batch = envs.step(actions.as_actions())?;
        for (first, episode) in returns.iter_mut().zip(&batch.episodes) {
            *first = first.or(episode.map(|episode| episode.total_reward));
        }
    }
    Ok(mean(&returns.into_iter().flatten().collect::<Vec<_>>()))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
