//! `ale-train play`: a game in the terminal, for a human and a trained agent.

mod command;
mod frame;
mod game_loop;
mod grid;
mod joystick;
mod panel;
mod session;
mod terminal;

use std::io::Write;
use std::time::Duration;

use ale::{AtariEnv, AtariOptions, PoweredGame};
use anyhow::{Context, Result, bail};

use crate::agent::TrainedAgent;
use crate::cli::{AgentArgs, Global, PlayArgs};
use crate::config::Games;
use crate::environments::{self, Builder, Overrides};
use crate::failure::{Interrupted, RuntimeFailure};
use crate::interrupt::Interrupt;
use crate::selection;
use crate::telemetry::Printer;
use crate::threads::set_threads;

use game_loop::GameLoop;
use session::{Agent, Controller, Session};
use terminal::Terminal;

/// Frames per second of the console.
const FRAMES_PER_SECOND: f64 = 60.0;
/// The built-in game.
const BUILT_IN: &str = "harvest";

/// Plays until the player quits.
pub(crate) fn run(args: &PlayArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let (session, frames_per_step) = match args.agent() {
        Some(agent) => session_with_agent(&agent, args, global)?,
        None => (session(args, global)?, 1),
    };
    let interrupt = Interrupt::on_first_signal(Printer::Quiet, "");
    let terminal = Terminal::take()?;
    let period = Duration::from_secs_f64(frames_per_step as f64 / FRAMES_PER_SECOND);
    let first = if args.watch { Controller::Agent } else { Controller::Human };
    let mut game = GameLoop::new(session, first, terminal.reports_releases());
    let best = game.run(terminal, period, &interrupt).context(RuntimeFailure("the game failed"))?;
    let session = game.session();
    let best = best.map_or(String::new(), |best| format!(", best {best}"));
    writeln!(out, "{}: score {}{best}", session.game().title, session.score())?;
    match interrupt.signal() {
        Some(signal) => Err(Interrupted { signal, resume_command: None }.into()),
        None => Ok(()),
    }
}

/// Starts a game without an agent, with one frame per step.
fn session(args: &PlayArgs, global: &Global) -> Result<Session> {
    let name = args.game.as_deref().unwrap_or(BUILT_IN);
    let games = selection::games([name])?;
    let [game] = games[..] else { bail!("'{name}' selects {} games; choose one to play", games.len()) };
    let options = AtariOptions {
        frameskip: 1,
        maxpool: false,
        noop_max: 0,
        use_fire_reset: false,
        max_num_frames_per_episode: u32::MAX,
        full_action_space: true,
        repeat_action_probability: args.sticky.unwrap_or(0.0),
        modes: args.mode.into_iter().collect(),
        difficulties: args.difficulty.into_iter().collect(),
        ..AtariOptions::default()
    };
    let (game, rom) = environments::with_roms(&[game], global)?.swap_remove(0);
    let env = AtariEnv::new(&PoweredGame::new(game, rom)?, options, args.seed)?;
    Ok(Session::new(env, None, args.seed))
}

/// Starts a game with the agent of a checkpoint and its settings. Also returns the frames per step.
fn session_with_agent(agent: &AgentArgs, args: &PlayArgs, global: &Global) -> Result<(Session, u64)> {
    let trained = TrainedAgent::open(&agent.checkpoint, &Printer::new(global.quiet))?;
    let overrides = Overrides {
        games: Some(Games::Atari(vec![trained.game(args.game.as_deref())?])),
        repeat_action_probability: args.sticky,
        mode: args.mode,
        difficulty: args.difficulty,
        ..Overrides::default()
    };
    set_threads(trained.experiment.num_threads())?;
    let builder = Builder::new(&trained.experiment, &overrides, global)?;
    let player = trained.player(&builder, agent.greedy, args.seed)?;
    let codes = builder.atari_env(args.seed)?.action_codes().to_vec();
    let session = Session::new(builder.playable_env(args.seed)?, Some(Agent { player, codes }), args.seed);
    Ok((session, trained.experiment.frames_per_step()))
}
