//! Choices: states, masks, targets, entropies, exploration and refusals.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_env::{Actions, AutoresetMode, Space};

use super::{config, small};
use crate::experience::replay::Draw;
use crate::networks::{HeadKind, NamedWeights, PolicyConfig, TrainedNetwork, load_weights, weights};
use crate::sac::gradient_steps::StepNoise;
use crate::sac::minibatch::Minibatch;
use crate::sac::{Discrete, DiscreteSac, Sac, SacConfig, SacMetrics};
use crate::testing::{
    RandomEnvs, assert_legal, images_and_floats, spec, spec_of_choices, spec_of_masks, spec_of_numbers,
};
use crate::{Learner, LearnerError, VectorSpec, check_learner};

const MODE: AutoresetMode = AutoresetMode::NextStep;

fn vector() -> Space {
    Space::floats(3, -1.0, 1.0)
}

fn learner((config, policy): (SacConfig, PolicyConfig), spec: VectorSpec) -> DiscreteSac {
    DiscreteSac::new(config, policy, spec, &Device::flex(), 7).unwrap()
}

/// Uses every option at least once.
fn variants() -> Vec<(SacConfig, PolicyConfig)> {
    let fixed = SacConfig { autotune: false, alpha: 0.1, policy_frequency: 1, ..config() };
    let slow = SacConfig { target_network_frequency: 2, tau: 1.0, target_entropy_scale: 0.5, ..config() };
    let shared = PolicyConfig { head: HeadKind::Shared, layer_norm: Some(true), ..small() };
    let normalizing = PolicyConfig { normalize_observations: true, ..small() };
    vec![(config(), small()), (fixed, shared.clone()), (slow, shared), (config(), normalizing)]
}

/// One step of learner and environments, and an update if one is due.
fn step(sac: &mut DiscreteSac, envs: &mut RandomEnvs) -> Option<SacMetrics> {
    let actions = sac.act(&envs.batch).unwrap();
    assert_legal(&envs.spec, actions);
    envs.step();
    sac.observe(&envs.batch).unwrap();
    sac.is_ready().then(|| sac.update().unwrap())
}

/// Returns a learner that has seen 60 steps of each environment, and never updates.
fn experienced(spec: VectorSpec) -> (DiscreteSac, RandomEnvs) {
    let config = SacConfig { train_ratio: 1e-9, gamma: 0.5, buffer_size: 400, ..config() };
    let (mut sac, mut envs) = (learner((config, small()), spec.clone()), RandomEnvs::new(spec));
    for _ in 0..60 {
        step(&mut sac, &mut envs);
    }
    (sac, envs)
}

fn draws(sac: &DiscreteSac, count: usize) -> Vec<Draw> {
    sac.off_policy.replay.draw(count, 0.0, &mut ChaCha8Rng::seed_from_u64(1))
}

fn minibatch(sac: &DiscreteSac, draws: &[Draw]) -> Minibatch<Discrete> {
    let shard = sac.off_policy.shards_of(draws).swap_remove(0);
    sac.gather(draws, shard, &sac.agent.critics.device)
}

/// Returns a network whose outputs are the biases that `bias` returns for each column of a layer.
fn constant<M: Module>(network: &M, bias: impl Fn(&str, usize) -> f32) -> M {
    let changed = weights(network).unwrap().into_iter().map(|NamedWeights { name, shape, values }| {
        let is_output = name.ends_with("output.Plain.bias");
        let value = |column: usize| if is_output { bias(&name, column) } else { 0.0 };
        NamedWeights { values: (0..values.len()).map(value).collect(), name, shape }
    });
    load_weights(network.clone(), changed.collect()).unwrap()
}

fn no_noise(policy_steps: usize) -> StepNoise {
    StepNoise { successors: Vec::new(), policy: vec![Vec::new(); policy_steps] }
}

fn host(tensor: Tensor<1>) -> Vec<f32> {
    tensor.try_into_vec_as().unwrap()
}

#[test]
fn every_variant_follows_the_rules_of_learners() {
    for (config, policy) in variants() {
        for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
            // An update can be stopped if at least eight gradient steps are due.
            let settings = (SacConfig { train_ratio: 4.0, ..config.clone() }, policy.clone());
            let new = || learner(settings.clone(), spec(vector(), mode));
            assert!(check_learner(new, &Device::flex()).unwrap() >= 2 * 8);
        }
    }
}

#[test]
fn choices_masks_and_images_follow_the_rules_of_learners() {
    let settings = (SacConfig { train_ratio: 2.0, ..config() }, small());
    let thin = PolicyConfig { width: 0.125, hidden_size: Some(8), ..PolicyConfig::default() };
    let mode = AutoresetMode::SameStep;
    for (policy, spec) in [
        (small(), spec_of_choices(vector(), mode)),
        (small(), spec_of_masks(vector(), mode)),
        (thin.clone(), spec(Space::bytes([2, 36, 36]), MODE)),
        (thin, spec(images_and_floats(), mode)),
    ] {
        let new = || learner((settings.0.clone(), policy.clone()), spec.clone());
        check_learner(new, &Device::flex()).unwrap();
    }
}

#[test]
fn a_restored_learner_continues_bit_for_bit() {
    for spec in [spec(vector(), MODE), spec_of_choices(vector(), MODE), spec_of_masks(vector(), MODE)] {
        let (mut sac, mut envs) = (learner((config(), small()), spec.clone()), RandomEnvs::new(spec));
        for _ in 0..10 {
            step(&mut sac, &mut envs);
        }
        let mut other = DiscreteSac::from_state(&sac.state().unwrap(), &Device::flex()).unwrap();
        let mut others = envs.clone();
        for _ in 0..10 {
            assert_eq!(step(&mut sac, &mut envs), step(&mut other, &mut others));
        }
        assert!(sac.updates() > 4 && sac.state().unwrap() == other.state().unwrap());
    }
}

#[test]
fn states_of_both_kinds_are_told_apart() {
    let discrete = learner((config(), small()), spec(vector(), MODE));
    let numbers = spec_of_numbers(vector(), MODE);
    let numbers = VectorSpec { tasks: vec![numbers.tasks[0].clone()], task_ids: vec![0], ..numbers };
    let continuous = Sac::new(config(), small(), numbers, &Device::flex(), 7).unwrap();
    let states = [discrete.state().unwrap(), continuous.state().unwrap()];
    assert_eq!(states.each_ref().map(|state| DiscreteSac::is_state(state)), [true, false]);
    assert_eq!(states.each_ref().map(|state| Sac::is_state(state)), [false, true]);
    assert!(matches!(DiscreteSac::from_state(&states[1], &Device::flex()), Err(LearnerError::BadState(_))));
}

/// Two tasks with 2 and 5 actions: the policies, values and temperatures are constants.
#[test]
fn soft_values_and_entropies_by_hand() {
    let (mut sac, _) = experienced(spec(vector(), MODE));
    let quarter = 0.25f32.ln();
    // The first task has the probabilities 3/4 and 1/4; the second one is uniform. Columns 2 to 4 of the first task do
    // not belong to it.
    sac.agent.actor.network = constant(&sac.agent.actor.network, |_, column| match column {
        0 => 0.75f32.ln(),
        1 => quarter,
        2..5 => 7.0,
        _ => 0.0,
    });
    // The smaller values of the first task are 2 and 0, those of the second 1, 1, 1, 1 and 6.
    sac.agent.target =
        constant(&sac.agent.target, |name, column| match (name.starts_with("first"), column) {
            (true, 0) => 2.0,
            (false, 0) => 3.0,
            (true, 1) => 8.0,
            (false, 1) => 0.0,
            (_, 2..5) => 1e6,
            (_, 9) => 6.0,
            _ => 1.0,
        });
    let draws = draws(&sac, 40);
    let batch = minibatch(&sac, &draws);
    let targets = host(sac.targets(&batch, &[]));
    let entropy_of_first = -(0.75 * 0.75f32.ln() + 0.25 * quarter);
    let (expected, entropies) = ([0.75 * 2.0, (4.0 + 6.0) / 5.0], [entropy_of_first, 5f32.ln()]);
    for (draw, target) in draws.iter().zip(targets) {
        let (step, task) = (sac.off_policy.replay.n_step_return(draw), sac.off_policy.task(draw));
        // The temperature is 1.
        let by_hand = step.rewards + step.discount * (expected[task] + entropies[task]);
        assert!((target - by_hand).abs() < 1e-5, "{target} {by_hand}");
    }
    let online =
        constant(&sac.agent.critics.network, |_, column| if (2..5).contains(&column) { 1e6 } else { 1.0 });
    sac.agent.critics.network = online;
    let metrics = sac.learn_policy(&draws, &[batch], &[]).unwrap();
    let mean = |of_tasks: [f32; 2]| {
        draws.iter().map(|draw| of_tasks[sac.off_policy.task(draw)]).sum::<f32>() / draws.len() as f32
    };
    assert!((metrics.entropy - mean(entropies)).abs() < 1e-5, "{}", metrics.entropy);
    assert!((metrics.actor_loss - (-mean(entropies) - 1.0)).abs() < 1e-5, "{}", metrics.actor_loss);
    // Targets of 0.89 ln 2 and 0.89 ln 5.
    let missing = [entropies[0] - 0.89 * 2f32.ln(), 0.11 * 5f32.ln()];
    assert!((metrics.alpha_loss.unwrap() - mean(missing)).abs() < 1e-5, "{:?}", metrics.alpha_loss);
}

/// The second task has choices of 3 and 4 options: entropies are added, and the value is the mean over the choices.
#[test]
fn soft_values_of_several_choices_by_hand() {
    let choices = spec_of_choices(vector(), MODE);
    let spec = VectorSpec { tasks: vec![choices.tasks[1].clone()], task_ids: vec![0; 4], ..choices };
    let (mut sac, _) = experienced(spec);
    sac.agent.actor.network =
        constant(&sac.agent.actor.network, |_, column| if column == 0 { 2f32.ln() } else { 0.0 });
    sac.agent.target = constant(&sac.agent.target, |_, column| [4.0, 0.0, 2.0, 1.0, 1.0, 1.0, 5.0][column]);
    let draws = draws(&sac, 20);
    // Probabilities 1/2, 1/4 and 1/4 of the first choice, 1/4 each of the second.
    let value = f32::midpoint(0.5 * 4.0 + 0.25 * 2.0, (1.0 + 1.0 + 1.0 + 5.0) / 4.0);
    let entropy = 1.5 * 2f32.ln() + 4f32.ln();
    for (draw, target) in draws.iter().zip(host(sac.targets(&minibatch(&sac, &draws), &[]))) {
        let step = sac.off_policy.replay.n_step_return(draw);
        let by_hand = step.rewards + step.discount * (value + entropy);
        assert!((target - by_hand).abs() < 1e-5, "{target} {by_hand}");
    }
}

#[test]
fn outputs_that_a_task_lacks_receive_no_gradient() {
    let (mut sac, _) = experienced(spec(vector(), MODE));
    let before = sac.agent.network().torch_weights().unwrap();
    let draws = draws(&sac, 40);
    sac.learn_from(&draws, &no_noise(2)).unwrap();
    let after = sac.agent.network().torch_weights().unwrap();
    for (before, after) in before.iter().zip(&after) {
        let changed: Vec<bool> = before.values.iter().zip(&after.values).map(|(a, b)| a != b).collect();
        // The biases of the outputs of two tasks.
        if before.name.ends_with("network.4.bias") {
            assert_eq!(changed[2..5], [false; 3], "{}", before.name);
            assert!(changed[..2].contains(&true) && changed[5..].contains(&true), "{}", before.name);
        }
    }
}

#[test]
fn options_that_masks_do_not_allow_are_never_chosen_and_never_contribute() {
    let (mut sac, mut envs) = experienced(spec_of_masks(vector(), MODE));
    let policy = sac.policy(&envs.spec).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for is_random in [true, false] {
        sac.config.learning_starts = if is_random { usize::MAX } else { 0 };
        for _ in 0..40 {
            assert!(envs.allow(Actions::Discrete(&policy.greedy(&envs.batch).unwrap())));
            assert!(envs.allow(Actions::Discrete(&policy.sample(&envs.batch, &mut rng).unwrap())));
            assert!(envs.allow(sac.act(&envs.batch).unwrap()));
            envs.step();
            sac.observe(&envs.batch).unwrap();
        }
    }
    // Rows whose masks forbid the first option do not depend on its value.
    let draws = draws(&sac, 40);
    let masks = sac.off_policy.replay.successor_masks(&draws);
    let targets = |sac: &mut DiscreteSac, value: f32| {
        sac.agent.target = constant(&sac.agent.target, |_, column| if column == 0 { value } else { 1.0 });
        host(sac.targets(&minibatch(sac, &draws), &[]))
    };
    let (low, high) = (targets(&mut sac, 0.0), targets(&mut sac, 1e6));
    let mut forbidden = 0;
    for (row, draw) in draws.iter().enumerate() {
        let is_first_task = sac.off_policy.task(draw) == 0;
        if is_first_task && masks[row][0] == 0 {
            assert_eq!(low[row], high[row]);
            forbidden += 1;
        }
    }
    assert!(forbidden > 0 && low != high);
}

#[test]
fn actions_are_uniform_until_learning_starts_and_then_those_of_the_policy() {
    let config = SacConfig { learning_starts: 2000, buffer_size: 4000, total_steps: 10_000, ..config() };
    let spec = spec(vector(), AutoresetMode::SameStep);
    let (mut sac, mut envs) = (learner((config, small()), spec.clone()), RandomEnvs::new(spec));
    let certain = constant(&sac.agent.network(), |_, column| if column % 5 == 1 { 50.0 } else { 0.0 });
    sac.agent.acting.set_network(certain.valid());
    let mut counts = [0; 5];
    for number in 0..500 {
        let Actions::Discrete(actions) = sac.act(&envs.batch).unwrap() else { panic!("not discrete") };
        counts[actions[1] as usize] += 1;
        envs.step();
        sac.observe(&envs.batch).unwrap();
        assert_eq!(sac.is_ready(), number == 499);
    }
    // Five standard deviations of a binomial count are 45.
    assert!(counts.iter().all(|count| (55..145).contains(count)), "{counts:?}");
    sac.off_policy.due_gradient_steps = 0.0;
    let Actions::Discrete(actions) = sac.act(&envs.batch).unwrap() else { panic!("not discrete") };
    assert_eq!(actions, [1; 4]);
}

#[test]
fn a_learner_starts_from_the_weights_of_another_one() {
    for policy in [small(), PolicyConfig { head: HeadKind::Shared, ..small() }] {
        let spec = spec(vector(), MODE);
        let (mut sac, mut envs) =
            (learner((config(), policy.clone()), spec.clone()), RandomEnvs::new(spec.clone()));
        while sac.updates() < 4 {
            step(&mut sac, &mut envs);
        }
        let source = TrainedNetwork { description: sac.description(), weights: sac.torch_weights().unwrap() };
        let mut other = DiscreteSac::new(config(), policy.clone(), spec.clone(), &Device::flex(), 8).unwrap();
        let transferred = other.start_from(&source).unwrap();
        assert_eq!((transferred.tensors, transferred.fresh_heads.len()), (transferred.total, 0));
        assert_eq!(other.torch_weights().unwrap(), source.weights);
        // Only one of the tasks, which has the same outputs as before.
        let five = VectorSpec { tasks: vec![spec.tasks[1].clone()], task_ids: vec![0; 4], ..spec.clone() };
        let mut part = DiscreteSac::new(config(), policy, five.clone(), &Device::flex(), 9).unwrap();
        part.start_from(&source).unwrap();
        let policies = [&sac, &part].map(|sac| sac.policy(&five).unwrap());
        let outputs = policies
            .map(|policy| (policy.log_probs(&envs.batch).unwrap(), policy.values(&envs.batch).unwrap()));
        assert_eq!(outputs[0], outputs[1]);
    }
}

#[test]
fn environments_and_settings_that_do_not_fit_are_refused() {
    let refused = |config: SacConfig, policy: PolicyConfig, spec: VectorSpec| {
        DiscreteSac::new(config, policy, spec, &Device::flex(), 7).err().unwrap().to_string()
    };
    let continuous = refused(config(), small(), spec_of_numbers(vector(), MODE));
    assert!(continuous.starts_with("one has the action space Box"), "{continuous}");
    let mixed = [spec(vector(), MODE).tasks[0].clone(), spec_of_numbers(vector(), MODE).tasks[0].clone()];
    let mixed = VectorSpec { tasks: mixed.into(), ..spec(vector(), MODE) };
    let mixed = refused(config(), small(), mixed);
    assert!(mixed.ends_with("all tasks of a network need the same kind of actions"), "{mixed}");
    let noisy = SacConfig { noise_correlation: 0.5, ..config() };
    assert_eq!(
        refused(noisy, small(), spec(vector(), MODE)),
        "sac.noise_correlation = 0.5 is invalid: it must be 0 for discrete actions, which have no noise"
    );
    let normalizing = PolicyConfig { normalize_observations: true, ..small() };
    let images = refused(config(), normalizing, spec(Space::bytes([2, 36, 36]), MODE));
    assert!(images.contains("false for images"), "{images}");
}
