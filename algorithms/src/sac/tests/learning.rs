//! Targets, gradients, target networks, exploration and the ends of episodes.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use kernels::testing::simulate_device;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{Actions, AutoresetMode, Batch};

use super::{config, learner, numbers, small, step, variants};
use crate::experience::batch_reader::{Observed, rows};
use crate::experience::replay::Draw;
use crate::networks::{NamedWeights, load_weights, weights};
use crate::sac::gradient_steps::StepNoise;
use crate::sac::minibatch::Minibatch;
use crate::sac::{Continuous, Sac, SacConfig};
use crate::testing::RandomEnvs;
use crate::{Learner, VectorSpec};

fn minibatch(sac: &Sac, draws: &[Draw]) -> Minibatch<Continuous> {
    let shard = sac.off_policy.shards_of(draws).swap_remove(0);
    sac.gather(draws, shard, &sac.agent.critics.device)
}

fn draws(sac: &Sac, count: usize) -> Vec<Draw> {
    sac.off_policy.replay.draw(count, 0.0, &mut ChaCha8Rng::seed_from_u64(1))
}

fn continuous(actions: Actions<'_>) -> Vec<f32> {
    let Actions::Continuous(actions) = actions else { panic!("not continuous") };
    actions.to_vec()
}

fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.try_into_vec_as().unwrap()
}

/// Returns a learner that has seen `steps` steps, and never updates.
fn experienced(mode: AutoresetMode, steps: usize) -> (Sac, RandomEnvs) {
    let config = SacConfig { train_ratio: 1e-9, gamma: 0.5, ..config() };
    let (mut sac, mut envs) = (learner((config, small()), numbers(mode)), RandomEnvs::new(numbers(mode)));
    for _ in 0..steps {
        step(&mut sac, &mut envs);
    }
    (sac, envs)
}

/// Returns a network in which `change` has replaced each weight.
fn with_weights<M: Module>(network: &M, change: impl Fn(&str, usize, f32) -> f32) -> M {
    let changed = weights(network).unwrap().into_iter().map(|NamedWeights { name, shape, values }| {
        let values = values.iter().enumerate().map(|(index, &value)| change(&name, index, value)).collect();
        NamedWeights { name, shape, values }
    });
    load_weights(network.clone(), changed.collect()).unwrap()
}

#[test]
fn targets_are_rewards_and_discounted_soft_values_of_the_smaller_critic() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let (mut sac, _) = experienced(mode, 60);
        // The target critics return constants: 3 and 2 for the first task, -1 and 4 for the second.
        sac.agent.target = with_weights(&sac.agent.target, |name, index, _| match name {
            "first.value.bias" => [3.0, -1.0][index],
            "second.value.bias" => [2.0, 4.0][index],
            _ => 0.0,
        });
        // Every action has the mean 0 and the deviation exp(-1.5), with noise 1.
        sac.agent.actor.network = with_weights(&sac.agent.actor.network, |_, _, _| 0.0);
        let draws = draws(&sac, 40);
        let minibatch = minibatch(&sac, &draws);
        let targets = host(sac.targets(&minibatch, &vec![1.0; draws.len() * 3]));
        let deviation = (-1.5f64).exp();
        let normal = -0.5 + 1.5 - (2.0 * std::f64::consts::PI).ln() / 2.0;
        let log_prob = normal - (1.0 - deviation.tanh().powi(2)).ln();
        let (mut terminated, mut bootstrapped) = (0, 0);
        for (draw, target) in draws.iter().zip(targets) {
            let step = sac.off_policy.replay.n_step_return(draw);
            let (value, components) =
                if sac.off_policy.spec.task_ids[draw.env] == 0 { (2.0, 1.0) } else { (-1.0, 3.0) };
            // The temperature is 1.
            let expected =
                f64::from(step.rewards) + f64::from(step.discount) * (value - components * log_prob);
            assert!((f64::from(target) - expected).abs() < 1e-5, "{target} {expected}");
            terminated += usize::from(step.discount == 0.0);
            bootstrapped += usize::from(step.discount == 0.5);
        }
        assert!(terminated > 0 && terminated + bootstrapped == 40, "{terminated} {bootstrapped}");
    }
}

#[test]
fn truncated_steps_are_bootstrapped_from_their_final_observation() {
    let mode = AutoresetMode::SameStep;
    let config = SacConfig { train_ratio: 1e-9, ..config() };
    let (mut sac, mut envs) = (learner((config, small()), numbers(mode)), RandomEnvs::new(numbers(mode)));
    let mut truncated = 0;
    for number in 0..20 {
        sac.act(&envs.batch).unwrap();
        envs.step();
        // Final observations differ from those of the next episode.
        for env in 0..4 {
            envs.batch.final_observations.row_mut(env).fill(7);
        }
        sac.observe(&envs.batch).unwrap();
        for env in (0..4).filter(|&env| envs.batch.truncated[env]) {
            let draw = sac.off_policy.replay.draw_of(env, number);
            assert_eq!(sac.off_policy.replay.successors(&[draw]), [7; 12]);
            assert_eq!(sac.off_policy.replay.n_step_return(&draw).discount, 0.99);
            truncated += 1;
        }
    }
    assert!(truncated > 2);
}

/// The gradient of the policy's loss with respect to a bias equals the finite difference, even though the policy
/// affects the loss through the critics.
#[test]
fn the_gradient_of_the_policy_equals_finite_differences() {
    let (sac, _) = experienced(AutoresetMode::NextStep, 30);
    let draws = draws(&sac, 16);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let noise: Vec<f32> = (0..48).map(|_| crate::networks::standard_normal(&mut rng) as f32).collect();
    let fresh = || {
        let mut other = Sac::from_state(&sac.state().unwrap(), &Device::flex()).unwrap();
        other.config.autotune = false;
        other.config.alpha = 0.3;
        other
    };
    // After the first step of Adam the first moment is a tenth of the gradient.
    let mut stepped = fresh();
    let minibatches = [minibatch(&stepped, &draws)];
    let metrics = stepped.learn_policy(&draws, &minibatches, &noise).unwrap();
    let [first, _] = stepped.agent.actor.moments();
    let gradients = weights(&first).unwrap();
    for (name, index) in
        [("mean.bias", 0), ("mean.bias", 4), ("log_deviation.bias", 3), ("log_deviation.bias", 0)]
    {
        let loss = |by: f32| {
            let mut other = fresh();
            let shift = |parameter: &str, position: usize, value: f32| {
                if parameter == name && position == index { value + by } else { value }
            };
            other.agent.actor.network = with_weights(&other.agent.actor.network, shift);
            f64::from(other.learn_policy(&draws, &minibatches, &noise).unwrap().actor_loss)
        };
        let step = 1e-2f32;
        let slope = (loss(step) - loss(-step)) / (2.0 * f64::from(step));
        let gradient = gradients.iter().find(|gradient| gradient.name == name).unwrap().values[index] * 10.0;
        assert!((slope - f64::from(gradient)).abs() < 2e-3, "{name} {index}: {gradient}, not {slope}");
    }
    assert!(metrics.alpha_loss.is_none());
    // The step does not change the critics.
    assert_eq!(
        weights(&stepped.agent.critics.network).unwrap(),
        weights(&sac.agent.critics.network).unwrap()
    );
}

#[test]
fn target_critics_follow_slowly() {
    for target_network_frequency in [1, 2] {
        // At most one gradient step per step of the four environments, so that the test sees each of them.
        let config = SacConfig { tau: 0.25, target_network_frequency, train_ratio: 0.25, ..config() };
        let spec = numbers(AutoresetMode::SameStep);
        let (mut sac, mut envs) = (learner((config, small()), spec.clone()), RandomEnvs::new(spec));
        while sac.updates() < 4 {
            let (updates, before) = (sac.updates(), weights(&sac.agent.target).unwrap());
            step(&mut sac, &mut envs);
            let after = weights(&sac.agent.target).unwrap();
            if sac.updates() == updates || !sac.updates().is_multiple_of(target_network_frequency) {
                assert_eq!(after, before);
                continue;
            }
            assert_eq!(sac.updates(), updates + 1);
            let online = weights(&sac.agent.critics.network).unwrap();
            for ((after, before), online) in after.iter().zip(&before).zip(&online) {
                let expected = before.values.iter().zip(&online.values).map(|(a, b)| 0.75 * a + 0.25 * b);
                for (value, expected) in after.values.iter().zip(expected) {
                    assert!((value - expected).abs() < 1e-6, "{value} {expected}");
                }
            }
        }
    }
}

#[test]
fn the_policy_compensates_for_its_delay() {
    for frequency in [1, 2, 3] {
        let config = SacConfig { policy_frequency: frequency, train_ratio: 1.0, ..config() };
        let spec = numbers(AutoresetMode::SameStep);
        let (mut sac, mut envs) = (learner((config, small()), spec.clone()), RandomEnvs::new(spec));
        while sac.updates() < 24 {
            step(&mut sac, &mut envs);
        }
        assert_eq!(sac.agent.actor.steps(), sac.updates() / frequency * frequency, "frequency {frequency}");
        assert_eq!(sac.agent.critics.steps(), sac.updates());
        assert_eq!(sac.agent.temperature.steps(), sac.agent.actor.steps());
    }
}

#[test]
fn the_temperature_rises_while_the_entropy_is_below_its_target() {
    for (scale, rises) in [(-3.0, true), (30.0, false)] {
        let config = SacConfig { target_entropy_scale: scale, ..config() };
        let spec = numbers(AutoresetMode::SameStep);
        let (mut sac, mut envs) = (learner((config, small()), spec.clone()), RandomEnvs::new(spec));
        let mut last = 1.0;
        for _ in 0..20 {
            if let Some(metrics) = step(&mut sac, &mut envs) {
                assert!(if rises { metrics.alpha >= last } else { metrics.alpha <= last });
                last = metrics.alpha;
            }
        }
        assert!(if rises { last > 1.05 } else { last < 0.95 }, "{last}");
    }
}

#[test]
fn actions_are_random_until_learning_starts_and_scaled_to_their_bounds() {
    let spec = numbers(AutoresetMode::SameStep);
    let config = SacConfig { learning_starts: 400, buffer_size: 4000, total_steps: 10_000, ..config() };
    let (mut sac, mut envs) = (learner((config, small()), spec.clone()), RandomEnvs::new(spec));
    let mut seen: Vec<Vec<f32>> = Vec::new();
    for _ in 0..100 {
        seen.push(continuous(sac.act(&envs.batch).unwrap()));
        envs.step();
        sac.observe(&envs.batch).unwrap();
        assert!(!sac.is_ready() || sac.off_policy.steps == 400);
    }
    // The action of the first environment, and the last component of the second one's: within -2..=2 and 5..=6.
    for (column, low, high) in [(0, -2.0, 2.0), (3, 5.0, 6.0)] {
        let values = seen.iter().map(|actions| actions[column]);
        let share = |below: f32| values.clone().filter(|&value| value < below).count();
        assert_eq!((share(low), share(high + 1e-6)), (0, 100));
        assert!((30..70).contains(&share(f32::midpoint(low, high))), "{}", share(f32::midpoint(low, high)));
        // Actions of the new policy seldom come close to the bounds.
        let margin = 0.05 * (high - low);
        assert!(share(low + margin) > 0 && share(high - margin) < 100);
    }
    // The replay stores actions in -1..=1.
    let draw = sac.off_policy.replay.draw_of(1, 0);
    let stored = sac.off_policy.replay.action(&draw);
    assert!((stored[2] - (seen[0][3] - 5.5) * 2.0).abs() < 1e-5);
    // Then they are those of the policy with the noise of the second environment, correlated with its last noise.
    sac.update().unwrap();
    sac.config.noise_correlation = 0.5;
    let (mut exploration, mut rng) = (sac.agent.exploration.clone(), sac.off_policy.action_rng.clone());
    let policies = sac.agent.acting.row_policies(Observed::of(&envs.batch), &rows(&envs.batch)).unwrap();
    exploration.noise(0, 0.5, &mut rng);
    let expected = policies[1].action(exploration.noise(1, 0.5, &mut rng));
    let actions = continuous(sac.act(&envs.batch).unwrap());
    let [first, _, last] = expected[..] else { panic!("three components") };
    assert!((actions[1] - first).abs() < 1e-5 && (actions[3] - (5.5 + last / 2.0)).abs() < 1e-5);
}

#[test]
fn random_actions_are_repeated_with_the_probability_of_the_noise_correlation() {
    let spec = numbers(AutoresetMode::SameStep);
    let config = SacConfig { learning_starts: 100, noise_correlation: 0.8, ..config() };
    let (mut sac, mut envs) = (learner((config, small()), spec.clone()), RandomEnvs::new(spec));
    let (mut exploration, mut rng) = (sac.agent.exploration.clone(), sac.off_policy.action_rng.clone());
    for _ in 0..20 {
        let expected: Vec<Vec<f32>> =
            (0..4).map(|env| exploration.random(env, 0.8, &mut rng).to_vec()).collect();
        let actions = continuous(sac.act(&envs.batch).unwrap());
        // The action of the first environment, and the last component of the second one's: within -2..=2 and 5..=6.
        assert!((actions[0] - 2.0 * expected[0][0]).abs() < 1e-5, "{actions:?} {expected:?}");
        assert!((actions[3] - (5.5 + expected[1][2] / 2.0)).abs() < 1e-5, "{actions:?} {expected:?}");
        envs.step();
        sac.observe(&envs.batch).unwrap();
    }
}

#[test]
fn policies_act_greedily_or_sample() {
    for settings in variants() {
        let spec = numbers(AutoresetMode::SameStep);
        let (sac, envs) = (learner(settings, spec.clone()), RandomEnvs::new(spec.clone()));
        let policy = sac.policy(&spec).unwrap();
        let greedy = policy.greedy(&envs.batch).unwrap();
        assert_eq!(greedy, policy.greedy(&envs.batch).unwrap());
        assert_eq!(greedy.len(), 1 + 3 + 3 + 1);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let count = 400;
        let samples: Vec<Vec<f32>> =
            (0..count).map(|_| policy.sample(&envs.batch, &mut rng).unwrap()).collect();
        // The median of a component is its greedy value.
        for column in 0..8 {
            let below = samples.iter().filter(|sample| sample[column] < greedy[column]).count();
            assert!((count / 2 - 60..count / 2 + 60).contains(&below), "{below} of {count}");
        }
        assert_eq!(policy.values(&envs.batch).unwrap().len(), 4);
    }
}

#[test]
fn devices_give_the_results_of_the_cpu() {
    for settings in variants() {
        let run = || {
            let spec = numbers(AutoresetMode::NextStep);
            let (mut sac, mut envs) = (learner(settings.clone(), spec.clone()), RandomEnvs::new(spec));
            let metrics: Vec<_> = (0..12).filter_map(|_| step(&mut sac, &mut envs)).collect();
            (metrics, sac.torch_weights().unwrap())
        };
        let ((metrics, expected), (simulated, of_device)) = (run(), simulate_device(run));
        assert_eq!(metrics.len(), simulated.len());
        for (ours, theirs) in expected.iter().zip(&of_device) {
            let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-4 * (1.0 + a.abs());
            assert!(ours.values.iter().zip(&theirs.values).all(close), "{}", ours.name);
        }
    }
}

#[test]
fn noise_of_one_step_has_a_row_for_each_row_of_the_minibatch() {
    let (mut sac, _) = experienced(AutoresetMode::NextStep, 30);
    let StepNoise { successors, policy } = sac.draw_noise(8);
    assert_eq!((successors.len(), policy.len()), (24, 0));
    sac.off_policy.updates = 1;
    let StepNoise { policy, .. } = sac.draw_noise(8);
    assert_eq!(policy.iter().map(Vec::len).collect::<Vec<_>>(), [24, 24]);
    assert_ne!(policy[0], policy[1]);
}

#[test]
fn weights_have_the_names_and_shapes_of_cleanrl() {
    let spec = numbers(AutoresetMode::SameStep);
    let one = VectorSpec { tasks: vec![spec.tasks[0].clone()], task_ids: vec![0; 4], ..spec };
    let (mut sac, mut envs) = (learner((config(), small()), one.clone()), RandomEnvs::new(one));
    while sac.updates() < 4 {
        step(&mut sac, &mut envs);
    }
    let shapes: Vec<(String, Vec<usize>)> =
        sac.torch_weights().unwrap().into_iter().map(|weights| (weights.name, weights.shape)).collect();
    for (name, shape) in [
        ("actor.fc1.weight", vec![16, 3]),
        ("actor.fc2.bias", vec![16]),
        ("actor.fc_mean.weight", vec![1, 16]),
        ("actor.fc_logstd.weight", vec![1, 16]),
        ("qf1.fc1.weight", vec![16, 4]),
        ("qf2.fc3.weight", vec![1, 16]),
        ("log_alpha", vec![1]),
    ] {
        assert!(shapes.contains(&(name.to_owned(), shape)), "{name}: {shapes:?}");
    }
    assert_eq!(shapes.len(), 8 + 6 + 6 + 1);
}

/// Episodes of one step, whose best action is one and a half times the observation.
#[test]
fn the_policy_finds_the_best_action_for_each_observation() {
    let spec = numbers(AutoresetMode::SameStep);
    let spec = VectorSpec { tasks: vec![spec.tasks[0].clone()], task_ids: vec![0; 4], ..spec };
    let config = SacConfig {
        policy_lr: 3e-3,
        q_lr: 3e-3,
        buffer_size: 4000,
        total_steps: 4000,
        learning_starts: 400,
        batch_size: 64,
        train_ratio: 0.25,
        ..SacConfig::default()
    };
    let mut sac = learner((config, small()), spec.clone());
    let mut batch = Batch::new(4, 12, true);
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut observe = |batch: &mut Batch| -> Vec<f32> {
        let drawn: Vec<f32> = (0..4).map(|_| if rng.random() { 1.0 } else { -1.0 }).collect();
        for (env, value) in drawn.iter().enumerate() {
            batch.observations.row_mut(env)[..4].copy_from_slice(&value.to_ne_bytes());
        }
        drawn
    };
    let mut seen = observe(&mut batch);
    while !sac.is_complete() {
        let Actions::Continuous(actions) = sac.act(&batch).unwrap() else { panic!("not continuous") };
        let rewards = actions.iter().zip(&seen).map(|(action, seen)| -(action - 1.5 * seen).powi(2));
        batch.rewards = rewards.collect();
        batch.terminated = vec![true; 4];
        batch.final_observations = batch.observations.clone();
        seen = observe(&mut batch);
        sac.observe(&batch).unwrap();
        if sac.is_ready() {
            sac.update().unwrap();
        }
    }
    let policy = sac.policy(&spec).unwrap();
    let (actions, values) = (policy.greedy(&batch).unwrap(), policy.values(&batch).unwrap());
    assert!(seen.contains(&1.0) && seen.contains(&-1.0), "{seen:?}");
    for ((action, seen), value) in actions.iter().zip(&seen).zip(values) {
        assert!((action - 1.5 * seen).abs() < 0.25, "{action} for {seen}");
        assert!(value.abs() < 0.25, "{value}");
    }
}
