//! `ale-train trace`: prints the state of a game after every act, for comparison with ale-py.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ale::roms::{Manifest, Md5Sum, read_image};
use ale::{ACTIONS, Action, Ale, AleSettings, Game, PoweredGame};
use anyhow::{Context, Result, bail, ensure};
use rl_env::nearest;
use serde::Serialize;
use vcs::Mt19937;

use crate::cli::{Global, TraceArgs};
use crate::files::{self, limit};
use crate::game_mode::{self, GameMode};
use crate::output::notice;
use crate::rom_sources;
use crate::selection;

/// The state after one act.
#[derive(Serialize)]
struct Line {
    /// The number of emulated frames since the game was loaded.
    frame: u32,
    /// The action's code.
    action: u8,
    /// The sum of the rewards of the frames of the act.
    reward: i32,
    lives: i32,
    terminal: bool,
    truncated: bool,
    /// The 128 bytes of RAM as hexadecimal digits.
    ram: String,
    /// CRC-32 of the palette byte of every pixel.
    screen: String,
    /// CRC-32 of the samples.
    sound: String,
}

/// Plays the actions and prints a line for each, flushed at once.
pub(crate) fn run(args: &TraceArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let (mode, image) = find(args, global)?;
    let actions = actions(args, mode.game)?;
    let settings = AleSettings {
        repeat_action_probability: args.repeat_action_probability,
        frame_skip: args.frame_skip,
        mode: args.mode.or(Some(mode.mode)),
        difficulty: args.difficulty.or(Some(mode.difficulty)),
        sound: true,
        ..AleSettings::default()
    };
    let mut ale = Ale::new(&PoweredGame::new(mode.game, image)?, settings, args.seed)?;
    // As in ale-py, loading resets once and the caller a second time.
    ale.reset_game();
    for action in actions {
        if ale.game_over() || ale.truncated() {
            ale.reset_game();
        }
        let reward = ale.act(action, 1.0);
        let line = Line {
            frame: ale.frame_number(),
            action: action.code(),
            reward,
            lives: ale.lives(),
            terminal: ale.game_over(),
            truncated: ale.truncated(),
            ram: hexadecimal(ale.ram()),
            screen: format!("{:08x}", crc32fast::hash(ale.screen())),
            sound: ale.sound().map(|samples| format!("{:08x}", crc32fast::hash(samples))).unwrap_or_default(),
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

/// Finds the game, its mode and its ROM by an id or by the path of a ROM.
fn find(args: &TraceArgs, global: &Global) -> Result<(GameMode, Arc<[u8]>)> {
    let name = &args.game;
    let path = Path::new(name);
    if GameMode::of_id(name).is_some() || !path.exists() {
        ensure!(path.extension().is_none() || game_mode::game_of(name).is_some(), "{name} does not exist");
        let modes = selection::game_modes([name.as_str()])?;
        let [mode] = modes[..] else { bail!("{name} selects {} games; choose one to trace", modes.len()) };
        ensure!(mode.players == 1, "{name} cannot be traced: it is a game of several players");
        let image = rom_sources::sources(global).obtain(mode.game.id, rom_sources::pip(global).as_ref())?;
        return Ok((mode, image));
    }
    let image = read_image(path).with_context(|| format!("cannot read {}", path.display()))?;
    let image: Arc<[u8]> = image.into();
    let known = Manifest::shipped();
    if let Some(id) = known.identify(&image) {
        return Ok((GameMode::default_of(ale::game(id)?, 1)?, image));
    }
    let game = Game::without_rules(&image).with_context(|| format!("cannot run {name}"))?;
    let sum = Md5Sum::of(&image);
    if args.allow_unknown_rom {
        notice(format_args!(
            "{name} is not a known ROM (MD5 {sum}): it runs without rewards, lives or an end of the game"
        ));
        return Ok((GameMode::default_of(game, 1)?, image));
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let similar = nearest(stem, known.iter().map(|(id, _)| id));
    let hint = if similar.is_empty() {
        "`ale-train roms list` lists the known ROMs".to_owned()
    } else {
        format!("similar known ROMs: {}", similar.join(", "))
    };
    bail!("{name} is not a known ROM: its MD5 is {sum}; {hint}; --allow-unknown-rom runs it without rewards")
}

/// Returns the actions of a file, or random ones as they are needed.
fn actions<'a>(args: &TraceArgs, game: &'a Game) -> Result<Box<dyn Iterator<Item = Action> + 'a>> {
    if let Some(path) = &args.actions {
        let text = files::read_argument(path, limit::ACTIONS)
            .with_context(|| format!("cannot read {}", path.display()))?;
        return Ok(Box::new(parse_actions(&text, path)?.into_iter()));
    }
    let mut random = Mt19937::new(args.random_actions.unwrap_or_default());
    let legal = game.legal_actions;
    let draw = move |_| Action::new(legal[random.next_u32() as usize % legal.len()]);
    Ok(Box::new((0..args.steps.unwrap_or_default()).filter_map(draw)))
}

/// Parses one action a line. `path` is named in errors.
pub(crate) fn parse_actions(text: &str, path: &Path) -> Result<Vec<Action>> {
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
    lines
        .map(|(index, line)| {
            line.parse().ok().and_then(Action::new).with_context(|| {
                format!(
                    "{}, line {}: '{line}' is not an action; it must be a code from 0 to {}",
                    path.display(),
                    index + 1,
                    ACTIONS - 1
                )
            })
        })
        .collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
