//! States: the same bytes for the same seed, restored learners, changed settings, undone updates, started learners.

use burn::tensor::Device;
use rayon::ThreadPoolBuilder;
use rl_env::AutoresetMode;

use super::{config, learner, numbers, small, step, variants};
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::{PolicyConfig, TrainedNetwork};
use crate::ppo::{Ppo, PpoConfig};
use crate::sac::{Sac, SacConfig};
use crate::testing::RandomEnvs;
use crate::{Learner, LearnerError, Placement, VectorSpec, check_learner};

const MODES: [AutoresetMode; 2] = [AutoresetMode::NextStep, AutoresetMode::SameStep];

fn vectors() -> VectorSpec {
    numbers(AutoresetMode::NextStep)
}

fn state_without_replay(sac: &mut Sac) -> Result<Vec<u8>, LearnerError> {
    sac.set_replay_in_state(false);
    let state = sac.state();
    sac.set_replay_in_state(true);
    state
}

fn restored(state: &[u8]) -> Sac {
    Sac::from_state(state, &Device::flex()).unwrap()
}

/// Returns the state after a number of steps.
fn train(settings: (SacConfig, PolicyConfig), spec: VectorSpec, steps: usize) -> Vec<u8> {
    let (mut sac, mut envs) = (learner(settings, spec.clone()), RandomEnvs::new(spec));
    for _ in 0..steps {
        step(&mut sac, &mut envs);
    }
    assert!(sac.updates() > 0);
    sac.state().unwrap()
}

#[test]
fn every_variant_follows_the_rules_of_learners() {
    for (config, policy) in variants() {
        for mode in MODES {
            // An update can be stopped if at least eight gradient steps are due.
            let settings = (SacConfig { train_ratio: 4.0, ..config.clone() }, policy.clone());
            let stops = check_learner(|| learner(settings.clone(), numbers(mode)), &Device::flex()).unwrap();
            assert!(stops >= 2 * 8, "{stops}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    for settings in variants() {
        for mode in MODES {
            let with_threads = |num_threads| {
                let pool = ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap();
                pool.install(|| train(settings.clone(), numbers(mode), 20))
            };
            assert!(with_threads(1) == with_threads(3));
        }
    }
}

#[test]
fn states_can_be_written_between_act_and_observe() {
    for normalize_observations in [false, true] {
        let policy = PolicyConfig { normalize_observations, ..small() };
        let (mut sac, mut envs) = (learner((config(), policy), vectors()), RandomEnvs::new(vectors()));
        for _ in 0..10 {
            sac.act(&envs.batch).unwrap();
            let mut other = restored(&sac.state().unwrap());
            assert!(matches!(state_without_replay(&mut sac), Err(LearnerError::OutOfOrder(_))));
            envs.step();
            for sac in [&mut sac, &mut other] {
                sac.observe(&envs.batch).unwrap();
                if sac.is_ready() {
                    sac.update().unwrap();
                }
            }
            assert!(sac.state().unwrap() == other.state().unwrap());
        }
    }
}

#[test]
fn a_lost_replay_buffer_is_refilled_by_the_policy_before_learning_continues() {
    let config = SacConfig { learning_starts: 40, ..config() };
    let (mut sac, mut envs) = (learner((config, small()), vectors()), RandomEnvs::new(vectors()));
    while sac.updates() < 10 {
        step(&mut sac, &mut envs);
    }
    let mut other = restored(&state_without_replay(&mut sac).unwrap());
    assert_eq!(other.act(&envs.batch).unwrap(), sac.act(&envs.batch).unwrap());
    envs.step();
    other.observe(&envs.batch).unwrap();
    let (updates, steps) = (other.updates(), other.off_policy.steps);
    while other.updates() == updates {
        step(&mut other, &mut envs);
    }
    assert!(other.off_policy.steps >= steps + 36, "{} {steps}", other.off_policy.steps);
}

#[test]
fn a_refilled_replay_buffer_needs_no_steps_of_environments_that_have_used_up_theirs() {
    for settings in variants() {
        let (mut sac, mut envs) = (learner(settings, vectors()), RandomEnvs::new(vectors()));
        while sac.updates() < 10 {
            step(&mut sac, &mut envs);
        }
        let mut other = restored(&state_without_replay(&mut sac).unwrap());
        envs.step_while_resting(&mut other, 0, 30, |sac| {
            sac.update().unwrap();
        });
        assert!(other.updates() > sac.updates(), "{} updates", other.updates());
    }
}

#[test]
fn settings_that_shape_the_state_are_fixed() {
    let (mut sac, mut envs) = (learner((config(), small()), vectors()), RandomEnvs::new(vectors()));
    while sac.off_policy.steps < 100 {
        step(&mut sac, &mut envs);
    }
    let state = sac.state().unwrap();
    let continued = |config: SacConfig, policy| {
        Sac::from_state_with(&state, config, policy, Placement::default(), &Device::flex())
    };
    let other = SacConfig { buffer_size: 121, ..config() };
    assert!(
        matches!(continued(other, small()).err(), Some(LearnerError::Fixed(error)) if error.field == "buffer_size")
    );
    let wider = PolicyConfig { hidden_size: Some(17), ..PolicyConfig::default() };
    assert!(
        matches!(continued(config(), wider).err(), Some(LearnerError::Fixed(error)) if error.field == "hidden_size")
    );
    let shorter = continued(SacConfig { total_steps: 50, ..config() }, small()).err();
    assert!(matches!(shorter, Some(LearnerError::Config(error)) if error.field == "total_steps"));
    let free = SacConfig { gamma: 0.5, batch_size: 4, autotune: false, noise_correlation: 0.5, ..config() };
    assert_eq!(continued(free.clone(), small()).unwrap().config(), &free);
}

#[test]
fn a_learner_starts_from_the_weights_of_another_one() {
    // Exported statistics are less precise than those of a learner; a test below compares them.
    for settings in variants().into_iter().filter(|(_, policy)| !policy.normalize_observations) {
        let (mut sac, mut envs) = (learner(settings.clone(), vectors()), RandomEnvs::new(vectors()));
        while sac.updates() < 4 {
            step(&mut sac, &mut envs);
        }
        let source = TrainedNetwork { description: sac.description(), weights: sac.torch_weights().unwrap() };
        let (config, policy) = settings;
        let autotune = config.autotune;
        let mut other = Sac::new(config, policy, vectors(), &Device::flex(), 8).unwrap();
        let transferred = other.start_from(&source).unwrap();
        assert_eq!((transferred.tensors, transferred.fresh_heads.len()), (transferred.total, 0));
        assert_eq!(other.torch_weights().unwrap(), source.weights);
        // A fixed temperature is part of the configuration.
        let log_alphas = source
            .weights
            .iter()
            .find(|weights| weights.name == "log_alpha")
            .map(|weights| &weights.values[..]);
        assert_eq!(log_alphas.is_some(), autotune);
        assert_ne!(log_alphas, Some(&[0.0; 2][..]));
        let policies = [&sac, &other].map(|sac| sac.policy(&vectors()).unwrap());
        assert_eq!(policies[0].greedy(&envs.batch).unwrap(), policies[1].greedy(&envs.batch).unwrap());
        assert_eq!(policies[0].values(&envs.batch).unwrap(), policies[1].values(&envs.batch).unwrap());
    }
}

#[test]
fn known_tasks_keep_their_outputs_when_others_are_new() {
    let (mut sac, mut envs) = (learner((config(), small()), vectors()), RandomEnvs::new(vectors()));
    while sac.updates() < 4 {
        step(&mut sac, &mut envs);
    }
    let source = TrainedNetwork { description: sac.description(), weights: sac.torch_weights().unwrap() };
    let mut new = vectors().tasks[0].clone();
    new.name = "new".to_owned();
    let tasks = vec![new, vectors().tasks[1].clone()];
    let mut other = learner((config(), small()), VectorSpec { tasks, ..vectors() });
    assert_eq!(other.start_from(&source).unwrap().fresh_heads, ["new"]);
    let log_alphas =
        [&sac, &other].map(|sac| sac.agent.temperature.network.weights().unwrap().swap_remove(0).values);
    assert_eq!(log_alphas[1], [0.0, log_alphas[0][1]], "the temperature of the new task is 1");
    let three = VectorSpec { tasks: vec![vectors().tasks[1].clone()], task_ids: vec![0; 4], ..vectors() };
    let policies = [&sac, &other].map(|sac| sac.policy(&three).unwrap());
    assert_eq!(policies[0].greedy(&envs.batch).unwrap(), policies[1].greedy(&envs.batch).unwrap());
    assert_eq!(policies[0].values(&envs.batch).unwrap(), policies[1].values(&envs.batch).unwrap());
}

#[test]
fn other_algorithms_have_no_layers_in_common() {
    let mut sac = learner((config(), small()), vectors());
    let mut ppo =
        Ppo::new(PpoConfig::default(), PolicyConfig::default(), vectors(), &Device::flex(), 1).unwrap();
    let network = |learner: &dyn Learner| TrainedNetwork {
        description: learner.description(),
        weights: learner.torch_weights().unwrap(),
    };
    let (of_sac, of_ppo) = (network(&sac), network(&ppo));
    for (refused, expected) in [
        (sac.start_from(&of_ppo), "the source has experiment.algorithm = ppo, the new network has sac"),
        (ppo.start_from(&of_sac), "the source has experiment.algorithm = sac, the new network has ppo"),
    ] {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.starts_with(expected), "{refused}");
    }
}

#[test]
fn statistics_count_the_observation_before_every_step() {
    let settings = variants().pop().unwrap();
    for mode in MODES {
        let spec = numbers(mode);
        let (mut sac, mut envs) = (learner(settings.clone(), spec.clone()), RandomEnvs::new(spec));
        let mut expected = ObservationStatistics::new(2, 3);
        for number in 0..40 {
            let before = envs.batch.clone();
            sac.act(&before).unwrap();
            envs.step();
            if number >= 20 {
                // The last environment has used up its steps and repeats its observation.
                let batch = &mut envs.batch;
                batch.observations.row_mut(3).copy_from_slice(before.observations.row(3));
                (batch.autoreset[3], batch.terminated[3], batch.truncated[3]) = (true, false, false);
            }
            let steps = (0..4).filter(|&env| !envs.batch.autoreset[env]);
            let row = |env| (envs.spec.task_ids[env], before.observations.row_f32(env).to_vec());
            expected.add(&expected.moments(steps.map(row)));
            sac.observe(&envs.batch).unwrap();
            assert_eq!(sac.agent.statistics.as_ref(), Some(&expected));
            if sac.is_ready() {
                sac.update().unwrap();
            }
        }
    }
}

#[test]
fn statistics_belong_to_the_exported_weights() {
    let (config, policy) = variants().pop().unwrap();
    let (mut sac, mut envs) =
        (learner((config.clone(), policy.clone()), vectors()), RandomEnvs::new(vectors()));
    for _ in 0..40 {
        step(&mut sac, &mut envs);
    }
    let source = TrainedNetwork { description: sac.description(), weights: sac.torch_weights().unwrap() };
    let started = |policy: PolicyConfig| {
        let mut started = learner((config.clone(), policy), vectors());
        started.start_from(&source).map(|_| started)
    };
    let values = |sac: &Sac| sac.policy(&vectors()).unwrap().values(&envs.batch).unwrap();
    let close = values(&sac).into_iter().zip(values(&started(policy).unwrap()));
    assert!(close.into_iter().all(|(a, b)| (a - b).abs() < 1e-5));
    let refused = started(small()).err().unwrap().to_string();
    assert!(refused.starts_with("the source has policy.normalize_observations = true"), "{refused}");
}
