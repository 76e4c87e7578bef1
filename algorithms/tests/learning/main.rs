//! Learners solve tasks with known answers: five probes, each isolating one fault, `CartPole`, `Acrobot` and
//! `MountainCar`.

mod composite;
mod corridor;
mod dqn;
mod ppo;
mod pqn;
mod sac;

use std::mem;

use algorithms::VectorSpec;
use classic_control::{Acrobot, CartPole, Control, Dynamics, MountainCar, Probe, ProbeKind};
use rayon::ThreadPoolBuilder;
use rl_env::{
    ActionBuffer, Actions, AutoresetMode, Batch, Env, Registry, RescaleObservation, ResetSeeds, TimeLimit,
    VectorEnv,
};
use vector::{PoolOptions, PoolVectorEnv};

/// Creates environments, and a thread pool for networks in which the calling thread is the only one, because passing
/// each product to another thread takes longer than most products.
fn vectorize<E: Env + 'static>(
    count: usize,
    env: impl Fn() -> E,
    autoreset_mode: AutoresetMode,
) -> PoolVectorEnv<E> {
    // Fails if the thread already has a pool from an earlier call.
    if let Ok(threads) = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        // Leaked, because its only thread is that of the test, which ends first.
        mem::forget(threads);
    }
    let envs = (0..count).map(|_| ("task".to_owned(), env())).collect();
    PoolVectorEnv::new(envs, PoolOptions { num_threads: 1, autoreset_mode, ..PoolOptions::default() })
        .unwrap()
}

/// The output of a policy for one observation of one float.
struct Answer {
    observation: f32,
    value: f32,
    action: i32,
}

/// Runs a policy, which returns values and actions of a batch, for some steps.
fn run(
    envs: &mut dyn VectorEnv,
    policy: impl Fn(&Batch) -> (Vec<f32>, Vec<i32>),
    steps: usize,
) -> Vec<Answer> {
    let mut batch = envs.reset(ResetSeeds::From(1000)).unwrap();
    let mut answers = Vec::new();
    for _ in 0..steps {
        let (values, actions) = policy(batch);
        answers.extend((0..batch.len()).map(|row| Answer {
            observation: batch.observations.row_f32(row)[0],
            value: values[row],
            action: actions[row],
        }));
        batch = envs.step(Actions::Discrete(&actions)).unwrap();
    }
    answers
}

/// Returns the value of an observation, and the right action if there is only one.
fn answer(kind: ProbeKind, observation: f32, gamma: f32) -> (f32, Option<i32>) {
    match kind {
        ProbeKind::ConstantValue => (1.0, None),
        ProbeKind::ValueFromObservation => (observation, None),
        ProbeKind::DiscountedValue => (if observation == 0.0 { gamma } else { 1.0 }, None),
        ProbeKind::BestAction => (1.0, Some(1)),
        ProbeKind::ActionFromObservation => (1.0, Some(i32::from(observation > 0.0))),
        ProbeKind::Memory => unreachable!("the answer depends on earlier observations"),
        ProbeKind::Combination => unreachable!("the answer has two elements"),
    }
}

/// Fails unless the policy that `train` returns solves every probe. `train` is given the environments of a probe.
fn solve_probes<P: Fn(&Batch) -> (Vec<f32>, Vec<i32>)>(gamma: f32, train: impl Fn(&mut dyn VectorEnv) -> P) {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        for kind in ProbeKind::ALL {
            let mut envs = vectorize(8, || Probe::new(kind), mode);
            let policy = train(&mut envs);
            for Answer { observation, value, action } in run(&mut envs, policy, 4) {
                let (right_value, right_action) = answer(kind, observation, gamma);
                println!("{mode:?} {kind:?}: observation {observation}, value {value}, action {action}");
                assert!((value - right_value).abs() < 0.1, "expected the value {right_value}");
                assert!(right_action.is_none_or(|right| action == right), "expected {right_action:?}");
            }
        }
    }
}

/// Fails unless the policies that `train` returns take the right combination of options in `MultiDiscrete`
/// environments, with each of three seeds. `train` is given the environments, their specification and the seed.
fn solve_combinations<P: FnMut(&Batch) -> Vec<i32>>(
    train: impl Fn(&mut dyn VectorEnv, VectorSpec, u64) -> P,
) {
    for seed in 1..=3 {
        let mut envs = vectorize(8, || Probe::new(ProbeKind::Combination), AutoresetMode::SameStep);
        let spec = VectorSpec::of(&envs).unwrap();
        let policy = train(&mut envs, spec, seed);
        assert_eq!(mean_return(&mut envs, policy), 1.0, "seed {seed}");
    }
}

/// Like [`solve_combinations`], for two actions that are factored into two choices of two options, of which only (0, 1)
/// and (1, 0) are legal.
fn solve_factored_actions<P: FnMut(&Batch) -> Vec<i32>>(
    train: impl Fn(&mut dyn VectorEnv, VectorSpec, u64) -> P,
) {
    for seed in 1..=3 {
        let mut envs = vectorize(8, || Probe::new(ProbeKind::ActionFromObservation), AutoresetMode::SameStep);
        let factors = || Some((vec![2, 2], vec![vec![0, 1], vec![1, 0]]));
        let spec = VectorSpec::of(&envs).unwrap().with_factored_actions(|_| factors()).unwrap();
        let policy = train(&mut envs, spec, seed);
        assert_eq!(mean_return(&mut envs, policy), 1.0, "seed {seed}");
    }
}

fn cart_pole() -> TimeLimit<Control<CartPole>> {
    limited("CartPole-v1", CartPole::default())
}

fn acrobot() -> TimeLimit<Control<Acrobot>> {
    limited("Acrobot-v1", Acrobot)
}

fn mountain_car() -> TimeLimit<Control<MountainCar>> {
    limited("MountainCar-v0", MountainCar::default())
}

/// Returns a task with the time limit that its id has in Gymnasium.
fn limited<D: Dynamics>(id: &str, dynamics: D) -> TimeLimit<Control<D>> {
    let mut registry = Registry::new();
    classic_control::register(&mut registry).unwrap();
    let limit = registry.spec(id).unwrap().max_episode_steps.expect("a time limit");
    TimeLimit::new(Control::new(dynamics), limit)
}

/// Rescales observations to -1..=1.
fn rescaled<E: Env>(env: E) -> RescaleObservation<E> {
    RescaleObservation::new(env).expect("observations are vectors of floats")
}

/// Returns the mean return of the first episode of each environment.
fn mean_return<A: Into<ActionBuffer>>(envs: &mut dyn VectorEnv, mut policy: impl FnMut(&Batch) -> A) -> f64 {
    let mut returns = vec![None; envs.num_envs()];
    let mut batch = envs.reset(ResetSeeds::From(1_000_000)).unwrap();
    while returns.iter().any(Option::is_none) {
        let actions = policy(batch).into();
        batch = envs.step(actions.as_actions()).unwrap();
        for (first, episode) in returns.iter_mut().zip(&batch.episodes) {
            *first = first.or(episode.map(|episode| episode.total_reward));
        }
    }
    returns.iter().flatten().sum::<f64>() / returns.len() as f64
}
