//! Updates of PQN equal those recorded from PyTorch.

use burn::tensor::Device;

use super::Pqn;
use crate::Learner;
use crate::experience::batch_reader::rows;
use crate::experience::rollout::Decision;
use crate::networks::QNetwork;
use crate::recording::Recording;
use crate::tasks::ChosenAction;

/// Repeats the updates of a recording and asserts that they equal the recorded ones.
fn repeat(name: &'static str, updates: usize) {
    let mut recording = Recording::open(name);
    let (config, policy) = recording.settings();
    let mut pqn = Pqn::new(config, policy, recording.spec(), &Device::flex(), 1).unwrap();
    recording.load("weights", &mut pqn);
    let (actions, values) = (recording.integers("actions"), recording.floats("values"));
    let mut entry = 0;
    for (update, batches) in recording.batches(updates).iter().enumerate() {
        for step in 0..batches.len() - 1 {
            let batch = &batches[step];
            pqn.act(batch).unwrap();
            // The action was chosen by another policy, and the values differ a little.
            for row in rows(batch) {
                let action = ChosenAction { options: vec![actions[entry]], ..ChosenAction::default() };
                let decision = Decision { action, value: values[entry], ..Decision::default() };
                pqn.on_policy.rollout.begin_step(row, &decision);
                entry += 1;
            }
            pqn.observe(&batches[step + 1]).unwrap();
        }
        let metrics = pqn.update().unwrap();
        for (name, value) in
            [("td_loss", metrics.td_loss), ("q_values", metrics.q_values), ("grad_norm", metrics.grad_norm)]
        {
            recording.assert_metric(name, update, value);
        }
    }
    assert_eq!(entry, actions.len());
    recording.assert_trained(&pqn.on_policy.training, QNetwork::torch_weights);
    recording.finish();
}

#[test]
fn an_update_on_images_with_normalised_layers_equals_that_of_pytorch() {
    repeat("pqn_images", 1);
}

#[test]
fn updates_with_a_shared_head_equal_those_of_pytorch() {
    repeat("pqn_vectors", 2);
}

#[test]
fn updates_without_normalisation_equal_those_of_pytorch() {
    repeat("pqn_plain", 2);
}
