//! Every game compared with traces recorded from ale-py (see `tests/golden/record.py`), one test per game and execution
//! mode, and a test that they cover all modes and difficulties.
//!
//! A failure names the run, the first act that differs, and the checksums of state and screen.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ale::{Action, Ale, AleSettings, PoweredGame, game, games, roms};
use libtest_mimic::{Failed, Trial};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use vcs::{ConsoleOptions, Execution};

/// The settings of a recorded run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    seed: u32,
    repeat_action_probability: f32,
    frame_skip: u32,
    mode: Option<u32>,
    difficulty: Option<u32>,
    acts: usize,
}

/// The mode and the difficulty of a run; `None` stands for the default.
type Setting = (Option<u32>, Option<u32>);

/// The checks after one act: running CRC-32s, truncated to 16 bits.
#[derive(Debug, PartialEq)]
struct Check {
    state: u16,
    screen: u16,
}

const CHECK_BYTES: usize = 4;

/// The execution modes by name. All of them must give the same results.
pub(crate) const EXECUTIONS: [(&str, Execution); 3] =
    [("when_hot", Execution::WhenHot), ("eager", Execution::Eager), ("interpreted", Execution::Interpreted)];

pub(crate) fn trials() -> Vec<Trial> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut traces: Vec<PathBuf> = fs::read_dir(directory)
        .expect("the directory of traces")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "trace"))
        .collect();
    traces.sort();
    let trials = EXECUTIONS.into_iter().flat_map(|(mode, execution)| {
        traces.iter().cloned().map(move |path| {
            let id = game_id(&path);
            Trial::test(format!("golden::{mode}::{id}"), move || compare(&id, &path, execution))
        })
    });
    let mut trials: Vec<Trial> = trials.collect();
    trials.push(Trial::test("golden::traces_cover_every_game_mode_and_difficulty", move || {
        check_coverage(&traces)
    }));
    trials
}

/// Returns the id of the game of a trace.
pub(crate) fn game_id(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// Returns the runs of a trace, and the bytes of their checks.
pub(crate) fn parse<R: DeserializeOwned>(trace: &[u8]) -> Result<(Vec<R>, &[u8]), Failed> {
    let header = trace.iter().position(|&byte| byte == b'\n').ok_or("no header")?;
    Ok((serde_json::from_slice(&trace[..header])?, &trace[header + 1..]))
}

/// Fails unless there is a trace of each game but the built-in ones, with the default mode and difficulty, and with
/// each combination of its modes and difficulties.
fn check_coverage(traces: &[PathBuf]) -> Result<(), Failed> {
    let recorded: BTreeSet<String> = traces.iter().map(|path| game_id(path)).collect();
    let ids = games().iter().map(|game| game.id.to_owned());
    let expected: BTreeSet<String> = ids.filter(|id| roms::built_in(id).is_none()).collect();
    if recorded != expected {
        let different: Vec<&String> = recorded.symmetric_difference(&expected).collect();
        return Err(format!("games without a trace, or traces without a game: {different:?}").into());
    }
    for path in traces {
        let game = game(&game_id(path))?;
        let trace = fs::read(path)?;
        let (runs, _) = parse::<Run>(&trace)?;
        let recorded: BTreeSet<Setting> = runs.iter().map(|run| (run.mode, run.difficulty)).collect();
        let settings = game.modes.iter().flat_map(|&mode| {
            game.difficulties.iter().map(move |&difficulty| (Some(mode), Some(difficulty)))
        });
        let expected: BTreeSet<Setting> = settings.chain([(None, None)]).collect();
        if recorded != expected {
            let different: Vec<&Setting> = recorded.symmetric_difference(&expected).collect();
            return Err(format!("{}: only in the trace or only in the game: {different:?}", game.id).into());
        }
    }
    Ok(())
}

fn compare(id: &str, path: &Path, execution: Execution) -> Result<(), Failed> {
    let Some(rom) = roms::for_tests(id) else {
        return Ok(());
    };
    let game = game(id)?;
    let options = ConsoleOptions { execution, ..game.console_options() };
    let powered = PoweredGame::with_options(game, rom, &options)?;
    if powered.tv() != powered.game().tv || powered.height() != usize::from(powered.game().height) {
        return Err(format!(
            "{} lines of {:?} differ from the table of games",
            powered.height(),
            powered.tv()
        )
        .into());
    }
    let trace = fs::read(path)?;
    let (runs, checks) = parse::<Run>(&trace)?;
    let mut checks = checks.chunks_exact(CHECK_BYTES).map(|bytes| Check {
        state: u16::from_le_bytes([bytes[0], bytes[1]]),
        screen: u16::from_le_bytes([bytes[2], bytes[3]]),
    });
    for run in &runs {
        for (act, check) in replay(&powered, run)?.into_iter().enumerate() {
            let expected = checks.next().ok_or("the trace ends early")?;
            if check != expected {
                return Err(format!("act {act} of {run:?}: got {check:x?}, expected {expected:x?}").into());
            }
        }
    }
    if checks.next().is_some() { Err("the trace has more acts".into()) } else { Ok(()) }
}

fn replay(powered: &PoweredGame, run: &Run) -> Result<Vec<Check>, Failed> {
    let settings = AleSettings {
        repeat_action_probability: run.repeat_action_probability,
        frame_skip: run.frame_skip,
        mode: run.mode,
        difficulty: run.difficulty,
        ..AleSettings::default()
    };
    let mut ale = Ale::new(powered, settings, run.seed)?;
    ale.reset_game();
    let (mut state, mut screen) = (crc32fast::Hasher::new(), crc32fast::Hasher::new());
    let checks = actions(run.seed, powered.game().legal_actions).take(run.acts).map(|action| {
        let reward = ale.act(action, 1.0);
        state.update(ale.ram());
        state.update(&reward.to_le_bytes());
        state.update(&ale.lives().to_le_bytes());
        state.update(&[ale.game_over().into()]);
        screen.update(ale.screen());
        if ale.game_over() {
            ale.reset_game();
        }
        Check { state: state.clone().finalize() as u16, screen: screen.clone().finalize() as u16 }
    });
    Ok(checks.collect())
}

/// Returns the actions of `tests/golden/record.py`, each held for 1 to 16 acts.
pub(crate) fn actions(seed: u32, legal: &'static [u8]) -> impl Iterator<Item = Action> {
    let mut state = seed.wrapping_mul(2654435761) | 1;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let code = legal[(state >> 16) as usize % legal.len()];
        std::iter::repeat_n(Action::new(code).expect("a legal action"), 1 + (state >> 8 & 15) as usize)
    })
    .flatten()
}
