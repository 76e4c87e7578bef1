//! Clusters, and learners that several processes train. Threads stand in for the processes.

use std::io::{self, Write};
use std::sync::Mutex;

use burn::tensor::Device;
use kernels::testing::largest;
use rl_env::{AutoresetMode, Space};

use super::communicator::testing::together;
use super::*;
use crate::dqn::{Augmentation, Distribution, Dqn, DqnConfig};
use crate::networks::{NamedWeights, PolicyConfig};
use crate::ppo::{NormAdv, Ppo, PpoConfig};
use crate::pqn::{Pqn, PqnConfig};
use crate::sac::{Sac, SacConfig};
use crate::testing::{RandomEnvs, rows_of, spec, spec_of_choices, spec_of_numbers};
use crate::{ContinuousActions, Learner, LearnerError, Placement, Task, ValueScale, VectorSpec};

const NUM_ENVS: usize = 11;
/// The number of updates, each of several gradient steps.
const UPDATES: usize = 3;

/// Returns a specification with more environments.
fn many(spec: VectorSpec) -> VectorSpec {
    let task_ids = spec.task_ids.iter().copied().cycle().take(NUM_ENVS).collect();
    VectorSpec { task_ids, ..spec }
}

fn vectors() -> VectorSpec {
    many(spec(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep))
}

/// Makes some updates in a cluster. `update` returns the metrics as text.
fn train<L: Learner>(
    mut learner: L,
    cluster: &Cluster,
    update: fn(&mut L) -> Result<String, LearnerError>,
) -> (Vec<String>, L) {
    let mut envs = RandomEnvs::new(learner.spec().clone());
    let own = cluster.own_envs(NUM_ENVS);
    let metrics = (0..UPDATES).map(|_| {
        while !learner.is_ready() {
            learner.act(&rows_of(&envs.batch, own.clone())).unwrap();
            envs.step();
            learner.observe(&rows_of(&envs.batch, own.clone())).unwrap();
        }
        update(&mut learner).unwrap()
    });
    (metrics.collect(), learner)
}

/// Asserts that one, two, four and eight processes give identical results, which are almost the same as without shards.
fn assert_equal_in_clusters<L: Learner>(
    learner: impl Fn(Cluster) -> L + Sync,
    update: fn(&mut L) -> Result<String, LearnerError>,
) {
    let train = |cluster: Cluster| train(learner(cluster.clone()), &cluster, update);
    let (metrics, alone) = train(Cluster::new(None, 8).unwrap());
    let expected = (metrics, alone.state().unwrap());
    for size in [1, 2, 4, 8] {
        let results = together(size, |communicator| {
            let (metrics, learner) = train(Cluster::new(Some(communicator), 8).unwrap());
            (metrics, learner.state().unwrap())
        });
        for (rank, result) in results.into_iter().enumerate() {
            assert_eq!(result.0, expected.0, "rank {rank} of {size}");
            assert!(result.1 == expected.1, "rank {rank} of {size}");
        }
    }
    let (_, whole) = train(Cluster::default());
    let (of_shards, of_whole) = (alone.torch_weights().unwrap(), whole.torch_weights().unwrap());
    let distance = |left: &NamedWeights, right: &NamedWeights| {
        let pairs = left.values.iter().zip(&right.values);
        largest(pairs.map(|(left, right)| (left - right).abs() / left.abs().max(1.0)))
    };
    for (left, right) in of_shards.iter().zip(&of_whole) {
        assert!(distance(left, right) < 2e-3, "{}: {}", left.name, distance(left, right));
    }
}

fn ppo(mut config: PpoConfig, policy: PolicyConfig, spec: VectorSpec) -> impl Fn(Cluster) -> Ppo + Sync {
    (config.total_steps, config.num_steps) = (16 * NUM_ENVS as u64 * 3, 16);
    move |cluster| {
        let mut ppo = Ppo::new(config.clone(), policy.clone(), spec.clone(), &Device::flex(), 7).unwrap();
        ppo.join(cluster).unwrap();
        ppo
    }
}

fn update_ppo(ppo: &mut Ppo) -> Result<String, LearnerError> {
    ppo.update().map(|metrics| format!("{metrics:?}"))
}

#[test]
fn ppo_learns_the_same_in_any_number_of_processes() {
    for norm_adv in [NormAdv::None, NormAdv::Batch, NormAdv::Game] {
        let config = PpoConfig { norm_adv, ..PpoConfig::default() };
        assert_equal_in_clusters(ppo(config, PolicyConfig::default(), vectors()), update_ppo);
    }
    let choices = many(spec_of_choices(Space::bytes([2, 36, 40]), AutoresetMode::NextStep));
    let config = PpoConfig { num_minibatches: 2, update_epochs: 1, ..PpoConfig::default() };
    assert_equal_in_clusters(ppo(config, PolicyConfig::default(), choices), update_ppo);
}

/// A communicator that counts the values it sums: first those summed during other work, then all others.
struct Counted {
    inner: Arc<dyn Communicator>,
    values: Mutex<[usize; 2]>,
}

impl Communicator for Counted {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn all_reduce(&self, values: &mut [f32], order: SumOrder) -> Result<(), CommunicationError> {
        self.values.lock().unwrap()[1] += values.len();
        self.inner.all_reduce(values, order)
    }

    fn all_reduce_during(
        &self,
        values: &mut [f32],
        order: SumOrder,
        work: &mut dyn FnMut(),
    ) -> Result<(), CommunicationError> {
        self.values.lock().unwrap()[0] += values.len();
        self.inner.all_reduce_during(values, order, work)
    }

    fn all_gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CommunicationError> {
        self.inner.all_gather(own)
    }
}

#[test]
fn most_of_the_gradient_for_images_is_summed_during_the_backward_pass() {
    let images = many(spec(Space::bytes([4, 84, 84]), AutoresetMode::SameStep));
    let config = PpoConfig { num_minibatches: 1, update_epochs: 1, ..PpoConfig::default() };
    let learner = ppo(config, PolicyConfig::default(), images);
    let counts = together(2, |inner| {
        let counted = Arc::new(Counted { inner, values: Mutex::default() });
        let cluster = Cluster::new(Some(Arc::clone(&counted) as Arc<dyn Communicator>), 2).unwrap();
        train(learner(cluster.clone()), &cluster, update_ppo);
        *counted.values.lock().unwrap()
    });
    for [early, late] in counts {
        assert!(late > 0 && early > 15 * late, "{early} early and {late} late values");
    }
}

#[test]
fn target_kl_applies_to_the_whole_batch() {
    let config = PpoConfig { target_kl: Some(1e-4), update_epochs: 8, ..PpoConfig::default() };
    let learner = ppo(config, PolicyConfig::default(), vectors());
    let cluster = Cluster::new(None, 8).unwrap();
    let (metrics, _) = train(learner(cluster.clone()), &cluster, update_ppo);
    assert!(metrics.iter().any(|metrics| !metrics.contains("epochs: 8")), "{metrics:?}");
    assert_equal_in_clusters(learner, update_ppo);
}

#[test]
fn recurrent_ppo_with_value_scales_learns_the_same() {
    let policy = PolicyConfig { lstm: 4, value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
    assert_equal_in_clusters(ppo(PpoConfig::default(), policy, vectors()), update_ppo);
}

#[test]
fn ppo_with_normalised_observations_and_continuous_actions_learns_the_same() {
    let policy = PolicyConfig { normalize_observations: true, ..PolicyConfig::default() };
    let spec = many(spec_of_numbers(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep));
    assert_equal_in_clusters(ppo(PpoConfig::default(), policy, spec), update_ppo);
}

#[test]
fn pqn_learns_the_same_in_any_number_of_processes() {
    let config = PqnConfig { total_steps: 16 * NUM_ENVS as u64 * 3, num_steps: 16, ..PqnConfig::default() };
    for spec in [vectors(), many(spec_of_choices(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep))] {
        let learner = |cluster| {
            let policy = PolicyConfig::default();
            let mut pqn = Pqn::new(config.clone(), policy, spec.clone(), &Device::flex(), 7).unwrap();
            pqn.join(cluster).unwrap();
            pqn
        };
        assert_equal_in_clusters(learner, |pqn| pqn.update().map(|metrics| format!("{metrics:?}")));
    }
}

#[test]
fn a_rollout_that_was_restored_is_completed_in_a_cluster() {
    let learner = ppo(PpoConfig::default(), PolicyConfig::default(), vectors());
    let complete = |cluster: Cluster, state: &[u8], mut envs: RandomEnvs| {
        let mut ppo = Ppo::from_state(state, &Device::flex()).unwrap();
        let own = cluster.own_envs(NUM_ENVS);
        ppo.join(cluster).unwrap();
        while !ppo.is_ready() {
            ppo.act(&rows_of(&envs.batch, own.clone())).unwrap();
            envs.step();
            ppo.observe(&rows_of(&envs.batch, own.clone())).unwrap();
        }
        let is_alone = own.len() == NUM_ENVS;
        assert!(is_alone || matches!(ppo.state(), Err(LearnerError::OutOfOrder(_))));
        ppo.update().unwrap();
        ppo.state().unwrap()
    };
    let mut ppo = learner(Cluster::new(None, 8).unwrap());
    let mut envs = RandomEnvs::new(ppo.spec().clone());
    for _ in 0..5 {
        ppo.act(&envs.batch).unwrap();
        envs.step();
        ppo.observe(&envs.batch).unwrap();
    }
    let state = ppo.state().unwrap();
    let alone = complete(Cluster::new(None, 8).unwrap(), &state, envs.clone());
    let together = together(4, |communicator| {
        complete(Cluster::new(Some(communicator), 8).unwrap(), &state, envs.clone())
    });
    assert!(together.into_iter().all(|state| state == alone));
}

/// Returns settings for three updates of two gradient steps each, after which two steps of each environment are
/// evicted.
fn dqn() -> DqnConfig {
    DqnConfig {
        total_steps: 400,
        learning_rate: 1e-2,
        buffer_size: 120,
        target_network_frequency: 2,
        batch_size: 16,
        learning_starts: 70,
        train_ratio: 0.2,
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
        ..dqn()
    }
}

fn assert_dqn_is_equal(config: &DqnConfig, policy: &PolicyConfig, spec: &VectorSpec) {
    let learner = |cluster| {
        let (placement, device) = (Placement { cluster, ..Placement::default() }, Device::flex());
        Dqn::in_cluster(config.clone(), policy.clone(), spec.clone(), placement, &device, 7).unwrap()
    };
    assert_equal_in_clusters(learner, |dqn| dqn.update().map(|metrics| format!("{metrics:?}")));
}

#[test]
fn dqn_learns_the_same_in_any_number_of_processes() {
    let policy = PolicyConfig::default();
    let choices = many(spec_of_choices(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep));
    for spec in [vectors(), choices] {
        assert_dqn_is_equal(&dqn(), &policy, &spec);
    }
    let quantiles = DqnConfig { distribution: Distribution::Quantile, num_atoms: 7, double: true, ..dqn() };
    assert_dqn_is_equal(&quantiles, &policy, &vectors());
}

#[test]
fn priorities_and_noise_are_the_same_in_any_number_of_processes() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let spec = many(spec(Space::floats(3, -1.0, 1.0), mode));
        assert_dqn_is_equal(&rainbow(), &PolicyConfig::default(), &spec);
    }
}

#[test]
fn value_scales_of_several_tasks_are_the_same_in_any_number_of_processes() {
    let policy = PolicyConfig { value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
    assert_dqn_is_equal(&DqnConfig { prioritized: true, ..dqn() }, &policy, &vectors());
}

#[test]
fn images_are_stacked_and_augmented_the_same_in_any_number_of_processes() {
    let images = many(spec(Space::bytes([2, 36, 40]), AutoresetMode::SameStep));
    let config = DqnConfig { augmentation: Augmentation::Drq, ..dqn() };
    assert_dqn_is_equal(&config, &PolicyConfig::default(), &images);
}

/// Environments with actions of one and of three bounded numbers.
fn numbers() -> VectorSpec {
    let spec = many(spec_of_numbers(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep));
    let three = Space::float_ranges(&[(-1.0, 1.0), (-0.4, 2.0), (0.0, 9.0)]);
    let three = Task::of_actions("three", ContinuousActions::of_space(&three).unwrap());
    VectorSpec { tasks: vec![spec.tasks[0].clone(), three], ..spec }
}

fn sac(config: &SacConfig, normalize_observations: bool, cluster: Cluster) -> Sac {
    let policy = PolicyConfig { hidden_size: Some(16), normalize_observations, ..PolicyConfig::default() };
    let (placement, device) = (Placement { cluster, ..Placement::default() }, Device::flex());
    Sac::in_cluster(config.clone(), policy, numbers(), placement, &device, 7).unwrap()
}

#[test]
fn sac_learns_the_same_in_any_number_of_processes() {
    let config = SacConfig {
        total_steps: 400,
        buffer_size: 120,
        batch_size: 16,
        learning_starts: 70,
        train_ratio: 0.2,
        ..SacConfig::default()
    };
    let variants = [
        (config.clone(), true),
        (SacConfig { autotune: false, noise_correlation: 0.5, policy_frequency: 1, ..config }, false),
    ];
    for (config, normalize_observations) in variants {
        let learner = |cluster| sac(&config, normalize_observations, cluster);
        assert_equal_in_clusters(learner, |sac| sac.update().map(|metrics| format!("{metrics:?}")));
    }
}

#[test]
fn a_replay_is_restored_in_a_cluster_of_another_size() {
    let config = DqnConfig { noisy: true, prioritized: true, ..dqn() };
    let images = many(spec(Space::bytes([2, 36, 40]), AutoresetMode::SameStep));
    let device = Device::flex();
    let mut alone = Dqn::new(config.clone(), PolicyConfig::default(), images, &device, 7).unwrap();
    // The number of shards is the same, the number of processes is not.
    let mut envs = RandomEnvs::new(alone.spec().clone());
    envs.act_until_ready(&mut alone, 1.0);
    let state = alone.state().unwrap();
    let continued = |cluster: Cluster| {
        let (own, mut envs) = (cluster.own_envs(NUM_ENVS), envs.clone());
        let (policy, placement) = (PolicyConfig::default(), Placement { cluster, ..Placement::default() });
        let mut dqn = Dqn::from_state_with(&state, config.clone(), policy, placement, &device).unwrap();
        assert!(dqn.state().unwrap() == state);
        dqn.update().unwrap();
        while !dqn.is_ready() {
            dqn.act(&rows_of(&envs.batch, own.clone())).unwrap();
            envs.step();
            dqn.observe(&rows_of(&envs.batch, own.clone())).unwrap();
        }
        dqn.update().unwrap();
        dqn.state().unwrap()
    };
    let expected = continued(Cluster::new(None, 8).unwrap());
    for size in [2, 8] {
        let states = together(size, |communicator| continued(Cluster::new(Some(communicator), 8).unwrap()));
        assert!(states.into_iter().all(|state| state == expected), "{size}");
    }
}

/// A file on a disk with room for a limited number of bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_process_that_cannot_write_the_state_does_not_block_the_others() {
    let images = many(spec(Space::bytes([2, 36, 40]), AutoresetMode::SameStep));
    let device = Device::flex();
    let results = together(4, |communicator| {
        let cluster = Cluster::new(Some(communicator), 4).unwrap();
        let (own, rank) = (cluster.own_envs(NUM_ENVS), cluster.rank());
        let (policy, placement) = (PolicyConfig::default(), Placement { cluster, ..Placement::default() });
        let mut dqn = Dqn::in_cluster(dqn(), policy, images.clone(), placement, &device, 7).unwrap();
        let mut envs = RandomEnvs::new(images.clone());
        dqn.act(&rows_of(&envs.batch, own.clone())).unwrap();
        assert!(matches!(dqn.state(), Err(LearnerError::OutOfOrder(_))));
        envs.step();
        dqn.observe(&rows_of(&envs.batch, own)).unwrap();
        let len = dqn.state().unwrap().len();
        // The disk fills up before the network is written, or between two frames.
        for space in [100, len - 3000] {
            let written = dqn.write_state(&mut Full(if rank == 0 { space } else { len }));
            assert_eq!(matches!(written, Err(LearnerError::StateNotWritten(_))), rank == 0, "{written:?}");
        }
        dqn.state().unwrap()
    });
    assert!(results.iter().all(|state| *state == results[0]));
}

#[test]
fn a_process_stores_only_the_frames_of_its_own_environments() {
    let images = many(spec(Space::bytes([4, 84, 84]), AutoresetMode::SameStep));
    let size = |cluster: &Cluster| Dqn::replay_size(&DqnConfig::default(), &images, cluster).unwrap();
    let whole = size(&Cluster::default());
    let parts = together(4, |communicator| size(&Cluster::new(Some(communicator), 4).unwrap()));
    assert_eq!(parts.iter().map(|part| part.storage_bytes).sum::<u64>(), whole.storage_bytes);
    assert!(parts.iter().all(|part| part.storage_bytes < whole.storage_bytes / 3));
    assert!(parts.iter().all(|part| (part.steps, part.index_bytes) == (whole.steps, whole.index_bytes)));
}

#[test]
fn processes_own_consecutive_shards_that_cover_all_environments() {
    for processes in [1, 2, 4, 8] {
        let shares = together(processes, |communicator| {
            let cluster = Cluster::new(Some(communicator), 8).unwrap();
            (cluster.own_envs(19), cluster.own_shards(19))
        });
        let shards: Vec<Range<usize>> = shares.iter().flat_map(|(_, shards)| shards.clone()).collect();
        assert_eq!(shards.len(), 8);
        assert!(shards.windows(2).all(|pair| pair[0].end == pair[1].start), "{shards:?}");
        assert!(shards.iter().all(|shard| [2, 3].contains(&shard.len())), "{shards:?}");
        for (envs, shards) in shares {
            assert_eq!(envs, shards[0].start..shards[shards.len() - 1].end);
        }
    }
}

#[test]
fn rows_are_split_by_shard() {
    let cluster = Cluster::new(None, 4).unwrap();
    let rows = [0, 1, 6, 7];
    assert_eq!(cluster.split(&rows, |env| *env, 8), [&rows[..2], &rows[2..]]);
    assert_eq!(Cluster::default().split(&rows, |env| *env, 8), [&rows[..]]);
}

#[test]
fn impossible_numbers_of_processes_and_shards_are_refused() {
    let errors = together(3, |communicator| Cluster::new(Some(communicator), 8).unwrap_err());
    assert_eq!(errors[0], BadClusterSize { processes: 3, shards: 8 });
    let expected = "8 shards cannot be divided among 3 processes: both must be powers of two, with processes <= shards \
                    <= 1024";
    assert_eq!(errors[0].to_string(), expected);
    for shards in [0, 3, 2048] {
        assert_eq!(Cluster::new(None, shards).unwrap_err(), BadClusterSize { processes: 1, shards });
    }
    assert!(Cluster::check_shards(8, 8).is_ok());
    for (shards, num_envs) in [(0, 8), (3, 8), (8, 7), (2048, 4096)] {
        assert!(Cluster::check_shards(shards, num_envs).is_err(), "{shards} shards");
    }
}
