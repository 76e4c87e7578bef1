//! `ale-train play`: a game in the terminal, for a human and a trained agent.

mod command;
mod game_loop;
mod joystick;
mod panel;

use std::io::Write;
use std::time::Duration;

use ale::{AtariEnv, AtariOptions, PoweredGame};
use anyhow::{Context, Result, bail, ensure};

use crate::agent::TrainedAgent;
use crate::cli::{AgentArgs, Global, PlayArgs};
use crate::environments::{self, Builder, CommandOverrides, GameWithRom};
use crate::failure::{Interrupted, RuntimeFailure};
use crate::interrupt::Interrupt;
use crate::selection;
use crate::show::{self, Audience, Session, score_digits};
use crate::telemetry::Printer;
use crate::terminal::Terminal;
use crate::threads::set_threads;

use game_loop::GameLoop;
use joystick::Controller;

/// The reason for which the command fails without a terminal.
const REFUSAL: &str = "`ale-train play` needs a terminal as standard input and output; `ale-train record` writes videos \
     without one";
/// The built-in game.
const BUILT_IN: &str = "harvest";

/// Plays until the player quits.
pub(crate) fn run(args: &PlayArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let session = match args.agent() {
        Some(agent) => session_with_agent(&agent, args, global)?,
        None => session(args, global)?,
    };
    let description = session.description();
    ensure!(args.watch || description.has_joystick, "{} can only be watched: add --watch", description.title);
    let period = Duration::from_secs_f64(1.0 / description.steps_per_second);
    let interrupt = Interrupt::on_first_signal(Printer::Quiet, "");
    let terminal = Terminal::take(REFUSAL)?;
    let first = if args.watch { Controller::Agent } else { Controller::Human };
    let mut game = GameLoop::new(session, first, terminal.reports_releases());
    let best = game.run(terminal, period, &interrupt).context(RuntimeFailure("the game failed"))?;
    let session = game.session();
    let best = best.map_or(String::new(), |best| format!(", best {}", score_digits(best)));
    writeln!(out, "{}: score {}{best}", session.description().title, score_digits(session.score()))?;
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
    let GameWithRom { game, rom } = environments::with_roms(&[game], global)?.swap_remove(0);
    let env = AtariEnv::new(&PoweredGame::new(game, rom)?, options, args.seed)?;
    show::session_without_agent(env, args.seed)
}

/// Starts a game with the agent of a checkpoint and its settings.
fn session_with_agent(agent: &AgentArgs, args: &PlayArgs, global: &Global) -> Result<Session> {
    let trained = TrainedAgent::open(&agent.checkpoint, &Printer::new(global.quiet))?;
    let overrides = CommandOverrides {
        games: Some(trained.game(args.game.as_deref())?),
        evaluation_repeat_probability: args.sticky,
        mode: args.mode,
        difficulty: args.difficulty,
        ..CommandOverrides::default()
    };
    set_threads(trained.experiment.num_threads())?;
    let builder = Builder::new(&trained.experiment, &overrides, global)?;
    show::session(&builder, &trained, Audience::Player, agent.greedy, args.seed)
}
