//! Calls that make ale-py 0.12.1's `AtariVectorEnv` hang, crash or return garbage are errors or well-defined.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use ale::{AtariOptions, game, roms};
use classic_control::{CartPole, Control};
use rl_env::{Actions, AutoresetMode, EnvError, ResetSeeds, VectorEnv, VectorError};
use vector::{AtariVectorEnv, BuildError, PoolOptions, PoolVectorEnv};

/// Runs a check and fails after a timeout.
fn at_once(check: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let thread = thread::spawn(move || {
        check();
        let _ = done.send(());
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = wait.recv_timeout(Duration::from_secs(20)) {
        panic!("the check hangs");
    }
    thread.join().unwrap();
}

fn build(num_envs: usize, batch_size: usize, options: &AtariOptions) -> Result<AtariVectorEnv, BuildError> {
    let rom: Arc<[u8]> = roms::built_in("harvest").unwrap().into();
    let pool = PoolOptions { batch_size, num_threads: 2, ..PoolOptions::default() };
    AtariVectorEnv::of_games([(game("harvest").unwrap(), rom)], num_envs, options, pool)
}

fn is_invalid_action(error: &VectorError) -> bool {
    matches!(error, VectorError::Env { error: EnvError::InvalidAction { .. }, .. })
}

fn ready(num_envs: usize, batch_size: usize) -> AtariVectorEnv {
    let mut env = build(num_envs, batch_size, &AtariOptions::default()).unwrap();
    env.reset(ResetSeeds::From(1)).unwrap();
    env
}

#[test]
fn rejects_an_empty_list_of_environments() {
    // ale-py: segmentation fault.
    at_once(|| assert!(matches!(build(0, 0, &AtariOptions::default()), Err(BuildError::NoEnvironments))));
}

#[test]
fn rejects_a_batch_larger_than_the_number_of_environments() {
    // ale-py: the first reset hangs.
    at_once(|| {
        let error = build(2, 3, &AtariOptions::default()).err().unwrap();
        assert!(matches!(error, BuildError::BatchSize { batch_size: 3, num_envs: 2 }));
    });
}

#[test]
fn rejects_observations_without_pixels_or_frames() {
    // ale-py: the first reset hangs.
    at_once(|| {
        for options in [
            AtariOptions { stack_num: 0, ..AtariOptions::default() },
            AtariOptions { img_height: 0, ..AtariOptions::default() },
            AtariOptions { img_width: 0, ..AtariOptions::default() },
        ] {
            let error = build(2, 0, &options).err().unwrap().to_string();
            assert!(error.contains("is 0, but must be between 1 and"), "{error}");
        }
    });
}

#[test]
fn rejects_more_environments_threads_and_memory_than_any_machine_has() {
    // ale-py: fills the memory.
    at_once(|| {
        let error = build(65_537, 0, &AtariOptions::default()).err().unwrap();
        assert_eq!(error.to_string(), "num_envs is 65537, but must be between 1 and 65536 for each task");
        let largest = AtariOptions {
            img_height: 4096,
            img_width: 4096,
            grayscale: false,
            stack_num: 64,
            ..AtariOptions::default()
        };
        let error = build(65_536, 0, &largest).err().unwrap();
        // The stack of each environment, and its rows in the two batches.
        let bytes = 3 * 65_536 * 64 * 3 * 4096 * 4096_usize;
        assert!(matches!(error, BuildError::Memory { bytes: found } if found > bytes), "{error}");
        let pool = PoolOptions { num_threads: 1025, ..PoolOptions::default() };
        let envs = (0..2).map(|_| ("CartPole".to_owned(), Control::new(CartPole::default()))).collect();
        let error = PoolVectorEnv::new(envs, pool).err().unwrap();
        assert_eq!(
            error.to_string(),
            "num_threads is 1025, but must be between 1 and 1024, or 0 for one per core"
        );
    });
}

#[test]
fn rejects_actions_out_of_range() {
    // ale-py: a worker fails silently and recv hangs.
    at_once(|| {
        for batch_size in [0, 2] {
            let mut env = ready(4, batch_size);
            for bad in [-1, 3, i32::MAX, i32::MIN] {
                let mut actions = vec![0; env.batch_size()];
                actions[1] = bad;
                let error = env.step(Actions::Discrete(&actions)).unwrap_err();
                assert!(is_invalid_action(&error), "{error}");
            }
            let actions = vec![0; env.batch_size()];
            env.step(Actions::Discrete(&actions)).unwrap();
        }
    });
}

#[test]
fn rejects_continuous_actions_that_are_nan() {
    at_once(|| {
        let options = AtariOptions { continuous: true, ..AtariOptions::default() };
        let mut env = build(1, 0, &options).unwrap();
        env.reset(ResetSeeds::From(1)).unwrap();
        let error = env.step(Actions::Continuous(&[0.5, f32::NAN, 0.0])).unwrap_err();
        assert!(is_invalid_action(&error), "{error}");
        env.step(Actions::Continuous(&[1.5, 40.0, -3.0])).unwrap();
    });
}

#[test]
fn rejects_recv_with_nothing_in_flight() {
    at_once(|| {
        for batch_size in [0, 2] {
            let mut env = ready(4, batch_size);
            while env.num_in_flight() >= env.batch_size() {
                env.recv().unwrap();
            }
            assert!(matches!(env.recv(), Err(VectorError::TooFewInFlight { .. })));
        }
    });
}

#[test]
fn rejects_two_sends_before_a_recv() {
    // ale-py: the two batches race.
    at_once(|| {
        for batch_size in [0, 2] {
            let mut env = ready(4, batch_size);
            let actions = vec![0; env.batch_size()];
            env.send(Actions::Discrete(&actions)).unwrap();
            assert!(matches!(env.send(Actions::Discrete(&actions)), Err(VectorError::InFlight { .. })));
            env.recv().unwrap();
            env.step(Actions::Discrete(&actions)).unwrap();
        }
    });
}

#[test]
fn a_second_reset_drops_the_results_in_flight() {
    // ale-py: old and new results mix, and an environment may be in a batch twice.
    at_once(|| {
        let mut env = ready(4, 3);
        for _ in 0..20 {
            env.reset(ResetSeeds::From(1)).unwrap();
            let mut ids = env.batch().env_ids.clone();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), 3);
            assert!(env.infos().iter().all(|info| info.frame_number == info.episode_frame_number));
            env.send(Actions::Discrete(&[0; 3])).unwrap();
        }
    });
}

#[test]
fn final_observations_default_to_the_current_ones() {
    // ale-py: uninitialized memory.
    at_once(|| {
        let rom: Arc<[u8]> = roms::built_in("harvest").unwrap().into();
        let pool = PoolOptions { autoreset_mode: AutoresetMode::SameStep, ..PoolOptions::default() };
        let options = AtariOptions { life_loss_info: true, ..AtariOptions::default() };
        let mut env = AtariVectorEnv::of_games([(game("harvest").unwrap(), rom)], 3, &options, pool).unwrap();
        env.reset(ResetSeeds::From(1)).unwrap();
        let mut lives_lost = 0;
        for _ in 0..400 {
            let batch = env.step(Actions::Discrete(&[0; 3])).unwrap();
            for row in 0..3 {
                lives_lost += usize::from(batch.terminated[row] && batch.continues[row]);
                let is_current = batch.final_observations.row(row) == batch.observations.row(row);
                assert_eq!(is_current, batch.episodes[row].is_none());
            }
        }
        assert!(lives_lost > 0);
    });
}

#[test]
fn rejects_probabilities_out_of_range() {
    at_once(|| {
        for p in [-0.1, 1.1, f32::NAN] {
            let options = AtariOptions { repeat_action_probability: p, ..AtariOptions::default() };
            assert!(build(1, 0, &options).is_err());
        }
    });
}

#[test]
fn rejects_send_before_the_first_reset() {
    at_once(|| {
        let mut env = build(2, 0, &AtariOptions::default()).unwrap();
        assert!(matches!(env.send(Actions::Discrete(&[0; 2])), Err(VectorError::OutOfOrder(_))));
        assert!(matches!(env.step(Actions::Discrete(&[0; 2])), Err(VectorError::OutOfOrder(_))));
        assert!(matches!(env.recv(), Err(VectorError::OutOfOrder(_))));
        let partly = env.reset_masked(&[true, false], ResetSeeds::Continue);
        assert!(matches!(partly, Err(VectorError::OutOfOrder(_))));
    });
}
