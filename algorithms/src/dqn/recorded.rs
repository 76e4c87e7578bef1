//! Gradient steps of DQN and Rainbow equal those recorded from PyTorch.

use burn::tensor::Device;

use super::minibatch::StepNoise;
use super::{Dqn, DqnConfig};
use crate::Learner;
use crate::experience::replay::Draw;
use crate::networks::{Noise, QNetwork};
use crate::recording::Recording;

/// The number of steps after which errors are set, in recordings with priorities.
const STEPS_BEFORE_ERRORS: usize = 9;

/// Repeats the gradient step of a recording, asserts that it equals the recorded one, and returns the learner.
fn repeat(name: &'static str) -> Dqn {
    let mut recording = Recording::open(name);
    let (config, policy) = recording.settings::<DqnConfig, _>();
    let spec = recording.spec();
    let mut dqn = Dqn::new(config.clone(), policy, spec, &Device::flex(), 1).unwrap();
    recording.load("target", &mut dqn);
    let target = dqn.agent.target.clone();
    recording.load("weights", &mut dqn);
    dqn.agent.target = target;
    collect(&mut dqn, &mut recording);

    let drawn: Vec<Draw> = recording
        .integers("draws")
        .as_chunks()
        .0
        .iter()
        .map(|&[env, index]| dqn.off_policy.replay.draw_of(env as usize, index as usize))
        .collect();
    let draws = if config.prioritized { draw_by_priority(&dqn, &mut recording, &drawn) } else { drawn };
    let noise = if config.noisy { noise(&dqn, &mut recording) } else { StepNoise::default() };
    let metrics = dqn.learn_from(&draws, &noise).unwrap();
    for (name, value) in
        [("td_loss", metrics.td_loss), ("grad_norm", metrics.grad_norm), ("q_values", metrics.q_values)]
    {
        recording.assert_metric(name, 0, value);
    }
    if config.prioritized {
        for (draw, expected) in draws.iter().zip(recording.floats("new_priorities")) {
            let priority = dqn.off_policy.replay.priority(draw) as f32;
            assert!((priority - expected).abs() < 1e-4 * expected, "{priority}, not {expected}");
        }
    }
    recording.assert_trained(&dqn.agent.training, QNetwork::torch_weights);
    recording.finish();
    dqn
}

/// Fills the replay buffer with the recorded steps. If steps have priorities, sets the errors of the first ones
/// halfway.
fn collect(dqn: &mut Dqn, recording: &mut Recording) {
    let batches = recording.batches(1).swap_remove(0);
    let actions = recording.integers("actions");
    let envs = dqn.off_policy.spec.num_envs();
    for (step, actions) in actions.chunks_exact(envs).enumerate() {
        dqn.off_policy.replay.begin_step(&batches[step], actions);
        dqn.observe(&batches[step + 1]).unwrap();
        if dqn.config.prioritized && step + 1 == STEPS_BEFORE_ERRORS {
            let errors = recording.floats("errors");
            let replay = &mut dqn.off_policy.replay;
            let mut draws = Vec::new();
            for env in 0..envs {
                draws.extend((0..replay.ready_steps_of(env)).map(|index| replay.draw_of(env, index)));
            }
            assert_eq!(draws.len(), errors.len());
            replay.set_errors(&draws, &errors);
        }
    }
}

/// Draws with the recorded random numbers. Asserts that the steps and their weights are those recorded.
fn draw_by_priority(dqn: &Dqn, recording: &mut Recording, expected: &[Draw]) -> Vec<Draw> {
    let mut random_numbers = recording.random_numbers("uniform");
    let draws = dqn.off_policy.replay.draw(expected.len(), dqn.per_beta(), &mut random_numbers);
    random_numbers.finish();
    let weights = recording.floats("importance");
    for ((draw, expected), weight) in draws.iter().zip(expected).zip(&weights) {
        assert_eq!((draw.env, draw.step_id), (expected.env, expected.step_id));
        assert!((draw.weight - weight).abs() < 1e-5, "{draw:?}, not {weight}");
    }
    assert!(weights.iter().any(|weight| *weight < 0.8), "{weights:?}");
    draws
}

/// Returns the recorded noise.
fn noise(dqn: &Dqn, recording: &mut Recording) -> StepNoise {
    let device = &dqn.agent.training.device;
    let inner_device = device.clone().without_autodiff();
    let mut draw = |name, network: &QNetwork, device| -> Option<Noise> {
        let mut random_numbers = recording.random_numbers(name);
        let noise = network.draw_noise(1, &mut random_numbers, device);
        random_numbers.finish();
        noise
    };
    StepNoise {
        target: draw("noise_target", &dqn.agent.target, &inner_device),
        selection: draw("noise_selection", &dqn.agent.training.network, &inner_device),
        online: draw("noise_online", &dqn.agent.training.network, device),
        ..StepNoise::default()
    }
}

#[test]
fn a_step_of_dqn_on_images_equals_that_of_pytorch() {
    repeat("dqn_images");
}

#[test]
fn a_step_of_double_and_dueling_dqn_with_a_shared_head_equals_that_of_pytorch() {
    repeat("dqn_double");
}

#[test]
fn a_step_with_priorities_equals_that_of_pytorch() {
    repeat("dqn_prioritized");
}

#[test]
fn a_step_with_quantiles_in_another_scale_equals_that_of_pytorch() {
    repeat("dqn_quantile");
}

#[test]
fn steps_of_rainbow_equal_those_of_pytorch() {
    for name in ["dqn_rainbow", "dqn_rainbow_same_step"] {
        let config = repeat(name).config;
        assert!(config.noisy && config.prioritized && config.double && config.dueling && config.n_step > 1);
    }
}
