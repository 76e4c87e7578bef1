//! States: the same bytes for the same seed, restored learners, changed settings, undone updates, started learners.

use burn::tensor::Device;
use rayon::ThreadPoolBuilder;
use rl_env::AutoresetMode;

use super::{config, learner, numbers, small, step, variants};
use crate::cluster::Cluster;
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::{PolicyConfig, TrainedNetwork};
use crate::ppo::{Ppo, PpoConfig};
use crate::sac::{Sac, SacConfig};
use crate::testing::{RandomEnvs, assert_stopped_updates_are_undone};
use crate::{Learner, LearnerError, ReplayStorage, VectorSpec};

const MODES: [AutoresetMode; 2] = [AutoresetMode::NextStep, AutoresetMode::SameStep];

fn vectors() -> VectorSpec {
    numbers(AutoresetMode::NextStep)
}

fn state_without_replay(sac: &Sac) -> Result<Vec<u8>, LearnerError> {
    let mut bytes = Vec::new();
    sac.write_state_without_replay(&mut bytes).map(|()| bytes)
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
fn a_restored_learner_continues_bit_for_bit_from_any_moment() {
    for settings in variants() {
        for mode in MODES {
            // At the start, before learning, and while the replay fills and overflows.
            for pause in [0, 1, 13, 40] {
                let spec = numbers(mode);
                let (mut sac, mut envs) =
                    (learner(settings.clone(), spec.clone()), RandomEnvs::new(spec.clone()));
                for _ in 0..pause {
                    step(&mut sac, &mut envs);
                }
                let (mut other, mut copy) = (restored(&sac.state().unwrap()), envs.clone());
                for _ in 0..20 {
                    assert_eq!(step(&mut sac, &mut envs), step(&mut other, &mut copy));
                }
                assert!(sac.state().unwrap() == other.state().unwrap());
            }
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
            assert!(matches!(state_without_replay(&sac), Err(LearnerError::OutOfOrder(_))));
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
    let mut other = restored(&state_without_replay(&sac).unwrap());
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
        let mut other = restored(&state_without_replay(&sac).unwrap());
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
        Sac::from_state_with(
            &state,
            config,
            policy,
            Cluster::default(),
            ReplayStorage::UNLIMITED,
            &Device::flex(),
        )
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
fn a_stopped_update_of_many_gradient_steps_is_undone_at_every_moment() {
    for (config, policy) in variants() {
        // Eight gradient steps for each step of an environment.
        let settings = (SacConfig { train_ratio: 8.0, ..config }, policy);
        let learner = || learner(settings.clone(), vectors());
        assert_stopped_updates_are_undone([&mut learner(), &mut learner()], Sac::update_unless, 8);
    }
}

#[test]
fn damaged_states_are_errors() {
    let (mut sac, mut envs) = (learner((config(), small()), vectors()), RandomEnvs::new(vectors()));
    step(&mut sac, &mut envs);
    let state = sac.state().unwrap();
    let refused = |bytes: &[u8]| match Sac::from_state(bytes, &Device::flex()) {
        Err(LearnerError::BadState(problem)) => problem,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{} bytes were accepted", bytes.len()),
    };
    assert_eq!(refused(b"something else"), "it has the wrong first bytes");
    assert_eq!(refused(&state[..9]), "it is truncated");
    refused(&state[..state.len() / 2]);
    assert_eq!(refused(&[&state[..], &[0]].concat()), "bytes follow its end: 1");
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
        assert_eq!((transferred.tensors, transferred.fresh_heads.len()), (transferred.of, 0));
        assert_eq!(other.torch_weights().unwrap(), source.weights);
        // A fixed temperature is part of the configuration.
        let log_alphas = source.weights.iter().find(|of| of.name == "log_alpha").map(|of| &of.values[..]);
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
