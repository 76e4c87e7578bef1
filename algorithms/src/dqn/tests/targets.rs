//! Targets, priorities and the ends of episodes.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_env::{AutoresetMode, Batch, Space};

use super::{config, learner, step, vectors};
use crate::dqn::minibatch::Minibatch;
use crate::dqn::minibatch::StepNoise;
use crate::dqn::{Dqn, DqnConfig};
use crate::networks::{PolicyConfig, QNetwork, RowTasks, weights};
use crate::testing::{RandomEnvs, all_actions, argmax, spec, spec_of_choices, spec_of_masks};
use crate::{JointActions, Learner, VectorSpec};

/// Makes steps until the replay buffer has enough to draw from.
fn fill_replay(dqn: &mut Dqn, envs: &mut RandomEnvs) {
    for _ in 0..20 {
        step(dqn, envs);
    }
}

/// Draws transitions from the replay buffer.
fn draw_minibatch(dqn: &Dqn, transitions: usize) -> Minibatch {
    let draws = dqn.off_policy.replay.draw(transitions, 1.0, &mut ChaCha8Rng::seed_from_u64(1));
    let shard = dqn.off_policy.shards_of(&draws).swap_remove(0);
    Minibatch::gather(&dqn.off_policy, &draws, shard, &StepNoise::default(), &dqn.agent.training.device)
}

/// Returns the target of each transition.
fn targets(dqn: &mut Dqn, minibatch: &Minibatch) -> Vec<f32> {
    dqn.targets(std::slice::from_ref(minibatch), &StepNoise::default()).unwrap().concat()
}

/// Returns the outputs of a network, row by row.
fn outputs(network: &QNetwork, observations: &Tensor<2>, tasks: &RowTasks) -> Vec<Vec<f32>> {
    let outputs = network.forward(observations.clone(), tasks, None);
    let width = outputs.dims()[1];
    let outputs: Vec<f32> = outputs.try_into_vec_as().unwrap();
    outputs.chunks_exact(width).map(Vec::from).collect()
}

/// Returns the outputs of a network for the successors of a minibatch, row by row.
fn successor_outputs(network: &QNetwork, minibatch: &Minibatch) -> Vec<Vec<f32>> {
    outputs(network, &minibatch.successors, &minibatch.successor_rows)
}

fn assert_target(found: f32, expected: f32) {
    assert!((found - expected).abs() < 1e-5, "{found} and {expected}");
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
    fill_replay(&mut dqn, &mut envs);
    let minibatch = draw_minibatch(&dqn, 32);
    let targets = targets(&mut dqn, &minibatch);
    let online_values = successor_outputs(&dqn.agent.training.network.valid(), &minibatch);
    let target_values = successor_outputs(&dqn.agent.target, &minibatch);
    let mut differing_selections = 0;
    for (row, (&task, n_step)) in minibatch.tasks.iter().zip(&minibatch.returns).enumerate() {
        let num_actions = dqn.off_policy.spec.tasks[task].actions.num_outputs();
        let selected = argmax(&online_values[row][..num_actions]);
        differing_selections += usize::from(selected != argmax(&target_values[row][..num_actions]));
        assert_target(targets[row], n_step.rewards + n_step.discount * target_values[row][selected]);
    }
    assert!(differing_selections > 3, "both networks select the same actions");
}

/// Returns the mean value of the options of an action. The outputs have a column for each option of the first choice,
/// then for each of the second choice, and so on.
fn mean_value(actions: &JointActions, options: &[i32], outputs: &[f32]) -> f32 {
    let (mut first_column, mut sum) = (0, 0.0);
    for (&option, &size) in options.iter().zip(actions.sizes()) {
        sum += outputs[first_column + option as usize];
        first_column += size;
    }
    sum / options.len() as f32
}

/// The targets of Tavakoli et al. 2018: the mean over the choices of the next action.
#[test]
fn targets_of_several_choices_are_means_over_those_of_the_best_legal_action() {
    let spec = spec_of_choices(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
    let config = DqnConfig { dueling: true, gamma: 0.5, train_ratio: 0.01, ..config() };
    let (mut dqn, mut envs) = (learner(config, spec.clone()), RandomEnvs::new(spec.clone()));
    fill_replay(&mut dqn, &mut envs);
    let minibatch = draw_minibatch(&dqn, 30);
    let targets = targets(&mut dqn, &minibatch);
    let successor_outputs = successor_outputs(&dqn.agent.target, &minibatch);
    let mut bootstrapped_with_choices = 0;
    for (row, (&task, n_step)) in minibatch.tasks.iter().zip(&minibatch.returns).enumerate() {
        let actions = spec.tasks[task].actions.expect_joint();
        let outputs = &successor_outputs[row];
        let mean_values =
            all_actions(actions).into_iter().map(|options| mean_value(actions, &options, outputs));
        let best = mean_values.fold(f32::NEG_INFINITY, f32::max);
        assert_target(targets[row], n_step.rewards + n_step.discount * best);
        bootstrapped_with_choices += usize::from(actions.num_choices() > 1 && n_step.discount > 0.0);
    }
    assert!(bootstrapped_with_choices > 5);
}

/// Returns the mean over the choices of the value of the best option that the mask allows. All combinations of options
/// must be legal.
fn best_allowed_mean(actions: &JointActions, mask: &[u8], outputs: &[f32]) -> f32 {
    let (mut first_column, mut sum) = (0, 0.0);
    for &size in actions.sizes() {
        let allowed = (first_column..first_column + size).filter(|&column| mask[column] == 1);
        sum += allowed.map(|column| outputs[column]).fold(f32::NEG_INFINITY, f32::max);
        first_column += size;
    }
    sum / actions.num_choices() as f32
}

#[test]
fn targets_use_options_that_the_masks_of_the_successors_allow() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let spec = spec_of_masks(Space::floats(3, -1.0, 1.0), mode);
        let config = DqnConfig { gamma: 0.5, train_ratio: 0.01, n_step: 2, ..config() };
        let (mut dqn, mut envs) = (learner(config, spec.clone()), RandomEnvs::new(spec.clone()));
        // The masks of all observations that follow an action, by the bytes of the observations.
        let mut masks: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for _ in 0..20 {
            step(&mut dqn, &mut envs);
            let Batch { observations, action_masks, final_action_masks, .. } = &envs.batch;
            let successor_masks = match mode {
                AutoresetMode::SameStep => final_action_masks,
                _ => action_masks,
            };
            for env in 0..spec.num_envs() {
                masks.insert(observations.row(env).to_vec(), successor_masks.row(env).to_vec());
            }
        }
        let minibatch = draw_minibatch(&dqn, 30);
        let targets = targets(&mut dqn, &minibatch);
        let successor_outputs = successor_outputs(&dqn.agent.target, &minibatch);
        let width = minibatch.successors.dims()[1];
        let successors: Vec<f32> = minibatch.successors.clone().try_into_vec_as().unwrap();
        let mut bootstrapped = 0;
        for (row, (&task, n_step)) in minibatch.tasks.iter().zip(&minibatch.returns).enumerate() {
            if n_step.discount == 0.0 {
                continue;
            }
            let successor = &successors[row * width..][..width];
            let bytes: Vec<u8> = successor.iter().flat_map(|value| value.to_ne_bytes()).collect();
            let actions = spec.tasks[task].actions.expect_joint();
            let best = best_allowed_mean(actions, &masks[&bytes], &successor_outputs[row]);
            assert_target(targets[row], n_step.rewards + n_step.discount * best);
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
    fill_replay(&mut dqn, &mut envs);
    let minibatch = draw_minibatch(&dqn, 30);
    let targets = targets(&mut dqn, &minibatch);
    let outputs = outputs(&dqn.agent.training.network, &minibatch.observations, &minibatch.rows);
    dqn.learn_from(&minibatch.draws, &StepNoise::default()).unwrap();
    for (row, draw) in minibatch.draws.iter().enumerate() {
        let options = dqn.off_policy.replay.action(draw);
        let columns = spec.joint_actions(draw.env).columns(&options);
        let error: f32 = columns.map(|column| (outputs[row][column] - targets[row]).abs()).sum();
        let priority = dqn.off_policy.replay.priority(draw);
        assert!((priority - f64::from(error)).abs() < 1e-4, "{priority} and {error}");
    }
}

/// Returns a learner after 30 steps in which `change` changes each batch before the learner observes it.
fn trained_on_changed_batches(spec: &VectorSpec, mut change: impl FnMut(&mut Batch)) -> Dqn {
    let (mut dqn, mut envs) = (learner(config(), spec.clone()), RandomEnvs::new(spec.clone()));
    for _ in 0..30 {
        dqn.act(&envs.batch).unwrap();
        envs.step();
        let mut batch = envs.batch.clone();
        change(&mut batch);
        dqn.observe(&batch).unwrap();
        if dqn.is_ready() {
            dqn.update().unwrap();
        }
    }
    dqn
}

/// Clears the final observations of some environments.
fn clear_final_observations(batch: &mut Batch, is_cleared: &[bool]) {
    for (env, _) in is_cleared.iter().enumerate().filter(|&(_, &is_cleared)| is_cleared) {
        batch.final_observations.row_mut(env).fill(0);
    }
}

#[test]
fn final_observations_matter_exactly_where_an_episode_was_truncated() {
    let same_step = spec(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
    let weights_after = |change: fn(&mut Batch)| {
        weights(&trained_on_changed_batches(&same_step, change).agent.training.network).unwrap()
    };
    let undisturbed = weights_after(|_| ());
    let without_terminal = weights_after(|batch| clear_final_observations(batch, &batch.terminated.clone()));
    let without_truncated = weights_after(|batch| clear_final_observations(batch, &batch.truncated.clone()));
    assert_eq!(undisturbed, without_terminal);
    assert_ne!(undisturbed, without_truncated);
}

#[test]
fn reset_rows_are_not_learned_from() {
    let mut resets = 0;
    let undisturbed = trained_on_changed_batches(&vectors(), |batch| {
        resets += batch.autoreset.iter().filter(|&&is_reset| is_reset).count() as u64;
    });
    let disturbed = trained_on_changed_batches(&vectors(), |batch| {
        for (reward, _) in batch.rewards.iter_mut().zip(&batch.autoreset).filter(|&(_, &is_reset)| is_reset) {
            *reward = 1000.0;
        }
    });
    assert!(resets > 5);
    let steps_of_all_envs = 4 * 30;
    for dqn in [&undisturbed, &disturbed] {
        assert_eq!(dqn.off_policy.steps, steps_of_all_envs - resets);
    }
    let weights = |dqn: &Dqn| weights(&dqn.agent.training.network).unwrap();
    assert_eq!(weights(&undisturbed), weights(&disturbed));
}
