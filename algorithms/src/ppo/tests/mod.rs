//! The whole learner, on batches of random environments.

use burn::tensor::Device;
use rayon::ThreadPoolBuilder;
use rl_env::{AutoresetMode, Batch, Space};

use super::{Policy, Ppo, PpoConfig, PpoMetrics, TaskMetrics};
use crate::networks::{HeadKind, PolicyConfig, TrainedNetwork, weights};
use crate::testing::{
    RandomEnvs, assert_legal, assert_stopped_updates_are_undone, simulate_device, spec, spec_of_choices,
};
use crate::{Learner, LearnerError, SpecError, Task, ValueScale, VectorSpec};

mod continuous;

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
fn the_same_seed_gives_the_same_bytes() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let spec = spec(Space::floats(3, -1.0, 1.0), mode);
        assert_eq!(train(spec.clone(), 35).1, train(spec, 35).1);
    }
    let other = Ppo::new(config(), PolicyConfig::default(), vectors(), &Device::flex(), 8).unwrap();
    assert_ne!(other.state().unwrap(), learner(vectors()).state().unwrap());
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
fn one_task_has_no_metrics_of_its_own() {
    let mut spec = vectors();
    spec.tasks.truncate(1);
    spec.task_ids = vec![0; 4];
    assert_eq!(train(spec, 16).0.tasks, []);
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
fn a_restored_learner_continues_bit_for_bit_from_any_moment() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let spec = spec(Space::floats(3, -1.0, 1.0), mode);
        // At the start, within a rollout, just after an update, and within the next rollout.
        for pause in [0, 5, 16, 20] {
            let (mut ppo, mut envs) = (learner(spec.clone()), RandomEnvs::new(spec.clone()));
            for _ in 0..pause {
                step(&mut ppo, &mut envs);
            }
            let mut restored = Ppo::from_state(&ppo.state().unwrap(), &Device::flex()).unwrap();
            let mut copy = envs.clone();
            for _ in pause..40 {
                assert_eq!(step(&mut ppo, &mut envs), step(&mut restored, &mut copy));
            }
            assert_eq!(ppo.updates(), 2);
            assert_eq!(ppo.state().unwrap(), restored.state().unwrap());
        }
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
    let of = |total_steps| PpoConfig { total_steps, ..config() };
    let mut part = Ppo::new(of(192), PolicyConfig::default(), vectors(), &Device::flex(), 7).unwrap();
    let mut envs = RandomEnvs::new(vectors());
    complete(&mut part, &mut envs);
    // Three of six updates are made: half of the way from 0.01 to 0 is left.
    let mut extended = continued(&part, of(384), PolicyConfig::default()).unwrap();
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
    let allowed = "total_steps = 256 is not possible: it must be 320 or more, which have been made already";
    assert_eq!(shorter.map(|error| error.to_string()).as_deref(), Some(allowed));
    let free = PpoConfig { gamma: 0.5, clip_coef: 0.3, num_minibatches: 2, learning_rate: 1.0, ..config() };
    assert_eq!(continued(&ppo, free.clone(), policy()).unwrap().config(), &free);
}

#[test]
fn a_recurrent_learner_continues_bit_for_bit_and_its_first_minibatch_has_ratio_one() {
    let policy = PolicyConfig { lstm: 6, ..PolicyConfig::default() };
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let spec = spec(Space::floats(3, -1.0, 1.0), mode);
        let learner = |config| Ppo::new(config, policy.clone(), spec.clone(), &Device::flex(), 7).unwrap();
        for pause in [0, 5, 16, 20] {
            let (mut ppo, mut envs) = (learner(config()), RandomEnvs::new(spec.clone()));
            for _ in 0..pause {
                step(&mut ppo, &mut envs);
            }
            let mut restored = Ppo::from_state(&ppo.state().unwrap(), &Device::flex()).unwrap();
            let mut copy = envs.clone();
            for _ in pause..40 {
                assert_eq!(step(&mut ppo, &mut envs), step(&mut restored, &mut copy));
            }
            assert!(ppo.state().unwrap() == restored.state().unwrap());
        }
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
    assert!(refused.to_string().contains("lstm = 6 is not possible"), "{refused}");
}

#[test]
fn states_may_be_taken_between_act_and_observe_and_before_an_update() {
    let (mut ppo, mut envs) = (learner(vectors()), RandomEnvs::new(vectors()));
    let restore = |ppo: &Ppo| Ppo::from_state(&ppo.state().unwrap(), &Device::flex()).unwrap();
    while !ppo.is_ready() {
        ppo.act(&envs.batch).unwrap();
        let mut restored = restore(&ppo);
        envs.step();
        ppo.observe(&envs.batch).unwrap();
        restored.observe(&envs.batch).unwrap();
        assert_eq!(ppo.state().unwrap(), restored.state().unwrap());
    }
    let mut restored = restore(&ppo);
    assert_eq!(ppo.update().unwrap(), restored.update().unwrap());
    assert_eq!(ppo.state().unwrap(), restored.state().unwrap());
}

#[test]
fn a_stopped_update_is_undone_at_every_moment() {
    let config = PpoConfig { num_minibatches: 2, update_epochs: 3, ..config() };
    let plain = PolicyConfig::default();
    let recurrent = PolicyConfig { lstm: 6, ..plain.clone() };
    let scaled = PolicyConfig { value_scale: ValueScale::PopArt, ..plain.clone() };
    let check = |policy: &PolicyConfig| {
        let learner = || Ppo::new(config.clone(), policy.clone(), vectors(), &Device::flex(), 7).unwrap();
        let learners = [&mut learner(), &mut learner()];
        // Three moments for each of six minibatches.
        assert_stopped_updates_are_undone(learners, Ppo::update_unless, 18);
    };
    [&plain, &recurrent, &scaled].into_iter().for_each(check);
    simulate_device(|| check(&scaled));
}

#[test]
fn several_choices_are_learned_from_and_restored_bit_for_bit() {
    let mode = AutoresetMode::SameStep;
    for head in [HeadKind::PerGame, HeadKind::Shared] {
        let policy = PolicyConfig { head, ..PolicyConfig::default() };
        let spec = spec_of_choices(Space::floats(3, -1.0, 1.0), mode);
        let learner = |config| Ppo::new(config, policy.clone(), spec.clone(), &Device::flex(), 7).unwrap();
        for pause in [0, 5, 16, 20] {
            let (mut ppo, mut envs) = (learner(config()), RandomEnvs::new(spec.clone()));
            (0..pause).for_each(|_| _ = step(&mut ppo, &mut envs));
            let mut restored = Ppo::from_state(&ppo.state().unwrap(), &Device::flex()).unwrap();
            let mut copy = envs.clone();
            for _ in pause..40 {
                assert_eq!(step(&mut ppo, &mut envs), step(&mut restored, &mut copy));
            }
            assert!(ppo.state().unwrap() == restored.state().unwrap());
            // The policy knows the environments by their spaces, factored or not.
            let mut plain = spec.clone();
            plain.tasks[0] = Task::new("factored", 5);
            let policy = ppo.policy(&plain).unwrap();
            let actions = policy.greedy(&envs.batch).unwrap();
            assert_legal(&spec, actions.as_actions());
            let log_probs = policy.log_probs(&envs.batch).unwrap();
            assert_eq!(log_probs.iter().map(Vec::len).collect::<Vec<_>>(), [5, 7, 5, 5]);
            let best = crate::categorical::argmax(&log_probs[0]) as i32;
            assert_eq!((log_probs[0].iter().map(|value| value.exp()).sum::<f32>() * 1e5).round(), 1e5);
            assert_eq!(actions.discrete().unwrap()[0], best);
        }
        // The probabilities of the taken actions are those of acting.
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
fn updated_value_scales_preserve_predictions() {
    let policy = PolicyConfig { value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
    // The learning rate is too small to change anything.
    let config = PpoConfig { learning_rate: 1e-30, ..config() };
    let mut ppo = Ppo::new(config, policy, vectors(), &Device::flex(), 7).unwrap();
    let mut envs = RandomEnvs::new(vectors());
    let values = |ppo: &Ppo, envs: &RandomEnvs| ppo.policy(ppo.spec()).unwrap().values(&envs.batch).unwrap();
    for update in 0..4 {
        envs.act_until_ready(&mut ppo, 1000.0);
        let (before, scales) = (values(&ppo, &envs), ppo.actor.scales.clone());
        ppo.update().unwrap();
        assert_ne!(ppo.actor.scales, scales);
        // The first returns of a task do not preserve predictions.
        if update == 0 {
            continue;
        }
        for (before, after) in before.iter().zip(values(&ppo, &envs)) {
            assert!((before - after).abs() < 1e-3 * before.abs().max(1.0), "{before} and {after}");
        }
    }
    let restored = Ppo::from_state(&ppo.state().unwrap(), &Device::flex()).unwrap();
    assert_eq!(values(&restored, &envs), values(&ppo, &envs));
}

#[test]
fn old_values_have_the_scale_of_the_outputs_also_in_the_first_update() {
    let losses = |clip_vloss: bool| {
        let policy = PolicyConfig { value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
        // The only minibatch of an update has the network that acted, whose values are the old values: clipping a change
        // has no effect, however narrow the range. The learning rate is too small to change anything.
        let once = PpoConfig { num_minibatches: 1, update_epochs: 1, learning_rate: 1e-30, ..config() };
        let config = PpoConfig { clip_vloss, clip_coef: 1e-4, ..once };
        let mut ppo = Ppo::new(config, policy, vectors(), &Device::flex(), 7).unwrap();
        let mut envs = RandomEnvs::new(vectors());
        [(); 3].map(|()| {
            envs.act_until_ready(&mut ppo, 1000.0);
            ppo.update().unwrap().value_loss
        })
    };
    let (clipped, plain) = (losses(true), losses(false));
    for (clipped, plain) in clipped.iter().zip(plain) {
        assert!(plain > 0.1 && (clipped - plain).abs() < 1e-3 * plain, "{clipped} and {plain}");
    }
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
fn non_finite_values_are_reported_and_never_reach_the_weights() {
    let (mut ppo, mut envs) = (learner(vectors()), RandomEnvs::new(vectors()));
    let mut broken = envs.batch.clone();
    broken.observations.row_mut(2)[..4].copy_from_slice(&f32::NAN.to_ne_bytes());
    let message = ppo.act(&broken).unwrap_err().to_string();
    assert!(message.starts_with("a logit of environment 2 is not finite after 0 updates"), "{message}");
    assert!(message.contains("NaN in `observations`, row 2, of five"), "{message}");

    ppo.act(&envs.batch).unwrap();
    envs.step();
    let mut broken = envs.batch.clone();
    broken.rewards[3] = f32::INFINITY;
    assert_eq!(ppo.observe(&broken).unwrap_err().to_string(), "the reward of environment 3 is not finite");

    broken.rewards[3] = f32::MAX;
    broken.autoreset[3] = false;
    ppo.observe(&broken).unwrap();
    while !ppo.is_ready() {
        ppo.act(&envs.batch).unwrap();
        envs.step();
        ppo.observe(&envs.batch).unwrap();
    }
    let LearnerError::Diverged(divergence) = ppo.update().unwrap_err() else { panic!("nothing was found") };
    // The reward belongs to the fourth environment, whose returns overflow.
    let message = divergence.to_string();
    assert!(message.contains("is not finite after 0 updates, at learning rate 1e-2"), "{message}");
    assert!(message.contains(", of two;") && message.contains("five ("), "{message}");
    let shape =
        |name: &str| divergence.batch.iter().find(|tensor| tensor.name == name).unwrap().shape.clone();
    assert_eq!((shape("returns").len(), shape("observations")[1]), (1, 3));
    let weights = weights(&ppo.on_policy.training.network).unwrap();
    assert!(weights.iter().all(|parameter| parameter.values.iter().all(|value| value.is_finite())));
}

#[test]
fn calls_out_of_order_and_foreign_batches_are_errors() {
    let (mut ppo, mut envs) = (learner(vectors()), RandomEnvs::new(vectors()));
    assert!(matches!(ppo.observe(&envs.batch), Err(LearnerError::OutOfOrder(_))));
    assert!(matches!(ppo.update(), Err(LearnerError::OutOfOrder(_))));
    ppo.act(&envs.batch).unwrap();
    assert!(matches!(ppo.act(&envs.batch), Err(LearnerError::OutOfOrder(_))));
    let foreign = |rows, row_bytes| Batch::new(rows, row_bytes, false);
    assert!(matches!(
        ppo.observe(&foreign(5, 12)),
        Err(LearnerError::ForeignBatch { what: "environments", got: 5, expected: 4 })
    ));
    let mut disordered = envs.batch.clone();
    disordered.env_ids.swap(1, 2);
    assert_eq!(ppo.observe(&disordered), Err(LearnerError::DisorderedBatch));
    assert!(matches!(ppo.observe(&foreign(4, 8)), Err(LearnerError::ForeignBatch { .. })));
    envs.step();
    ppo.observe(&envs.batch).unwrap();
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

#[test]
fn damaged_states_are_errors() {
    let (mut ppo, mut envs) = (learner(vectors()), RandomEnvs::new(vectors()));
    step(&mut ppo, &mut envs);
    let state = ppo.state().unwrap();
    let refused = |bytes: &[u8]| match Ppo::from_state(bytes, &Device::flex()) {
        Err(LearnerError::BadState(problem)) => problem,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{} bytes were accepted", bytes.len()),
    };
    assert_eq!(refused(b"something else"), "it has the wrong first bytes");
    assert_eq!(refused(&state[..9]), "it is truncated");
    refused(&state[..state.len() / 2]);
    assert_eq!(refused(&[&state[..], &[0]].concat()), "it has 1 extra bytes");
    let mut newer = state;
    newer[8] = 10;
    assert_eq!(refused(&newer), "it has version 10, but this build reads version 9");
}
