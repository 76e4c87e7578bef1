//! States: the same bytes for the same seed, restored learners, changed settings, undone updates.

use burn::tensor::Device;
use rayon::ThreadPoolBuilder;
use rl_env::{AutoresetMode, Space};

use super::{config, learner, rainbow, restored, state_without_replay, step, train, variants, vectors};
use crate::dqn::{Dqn, DqnConfig};
use crate::networks::{PolicyConfig, weights};
use crate::testing::{RandomEnvs, images_and_floats, spec, spec_of_masks};
use crate::{Learner, LearnerError, Placement, VectorSpec, check_learner};

/// Checks that a learner follows the rules. An update can be stopped if at least eight gradient steps are due.
fn check(config: &DqnConfig, policy: &PolicyConfig, spec: &VectorSpec) {
    let config = DqnConfig { train_ratio: 4.0, ..config.clone() };
    let new = || Dqn::new(config.clone(), policy.clone(), spec.clone(), &Device::flex(), 7).unwrap();
    let stops = check_learner(new, &Device::flex()).unwrap();
    assert!(stops >= 2 * 8, "{stops}");
}

#[test]
fn every_variant_follows_the_rules_of_learners() {
    for config in variants() {
        for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
            check(&config, &PolicyConfig::default(), &spec(Space::floats(3, -1.0, 1.0), mode));
        }
    }
}

#[test]
fn masks_and_images_beside_vectors_follow_the_rules_of_learners() {
    for (config, mode) in [(config(), AutoresetMode::NextStep), (rainbow(), AutoresetMode::SameStep)] {
        check(&config, &PolicyConfig::default(), &spec_of_masks(Space::floats(3, -1.0, 1.0), mode));
    }
    let small = PolicyConfig { width: 0.125, hidden_size: Some(8), ..PolicyConfig::default() };
    check(&config(), &small, &spec(images_and_floats(), AutoresetMode::SameStep));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let images = spec(Space::bytes([2, 36, 40]), AutoresetMode::SameStep);
    let with_threads = |num_threads| {
        let pool = ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap();
        pool.install(|| train(rainbow(), images.clone(), 8))
    };
    assert!(with_threads(1) == with_threads(2));
}

/// Returns the learner with other settings.
fn continued(dqn: &Dqn, config: DqnConfig, policy: PolicyConfig) -> Result<Dqn, LearnerError> {
    Dqn::from_state_with(&dqn.state().unwrap(), config, policy, Placement::default(), &Device::flex())
}

#[test]
fn an_extended_training_equals_a_longer_one() {
    let complete = |dqn: &mut Dqn, envs: &mut RandomEnvs| {
        while !dqn.is_complete() {
            step(dqn, envs);
        }
    };
    let noisy = DqnConfig { start_e: 0.0, end_e: 0.0, prioritized: false, ..rainbow() };
    for constant in [DqnConfig { start_e: 0.1, end_e: 0.1, ..config() }, noisy] {
        let with_total = |total_steps| DqnConfig { total_steps, ..constant.clone() };
        let spec = || spec(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
        let (mut whole, mut envs) = (learner(with_total(120), spec()), RandomEnvs::new(spec()));
        complete(&mut whole, &mut envs);
        let (mut part, mut envs) = (learner(with_total(60), spec()), RandomEnvs::new(spec()));
        complete(&mut part, &mut envs);
        let mut extended = continued(&part, with_total(120), PolicyConfig::default()).unwrap();
        complete(&mut extended, &mut envs);
        assert!(extended.state().unwrap() == whole.state().unwrap());
    }
}

#[test]
fn epsilon_follows_the_new_total() {
    let (mut dqn, mut envs) = (learner(config(), vectors()), RandomEnvs::new(vectors()));
    while dqn.off_policy.steps < 100 {
        step(&mut dqn, &mut envs);
    }
    // It falls from 1 by 0.99 over the first half of training: a quarter of the way, then an eighth.
    let expected = |share: f64| 1.0 - share * (1.0 - f64::from(0.01f32));
    assert!((dqn.epsilon() - expected(dqn.off_policy.steps as f64 / 200.0)).abs() < 1e-9);
    let longer =
        continued(&dqn, DqnConfig { total_steps: 800, ..config() }, PolicyConfig::default()).unwrap();
    assert!((longer.epsilon() - expected(dqn.off_policy.steps as f64 / 400.0)).abs() < 1e-9);
}

#[test]
fn settings_that_shape_the_state_are_fixed() {
    let (mut dqn, mut envs) = (learner(config(), vectors()), RandomEnvs::new(vectors()));
    while dqn.off_policy.steps < 100 {
        step(&mut dqn, &mut envs);
    }
    let fixed = |change: fn(&mut DqnConfig)| {
        let mut config = config();
        change(&mut config);
        match continued(&dqn, config, PolicyConfig::default()).err() {
            Some(LearnerError::Fixed(error)) => error.field,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(fixed(|config| config.buffer_size = 121), "buffer_size");
    assert_eq!(fixed(|config| config.num_atoms = 12), "num_atoms");
    assert_eq!(fixed(|config| config.noisy = true), "noisy");
    let shorter = continued(&dqn, DqnConfig { total_steps: 50, ..config() }, PolicyConfig::default()).err();
    assert!(matches!(shorter, Some(LearnerError::Config(error)) if error.field == "total_steps"));
    let free = DqnConfig { gamma: 0.5, batch_size: 4, train_ratio: 1.0, tau: 0.5, ..config() };
    assert_eq!(continued(&dqn, free.clone(), PolicyConfig::default()).unwrap().config(), &free);
}

#[test]
fn states_can_be_written_between_act_and_observe() {
    let images = spec(Space::bytes([4, 36, 40]), AutoresetMode::SameStep);
    let one = VectorSpec { tasks: vec![images.tasks[0].clone()], task_ids: vec![0], ..images };
    // With episodes of one step there is room for 19 steps of four frames, after which each observation replaces the
    // frames of an earlier one.
    let small = DqnConfig { buffer_size: 64, prioritized: true, ..config() };
    for (config, spec, are_short, steps) in [(config(), vectors(), false, 10), (small, one, true, 24)] {
        let (mut dqn, mut envs) = (learner(config, spec.clone()), RandomEnvs::new(spec));
        for _ in 0..steps {
            dqn.act(&envs.batch).unwrap();
            let mut other = restored(&mut dqn, true);
            assert!(matches!(state_without_replay(&mut dqn), Err(LearnerError::OutOfOrder(_))));
            envs.step();
            if are_short {
                envs.batch.terminated.fill(true);
            }
            for dqn in [&mut dqn, &mut other] {
                dqn.observe(&envs.batch).unwrap();
                if dqn.is_ready() {
                    dqn.update().unwrap();
                }
            }
            assert!(dqn.state().unwrap() == other.state().unwrap());
        }
    }
}

#[test]
fn a_lost_replay_buffer_is_refilled_before_learning_continues() {
    let config = DqnConfig { learning_starts: 40, train_ratio: 8.0, ..config() };
    let (mut dqn, mut envs) = (learner(config, vectors()), RandomEnvs::new(vectors()));
    while dqn.updates() < 10 {
        step(&mut dqn, &mut envs);
    }
    // The gradient steps of a stopped update are still due.
    envs.act_until_ready(&mut dqn, 1.0);
    assert_eq!(dqn.update_unless(&|| true).unwrap(), None);
    let mut other = restored(&mut dqn, false);
    assert_eq!(
        weights(&other.agent.training.network).unwrap(),
        weights(&dqn.agent.training.network).unwrap()
    );
    let (updates, steps) = (other.updates(), other.off_policy.steps);
    while other.updates() == updates {
        step(&mut other, &mut envs);
    }
    assert!(other.off_policy.steps >= steps + 40);
}

#[test]
fn a_refilled_replay_buffer_needs_no_steps_of_environments_that_have_used_up_theirs() {
    for config in variants() {
        let (mut dqn, mut envs) = (learner(config, vectors()), RandomEnvs::new(vectors()));
        while dqn.updates() < 10 {
            step(&mut dqn, &mut envs);
        }
        let mut other = restored(&mut dqn, false);
        envs.step_while_resting(&mut other, 0, 30, |dqn| {
            dqn.update().unwrap();
        });
        assert!(other.updates() > dqn.updates(), "{} updates", other.updates());
    }
}

#[test]
fn an_impossible_number_of_due_gradient_steps_is_refused() {
    let mut dqn = learner(config(), vectors());
    for number in [-1.0, 1e300, f64::INFINITY, f64::NAN] {
        dqn.off_policy.due_gradient_steps = number;
        for state in [dqn.state().unwrap(), state_without_replay(&mut dqn).unwrap()] {
            match Dqn::from_state(&state, &Device::flex()).err() {
                Some(LearnerError::BadState(problem)) => {
                    assert_eq!(problem, "the number of due gradient steps is not between 0 and 1000000000");
                }
                other => panic!("{number}: {other:?}"),
            }
        }
    }
}
