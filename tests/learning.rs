//! Learners solve tasks whose answers are known: the five probes, each isolating one fault, and `CartPole`.

use algorithms::EnvSpec;
use algorithms::ppo::{Policy, Ppo, PpoConfig};
use burn::tensor::Device;
use classic_control::{CartPole, Control, Probe, ProbeKind};
use rl_env::{Actions, AutoresetMode, Batch, Env, ResetSeeds, TimeLimit, VectorEnv};
use vector::{PoolOptions, PoolVectorEnv};

fn vectorize<E: Env + 'static>(
    count: usize,
    env: impl Fn() -> E,
    autoreset_mode: AutoresetMode,
) -> PoolVectorEnv<E> {
    let envs = (0..count).map(|_| ("task".to_owned(), env())).collect();
    PoolVectorEnv::new(envs, PoolOptions { num_threads: 1, autoreset_mode, ..PoolOptions::default() })
        .unwrap()
}

/// Trains to the end of the configuration's steps.
fn train(envs: &mut dyn VectorEnv, config: PpoConfig, seed: u64) -> Ppo {
    let mut ppo = Ppo::new(config, EnvSpec::of(envs).unwrap(), &Device::flex(), seed).unwrap();
    let mut batch = envs.reset(ResetSeeds::From(seed)).unwrap();
    while ppo.updates() < ppo.num_updates() {
        let actions = ppo.act(batch).unwrap();
        batch = envs.step(Actions::Discrete(actions)).unwrap();
        ppo.observe(batch).unwrap();
        if ppo.is_ready() {
            ppo.update().unwrap();
        }
    }
    ppo
}

/// The observation (one float), value and greedy action of every environment, for `steps` steps of a policy.
fn judge(envs: &mut dyn VectorEnv, policy: &Policy, steps: usize) -> Vec<(f32, f32, i32)> {
    let rows = |batch: &Batch| -> Vec<(f32, f32, i32)> {
        let values = policy.values(batch).unwrap();
        let actions = policy.greedy(batch).unwrap();
        (0..batch.len()).map(|row| (batch.observations.row_f32(row)[0], values[row], actions[row])).collect()
    };
    let mut batch = envs.reset(ResetSeeds::From(1000)).unwrap();
    let mut judged = Vec::new();
    for _ in 0..steps {
        let seen = rows(batch);
        let actions: Vec<i32> = seen.iter().map(|&(_, _, action)| action).collect();
        judged.extend(seen);
        batch = envs.step(Actions::Discrete(&actions)).unwrap();
    }
    judged
}

/// The value of an observation, and the action in it where only one is right.
fn answer(kind: ProbeKind, observation: f32, gamma: f32) -> (f32, Option<i32>) {
    match kind {
        ProbeKind::ConstantValue => (1.0, None),
        ProbeKind::ValueFromObservation => (observation, None),
        ProbeKind::DiscountedValue => (if observation == 0.0 { gamma } else { 1.0 }, None),
        ProbeKind::BestAction => (1.0, Some(1)),
        ProbeKind::ActionFromObservation => (1.0, Some(i32::from(observation > 0.0))),
    }
}

#[test]
fn ppo_solves_every_probe() {
    let config = PpoConfig {
        total_steps: 16_384,
        num_steps: 32,
        learning_rate: 3e-3,
        gamma: 0.5,
        ..PpoConfig::default()
    };
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        for kind in ProbeKind::ALL {
            let mut envs = vectorize(8, || Probe::new(kind), mode);
            let ppo = train(&mut envs, config.clone(), 1);
            let policy = ppo.policy(ppo.spec()).unwrap();
            for (observation, value, action) in judge(&mut envs, &policy, 4) {
                let (right_value, right_action) = answer(kind, observation, config.gamma);
                println!("{mode:?} {kind:?}: observation {observation}, value {value}, action {action}");
                assert!((value - right_value).abs() < 0.1, "expected the value {right_value}");
                assert!(right_action.is_none_or(|right| action == right), "expected {right_action:?}");
            }
        }
    }
}

/// The mean return of the first `episodes` episodes to end, which have all begun at the same time in as many
/// environments.
fn mean_return<E: Env + 'static>(env: impl Fn() -> E, ppo: &Ppo, episodes: usize) -> f64 {
    let mut envs = vectorize(episodes, env, AutoresetMode::NextStep);
    let policy = ppo.policy(&EnvSpec::of(&envs).unwrap()).unwrap();
    let mut returns = vec![None; episodes];
    let mut batch = envs.reset(ResetSeeds::From(1_000_000)).unwrap();
    while returns.iter().any(Option::is_none) {
        let actions = policy.greedy(batch).unwrap();
        batch = envs.step(Actions::Discrete(&actions)).unwrap();
        for (first, episode) in returns.iter_mut().zip(&batch.episodes) {
            *first = first.or(episode.map(|episode| episode.total_reward));
        }
    }
    returns.into_iter().flatten().sum::<f64>() / episodes as f64
}

/// The hyperparameters were chosen so that ten seeds of ten reach 500, the best possible.
#[test]
fn ppo_balances_the_cart_pole() {
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
    let cart_pole = || TimeLimit::new(Control::new(CartPole), CartPole::MAX_STEPS);
    let mut envs = vectorize(8, cart_pole, AutoresetMode::NextStep);
    let ppo = train(&mut envs, config, 1);
    let mean = mean_return(cart_pole, &ppo, 100);
    assert!(mean >= 475.0, "mean return {mean}");
}
