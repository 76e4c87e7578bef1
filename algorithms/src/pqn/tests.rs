//! The whole learner, on batches of random environments.

use burn::module::Module;
use burn::tensor::Device;
use rayon::ThreadPoolBuilder;
use rl_env::{AutoresetMode, Space};

use super::{Pqn, PqnConfig, PqnMetrics};
use crate::networks::{HeadKind, PolicyConfig, load_weights, weights};
use crate::testing::{RandomEnvs, assert_legal, spec, spec_of_choices, spec_of_masks};
use crate::{Learner, LearnerError, ValueScale, VectorSpec, check_learner};

fn vectors(mode: AutoresetMode) -> VectorSpec {
    spec(Space::floats(3, -1.0, 1.0), mode)
}

fn learner(spec: VectorSpec) -> Pqn {
    let config = PqnConfig { total_steps: 320, num_steps: 16, learning_rate: 1e-2, ..PqnConfig::default() };
    Pqn::new(config, PolicyConfig::default(), spec, &Device::flex(), 7).unwrap()
}

/// One step of learner and environments, and an update if one is due.
fn step(pqn: &mut Pqn, envs: &mut RandomEnvs) -> Option<PqnMetrics> {
    let actions = pqn.act(&envs.batch).unwrap();
    assert_legal(&envs.spec, actions);
    envs.step();
    pqn.observe(&envs.batch).unwrap();
    pqn.is_ready().then(|| pqn.update().unwrap())
}

fn train(spec: VectorSpec, steps: usize) -> Vec<u8> {
    let (mut pqn, mut envs) = (learner(spec.clone()), RandomEnvs::new(spec));
    for _ in 0..steps {
        step(&mut pqn, &mut envs);
    }
    pqn.state().unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let images = spec(Space::bytes([2, 36, 40]), AutoresetMode::SameStep);
    let with_threads = |num_threads| {
        let pool = ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap();
        pool.install(|| train(images.clone(), 18))
    };
    assert!(with_threads(1) == with_threads(2));
}

#[test]
fn every_kind_of_network_follows_the_rules_of_learners() {
    let config = PqnConfig { total_steps: 320, num_steps: 16, learning_rate: 1e-2, ..PqnConfig::default() };
    let check = |value_scale, spec: VectorSpec| {
        let policy = PolicyConfig { value_scale, ..PolicyConfig::default() };
        let new = || Pqn::new(config.clone(), policy.clone(), spec.clone(), &Device::flex(), 7).unwrap();
        // Three moments for each minibatch, in two updates.
        let stops = check_learner(new, &Device::flex()).unwrap();
        assert!(stops >= 2 * 3 * config.update_epochs * config.num_minibatches, "{stops}");
    };
    check(ValueScale::None, vectors(AutoresetMode::NextStep));
    check(ValueScale::PopArt, vectors(AutoresetMode::SameStep));
    check(ValueScale::None, spec_of_choices(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep));
    check(ValueScale::None, spec_of_masks(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep));
}

#[test]
fn an_extended_training_equals_a_longer_one_and_schedules_follow_the_new_total() {
    let spec = || vectors(AutoresetMode::SameStep);
    let constant = |total_steps| PqnConfig {
        total_steps,
        num_steps: 16,
        learning_rate: 1e-2,
        anneal_lr: false,
        start_e: 0.2,
        end_e: 0.2,
        ..PqnConfig::default()
    };
    let complete = |pqn: &mut Pqn, envs: &mut RandomEnvs| {
        while !pqn.is_complete() {
            step(pqn, envs);
        }
    };
    let new = |total| Pqn::new(constant(total), PolicyConfig::default(), spec(), &Device::flex(), 7).unwrap();
    let (mut whole, mut envs) = (new(320), RandomEnvs::new(spec()));
    complete(&mut whole, &mut envs);
    let (mut part, mut envs) = (new(192), RandomEnvs::new(spec()));
    complete(&mut part, &mut envs);
    let continued =
        |config, policy| Pqn::from_state_with(&part.state().unwrap(), config, policy, &Device::flex());
    let mut extended = continued(constant(320), PolicyConfig::default()).unwrap();
    complete(&mut extended, &mut envs);
    assert!(extended.state().unwrap() == whole.state().unwrap());

    // Three of six updates are made. Exploration decays from 1 to 0 over all of them.
    let annealed =
        PqnConfig { anneal_lr: true, start_e: 1.0, end_e: 0.0, exploration_fraction: 1.0, ..constant(384) };
    let mut annealed = continued(annealed, PolicyConfig::default()).unwrap();
    assert_eq!(annealed.epsilon(), 0.5);
    let metrics = std::iter::repeat_with(|| step(&mut annealed, &mut envs)).flatten().next().unwrap();
    assert!((metrics.learning_rate - 5e-3).abs() < 1e-12, "{metrics:?}");

    let longer = continued(PqnConfig { num_steps: 32, ..constant(320) }, PolicyConfig::default());
    assert!(matches!(longer.err(), Some(LearnerError::Fixed(error)) if error.field == "num_steps"));
}

#[test]
fn updated_value_scales_preserve_predictions() {
    let spec = vectors(AutoresetMode::NextStep);
    // The learning rate is too small to change anything.
    let config = PqnConfig { total_steps: 320, num_steps: 16, learning_rate: 1e-30, ..PqnConfig::default() };
    let policy = PolicyConfig { value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
    let mut pqn = Pqn::new(config, policy, spec.clone(), &Device::flex(), 7).unwrap();
    let mut envs = RandomEnvs::new(spec);
    let values = |pqn: &Pqn, envs: &RandomEnvs| pqn.policy(pqn.spec()).unwrap().values(&envs.batch).unwrap();
    for update in 0..4 {
        envs.act_until_ready(&mut pqn, 1000.0);
        let (before, scales) = (values(&pqn, &envs), pqn.agent.actor.head().scales.clone());
        pqn.update().unwrap();
        assert_ne!(pqn.agent.actor.head().scales, scales);
        // A task's predictions are not preserved for its first returns.
        if update == 0 {
            continue;
        }
        for (before, after) in before.iter().flatten().zip(values(&pqn, &envs).iter().flatten()) {
            assert!((before - after).abs() < 1e-3 * before.abs().max(1.0), "{before} and {after}");
        }
    }
    let restored = Pqn::from_state(&pqn.state().unwrap(), &Device::flex()).unwrap();
    assert_eq!(values(&restored, &envs), values(&pqn, &envs));
}

#[test]
fn illegal_actions_affect_neither_actions_nor_updates() {
    // The last three of the first task's five columns, or the shared action that no task has.
    for (head, columns, illegal) in [(HeadKind::PerGame, 10, 2..5), (HeadKind::Shared, 7, 5..6)] {
        let policy = PolicyConfig { head, ..PolicyConfig::default() };
        let spec = vectors(AutoresetMode::SameStep);
        let config = PqnConfig { total_steps: 320, num_steps: 16, start_e: 0.0, ..PqnConfig::default() };
        let mut pqn = Pqn::new(config, policy, spec.clone(), &Device::flex(), 7).unwrap();
        let mut envs = RandomEnvs::new(spec);
        // Enormous values for illegal actions.
        let training = &mut pqn.on_policy.training;
        let mut parameters = weights(&training.network).unwrap();
        let bias = parameters.iter_mut().find(|parameter| parameter.shape == [columns]).unwrap();
        bias.values[illegal.clone()].fill(1e9);
        training.network = load_weights(training.network.clone(), parameters).unwrap();
        pqn.agent.actor.set_network(Module::valid(&training.network));
        for _ in 0..32 {
            if let Some(metrics) = step(&mut pqn, &mut envs) {
                assert!(metrics.td_loss < 100.0 && metrics.q_values.abs() < 100.0, "{metrics:?}");
            }
        }
        let trained = weights(&pqn.on_policy.training.network).unwrap();
        let bias = trained.iter().find(|parameter| parameter.shape == [columns]).unwrap();
        assert!(
            bias.values[illegal].iter().all(|&value| value == 1e9),
            "a gradient reached an illegal action"
        );
    }
}

#[test]
fn learning_rate_and_epsilon_are_annealed_over_the_planned_updates() {
    let spec = vectors(AutoresetMode::NextStep);
    let (mut pqn, mut envs) = (learner(spec.clone()), RandomEnvs::new(spec));
    pqn.config.exploration_fraction = 0.4;
    assert_eq!(pqn.num_updates(), 5);
    let mut found = Vec::new();
    while pqn.updates() < 5 {
        found.extend(step(&mut pqn, &mut envs).map(|metrics| (metrics.learning_rate, metrics.epsilon)));
    }
    let expected = [(0.01, 1.0), (0.008, 0.505), (0.006, 0.01), (0.004, 0.01), (0.002, 0.01)];
    let near = |(found, expected): (&(f64, f64), &(f64, f64))| {
        (found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-6
    };
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(&expected).all(near), "{found:?}");
}

#[test]
fn the_decay_of_epsilon_may_end_within_a_rollout() {
    let mut pqn = learner(vectors(AutoresetMode::NextStep));
    // Half a rollout, and one and a half.
    for (fraction, expected) in [(0.1, [1.0, 0.01, 0.01]), (0.3, [1.0, 0.34, 0.01])] {
        pqn.config.exploration_fraction = fraction;
        for (updates, expected) in (0..).zip(expected) {
            pqn.on_policy.updates = updates;
            let epsilon = pqn.epsilon();
            assert!((epsilon - expected).abs() < 1e-6, "{epsilon} after {updates} updates with {fraction}");
        }
    }
}

#[test]
fn reset_rows_are_not_learned_from() {
    let run = |disturb: bool| {
        let spec = vectors(AutoresetMode::NextStep);
        let (mut pqn, mut envs) = (learner(spec.clone()), RandomEnvs::new(spec));
        let mut resets = 0;
        while !pqn.is_ready() {
            pqn.act(&envs.batch).unwrap();
            envs.step();
            let mut batch = envs.batch.clone();
            for env in (0..batch.len()).filter(|&env| envs.batch.autoreset[env]) {
                resets += 1;
                if disturb {
                    batch.rewards[env] = 1000.0;
                }
            }
            pqn.observe(&batch).unwrap();
        }
        let metrics = pqn.update().unwrap();
        assert!(resets > 5);
        assert_eq!(metrics.transitions, 64 - resets);
        weights(&pqn.on_policy.training.network).unwrap()
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn non_finite_values_and_calls_out_of_order_are_errors() {
    let spec = vectors(AutoresetMode::NextStep);
    let (mut pqn, mut envs) = (learner(spec.clone()), RandomEnvs::new(spec));
    assert!(matches!(pqn.observe(&envs.batch), Err(LearnerError::OutOfOrder(_))));
    assert!(matches!(pqn.update(), Err(LearnerError::OutOfOrder(_))));
    pqn.act(&envs.batch).unwrap();
    envs.step();
    let mut broken = envs.batch.clone();
    broken.rewards[3] = f32::INFINITY;
    assert_eq!(pqn.observe(&broken).unwrap_err().to_string(), "the reward of environment 3 is not finite");
    broken.rewards[3] = f32::MAX;
    broken.autoreset[3] = false;
    pqn.observe(&broken).unwrap();
    while !pqn.is_ready() {
        step(&mut pqn, &mut envs);
        if pqn.on_policy.rollout.is_last_step(0) {
            pqn.act(&envs.batch).unwrap();
            envs.step();
            pqn.observe(&envs.batch).unwrap();
        }
    }
    let error = pqn.update().unwrap_err();
    assert!(matches!(error, LearnerError::Diverged(_)), "{error}");
    let weights = weights(&pqn.on_policy.training.network).unwrap();
    assert!(weights.iter().all(|parameter| parameter.values.iter().all(|value| value.is_finite())));
}
