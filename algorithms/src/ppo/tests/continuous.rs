//! Continuous actions and normalised observations.

use kernels::testing::simulate_device;

use super::*;
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::{Deviation, TrainedNetwork};
use crate::testing::spec_of_numbers;
use crate::{ContinuousActions, LearnerError, check_learner};

fn numbers(mode: AutoresetMode) -> VectorSpec {
    spec_of_numbers(Space::floats(3, -1.0, 1.0), mode)
}

/// Like [`numbers`], with finite bounds.
fn bounded(mode: AutoresetMode) -> VectorSpec {
    let mut spec = numbers(mode);
    let actions = ContinuousActions::of_space(&Space::float_ranges(&[(-1.0, 1.0), (-0.4, 2.0), (0.0, 9.0)]));
    spec.tasks[1] = Task::of_actions("three", actions.unwrap());
    spec
}

fn normalizing() -> PolicyConfig {
    PolicyConfig { normalize_observations: true, ..PolicyConfig::default() }
}

fn learner_of(config: PpoConfig, policy: &PolicyConfig, spec: &VectorSpec) -> Ppo {
    Ppo::new(config, policy.clone(), spec.clone(), &Device::flex(), 7).unwrap()
}

/// Returns the observations of a batch, each with its task.
fn observations(envs: &RandomEnvs) -> Vec<(usize, Vec<f32>)> {
    let row = |(env, &task): (usize, &usize)| (task, envs.batch.observations.row_f32(env).to_vec());
    envs.spec.task_ids.iter().enumerate().map(row).collect()
}

#[test]
fn continuous_actions_follow_the_rules_of_learners() {
    let of_state = PolicyConfig { deviation: Deviation::State, ..normalizing() };
    for (mode, policy) in [
        (AutoresetMode::SameStep, normalizing()),
        (AutoresetMode::NextStep, PolicyConfig { head: HeadKind::Shared, ..normalizing() }),
        (AutoresetMode::NextStep, PolicyConfig { lstm: 5, ..normalizing() }),
        (AutoresetMode::NextStep, PolicyConfig { squash_actions: true, ..normalizing() }),
        (AutoresetMode::NextStep, PolicyConfig { head: HeadKind::Shared, ..of_state.clone() }),
        (AutoresetMode::SameStep, PolicyConfig { squash_actions: true, lstm: 5, ..of_state }),
    ] {
        let spec = if policy.squash_actions { bounded(mode) } else { numbers(mode) };
        let config = || PpoConfig { num_minibatches: 2, ..config() };
        check_learner(|| learner_of(config(), &policy, &spec), &Device::flex()).unwrap();
        let (mut ppo, mut envs) = (learner_of(config(), &policy, &spec), RandomEnvs::new(spec.clone()));
        (0..20).for_each(|_| _ = step(&mut ppo, &mut envs));
        let trained = ppo.policy(&spec).unwrap();
        assert_legal(&spec, trained.greedy(&envs.batch).unwrap().as_actions());
        assert!(trained.log_probs(&envs.batch).unwrap().iter().all(Vec::is_empty));
        // The densities of the actions are the same as when they were chosen.
        let once = PpoConfig { update_epochs: 1, num_minibatches: 1, ..config() };
        let (mut ppo, mut envs) = (learner_of(once, &policy, &spec), RandomEnvs::new(spec.clone()));
        for _ in 0..48 {
            if let Some(metrics) = step(&mut ppo, &mut envs) {
                assert!(metrics.approx_kl.abs() < 1e-5 && metrics.clipfrac == 0.0, "{metrics:?}");
            }
        }
    }
}

#[test]
fn continuous_actions_follow_the_rules_of_learners_on_a_device() {
    let new = || learner_of(config(), &normalizing(), &numbers(AutoresetMode::NextStep));
    simulate_device(|| check_learner(new, &Device::flex()).unwrap());
}

#[test]
fn statistics_are_those_of_all_transitions_before_the_last_update() {
    let spec = numbers(AutoresetMode::NextStep);
    let (mut ppo, mut envs) = (learner_of(config(), &normalizing(), &spec), RandomEnvs::new(spec.clone()));
    let mut expected = ObservationStatistics::new(2, 3);
    assert_eq!(ppo.agent.statistics, Some(expected.clone()));
    for _ in 0..2 {
        let mut seen = Vec::new();
        while ppo.updates() == 0 || !ppo.is_idle() || seen.is_empty() {
            let rows = observations(&envs);
            ppo.act(&envs.batch).unwrap();
            envs.step();
            ppo.observe(&envs.batch).unwrap();
            let transitions = rows.into_iter().zip(&envs.batch.autoreset).filter(|(_, reset)| !**reset);
            seen.extend(transitions.map(|(row, _)| row));
            if ppo.is_ready() {
                assert_eq!(ppo.agent.statistics, Some(expected.clone()));
                ppo.update().unwrap();
                break;
            }
        }
        // The rollout orders them by environment, which changes sums in the last bits.
        expected.add(&expected.moments(seen.into_iter()));
        let [ours, theirs] =
            [ppo.agent.statistics.as_ref().unwrap(), &expected].map(ObservationStatistics::weights);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let close = ours.values.iter().zip(&theirs.values).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(close, "{ours:?} {theirs:?}");
        }
        expected = ppo.agent.statistics.clone().unwrap();
    }
}

#[test]
fn statistics_are_exported_and_restored_with_the_weights() {
    let spec = numbers(AutoresetMode::NextStep);
    let (mut ppo, mut envs) = (learner_of(config(), &normalizing(), &spec), RandomEnvs::new(spec.clone()));
    (0..20).for_each(|_| _ = step(&mut ppo, &mut envs));
    let source = TrainedNetwork { description: ppo.description(), weights: ppo.torch_weights().unwrap() };
    let names: Vec<&str> = source.weights.iter().map(|weights| weights.name.as_str()).collect();
    for name in ["actor_logstd", "actor.weight", "obs_rms.mean", "obs_rms.var", "obs_rms.count"] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    let mut started = Ppo::new(config(), normalizing(), spec.clone(), &Device::flex(), 8).unwrap();
    started.start_from(&source).unwrap();
    let [ours, theirs] = [&ppo, &started].map(|ppo| ppo.policy(&spec).unwrap().values(&envs.batch).unwrap());
    assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-6), "{ours:?} {theirs:?}");
    let mut other = learner_of(config(), &PolicyConfig::default(), &spec);
    let refused = other.start_from(&source).unwrap_err().to_string();
    assert!(refused.starts_with("the source has policy.normalize_observations = true"), "{refused}");
}

#[test]
fn state_dependent_deviations_are_exported_and_restored_as_a_layer() {
    let spec = bounded(AutoresetMode::NextStep);
    let policy =
        PolicyConfig { deviation: Deviation::State, squash_actions: true, ..PolicyConfig::default() };
    let (mut ppo, mut envs) = (learner_of(config(), &policy, &spec), RandomEnvs::new(spec.clone()));
    (0..20).for_each(|_| _ = step(&mut ppo, &mut envs));
    let source = TrainedNetwork { description: ppo.description(), weights: ppo.torch_weights().unwrap() };
    let shape =
        |name: &str| source.weights.iter().find(|weights| weights.name == name).unwrap().shape.clone();
    assert_eq!((shape("actor_logstd.weight"), shape("actor_logstd.bias")), (vec![6, 64], vec![6]));
    let start = |policy: &PolicyConfig| {
        let mut started = learner_of(config(), policy, &spec);
        started.start_from(&source).map(|_| started)
    };
    let started = start(&policy).unwrap();
    let [ours, theirs] = [&ppo, &started].map(|ppo| ppo.policy(&spec).unwrap().greedy(&envs.batch).unwrap());
    assert_eq!(ours, theirs);
    for (other, setting) in [
        (PolicyConfig { squash_actions: false, ..policy.clone() }, "policy.squash_actions = true"),
        (PolicyConfig { deviation: Deviation::Parameter, ..policy.clone() }, "policy.deviation = state"),
    ] {
        let refused = start(&other).err().unwrap().to_string();
        assert!(refused.starts_with(&format!("the source has {setting}")), "{refused}");
    }
}

#[test]
fn squashed_actions_need_bounds() {
    let policy = PolicyConfig { squash_actions: true, ..PolicyConfig::default() };
    let spec = numbers(AutoresetMode::NextStep);
    let refused = Ppo::new(config(), policy, spec, &Device::flex(), 7).err().unwrap();
    assert!(
        matches!(&refused, LearnerError::Spec(SpecError::UnboundedActions { task, .. }) if task == "three"),
        "{refused}"
    );
}

#[test]
fn unsupported_actions_and_observations_are_refused() {
    let images = spec_of_numbers(Space::bytes([1, 36, 36]), AutoresetMode::NextStep);
    let refused = Ppo::new(config(), normalizing(), images, &Device::flex(), 7).err().unwrap();
    assert!(refused.to_string().contains("normalize_observations = true is invalid"), "{refused}");
    let numbers = numbers(AutoresetMode::NextStep);
    let dqn = crate::dqn::Dqn::new(
        crate::dqn::DqnConfig::default(),
        PolicyConfig::default(),
        numbers.clone(),
        &Device::flex(),
        7,
    );
    let refused = dqn.err().unwrap().to_string();
    assert!(
        refused.starts_with("one has the action space Box(-2, 2, [1], float32); learners of action"),
        "{refused}"
    );
    let mut mixed = numbers;
    mixed.tasks[0] = Task::new("discrete", 3);
    assert!(!mixed.is_consistent(usize::MAX));
    let space = Space::floats(2, 0.0, 1.0);
    let actions = ContinuousActions::of_space(&space).unwrap();
    assert_eq!(actions.to_string(), "actions of 2 numbers");
}
