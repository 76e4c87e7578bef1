//! Batches smaller than the number of environments, filled by the environments that finish first.

use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::stub::{OBSERVATION_BYTES, Stub, StubInfo};
use rl_env::{Action, Actions, AutoresetMode, Batch, Env, EnvError, ResetSeeds, VectorEnv, VectorError};
use vector::{PoolOptions, PoolVectorEnv};

const NUM_ENVS: usize = 7;

fn build(batch_size: usize, num_threads: usize, autoreset_mode: AutoresetMode) -> PoolVectorEnv<Stub> {
    let envs = (0..NUM_ENVS).map(|index| ("stub".to_owned(), Stub::new(2 + index))).collect();
    PoolVectorEnv::new(
        envs,
        PoolOptions { batch_size, num_threads, autoreset_mode, ..PoolOptions::default() },
    )
    .unwrap()
}

fn build_stubs<const N: usize>(stubs: [Stub; N], options: PoolOptions) -> PoolVectorEnv<Stub> {
    let envs = stubs.map(|stub| ("stub".to_owned(), stub)).into();
    PoolVectorEnv::new(envs, options).unwrap()
}

/// Returns the action of an environment at a step.
fn action_of(env: usize, step: usize) -> i32 {
    (step * 5 % (2 + env)) as i32
}

/// Observation, final observation, reward, flags and info of an environment.
type Row = (Vec<u8>, Option<Vec<u8>>, f32, [bool; 4], StubInfo);

fn row_of(batch: &Batch, row: usize, info: &StubInfo) -> Row {
    (
        batch.observations.row(row).to_vec(),
        (batch.final_observations.rows() > 0).then(|| batch.final_observations.row(row).to_vec()),
        batch.raw_rewards[row],
        [batch.terminated[row], batch.truncated[row], batch.autoreset[row], batch.continues[row]],
        info.clone(),
    )
}

/// Returns the first `steps` rows of every environment after a reset.
fn traces(env: &mut PoolVectorEnv<Stub>, seed: u64, steps: usize) -> Vec<Vec<Row>> {
    let mut traces = vec![Vec::new(); NUM_ENVS];
    env.reset(ResetSeeds::From(seed)).unwrap();
    loop {
        append_batch(env, &mut traces);
        if traces.iter().all(|trace| trace.len() > steps) {
            break;
        }
        let actions: Vec<i32> =
            env.batch().env_ids.iter().map(|&id| action_of(id, traces[id].len())).collect();
        env.step(Actions::Discrete(&actions)).unwrap();
    }
    for trace in &mut traces {
        trace.truncate(steps);
    }
    traces
}

#[test]
fn results_do_not_depend_on_batch_size_or_threads() {
    let seed = rand::random();
    println!("seed {seed}");
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let expected = traces(&mut build(0, 1, mode), seed, 200);
        for batch_size in 1..=NUM_ENVS {
            for num_threads in [1, 2, 5] {
                let mut env = build(batch_size, num_threads, mode);
                assert_eq!((env.batch_size(), env.num_threads()), (batch_size, num_threads));
                let traces = traces(&mut env, seed, 200);
                assert!(traces == expected, "{mode:?}, batches of {batch_size}, {num_threads} threads");
            }
        }
    }
}

/// The number of steps of the fast environments during the first step of the slow one.
const MANY: usize = 51;

#[test]
fn fast_environments_do_not_wait_for_slow_ones() {
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    let slow = Stub::calling(2, |_| {
        // The wait is limited, so that the test fails instead of hanging.
        let begin = Instant::now();
        while !IS_OVER.load(Ordering::Acquire) && begin.elapsed() < Duration::from_secs(30) {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    });
    let options = PoolOptions { batch_size: 2, num_threads: 2, ..PoolOptions::default() };
    let mut env = build_stubs([Stub::new(2), slow, Stub::new(2), Stub::new(2)], options);
    env.reset(ResetSeeds::From(1)).unwrap();
    let mut counts = [0; 4];
    // Three of the four environments step, two in a batch.
    while [0, 2, 3].into_iter().any(|quick| counts[quick] < MANY) {
        env.step(Actions::Discrete(&[0; 2])).unwrap();
        env.batch().env_ids.iter().for_each(|&id| counts[id] += 1);
    }
    IS_OVER.store(true, Ordering::Release);
    assert!(counts[1] <= 1, "the slow environment finished a step: {counts:?}");
}

#[test]
fn no_environment_starves() {
    // With one thread and one row, the environment that has waited longest is next.
    let mut env = build(1, 1, AutoresetMode::NextStep);
    env.reset(ResetSeeds::From(1)).unwrap();
    for step in 0..100 {
        assert_eq!(env.batch().env_ids, [step % NUM_ENVS]);
        env.step(Actions::Discrete(&[0])).unwrap();
    }
}

/// Sends the action 0 to some environments.
fn send(env: &mut PoolVectorEnv<Stub>, ids: &[usize]) -> Result<(), VectorError> {
    env.send_to(Actions::Discrete(&vec![0; ids.len()]), ids)
}

#[test]
fn invalid_calls_are_errors() {
    let mut env = build(3, 2, AutoresetMode::NextStep);
    assert!(matches!(env.send_to(Actions::Discrete(&[0]), &[0]), Err(VectorError::OutOfOrder(_))));
    env.reset(ResetSeeds::From(1)).unwrap();
    let ids = env.batch().env_ids.clone();
    let absent = (0..NUM_ENVS).find(|id| !ids.contains(id)).unwrap();
    let unknown = VectorError::UnknownEnv { env: NUM_ENVS, num_envs: NUM_ENVS };
    assert_eq!(send(&mut env, &[ids[0], NUM_ENVS]), Err(unknown.clone()));
    assert_eq!(unknown.to_string(), "there is no environment 7; valid indices are 0 to 6");
    assert_eq!(send(&mut env, &[ids[0], absent]), Err(VectorError::InFlight { env: absent }));
    assert_eq!(send(&mut env, &[ids[1], ids[0], ids[1]]), Err(VectorError::Duplicate { env: ids[1] }));
    let too_many = env.send_to(Actions::Discrete(&[0; 3]), &ids[..2]);
    assert_eq!(too_many, Err(VectorError::WrongLength { what: "action values", got: 3, expected: 2 }));
    assert!(matches!(
        env.send_to(Actions::Discrete(&[0, 99]), &[ids[0], ids[1]]),
        Err(VectorError::Env { env, error: EnvError::InvalidAction { .. } }) if env == ids[1]
    ));
    let mask = [true, false, true, true, true, true, true];
    assert!(matches!(env.reset_masked(&mask, ResetSeeds::Continue), Err(VectorError::OutOfOrder(_))));
    assert_eq!(env.num_in_flight(), NUM_ENVS - 3, "an invalid call sent something");
    send(&mut env, &ids).unwrap();
    assert_eq!(env.send(Actions::Discrete(&[0; 3])), Err(VectorError::InFlight { env: ids[0] }));
    assert!(matches!(env.step(Actions::Discrete(&[0; 3])), Err(VectorError::InFlight { .. })));
    env.recv().unwrap();
    env.recv().unwrap();
    let too_few = VectorError::TooFewInFlight { in_flight: 1, batch_size: 3 };
    assert_eq!(env.recv().unwrap_err(), too_few);
    assert_eq!(
        too_few.to_string(),
        "the next batch needs 3 environments in flight, but only 1 are: send to more first"
    );
}

/// Returns the rows without their counts of steps and resets.
fn observations(traces: &[Vec<Row>]) -> Vec<Vec<Vec<u8>>> {
    traces.iter().map(|trace| trace.iter().map(|row| row.0.clone()).collect()).collect()
}

#[test]
fn a_reset_drops_the_results_in_flight() {
    for num_threads in [1, 3] {
        let mut env = build(3, num_threads, AutoresetMode::SameStep);
        env.reset(ResetSeeds::From(1)).unwrap();
        env.send(Actions::Discrete(&[0; 3])).unwrap();
        let expected = traces(&mut build(0, 1, AutoresetMode::SameStep), 50, 20);
        for _ in 0..20 {
            let traces = traces(&mut env, 50, 20);
            assert!(observations(&traces) == observations(&expected));
        }
    }
}

#[test]
fn sends_resets_without_waiting() {
    for batch_size in [0, 3] {
        let mut env = build(batch_size, 2, AutoresetMode::Disabled);
        assert!(matches!(env.send_reset(&[0], ResetSeeds::Continue), Err(VectorError::OutOfOrder(_))));
        env.send_reset(&[6, 5, 4, 3, 2, 1, 0], ResetSeeds::From(10)).unwrap();
        let mut first = vec![Vec::new(); NUM_ENVS];
        for _ in 0..NUM_ENVS / env.batch_size() {
            env.recv().unwrap();
            for (row, &id) in env.batch().env_ids.iter().enumerate() {
                first[id] = env.batch().observations.row(row).to_vec();
            }
        }
        let mut twin = build(0, 1, AutoresetMode::Disabled);
        twin.reset(ResetSeeds::Each(&[16, 15, 14, 13, 12, 11, 10].map(Some))).unwrap();
        for (id, row) in first.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
            assert_eq!(row, twin.batch().observations.row(id));
        }
        // Some environments continue, others are reset.
        let ids = env.batch().env_ids.clone();
        let (again, others) = ids.split_at(2);
        assert!(matches!(
            env.send_reset(again, ResetSeeds::Each(&[None])),
            Err(VectorError::WrongLength { .. })
        ));
        env.send_reset(again, ResetSeeds::Each(&[Some(16 - again[0] as u64), None])).unwrap();
        assert!(matches!(env.send_reset(&ids, ResetSeeds::Continue), Err(VectorError::InFlight { .. })));
        env.send_to(Actions::Discrete(&vec![0; others.len()]), others).unwrap();
        while !env.recv().unwrap().env_ids.contains(&again[0]) {}
        let row = env.batch().env_ids.iter().position(|id| *id == again[0]).unwrap();
        assert_eq!(env.batch().observations.row(row), first[again[0]]);
        assert_eq!(env.batch().steps[row], 0);
    }
}

#[test]
fn ordered_batches_accept_partial_sends_in_any_order() {
    for num_threads in [1, 3] {
        let mut env = build(0, num_threads, AutoresetMode::NextStep);
        let mut twin = build(0, 1, AutoresetMode::NextStep);
        env.reset(ResetSeeds::From(3)).unwrap();
        twin.reset(ResetSeeds::From(3)).unwrap();
        for step in 0..50 {
            let actions: Vec<i32> = (0..NUM_ENVS).map(|id| action_of(id, step)).collect();
            for part in [&[6, 0, 3][..], &[1], &[5, 4, 2]] {
                assert!(matches!(env.recv(), Err(VectorError::TooFewInFlight { .. })));
                let actions: Vec<i32> = part.iter().map(|&id| actions[id]).collect();
                env.send_to(Actions::Discrete(&actions), part).unwrap();
            }
            env.recv().unwrap();
            twin.step(Actions::Discrete(&actions)).unwrap();
            for row in 0..NUM_ENVS {
                let rows = [&env, &twin].map(|env| row_of(env.batch(), row, &env.infos()[row]));
                assert_eq!(rows[0], rows[1]);
            }
        }
    }
}

#[test]
fn the_idle_environments_of_an_ordered_batch_report_again() {
    const STEPS: usize = 60;
    let expected = traces(&mut build(0, 1, AutoresetMode::NextStep), 3, STEPS);
    for num_threads in [1, 3] {
        let mut env = build(0, num_threads, AutoresetMode::NextStep);
        assert!(matches!(env.send_report(), Err(VectorError::OutOfOrder(_))));
        env.reset(ResetSeeds::From(3)).unwrap();
        let mut received = [1; NUM_ENVS];
        for turn in 0..STEPS - 1 {
            let sent: Vec<usize> = (0..NUM_ENVS).rev().filter(|id| (id + turn) % 3 > 0).collect();
            let actions: Vec<i32> = sent.iter().map(|&id| action_of(id, received[id])).collect();
            env.send_to(Actions::Discrete(&actions), &sent).unwrap();
            env.send_report().unwrap();
            env.recv().unwrap();
            for id in 0..NUM_ENVS {
                let row = row_of(env.batch(), id, &env.infos()[id]);
                if sent.contains(&id) {
                    assert_eq!(row, expected[id][received[id]]);
                    received[id] += 1;
                } else {
                    assert_eq!(row.0, expected[id][received[id] - 1].0);
                    assert_eq!((row.2, row.3), (0.0, [false; 4]));
                }
            }
        }
    }
}

#[test]
fn recv_returns_an_error_before_the_batch_is_full() {
    let failing = Stub::calling(2, |step| match step {
        1 => Err(EnvError::Failed("the stub was told to fail".to_owned())),
        _ => Ok(()),
    });
    let slow = Stub::calling(2, |step| {
        if step == 1 {
            thread::sleep(Duration::from_millis(700));
        }
        Ok(())
    });
    let options = PoolOptions { batch_size: 3, num_threads: 4, ..PoolOptions::default() };
    let mut env = build_stubs([failing, slow.clone(), slow.clone(), slow], options);
    env.reset(ResetSeeds::From(1)).unwrap();
    while !env.batch().env_ids.contains(&0) {
        env.reset(ResetSeeds::From(1)).unwrap();
    }
    let begin = Instant::now();
    let error = env.step(Actions::Discrete(&[0; 3])).unwrap_err();
    assert!(begin.elapsed() < Duration::from_millis(500));
    assert_eq!(error.to_string(), "environment 0: the stub was told to fail");
    assert!(env.is_usable());
    assert!(matches!(env.recv(), Err(VectorError::OutOfOrder(_))));
    env.reset(ResetSeeds::From(2)).unwrap();
    env.step(Actions::Discrete(&[0; 3])).unwrap();
}

#[test]
fn recv_returns_a_panic_within_a_second() {
    // Panics without printing a message, because a backtrace can take a second.
    let panicking = Stub::calling(2, |_| panic::resume_unwind(Box::new("the stub was told to panic")));
    let slow = Stub::calling(2, |_| {
        thread::sleep(Duration::from_millis(2));
        Ok(())
    });
    let options = PoolOptions { batch_size: 2, num_threads: 2, ..PoolOptions::default() };
    let mut env = build_stubs([panicking, slow.clone(), slow.clone(), slow], options);
    env.reset(ResetSeeds::From(1)).unwrap();
    let begin = Instant::now();
    let error = loop {
        if let Err(error) = env.step(Actions::Discrete(&[0; 2])) {
            break error;
        }
    };
    assert!(begin.elapsed() < Duration::from_secs(1));
    assert_eq!(error.to_string(), "environment 0 panicked: the stub was told to panic");
    assert!(!env.is_usable());
    assert_eq!(env.recv().unwrap_err(), error);
    assert_eq!(env.send_to(Actions::Discrete(&[0]), &[1]).unwrap_err(), error);
    assert_eq!(env.send_reset(&[0, 1, 2, 3], ResetSeeds::Continue).unwrap_err(), error);
    assert_eq!(env.reset(ResetSeeds::Continue).unwrap_err(), error);
}

/// Appends the rows of the last batch to the traces of their environments.
fn append_batch(env: &PoolVectorEnv<Stub>, traces: &mut [Vec<Row>]) {
    for (row, &id) in env.batch().env_ids.iter().enumerate() {
        traces[id].push(row_of(env.batch(), row, &env.infos()[row]));
    }
}

/// Receives two batches without a send between them, then steps all environments. Returns the environments of the first
/// batch and the rows of each environment.
fn traces_after_snapshot(env: &mut PoolVectorEnv<Stub>) -> (Vec<usize>, Vec<Vec<Row>>) {
    let mut traces = vec![Vec::new(); NUM_ENVS];
    append_batch(env, &mut traces);
    let first = env.batch().env_ids.clone();
    env.recv().unwrap();
    append_batch(env, &mut traces);
    env.send_to(Actions::Discrete(&[0; 3]), &first).unwrap();
    // Some environments may be much slower than others, such as with valgrind, which runs one thread at a time.
    while traces.iter().any(|trace| trace.len() < 20) {
        env.step(Actions::Discrete(&[1; 3])).unwrap();
        append_batch(env, &mut traces);
    }
    (first, traces)
}

#[test]
fn a_snapshot_keeps_results_that_were_not_received() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let mut env = build(3, 2, mode);
        env.reset(ResetSeeds::From(8)).unwrap();
        for _ in 0..40 {
            env.step(Actions::Discrete(&[1; 3])).unwrap();
        }
        let snapshot = env.snapshot().unwrap();
        let (first, there) = traces_after_snapshot(&mut env);
        let mut other = build(3, 5, mode);
        env.restore(&snapshot).unwrap();
        other.restore(&snapshot).unwrap();
        for env in [&mut env, &mut other] {
            let (first_again, again) = traces_after_snapshot(env);
            assert_eq!(first_again, first);
            for (trace, again) in there.iter().zip(&again) {
                let both = trace.len().min(again.len());
                assert!(both > 5, "{both}");
                assert!(trace[..both] == again[..both]);
            }
        }
        env.send(Actions::Discrete(&[0; 3])).unwrap();
        assert!(matches!(env.snapshot(), Err(VectorError::OutOfOrder(_))));
    }
}

#[test]
fn a_snapshot_requires_that_the_last_batch_is_not_in_flight() {
    let mut env = build(3, 1, AutoresetMode::NextStep);
    env.reset(ResetSeeds::From(1)).unwrap();
    let first = env.batch().env_ids.clone();
    let last = env.recv().unwrap().env_ids.clone();
    // The same number is in flight as after a reset.
    env.send_to(Actions::Discrete(&[0; 3]), &[first[0], first[1], last[0]]).unwrap();
    assert_eq!(env.num_in_flight(), NUM_ENVS - 3);
    assert!(matches!(env.snapshot(), Err(VectorError::OutOfOrder(_))));
}

#[test]
fn equals_a_single_environment() {
    let mut env = build(2, 2, AutoresetMode::NextStep);
    let traces = traces(&mut env, 5, 30);
    let mut alone = Stub::new(2);
    let mut observation = vec![0; OBSERVATION_BYTES];
    alone.reset(Some(5), &mut observation);
    for (step, row) in traces[0].iter().enumerate() {
        assert_eq!(row.0, observation);
        if row.3[0] && !row.3[3] || row.3[1] {
            alone.reset(None, &mut observation);
        } else {
            alone.step(Action::Discrete(&[action_of(0, step + 1)]), &mut observation).unwrap();
        }
    }
}
