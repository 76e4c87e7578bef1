//! `ale-train record`: a video of an episode of a trained agent, with score, action and value below the screen, or of
//! all games of an agent beside each other.

mod caption;
mod mosaic;
mod video;

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::agent::TrainedAgent;
use crate::cli::{AgentArgs, CheckpointArgs, EmulationArgs, Global, RecordArgs};
use crate::config::Games;
use crate::environments::{Builder, CommandOverrides};
use crate::failure::RuntimeFailure;
use crate::output::counted;
use crate::show::{self, Audience, Session, score_digits};
use crate::telemetry::{Printer, ProgressLine, Status};
use crate::threads::set_threads;

use caption::Caption;
use mosaic::Mosaic;
use video::{Video, VideoFile};

/// Selects all games of a mosaic.
const ALL: &str = "all";

/// Plays and writes the video.
pub(crate) fn run(args: &RecordArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let file = VideoFile::new(&args.out)?;
    let printer = Printer::new(global.quiet);
    let agent = TrainedAgent::open(&args.agent.checkpoint, &printer)?;
    set_threads(args.num_threads.unwrap_or_else(|| agent.experiment.num_threads()))?;
    let progress_line = ProgressLine::of_activity(printer);
    let status = progress_line.status();
    let play = if args.mosaic { all_games } else { one_episode };
    let (video, outcome) = play(args, &agent, global, &status)?;
    status.show_activity(format!("writing {}", args.out.display()));
    file.write(&video).context(RuntimeFailure("the recording failed"))?;
    drop(progress_line);
    writeln!(out, "{outcome}, in {}", args.out.display())?;
    Ok(())
}

/// Writes a video of an episode of a game, of at most `max_steps` steps, in which the agent acts as in evaluations.
pub(crate) fn video(
    agent: &TrainedAgent,
    game: &str,
    path: &Path,
    max_steps: u64,
    global: &Global,
) -> Result<()> {
    let checkpoint = CheckpointArgs { checkpoint: agent.origin.clone(), best: false };
    let args = RecordArgs {
        agent: AgentArgs { checkpoint, greedy: agent.experiment.evaluation.greedy },
        game: Some(game.to_owned()),
        mosaic: false,
        out: path.to_owned(),
        seed: 0,
        emulation: EmulationArgs::default(),
        num_threads: None,
        max_steps,
        scale: None,
    };
    let file = VideoFile::new(path)?;
    file.write(&one_episode(&args, agent, global, &silent())?.0)
}

/// Plays an episode. Returns a GIF of it, and the outcome.
pub(crate) fn gif(args: &RecordArgs, agent: &TrainedAgent, global: &Global) -> Result<(Vec<u8>, String)> {
    let (video, outcome) = one_episode(args, agent, global, &silent())?;
    let mut gif = Vec::new();
    video::gif(&video, &mut gif)?;
    Ok((gif, outcome))
}

/// Returns the progress of a recording that is part of another activity.
fn silent() -> Status {
    ProgressLine::of_activity(Printer::Silent).status()
}

fn show_steps(status: &Status, steps: u64, args: &RecordArgs) {
    status.show_activity(format!("recording: {steps} of at most {} steps", args.max_steps));
}

/// Starts an episode of a game.
fn session(args: &RecordArgs, agent: &TrainedAgent, game: Games, global: &Global) -> Result<Session> {
    let overrides = CommandOverrides {
        games: Some(game),
        num_threads: args.num_threads,
        ..CommandOverrides::of_emulation(&args.emulation)
    };
    let builder = Builder::new(&agent.experiment, &overrides, global)?;
    show::session(&builder, agent, Audience::Spectator, args.agent.greedy, args.seed)
}

/// Plays an episode. Returns the video and the outcome.
fn one_episode(
    args: &RecordArgs,
    agent: &TrainedAgent,
    global: &Global,
    status: &Status,
) -> Result<(Video, String)> {
    let names = args.game.as_deref();
    ensure!(names.is_none_or(|names| !names.contains(',')), "--game names several games: add --mosaic");
    let advice = |game: &str| format!("add --game {game}, or --mosaic for all of them");
    let game = names.map_or_else(|| agent.only_game(advice), Ok)?;
    let mut session = session(args, agent, agent.shown_game(game)?, global)?;
    let description = session.description();
    // The pixels of the console are few.
    let scale = args.scale.unwrap_or(if description.aspect_ratio.is_some() { 2 } else { 1 });
    let mut video = Video::new(description.steps_per_second, scale);
    let mut steps = 0;
    while steps < args.max_steps && !session.is_over() {
        session.act()?;
        steps += 1;
        video.push(&session.screen()?, Some(Caption::of_step(&session)?))?;
        video.push_sound(session.sound());
        show_steps(status, steps, args);
    }
    Ok((video, format!("score {} after {steps} steps", score_digits(session.score()))))
}

/// Plays all games that the flags select beside each other. Returns the video and the outcome.
fn all_games(
    args: &RecordArgs,
    agent: &TrainedAgent,
    global: &Global,
    status: &Status,
) -> Result<(Video, String)> {
    let names: Vec<String> = args.game.iter().flat_map(|games| games.split(',')).map(str::to_owned).collect();
    let names = if names == [ALL] { Vec::new() } else { names };
    let games = agent.games(&names)?;
    let sessions =
        games.names().into_iter().map(|name| session(args, agent, agent.shown_game(name)?, global));
    let mut mosaic = Mosaic::new(sessions.collect::<Result<Vec<Session>>>()?)?;
    let mut video = Video::new(mosaic.steps_per_second(), args.scale.unwrap_or(1));
    for steps in 1..=args.max_steps {
        mosaic.act()?;
        video.push(&mosaic.picture()?, None)?;
        show_steps(status, steps, args);
    }
    Ok((video, format!("{} for {} steps", counted(games.names().len(), "game"), args.max_steps)))
}
