//! The cost of the parts of an environment: a frame of the console, an observation, a step, a reset.
//!
//! `cargo bench -p ale` measures the open game and, if their ROMs are in the store, some others. A warm-up makes sure
//! that hot code is translated.

use std::hint::black_box;

use ale::{Action, Ale, AleSettings, AtariEnv, AtariOptions, PoweredGame, game, roms};
use divan::Bencher;
use rl_env::{Action as EnvAction, Env, Space};

/// The preprocessing is not public, so it is compiled into this program again.
#[path = "../src/screen.rs"]
#[allow(unreachable_pub)]
mod screen;

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
/// The maximum number of samples of a benchmark.
const SAMPLES: u32 = 10_000;
/// The maximum duration of a benchmark, in seconds.
const MAX_TIME: f64 = 0.5;

fn main() {
    divan::main();
}

/// Returns the game if its ROM is in the store. Downloads nothing.
fn power(id: &str) -> Option<PoweredGame> {
    let store = roms::RomStore::locate(None).expect("there is a ROM directory");
    PoweredGame::new(game(id).ok()?, store.read(id).ok()?).ok()
}

fn powered(id: &str) -> PoweredGame {
    power(id).expect("a ROM that is in the store")
}

/// Returns the games whose ROMs are in the store.
fn games() -> impl Iterator<Item = &'static str> {
    GAMES.into_iter().filter(|id| power(id).is_some())
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
#[divan::bench_group(sample_count = SAMPLES, max_time = MAX_TIME)]
mod frame {
    use super::{Ale, Bencher, Play, games, powered};

    #[divan::bench(args = games())]
    fn drawn(bencher: Bencher<'_, '_>, id: &str) {
        let mut play = Play::warmed_up(&powered(id));
        bencher.bench_local(|| play.frame(Ale::act));
    }

    #[divan::bench(args = games())]
    fn undrawn(bencher: Bencher<'_, '_>, id: &str) {
        let mut play = Play::warmed_up(&powered(id));
        bencher.bench_local(|| play.frame(Ale::act_undrawn));
    }
}

/// Preprocessing of the last two frames of a step to 84x84.
#[divan::bench_group(sample_count = SAMPLES, max_time = MAX_TIME)]
mod observation {
    use std::iter::Cycle;
    use std::slice::Iter;

    use super::preprocess::{Preprocessing, Preprocessor, Size};
    use super::screen::SCREEN_WIDTH;
    use super::{Ale, Bencher, GAMES, Play, PoweredGame, games, powered};

    const STEPS: usize = 64;

    /// Benchmarks a game in which little changes from step to step.
    #[divan::bench(args = games())]
    fn of_game(bencher: Bencher<'_, '_>, id: &str) {
        let powered = powered(id);
        let mut play = Play::warmed_up(&powered);
        let steps: Vec<_> = (0..STEPS).map(|_| last_screens(&mut play)).collect();
        observe(bencher, &powered, steps.iter().cycle());
    }

    /// Returns the screens of the last two of four frames.
    fn last_screens(play: &mut Play) -> [Vec<u8>; 2] {
        [3, 1].map(|frames| {
            (0..frames).for_each(|_| play.frame(Ale::act));
            play.ale.screen().to_vec()
        })
    }

    #[divan::bench]
    fn of_unrelated_frames(bencher: Bencher<'_, '_>) {
        let powered = powered(GAMES[0]);
        let bytes = powered.height() * SCREEN_WIDTH;
        let steps: Vec<[Vec<u8>; 2]> = (0..STEPS)
            .map(|step| {
                [2 * step, 2 * step + 1].map(|seed| {
                    (0..bytes).map(|byte| ((seed * 31 + byte * 7919) >> 3) as u8 & 0xFE).collect()
                })
            })
            .collect();
        observe(bencher, &powered, steps.iter().cycle());
    }

    fn observe(bencher: Bencher<'_, '_>, powered: &PoweredGame, mut steps: Cycle<Iter<'_, [Vec<u8>; 2]>>) {
        let mut preprocessor = Preprocessor::new(Preprocessing {
            screen_height: powered.height(),
            palette: ale::Palette::of(powered.tv()),
            grayscale: true,
            maxpool: true,
            target: Size { height: 84, width: 84 },
            stack_num: 4,
        });
        bencher.bench_local(|| {
            if let Some([before, last]) = steps.next() {
                preprocessor.process(Some(last), Some(before));
            }
        });
    }
}

/// Benchmarks a step of an environment: four frames, two of them drawn, and the observation.
#[divan::bench(args = games(), sample_count = SAMPLES, max_time = MAX_TIME)]
fn step(bencher: Bencher<'_, '_>, id: &str) {
    let (mut env, mut observation) = environment(id);
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
    bencher.bench_local(step);
}

/// A reset with its no-ops.
#[divan::bench_group(sample_count = SAMPLES, max_time = MAX_TIME)]
mod reset {
    use super::{Bencher, Env, black_box, environment, games};

    const WARM_UP: u64 = 60;

    /// Loads the game again.
    #[divan::bench(args = games())]
    fn seeded(bencher: Bencher<'_, '_>, id: &str) {
        let (mut env, mut observation) = environment(id);
        let mut seed = 0;
        let mut reset = || {
            env.reset(Some(seed), &mut observation);
            seed += 1;
        };
        (0..WARM_UP).for_each(|_| reset());
        bencher.bench_local(reset);
    }

    #[divan::bench(args = games())]
    fn unseeded(bencher: Bencher<'_, '_>, id: &str) {
        let (mut env, mut observation) = environment(id);
        let mut reset = || env.reset(None, black_box(&mut observation));
        (0..WARM_UP).for_each(|_| reset());
        bencher.bench_local(reset);
    }
}

fn environment(id: &str) -> (AtariEnv, Vec<u8>) {
    let mut env = AtariEnv::new(&powered(id), AtariOptions::default(), 1).expect("the default options");
    let mut observation = vec![0; env.observation_space().byte_len()];
    env.reset(None, &mut observation);
    (env, observation)
}
