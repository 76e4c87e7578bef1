//! The schedule of gradient steps, random actions and updates of the target network.

use super::{config, learner, step, vectors};
use crate::Learner;
use crate::dqn::{Dqn, DqnConfig};
use crate::networks::weights;
use crate::testing::RandomEnvs;

#[test]
fn gradient_steps_follow_the_train_ratio() {
    for train_ratio in [0.1, 0.375, 1.0, 2.5] {
        let config = DqnConfig { train_ratio, ..config() };
        let learning_starts = config.learning_starts as u64;
        let (mut dqn, mut envs) = (learner(config, vectors()), RandomEnvs::new(vectors()));
        let (mut gradient_steps, mut steps) = (0, 0);
        for _ in 0..50 {
            let before = dqn.off_policy.steps;
            gradient_steps += step(&mut dqn, &mut envs).map_or(0, |metrics| metrics.gradient_steps);
            if dqn.off_policy.steps >= learning_starts {
                steps += dqn.off_policy.steps - before;
            }
        }
        assert_eq!(dqn.updates(), gradient_steps as u64);
        let due = steps as f64 * train_ratio;
        assert!(gradient_steps > 0);
        // Less than one step may be left over; sums of ratios are rounded.
        assert!((0.0..1.0 + 1e-9).contains(&(due - gradient_steps as f64)), "{gradient_steps} of {due}");
    }
}

#[test]
fn epsilon_is_annealed_linearly() {
    let mut dqn = learner(config(), vectors());
    let at = |dqn: &mut Dqn, steps| {
        dqn.off_policy.steps = steps;
        (dqn.epsilon() * 1000.0).round()
    };
    // From 1 to 0.01 over the first half of 400 steps, in thousandths.
    assert_eq!([0, 100, 200, 399].map(|steps| at(&mut dqn, steps)), [1000.0, 505.0, 10.0, 10.0]);
    assert!(!dqn.is_complete());
    dqn.off_policy.steps = 400;
    assert!(dqn.is_complete());
}

#[test]
fn the_target_network_is_updated_when_it_is_due() {
    for tau in [1.0, 0.25] {
        // At most one gradient step per step of the four environments, so that the test sees each of them.
        let config = DqnConfig { tau, train_ratio: 0.25, ..config() };
        let frequency = config.target_network_frequency;
        let (mut dqn, mut envs) = (learner(config, vectors()), RandomEnvs::new(vectors()));
        let fresh = weights(&dqn.agent.target).unwrap();
        for updates in 1..frequency {
            while dqn.updates() < updates {
                step(&mut dqn, &mut envs);
            }
            assert_eq!(dqn.updates(), updates);
            assert_eq!(weights(&dqn.agent.target).unwrap(), fresh);
        }
        while dqn.updates() < frequency {
            step(&mut dqn, &mut envs);
        }
        assert_eq!(dqn.updates(), frequency);
        let (target, online) =
            (weights(&dqn.agent.target).unwrap(), weights(&dqn.agent.training.network).unwrap());
        assert_ne!(target, fresh);
        assert_eq!(target == online, tau == 1.0);
        for ((target, fresh), online) in target.iter().zip(&fresh).zip(&online) {
            let expected = fresh.values.iter().zip(&online.values).map(|(a, b)| (1.0 - tau) * a + tau * b);
            for (value, expected) in target.values.iter().zip(expected) {
                assert!((value - expected).abs() < 1e-6, "{value} {expected}");
            }
        }
    }
}
