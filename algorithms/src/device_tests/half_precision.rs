//! Networks and learners in 16 bits.

use burn::tensor::{Device, Tensor};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{flat, images, on_cpu_and_devices, outputs_and_gradients, ppo_config, ppo_update, train};
use crate::Learner;
use crate::engine::training::{OptimizerStepOptions, Training};
use crate::networks::{
    ActorCritic, NamedWeights, PolicyConfig, Precision, RowTasks, TorsoKind, layout_of, weights,
};
use crate::ppo::Ppo;
use crate::testing::RandomEnvs;

/// Returns the norm of the difference of two vectors, relative to the norm of the second.
fn distance(values: &[f32], expected: &[f32]) -> f32 {
    let length =
        |values: &mut dyn Iterator<Item = f32>| values.map(|number| number * number).sum::<f32>().sqrt();
    assert_eq!(values.len(), expected.len());
    let mut differences = values.iter().zip(expected).map(|(number, expected)| number - expected);
    length(&mut differences) / length(&mut expected.iter().copied())
}

/// Returns the 16-bit formats that `device` supports.
fn half_precisions(device: &Device) -> impl Iterator<Item = Precision> {
    [Precision::Bf16, Precision::F16].into_iter().filter(|precision| precision.validate_on(device).is_ok())
}

#[test]
fn networks_in_16_bits_have_similar_outputs_and_gradients() {
    for (torso, layer_norm) in
        [(TorsoKind::Nature, false), (TorsoKind::Nature, true), (TorsoKind::Impala, true)]
    {
        let policy = |precision| PolicyConfig {
            torso,
            width: 0.5,
            layer_norm: Some(layer_norm),
            game_embedding: 2,
            hidden_size: Some(32),
            precision,
            ..PolicyConfig::default()
        };
        let (_, distances) = on_cpu_and_devices(|device| {
            let exact = outputs_and_gradients(&policy(Precision::F32), device);
            let compare = |precision: Precision| {
                let rounded = outputs_and_gradients(&policy(precision), device);
                let distances = [0, 1, 2].map(|part| distance(&rounded[part], &exact[part]));
                println!("{torso:?}, layer norm {layer_norm}, {}: {distances:?} apart", precision.name());
                distances
            };
            half_precisions(device).map(compare).collect::<Vec<_>>()
        });
        assert_eq!(distances[0].len(), 2, "the simulated device supports both formats");
        for distances in distances.into_iter().flatten() {
            // At least 1e-4, because results are rounded. Gradients may differ more: their errors add up over the
            // layers.
            let limits = [("logits", 0.05), ("values", 0.05), ("gradients", 0.15)];
            for (distance, (part, limit)) in distances.into_iter().zip(limits) {
                assert!((1e-4..limit).contains(&distance), "{part}: {distance} apart");
            }
        }
    }
}

#[test]
fn the_cpu_always_uses_32_bits() {
    let outputs_with = |precision| {
        let policy = PolicyConfig { precision, width: 0.25, ..PolicyConfig::default() };
        outputs_and_gradients(&policy, &Device::flex())
    };
    assert_eq!(outputs_with(Precision::Bf16), outputs_with(Precision::F32));
}

#[test]
fn learners_in_16_bits_learn_similarly() {
    let (_, distances) = on_cpu_and_devices(|device| {
        let learn = |precision| {
            let policy = PolicyConfig { precision, ..PolicyConfig::default() };
            let mut ppo = Ppo::new(ppo_config(), policy, images(), device, 7).unwrap();
            let before = flat(ppo.torch_weights().unwrap());
            let metrics = train(&mut ppo, &mut RandomEnvs::new(images()), 1, ppo_update).metrics;
            let after = flat(ppo.torch_weights().unwrap());
            let steps: Vec<f32> = after.iter().zip(before).map(|(after, before)| after - before).collect();
            (metrics, steps)
        };
        let (exact_metrics, exact_steps) = learn(Precision::F32);
        let compare = |precision: Precision| {
            let (rounded_metrics, rounded_steps) = learn(precision);
            println!("{}: {rounded_metrics:?} and {exact_metrics:?}", precision.name());
            (distance(&rounded_metrics, &exact_metrics), distance(&rounded_steps, &exact_steps))
        };
        half_precisions(device).map(compare).collect::<Vec<_>>()
    });
    for (metrics, steps) in distances.into_iter().flatten() {
        println!("metrics {metrics}, steps of the weights {steps} apart");
        // No difference at all would mean that the network computed with 32 bits.
        assert!(
            metrics < 0.05 && steps > 0.0 && steps < 0.3,
            "metrics {metrics}, steps of the weights {steps} apart"
        );
    }
}

#[test]
fn loss_scaling_preserves_gradients_too_small_for_f16() {
    let (_, moved) = on_cpu_and_devices(|device| {
        let device = device.clone().autodiff();
        let policy = PolicyConfig { precision: Precision::F16, ..PolicyConfig::default() };
        let layout = layout_of(&images().observation_space).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let network = ActorCritic::new(layout, &images(), &policy, &mut rng, &device);
        let rows = RowTasks::new([0].into_iter(), &images().tasks, &device);
        // Far below the gradients.
        let adam_epsilon = 1e-30;
        let mut training = Training::new(network, adam_epsilon, policy.precision, device.clone());
        let before = weights(&training.network).unwrap();
        let observations = layout.tensor([vec![200; layout.row_bytes()].as_slice()].into_iter(), &device);
        let (outputs, _) = training.network.forward(observations, &rows, None);
        // The gradient at the last hidden layer is below the smallest `f16`, 6e-8.
        let loss = outputs.values.mul_scalar(2e-8);
        // The limit is below the norm, so that clipping takes part too.
        let options = OptimizerStepOptions { learning_rate: 1e-3, max_grad_norm: Some(1e-8) };
        let step = training.step(&loss, Vec::new(), Tensor::zeros([1], &device), options).unwrap();
        training.read_one(step).unwrap();
        let moved = |(before, after): (&NamedWeights, &NamedWeights)| {
            before.values.iter().zip(&after.values).any(|(before, after)| before != after)
        };
        before.iter().zip(&weights(&training.network).unwrap()).map(moved).collect::<Vec<_>>()
    });
    // Weights and biases of the three convolutions and the hidden layer, then of the policy head, which gets no
    // gradient, then of the value head.
    for moved in moved {
        assert!(moved[..8].iter().chain(&moved[10..12]).all(|&moved| moved), "{moved:?}");
    }
}
