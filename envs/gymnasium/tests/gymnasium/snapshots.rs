//! Snapshots of environments that can be pickled.

use gymnasium_workers::{BatchOrder, WorkerOptions, WorkerVectorEnv, join_snapshots, part_of_snapshot};
use rl_env::{Actions, AutoresetMode, Pcg64, ResetSeeds, VectorEnv, VectorError};

use crate::support::{Row, draw, draw_for, failure, group, make, options, rows};

const NUM_ENVS: usize = 4;

/// Steps with random actions. Returns all rows, with the environments of the batches.
fn play(envs: &mut WorkerVectorEnv, generator: &mut Pcg64, steps: usize) -> Vec<(Vec<usize>, Vec<Row>)> {
    let step = |_| {
        let actions = draw(generator, envs);
        let batch = envs.step(actions.as_actions()).unwrap();
        (batch.env_ids.clone(), rows(batch))
    };
    (0..steps).map(step).collect()
}

/// Checks that snapshots after these numbers of steps can be restored to other environments and to the same ones.
fn check_restore(name: &str, options: &WorkerOptions, steps: &[usize]) {
    let mut envs = make(name, NUM_ENVS, options);
    let mut others = make(name, NUM_ENVS, &WorkerOptions { workers: 3, ..options.clone() });
    for &steps in steps {
        let mut generator = Pcg64::new(9);
        envs.reset(ResetSeeds::From(11)).unwrap();
        play(&mut envs, &mut generator, steps);
        let snapshot = envs.snapshot().unwrap();
        let last = (envs.batch().env_ids.clone(), rows(envs.batch()));
        let expected = play(&mut envs, &mut generator.clone(), 60);
        for envs in [&mut others, &mut envs] {
            let batch = envs.restore(&snapshot).unwrap();
            assert_eq!((batch.env_ids.clone(), rows(batch)), last, "{name}, {options:?}");
            assert_eq!(play(envs, &mut generator.clone(), 60), expected, "{name}, {options:?}");
        }
    }
}

#[test]
fn restored_environments_continue_equally() {
    let Some(options) = options(1) else { return };
    for name in ["gymnasium:CartPole-v1", "python:sample_envs:mixed", "python:sample_envs:doubles"] {
        for autoreset_mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
            check_restore(name, &WorkerOptions { autoreset_mode, ..options.clone() }, &[0, 1, 17, 30]);
        }
    }
}

#[test]
fn a_snapshot_starts_with_the_last_batch() {
    let Some(options) = options(2) else { return };
    let options = WorkerOptions { batch_order: BatchOrder::InTurn, batch_size: 2, ..options };
    check_restore("python:sample_envs:pixels", &options, &[0, 5, 18]);
}

/// Lets both groups of environments act. Returns the rows of their batches.
fn play_round(envs: &mut WorkerVectorEnv, generator: &mut Pcg64) -> Vec<(Vec<usize>, Vec<Row>)> {
    let spaces = envs.action_spaces().to_vec();
    for group in [[0, 1], [2, 3]] {
        let actions = draw_for(generator, group.iter().map(|&env| &spaces[env]));
        envs.send_to(actions.as_actions(), &group).unwrap();
    }
    let receive = |_| {
        let batch = envs.recv().unwrap();
        (batch.env_ids.clone(), rows(batch))
    };
    (0..2).map(receive).collect()
}

#[test]
fn a_snapshot_between_rounds_starts_with_the_group_whose_turn_is_next() {
    let Some(options) = options(2) else { return };
    let options = WorkerOptions { batch_order: BatchOrder::InTurn, batch_size: 2, ..options };
    let mut envs = make("gymnasium:CartPole-v1", NUM_ENVS, &options);
    let mut generator = Pcg64::new(4);
    envs.reset(ResetSeeds::From(1)).unwrap();
    let mut last = vec![(vec![0, 1], rows(envs.batch())), (vec![2, 3], rows(envs.recv().unwrap()))];
    for _ in 0..30 {
        let snapshot = envs.snapshot().unwrap();
        let expected = play_round(&mut envs, &mut generator.clone());
        let first = envs.restore(&snapshot).unwrap();
        assert_eq!((first.env_ids.clone(), rows(first)), last[0]);
        assert_eq!((vec![2, 3], rows(envs.recv().unwrap())), last[1]);
        last = play_round(&mut envs, &mut generator);
        assert_eq!(last, expected);
    }
}

#[test]
fn first_come_batches_have_snapshots() {
    let Some(options) = options(1) else { return };
    let options = WorkerOptions { batch_size: 3, ..options };
    let mut envs = make("gymnasium:CartPole-v1", NUM_ENVS, &options);
    envs.reset(ResetSeeds::From(1)).unwrap();
    play(&mut envs, &mut Pcg64::new(2), 20);
    let (last, snapshot) = (rows(envs.batch()), envs.snapshot().unwrap());
    let ids = envs.batch().env_ids.clone();
    play(&mut envs, &mut Pcg64::new(3), 20);
    let batch = envs.restore(&snapshot).unwrap();
    assert_eq!((&batch.env_ids, rows(batch)), (&ids, last));
    let again = envs.snapshot().unwrap();
    let expected = rows(envs.batch());
    play(&mut envs, &mut Pcg64::new(3), 20);
    assert_eq!(rows(envs.restore(&again).unwrap()), expected);
}

#[test]
fn snapshots_of_parts_are_joined_and_taken_apart() {
    let Some(options) = options(1) else { return };
    let mut parts = [3, 1].map(|num_envs| make("gymnasium:CartPole-v1", num_envs, &options));
    let mut whole = make("gymnasium:CartPole-v1", NUM_ENVS, &options);
    parts[0].reset(ResetSeeds::From(5)).unwrap();
    parts[1].reset(ResetSeeds::From(8)).unwrap();
    let expected: Vec<Row> = {
        whole.reset(ResetSeeds::From(5)).unwrap();
        let [first, second] = parts.each_mut();
        for step in 0..40 {
            whole.step(Actions::Discrete(&[step % 2; NUM_ENVS])).unwrap();
            first.step(Actions::Discrete(&[step % 2; 3])).unwrap();
            second.step(Actions::Discrete(&[step % 2])).unwrap();
        }
        rows(whole.batch())
    };
    let snapshots = parts.each_ref().map(|part| part.snapshot().unwrap());
    let joined = join_snapshots(&snapshots).unwrap();
    whole.reset(ResetSeeds::From(0)).unwrap();
    assert_eq!(rows(whole.restore(&joined).unwrap()), expected);
    for (part, envs) in parts.iter_mut().zip([0..3, 3..4]) {
        part.reset(ResetSeeds::From(0)).unwrap();
        let found = rows(part.restore(&part_of_snapshot(&joined, envs.clone()).unwrap()).unwrap());
        assert_eq!(found, expected[envs]);
    }
    assert!(part_of_snapshot(&joined, 2..5).is_err());
    assert!(join_snapshots(&[]).is_err() && join_snapshots(&[joined, vec![1]]).is_err());
}

#[test]
fn environments_without_snapshots_say_why() {
    let Some(options) = options(2) else { return };
    for (class, reason) in [
        ("Unpicklable", "lambda"),
        ("Forgetful", "is an EzPickle, which saves only the arguments of its constructor"),
    ] {
        let name = format!("python:sample_envs:{class}");
        let mut envs =
            WorkerVectorEnv::new(&[group("python:sample_envs:one_of_two", 2), group(&name, 2)], &options)
                .unwrap();
        envs.reset(ResetSeeds::From(1)).unwrap();
        let (env, message) = failure(envs.snapshot().unwrap_err());
        assert_eq!(env, 2);
        assert!(message.starts_with(&format!("{name} (seed 3): snapshot failed: ")), "{message}");
        assert!(message.contains(reason), "{message}");
        play(&mut envs, &mut Pcg64::new(1), 5);
    }
}

#[test]
fn the_first_environment_without_a_snapshot_is_named_whichever_worker_answers_first() {
    let Some(options) = options(4) else { return };
    let mut envs = make("python:sample_envs:Unpicklable", 8, &options);
    envs.reset(ResetSeeds::From(1)).unwrap();
    for _ in 0..30 {
        assert_eq!(failure(envs.snapshot().unwrap_err()).0, 0);
    }
    play(&mut envs, &mut Pcg64::new(1), 5);
}

#[test]
fn bad_snapshots_change_nothing() {
    let Some(options) = options(2) else { return };
    let mut envs = make("python:sample_envs:bits", 2, &options);
    envs.reset(ResetSeeds::From(1)).unwrap();
    play(&mut envs, &mut Pcg64::new(1), 5);
    let snapshot = envs.snapshot().unwrap();
    let mut reason = |snapshot: &[u8]| match envs.restore(snapshot).unwrap_err() {
        VectorError::BadSnapshot(reason) => reason,
        error => panic!("{error}"),
    };
    reason(&snapshot[..snapshot.len() / 2]);
    let mut damaged = snapshot.clone();
    // The last byte of a pickle is its end.
    *damaged.last_mut().unwrap() = 0;
    assert!(reason(&damaged).contains("environment 1: python:sample_envs:bits"), "{}", reason(&damaged));
    let mut other = make("python:sample_envs:corridor", 2, &options);
    other.reset(ResetSeeds::From(1)).unwrap();
    assert!(reason(&other.snapshot().unwrap()).contains("cannot be restored to one of"));
    let same_step = WorkerOptions { autoreset_mode: AutoresetMode::SameStep, ..options.clone() };
    let mut other = make("python:sample_envs:bits", 2, &same_step);
    other.reset(ResetSeeds::From(1)).unwrap();
    assert!(reason(&other.snapshot().unwrap()).contains("SameStep"));
    let expected = play(&mut envs, &mut Pcg64::new(5), 20);
    envs.restore(&snapshot).unwrap();
    assert_eq!(play(&mut envs, &mut Pcg64::new(5), 20), expected);
}
