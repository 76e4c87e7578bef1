//! `ale-train record`: an episode of a trained agent as a film, the whole screen with score, action and value below.

mod film;
mod overlay;

use std::io::Write;

use ale::{ACTION_NAMES, AtariEnv};
use algorithms::EnvSpec;
use anyhow::{Context, Result, bail, ensure};
use rl_env::{Action, Batch, Env};

use crate::checkpoint;
use crate::cli::{Global, RecordArgs};
use crate::config::{self, Games};
use crate::environments::{Builder, Purpose};
use crate::failure::AtWork;
use crate::learner::{self, Player};

use film::{Film, FilmFile};
use overlay::Caption;

/// Frames of a television picture a second.
const FRAMES_PER_SECOND: u32 = 60;

/// Plays and writes the film.
pub(crate) fn run(args: &RecordArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    ensure!(args.max_steps >= 1, "--max-steps 0 is not possible: it must be 1 or more");
    ensure!((1..=16).contains(&args.scale), "--scale {} is not possible: it must be in 1..=16", args.scale);
    let file = FilmFile::new(&args.out)?;
    let folder = checkpoint::chosen(&args.checkpoint, args.best)?;
    let checkpoint = checkpoint::load(&folder)?;
    let unusable = || format!("the checkpoint {} cannot be used", folder.display());
    let mut experiment = config::from_toml(&checkpoint.config)?.resolve().with_context(unusable)?;
    experiment.games = one_game(&experiment.games, args.game.as_deref())?;
    experiment.set_threads()?;
    let builder = Builder::new(&experiment, global)?;
    let learner = learner::restore_to_play(&experiment, &checkpoint.learner).with_context(unusable)?;
    let spec = EnvSpec::of(builder.build(Purpose::Evaluation { num_envs: 1 })?.as_ref())?;
    let mut player = learner.player(&spec, args.greedy, args.seed)?;

    let frames_per_second = FRAMES_PER_SECOND as f64 / experiment.frames_per_step() as f64;
    let mut film = Film::new(frames_per_second, args.scale);
    let env = builder.atari_env(args.seed)?;
    let (score, steps) = play(env, player.as_mut(), args, &mut film)?;
    file.write(&film).context(AtWork { doing: "the recording failed" })?;
    writeln!(out, "score {score} after {steps} steps, in {}", args.out.display())?;
    Ok(())
}

/// The game that is played: the one that is asked for, or the only one.
pub(crate) fn one_game(games: &Games, wanted: Option<&str>) -> Result<Games> {
    let Games::Atari(trained) = games else {
        bail!("there is nothing to see: the agent was not trained on games with pictures");
    };
    let names = games.names();
    let wanted = match (wanted, names.as_slice()) {
        (Some(wanted), _) => wanted,
        (None, [only]) => *only,
        (None, _) => bail!("the agent plays {}; name one of them", names.join(", ")),
    };
    let game = trained
        .iter()
        .find(|game| game.id == wanted)
        .with_context(|| format!("the agent was not trained on '{wanted}'; it plays {}", names.join(", ")))?;
    Ok(Games::Atari(vec![game]))
}

/// One episode, or as much of it as was asked for. Returns the score and the steps.
fn play(
    mut env: AtariEnv,
    player: &mut dyn Player,
    args: &RecordArgs,
    film: &mut Film,
) -> Result<(f64, u64)> {
    let mut batch = Batch::new(1, env.observation_space().byte_len(), false);
    let mut score = 0.0;
    env.reset(Some(args.seed), batch.observations.row_mut(0));
    for step in 1..=args.max_steps {
        let choice = player.act(&batch)?;
        let code = env.action_codes()[choice[0] as usize];
        let outcome = env.step(Action::Discrete(&choice), batch.observations.row_mut(0))?;
        score += f64::from(outcome.raw_reward);
        let value = player.readings(&batch)?[0].value_digits();
        let caption = Caption { score, action: ACTION_NAMES[usize::from(code)], value };
        film.push(env.render(), caption);
        if outcome.ends_episode() {
            return Ok((score, step));
        }
    }
    Ok((score, args.max_steps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection;

    #[test]
    fn of_several_games_one_is_asked_for() {
        let several = Games::Atari(selection::games(["pong", "boxing"]).expect("games"));
        let message = |wanted| one_game(&several, wanted).err().map(|error| error.to_string());
        assert_eq!(message(None).as_deref(), Some("the agent plays pong, boxing; name one of them"));
        assert!(message(Some("qbert")).is_some_and(|message| message.contains("it plays pong, boxing")));
        assert_eq!(one_game(&several, Some("boxing")).expect("a game").names(), ["boxing"]);
    }
}
