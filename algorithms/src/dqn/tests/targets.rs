//! Targets, priorities and the ends of episodes.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_env::{AutoresetMode, Batch, Space};

use super::{config, learner, step, vectors};
use crate::Learner;
use crate::dqn::minibatch::Minibatch;
use crate::dqn::minibatch::StepNoise;
use crate::dqn::{Dqn, DqnConfig};
use crate::networks::{PolicyConfig, QNetwork, weights};
use crate::testing::{RandomEnvs, all_actions, argmax, spec, spec_of_choices, spec_of_masks};

fn minibatch(dqn: &Dqn, count: usize) -> Minibatch {
    let draws = dqn.off_policy.replay.draw(count, 1.0, &mut ChaCha8Rng::seed_from_u64(1));
    let shard = dqn.off_policy.shards_of(&draws).swap_remove(0);
    Minibatch::gather(&dqn.off_policy, &draws, shard, &StepNoise::default(), &dqn.agent.training.device)
}

fn targets(dqn: &mut Dqn, minibatch: &Minibatch) -> Vec<f32> {
    dqn.targets(std::slice::from_ref(minibatch), &StepNoise::default()).unwrap().concat()
}

/// The double Q-learning target: the online network selects the action, the target network evaluates it.
#[test]
fn double_targets_use_the_target_network_for_evaluation_only() {
    let spec = vectors();
    let config = DqnConfig { double: true, train_ratio: 0.01, gamma: 0.5, ..config() };
    let (mut dqn, mut envs) = (learner(config, spec.clone()), RandomEnvs::new(spec.clone()));
    // A target network that differs from the trained network.
    let other = Dqn::new(DqnConfig::default(), PolicyConfig::default(), spec, &Device::flex(), 99).unwrap();
    dqn.agent.target = other.agent.target;
    for _ in 0..20 {
        step(&mut dqn, &mut envs);
    }
    let minibatch = minibatch(&dqn, 32);
    let targets = targets(&mut dqn, &minibatch);
    let host = |tensor: Tensor<3>| tensor.try_into_vec_as::<f32>().unwrap();
    let forward = |network: &QNetwork| {
        host(network.forward(minibatch.successors.clone(), &minibatch.successor_rows, None))
    };
    let (of_target, of_online) = (forward(&dqn.agent.target), forward(&dqn.agent.training.network.valid()));
    let mut differ = 0;
    for (row, (&task, n_step)) in minibatch.tasks.iter().zip(&minibatch.returns).enumerate() {
        let legal = row * 5..row * 5 + dqn.off_policy.spec.tasks[task].actions.num_outputs();
        let best = |values: &[f32]| argmax(&values[legal.clone()]);
        let chosen = best(&of_online);
        differ += usize::from(chosen != best(&of_target));
        let expected = n_step.rewards + n_step.discount * of_target[row * 5 + chosen];
        assert!((targets[row] - expected).abs() < 1e-5, "{} and {expected}", targets[row]);
    }
    assert!(differ > 3, "both networks select the same actions");
}

/// The targets of Tavakoli et al. 2018: the mean over the choices of the next action.
#[test]
fn targets_of_several_choices_are_means_over_those_of_the_best_legal_action() {
    let spec = spec_of_choices(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
    let config = DqnConfig { dueling: true, gamma: 0.5, train_ratio: 0.01, ..config() };
    let (mut dqn, mut envs) = (learner(config, spec.clone()), RandomEnvs::new(spec.clone()));
    for _ in 0..20 {
        step(&mut dqn, &mut envs);
    }
    let minibatch = minibatch(&dqn, 30);
    let targets = targets(&mut dqn, &minibatch);
    let next = dqn.agent.target.forward(minibatch.successors.clone(), &minibatch.successor_rows, None);
    let next: Vec<f32> = next.try_into_vec_as().unwrap();
    let mut several = 0;
    for (row, (&task, n_step)) in minibatch.tasks.iter().zip(&minibatch.returns).enumerate() {
        let actions = spec.tasks[task].actions.expect_joint();
        let values = &next[row * 7..][..7];
        let mean = |options: &Vec<i32>| {
            let starts = (0..options.len()).map(|choice| actions.sizes()[..choice].iter().sum::<usize>());
            let of_options = starts.zip(options).map(|(start, &option)| values[start + option as usize]);
            of_options.sum::<f32>() / options.len() as f32
        };
        let best = all_actions(actions).iter().map(mean).fold(f32::NEG_INFINITY, f32::max);
        let expected = n_step.rewards + n_step.discount * best;
        assert!((targets[row] - expected).abs() < 1e-5, "{} and {expected}", targets[row]);
        several += usize::from(actions.num_choices() > 1 && n_step.discount > 0.0);
    }
    assert!(several > 5);
}

#[test]
fn targets_use_options_that_the_masks_of_the_successors_allow() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let spec = spec_of_masks(Space::floats(3, -1.0, 1.0), mode);
        let config = DqnConfig { gamma: 0.5, train_ratio: 0.01, n_step: 2, ..config() };
        let (mut dqn, mut envs) = (learner(config, spec.clone()), RandomEnvs::new(spec.clone()));
        // The masks of all observations that follow an action, by their bytes.
        let mut masks: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for _ in 0..20 {
            step(&mut dqn, &mut envs);
            let Batch { observations, action_masks, final_action_masks, .. } = &envs.batch;
            let of_successors = match mode {
                AutoresetMode::SameStep => final_action_masks,
                _ => action_masks,
            };
            for env in 0..4 {
                masks.insert(observations.row(env).to_vec(), of_successors.row(env).to_vec());
            }
        }
        let minibatch = minibatch(&dqn, 30);
        let targets = targets(&mut dqn, &minibatch);
        let next = dqn.agent.target.forward(minibatch.successors.clone(), &minibatch.successor_rows, None);
        let next: Vec<f32> = next.try_into_vec_as().unwrap();
        let successors: Vec<f32> = minibatch.successors.clone().try_into_vec_as().unwrap();
        let mut bootstrapped = 0;
        for (row, (&task, n_step)) in minibatch.tasks.iter().zip(&minibatch.returns).enumerate() {
            if n_step.discount == 0.0 {
                continue;
            }
            let bytes: Vec<u8> =
                successors[row * 3..][..3].iter().flat_map(|value| value.to_ne_bytes()).collect();
            let (mask, values) = (&masks[&bytes], &next[row * 7..][..7]);
            let (mut start, mut best) = (0, 0.0);
            let sizes = spec.tasks[task].actions.expect_joint().sizes();
            for &size in sizes {
                let allowed = (start..start + size).filter(|&column| mask[column] == 1);
                best += allowed.map(|column| values[column]).fold(f32::NEG_INFINITY, f32::max);
                start += size;
            }
            let expected = n_step.rewards + n_step.discount * best / sizes.len() as f32;
            assert!((targets[row] - expected).abs() < 1e-5, "{} and {expected}", targets[row]);
            bootstrapped += 1;
        }
        assert!(bootstrapped > 10);
    }
}

/// The priorities of Tavakoli et al. 2018: the sum of the absolute errors of the choices.
#[test]
fn priorities_of_several_choices_are_sums_of_their_errors() {
    let spec = spec_of_choices(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
    let config = DqnConfig { prioritized: true, per_alpha: 1.0, learning_rate: 1e-30, ..config() };
    let (mut dqn, mut envs) = (learner(config, spec.clone()), RandomEnvs::new(spec.clone()));
    for _ in 0..20 {
        step(&mut dqn, &mut envs);
    }
    let minibatch = minibatch(&dqn, 30);
    let targets = targets(&mut dqn, &minibatch);
    let values = dqn.agent.training.network.forward(minibatch.observations.clone(), &minibatch.rows, None);
    let values: Vec<f32> = values.try_into_vec_as().unwrap();
    dqn.learn_from(&minibatch.draws, &StepNoise::default()).unwrap();
    for (row, draw) in minibatch.draws.iter().enumerate() {
        let options = dqn.off_policy.replay.action(draw);
        let columns = spec.joint_actions(draw.env).columns(&options);
        let error: f32 = columns.map(|column| (values[row * 7 + column] - targets[row]).abs()).sum();
        let priority = dqn.off_policy.replay.priority(draw);
        assert!((priority - f64::from(error)).abs() < 1e-4, "{priority} and {error}");
    }
}

#[test]
fn final_observations_matter_exactly_where_an_episode_was_truncated() {
    let same_step = spec(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
    let run = |disturb: fn(&Batch, usize) -> bool| {
        let (mut dqn, mut envs) = (learner(config(), same_step.clone()), RandomEnvs::new(same_step.clone()));
        for _ in 0..30 {
            dqn.act(&envs.batch).unwrap();
            envs.step();
            let mut batch = envs.batch.clone();
            for env in (0..batch.len()).filter(|&env| disturb(&envs.batch, env)) {
                batch.final_observations.row_mut(env).fill(0);
            }
            dqn.observe(&batch).unwrap();
            if dqn.is_ready() {
                dqn.update().unwrap();
            }
        }
        weights(&dqn.agent.training.network).unwrap()
    };
    let undisturbed = run(|_, _| false);
    assert_eq!(undisturbed, run(|batch, env| batch.terminated[env]));
    assert_ne!(undisturbed, run(|batch, env| batch.truncated[env]));
}

#[test]
fn reset_rows_are_not_learned_from() {
    let run = |disturb: bool| {
        let (mut dqn, mut envs) = (learner(config(), vectors()), RandomEnvs::new(vectors()));
        let mut resets = 0;
        for _ in 0..30 {
            dqn.act(&envs.batch).unwrap();
            envs.step();
            let mut batch = envs.batch.clone();
            for env in (0..batch.len()).filter(|&env| envs.batch.autoreset[env]) {
                resets += 1;
                if disturb {
                    batch.rewards[env] = 1000.0;
                }
            }
            dqn.observe(&batch).unwrap();
            if dqn.is_ready() {
                dqn.update().unwrap();
            }
        }
        assert!(resets > 5);
        assert_eq!(dqn.off_policy.steps, 120 - resets);
        weights(&dqn.agent.training.network).unwrap()
    };
    assert_eq!(run(false), run(true));
}
