//! Whole networks: their structure and their gradients.

use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{AutoresetMode, Space};

use super::*;
use crate::VectorSpec;
use crate::testing::{parameter_gradients, spec};

fn images(height: usize, width: usize) -> (ObservationLayout, VectorSpec) {
    let layout = ObservationLayout::Images { channels: 4, height, width };
    (layout, spec(Space::bytes([4, height, width]), AutoresetMode::NextStep))
}

fn impala() -> PolicyConfig {
    PolicyConfig { torso: TorsoKind::Impala, ..PolicyConfig::default() }
}

fn network(layout: ObservationLayout, spec: &VectorSpec, config: &PolicyConfig) -> ActorCritic {
    ActorCritic::new(layout, spec, config, &mut ChaCha8Rng::seed_from_u64(1), &Device::flex().autodiff())
}

fn observations(count: usize, length: usize) -> Tensor<2> {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let values: Vec<f32> = (0..count * length).map(|_| rng.random()).collect();
    Tensor::from_data(TensorData::new(values, [count, length]), &Device::flex().autodiff())
}

/// Returns the names and shapes of all parameters in PyTorch's convention.
fn shapes(layout: ObservationLayout, spec: &VectorSpec, config: &PolicyConfig) -> Vec<(String, Vec<usize>)> {
    let weights = network(layout, spec, config).torch_weights().unwrap();
    weights.into_iter().map(|weights| (weights.name, weights.shape)).collect()
}

#[test]
fn impala_has_fifteen_convolutions_named_as_in_cleanrl() {
    let (layout, spec) = images(84, 84);
    let shapes = shapes(layout, &spec, &impala());
    let shape = |name: &str| shapes.iter().find(|(found, _)| found == name).map(|(_, shape)| shape.clone());
    assert_eq!(shapes.iter().filter(|(_, shape)| shape.len() == 4).count(), 15);
    assert_eq!(shape("network.0.conv.weight"), Some(vec![16, 4, 3, 3]));
    assert_eq!(shape("network.1.res_block0.conv1.weight"), Some(vec![32, 32, 3, 3]));
    // 84, 42, 21 and 11 pixels.
    assert_eq!(shape("network.5.weight"), Some(vec![256, 11 * 11 * 32]));
    assert_eq!(shape("actor.weight"), Some(vec![2 * 5, 256]));
    assert_eq!(shape("critic.weight"), Some(vec![2, 256]));
}

#[test]
fn the_data_efficient_torso_has_two_convolutions() {
    let (layout, spec) = images(84, 84);
    let config = PolicyConfig { torso: TorsoKind::DataEfficient, ..PolicyConfig::default() };
    let shapes = shapes(layout, &spec, &config);
    let shape = |name: &str| shapes.iter().find(|(found, _)| found == name).map(|(_, shape)| shape.clone());
    assert_eq!(shapes.iter().filter(|(_, shape)| shape.len() == 4).count(), 2);
    assert_eq!(shape("network.0.weight"), Some(vec![32, 4, 5, 5]));
    assert_eq!(shape("network.2.weight"), Some(vec![64, 32, 5, 5]));
    // 84, 16 and 3 pixels.
    assert_eq!(shape("network.5.weight"), Some(vec![256, 3 * 3 * 64]));
}

#[test]
fn small_images_have_convolutions_of_2_by_2_pixels() {
    for (side, config, features) in [
        // 7, 6, 5 and 4 pixels; 19, 18, 9 and 4; 4, 3, 2 and 1.
        (7, PolicyConfig::default(), 4 * 4 * 64),
        (19, PolicyConfig { torso: TorsoKind::DataEfficient, ..PolicyConfig::default() }, 4 * 4 * 64),
        (4, PolicyConfig { torso: TorsoKind::Small, ..PolicyConfig::default() }, 64),
    ] {
        let (layout, spec) = images(side, side);
        let shapes = shapes(layout, &spec, &config);
        let shape =
            |name: &str| shapes.iter().find(|(found, _)| found == name).map(|(_, shape)| shape.clone());
        assert_eq!(shape("network.0.weight"), Some(vec![16, 4, 2, 2]));
        assert_eq!(shape("network.2.weight"), Some(vec![32, 16, 2, 2]));
        assert_eq!(shape("network.4.weight"), Some(vec![64, 32, 2, 2]));
        assert_eq!(shape("network.7.weight"), Some(vec![256, features]));
    }
    let (layout, spec) = images(7, 7);
    assert_eq!(impala().torso_for(layout), TorsoKind::Impala);
    // 7, 4, 2 and 1 pixels.
    let weight = ("network.5.weight".to_owned(), vec![256, 32]);
    assert!(shapes(layout, &spec, &impala()).contains(&weight));
}

/// A picture, a small image and two floats.
fn mixed() -> (ObservationLayout, VectorSpec) {
    let space =
        Space::tuple([Space::bytes([1, 36, 40]), Space::bytes([3, 7, 7]), Space::floats(2, -1.0, 1.0)]);
    (layout_of(&space).unwrap(), spec(space, AutoresetMode::NextStep))
}

#[test]
fn the_hidden_layer_reads_the_features_of_all_images_and_the_floats_beside_them() {
    let (layout, spec) = mixed();
    let config = PolicyConfig { width: 0.125, ..PolicyConfig::default() };
    let shapes = shapes(layout, &spec, &config);
    let shape = |name: &str| shapes.iter().find(|(found, _)| found == name).map(|(_, shape)| shape.clone());
    assert_eq!(shape("network.4.weight"), Some(vec![8, 8, 3, 3]));
    assert_eq!(shape("further.0.4.weight"), Some(vec![8, 4, 2, 2]));
    // One pixel of eight channels, 4 x 4 pixels of eight channels, and two floats.
    assert_eq!(shape("network.7.weight"), Some(vec![512, 8 + 4 * 4 * 8 + 2]));
    let impala = PolicyConfig { torso: TorsoKind::Impala, ..config.clone() };
    assert_eq!(
        network(layout, &spec, &impala)
            .torch_weights()
            .unwrap()
            .iter()
            .filter(|weights| weights.shape.len() == 4)
            .count(),
        30
    );
    // The features of each part are those of a network that reads only this part.
    let body = network(layout, &spec, &config).body;
    let rows = RowTasks::new([0, 1, 1].into_iter(), &spec.tasks, &Device::flex().autodiff());
    let observations = observations(3, layout.length());
    let features = body.forward(observations.clone(), &rows);
    let floats = features.clone().narrow(1, 8 + 128, 2) - observations.clone().narrow(1, 1440 + 147, 2);
    assert_eq!(floats.abs().max().into_scalar::<f32>(), 0.0);
    for (start, length, own) in [(0, 1440, 0..8), (1440, 147, 8..8 + 128), (1440 + 147, 2, 136..138)] {
        let changed = observations.clone().slice_assign(
            [0..3, start..start + length],
            Tensor::zeros([3, length], &Device::flex().autodiff()),
        );
        let difference: Vec<f32> =
            (body.forward(changed, &rows) - features.clone()).abs().sum_dim(0).try_into_vec_as().unwrap();
        let moved: Vec<usize> = (0..138).filter(|&feature| difference[feature] != 0.0).collect();
        assert!(!moved.is_empty() && moved.iter().all(|feature| own.contains(feature)), "{moved:?}");
    }
}

#[test]
fn width_normalisation_embedding_head_and_hidden_size_are_as_configured() {
    let (layout, spec) = images(36, 44);
    let config = PolicyConfig {
        width: 0.5,
        layer_norm: Some(true),
        head: HeadKind::Shared,
        game_embedding: 3,
        hidden_size: Some(20),
        ..PolicyConfig::default()
    };
    let nature = shapes(layout, &spec, &config);
    let shape = |name: &str| nature.iter().find(|(found, _)| found == name).map(|(_, shape)| shape.clone());
    assert_eq!(shape("network.0.weight"), Some(vec![16, 4, 8, 8]));
    assert_eq!(shape("network.1.weight"), Some(vec![16, 8, 10]));
    assert_eq!(shape("network.10.weight"), Some(vec![20, 2 * 32 + 3]));
    assert_eq!(shape("network.11.bias"), Some(vec![20]));
    assert_eq!(shape("game_embedding.weight"), Some(vec![2, 3]));
    assert_eq!(shape("actor.weight"), Some(vec![7, 20]));
    let impala = shapes(layout, &spec, &PolicyConfig { torso: TorsoKind::Impala, ..config });
    let shape = |name: &str| impala.iter().find(|(found, _)| found == name).map(|(_, shape)| shape.clone());
    assert_eq!(shape("network.2.res_block1.norm1.weight"), Some(vec![16, 5, 6]));
    assert_eq!(shape("network.3.bias"), Some(vec![16, 5, 6]));
    assert_eq!(shape("network.6.weight"), Some(vec![20, 5 * 6 * 16 + 3]));
}

/// The slope along the normalised gradient must equal the norm of the gradient.
#[test]
fn gradients_of_whole_networks_equal_finite_differences() {
    // A feature map of one pixel has so few units that the result would depend on a single ReLU that switches within
    // the step.
    for (torso, side) in [
        (TorsoKind::Nature, 36),
        (TorsoKind::Impala, 36),
        (TorsoKind::DataEfficient, 84),
        (TorsoKind::Small, 7),
        (TorsoKind::Small, 17),
        (TorsoKind::Nature, 0),
    ] {
        let (layout, spec) = if side == 0 { mixed() } else { images(side, side) };
        for layer_norm in [false, true] {
            let config = PolicyConfig {
                torso,
                width: 0.25,
                layer_norm: Some(layer_norm),
                head: HeadKind::Shared,
                game_embedding: 2,
                hidden_size: Some(16),
                ..PolicyConfig::default()
            };
            let network = network(layout, &spec, &config);
            let rows = RowTasks::new([0, 1, 1].into_iter(), &spec.tasks, &Device::flex().autodiff());
            let loss = |network: &ActorCritic| {
                let (outputs, _) = network.forward(observations(3, layout.length()), &rows, None);
                let illegal = rows.illegal();
                (outputs.values + 1.0).square().sum() + outputs.logits.mask_fill(illegal, 0.0).square().sum()
            };
            let gradients = GradientsParams::from_grads(loss(&network).backward(), &network);
            let of_all = parameter_gradients(&network, &gradients);
            let squares: f64 = of_all.iter().flatten().map(|&number| f64::from(number).powi(2)).sum();
            let at = |step: f64| {
                let moved = moved(&network, &of_all, step / squares.sqrt());
                f64::from(loss(&moved).into_scalar::<f32>())
            };
            let slope = (at(1e-3) - at(-1e-3)) / 2e-3;
            println!("{torso:?} {layer_norm}: {slope} and {}", squares.sqrt());
            assert!((slope / squares.sqrt() - 1.0).abs() < 0.02, "{slope} and {}", squares.sqrt());
        }
    }
}

/// Returns the network with every parameter moved by `step` times its gradient.
fn moved(network: &ActorCritic, gradients: &[Vec<f32>], step: f64) -> ActorCritic {
    let mut weights = weights(network).unwrap();
    for (weights, gradients) in weights.iter_mut().zip(gradients) {
        for (value, gradient) in weights.values.iter_mut().zip(gradients) {
            *value += (step * f64::from(*gradient)) as f32;
        }
    }
    load_weights(network.clone(), weights).unwrap()
}

#[test]
fn an_embedding_distinguishes_games_with_a_shared_head() {
    let config = PolicyConfig { head: HeadKind::Shared, ..PolicyConfig::default() };
    let (layout, spec) = images(36, 36);
    let says = |game_embedding: usize, task: usize| -> Vec<f32> {
        let network = network(layout, &spec, &PolicyConfig { game_embedding, ..config.clone() });
        let rows = RowTasks::new([task].into_iter(), &spec.tasks, &Device::flex().autodiff());
        network.forward(observations(1, layout.length()), &rows, None).0.logits.try_into_vec_as().unwrap()
    };
    // Shared action 3 is the second action of the first task and the fourth of the second one.
    assert_eq!(says(0, 0)[1], says(0, 1)[3]);
    assert_ne!(says(4, 0)[1], says(4, 1)[3]);
}

#[test]
fn only_layers_for_images_multiply_16_bit_numbers_on_the_cpu() {
    let vectors =
        (ObservationLayout::Floats { length: 3 }, spec(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep));
    let outputs = |(layout, spec): &(ObservationLayout, VectorSpec), config: PolicyConfig| -> Vec<f32> {
        let network = network(*layout, spec, &config);
        let rows = RowTasks::new([0, 0, 0].into_iter(), &spec.tasks, &Device::flex().autodiff());
        let (outputs, _) = network.forward(observations(3, layout.length()), &rows, None);
        outputs.values.try_into_vec_as().unwrap()
    };
    let half = |arithmetic| PolicyConfig {
        precision: Precision::Bf16,
        bf16_arithmetic: arithmetic,
        ..PolicyConfig::default()
    };
    for torso in [TorsoKind::Nature, TorsoKind::Impala, TorsoKind::DataEfficient] {
        let images = images(84, 84);
        let exact = outputs(&images, PolicyConfig { torso, ..PolicyConfig::default() });
        // The agent of a GPU.
        assert_eq!(outputs(&images, PolicyConfig { torso, ..half(None) }), exact, "{torso:?}");
        for &arithmetic in Bf16Arithmetic::ALL {
            let found = outputs(&images, PolicyConfig { torso, ..half(Some(arithmetic)) });
            assert_ne!(found, exact, "{torso:?}");
            assert!(found.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 0.05), "{found:?}, {exact:?}");
        }
    }
    for &arithmetic in Bf16Arithmetic::ALL {
        assert_eq!(outputs(&vectors, half(Some(arithmetic))), outputs(&vectors, PolicyConfig::default()));
    }
}
