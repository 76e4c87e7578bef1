//! `ale-train bench emulator`: single games on one thread, without preprocessing.

use std::io::Write;
use std::time::{Duration, Instant};

use ale::{Action, Ale, AleSettings, PoweredGame};
use anyhow::{Result, ensure};
use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use serde_json::json;

use super::format::{print_json, rate};
use super::random_play::{SEED, WARM_UP_STEPS};
use crate::cli::{BenchEmulatorArgs, Global};
use crate::environments::GameWithRom;
use crate::statistics::geometric_mean;
use crate::table;
use crate::telemetry::{Printer, ProgressLine};

/// Acts between two reads of the clock.
const ACTS: usize = 100;

/// The speed of one game.
#[derive(Serialize)]
struct Rates {
    game: &'static str,
    /// Emulated frames per second with one frame per act. Every frame is rendered.
    frames_per_second: f64,
    /// Emulated frames per second with four frames per act, the last of which is rendered.
    frames_per_second_skip_4: f64,
}

/// Measures the games and prints their rates.
pub(crate) fn run(args: &BenchEmulatorArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    for (option, value) in [("--num-envs", args.num_envs), ("--num-threads", args.num_threads)] {
        ensure!(
            value == 1,
            "{option} {value} is not possible: `bench emulator` measures one environment on one thread; use `bench env` for several"
        );
    }
    let duration = args.subject.duration();
    let progress_line = ProgressLine::of_activity(Printer::new(global.quiet));
    let (games, mut per_game) = (args.subject.games(global)?, Vec::new());
    let total = games.len();
    for (number, GameWithRom { game, rom }) in (1..).zip(games) {
        progress_line.status().show_activity(format!("measuring {}, game {number} of {total}", game.id));
        let powered = PoweredGame::new(game, rom)?;
        per_game.push(Rates {
            game: game.id,
            frames_per_second: measure(&powered, 1, duration)?,
            frames_per_second_skip_4: measure(&powered, 4, duration)?,
        });
    }
    drop(progress_line);
    let mean = Rates {
        game: "geometric mean",
        frames_per_second: geometric_mean(per_game.iter().map(|rates| rates.frames_per_second)),
        frames_per_second_skip_4: geometric_mean(per_game.iter().map(|rates| rates.frames_per_second_skip_4)),
    };
    if args.subject.json {
        let report = json!({
            "games": per_game.iter().map(|rates| rates.game).collect::<Vec<_>>(),
            "num_envs": args.num_envs,
            "num_threads": args.num_threads,
            "seconds": duration.as_secs_f64(),
            "frames_per_second": mean.frames_per_second,
            "frames_per_second_skip_4": mean.frames_per_second_skip_4,
            "per_game": per_game,
        });
        return print_json(&report, out);
    }
    if per_game.len() > 1 {
        per_game.push(mean);
    }
    let cells = |rates: &Rates| {
        vec![rates.game.to_owned(), rate(rates.frames_per_second), rate(rates.frames_per_second_skip_4)]
    };
    let rows: Vec<_> = per_game.iter().map(cells).collect();
    table::print(&["game", "frames/s", "frames/s, skip 4"], &rows, out)
}

/// Returns the emulated frames per second of the act loop, with a random minimal action for every act.
fn measure(powered: &PoweredGame, frame_skip: u32, duration: Duration) -> Result<f64> {
    let settings = AleSettings { repeat_action_probability: 0.0, frame_skip, ..AleSettings::default() };
    let mut ale = Ale::new(powered, settings, SEED as u32)?;
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let codes = &powered.game().minimal_actions;
    let actions: Vec<Action> = codes.iter().filter_map(|&code| Action::new(code)).collect();
    let mut act = |times| {
        let before = ale.frame_number();
        for _ in 0..times {
            ale.act(*actions.choose(&mut random).unwrap_or(&Action::NOOP), 1.0);
            if ale.game_over() {
                ale.reset_game();
            }
        }
        ale.frame_number().wrapping_sub(before)
    };
    // The same number of frames for any frame skip.
    act(WARM_UP_STEPS * 4 / frame_skip as usize);
    let (start, mut frames) = (Instant::now(), 0);
    while start.elapsed() < duration {
        frames += u64::from(act(ACTS));
    }
    Ok(frames as f64 / start.elapsed().as_secs_f64())
}
