//! States: the same bytes for the same seed, restored learners, changed settings, undone updates.

use burn::tensor::Device;
use kernels::testing::simulate_device;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::ThreadPoolBuilder;
use rl_env::{AutoresetMode, Space};

use super::{config, learner, step, train, vectors};
use crate::networks::{HeadKind, PolicyConfig};
use crate::ppo::{Ppo, PpoConfig};
use crate::testing::{RandomEnvs, images_and_floats, rows_of, spec, spec_of_choices, spec_of_masks};
use crate::{Learner, LearnerError, ValueScale, VectorSpec, check_learner};

/// Checks that a learner follows the rules.
fn check(policy: &PolicyConfig, spec: &VectorSpec) {
    let config = PpoConfig { num_minibatches: 2, update_epochs: 3, ..config() };
    let new = || Ppo::new(config.clone(), policy.clone(), spec.clone(), &Device::flex(), 7).unwrap();
    // Three moments for each of six minibatches, in two updates.
    let stops = check_learner(new, &Device::flex()).unwrap();
    assert!(stops >= 2 * 18, "{stops}");
}

#[test]
fn every_kind_of_network_follows_the_rules_of_learners() {
    let plain = PolicyConfig::default();
    let recurrent = PolicyConfig { lstm: 6, ..plain.clone() };
    let scaled = PolicyConfig { value_scale: ValueScale::PopArt, ..plain.clone() };
    let shared = PolicyConfig { head: HeadKind::Shared, ..plain.clone() };
    let observations = || Space::floats(3, -1.0, 1.0);
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        for policy in [&plain, &recurrent, &scaled] {
            check(policy, &spec(observations(), mode));
        }
        for policy in [&plain, &shared] {
            check(policy, &spec_of_choices(observations(), mode));
        }
    }
    simulate_device(|| check(&scaled, &vectors()));
}

#[test]
fn masks_and_images_beside_vectors_follow_the_rules_of_learners() {
    let plain = PolicyConfig::default();
    let shared = PolicyConfig { head: HeadKind::Shared, ..plain.clone() };
    let small = PolicyConfig { width: 0.125, hidden_size: Some(8), ..plain.clone() };
    let masks = |mode| spec_of_masks(Space::floats(3, -1.0, 1.0), mode);
    let mixed = spec(images_and_floats(), AutoresetMode::SameStep);
    check(&plain, &masks(AutoresetMode::NextStep));
    check(&shared, &masks(AutoresetMode::SameStep));
    check(&small, &mixed);
    simulate_device(|| {
        check(&plain, &masked_discrete(AutoresetMode::SameStep));
        check(&small, &mixed);
    });
}

/// Returns a single task with masks, whose actions are sampled on devices.
fn masked_discrete(mode: AutoresetMode) -> VectorSpec {
    let mut spec = spec_of_masks(Space::floats(3, -1.0, 1.0), mode);
    spec.tasks.truncate(1);
    VectorSpec { task_ids: vec![0; 4], ..spec }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let spec = spec(Space::floats(3, -1.0, 1.0), mode);
        assert_eq!(train(spec.clone(), 35).1, train(spec, 35).1);
    }
    let other = Ppo::new(config(), PolicyConfig::default(), vectors(), &Device::flex(), 8).unwrap();
    assert_ne!(other.state().unwrap(), learner(vectors()).state().unwrap());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let images = spec(Space::bytes([2, 36, 40]), AutoresetMode::NextStep);
    let with_threads = |num_threads| {
        let pool = ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap();
        pool.install(|| train(images.clone(), 16).1)
    };
    assert_eq!(with_threads(1), with_threads(2));
}

#[test]
fn a_recurrent_policy_remembers_each_environment_regardless_of_the_division_into_batches() {
    let spec = vectors();
    let policy = PolicyConfig { lstm: 6, ..PolicyConfig::default() };
    let ppo = Ppo::new(config(), policy, spec.clone(), &Device::flex(), 7).unwrap();
    let (policy, mut envs) = (ppo.policy(&spec).unwrap(), RandomEnvs::new(spec));
    let (mut whole, mut parts) = (policy.initial_state(), policy.initial_state());
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..20 {
        let of_parts = [2..4, 0..1, 1..2].map(|part| rows_of(&envs.batch, part));
        for batch in of_parts {
            policy.act(&batch, &mut parts, true, &mut rng).unwrap();
        }
        policy.act(&envs.batch, &mut whole, true, &mut rng).unwrap();
        let [of_parts, of_whole] =
            [&parts, &whole].map(|state| policy.log_probs_and_values(&envs.batch, state).unwrap().1);
        assert!(of_parts.iter().zip(&of_whole).all(|(part, whole)| (part - whole).abs() < 1e-5));
        envs.step();
    }
}

/// Trains to the end.
fn complete(ppo: &mut Ppo, envs: &mut RandomEnvs) {
    while !ppo.is_complete() {
        step(ppo, envs);
    }
}

/// Returns the learner with other settings.
fn continued(ppo: &Ppo, config: PpoConfig, policy: PolicyConfig) -> Result<Ppo, LearnerError> {
    Ppo::from_state_with(&ppo.state().unwrap(), config, policy, &Device::flex())
}

#[test]
fn an_extended_training_equals_a_longer_one() {
    let constant = |total_steps| PpoConfig { total_steps, anneal_lr: false, ..config() };
    let new =
        |total| Ppo::new(constant(total), PolicyConfig::default(), vectors(), &Device::flex(), 7).unwrap();
    let (mut whole, mut envs) = (new(320), RandomEnvs::new(vectors()));
    complete(&mut whole, &mut envs);
    let (mut part, mut envs) = (new(192), RandomEnvs::new(vectors()));
    complete(&mut part, &mut envs);
    assert_eq!((part.updates(), whole.updates()), (3, 5));
    let mut extended = continued(&part, constant(320), PolicyConfig::default()).unwrap();
    complete(&mut extended, &mut envs);
    assert!(extended.state().unwrap() == whole.state().unwrap());
}

#[test]
fn annealed_learning_rates_follow_the_new_total() {
    let with_total = |total_steps| PpoConfig { total_steps, ..config() };
    let mut part = Ppo::new(with_total(192), PolicyConfig::default(), vectors(), &Device::flex(), 7).unwrap();
    let mut envs = RandomEnvs::new(vectors());
    complete(&mut part, &mut envs);
    // Three of six updates are done, so the rate is halfway from 0.01 to 0.
    let mut extended = continued(&part, with_total(384), PolicyConfig::default()).unwrap();
    let metrics = std::iter::repeat_with(|| step(&mut extended, &mut envs)).flatten().next().unwrap();
    assert!((metrics.learning_rate - 5e-3).abs() < 1e-12, "{metrics:?}");
}

#[test]
fn settings_that_shape_the_state_are_fixed() {
    let (mut ppo, mut envs) = (learner(vectors()), RandomEnvs::new(vectors()));
    complete(&mut ppo, &mut envs);
    let policy = PolicyConfig::default;
    let fixed = |outcome: Result<Ppo, LearnerError>| match outcome.err() {
        Some(LearnerError::Fixed(error)) => error.field,
        other => panic!("{other:?}"),
    };
    assert_eq!(fixed(continued(&ppo, PpoConfig { num_steps: 8, ..config() }, policy())), "num_steps");
    let wider = PolicyConfig { hidden_size: Some(65), ..policy() };
    assert_eq!(fixed(continued(&ppo, config(), wider)), "hidden_size");
    let shorter = continued(&ppo, PpoConfig { total_steps: 256, ..config() }, policy()).err();
    let allowed = "total_steps = 256 is invalid: it must be at least 320, the number of steps already made";
    assert_eq!(shorter.map(|error| error.to_string()).as_deref(), Some(allowed));
    let free = PpoConfig { gamma: 0.5, clip_coef: 0.3, num_minibatches: 2, learning_rate: 1.0, ..config() };
    assert_eq!(continued(&ppo, free.clone(), policy()).unwrap().config(), &free);
}

#[test]
fn the_first_minibatch_of_a_recurrent_learner_has_ratio_one() {
    let policy = PolicyConfig { lstm: 6, ..PolicyConfig::default() };
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let spec = spec(Space::floats(3, -1.0, 1.0), mode);
        let learner = |config| Ppo::new(config, policy.clone(), spec.clone(), &Device::flex(), 7).unwrap();
        // The recurrent states while acting equal those of the sequences, in later rollouts too.
        let once = PpoConfig { update_epochs: 1, num_minibatches: 1, ..config() };
        let (mut ppo, mut envs) = (learner(once), RandomEnvs::new(spec.clone()));
        for _ in 0..48 {
            if let Some(metrics) = step(&mut ppo, &mut envs) {
                assert!(metrics.approx_kl.abs() < 1e-6 && metrics.clipfrac == 0.0, "{metrics:?}");
            }
        }
    }
    let many = PpoConfig { num_minibatches: 5, ..config() };
    let refused = Ppo::new(many, policy, vectors(), &Device::flex(), 7).err().unwrap();
    assert!(refused.to_string().contains("lstm = 6 is invalid"), "{refused}");
}
