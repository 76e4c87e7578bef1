//! Updates of PPO equal those recorded from PyTorch.

use burn::module::Module;
use burn::tensor::Device;

use super::{Ppo, PpoMetrics, RndMetrics};
use crate::Learner;
use crate::engine::OnPolicyAlgorithm;
use crate::experience::batch_reader::rows;
use crate::experience::rollout::Decision;
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::{ActorCritic, load_weights, weights};
use crate::recording::Recording;
use crate::tasks::ChosenAction;

/// The recorded actions of all entries, step by step.
enum RecordedActions {
    Options(Vec<i32>),
    /// `width` components for each entry; actions of smaller tasks are padded.
    Components {
        values: Vec<f32>,
        width: usize,
    },
}

impl RecordedActions {
    fn read(recording: &mut Recording) -> Self {
        match recording.spec().max_components() {
            0 => Self::Options(recording.integers("actions")),
            width => Self::Components { values: recording.floats("actions"), width },
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Options(options) => options.len(),
            Self::Components { values, width } => values.len() / width,
        }
    }

    /// Returns the action of an entry.
    fn action(&self, entry: usize) -> ChosenAction {
        let (mut options, mut components) = (Vec::new(), Vec::new());
        match self {
            Self::Options(all) => options.push(all[entry]),
            Self::Components { values, width } => components.extend(&values[entry * width..][..*width]),
        }
        // A rollout stores components before they are squashed. No environment receives this action.
        ChosenAction { options, components, squashes: false }
    }
}

/// Repeats the updates of a recording, asserts that they equal the recorded ones, and returns the learner.
fn repeat(name: &'static str, updates: usize) -> Ppo {
    let mut recording = Recording::open(name);
    let (config, policy) = recording.settings();
    let mut ppo = Ppo::new(config, policy, recording.spec(), &Device::flex(), 1).unwrap();
    recording.load("weights", &mut ppo);
    if ppo.agent.rnd.is_some() {
        load_exploration(&mut recording, &mut ppo);
    }
    let batches = recording.batches(updates);
    let actions = RecordedActions::read(&mut recording);
    let [log_probs, values] = ["log_probs", "values"].map(|name| recording.floats(name));
    let mut entry = 0;
    for (update, batches) in batches.iter().enumerate() {
        for step in 0..batches.len() - 1 {
            let batch = &batches[step];
            ppo.act(batch).unwrap();
            // `act` only prepares the step: the recorded decision, which another policy made, replaces its own.
            for row in rows(batch) {
                let (action, log_prob, value) = (actions.action(entry), log_probs[entry], values[entry]);
                ppo.on_policy.rollout.begin_step(row, &Decision { action, log_prob, value });
                entry += 1;
            }
            ppo.observe(&batches[step + 1]).unwrap();
        }
        let metrics = ppo.update().unwrap();
        let PpoMetrics { policy_loss, value_loss, entropy, old_approx_kl, approx_kl, .. } = metrics;
        let PpoMetrics { clipfrac, explained_variance, grad_norm, .. } = metrics;
        for (name, value) in [
            ("policy_loss", policy_loss),
            ("value_loss", value_loss),
            ("entropy", entropy),
            ("old_approx_kl", old_approx_kl),
            ("approx_kl", approx_kl),
            ("clipfrac", clipfrac),
            ("explained_variance", explained_variance),
            ("grad_norm", grad_norm),
        ] {
            recording.assert_metric(name, update, value);
        }
        for (name, value) in metrics.rnd.iter().flat_map(metrics_of_rnd) {
            recording.assert_metric(name, update, value);
        }
        // Some but not all of the ratios are clipped.
        assert!((0.1..0.9).contains(&clipfrac), "{clipfrac}");
    }
    assert_eq!(entry, actions.len());
    recording.assert_trained(&ppo.on_policy.training, ActorCritic::torch_weights);
    if let Some(statistics) = &ppo.agent.statistics {
        recording.assert_weights("statistics", &ObservationStatistics::weights(statistics));
    }
    if let Some(rnd) = &ppo.agent.rnd {
        assert_exploration(&mut recording, &ppo);
        recording.assert_weights("rnd_statistics", &rnd.state.statistics.weights());
    }
    recording.finish();
    ppo
}

/// Loads the recorded networks of intrinsic rewards.
fn load_exploration(recording: &mut Recording, ppo: &mut Ppo) {
    let network = ppo.on_policy.training.network.clone();
    let recorded = recording.weights("rnd_weights");
    let mut all = weights(&network).unwrap();
    for theirs in &recorded {
        let own = all.iter_mut().find(|own| own.name == theirs.name);
        *own.unwrap_or_else(|| panic!("{}", theirs.name)) = theirs.clone();
    }
    let network = load_weights(network, all).unwrap();
    ppo.agent.set_network(network.valid());
    ppo.on_policy.training.network = network;
}

fn metrics_of_rnd(metrics: &RndMetrics) -> [(&'static str, f32); 4] {
    let RndMetrics { reward, predictor_loss, value_loss, explained_variance } = *metrics;
    [
        ("intrinsic_reward", reward),
        ("predictor_loss", predictor_loss),
        ("intrinsic_value_loss", value_loss),
        ("intrinsic_explained_variance", explained_variance),
    ]
}

/// Asserts that the trained networks of intrinsic rewards have changed as recorded.
fn assert_exploration(recording: &mut Recording, ppo: &Ppo) {
    let training = &ppo.on_policy.training;
    let [first, second] = training.moments();
    recording.assert_part("rnd_", [&training.network, &first, &second], |network| {
        let mut trained = weights(network)?;
        trained.retain(|weights| {
            weights.name.starts_with("exploration.") && !weights.name.starts_with("exploration.target.")
        });
        Ok(trained)
    });
}

#[test]
fn updates_with_intrinsic_rewards_equal_those_of_pytorch() {
    for (name, updates) in [("ppo_rnd_images", 1), ("ppo_rnd_vectors", 2), ("ppo_rnd_same_step", 2)] {
        assert!(repeat(name, updates).agent.rnd.is_some());
    }
}

#[test]
fn an_update_on_images_with_masked_actions_equals_that_of_pytorch() {
    repeat("ppo_images", 1);
}

#[test]
fn an_update_on_grids_of_symbols_equals_that_of_pytorch() {
    repeat("ppo_grids", 1);
}

#[test]
fn epochs_without_clipped_values_equal_those_of_pytorch() {
    repeat("ppo_vectors", 2);
}

#[test]
fn updates_of_a_recurrent_network_equal_those_of_pytorch() {
    for name in ["ppo_lstm", "ppo_lstm_same_step"] {
        assert!(repeat(name, 2).agent.recurrent.is_recurrent());
    }
}

#[test]
fn updates_with_popart_equal_those_of_pytorch() {
    let ppo = repeat("ppo_popart", 2);
    // Far above the least one: the deviations are those of the returns.
    assert!((0..2).all(|task| ppo.agent.actor.scales.deviation(task).unwrap() > 0.5));
}

#[test]
fn updates_of_gaussian_policies_on_normalised_observations_equal_those_of_pytorch() {
    for name in ["ppo_gaussian", "ppo_squashed"] {
        assert!(repeat(name, 2).agent.statistics.is_some());
    }
}
