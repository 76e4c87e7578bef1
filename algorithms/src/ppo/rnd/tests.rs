//! Intrinsic rewards in the whole learner.

use burn::tensor::Device;
use kernels::host::floats;
use rl_env::{AutoresetMode, Batch, Space};

use super::RndConfig;
use crate::cluster::Cluster;
use crate::networks::{NamedWeights, PolicyConfig, Precision, RowTasks, TrainedNetwork, ValueScale, weights};
use crate::ppo::{Ppo, PpoConfig, PpoMetrics};
use crate::testing::{RandomEnvs, images_and_floats, spec};
use crate::{Learner, LearnerError, VectorSpec, check_learner};

fn config() -> PpoConfig {
    let rnd =
        RndConfig { enabled: true, num_iterations_obs_norm_init: 1, features: 6, ..RndConfig::default() };
    PpoConfig { total_steps: 640, num_steps: 16, learning_rate: 1e-2, rnd, ..PpoConfig::default() }
}

fn policy() -> PolicyConfig {
    PolicyConfig { width: 0.25, hidden_size: Some(8), ..PolicyConfig::default() }
}

fn vectors(mode: AutoresetMode) -> VectorSpec {
    spec(Space::floats(3, -1.0, 1.0), mode)
}

fn learner(config: PpoConfig, spec: VectorSpec) -> Ppo {
    Ppo::new(config, policy(), spec, &Device::flex(), 7).unwrap()
}

/// Returns the metrics of updates in random environments.
fn train(ppo: &mut Ppo, updates: usize) -> Vec<PpoMetrics> {
    let mut envs = RandomEnvs::new(ppo.spec().clone());
    let update = |_| {
        envs.act_until_ready(ppo, 1.0);
        ppo.update().unwrap()
    };
    (0..updates).map(update).collect()
}

/// Returns the weights whose names begin with `prefix`.
fn weights_of(ppo: &Ppo, prefix: &str) -> Vec<NamedWeights> {
    let mut found = weights(&ppo.on_policy.training.network).unwrap();
    found.retain(|weights| weights.name.starts_with(prefix));
    found
}

#[test]
fn learners_with_intrinsic_rewards_follow_the_rules_of_learners() {
    let config = PpoConfig { num_minibatches: 2, update_epochs: 2, ..config() };
    let popart = PolicyConfig { value_scale: ValueScale::PopArt, ..policy() };
    let images = |mode| spec(Space::bytes([3, 6, 5]), mode);
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        for (policy, spec) in
            [(policy(), vectors(mode)), (popart.clone(), vectors(mode)), (policy(), images(mode))]
        {
            let new = || Ppo::new(config.clone(), policy.clone(), spec.clone(), &Device::flex(), 7).unwrap();
            // Three moments for each of four minibatches of the second update, besides those of the statistics.
            let stops = check_learner(new, &Device::flex()).unwrap();
            assert!(stops >= 12, "{stops}");
        }
    }
}

#[test]
fn the_first_rollouts_only_initialise_statistics() {
    let mut ppo = learner(config(), vectors(AutoresetMode::NextStep));
    let (before, fresh) = (weights_of(&ppo, ""), ppo.agent.rnd.clone().unwrap().state);
    let metrics = train(&mut ppo, 1).remove(0);
    assert_eq!((metrics.epochs, metrics.rnd, ppo.updates()), (0, None, 1));
    assert_eq!(weights_of(&ppo, ""), before);
    let state = ppo.agent.rnd.clone().unwrap().state;
    assert_ne!(state.statistics, fresh.statistics);
    assert_eq!((state.rewards, state.rollout), (fresh.rewards, fresh.rollout));
    let metrics = train(&mut ppo, 1).remove(0);
    assert!(metrics.epochs > 0 && metrics.rnd.is_some(), "{metrics:?}");
    assert_ne!(weights_of(&ppo, ""), before);
}

#[test]
fn the_target_never_changes_and_the_predictor_does() {
    for space in [Space::floats(3, -1.0, 1.0), Space::bytes([2, 36, 36])] {
        let mut ppo = learner(config(), spec(space, AutoresetMode::SameStep));
        let parts = ["exploration.target", "exploration.predictor", "exploration.value"];
        let before = parts.map(|part| weights_of(&ppo, part));
        train(&mut ppo, 4);
        let [target, predictor, value] = parts.map(|part| weights_of(&ppo, part));
        assert!(!target.is_empty() && target == before[0]);
        assert!(predictor.iter().zip(&before[1]).all(|(after, before)| after.values != before.values));
        assert!(value != before[2]);
    }
}

/// Returns the mean error of the predictor for vectors of the first task.
fn error_of(ppo: &Ppo, vectors: &[[f32; 3]]) -> f32 {
    let device = Device::flex().autodiff();
    let rows = RowTasks::new(vectors.iter().map(|_| 0), &ppo.spec().tasks, &device);
    let frames = floats(vectors.concat(), [vectors.len(), 3], &device);
    let statistics = &ppo.agent.rnd.as_ref().unwrap().state.statistics;
    let frames = statistics.normalizer(&device).apply(frames, &rows);
    let errors = ppo.on_policy.training.network.exploration().unwrap().errors(frames);
    errors.mean().into_scalar()
}

#[test]
fn errors_fall_for_repeated_observations_and_stay_higher_for_new_ones() {
    let known = [[0.5f32, -0.5, 1.0], [-1.0, 0.5, 0.0]];
    let new = [[-0.9, -0.8, -1.0], [1.0, 1.0, -0.9]];
    let mut spec = vectors(AutoresetMode::NextStep);
    spec.tasks.truncate(1);
    spec.task_ids = vec![0; 4];
    let rnd = RndConfig { features: 16, ..config().rnd };
    let mut ppo = learner(PpoConfig { rnd, learning_rate: 1e-3, anneal_lr: false, ..config() }, spec.clone());
    let mut batch = Batch::new(4, spec.observation_space.byte_len(), false);
    let mut show = |step: usize| {
        for env in 0..4 {
            let values = known[(step + env) % 2].iter().flat_map(|value| value.to_ne_bytes());
            batch.observations.row_mut(env).copy_from_slice(&values.collect::<Vec<u8>>());
        }
        batch.clone()
    };
    let mut rewards = Vec::new();
    let mut errors = Vec::new();
    for step in 0..60 * 16 {
        ppo.act(&show(step)).unwrap();
        ppo.observe(&show(step + 1)).unwrap();
        if ppo.is_ready() {
            rewards.extend(ppo.update().unwrap().rnd.map(|metrics| metrics.reward));
            errors.push([error_of(&ppo, &known), error_of(&ppo, &new)]);
        }
    }
    let ([first_known, first_new], [last_known, last_new]) = (errors[0], errors[errors.len() - 1]);
    println!("known {first_known} to {last_known}, new {first_new} to {last_new}, rewards {rewards:?}");
    assert!(last_known < first_known / 20.0);
    assert!(last_new > 10.0 * last_known);
    assert!(rewards[rewards.len() - 1] < rewards[0] / 5.0);
}

#[test]
fn the_predictor_learns_from_a_share_of_a_minibatch() {
    let frames_for = |update_proportion| {
        let rnd = RndConfig { update_proportion, ..config().rnd };
        let mut ppo = learner(PpoConfig { rnd, ..config() }, vectors(AutoresetMode::SameStep));
        train(&mut ppo, 1);
        RandomEnvs::new(ppo.spec().clone()).act_until_ready(&mut ppo, 1.0);
        let transitions = ppo.on_policy.rollout.transitions();
        let targets = ppo.intrinsic_targets(&transitions, &|| false).ok().flatten().expect("targets");
        let rnd = ppo.agent.rnd.as_ref().unwrap();
        let rows = super::RndRows::gather(&ppo, rnd, &transitions[..10], &targets);
        assert_eq!(rows.returns.dims(), [10]);
        rows.frames.dims()[0]
    };
    assert_eq!([0.25, 0.5, 1.0, 0.01].map(frames_for), [3, 5, 10, 1]);
}

#[test]
fn the_settings_are_in_the_state_only_if_intrinsic_rewards_are_enabled() {
    let disabled = |int_coef| {
        let rnd = RndConfig { int_coef, ..RndConfig::default() };
        learner(PpoConfig { rnd, ..config() }, vectors(AutoresetMode::NextStep)).state().unwrap()
    };
    assert_eq!(disabled(1.0), disabled(3.0));
    let state = learner(config(), vectors(AutoresetMode::NextStep)).state().unwrap();
    assert_eq!(Ppo::from_state(&state, &Device::flex()).unwrap().config(), &config());
    // Without its last part it is the state of PPO with layers that do not belong to it.
    let optional = state.windows(8).position(|bytes| bytes == b"RNDSTATE").unwrap();
    assert!(matches!(Ppo::from_state(&state[..optional], &Device::flex()), Err(LearnerError::BadState(_))));
}

#[test]
fn settings_on_which_the_networks_depend_are_fixed() {
    let ppo = learner(config(), vectors(AutoresetMode::NextStep));
    let continued = |rnd| {
        let state = ppo.state().unwrap();
        Ppo::from_state_with(&state, PpoConfig { rnd, ..config() }, policy(), &Device::flex()).map(drop)
    };
    let fixed = |outcome: Result<(), LearnerError>| match outcome {
        Err(LearnerError::Fixed(error)) => error.field,
        other => panic!("{other:?}"),
    };
    assert_eq!(fixed(continued(RndConfig { enabled: false, ..config().rnd })), "enabled");
    assert_eq!(fixed(continued(RndConfig { features: 7, ..config().rnd })), "features");
    assert_eq!(continued(RndConfig { int_coef: 0.5, update_proportion: 1.0, ..config().rnd }), Ok(()));
}

#[test]
fn combinations_that_are_not_supported_are_refused() {
    let refused = |config, policy, spec| {
        let error = Ppo::new(config, policy, spec, &Device::flex(), 7).err().expect("a refusal");
        error.to_string()
    };
    let spec = || vectors(AutoresetMode::SameStep);
    for (config, policy, spec, expected) in [
        (
            PpoConfig { overlap: true, ..config() },
            policy(),
            spec(),
            "ppo.overlap = true is invalid: it must be false with ppo.rnd.enabled = true",
        ),
        (
            config(),
            PolicyConfig { lstm: 4, ..policy() },
            spec(),
            "policy.lstm = 4 is invalid: it must be 0 with ppo.rnd.enabled = true",
        ),
        (
            config(),
            PolicyConfig { precision: Precision::Bf16, ..policy() },
            spec(),
            "policy.precision = bf16 is invalid: it must be f32 with ppo.rnd.enabled = true",
        ),
        (
            config(),
            policy(),
            VectorSpec { observation_space: images_and_floats(), ..spec() },
            "ppo.rnd.enabled = true is invalid: it must be false for observations of several parts",
        ),
        (
            PpoConfig { rnd: RndConfig { int_gamma: 1.5, ..config().rnd }, ..config() },
            policy(),
            spec(),
            "ppo.rnd.int_gamma = 1.5 is invalid: it must be in 0..=1",
        ),
    ] {
        assert_eq!(refused(config, policy, spec), expected);
    }
    let joined = learner(config(), spec()).join(Cluster::new(None, 2).unwrap()).unwrap_err().to_string();
    let expected = "ppo.rnd.enabled = true is invalid: it must be false with several processes or shards";
    assert_eq!(joined, expected);
}

#[test]
fn weights_are_exchanged_with_agents_without_intrinsic_rewards() {
    let plain =
        || learner(PpoConfig { rnd: RndConfig::default(), ..config() }, vectors(AutoresetMode::SameStep));
    let source =
        |ppo: &Ppo| TrainedNetwork { description: ppo.description(), weights: ppo.torch_weights().unwrap() };
    let mut exploring = learner(config(), vectors(AutoresetMode::SameStep));
    train(&mut exploring, 2);
    let mut other = plain();
    let transferred = other.start_from(&source(&exploring)).unwrap();
    assert_eq!(transferred.tensors, transferred.total);
    assert_eq!(source(&other), source(&exploring));
    // In the other direction, the networks of intrinsic rewards stay as they are.
    let mut fresh = learner(config(), vectors(AutoresetMode::SameStep));
    let before = weights_of(&fresh, "exploration.");
    let transferred = fresh.start_from(&source(&other)).unwrap();
    assert_eq!(transferred.tensors, transferred.total);
    assert_eq!((weights_of(&fresh, "exploration."), source(&fresh)), (before, source(&other)));
}
