//! Failures are returned promptly as errors, and the vector environment reports whether it is still usable.

use std::fmt::Debug;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::stub::Stub;
use rl_env::{
    Action, Actions, AutoresetMode, Env, EnvError, ResetSeeds, Space, Step, VectorEnv, VectorError, interrupt,
};
use vcs::{Cartridge, Console, ConsoleOptions, Execution, TvFormat};
use vector::{BuildError, PoolOptions, PoolVectorEnv};

/// Builds six environments, of which environment 3 calls `on_step` in each step.
fn faulty(num_threads: usize, on_step: fn(u64) -> Result<(), EnvError>) -> PoolVectorEnv<Stub> {
    let mut envs: Vec<Stub> = (0..6).map(|_| Stub::new(3)).collect();
    envs[3].on_step = on_step;
    build(envs.into_iter(), num_threads, AutoresetMode::NextStep)
}

fn build<E: Env + 'static>(
    envs: impl Iterator<Item = E>,
    num_threads: usize,
    autoreset_mode: AutoresetMode,
) -> PoolVectorEnv<E> {
    let options = PoolOptions { num_threads, autoreset_mode, ..PoolOptions::default() };
    PoolVectorEnv::new(envs.map(|env| ("stub".to_owned(), env)).collect(), options).unwrap()
}

/// Panics without printing a message, because a backtrace can take a second on a busy machine.
fn unwind() -> ! {
    panic::resume_unwind(Box::new("the stub was told to panic"))
}

#[test]
fn returns_a_panic_as_an_error_within_a_second() {
    for num_threads in [1, 2, 5] {
        let mut env = faulty(num_threads, |_| unwind());
        env.reset(ResetSeeds::From(1)).unwrap();
        env.send(Actions::Discrete(&[0; 6])).unwrap();
        let begin = Instant::now();
        let error = env.recv().unwrap_err();
        assert!(begin.elapsed() < Duration::from_secs(1));
        assert_eq!(error.to_string(), "environment 3 panicked: the stub was told to panic");
        assert!(!env.is_usable());
        assert_eq!(env.recv().unwrap_err(), error);
        assert_eq!(env.send(Actions::Discrete(&[0; 6])).unwrap_err(), error);
        assert_eq!(env.reset(ResetSeeds::Continue).unwrap_err(), error);
        assert_eq!(env.snapshot().unwrap_err(), error);
        assert_eq!(env.restore(&[]).unwrap_err(), error);
    }
}

#[test]
fn a_panic_in_flight_is_reported_before_anything_is_restored() {
    static RESTORED: AtomicBool = AtomicBool::new(false);
    let mut panicking = Stub::calling(3, |_| unwind());
    panicking.on_restore = || RESTORED.store(true, Ordering::Relaxed);
    let envs = vec![("stub".to_owned(), panicking); 2];
    let options = PoolOptions { batch_size: 1, num_threads: 2, ..PoolOptions::default() };
    let mut env = PoolVectorEnv::new(envs, options).unwrap();
    env.reset(ResetSeeds::From(1)).unwrap();
    let snapshot = env.snapshot().unwrap();
    let sent = env.batch().env_ids[0];
    env.send(Actions::Discrete(&[0])).unwrap();
    let error = env.restore(&snapshot).unwrap_err();
    assert_eq!(error.to_string(), format!("environment {sent} panicked: the stub was told to panic"));
    assert!(!env.is_usable());
    assert_eq!(env.restore(&snapshot).unwrap_err(), error);
    assert!(!RESTORED.load(Ordering::Relaxed), "an environment was used after a panic");
}

/// Runs a translated program that shows player 0 and asks for its collisions, which panics in the second frame.
fn play_on_a_damaged_console() {
    let program = [
        0xE8, 0x86, 0x1B, // INX, STX GRP0
        0x85, 0x02, 0xA5, 0x02, // STA WSYNC, LDA CXP0FB
        0x4C, 0x00, 0xF0, // JMP to the INX
    ];
    let mut rom = vec![0xEA; 4096];
    rom[..program.len()].copy_from_slice(&program);
    rom[0xFFC..0xFFE].copy_from_slice(&[0x00, 0xF0]);
    let cartridge = Cartridge::detect(rom.into()).unwrap();
    let options =
        ConsoleOptions { tv: Some(TvFormat::Ntsc), execution: Execution::Eager, ..ConsoleOptions::default() };
    let mut console = Console::new(cartridge, &options);
    console.run_frame();
    console.damage();
    console.run_frame();
}

#[test]
fn returns_a_panic_below_native_code_as_an_error() {
    let mut env = faulty(2, |_| {
        play_on_a_damaged_console();
        Ok(())
    });
    env.reset(ResetSeeds::From(1)).unwrap();
    env.send(Actions::Discrete(&[0; 6])).unwrap();
    let error = env.recv().unwrap_err().to_string();
    assert!(error.starts_with("environment 3 panicked: index out of bounds"), "{error}");
}

#[test]
fn requires_a_reset_after_an_error() {
    let mut env = faulty(2, |step| match step {
        1 => Err(EnvError::Failed("the stub was told to fail".to_owned())),
        _ => Ok(()),
    });
    env.reset(ResetSeeds::From(1)).unwrap();
    let error = env.step(Actions::Discrete(&[0; 6])).unwrap_err();
    assert_eq!(error.to_string(), "environment 3: the stub was told to fail");
    assert!(env.is_usable());
    let error = env.send(Actions::Discrete(&[0; 6])).unwrap_err().to_string();
    assert_eq!(error, "an environment failed: reset or restore all environments first");
    let error = env.send_reset(&[3], ResetSeeds::Continue).unwrap_err().to_string();
    assert_eq!(error, "the first reset, and the first after an error, must include all environments");
    env.reset(ResetSeeds::From(2)).unwrap();
    env.step(Actions::Discrete(&[0; 6])).unwrap();
}

#[test]
fn an_invalid_action_sends_nothing() {
    let mut env = build((0..3).map(|index| Stub::new(2 + index)), 2, AutoresetMode::NextStep);
    let mut twin = build((0..3).map(|index| Stub::new(2 + index)), 2, AutoresetMode::NextStep);
    env.reset(ResetSeeds::From(5)).unwrap();
    twin.reset(ResetSeeds::From(5)).unwrap();
    let error = env.send(Actions::Discrete(&[1, 3, 0])).unwrap_err();
    assert_eq!(error.to_string(), "environment 1: action 3 is not in the action space Discrete(3)");
    for bad in [
        Actions::Discrete(&[0, 0, -1]),
        Actions::Discrete(&[0, 0]),
        Actions::Discrete(&[0; 4]),
        Actions::Continuous(&[0.0; 3]),
    ] {
        assert!(env.send(bad).is_err(), "{bad:?}");
        let error = env.recv().unwrap_err();
        assert_eq!(error, VectorError::TooFewInFlight { in_flight: 0, batch_size: 3 }, "an action was sent");
    }
    env.step(Actions::Discrete(&[1, 2, 3])).unwrap();
    twin.step(Actions::Discrete(&[1, 2, 3])).unwrap();
    assert_eq!(env.batch().observations, twin.batch().observations);
    assert_eq!(env.infos(), twin.infos());
}

#[test]
fn ignores_actions_of_environments_with_a_pending_reset() {
    let mut env = build((0..4).map(|_| Stub::new(2)), 1, AutoresetMode::NextStep);
    env.reset(ResetSeeds::From(9)).unwrap();
    let mut ignored = 0;
    for _ in 0..50 {
        let ended: Vec<bool> = env.batch().episodes.iter().map(Option::is_some).collect();
        let actions: Vec<i32> = ended.iter().map(|&ended| if ended { -7 } else { 1 }).collect();
        env.step(Actions::Discrete(&actions)).unwrap();
        assert_eq!(env.batch().autoreset, ended);
        ignored += ended.iter().filter(|&&ended| ended).count();
    }
    assert!(ignored > 5);
}

#[test]
fn refuses_to_step_a_finished_environment_without_autoreset() {
    let mut env = build((0..2).map(|_| Stub::new(2)), 1, AutoresetMode::Disabled);
    env.reset(ResetSeeds::From(9)).unwrap();
    while env.batch().episodes.iter().all(Option::is_none) {
        env.step(Actions::Discrete(&[0; 2])).unwrap();
    }
    let over: Vec<bool> = env.batch().episodes.iter().map(Option::is_some).collect();
    let first = over.iter().position(|&over| over).unwrap();
    assert_eq!(env.send(Actions::Discrete(&[0; 2])), Err(VectorError::EpisodeOver { env: first }));
    env.reset_masked(&over, ResetSeeds::Continue).unwrap();
    env.step(Actions::Discrete(&[0; 2])).unwrap();
}

fn assert_out_of_order<T: Debug>(result: &Result<T, VectorError>) {
    assert!(matches!(result, Err(VectorError::OutOfOrder(_))), "{result:?}");
}

#[test]
fn calls_out_of_order_are_errors() {
    let mut env = build((0..2).map(|_| Stub::new(2)), 2, AutoresetMode::NextStep);
    assert_out_of_order(&env.send(Actions::Discrete(&[0; 2])));
    assert_out_of_order(&env.recv());
    assert_out_of_order(&env.snapshot());
    assert_out_of_order(&env.reset_masked(&[true, false], ResetSeeds::Continue));
    env.reset_masked(&[true, true], ResetSeeds::Continue).unwrap();
    let snapshot = env.snapshot().unwrap();
    env.send(Actions::Discrete(&[0; 2])).unwrap();
    assert_eq!(env.send(Actions::Discrete(&[0; 2])), Err(VectorError::InFlight { env: 0 }));
    assert_out_of_order(&env.reset(ResetSeeds::Continue));
    assert_out_of_order(&env.snapshot());
    assert_out_of_order(&env.restore(&snapshot));
    env.recv().unwrap();
    assert_eq!(env.recv().unwrap_err(), VectorError::TooFewInFlight { in_flight: 0, batch_size: 2 });
    assert!(matches!(
        env.reset(ResetSeeds::Each(&[Some(1)])),
        Err(VectorError::WrongLength { got: 1, expected: 2, .. })
    ));
}

#[test]
fn the_last_batch_is_unchanged_while_the_next_is_filled() {
    let mut env = build((0..8).map(|_| Stub::new(2)), 3, AutoresetMode::NextStep);
    env.reset(ResetSeeds::From(4)).unwrap();
    for _ in 0..100 {
        let before = env.batch().observations.clone();
        env.send(Actions::Discrete(&[1; 8])).unwrap();
        assert_eq!(env.batch().observations, before);
        env.recv().unwrap();
        assert_ne!(env.batch().observations, before);
    }
}

#[test]
fn rejects_incompatible_environments() {
    let build = |envs| PoolVectorEnv::new(envs, PoolOptions::default());
    let options = PoolOptions { batch_size: 2, ..PoolOptions::default() };
    let error = PoolVectorEnv::new(vec![("a".to_owned(), Slow::new(1))], options).err().unwrap();
    let sentence = "batch_size is 2, but must be between 1 and 1, the number of environments, or 0 for all";
    assert_eq!(error.to_string(), sentence);
    let nothing_to_do = Slow { action_space: Space::floats(0, -1.0, 1.0), ..Slow::new(1) };
    let error = build(vec![("a".to_owned(), nothing_to_do)]).err().unwrap();
    assert!(matches!(error, BuildError::NoActions { env: 0, .. }), "{error}");
    assert!(matches!(build(Vec::<(String, Slow)>::new()), Err(BuildError::NoEnvironments)));
    let error = build(vec![("a".to_owned(), Slow::new(1)), ("b".to_owned(), Slow::new(2))]).err().unwrap();
    assert!(
        error.to_string().starts_with("environment 1 (b) has the observation space Box(0, 255, [2], uint8)"),
        "{error}"
    );
    let continuous = Slow { action_space: Space::floats(1, -1.0, 1.0), ..Slow::new(1) };
    let error = build(vec![("a".to_owned(), Slow::new(1)), ("b".to_owned(), continuous)]).err().unwrap();
    assert!(matches!(error, BuildError::DifferentActions { env: 1, .. }), "{error}");
    let both = Space::tuple([Space::floats(1, -1.0, 1.0), Space::discrete(2)]);
    let error = build(vec![("a".to_owned(), Slow { action_space: both, ..Slow::new(1) })]).err().unwrap();
    assert!(matches!(error, BuildError::MixedActions { env: 0, .. }), "{error}");
}

/// An environment whose step takes 20 milliseconds.
struct Slow {
    observation_space: Space,
    action_space: Space,
}

impl Slow {
    fn new(observation_bytes: usize) -> Self {
        Self { observation_space: Space::bytes([observation_bytes]), action_space: Space::discrete(1) }
    }
}

impl Env for Slow {
    type Info = ();

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, _: Option<u64>, _: &mut [u8]) {}

    fn step(&mut self, _: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        thread::sleep(Duration::from_millis(20));
        observation.fill(1);
        Ok(Step::default())
    }

    fn info(&self) {}

    fn observe(&self, _: &mut [u8]) {}

    fn snapshot(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), EnvError> {
        Ok(())
    }
}

#[test]
fn dropping_during_a_step_abandons_the_rest() {
    let mut env = build((0..500).map(|_| Slow::new(1)), 3, AutoresetMode::NextStep);
    env.reset(ResetSeeds::Continue).unwrap();
    env.send(Actions::Discrete(&[0; 500])).unwrap();
    let (dropped, wait) = mpsc::channel();
    thread::spawn(move || {
        drop(env);
        dropped.send(()).unwrap();
    });
    // Two threads would need five seconds for all 500.
    wait.recv_timeout(Duration::from_secs(2)).expect("drop waits for the whole step");
}

#[test]
fn moves_to_another_thread() {
    let mut env = build((0..4).map(|_| Slow::new(1)), 2, AutoresetMode::NextStep);
    env.reset(ResetSeeds::Continue).unwrap();
    env.send(Actions::Discrete(&[0; 4])).unwrap();
    let env = thread::spawn(move || {
        env.recv().unwrap();
        env
    })
    .join()
    .unwrap();
    assert_eq!(env.batch().observations.row(3), [1]);
}

/// Calls `call` while a request to interrupt it is pending.
fn interrupted<R>(call: impl FnOnce() -> R) -> R {
    interrupt::with_check(
        || true,
        || {
            thread::sleep(interrupt::CHECK_INTERVAL);
            call()
        },
    )
}

/// Blocks an environment until it is interrupted.
fn wait_for_interruption() {
    while !interrupt::poll() {
        thread::yield_now();
    }
}

/// Blocks an environment in its first step until it is interrupted.
#[expect(clippy::unnecessary_wraps, reason = "a function of the stub, which may fail")]
fn wait_in_first_step(step: u64) -> Result<(), EnvError> {
    if step == 1 {
        wait_for_interruption();
    }
    Ok(())
}

/// Builds four environments, stepped two at a time, that block in their first step until they are interrupted.
fn waiting() -> PoolVectorEnv<Stub> {
    let envs = vec![("stub".to_owned(), Stub::calling(3, wait_in_first_step)); 4];
    let options = PoolOptions { batch_size: 2, num_threads: 2, ..PoolOptions::default() };
    PoolVectorEnv::new(envs, options).unwrap()
}

#[test]
fn an_interruption_ends_a_step_on_any_thread_and_a_reset_makes_the_environments_usable_again() {
    for num_threads in [1, 2, 5] {
        let mut env = faulty(num_threads, wait_in_first_step);
        env.reset(ResetSeeds::From(1)).unwrap();
        let step = |env: &mut PoolVectorEnv<Stub>| env.step(Actions::Discrete(&[0; 6])).map(drop);
        assert_eq!(interrupt::with_check(|| true, || step(&mut env)), Err(VectorError::Interrupted));
        assert!(env.is_usable());
        assert!(matches!(step(&mut env), Err(VectorError::OutOfOrder(_))));
        env.reset(ResetSeeds::From(1)).unwrap();
        step(&mut env).unwrap();
    }
}

#[test]
fn an_interruption_ends_a_wait_for_other_threads() {
    let mut env = waiting();
    env.reset(ResetSeeds::From(1)).unwrap();
    env.send(Actions::Discrete(&[0; 2])).unwrap();
    env.recv().unwrap();
    env.send(Actions::Discrete(&[0; 2])).unwrap();
    let received = interrupt::with_check(|| true, || env.recv().map(drop));
    assert_eq!(received, Err(VectorError::Interrupted));
    env.reset(ResetSeeds::From(1)).unwrap();
}

#[test]
fn an_interruption_ends_a_reset_that_waits_for_environments_in_flight() {
    let mut env = waiting();
    env.reset(ResetSeeds::From(1)).unwrap();
    env.send(Actions::Discrete(&[0; 2])).unwrap();
    let reset = interrupt::with_check(|| true, || env.reset(ResetSeeds::From(1)).map(drop));
    assert_eq!(reset, Err(VectorError::Interrupted));
    assert!(env.is_usable());
    assert!(matches!(env.recv(), Err(VectorError::OutOfOrder(_))));
    env.reset(ResetSeeds::From(1)).unwrap();
}

#[test]
fn an_interruption_ends_snapshots_and_restores_and_changes_nothing() {
    let mut env = build((0..6).map(|_| Stub::new(3)), 2, AutoresetMode::NextStep);
    env.reset(ResetSeeds::From(1)).unwrap();
    let first = env.snapshot().unwrap();
    env.step(Actions::Discrete(&[1; 6])).unwrap();
    let second = env.snapshot().unwrap();
    assert_eq!(interrupted(|| env.snapshot()), Err(VectorError::Interrupted));
    assert_eq!(interrupted(|| env.snapshot_envs(&[0])), Err(VectorError::Interrupted));
    assert_eq!(interrupted(|| env.restore(&first).map(drop)), Err(VectorError::Interrupted));
    assert_eq!(env.snapshot().unwrap(), second);
    env.restore(&first).unwrap();
}

#[test]
fn an_interruption_ends_building() {
    let built = interrupted(|| {
        PoolVectorEnv::of_factory("stub", 4, |_| Ok::<_, EnvError>(Stub::new(3)), PoolOptions::default())
    });
    assert!(matches!(built, Err(BuildError::Interrupted)));
}

#[test]
fn dropping_ends_the_environments_that_are_being_stepped() {
    let mut env = faulty(2, |_| {
        wait_for_interruption();
        Ok(())
    });
    env.reset(ResetSeeds::From(1)).unwrap();
    env.send(Actions::Discrete(&[0; 6])).unwrap();
    let begin = Instant::now();
    drop(env);
    assert!(begin.elapsed() < Duration::from_secs(10));
}
