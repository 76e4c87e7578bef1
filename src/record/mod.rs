//! `ale-train record`: a video of an episode of a trained agent, with score, action and value below the screen.

mod caption;
mod video;

use std::io::Write;

use ale::{ACTION_NAMES, AtariEnv};
use anyhow::{Context, Result};
use rl_env::{Action, Batch, Env};

use crate::agent::TrainedAgent;
use crate::cli::{Global, RecordArgs};
use crate::config::Games;
use crate::environments::{Builder, Overrides};
use crate::failure::RuntimeFailure;
use crate::learner::Player;
use crate::telemetry::Printer;
use crate::threads::set_threads;

use caption::Caption;
use video::{Video, VideoFile};

/// Frames per second of the console.
const FRAMES_PER_SECOND: u32 = 60;

/// Plays an episode and writes the video.
pub(crate) fn run(args: &RecordArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let file = VideoFile::new(&args.out)?;
    let agent = TrainedAgent::open(&args.agent.checkpoint, &Printer::new(global.quiet))?;
    let game = agent.game(args.game.as_deref())?;
    let overrides = Overrides {
        games: Some(Games::Atari(vec![game])),
        num_threads: args.num_threads,
        ..Overrides::default()
    };
    set_threads(args.num_threads.unwrap_or_else(|| agent.experiment.num_threads()))?;
    let builder = Builder::new(&agent.experiment, &overrides, global)?;
    let mut player = agent.player(&builder, args.agent.greedy, args.seed)?;

    let frames_per_second = FRAMES_PER_SECOND as f64 / agent.experiment.frames_per_step() as f64;
    let mut video = Video::new(frames_per_second, args.scale);
    let env = builder.atari_env(args.seed)?;
    let (score, steps) = play(env, player.as_mut(), args, &mut video)?;
    file.write(&video).context(RuntimeFailure("the recording failed"))?;
    writeln!(out, "score {score} after {steps} steps, in {}", args.out.display())?;
    Ok(())
}

/// Plays an episode of at most `max_steps` steps. Returns the score and the number of steps.
fn play(
    mut env: AtariEnv,
    player: &mut dyn Player,
    args: &RecordArgs,
    video: &mut Video,
) -> Result<(f64, u64)> {
    let mut batch = Batch::new(1, env.observation_space().byte_len(), false);
    let mut score = 0.0;
    env.reset(Some(args.seed), batch.observations.row_mut(0));
    for step in 1..=args.max_steps {
        let actions = player.act(&batch)?;
        let choice = actions.discrete().context("the agent has continuous actions")?;
        let code = env.action_codes()[choice[0] as usize];
        let outcome = env.step(Action::Discrete(choice), batch.observations.row_mut(0))?;
        score += f64::from(outcome.raw_reward);
        let value = player.readings(&batch)?[0].value_digits();
        let caption = Caption { score, action: ACTION_NAMES[usize::from(code)], value };
        video.push(env.render(), caption);
        if outcome.ends_episode() {
            return Ok((score, step));
        }
    }
    Ok((score, args.max_steps))
}
