//! The whole learner, on batches of random environments.

use std::ops::Range;

use burn::tensor::Device;
use rayon::ThreadPoolBuilder;
use rl_env::{AutoresetMode, Batch, Space};

use super::learner::StepNoise;
use super::{Augmentation, Distribution, Dqn, DqnConfig, DqnMetrics, LossKind};
use crate::networks::{HeadKind, PolicyConfig, weights};
use crate::testing::{
    RandomEnvs, all_actions, assert_legal, assert_stopped_updates_are_undone, spec, spec_of_choices,
};
use crate::{Learner, LearnerError, ReplayError, ReplayStorage, SpecError, ValueScale, VectorSpec};

fn vectors() -> VectorSpec {
    spec(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep)
}

/// A small configuration with few steps before learning starts: two for each environment.
fn config() -> DqnConfig {
    DqnConfig {
        total_steps: 400,
        learning_rate: 1e-2,
        buffer_size: 120,
        target_network_frequency: 4,
        batch_size: 8,
        exploration_fraction: 0.5,
        learning_starts: 8,
        train_ratio: 0.375,
        ..DqnConfig::default()
    }
}

fn rainbow() -> DqnConfig {
    DqnConfig {
        n_step: 3,
        double: true,
        dueling: true,
        noisy: true,
        prioritized: true,
        distribution: Distribution::C51,
        num_atoms: 11,
        max_grad_norm: Some(10.0),
        ..config()
    }
}

/// Uses every option at least once.
fn variants() -> Vec<DqnConfig> {
    let quantile = DqnConfig { distribution: Distribution::Quantile, num_atoms: 7, double: true, ..config() };
    let polyak =
        DqnConfig { tau: 0.1, target_network_frequency: 1, loss: LossKind::Huber, dueling: true, ..config() };
    let prioritized = DqnConfig { prioritized: true, n_step: 2, ..config() };
    vec![config(), rainbow(), quantile, polyak, prioritized]
}

fn learner(config: DqnConfig, spec: VectorSpec) -> Dqn {
    Dqn::new(config, PolicyConfig::default(), spec, &Device::flex(), 7).unwrap()
}

fn restored(dqn: &Dqn, with_replay: bool) -> Dqn {
    let state = if with_replay { dqn.state().unwrap() } else { state_without_replay(dqn).unwrap() };
    Dqn::from_state(&state, &Device::flex()).unwrap()
}

fn state_without_replay(dqn: &Dqn) -> Result<Vec<u8>, LearnerError> {
    let mut bytes = Vec::new();
    dqn.write_state_without_replay(&mut bytes).map(|()| bytes)
}

/// One step of learner and environments, and an update if one is due.
fn step(dqn: &mut Dqn, envs: &mut RandomEnvs) -> Option<DqnMetrics> {
    let actions = dqn.act(&envs.batch).unwrap();
    assert_legal(&envs.spec, actions);
    envs.step();
    dqn.observe(&envs.batch).unwrap();
    dqn.is_ready().then(|| dqn.update().unwrap())
}

/// Returns the state after a number of steps.
fn train(config: DqnConfig, spec: VectorSpec, steps: usize) -> Vec<u8> {
    let (mut dqn, mut envs) = (learner(config, spec.clone()), RandomEnvs::new(spec));
    for _ in 0..steps {
        step(&mut dqn, &mut envs);
    }
    assert!(dqn.updates() > 0);
    dqn.state().unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for config in variants() {
        for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
            let spec = spec(Space::floats(3, -1.0, 1.0), mode);
            assert!(train(config.clone(), spec.clone(), 20) == train(config.clone(), spec, 20));
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let images = spec(Space::bytes([2, 36, 40]), AutoresetMode::SameStep);
    let with_threads = |num_threads| {
        let pool = ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap();
        pool.install(|| train(rainbow(), images.clone(), 8))
    };
    assert!(with_threads(1) == with_threads(2));
}

#[test]
fn augmented_images_follow_the_seed_and_survive_a_restore() {
    let images = spec(Space::bytes([2, 36, 40]), AutoresetMode::NextStep);
    let config = |augmentation| DqnConfig { augmentation, ..config() };
    let augmented = || train(config(Augmentation::Drq), images.clone(), 8);
    assert!(augmented() == augmented());
    let weights_of = |state: Vec<u8>| {
        weights(&Dqn::from_state(&state, &Device::flex()).unwrap().training.network).unwrap()
    };
    assert_ne!(weights_of(augmented()), weights_of(train(config(Augmentation::None), images.clone(), 8)));
    let (mut dqn, mut envs) =
        (learner(config(Augmentation::Drq), images.clone()), RandomEnvs::new(images.clone()));
    for _ in 0..6 {
        step(&mut dqn, &mut envs);
    }
    let (mut other, mut copy) = (restored(&dqn, true), envs.clone());
    (0..6).for_each(|_| assert_eq!(step(&mut dqn, &mut envs), step(&mut other, &mut copy)));
    assert!(dqn.updates() > 0 && dqn.state().unwrap() == other.state().unwrap());
}

#[test]
fn vectors_cannot_be_augmented() {
    let config = DqnConfig { augmentation: Augmentation::Drq, ..config() };
    let result = Dqn::new(config, PolicyConfig::default(), vectors(), &Device::flex(), 7);
    let error = result.err().expect("an error").to_string();
    assert!(error.contains("augmentation") && error.contains("none"), "{error}");
}

#[test]
fn a_restored_learner_continues_bit_for_bit_from_any_moment() {
    for config in variants() {
        for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
            let spec = spec(Space::floats(3, -1.0, 1.0), mode);
            // At the start, before learning, and while the replay fills and overflows.
            for pause in [0, 1, 13, 40] {
                let (mut dqn, mut envs) =
                    (learner(config.clone(), spec.clone()), RandomEnvs::new(spec.clone()));
                for _ in 0..pause {
                    step(&mut dqn, &mut envs);
                }
                let (mut other, mut copy) = (restored(&dqn, true), envs.clone());
                for _ in 0..20 {
                    assert_eq!(step(&mut dqn, &mut envs), step(&mut other, &mut copy));
                }
                assert!(dqn.state().unwrap() == other.state().unwrap());
            }
        }
    }
}

/// Returns the learner with other settings.
fn continued(dqn: &Dqn, config: DqnConfig, policy: PolicyConfig) -> Result<Dqn, LearnerError> {
    Dqn::from_state_with(&dqn.state().unwrap(), config, policy, ReplayStorage::UNLIMITED, &Device::flex())
}

#[test]
fn an_extended_training_equals_a_longer_one() {
    let complete = |dqn: &mut Dqn, envs: &mut RandomEnvs| {
        while !dqn.is_complete() {
            step(dqn, envs);
        }
    };
    let noisy = DqnConfig { start_e: 0.0, end_e: 0.0, prioritized: false, ..rainbow() };
    for constant in [DqnConfig { start_e: 0.1, end_e: 0.1, ..config() }, noisy] {
        let of = |total_steps| DqnConfig { total_steps, ..constant.clone() };
        let spec = || spec(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
        let (mut whole, mut envs) = (learner(of(120), spec()), RandomEnvs::new(spec()));
        complete(&mut whole, &mut envs);
        let (mut part, mut envs) = (learner(of(60), spec()), RandomEnvs::new(spec()));
        complete(&mut part, &mut envs);
        let mut extended = continued(&part, of(120), PolicyConfig::default()).unwrap();
        complete(&mut extended, &mut envs);
        assert!(extended.state().unwrap() == whole.state().unwrap());
    }
}

#[test]
fn epsilon_follows_the_new_total() {
    let (mut dqn, mut envs) = (learner(config(), vectors()), RandomEnvs::new(vectors()));
    while dqn.steps < 100 {
        step(&mut dqn, &mut envs);
    }
    // It falls from 1 by 0.99 over the first half of training: a quarter of the way, then an eighth.
    let expected = |share: f64| 1.0 - share * (1.0 - f64::from(0.01f32));
    assert!((dqn.epsilon() - expected(dqn.steps as f64 / 200.0)).abs() < 1e-9);
    let longer =
        continued(&dqn, DqnConfig { total_steps: 800, ..config() }, PolicyConfig::default()).unwrap();
    assert!((longer.epsilon() - expected(dqn.steps as f64 / 400.0)).abs() < 1e-9);
}

#[test]
fn settings_that_shape_the_state_are_fixed() {
    let (mut dqn, mut envs) = (learner(config(), vectors()), RandomEnvs::new(vectors()));
    while dqn.steps < 100 {
        step(&mut dqn, &mut envs);
    }
    let fixed = |change: fn(&mut DqnConfig)| {
        let mut config = config();
        change(&mut config);
        match continued(&dqn, config, PolicyConfig::default()).err() {
            Some(LearnerError::Fixed(error)) => error.field,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(fixed(|config| config.buffer_size = 121), "buffer_size");
    assert_eq!(fixed(|config| config.num_atoms = 12), "num_atoms");
    assert_eq!(fixed(|config| config.noisy = true), "noisy");
    let shorter = continued(&dqn, DqnConfig { total_steps: 50, ..config() }, PolicyConfig::default()).err();
    assert!(matches!(shorter, Some(LearnerError::Config(error)) if error.field == "total_steps"));
    let free = DqnConfig { gamma: 0.5, batch_size: 4, train_ratio: 1.0, tau: 0.5, ..config() };
    assert_eq!(continued(&dqn, free.clone(), PolicyConfig::default()).unwrap().config(), &free);
}

#[test]
fn states_may_be_taken_between_act_and_observe() {
    let (mut dqn, mut envs) = (learner(config(), vectors()), RandomEnvs::new(vectors()));
    for _ in 0..10 {
        dqn.act(&envs.batch).unwrap();
        let mut other = restored(&dqn, true);
        assert!(matches!(state_without_replay(&dqn), Err(LearnerError::OutOfOrder(_))));
        envs.step();
        for dqn in [&mut dqn, &mut other] {
            dqn.observe(&envs.batch).unwrap();
            if dqn.is_ready() {
                dqn.update().unwrap();
            }
        }
        assert!(dqn.state().unwrap() == other.state().unwrap());
    }
}

#[test]
fn a_lost_replay_buffer_is_refilled_before_learning_continues() {
    let config = DqnConfig { learning_starts: 40, ..config() };
    let (mut dqn, mut envs) = (learner(config, vectors()), RandomEnvs::new(vectors()));
    while dqn.updates() < 10 {
        step(&mut dqn, &mut envs);
    }
    let mut other = restored(&dqn, false);
    assert_eq!(weights(&other.training.network).unwrap(), weights(&dqn.training.network).unwrap());
    let (updates, steps) = (other.updates(), other.steps);
    while other.updates() == updates {
        step(&mut other, &mut envs);
    }
    assert!(other.steps >= steps + 40);
}

#[test]
fn a_stopped_update_of_many_gradient_steps_is_undone_at_every_moment() {
    for config in variants() {
        // Eight gradient steps for each step of an environment.
        let learner = || learner(DqnConfig { train_ratio: 8.0, ..config.clone() }, vectors());
        assert_stopped_updates_are_undone([&mut learner(), &mut learner()], Dqn::update_unless, 8);
    }
}

#[test]
fn gradient_steps_follow_the_train_ratio() {
    for train_ratio in [0.1, 0.375, 1.0, 2.5] {
        let config = DqnConfig { train_ratio, ..config() };
        let (mut dqn, mut envs) = (learner(config, vectors()), RandomEnvs::new(vectors()));
        let (mut gradient_steps, mut steps) = (0, 0);
        for _ in 0..50 {
            let before = dqn.steps;
            gradient_steps += step(&mut dqn, &mut envs).map_or(0, |metrics| metrics.gradient_steps);
            if dqn.steps >= 8 {
                steps += dqn.steps - before;
            }
        }
        assert_eq!(dqn.updates(), gradient_steps as u64);
        let due = steps as f64 * train_ratio;
        assert!(gradient_steps > 0);
        assert!((0.0..1.0 + 1e-9).contains(&(due - gradient_steps as f64)), "{gradient_steps} of {due}");
    }
}

#[test]
fn epsilon_is_annealed_linearly() {
    let mut dqn = learner(config(), vectors());
    let at = |dqn: &mut Dqn, steps| {
        dqn.steps = steps;
        (dqn.epsilon() * 1000.0).round()
    };
    assert_eq!([0, 100, 200, 399].map(|steps| at(&mut dqn, steps)), [1000.0, 505.0, 10.0, 10.0]);
    assert!(!dqn.is_complete());
    dqn.steps = 400;
    assert!(dqn.is_complete());
}

#[test]
fn the_target_network_is_updated_when_it_is_due() {
    // At most one gradient step for each step of the four environments, so that none is passed over.
    let config = DqnConfig { train_ratio: 0.25, ..config() };
    let (mut dqn, mut envs) = (learner(config, vectors()), RandomEnvs::new(vectors()));
    let fresh = weights(&dqn.target).unwrap();
    for updates in 1..=3 {
        while dqn.updates() < updates {
            step(&mut dqn, &mut envs);
        }
        assert_eq!(dqn.updates(), updates);
        assert_eq!(weights(&dqn.target).unwrap(), fresh);
    }
    while dqn.updates() < 4 {
        step(&mut dqn, &mut envs);
    }
    assert_eq!(dqn.updates(), 4);
    assert_eq!(weights(&dqn.target).unwrap(), weights(&dqn.training.network).unwrap());
    assert_ne!(weights(&dqn.target).unwrap(), fresh);
}

/// The double Q-learning target: the online network selects the action, the target network evaluates it.
#[test]
fn double_targets_use_the_target_network_for_evaluation_only() {
    use burn::tensor::Tensor;
    use rand::SeedableRng;
    let spec = vectors();
    let config = DqnConfig { double: true, train_ratio: 0.01, gamma: 0.5, ..config() };
    let (mut dqn, mut envs) = (learner(config, spec.clone()), RandomEnvs::new(spec.clone()));
    // Another target network than the trained one.
    dqn.target = learner(DqnConfig::default(), spec.clone()).target;
    let other = Dqn::new(DqnConfig::default(), PolicyConfig::default(), spec, &Device::flex(), 99).unwrap();
    dqn.target = other.target;
    for _ in 0..20 {
        step(&mut dqn, &mut envs);
    }
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let draws = dqn.replay.draw(32, 1.0, &mut rng);
    let noise = StepNoise::default();
    let device = dqn.training.device.clone();
    let minibatch =
        super::minibatch::Minibatch::gather(&dqn.replay, draws, &dqn.spec, dqn.layout, &noise, &device);
    let targets = dqn.targets(&minibatch, &noise).unwrap();
    let host = |tensor: Tensor<3>| tensor.try_into_vec_as::<f32>().unwrap();
    let forward = |network: &crate::networks::QNetwork| {
        host(network.forward(minibatch.successors.clone(), &minibatch.successor_rows, None))
    };
    let (of_target, of_online) =
        (forward(&dqn.target), forward(&burn::module::Module::valid(&dqn.training.network)));
    let mut differ = 0;
    for (row, (&task, of)) in minibatch.tasks.iter().zip(&minibatch.returns).enumerate() {
        let legal = row * 5..row * 5 + dqn.spec.tasks[task].actions.num_outputs();
        let best = |values: &[f32]| crate::categorical::argmax(&values[legal.clone()]);
        let chosen = best(&of_online);
        differ += usize::from(chosen != best(&of_target));
        let expected = of.rewards + of.discount * of_target[row * 5 + chosen];
        assert!((targets[row] - expected).abs() < 1e-5, "{} and {expected}", targets[row]);
    }
    assert!(differ > 3, "both networks select the same actions");
}

#[test]
fn several_choices_are_learned_from_and_restored_bit_for_bit() {
    for (index, config) in variants().into_iter().enumerate() {
        let head = if index % 2 == 0 { HeadKind::PerGame } else { HeadKind::Shared };
        let policy = PolicyConfig { head, ..PolicyConfig::default() };
        for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
            let spec = spec_of_choices(Space::floats(3, -1.0, 1.0), mode);
            let new = Dqn::new(config.clone(), policy.clone(), spec.clone(), &Device::flex(), 7);
            let (mut dqn, mut envs) = (new.unwrap(), RandomEnvs::new(spec.clone()));
            for _ in 0..41 {
                step(&mut dqn, &mut envs);
            }
            let (mut other, mut copy) = (restored(&dqn, true), envs.clone());
            for _ in 0..20 {
                assert_eq!(step(&mut dqn, &mut envs), step(&mut other, &mut copy));
            }
            assert!(dqn.state().unwrap() == other.state().unwrap());
            let policy = dqn.policy(&spec).unwrap();
            let (values, greedy) = (policy.values(&envs.batch).unwrap(), policy.greedy(&envs.batch).unwrap());
            assert_legal(&spec, &greedy);
            // Values are those of the five factored actions, or of 3 and 4 options.
            assert_eq!(values.iter().map(Vec::len).collect::<Vec<_>>(), [5, 7, 5, 5]);
            let best = |values: &[f32]| crate::categorical::argmax(values) as i32;
            let of_product = [best(&values[1][..3]), best(&values[1][3..])];
            assert_eq!(
                greedy,
                [&[best(&values[0])], &of_product[..], &[best(&values[2]), best(&values[3])]].concat()
            );
        }
    }
}

/// The targets of Tavakoli et al. 2018: the mean over the choices of the next action.
#[test]
fn targets_of_several_choices_are_means_over_those_of_the_best_legal_action() {
    use rand::SeedableRng;
    let spec = spec_of_choices(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
    let config = DqnConfig { dueling: true, gamma: 0.5, train_ratio: 0.01, ..config() };
    let (mut dqn, mut envs) = (learner(config, spec.clone()), RandomEnvs::new(spec.clone()));
    for _ in 0..20 {
        step(&mut dqn, &mut envs);
    }
    let draws = dqn.replay.draw(30, 1.0, &mut rand_chacha::ChaCha8Rng::seed_from_u64(1));
    let (noise, device) = (StepNoise::default(), dqn.training.device.clone());
    let minibatch =
        super::minibatch::Minibatch::gather(&dqn.replay, draws, &dqn.spec, dqn.layout, &noise, &device);
    let targets = dqn.targets(&minibatch, &StepNoise::default()).unwrap();
    let next = dqn.target.forward(minibatch.successors.clone(), &minibatch.successor_rows, None);
    let next: Vec<f32> = next.try_into_vec_as().unwrap();
    let mut several = 0;
    for (row, (&task, of)) in minibatch.tasks.iter().zip(&minibatch.returns).enumerate() {
        let actions = &spec.tasks[task].actions;
        let values = &next[row * 7..][..7];
        let mean = |options: &Vec<i32>| {
            let starts = (0..options.len()).map(|choice| actions.sizes()[..choice].iter().sum::<usize>());
            let of_options = starts.zip(options).map(|(start, &option)| values[start + option as usize]);
            of_options.sum::<f32>() / options.len() as f32
        };
        let best = all_actions(actions).iter().map(mean).fold(f32::NEG_INFINITY, f32::max);
        let expected = of.rewards + of.discount * best;
        assert!((targets[row] - expected).abs() < 1e-5, "{} and {expected}", targets[row]);
        several += usize::from(actions.num_choices() > 1 && of.discount > 0.0);
    }
    assert!(several > 5);
}

/// Largest difference of two sets of values, relative to their size.
fn difference(values: &[Vec<f32>], others: &[Vec<f32>]) -> f32 {
    let pairs = || values.iter().flatten().zip(others.iter().flatten());
    let size = pairs().map(|(value, _)| value.abs()).fold(1.0, f32::max);
    pairs().map(|(value, other)| (value - other).abs()).fold(0.0, f32::max) / size
}

#[test]
fn updated_value_scales_preserve_predictions() {
    for of_returns in [config(), DqnConfig { distribution: Distribution::C51, ..rainbow() }] {
        // Quantiles instead of probabilities, which have no scale. The learning rate is too small to change
        // anything.
        let distribution = if of_returns.noisy { Distribution::Quantile } else { Distribution::Mean };
        let config = DqnConfig { learning_rate: 1e-30, distribution, ..of_returns };
        let policy = PolicyConfig { value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
        let mut dqn = Dqn::new(config, policy, vectors(), &Device::flex(), 7).unwrap();
        let mut envs = RandomEnvs::new(vectors());
        let online = |dqn: &Dqn, envs: &RandomEnvs| dqn.actor.values(&envs.batch).unwrap();
        let of_target = |dqn: &Dqn, envs: &RandomEnvs| {
            let mut policy = dqn.actor.clone();
            policy.set_network(dqn.target.clone());
            policy.values(&envs.batch).unwrap()
        };
        for update in 0..20 {
            envs.act_until_ready(&mut dqn, 1000.0);
            let scales = dqn.actor.head().scales.clone();
            let before = (online(&dqn, &envs), of_target(&dqn, &envs));
            dqn.update().unwrap();
            assert_ne!(dqn.actor.head().scales, scales);
            // The first returns of a task do not preserve predictions.
            if update > 0 {
                assert!(difference(&before.0, &online(&dqn, &envs)) < 1e-3, "update {update}");
                assert!(difference(&before.1, &of_target(&dqn, &envs)) < 1e-3, "update {update}");
            }
        }
        assert!(dqn.actor.head().scales.deviation(0).unwrap() > 100.0);
        let mut other = restored(&dqn, true);
        let mut copy = envs.clone();
        for _ in 0..20 {
            assert_eq!(step(&mut dqn, &mut envs), step(&mut other, &mut copy));
        }
        assert!(dqn.state().unwrap() == other.state().unwrap());
    }
}

#[test]
fn value_scales_are_those_of_the_replay_despite_priorities() {
    // Returns are rewards, uniform in -1000..1000, with deviation 577. They are drawn in proportion to their size, and the
    // deviation of those drawn is 707.
    let config = DqnConfig {
        gamma: 0.0,
        prioritized: true,
        per_alpha: 1.0,
        learning_rate: 1e-30,
        buffer_size: 4000,
        learning_starts: 3000,
        train_ratio: 1.0,
        ..config()
    };
    let policy = PolicyConfig { value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
    let mut dqn = Dqn::new(config, policy, vectors(), &Device::flex(), 7).unwrap();
    let mut envs = RandomEnvs::new(vectors());
    while dqn.updates() < 1000 {
        envs.act_until_ready(&mut dqn, 1000.0);
        dqn.update().unwrap();
    }
    for task in 0..2 {
        let deviation = dqn.actor.head().scales.deviation(task).unwrap();
        assert!((deviation - 577.0).abs() < 45.0, "{deviation}");
    }
}

#[test]
fn popart_requires_a_head_per_game_and_a_distribution_of_returns() {
    let new = |config: DqnConfig, policy: PolicyConfig| {
        Dqn::new(config, policy, vectors(), &Device::flex(), 7).err().unwrap().to_string()
    };
    let popart = PolicyConfig { value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
    let shared = PolicyConfig { head: HeadKind::Shared, ..popart.clone() };
    assert!(new(config(), shared).contains("none, h or symlog with head = \"shared\""));
    let probabilities = DqnConfig { distribution: Distribution::C51, ..config() };
    assert!(new(probabilities, popart).contains("none, h or symlog with dqn.distribution = \"c51\""));
}

#[test]
fn reset_rows_are_not_learned_from() {
    let run = |disturb: bool| {
        let (mut dqn, mut envs) = (learner(config(), vectors()), RandomEnvs::new(vectors()));
        let mut resets = 0;
        for _ in 0..30 {
            dqn.act(&envs.batch).unwrap();
            envs.step();
            let mut batch = envs.batch.clone();
            for env in (0..batch.len()).filter(|&env| envs.batch.autoreset[env]) {
                resets += 1;
                if disturb {
                    batch.rewards[env] = 1000.0;
                }
            }
            dqn.observe(&batch).unwrap();
            if dqn.is_ready() {
                dqn.update().unwrap();
            }
        }
        assert!(resets > 5);
        assert_eq!(dqn.steps, 120 - resets);
        weights(&dqn.training.network).unwrap()
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn final_observations_matter_exactly_where_an_episode_was_truncated() {
    let same_step = spec(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
    let run = |disturb: fn(&Batch, usize) -> bool| {
        let (mut dqn, mut envs) = (learner(config(), same_step.clone()), RandomEnvs::new(same_step.clone()));
        for _ in 0..30 {
            dqn.act(&envs.batch).unwrap();
            envs.step();
            let mut batch = envs.batch.clone();
            for env in (0..batch.len()).filter(|&env| disturb(&envs.batch, env)) {
                batch.final_observations.row_mut(env).fill(0);
            }
            dqn.observe(&batch).unwrap();
            if dqn.is_ready() {
                dqn.update().unwrap();
            }
        }
        weights(&dqn.training.network).unwrap()
    };
    let undisturbed = run(|_, _| false);
    assert_eq!(undisturbed, run(|batch, env| batch.terminated[env]));
    assert_ne!(undisturbed, run(|batch, env| batch.truncated[env]));
}

/// The kind of head, the number of columns of its last layer, and the columns of illegal actions: the last
/// three of the first task's five, or the shared action that no task has.
const ILLEGAL: [(HeadKind, usize, Range<usize>); 2] =
    [(HeadKind::PerGame, 10, 2..5), (HeadKind::Shared, 7, 5..6)];

#[test]
fn illegal_actions_affect_neither_actions_nor_updates() {
    for (head, columns, illegal) in ILLEGAL {
        let policy = PolicyConfig { head, ..PolicyConfig::default() };
        let mut dqn = Dqn::new(config(), policy, vectors(), &Device::flex(), 7).unwrap();
        let mut envs = RandomEnvs::new(vectors());
        // Enormous values for illegal actions.
        let mut parameters = weights(&dqn.training.network).unwrap();
        let bias = parameters.iter_mut().find(|parameter| parameter.shape == [columns]).unwrap();
        bias.values[illegal.clone()].fill(1e9);
        dqn.training.network = crate::networks::load_weights(dqn.training.network, parameters).unwrap();
        dqn.target = burn::module::Module::valid(&dqn.training.network);
        dqn.actor.set_network(burn::module::Module::valid(&dqn.training.network));
        dqn.config.start_e = 0.0;
        for _ in 0..20 {
            if let Some(metrics) = step(&mut dqn, &mut envs) {
                assert!(metrics.td_loss < 100.0, "{metrics:?}");
            }
        }
        let trained = weights(&dqn.training.network).unwrap();
        let bias = trained.iter().find(|parameter| parameter.shape == [columns]).unwrap();
        assert!(
            bias.values[illegal].iter().all(|&value| value == 1e9),
            "a gradient reached an illegal action"
        );
    }
}

#[test]
fn non_finite_values_are_reported_and_never_reach_the_weights() {
    let (mut dqn, mut envs) = (learner(config(), vectors()), RandomEnvs::new(vectors()));
    let mut broken = envs.batch.clone();
    broken.observations.row_mut(2)[..4].copy_from_slice(&f32::NAN.to_ne_bytes());
    let message = dqn.act(&broken).unwrap_err().to_string();
    assert!(message.starts_with("a value of environment 2 is not finite after 0 updates"), "{message}");

    dqn.act(&envs.batch).unwrap();
    envs.step();
    let mut broken = envs.batch.clone();
    broken.rewards[3] = f32::INFINITY;
    assert_eq!(dqn.observe(&broken).unwrap_err().to_string(), "the reward of environment 3 is not finite");

    // The square of the error overflows.
    broken.rewards = vec![f32::MAX; 4];
    broken.autoreset = vec![false; 4];
    dqn.observe(&broken).unwrap();
    let error = loop {
        if dqn.is_ready() {
            match dqn.update() {
                Ok(_) => {}
                Err(error) => break error,
            }
        } else {
            dqn.act(&envs.batch).unwrap();
            envs.step();
            dqn.observe(&envs.batch).unwrap();
        }
    };
    let LearnerError::Diverged(divergence) = error else { panic!("{error}") };
    assert!(divergence.suspect.contains("in `targets`, row "), "{divergence}");
    assert_eq!(divergence.batch.iter().map(|tensor| tensor.shape[0]).collect::<Vec<_>>(), [8; 7]);
    let after = weights(&dqn.training.network).unwrap();
    assert!(after.iter().all(|parameter| parameter.values.iter().all(|value| value.is_finite())));
}

#[test]
fn calls_out_of_order_and_foreign_batches_are_errors() {
    let (mut dqn, mut envs) = (learner(config(), vectors()), RandomEnvs::new(vectors()));
    assert!(matches!(dqn.observe(&envs.batch), Err(LearnerError::OutOfOrder(_))));
    assert!(matches!(dqn.update(), Err(LearnerError::OutOfOrder(_))));
    dqn.act(&envs.batch).unwrap();
    assert!(matches!(dqn.act(&envs.batch), Err(LearnerError::OutOfOrder(_))));
    let foreign = |rows, row_bytes| Batch::new(rows, row_bytes, false);
    assert!(matches!(
        dqn.observe(&foreign(5, 12)),
        Err(LearnerError::ForeignBatch { what: "rows", got: 5, expected: 4 })
    ));
    assert!(matches!(dqn.observe(&foreign(4, 8)), Err(LearnerError::ForeignBatch { .. })));
    envs.step();
    dqn.observe(&envs.batch).unwrap();
}

#[test]
fn a_policy_matches_tasks_of_other_environments_by_name() {
    let (dqn, envs) = (learner(rainbow(), vectors()), RandomEnvs::new(vectors()));
    let own = dqn.policy(dqn.spec()).unwrap();
    let values = own.values(&envs.batch).unwrap();
    assert_eq!(values.iter().map(Vec::len).collect::<Vec<_>>(), [2, 5, 5, 2]);

    // Only the second task, twice, on the observations of environments 1 and 2.
    let mut only_five = vectors();
    only_five.tasks.remove(0);
    only_five.task_ids = vec![0, 0];
    let mut batch = Batch::new(2, 12, false);
    for row in 0..2 {
        batch.observations.row_mut(row).copy_from_slice(envs.batch.observations.row(row + 1));
    }
    let policy = dqn.policy(&only_five).unwrap();
    assert_eq!(policy.greedy(&batch).unwrap(), own.greedy(&envs.batch).unwrap()[1..3]);

    let mut unknown = only_five.clone();
    unknown.tasks[0].name = "six".to_owned();
    assert!(matches!(dqn.policy(&unknown), Err(SpecError::UnknownTask { .. })));
    let images = spec(Space::bytes([2, 36, 40]), AutoresetMode::NextStep);
    assert!(matches!(dqn.policy(&images), Err(SpecError::OtherObservations { .. })));
}

#[test]
fn a_replay_buffer_larger_than_memory_is_an_error() {
    let images = spec(Space::bytes([4, 84, 84]), AutoresetMode::SameStep);
    let config = DqnConfig { buffer_size: 1_000_000_000, ..DqnConfig::default() };
    let size = Dqn::replay_size(&config, &images).unwrap();
    assert!(size.total_bytes() > 7_000_000_000_000);
    let memory = ReplayStorage::Memory { available: 1 << 30 };
    let refused =
        Dqn::with_storage(config, PolicyConfig::default(), images, memory, &Device::flex(), 7).err();
    assert!(matches!(refused, Some(LearnerError::Replay(ReplayError::TooLarge { .. }))));
}

#[test]
fn damaged_states_are_errors() {
    let (mut dqn, mut envs) = (learner(config(), vectors()), RandomEnvs::new(vectors()));
    step(&mut dqn, &mut envs);
    let state = dqn.state().unwrap();
    let refused = |bytes: &[u8]| match Dqn::from_state(bytes, &Device::flex()) {
        Err(LearnerError::BadState(problem)) => problem,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{} bytes were accepted", bytes.len()),
    };
    assert_eq!(refused(b"something else"), "it has the wrong first bytes");
    assert_eq!(refused(&state[..9]), "it is truncated");
    refused(&state[..state.len() / 2]);
    assert_eq!(refused(&[&state[..], &[0]].concat()), "it has 1 extra bytes");
}
