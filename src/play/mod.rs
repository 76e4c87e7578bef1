//! `ale-train play`: a game in the terminal, for a human and a trained agent.

mod command;
mod game_loop;
mod joystick;
mod panel;
mod speaker;

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use ale::{AtariEnv, AtariOptions, PoweredGame};
use anyhow::{Context, Result, bail, ensure};

use crate::agent::TrainedAgent;
use crate::cli::{AgentArgs, Global, PlayArgs};
use crate::environments::{self, Builder, CommandOverrides, GameWithRom};
use crate::failure::{Interrupted, RuntimeFailure};
use crate::game_mode::GameMode;
use crate::interrupt::Interrupt;
use crate::selection;
use crate::show::{self, Audience, Session, score_digits};
use crate::telemetry::Printer;
use crate::terminal::Terminal;
use crate::threads::set_threads;
use crate::zoo_agents;

use game_loop::GameLoop;
use joystick::Controller;
use speaker::Speaker;

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
    ensure!(
        !args.sound || description.has_joystick,
        "--sound is not possible: {} is not an Atari game",
        description.title
    );
    let speaker = args.sound.then(Speaker::start).transpose()?;
    let period = Duration::from_secs_f64(1.0 / description.steps_per_second);
    let interrupt = Interrupt::on_first_signal(Printer::Quiet, "");
    let terminal = Terminal::take(REFUSAL)?;
    let first = if args.watch { Controller::Agent } else { Controller::Human };
    let mut game = GameLoop::new(session, first, terminal.reports_releases(), speaker);
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
    let is_agent = name.starts_with(zoo_agents::PREFIX) || Path::new(name).exists();
    ensure!(
        !is_agent || selection::id_of_spelling(name).is_some(),
        "{name} is an agent: add --checkpoint before it"
    );
    let modes = selection::game_modes([name])?;
    let [GameMode { game, players, mode, difficulty }] = modes[..] else {
        bail!("'{name}' selects {} games; choose one to play", modes.len())
    };
    ensure!(players == 1, "{name} needs an opponent: add --checkpoint AGENT --versus");
    let options = AtariOptions {
        frameskip: 1,
        maxpool: false,
        noop_max: 0,
        use_fire_reset: false,
        max_num_frames_per_episode: u32::MAX,
        full_action_space: true,
        repeat_action_probability: args.sticky.unwrap_or(0.0),
        modes: vec![args.mode.unwrap_or(mode)],
        difficulties: vec![args.difficulty.unwrap_or(difficulty)],
        ..AtariOptions::default()
    };
    let GameWithRom { game, rom } = environments::with_roms(&[game], global)?.swap_remove(0);
    let env = AtariEnv::new(&PoweredGame::new(game, rom)?, options, args.seed)?;
    show::session_without_agent(env, args.seed)
}

/// Starts a game with the agent of a checkpoint and its settings.
fn session_with_agent(agent: &AgentArgs, args: &PlayArgs, global: &Global) -> Result<Session> {
    let trained = TrainedAgent::open(&agent.checkpoint, &Printer::new(global.quiet))?;
    let advice = |game: &str| format!("choose one: `ale-train play {game} --checkpoint ...`");
    let game = args.game.as_deref().map_or_else(|| trained.only_game(advice), Ok)?;
    let overrides = CommandOverrides {
        games: Some(trained.shown_game(game)?),
        evaluation_repeat_probability: args.sticky,
        mode: args.mode,
        difficulty: args.difficulty,
        ..CommandOverrides::default()
    };
    set_threads(trained.experiment.num_threads())?;
    let builder = Builder::new(&trained.experiment, &overrides, global)?;
    let audience = if args.versus { Audience::Opponent } else { Audience::Player };
    show::session(&builder, &trained, audience, agent.greedy, args.seed)
}
