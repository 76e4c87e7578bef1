//! The cost of the parts of an environment: a frame of the console, an observation, a step, a reset.
//!
//! `cargo bench -p ale` measures the open game and, if their ROMs are in the store, some others. A warm-up makes sure that
//! hot code is translated.

use std::hint::black_box;
use std::time::Duration;

use ale::{Action, Ale, AleSettings, AtariEnv, AtariOptions, PoweredGame, game, roms};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use preprocess::{Preprocessing, Preprocessor, Size};
use rl_env::{Action as EnvAction, Env, Space};

/// The preprocessing is not public, so it is compiled into this program again.
#[path = "../src/preprocess/mod.rs"]
// Much of it is not called here, what the crate exports is private, and its unit tests are compiled but not run.
#[allow(dead_code, unreachable_pub, unused_imports)]
mod preprocess;

/// The part of the crate that the preprocessing uses.
mod palette {
    pub(crate) use ale::Palette;
}

/// Games with few and many objects, of 2 KB to 8 KB.
const GAMES: [&str; 5] = ["harvest", "pong", "breakout", "ms_pacman", "beam_rider"];
const WARM_UP_FRAMES: usize = 12_000;
/// The number of frames or steps for which an action is held.
const HELD: usize = 8;

/// Returns the games whose ROMs are in the store. Fetches none.
fn games_at_hand() -> Vec<PoweredGame> {
    let store = roms::RomStore::locate(None).expect("there is a ROM directory");
    let powered = |id| PoweredGame::new(game(id).ok()?, store.read(id).ok()?).ok();
    GAMES.into_iter().filter_map(powered).collect()
}

/// A game with a fixed sequence of actions.
struct Play {
    ale: Ale,
    frames: usize,
}

impl Play {
    fn warmed_up(powered: &PoweredGame) -> Self {
        let settings = AleSettings { repeat_action_probability: 0.0, ..AleSettings::default() };
        let ale = Ale::new(powered, settings, 1).expect("settings that every game allows");
        let mut play = Self { ale, frames: 0 };
        (0..WARM_UP_FRAMES).for_each(|_| play.frame(Ale::act));
        play
    }

    fn frame(&mut self, act: impl Fn(&mut Ale, Action, f32) -> i32) {
        let actions = self.ale.game().minimal_actions;
        let code = actions[self.frames / HELD % actions.len()];
        act(&mut self.ale, Action::new(code).expect("a minimal action"), 1.0);
        if self.ale.game_over() {
            self.ale.reset_game();
        }
        self.frames += 1;
    }
}

/// One frame: emulation and rules, with and without drawing the screen.
fn frame(criterion: &mut Criterion) {
    let mut group = group(criterion, "frame");
    for powered in games_at_hand() {
        let id = powered.game().id;
        let mut play = Play::warmed_up(&powered);
        group.bench_function(format!("{id}, drawn"), |bencher| bencher.iter(|| play.frame(Ale::act)));
        group.bench_function(format!("{id}, undrawn"), |bencher| {
            bencher.iter(|| play.frame(Ale::act_undrawn));
        });
    }
}

/// Preprocessing of the last two frames of a step to 84x84: in games, where little changes from step to step, and with
/// unrelated frames.
fn preprocess(criterion: &mut Criterion) {
    let mut group = group(criterion, "preprocess");
    for powered in games_at_hand() {
        let steps = screens(&powered);
        observe(&mut group, powered.game().id, &powered, &steps);
    }
    let powered = &games_at_hand()[0];
    let bytes = powered.height() * preprocess::SCREEN_WIDTH;
    let screen = |seed: usize| (0..bytes).map(|byte| ((seed * 31 + byte * 7919) >> 3) as u8 & 0xFE).collect();
    let steps: Vec<_> = (0..STEPS).map(|step| [screen(2 * step), screen(2 * step + 1)]).collect();
    observe(&mut group, "unrelated frames", powered, &steps);
}

const STEPS: usize = 64;

/// Returns the last two screens of successive steps of a game.
fn screens(powered: &PoweredGame) -> Vec<[Vec<u8>; 2]> {
    let mut play = Play::warmed_up(powered);
    let mut screen = |skipped| {
        (0..=skipped).for_each(|_| play.frame(Ale::act));
        play.ale.screen().to_vec()
    };
    (0..STEPS).map(|_| [screen(2), screen(0)]).collect()
}

fn observe(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    powered: &PoweredGame,
    steps: &[[Vec<u8>; 2]],
) {
    let mut preprocessor = Preprocessor::new(Preprocessing {
        screen_height: powered.height(),
        palette: ale::Palette::of(powered.tv()),
        grayscale: true,
        maxpool: true,
        target: Size { height: 84, width: 84 },
        stack_num: 4,
    });
    let mut steps = steps.iter().cycle();
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            if let Some([before, last]) = steps.next() {
                preprocessor.process(Some(last), Some(before));
            }
        });
    });
}

/// A step of an environment: four frames, two of them drawn, and the observation.
fn step(criterion: &mut Criterion) {
    let mut group = group(criterion, "step");
    for powered in games_at_hand() {
        let (mut env, mut observation) = environment(&powered);
        let &Space::Discrete { n, .. } = env.action_space() else { unreachable!("games have buttons") };
        let mut steps = 0;
        let mut step = || {
            let action = [(steps / HELD % n) as i32];
            let outcome = env.step(EnvAction::Discrete(&action), &mut observation).expect("an action");
            if outcome.terminated {
                env.reset(None, &mut observation);
            }
            steps += 1;
        };
        (0..WARM_UP_FRAMES / 4).for_each(|_| step());
        group.bench_function(powered.game().id, |bencher| bencher.iter(&mut step));
    }
}

/// A reset with its no-ops, seeded (which loads the game again) and unseeded.
fn reset(criterion: &mut Criterion) {
    const WARM_UP: u64 = 60;
    let mut group = group(criterion, "reset");
    for powered in games_at_hand() {
        let (mut env, mut observation) = environment(&powered);
        (0..WARM_UP).for_each(|seed| env.reset(Some(seed), &mut observation));
        let id = powered.game().id;
        let mut seed = WARM_UP;
        group.bench_function(format!("{id}, seeded"), |bencher| {
            bencher.iter(|| {
                seed += 1;
                env.reset(Some(seed), &mut observation);
            });
        });
        group.bench_function(format!("{id}, unseeded"), |bencher| {
            bencher.iter(|| env.reset(None, black_box(&mut observation)));
        });
    }
}

fn environment(powered: &PoweredGame) -> (AtariEnv, Vec<u8>) {
    let mut env = AtariEnv::new(powered, AtariOptions::default(), 1).expect("the default options");
    let mut observation = vec![0; env.observation_space().byte_len()];
    env.reset(None, &mut observation);
    (env, observation)
}

/// Returns a benchmark group whose benchmarks take a second or two each.
fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500));
    group
}

criterion_group!(benches, frame, preprocess, step, reset);
criterion_main!(benches);
