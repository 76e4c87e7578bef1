//! Learners that several processes train together, here threads.

use burn::tensor::Device;
use rl_env::{AutoresetMode, Batch, Space};

use super::communicator::testing::together;
use super::*;
use crate::networks::{NamedWeights, PolicyConfig};
use crate::ppo::{NormAdv, Ppo, PpoConfig};
use crate::pqn::{Pqn, PqnConfig};
use crate::testing::{RandomEnvs, spec, spec_of_choices, spec_of_numbers};
use crate::{Learner, ValueScale, VectorSpec};

const NUM_ENVS: usize = 11;

/// Returns a specification with more environments.
fn many(spec: VectorSpec) -> VectorSpec {
    let task_ids = spec.task_ids.iter().copied().cycle().take(NUM_ENVS).collect();
    VectorSpec { task_ids, ..spec }
}

fn vectors() -> VectorSpec {
    many(spec(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep))
}

/// Returns the rows of some environments.
fn rows_of(batch: &Batch, envs: Range<usize>) -> Batch {
    let mut part =
        Batch::new(envs.len(), batch.observations.row_bytes(), batch.final_observations.rows() > 0);
    for (row, env) in envs.enumerate() {
        part.env_ids[row] = env;
        part.observations.row_mut(row).copy_from_slice(batch.observations.row(env));
        if part.final_observations.rows() > 0 {
            part.final_observations.row_mut(row).copy_from_slice(batch.final_observations.row(env));
        }
        part.rewards[row] = batch.rewards[env];
        part.terminated[row] = batch.terminated[env];
        part.truncated[row] = batch.truncated[env];
        part.autoreset[row] = batch.autoreset[env];
    }
    part
}

/// Makes three updates in a cluster. `update` returns the metrics as text.
fn train<L: Learner>(
    mut learner: L,
    cluster: Cluster,
    update: fn(&mut L) -> Result<String, LearnerError>,
) -> (Vec<String>, L) {
    let mut envs = RandomEnvs::new(learner.spec().clone());
    let own = cluster.own_envs(NUM_ENVS);
    learner.join(cluster).unwrap();
    let metrics = (0..3).map(|_| {
        while !learner.is_ready() {
            learner.act(&rows_of(&envs.batch, own.clone())).unwrap();
            envs.step();
            learner.observe(&rows_of(&envs.batch, own.clone())).unwrap();
        }
        update(&mut learner).unwrap()
    });
    (metrics.collect(), learner)
}

/// Asserts that one, two, four and eight processes learn the same, and almost the same as without shards.
fn assert_equal_in_clusters<L: Learner>(
    learner: impl Fn() -> L + Sync,
    update: fn(&mut L) -> Result<String, LearnerError>,
) {
    let (metrics, alone) = train(learner(), Cluster::new(None, 8).unwrap(), update);
    let expected = (metrics, alone.state().unwrap());
    for size in [1, 2, 4, 8] {
        let results = together(size, |communicator| {
            let (metrics, learner) = train(learner(), Cluster::new(Some(communicator), 8).unwrap(), update);
            (metrics, learner.state().unwrap())
        });
        for (rank, result) in results.into_iter().enumerate() {
            assert_eq!(result.0, expected.0, "rank {rank} of {size}");
            assert!(result.1 == expected.1, "rank {rank} of {size}");
        }
    }
    let (_, whole) = train(learner(), Cluster::default(), update);
    let (of_shards, of_whole) = (alone.torch_weights().unwrap(), whole.torch_weights().unwrap());
    let distance = |left: &NamedWeights, right: &NamedWeights| {
        let pairs = left.values.iter().zip(&right.values);
        pairs.map(|(left, right)| (left - right).abs() / left.abs().max(1.0)).fold(0.0, f32::max)
    };
    for (left, right) in of_shards.iter().zip(&of_whole) {
        assert!(distance(left, right) < 2e-3, "{}: {}", left.name, distance(left, right));
    }
}

fn ppo(mut config: PpoConfig, policy: PolicyConfig, spec: VectorSpec) -> impl Fn() -> Ppo + Sync {
    (config.total_steps, config.num_steps) = (16 * NUM_ENVS as u64 * 3, 16);
    move || Ppo::new(config.clone(), policy.clone(), spec.clone(), &Device::flex(), 7).unwrap()
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

#[test]
fn the_limit_of_the_divergence_holds_for_the_whole_batch() {
    let config = PpoConfig { target_kl: Some(1e-4), update_epochs: 8, ..PpoConfig::default() };
    let learner = ppo(config, PolicyConfig::default(), vectors());
    let (metrics, _) = train(learner(), Cluster::new(None, 8).unwrap(), update_ppo);
    assert!(metrics.iter().any(|metrics| !metrics.contains("epochs: 8")), "{metrics:?}");
    assert_equal_in_clusters(learner, update_ppo);
}

#[test]
fn recurrent_ppo_with_value_scales_learns_the_same() {
    let policy = PolicyConfig { lstm: 4, value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
    assert_equal_in_clusters(ppo(PpoConfig::default(), policy, vectors()), update_ppo);
}

#[test]
fn normalised_observations_and_continuous_actions_are_learned_the_same() {
    let policy = PolicyConfig { normalize_observations: true, ..PolicyConfig::default() };
    let spec = many(spec_of_numbers(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep));
    assert_equal_in_clusters(ppo(PpoConfig::default(), policy, spec), update_ppo);
}

#[test]
fn pqn_learns_the_same_in_any_number_of_processes() {
    let config = PqnConfig { total_steps: 16 * NUM_ENVS as u64 * 3, num_steps: 16, ..PqnConfig::default() };
    for spec in [vectors(), many(spec_of_choices(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep))] {
        let learner =
            || Pqn::new(config.clone(), PolicyConfig::default(), spec.clone(), &Device::flex(), 7).unwrap();
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
    let mut ppo = learner();
    ppo.join(Cluster::new(None, 8).unwrap()).unwrap();
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
