//! Learners on devices beside the same learners on the CPU.
//!
//! One device is the CPU as if it were none, so that all but a device's own arithmetic is tested everywhere. The other is
//! what wgpu finds, in a program that was built for it.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{AutoresetMode, Space};

use crate::dqn::{Distribution, Dqn, DqnConfig};
use crate::networks::{ActorCritic, NamedWeights, ObservationLayout, PolicyConfig, RowTasks, TorsoKind};
use crate::ppo::{Ppo, PpoConfig};
use crate::pqn::{Pqn, PqnConfig};
use crate::testing::{Noise, as_if_a_device, spec};
use crate::{EnvSpec, Learner, LearnerError, ReplayStorage};

/// How far a number on a device may be from that of the CPU, as a part of it and of 1: sums have another order there.
const TOLERANCE: f32 = 1e-4;

/// What `wgpu` finds, or nothing and the reason.
fn gpu() -> Option<Device> {
    #[cfg(feature = "wgpu")]
    {
        if !Device::enumerate(burn::tensor::DeviceType::Wgpu).into_vec().is_empty() {
            return Some(Device::wgpu(burn::tensor::DeviceKind::DefaultDevice));
        }
        println!("skipped: this machine has no device for wgpu");
    }
    None
}

/// What `run` gives on the CPU, and on each device.
fn on_all<T>(run: impl Fn(&Device) -> T) -> (T, Vec<T>) {
    let pretended = as_if_a_device(|| run(&Device::flex()));
    (run(&Device::flex()), std::iter::once(pretended).chain(gpu().map(|gpu| run(&gpu))).collect())
}

/// What a learner did, reported and learned.
#[derive(Default)]
struct Course {
    actions: Vec<i32>,
    metrics: Vec<f32>,
    weights: Vec<f32>,
}

impl Course {
    fn assert_is(&self, expected: &Self) {
        assert_eq!(self.actions, expected.actions);
        near("metrics", &self.metrics, &expected.metrics);
        near("weights", &self.weights, &expected.weights);
    }
}

fn near(what: &str, numbers: &[f32], expected: &[f32]) {
    assert_eq!(numbers.len(), expected.len());
    let error = |(number, expected): (&f32, &f32)| (number - expected).abs() / (1.0 + expected.abs());
    let errors: Vec<f32> = numbers.iter().zip(expected).map(error).collect();
    let worst = errors.iter().copied().fold(0.0, f32::max);
    println!("{what}: at most {worst:e} apart");
    // Written so that what is not a number fails.
    assert!(errors.iter().all(|&error| error <= TOLERANCE), "{what}: {worst} apart");
}

fn flat(weights: Vec<NamedWeights>) -> Vec<f32> {
    weights.into_iter().flat_map(|weights| weights.values).collect()
}

fn vectors() -> EnvSpec {
    spec(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep)
}

/// With rows that are no whole number of words.
fn pictures() -> EnvSpec {
    spec(Space::bytes([1, 37, 39]), AutoresetMode::SameStep)
}

/// Lets a learner act and observe until it has made `updates` updates.
fn train<L: Learner>(
    learner: &mut L,
    noise: &mut Noise,
    updates: u64,
    mut update: impl FnMut(&mut L) -> Vec<f32>,
) -> Course {
    let mut course = Course::default();
    while learner.updates() < updates {
        course.actions.extend(learner.act(&noise.batch).unwrap());
        noise.step();
        learner.observe(&noise.batch).unwrap();
        if learner.is_ready() {
            course.metrics.extend(update(learner));
        }
    }
    course
}

fn ppo_config() -> PpoConfig {
    PpoConfig { total_steps: 320, num_steps: 16, max_grad_norm: 0.1, ..PpoConfig::default() }
}

fn ppo_update(ppo: &mut Ppo) -> Vec<f32> {
    let metrics = ppo.update().unwrap();
    vec![
        metrics.policy_loss,
        metrics.value_loss,
        metrics.entropy,
        metrics.old_approx_kl,
        metrics.approx_kl,
        metrics.clipfrac,
        metrics.grad_norm,
    ]
}

#[test]
fn ppo_acts_and_learns_as_on_the_cpu() {
    let recurrent = PolicyConfig { lstm: 8, ..PolicyConfig::default() };
    let target_kl = PpoConfig { target_kl: Some(1e-9), ..ppo_config() };
    for (spec, policy, config) in [
        (vectors(), PolicyConfig::default(), ppo_config()),
        (vectors(), recurrent, ppo_config()),
        (pictures(), PolicyConfig::default(), target_kl),
    ] {
        let (expected, courses) = on_all(|device| {
            let mut ppo = Ppo::new(config.clone(), policy.clone(), spec.clone(), device, 7).unwrap();
            let mut course = train(&mut ppo, &mut Noise::new(spec.clone()), 2, ppo_update);
            course.weights = flat(ppo.torch_weights().unwrap());
            course
        });
        for course in courses {
            course.assert_is(&expected);
        }
    }
}

#[test]
fn pqn_acts_and_learns_as_on_the_cpu() {
    for spec in [vectors(), pictures()] {
        let config = PqnConfig { total_steps: 320, num_steps: 16, ..PqnConfig::default() };
        let (expected, courses) = on_all(|device| {
            let policy = PolicyConfig::default();
            let mut pqn = Pqn::new(config.clone(), policy, spec.clone(), device, 7).unwrap();
            train(&mut pqn, &mut Noise::new(spec.clone()), 2, |pqn| {
                let metrics = pqn.update().unwrap();
                vec![metrics.td_loss, metrics.q_values, metrics.grad_norm]
            })
        });
        for course in courses {
            course.assert_is(&expected);
        }
    }
}

#[test]
fn dqn_acts_and_learns_as_on_the_cpu() {
    let plain = DqnConfig {
        total_steps: 400,
        buffer_size: 120,
        target_network_frequency: 4,
        batch_size: 8,
        exploration_fraction: 0.5,
        learning_starts: 8,
        train_ratio: 0.375,
        ..DqnConfig::default()
    };
    let rainbow = DqnConfig {
        n_step: 3,
        double: true,
        dueling: true,
        noisy: true,
        prioritized: true,
        distribution: Distribution::C51,
        num_atoms: 11,
        max_grad_norm: Some(0.5),
        ..plain.clone()
    };
    for (spec, config) in [(vectors(), &plain), (pictures(), &plain), (pictures(), &rainbow)] {
        let (expected, courses) = on_all(|device| {
            let (policy, memory) = (PolicyConfig::default(), ReplayStorage::Memory { available: 1 << 30 });
            let mut dqn = Dqn::new(config.clone(), policy, spec.clone(), memory, device, 7).unwrap();
            let mut course = train(&mut dqn, &mut Noise::new(spec.clone()), 12, |dqn| {
                let metrics = dqn.update().unwrap();
                vec![metrics.td_loss, metrics.q_values, metrics.grad_norm]
            });
            course.weights = flat(dqn.torch_weights().unwrap());
            course
        });
        for course in courses {
            course.assert_is(&expected);
        }
    }
}

#[test]
fn a_rollout_of_a_checkpoint_is_moved_to_the_device_again() {
    for spec in [vectors(), pictures()] {
        // At the start, within a rollout and at its end, each between the two halves of a step too.
        for (pause, acting) in [(0, true), (5, false), (5, true), (15, true), (16, false)] {
            let run = |device: &Device, interrupted: bool| {
                let policy = PolicyConfig::default();
                let mut ppo = Ppo::new(ppo_config(), policy, spec.clone(), device, 7).unwrap();
                let mut noise = Noise::new(spec.clone());
                for _ in 0..pause {
                    ppo.act(&noise.batch).unwrap();
                    noise.step();
                    ppo.observe(&noise.batch).unwrap();
                }
                if acting {
                    ppo.act(&noise.batch).unwrap();
                }
                if interrupted {
                    ppo = Ppo::from_state(&ppo.state().unwrap(), device).unwrap();
                }
                if acting {
                    noise.step();
                    ppo.observe(&noise.batch).unwrap();
                }
                if ppo.is_ready() {
                    return Course { metrics: ppo_update(&mut ppo), ..Course::default() };
                }
                train(&mut ppo, &mut noise, 1, ppo_update)
            };
            let (_, courses) = on_all(|device| (run(device, true), run(device, false)));
            for (interrupted, course) in courses {
                interrupted.assert_is(&course);
            }
        }
    }
}

#[test]
fn what_is_not_finite_on_a_device_undoes_what_was_not_read() {
    // After the first step of the optimiser nothing is finite.
    let config = PpoConfig { learning_rate: 1e38, anneal_lr: false, ..ppo_config() };
    let policy = PolicyConfig::default();
    let (_, undone) = on_all(|device| {
        let mut ppo = Ppo::new(config.clone(), policy.clone(), vectors(), device, 7).unwrap();
        let before = ppo.torch_weights().unwrap();
        let mut noise = Noise::new(vectors());
        while !ppo.is_ready() {
            ppo.act(&noise.batch).unwrap();
            noise.step();
            ppo.observe(&noise.batch).unwrap();
        }
        let error = ppo.update().unwrap_err();
        assert!(matches!(&error, LearnerError::Diverged(_)), "{error}");
        ppo.torch_weights().unwrap() == before
    });
    assert!(undone.into_iter().all(|undone| undone));
}

/// Logits and values of random observations, and the gradient of every parameter along their squares.
fn gradients(policy: &PolicyConfig, device: &Device) -> [Vec<f32>; 3] {
    let (layout, spec) = (ObservationLayout::Pictures { channels: 4, height: 44, width: 36 }, vectors());
    let device = device.clone().autodiff();
    let network = ActorCritic::new(layout, &spec, policy, &mut ChaCha8Rng::seed_from_u64(1), &device);
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let rows: Vec<Vec<u8>> =
        (0..5).map(|_| (0..layout.row_bytes()).map(|_| rng.random()).collect()).collect();
    let tasks = RowTasks::new([0, 1, 1, 0, 1].into_iter(), &spec.tasks, &device);
    let observations = layout.tensor(rows.iter().map(Vec::as_slice), &device);
    let (outputs, _) = network.forward(observations, &tasks, None);
    let logits = outputs.logits.mask_fill(tasks.illegal(), 0.0);
    let loss = (outputs.values.clone() + 1.0).square().sum() + logits.clone().square().sum();
    let gradients = GradientsParams::from_grads(loss.backward(), &network);
    [logits.try_into_vec_as().unwrap(), outputs.values.try_into_vec_as().unwrap(), {
        struct Visitor<'a>(&'a GradientsParams, Vec<f32>);
        impl ModuleVisitor for Visitor<'_> {
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                let gradient = self.0.get::<D>(param.id).expect("every parameter has a gradient");
                self.1.extend(gradient.try_into_vec_as::<f32>().unwrap());
            }
        }
        let mut visitor = Visitor(&gradients, Vec::new());
        network.visit(&mut visitor);
        visitor.1
    }]
}

#[test]
fn networks_and_their_gradients_are_those_of_the_cpu() {
    for torso in [TorsoKind::Nature, TorsoKind::Impala] {
        for layer_norm in [false, true] {
            let policy = PolicyConfig {
                torso,
                width: 0.5,
                layer_norm: Some(layer_norm),
                game_embedding: 2,
                hidden_size: Some(32),
                ..PolicyConfig::default()
            };
            let (expected, found) = on_all(|device| gradients(&policy, device));
            for found in found {
                let names = ["logits", "values", "gradients"];
                for (name, (found, expected)) in names.into_iter().zip(found.iter().zip(&expected)) {
                    near(&format!("{torso:?}, layer norm {layer_norm}: {name}"), found, expected);
                }
            }
        }
    }
}
