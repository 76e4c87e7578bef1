//! The whole learner, on batches of random environments.

use burn::tensor::Device;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_env::{AutoresetMode, Batch, Space};

use super::{Policy, Ppo, PpoConfig, PpoMetrics, TaskMetrics};
use crate::networks::{HeadKind, PolicyConfig, weights};
use crate::testing::{RandomEnvs, assert_legal, spec, spec_of_choices, spec_of_masks};
use crate::{Learner, SpecError, Task, VectorSpec};

mod continuous;
mod refusals;
mod scales;
mod states;

fn vectors() -> VectorSpec {
    spec(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep)
}

fn config() -> PpoConfig {
    PpoConfig { total_steps: 320, num_steps: 16, learning_rate: 1e-2, ..PpoConfig::default() }
}

fn learner(spec: VectorSpec) -> Ppo {
    Ppo::new(config(), PolicyConfig::default(), spec, &Device::flex(), 7).unwrap()
}

/// One step of learner and environments, and an update if one is due.
fn step(ppo: &mut Ppo, envs: &mut RandomEnvs) -> Option<PpoMetrics> {
    let actions = ppo.act(&envs.batch).unwrap();
    assert_legal(&envs.spec, actions);
    envs.step();
    ppo.observe(&envs.batch).unwrap();
    ppo.is_ready().then(|| ppo.update().unwrap())
}

/// Returns the last metrics and the state after a number of steps.
fn train(spec: VectorSpec, steps: usize) -> (PpoMetrics, Vec<u8>) {
    let (mut ppo, mut envs) = (learner(spec.clone()), RandomEnvs::new(spec));
    let mut metrics = None;
    for _ in 0..steps {
        metrics = step(&mut ppo, &mut envs).or(metrics);
    }
    (metrics.unwrap(), ppo.state().unwrap())
}

#[test]
fn metrics_of_tasks_add_up_to_those_of_the_update() {
    // One epoch of one minibatch, before which the policy has not changed.
    let config = PpoConfig { num_minibatches: 1, update_epochs: 1, ..config() };
    for lstm in [0, 4] {
        let policy = PolicyConfig { lstm, ..PolicyConfig::default() };
        let mut ppo = Ppo::new(config.clone(), policy, vectors(), &Device::flex(), 7).unwrap();
        let mut envs = RandomEnvs::new(vectors());
        envs.act_until_ready(&mut ppo, 1.0);
        let rollout = &ppo.on_policy.rollout;
        let mut counts = [0.0; 2];
        rollout.transitions().into_iter().for_each(|entry| counts[ppo.on_policy.task(entry)] += 1.0);
        let metrics = ppo.update().unwrap();
        let [two, five] = metrics.tasks.clone().try_into().unwrap();
        let mean = |value: fn(&TaskMetrics) -> f32| {
            (value(&two) * counts[0] + value(&five) * counts[1]) / (counts[0] + counts[1])
        };
        let close = |value: f32, expected: f32| (value - expected).abs() < 1e-5;
        assert!(close(mean(|task| task.entropy), metrics.entropy), "{metrics:?}");
        assert!(close(mean(|task| task.value_loss), metrics.value_loss), "{metrics:?}");
        assert!(close(two.gradient_share + five.gradient_share, 1.0), "{metrics:?}");
        // An initial policy is almost uniform.
        assert!((two.entropy - 2f32.ln()).abs() < 0.01 && (five.entropy - 5f32.ln()).abs() < 0.01);
        assert!([two, five].iter().all(|task| task.approx_kl < 1e-6 && task.clipfrac == 0.0));
        assert!([two, five].iter().all(|task| (0.1..0.9).contains(&task.gradient_share)), "{metrics:?}");
    }
}

#[test]
fn a_single_task_has_no_per_task_metrics() {
    let mut spec = vectors();
    spec.tasks.truncate(1);
    spec.task_ids = vec![0; 4];
    assert_eq!(train(spec, 16).0.tasks, []);
}

#[test]
fn several_choices_are_learned_from() {
    let mode = AutoresetMode::SameStep;
    for head in [HeadKind::PerGame, HeadKind::Shared] {
        let policy = PolicyConfig { head, ..PolicyConfig::default() };
        let spec = spec_of_choices(Space::floats(3, -1.0, 1.0), mode);
        let learner = |config| Ppo::new(config, policy.clone(), spec.clone(), &Device::flex(), 7).unwrap();
        let (mut ppo, mut envs) = (learner(config()), RandomEnvs::new(spec.clone()));
        (0..20).for_each(|_| _ = step(&mut ppo, &mut envs));
        // The policy recognises the environments by their spaces, factored or not.
        let mut plain = spec.clone();
        plain.tasks[0] = Task::new("factored", 5);
        let policy = ppo.policy(&plain).unwrap();
        let actions = policy.greedy(&envs.batch).unwrap();
        assert_legal(&spec, actions.as_actions());
        let log_probs = policy.log_probs(&envs.batch).unwrap();
        assert_eq!(log_probs.iter().map(Vec::len).collect::<Vec<_>>(), [5, 7, 5, 5]);
        let best = crate::testing::argmax(&log_probs[0]) as i32;
        assert_eq!((log_probs[0].iter().map(|value| value.exp()).sum::<f32>() * 1e5).round(), 1e5);
        assert_eq!(actions.discrete().unwrap()[0], best);
        // The probabilities of the actions are the same as when they were chosen.
        let once = PpoConfig { update_epochs: 1, num_minibatches: 1, ..config() };
        let (mut ppo, mut envs) = (learner(once), RandomEnvs::new(spec.clone()));
        for _ in 0..48 {
            if let Some(metrics) = step(&mut ppo, &mut envs) {
                assert!(metrics.approx_kl.abs() < 1e-6 && metrics.clipfrac == 0.0, "{metrics:?}");
            }
        }
    }
}

#[test]
fn learning_uses_the_masks_with_which_actions_were_chosen() {
    let once = PpoConfig { update_epochs: 1, num_minibatches: 1, ..config() };
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        for lstm in [0, 4] {
            let (policy, spec) = (PolicyConfig { lstm, ..PolicyConfig::default() }, masks(mode));
            let mut ppo = Ppo::new(once.clone(), policy, spec.clone(), &Device::flex(), 7).unwrap();
            let mut envs = RandomEnvs::new(spec);
            for _ in 0..48 {
                if let Some(metrics) = step(&mut ppo, &mut envs) {
                    assert!(metrics.approx_kl.abs() < 1e-6 && metrics.clipfrac == 0.0, "{metrics:?}");
                }
            }
            // Policies that do not learn respect masks too.
            let trained = ppo.policy(ppo.spec()).unwrap();
            let greedy = trained.greedy(&envs.batch).unwrap();
            assert!(envs.allow(greedy.as_actions()));
            let (mut state, mut rng) = (trained.initial_state(), ChaCha8Rng::seed_from_u64(1));
            let sampled = trained.act(&envs.batch, &mut state, false, &mut rng).unwrap();
            assert!(envs.allow(sampled.as_actions()));
        }
    }
}

fn masks(mode: AutoresetMode) -> VectorSpec {
    spec_of_masks(Space::floats(3, -1.0, 1.0), mode)
}

#[test]
fn reset_rows_are_not_learned_from() {
    let run = |disturb: bool| {
        let (mut ppo, mut envs) = (learner(vectors()), RandomEnvs::new(vectors()));
        let mut resets = 0;
        while !ppo.is_ready() {
            ppo.act(&envs.batch).unwrap();
            envs.step();
            let mut batch = envs.batch.clone();
            for env in (0..batch.len()).filter(|&env| envs.batch.autoreset[env]) {
                resets += 1;
                if disturb {
                    batch.rewards[env] = 1000.0;
                }
            }
            ppo.observe(&batch).unwrap();
        }
        let metrics = ppo.update().unwrap();
        assert!(resets > 5);
        assert_eq!(metrics.transitions, 64 - resets);
        weights(&ppo.on_policy.training.network).unwrap()
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn final_observations_matter_exactly_where_an_episode_was_truncated() {
    let same_step = spec(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
    let run = |disturb: fn(&Batch, usize) -> bool| {
        let (mut ppo, mut envs) = (learner(same_step.clone()), RandomEnvs::new(same_step.clone()));
        while !ppo.is_ready() {
            ppo.act(&envs.batch).unwrap();
            envs.step();
            let mut batch = envs.batch.clone();
            for env in (0..batch.len()).filter(|&env| disturb(&envs.batch, env)) {
                batch.final_observations.row_mut(env).fill(0);
            }
            ppo.observe(&batch).unwrap();
        }
        ppo.update().unwrap();
        weights(&ppo.on_policy.training.network).unwrap()
    };
    let undisturbed = run(|_, _| false);
    assert_eq!(undisturbed, run(|batch, env| !batch.truncated[env]));
    assert_ne!(undisturbed, run(|batch, env| batch.truncated[env]));
}

#[test]
fn the_first_minibatch_has_ratio_one() {
    let spec = vectors();
    let config = PpoConfig { update_epochs: 1, num_minibatches: 1, ..config() };
    let mut ppo = Ppo::new(config, PolicyConfig::default(), spec.clone(), &Device::flex(), 7).unwrap();
    let mut envs = RandomEnvs::new(spec);
    let metrics = loop {
        if let Some(metrics) = step(&mut ppo, &mut envs) {
            break metrics;
        }
    };
    assert!(metrics.approx_kl.abs() < 1e-6 && metrics.old_approx_kl.abs() < 1e-6);
    assert_eq!(metrics.clipfrac, 0.0);
    // Advantages have mean 0, and all ratios are 1.
    assert!(metrics.policy_loss.abs() < 1e-5);
    // Almost uniform over 2 actions in some rows and over 5 in the others.
    assert!((2f32.ln()..5f32.ln()).contains(&metrics.entropy));
    assert_eq!(metrics.epochs, 1);
}

#[test]
fn the_learning_rate_is_annealed_to_zero_over_the_planned_updates() {
    let (mut ppo, mut envs) = (learner(vectors()), RandomEnvs::new(vectors()));
    assert_eq!(ppo.num_updates(), 5);
    let mut rates = Vec::new();
    while ppo.updates() < 6 {
        rates.extend(step(&mut ppo, &mut envs).map(|metrics| metrics.learning_rate));
    }
    let expected = [1.0, 0.8, 0.6, 0.4, 0.2, 0.0].map(|part| part * 1e-2);
    assert_eq!(rates.len(), expected.len());
    assert!(rates.iter().zip(expected).all(|(rate, expected)| (rate - expected).abs() < 1e-12), "{rates:?}");
}

#[test]
fn a_divergence_beyond_target_kl_ends_the_update() {
    let config = PpoConfig { target_kl: Some(1e-9), ..config() };
    let mut ppo = Ppo::new(config, PolicyConfig::default(), vectors(), &Device::flex(), 7).unwrap();
    let mut envs = RandomEnvs::new(vectors());
    let metrics = loop {
        if let Some(metrics) = step(&mut ppo, &mut envs) {
            break metrics;
        }
    };
    assert_eq!(metrics.epochs, 1);
}

#[test]
fn a_policy_matches_tasks_of_other_environments_by_name() {
    let (ppo, envs) = (learner(vectors()), RandomEnvs::new(vectors()));
    let own = ppo.policy(ppo.spec()).unwrap();
    let values = own.values(&envs.batch).unwrap();

    // Only the second task, twice, on the observations of environments 1 and 2.
    let mut only_five = vectors();
    only_five.tasks.remove(0);
    only_five.task_ids = vec![0, 0];
    let mut batch = Batch::new(2, 12, false);
    for row in 0..2 {
        batch.observations.row_mut(row).copy_from_slice(envs.batch.observations.row(row + 1));
    }
    let policy = ppo.policy(&only_five).unwrap();
    assert_eq!(policy.values(&batch).unwrap(), values[1..3]);
    let greedy = |policy: &Policy, batch| policy.greedy(batch).unwrap().discrete().unwrap().to_vec();
    assert_eq!(greedy(&policy, &batch), greedy(&own, &envs.batch)[1..3]);

    let mut unknown = only_five.clone();
    unknown.tasks[0].name = "six".to_owned();
    assert!(matches!(ppo.policy(&unknown), Err(SpecError::UnknownTask { .. })));
    let images = spec(Space::bytes([2, 36, 40]), AutoresetMode::NextStep);
    assert!(matches!(ppo.policy(&images), Err(SpecError::OtherObservations { .. })));
}
