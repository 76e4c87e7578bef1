//! Gradient steps of SAC equal those recorded from PyTorch.

use burn::tensor::Device;

use super::gradient_steps::StepNoise;
use super::metrics::ActorMetrics;
use super::{Continuous, Discrete, Kind, Sac, SacAgent, SacConfig};
use crate::experience::replay::Draw;
use crate::networks::{NamedWeights, load_weights, torch_weights, weights};
use crate::recording::Recording;
use crate::{Learner, OffPolicyLearner};

/// The parts of a recording that depend on the kind of actions.
struct Parts<K: Kind> {
    actions: fn(&mut Recording, &str) -> Vec<K::Element>,
    noise: fn(&mut Recording, &SacConfig) -> StepNoise,
}

/// Repeats the gradient step of a recording of continuous actions.
fn repeat(name: &'static str) -> Sac {
    let noise = |recording: &mut Recording, _: &SacConfig| {
        let successors = recording.floats("successor_noise");
        let policy = recording.floats("policy_noise");
        StepNoise { policy: policy.chunks_exact(successors.len()).map(<[f32]>::to_vec).collect(), successors }
    };
    repeat_kind::<Continuous>(name, &Parts { actions: Recording::floats, noise })
}

/// Repeats the gradient step of a recording of discrete actions, which need no noise.
fn repeat_discrete(name: &'static str) -> OffPolicyLearner<SacAgent<Discrete>> {
    let noise = |_: &mut Recording, config: &SacConfig| StepNoise {
        successors: Vec::new(),
        policy: vec![Vec::new(); config.policy_frequency as usize],
    };
    repeat_kind::<Discrete>(name, &Parts { actions: Recording::integers, noise })
}

/// Repeats the gradient step of a recording, asserts that it equals the recorded one, and returns the learner.
fn repeat_kind<K: Kind>(name: &'static str, parts: &Parts<K>) -> OffPolicyLearner<SacAgent<K>> {
    let mut recording = Recording::open(name);
    let (config, policy) = recording.settings::<SacConfig, _>();
    let spec = recording.spec();
    let mut sac =
        OffPolicyLearner::<SacAgent<K>>::new(config.clone(), policy, spec, &Device::flex(), 1).unwrap();
    recording.load("target", &mut sac);
    let target = sac.agent.target.clone();
    recording.load("weights", &mut sac);
    sac.agent.target = target;
    let log_alpha = recording.floats("log_alpha");
    let shape = vec![log_alpha.len()];
    let log_alpha = NamedWeights { name: "log_alpha".to_owned(), shape, values: log_alpha };
    sac.agent.temperature.network =
        load_weights(sac.agent.temperature.network.clone(), vec![log_alpha]).unwrap();
    let actions = (parts.actions)(&mut recording, "actions");
    collect(&mut sac, &mut recording, &actions);

    let draws = recording.integers("draws");
    let draw = |&[env, index]: &[i32; 2]| sac.off_policy.replay.draw_of(env as usize, index as usize);
    let draws: Vec<Draw> = draws.as_chunks().0.iter().map(draw).collect();
    let noise = (parts.noise)(&mut recording, &config);
    let shard = sac.off_policy.shards_of(&draws).swap_remove(0);
    let minibatch = sac.gather(&draws, shard, &sac.agent.critics.device);
    let targets: Vec<f32> = sac.targets(&minibatch, &noise.successors).try_into_vec_as().unwrap();
    let rows = targets.len();
    for (row, target) in targets.into_iter().enumerate() {
        recording.assert_metric("targets", row, target);
    }
    assert_eq!(rows, draws.len());
    let metrics = sac.learn_from(&draws, &noise).unwrap();
    for (name, value) in [
        ("qf_loss", metrics.qf_loss),
        ("qf1_values", metrics.qf_values[0]),
        ("qf2_values", metrics.qf_values[1]),
        ("grad_norm", metrics.grad_norm),
    ] {
        recording.assert_metric(name, 0, value);
    }
    assert_eq!(metrics.actor.len() as u64, config.policy_frequency);
    for (step, ActorMetrics { actor_loss, entropy, alpha_loss }) in metrics.actor.into_iter().enumerate() {
        recording.assert_metric("actor_loss", step, actor_loss);
        recording.assert_metric("entropy", step, entropy);
        assert_eq!(alpha_loss.is_some(), config.autotune);
        if let Some(alpha_loss) = alpha_loss {
            recording.assert_metric("alpha_loss", step, alpha_loss);
        }
    }
    let log_alpha = weights(&sac.agent.temperature.network).unwrap().swap_remove(0).values;
    for (task, log_alpha) in log_alpha.into_iter().enumerate() {
        recording.assert_metric("new_log_alpha", task, log_alpha);
    }
    let trained = sac.agent.network();
    let ([actor_first, actor_second], [first, second]) =
        (sac.agent.actor.moments(), sac.agent.critics.moments());
    let moments = [K::joined(actor_first, first), K::joined(actor_second, second)];
    recording.assert_networks([&trained, &moments[0], &moments[1]], torch_weights);
    recording.finish();
    sac
}

/// Fills the replay buffer with the recorded steps.
fn collect<K: Kind>(
    sac: &mut OffPolicyLearner<SacAgent<K>>,
    recording: &mut Recording,
    actions: &[K::Element],
) {
    let batches = recording.batches(1).swap_remove(0);
    let step_actions = actions.chunks_exact(actions.len() / (batches.len() - 1));
    for (step, actions) in step_actions.enumerate() {
        sac.off_policy.replay.begin_step(&batches[step], actions);
        sac.observe(&batches[step + 1]).unwrap();
    }
}

#[test]
fn a_step_equals_that_of_pytorch() {
    repeat("sac_one_task");
}

#[test]
fn a_step_with_two_tasks_and_layer_normalisation_equals_that_of_pytorch() {
    let sac = repeat("sac_two_tasks");
    assert_eq!(sac.policy.layer_norm, Some(true));
}

#[test]
fn a_step_with_a_fixed_temperature_equals_that_of_pytorch() {
    repeat("sac_fixed_temperature");
}

#[test]
fn a_step_of_discrete_actions_with_two_tasks_equals_that_of_pytorch() {
    repeat_discrete("sac_discrete_vectors");
}

#[test]
fn a_step_of_discrete_actions_with_a_shared_head_equals_that_of_pytorch() {
    let sac = repeat_discrete("sac_discrete_shared");
    assert_eq!(sac.policy.layer_norm, Some(true));
}

#[test]
fn a_step_of_discrete_actions_from_images_equals_that_of_pytorch() {
    repeat_discrete("sac_discrete_images");
}
