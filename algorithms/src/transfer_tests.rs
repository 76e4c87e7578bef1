//! Learners that start from the weights of others.

use burn::tensor::Device;
use rl_env::{AutoresetMode, Space};

use crate::dqn::{Distribution, Dqn, DqnConfig};
use crate::networks::{Difference, HeadKind, NamedWeights, PolicyConfig, TrainedNetwork, TransferError};
use crate::ppo::{Ppo, PpoConfig};
use crate::pqn::{Pqn, PqnConfig};
use crate::testing::{RandomEnvs, spec, spec_of_choices, spec_of_numbers};
use crate::{JointActions, Learner, Task, ValueScale, VectorSpec};

fn images() -> VectorSpec {
    spec(Space::bytes([2, 36, 44]), AutoresetMode::SameStep)
}

fn vectors() -> VectorSpec {
    spec(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep)
}

/// Returns a specification with the second task of `spec`, after a new task with more actions.
fn others(spec: VectorSpec) -> VectorSpec {
    let tasks = vec![Task::new("seven", 7), spec.tasks[1].clone()];
    VectorSpec { tasks, task_ids: vec![0, 1, 1], ..spec }
}

fn popart() -> PolicyConfig {
    PolicyConfig { value_scale: ValueScale::PopArt, ..PolicyConfig::default() }
}

fn ppo(policy: PolicyConfig, spec: VectorSpec, seed: u64) -> Ppo {
    let config = PpoConfig { num_steps: 4, num_minibatches: 2, ..PpoConfig::default() };
    Ppo::new(config, policy, spec, &Device::flex(), seed).unwrap()
}

fn pqn(policy: PolicyConfig, spec: VectorSpec, seed: u64) -> Pqn {
    let config = PqnConfig { num_steps: 4, num_minibatches: 2, ..PqnConfig::default() };
    Pqn::new(config, policy, spec, &Device::flex(), seed).unwrap()
}

fn rainbow(spec: VectorSpec, seed: u64) -> Dqn {
    let config = DqnConfig {
        buffer_size: 64,
        learning_starts: 8,
        batch_size: 4,
        dueling: true,
        noisy: true,
        distribution: Distribution::Quantile,
        num_atoms: 3,
        ..DqnConfig::default()
    };
    Dqn::new(config, popart(), spec, &Device::flex(), seed).unwrap()
}

fn network(learner: &impl Learner) -> TrainedNetwork {
    TrainedNetwork { description: learner.description(), weights: learner.torch_weights().unwrap() }
}

/// Trains for an update, so that no weight and no value scale has its initial value.
macro_rules! trained {
    ($learner:expr) => {{
        let mut learner = $learner;
        let mut envs = RandomEnvs::new(learner.spec().clone());
        for _ in 0..2 {
            envs.act_until_ready(&mut learner, 3.0);
            learner.update().unwrap();
        }
        learner
    }};
}

fn named<'a>(weights: &'a [NamedWeights], name: &str) -> &'a NamedWeights {
    weights.iter().find(|weights| weights.name == name).expect(name)
}

#[test]
fn the_same_tasks_have_the_same_outputs_bit_for_bit() {
    for spec in [vectors(), images()] {
        let batch = RandomEnvs::new(spec.clone()).batch;
        for policy in [
            popart(),
            PolicyConfig { lstm: 8, game_embedding: 3, layer_norm: Some(true), ..PolicyConfig::default() },
            PolicyConfig { head: HeadKind::Shared, ..PolicyConfig::default() },
        ] {
            let source = trained!(ppo(policy.clone(), spec.clone(), 1));
            let mut own = ppo(policy, spec.clone(), 2);
            let done = own.start_from(&network(&source)).unwrap();
            assert_eq!((done.tensors, done.fresh_heads.len()), (done.total, 0));
            let outputs = |ppo: &Ppo| {
                let policy = ppo.policy(&spec).unwrap();
                policy.log_probs_and_values(&batch, &policy.initial_state()).unwrap()
            };
            assert_eq!(outputs(&own), outputs(&source));
            assert!(network(&own) == network(&source), "the networks differ");
        }
        let source = trained!(pqn(popart(), spec.clone(), 1));
        let mut own = pqn(popart(), spec.clone(), 2);
        own.start_from(&network(&source)).unwrap();
        let values = |pqn: &Pqn| pqn.policy(&spec).unwrap().values(&batch).unwrap();
        assert_eq!(values(&own), values(&source));
        let source = trained!(rainbow(spec.clone(), 1));
        let mut own = rainbow(spec.clone(), 2);
        own.start_from(&network(&source)).unwrap();
        let values = |dqn: &Dqn| dqn.policy(&spec).unwrap().values(&batch).unwrap();
        assert_eq!(values(&own), values(&source));
        assert!(network(&own) == network(&source), "the networks differ");
    }
}

#[test]
fn fresh_heads_do_not_count_as_transferred() {
    let source = trained!(ppo(PolicyConfig::default(), vectors(), 1));
    let spec = VectorSpec { tasks: vec![Task::new("seven", 7)], task_ids: vec![0, 0], ..vectors() };
    let done = ppo(PolicyConfig::default(), spec, 2).start_from(&network(&source)).unwrap();
    // The weights and biases of the policy and the value.
    assert_eq!((done.tensors, done.fresh_heads), (done.total - 4, vec!["seven".to_owned()]));
}

#[test]
fn a_shared_head_is_carried_over_to_new_tasks() {
    let shared = PolicyConfig { head: HeadKind::Shared, ..PolicyConfig::default() };
    let source = trained!(pqn(shared.clone(), vectors(), 1));
    let spec = VectorSpec { tasks: vec![Task::new("four", 4)], task_ids: vec![0, 0], ..vectors() };
    let mut own = pqn(shared.clone(), spec.clone(), 2);
    let done = own.start_from(&network(&source)).unwrap();
    assert_eq!((done.tensors, done.fresh_heads.len()), (done.total, 0));
    assert_eq!(network(&own).weights, network(&source).weights);
    // Each game has its own value head, even if the policy head is shared.
    let source = trained!(ppo(shared.clone(), vectors(), 1));
    let done = ppo(shared, spec, 2).start_from(&network(&source)).unwrap();
    assert_eq!((done.tensors, done.fresh_heads), (done.total - 2, vec!["four".to_owned()]));
}

#[test]
fn known_tasks_keep_their_heads_and_new_ones_have_fresh_heads() {
    let source = trained!(ppo(popart(), images(), 1));
    let mut own = ppo(popart(), others(images()), 2);
    let (fresh, trained) = (network(&own), network(&source));
    let done = own.start_from(&trained).unwrap();
    assert_eq!((done.tensors, done.fresh_heads), (done.total, vec!["seven".to_owned()]));
    let now = network(&own);
    for weights in &now.weights {
        let (before, theirs) = (named(&fresh.weights, &weights.name), named(&trained.weights, &weights.name));
        let row = weights.shape[1..].iter().product::<usize>();
        // The rows of `five` are the second block, of seven rows here and of five in the source.
        let (own_rows, their_rows) = match weights.name.split('.').next() {
            Some("actor") => (7..12, 5..10),
            Some("critic") => (1..2, 1..2),
            _ => {
                assert_eq!(weights, theirs);
                continue;
            }
        };
        let of_rows =
            |values: &[f32], rows: std::ops::Range<usize>| values[rows.start * row..rows.end * row].to_vec();
        assert_eq!(
            of_rows(&weights.values, own_rows.clone()),
            of_rows(&theirs.values, their_rows),
            "{}",
            weights.name
        );
        assert_eq!(
            of_rows(&weights.values, 0..own_rows.start),
            of_rows(&before.values, 0..own_rows.start),
            "{}",
            weights.name
        );
    }
    // Predictions of the known task equal those of the source, and illegal actions have no probability.
    let predictions = |ppo: &Ppo| {
        let only = VectorSpec { tasks: vec![images().tasks[1].clone()], task_ids: vec![0; 3], ..images() };
        let policy = ppo.policy(&only).unwrap();
        policy.log_probs_and_values(&RandomEnvs::new(only).batch, &policy.initial_state()).unwrap()
    };
    let ((own_log_probs, own_values), (log_probs, values)) = (predictions(&own), predictions(&source));
    let near = |own: &f32, theirs: &f32| (own - theirs).abs() < 1e-4 * theirs.abs().max(1.0);
    assert!(
        own_values.iter().zip(&values).all(|(own, theirs)| near(own, theirs)),
        "{own_values:?} {values:?}"
    );
    for (own, theirs) in own_log_probs.iter().zip(&log_probs) {
        assert_eq!((own.len(), theirs.len()), (5, 5));
        assert!(own.iter().zip(theirs).all(|(own, theirs)| near(own, theirs)), "{own:?} {theirs:?}");
    }
    // Training continues with masked actions.
    RandomEnvs::new(others(images())).act_until_ready(&mut own, 1.0);
    own.update().unwrap();
}

#[test]
fn known_tasks_keep_the_heads_of_all_choices() {
    let source_spec = spec_of_choices(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
    let source = trained!(ppo(popart(), source_spec.clone(), 1));
    let tasks = vec![Task::new("nine", 9), source_spec.tasks[1].clone(), source_spec.tasks[0].clone()];
    let own_spec = VectorSpec { tasks, shared_outputs: 9, task_ids: vec![0, 1, 2, 2], ..source_spec.clone() };
    let mut own = ppo(popart(), own_spec, 2);
    let done = own.start_from(&network(&source)).unwrap();
    assert_eq!((done.tensors, done.fresh_heads), (done.total, vec!["nine".to_owned()]));
    let only =
        VectorSpec { tasks: source_spec.tasks[..2].to_vec(), task_ids: vec![0, 1, 0, 1], ..source_spec };
    let batch = RandomEnvs::new(only.clone()).batch;
    let log_probs = |ppo: &Ppo| ppo.policy(&only).unwrap().log_probs(&batch).unwrap();
    let (own, theirs) = (log_probs(&own).concat(), log_probs(&source).concat());
    assert!(own.iter().zip(&theirs).all(|(own, theirs)| (own - theirs).abs() < 1e-4), "{own:?} {theirs:?}");
}

#[test]
fn known_tasks_keep_the_deviations_of_their_components() {
    let both = spec_of_numbers(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
    let one = VectorSpec {
        tasks: vec![both.tasks[0].clone()],
        task_ids: vec![0; 4],
        shared_outputs: 1,
        ..both.clone()
    };
    let deviations = |ppo: &Ppo| named(&network(ppo).weights, "actor_logstd").clone();
    // From a task with one component to a network whose tasks have up to three, and back.
    for (source_spec, own_spec) in [(one.clone(), both.clone()), (both, one)] {
        let source = trained!(ppo(PolicyConfig::default(), source_spec, 1));
        let mut own = ppo(PolicyConfig::default(), own_spec.clone(), 2);
        let done = own.start_from(&network(&source)).unwrap();
        assert_eq!(done.tensors, done.total);
        let (own, theirs) = (deviations(&own), deviations(&source));
        assert!(theirs.values[0] != 0.0, "it was trained");
        assert_eq!((own.values[0], own.shape[0]), (theirs.values[0], own_spec.tasks.len()));
        // The components of other tasks, and those that the task lacks, keep their initial value.
        assert!(own.values[1..].iter().all(|&value| value == 0.0), "{own:?}");
    }
}

#[test]
fn another_algorithm_gets_the_shared_layers() {
    let source = trained!(ppo(PolicyConfig::default(), images(), 1));
    let mut own = pqn(PolicyConfig::default(), images(), 2);
    let (fresh, trained) = (network(&own), network(&source));
    let done = own.start_from(&trained).unwrap();
    // Weights and biases of three convolutions and the hidden layer; normalisations and the last layer are fresh.
    assert_eq!((done.tensors, done.total, done.fresh_heads.len()), (8, 18, 2));
    let now = network(&own).weights;
    assert_eq!(named(&now, "network.3.weight").values, named(&trained.weights, "network.2.weight").values);
    assert_eq!(named(&now, "network.10.weight").values, named(&trained.weights, "network.7.weight").values);
    assert_eq!(named(&now, "network.13.weight"), named(&fresh.weights, "network.13.weight"));
}

#[test]
fn errors_name_the_difference_between_networks() {
    let source = network(&ppo(PolicyConfig::default(), images(), 1));
    let error = |policy: PolicyConfig, spec: VectorSpec| {
        let mut own = ppo(policy, spec, 2);
        let before = network(&own);
        let error = own.start_from(&source).unwrap_err();
        assert_eq!(network(&own), before, "an error changed the network");
        error
    };
    let larger = spec(Space::bytes([2, 44, 44]), AutoresetMode::SameStep);
    let observations = differences(error(PolicyConfig::default(), larger));
    assert!(matches!(observations[0], Difference::Observations { .. }), "{observations:?}");
    let narrow = error(PolicyConfig { hidden_size: Some(9), ..PolicyConfig::default() }, images());
    assert_eq!(
        narrow.to_string(),
        "the layer network.7.weight has the shape [512, 128] in the source and [9, 128] in the new network \
         (policy.hidden_size, policy.layer_norm)"
    );
    let recurrent = error(PolicyConfig { lstm: 4, ..PolicyConfig::default() }, images());
    assert_eq!(unmatched(&differences(recurrent)[0]), Some("the new network"));
    let scaled = error(popart(), images());
    assert_eq!(
        scaled.to_string(),
        "the source has policy.value_scale = none, the new network has popart; they must be equal"
    );
    let mut changed = images();
    changed.tasks[0] = Task::new("two", 3);
    let actions = error(PolicyConfig::default(), changed);
    assert_eq!(
        actions.to_string(),
        "the actions of two or their order differ: 2 actions in the source, 3 actions in the new network"
    );
    let mut factored = images();
    let factors = JointActions::factored(&[2, 1], vec![vec![1, 0], vec![0, 0]]).unwrap();
    factored.tasks[0] = Task::of_actions("two", factors);
    let actions = error(PolicyConfig::default(), factored);
    assert_eq!(
        actions.to_string(),
        "the actions of two or their order differ: 2 actions in the source, 2 actions in choices of 2 x 1 in the \
         new network"
    );
    let mut damaged = source.clone();
    damaged.weights.pop();
    let mut own = ppo(PolicyConfig::default(), images(), 2);
    let of_damaged =
        |own: &mut Ppo, damaged: &TrainedNetwork| differences(own.start_from(damaged).unwrap_err());
    assert_eq!(unmatched(&of_damaged(&mut own, &damaged)[0]), Some("the new network"));
    damaged.weights.clone_from(&source.weights);
    damaged.weights.push(NamedWeights { name: "more".to_owned(), shape: vec![1], values: vec![0.0] });
    assert_eq!(unmatched(&of_damaged(&mut own, &damaged)[0]), Some("the source"));
}

fn differences(error: TransferError) -> Vec<Difference> {
    match error {
        TransferError::Differences(differences) => differences,
        TransferError::Learner(error) => panic!("{error}"),
    }
}

/// Returns the network that alone has a layer.
fn unmatched(difference: &Difference) -> Option<&'static str> {
    match difference {
        Difference::Unmatched { network, .. } => Some(network),
        _ => None,
    }
}

#[test]
fn all_differences_are_found_at_once_with_their_settings() {
    let source = network(&ppo(PolicyConfig::default(), images(), 1));
    let settings = |policy: PolicyConfig, spec: VectorSpec| {
        let found = differences(ppo(policy, spec, 2).start_from(&source).unwrap_err());
        let mut settings: Vec<_> = found.iter().flat_map(Difference::settings).copied().collect();
        settings.sort_unstable();
        settings.dedup();
        settings
    };
    let other =
        PolicyConfig { layer_norm: Some(true), game_embedding: 3, hidden_size: Some(9), lstm: 4, ..popart() };
    let expected = [
        "policy.game_embedding",
        "policy.hidden_size",
        "policy.layer_norm",
        "policy.lstm",
        "policy.torso",
        "policy.value_scale",
        "policy.width",
    ];
    assert_eq!(settings(other.clone(), images()), expected);
    // Actions of a common task that differ do not hide the others.
    let mut changed = images();
    changed.tasks[0] = Task::new("two", 3);
    assert_eq!(settings(other, changed), expected);
}

#[test]
fn differences_in_the_outputs_name_the_settings_of_distributions() {
    let source = network(&rainbow(images(), 1));
    let mut own = DqnConfig { buffer_size: 64, learning_starts: 8, batch_size: 4, ..DqnConfig::default() };
    own.distribution = Distribution::C51;
    let mut own = Dqn::new(own, PolicyConfig::default(), images(), &Device::flex(), 2).unwrap();
    let found = differences(own.start_from(&source).unwrap_err());
    let names = |key: &str| found.iter().any(|difference| difference.settings().contains(&key));
    for key in ["policy.value_scale", "dqn.distribution", "dqn.num_atoms", "dqn.dueling", "dqn.noisy"] {
        assert!(names(key), "{key}: {found:?}");
    }
}
