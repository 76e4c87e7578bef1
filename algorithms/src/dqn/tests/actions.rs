//! Legal actions, actions with several choices, and tasks of other environments.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::Device;
use rl_env::{Actions, AutoresetMode, Batch, Space};

use super::{config, learner, rainbow, restored, step, variants, vectors};
use crate::dqn::{Dqn, DqnConfig};
use crate::networks::{HeadKind, PolicyConfig, load_weights, weights};
use crate::testing::{RandomEnvs, argmax, assert_legal, spec, spec_of_choices};
use crate::{Learner, SpecError};

#[test]
fn several_choices_are_learned_from_and_restored_bit_for_bit() {
    for (index, config) in variants().into_iter().enumerate() {
        let head = if index % 2 == 0 { HeadKind::PerGame } else { HeadKind::Shared };
        let policy = PolicyConfig { head, ..PolicyConfig::default() };
        for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
            let spec = spec_of_choices(Space::floats(3, -1.0, 1.0), mode);
            let new = Dqn::new(config.clone(), policy.clone(), spec.clone(), &Device::flex(), 7);
            let (mut dqn, mut envs) = (new.unwrap(), RandomEnvs::new(spec.clone()));
            for _ in 0..41 {
                step(&mut dqn, &mut envs);
            }
            let (mut restored_dqn, mut restored_envs) = (restored(&mut dqn, true), envs.clone());
            for _ in 0..20 {
                let metrics = step(&mut dqn, &mut envs);
                assert_eq!(metrics, step(&mut restored_dqn, &mut restored_envs));
            }
            assert!(dqn.state().unwrap() == restored_dqn.state().unwrap());
            let policy = dqn.policy(&spec).unwrap();
            let values = policy.values(&envs.batch).unwrap();
            let greedy = policy.greedy(&envs.batch).unwrap();
            assert_legal(&spec, Actions::Discrete(&greedy));
            assert_eq!(greedy, greedy_elements(&values));
        }
    }
}

/// Returns the greedy actions for the values of the environments of [`spec_of_choices`]: the index of a factored action
/// or of a single choice. The second environment has two choices, of 3 and of 4 options, and so two elements.
fn greedy_elements(values: &[Vec<f32>]) -> Vec<i32> {
    assert_eq!(values.iter().map(Vec::len).collect::<Vec<_>>(), [5, 3 + 4, 5, 5]);
    let [factored, product, five, factored_too] = values else { panic!("four environments") };
    [factored, &product[..3], &product[3..], five, factored_too].map(|values| argmax(values) as i32).to_vec()
}

/// The kind of head, the number of columns of its last layer, and the columns of illegal actions: the last
/// three of the first task's five, or the shared action that no task has.
const ILLEGAL: [(HeadKind, usize, Range<usize>); 2] =
    [(HeadKind::PerGame, 10, 2..5), (HeadKind::Shared, 7, 5..6)];

#[test]
fn illegal_actions_affect_neither_actions_nor_updates() {
    for (head, columns, illegal) in ILLEGAL {
        let policy = PolicyConfig { head, ..PolicyConfig::default() };
        let mut dqn = Dqn::new(config(), policy, vectors(), &Device::flex(), 7).unwrap();
        let mut envs = RandomEnvs::new(vectors());
        // Enormous values for illegal actions.
        let mut parameters = weights(&dqn.agent.training.network).unwrap();
        let bias = parameters.iter_mut().find(|parameter| parameter.shape == [columns]).unwrap();
        bias.values[illegal.clone()].fill(1e9);
        dqn.agent.training.network = load_weights(dqn.agent.training.network, parameters).unwrap();
        dqn.agent.target = dqn.agent.training.network.valid();
        dqn.agent.actor.set_network(dqn.agent.training.network.valid());
        dqn.config.start_e = 0.0;
        for _ in 0..20 {
            if let Some(metrics) = step(&mut dqn, &mut envs) {
                assert!(metrics.td_loss < 100.0, "{metrics:?}");
            }
        }
        let trained = weights(&dqn.agent.training.network).unwrap();
        let bias = trained.iter().find(|parameter| parameter.shape == [columns]).unwrap();
        assert!(
            bias.values[illegal].iter().all(|&value| value == 1e9),
            "a gradient reached an illegal action"
        );
    }
}

#[test]
fn a_policy_matches_tasks_of_other_environments_by_name() {
    let (dqn, envs) = (learner(rainbow(), vectors()), RandomEnvs::new(vectors()));
    let policy = dqn.policy(dqn.spec()).unwrap();
    let values = policy.values(&envs.batch).unwrap();
    assert_eq!(values.iter().map(Vec::len).collect::<Vec<_>>(), [2, 5, 5, 2]);

    // Only the second task, twice, on the observations of environments 1 and 2.
    let mut only_five = vectors();
    only_five.tasks.remove(0);
    only_five.task_ids = vec![0, 0];
    let mut batch = Batch::new(2, 12, false);
    for row in 0..2 {
        batch.observations.row_mut(row).copy_from_slice(envs.batch.observations.row(row + 1));
    }
    let policy_of_five = dqn.policy(&only_five).unwrap();
    assert_eq!(policy_of_five.greedy(&batch).unwrap(), policy.greedy(&envs.batch).unwrap()[1..3]);

    let mut unknown = only_five.clone();
    unknown.tasks[0].name = "six".to_owned();
    assert!(matches!(dqn.policy(&unknown), Err(SpecError::UnknownTask { .. })));
    let images = spec(Space::bytes([2, 36, 40]), AutoresetMode::NextStep);
    assert!(matches!(dqn.policy(&images), Err(SpecError::OtherObservations { .. })));
}

/// Without random actions, equal observations lead to different actions only through noise.
#[test]
fn each_environment_acts_and_each_network_learns_with_its_own_noise() {
    let without_random_actions =
        |noisy| DqnConfig { noisy, start_e: 0.0, end_e: 0.0, learning_starts: 100, ..config() };
    for noisy in [false, true] {
        let (mut dqn, mut envs) =
            (learner(without_random_actions(noisy), vectors()), RandomEnvs::new(vectors()));
        let observation = envs.batch.observations.row(0).to_vec();
        // The actions of the second and the third environment, which have the same task.
        let mut taken = Vec::new();
        while !dqn.is_ready() {
            envs.batch.observations.rows_mut().for_each(|row| row.copy_from_slice(&observation));
            let Actions::Discrete(&[_, second, third, _]) = dqn.act(&envs.batch).unwrap() else {
                panic!("four actions");
            };
            taken.push((second, third));
            envs.step();
            dqn.observe(&envs.batch).unwrap();
        }
        assert_eq!(taken.iter().any(|&(second, third)| second != third), noisy);
        assert_eq!(taken.iter().any(|&(second, _)| second != taken[0].0), noisy);
    }
    for (noisy, double) in [(false, true), (true, false), (true, true)] {
        let noise = learner(DqnConfig { double, ..without_random_actions(noisy) }, vectors()).draw_noise();
        let drawn = [&noise.online, &noise.target, &noise.selection].map(Option::is_some);
        assert_eq!(drawn, [noisy, noisy, noisy && double]);
    }
}
