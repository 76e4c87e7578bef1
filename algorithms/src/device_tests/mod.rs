//! Learners on devices compared with the same learners on the CPU.
//!
//! One device is simulated: the CPU runs the code paths of devices, so that they are tested on every machine. The
//! others are GPUs or software drivers, in builds with the corresponding features.

mod calls;
mod half_precision;
mod learning;

use burn::optim::GradientsParams;
use burn::tensor::Device;
use kernels::testing::{gpus, largest, simulate_device};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{AutoresetMode, Space};

use crate::networks::{ActorCritic, NamedWeights, ObservationLayout, PolicyConfig, RowTasks};
use crate::ppo::{Ppo, PpoConfig};
use crate::testing::{RandomEnvs, parameter_gradients, spec};
use crate::{Learner, VectorSpec};

/// Returns the results of `run` on the simulated device and on each other device.
fn on_devices<T>(run: impl Fn(&Device) -> T) -> Vec<T> {
    let simulated = simulate_device(|| run(&Device::flex()));
    std::iter::once(simulated).chain(gpus().iter().map(run)).collect()
}

/// Returns the results of `run` on the CPU, and on each device.
fn on_cpu_and_devices<T>(run: impl Fn(&Device) -> T) -> (T, Vec<T>) {
    (run(&Device::flex()), on_devices(run))
}

/// A training: the actions of all steps, the metrics of all updates, and the final weights.
struct Trace {
    actions: Vec<i32>,
    metrics: Vec<f32>,
    weights: Vec<f32>,
}

impl Trace {
    /// Panics unless the actions are equal, and the metrics and weights are within the tolerance of [`assert_near`].
    fn assert_near(&self, expected: &Self, tolerance: f32) {
        assert_eq!(self.actions, expected.actions);
        assert_near("metrics", &self.metrics, &expected.metrics, tolerance);
        assert_near("weights", &self.weights, &expected.weights, tolerance);
    }
}

/// Panics unless each of `values` differs from the expected one by at most `tolerance`, relative to 1 plus the
/// magnitude of the expected one. `name` names the values in the message.
fn assert_near(name: &str, values: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(values.len(), expected.len());
    let error = |(value, expected): (&f32, &f32)| (value - expected).abs() / (1.0 + expected.abs());
    let worst = largest(values.iter().zip(expected).map(error));
    println!("{name}: at most {worst:e} apart");
    assert!(worst <= tolerance, "{name}: {worst} apart");
}

/// Returns all values of weights.
fn flat(weights: Vec<NamedWeights>) -> Vec<f32> {
    weights.into_iter().flat_map(|weights| weights.values).collect()
}

fn vectors() -> VectorSpec {
    spec(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep)
}

/// Returns environments with images whose rows are not a multiple of the word size.
fn images() -> VectorSpec {
    spec(Space::bytes([1, 37, 39]), AutoresetMode::SameStep)
}

/// Trains until the learner has made `updates` updates. `update` makes one and returns its metrics.
fn train<L: Learner>(
    learner: &mut L,
    envs: &mut RandomEnvs,
    updates: u64,
    mut update: impl FnMut(&mut L) -> Vec<f32>,
) -> Trace {
    let (mut actions, mut metrics) = (Vec::new(), Vec::new());
    while learner.updates() < updates {
        if learner.is_ready() {
            metrics.extend(update(learner));
        } else {
            actions.extend(learner.act(&envs.batch).unwrap().discrete().unwrap());
            envs.step();
            learner.observe(&envs.batch).unwrap();
        }
    }
    Trace { actions, metrics, weights: flat(learner.torch_weights().unwrap()) }
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

/// Returns the logits and the values of random observations, and the gradient of the sum of all `(value + 1)^2` and
/// `logit^2` with respect to every parameter.
fn outputs_and_gradients(policy: &PolicyConfig, device: &Device) -> [Vec<f32>; 3] {
    let (layout, spec) = (ObservationLayout::Images { channels: 4, height: 44, width: 36 }, vectors());
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
    let gradients = parameter_gradients(&network, &gradients).concat();
    [logits.try_into_vec_as().unwrap(), outputs.values.try_into_vec_as().unwrap(), gradients]
}
