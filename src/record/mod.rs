//! `ale-train record`: a video of an episode of a trained agent, with score, action and value below the
//! screen.

mod caption;
mod video;

use std::io::Write;

use anyhow::{Context, Result};

use crate::agent::TrainedAgent;
use crate::cli::{Global, RecordArgs};
use crate::environments::{Builder, Overrides};
use crate::failure::RuntimeFailure;
use crate::show::{self, Audience, Session, score_digits};
use crate::telemetry::Printer;
use crate::threads::set_threads;

use caption::Caption;
use video::{Video, VideoFile};

/// Plays an episode and writes the video.
pub(crate) fn run(args: &RecordArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let file = VideoFile::new(&args.out)?;
    let agent = TrainedAgent::open(&args.agent.checkpoint, &Printer::new(global.quiet))?;
    let overrides = Overrides {
        games: Some(agent.game(args.game.as_deref())?),
        num_threads: args.num_threads,
        ..Overrides::default()
    };
    set_threads(args.num_threads.unwrap_or_else(|| agent.experiment.num_threads()))?;
    let builder = Builder::new(&agent.experiment, &overrides, global)?;
    let mut session = show::session(&builder, &agent, Audience::Spectator, args.agent.greedy, args.seed)?;
    let description = session.description();
    // The pixels of the console are few.
    let scale = args.scale.unwrap_or(if description.aspect_ratio.is_some() { 2 } else { 1 });
    let mut video = Video::new(description.steps_per_second, scale);
    let steps = play(&mut session, args.max_steps, &mut video)?;
    file.write(&video).context(RuntimeFailure("the recording failed"))?;
    let score = score_digits(session.score());
    writeln!(out, "score {score} after {steps} steps, in {}", args.out.display())?;
    Ok(())
}

/// Plays an episode of at most `max_steps` steps. Returns the number of steps.
fn play(session: &mut Session, max_steps: u64, video: &mut Video) -> Result<u64> {
    for step in 1..=max_steps {
        session.act()?;
        let reading = session.reading()?.context("the agent is missing")?;
        let caption = Caption {
            score: session.score(),
            action: session.action().to_owned(),
            value: reading.value_digits(),
        };
        video.push(session.screen()?, caption)?;
        if session.is_over() {
            return Ok(step);
        }
    }
    Ok(max_steps)
}
