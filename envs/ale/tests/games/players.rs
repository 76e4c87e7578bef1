//! Games with several players compared with traces recorded from multi-agent-ale-py (see
//! `tests/players/record_players.py`), one test per game and execution mode, and a test that they cover all games and
//! modes.
//!
//! A failure names the run, the first block of acts that differs, and the checksums of state and screen.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ale::{Action, Ale, AleSettings, PoweredGame, multiplayer_game, multiplayer_games, roms};
use libtest_mimic::{Failed, Trial};
use serde::Deserialize;
use vcs::{ConsoleOptions, Execution};

use crate::golden::{EXECUTIONS, actions, game_id, parse};

/// The settings of a recorded run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    seed: u32,
    repeat_action_probability: f32,
    frame_skip: u32,
    players: usize,
    mode: u32,
    difficulty: u32,
    acts: usize,
}

/// The checks after a block of acts: running CRC-32s.
#[derive(Debug, PartialEq)]
struct Check {
    state: u32,
    screen: u32,
}

const CHECK_BYTES: usize = 8;
/// Acts in a block.
const BLOCK: usize = 20;
/// The difference between the seeds of two players.
const PLAYER_SEED: u32 = 1000;

pub(crate) fn trials() -> Vec<Trial> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/players");
    let mut traces: Vec<PathBuf> = fs::read_dir(directory)
        .expect("the directory of traces")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "trace"))
        .collect();
    traces.sort();
    let trials = EXECUTIONS.into_iter().flat_map(|(mode, execution)| {
        traces.iter().cloned().map(move |path| {
            let id = game_id(&path);
            Trial::test(format!("players::{mode}::{id}"), move || compare(&id, &path, execution))
        })
    });
    let mut trials: Vec<Trial> = trials.collect();
    trials.push(Trial::test("players::traces_cover_every_game_and_mode", move || check_coverage(&traces)));
    trials
}

/// Fails unless there is a trace of each game for several players, with each of its modes.
fn check_coverage(traces: &[PathBuf]) -> Result<(), Failed> {
    let mut recorded = BTreeSet::new();
    for path in traces {
        let trace = fs::read(path)?;
        let (runs, _) = parse::<Run>(&trace)?;
        recorded.extend(runs.iter().map(|run| (game_id(path), run.players, run.mode)));
    }
    let mut expected = BTreeSet::new();
    for game in multiplayer_games() {
        for players in game.players().into_iter().filter(|&players| players > 1) {
            let modes = game.modes_for(players)?.iter();
            expected.extend(modes.map(|&mode| (game.id.to_owned(), players, mode)));
        }
    }
    let different: Vec<_> = recorded.symmetric_difference(&expected).collect();
    if different.is_empty() {
        return Ok(());
    }
    Err(format!("only in the traces or only in the games: {different:?}").into())
}

fn compare(id: &str, path: &Path, execution: Execution) -> Result<(), Failed> {
    let Some(rom) = roms::for_tests(id) else {
        return Ok(());
    };
    let game = multiplayer_game(id)?;
    let options = ConsoleOptions { execution, ..game.console_options() };
    let powered = PoweredGame::with_options(game, rom, &options)?;
    if powered.tv() != game.tv || powered.height() != usize::from(game.height) {
        let (height, tv) = (powered.height(), powered.tv());
        return Err(format!("{height} lines of {tv:?} differ from the table of games").into());
    }
    let trace = fs::read(path)?;
    let (runs, checks) = parse::<Run>(&trace)?;
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let mut checks = checks
        .chunks_exact(CHECK_BYTES)
        .map(|bytes| Check { state: word(&bytes[..4]), screen: word(&bytes[4..]) });
    for run in &runs {
        for (block, check) in replay(&powered, run)?.into_iter().enumerate() {
            let expected = checks.next().ok_or("the trace ends early")?;
            if check != expected {
                return Err(
                    format!("block {block} of {run:?}: got {check:x?}, expected {expected:x?}").into()
                );
            }
        }
    }
    if checks.next().is_some() { Err("the trace has more blocks".into()) } else { Ok(()) }
}

fn replay(powered: &PoweredGame, run: &Run) -> Result<Vec<Check>, Failed> {
    let settings = AleSettings {
        repeat_action_probability: run.repeat_action_probability,
        frame_skip: run.frame_skip,
        players: run.players,
        mode: Some(run.mode),
        difficulty: Some(run.difficulty),
        ..AleSettings::default()
    };
    let mut ale = Ale::new(powered, settings, run.seed)?;
    ale.reset_game();
    let mut sources: Vec<_> = (0..run.players as u32)
        .map(|player| actions(run.seed + PLAYER_SEED * player, powered.game().legal_actions))
        .collect();
    let (mut state, mut screen) = (crc32fast::Hasher::new(), crc32fast::Hasher::new());
    let mut checks = Vec::new();
    for act in 1..=run.acts {
        let chosen: Vec<Action> = sources.iter_mut().map(|source| source.next().expect("endless")).collect();
        let rewards = ale.act_players(&chosen)?;
        state.update(ale.ram());
        for reward in &rewards[..run.players] {
            state.update(&reward.to_le_bytes());
        }
        for player in 0..run.players {
            state.update(&ale.lives_of(player).ok_or("a player")?.to_le_bytes());
        }
        state.update(&[ale.game_over().into()]);
        screen.update(ale.screen());
        if act % BLOCK == 0 {
            checks.push(Check { state: state.clone().finalize(), screen: screen.clone().finalize() });
        }
        if ale.game_over() {
            ale.reset_game();
        }
    }
    Ok(checks)
}
