//! Learners solve tasks whose answers are known: the five probes, each isolating one fault, `CartPole`,
//! `Acrobot` and `MountainCar`.

mod dqn;
mod ppo;
mod pqn;

use classic_control::{Acrobot, CartPole, Control, MountainCar, Probe, ProbeKind};
use rl_env::{Actions, AutoresetMode, Batch, Env, RescaleObservation, ResetSeeds, TimeLimit, VectorEnv};
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

/// What a learner says about one observation (one float).
struct Answer {
    observation: f32,
    value: f32,
    action: i32,
}

/// Lets a policy, which gives a value and an action for each row, play for some steps.
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

/// The value of an observation, and the action in it where only one is right.
fn answer(kind: ProbeKind, observation: f32, gamma: f32) -> (f32, Option<i32>) {
    match kind {
        ProbeKind::ConstantValue => (1.0, None),
        ProbeKind::ValueFromObservation => (observation, None),
        ProbeKind::DiscountedValue => (if observation == 0.0 { gamma } else { 1.0 }, None),
        ProbeKind::BestAction => (1.0, Some(1)),
        ProbeKind::ActionFromObservation => (1.0, Some(i32::from(observation > 0.0))),
        ProbeKind::Recollection => unreachable!("the observation does not have the answer"),
    }
}

/// Fails unless a learner's policy knows the answers of a probe. `train` gets the probe's environments.
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

/// The pole, cut off after its usual number of steps.
fn cart_pole() -> TimeLimit<Control<CartPole>> {
    TimeLimit::new(Control::new(CartPole), CartPole::MAX_STEPS)
}

/// The two links, cut off after Gymnasium's number of steps.
fn acrobot() -> TimeLimit<Control<Acrobot>> {
    TimeLimit::new(Control::new(Acrobot), 500)
}

/// The car, cut off after Gymnasium's number of steps.
fn mountain_car() -> TimeLimit<Control<MountainCar>> {
    TimeLimit::new(Control::new(MountainCar::default()), 200)
}

/// The same task with observations in -1..=1.
fn rescaled<E: Env>(env: E) -> RescaleObservation<E> {
    RescaleObservation::new(env).expect("a vector of floats")
}

/// The mean return of the first `episodes` episodes to end, which have all begun at the same time in `envs`, an
/// environment for each.
fn mean_return(envs: &mut dyn VectorEnv, mut policy: impl FnMut(&Batch) -> Vec<i32>) -> f64 {
    let mut returns = vec![None; envs.num_envs()];
    let mut batch = envs.reset(ResetSeeds::From(1_000_000)).unwrap();
    while returns.iter().any(Option::is_none) {
        let actions = policy(batch);
        batch = envs.step(Actions::Discrete(&actions)).unwrap();
        for (first, episode) in returns.iter_mut().zip(&batch.episodes) {
            *first = first.or(episode.map(|episode| episode.total_reward));
        }
    }
    returns.iter().flatten().sum::<f64>() / returns.len() as f64
}
