//! Environments that are shown while an agent or a person acts in them, for `ale-train record`, `play` and `watch`.

mod atari;
pub(crate) mod bars;
mod console_actions;
pub(crate) mod picture;
mod players;
mod rendered;
mod session;

use ale::{Action, RgbImage};
use algorithms::VectorSpec;
use anyhow::{Context, Result, bail, ensure};
use rl_env::Actions;

use crate::agent::TrainedAgent;
use crate::config::Games;
use crate::environments::Builder;

use atari::ShownAtari;
use players::ShownPlayers;
use rendered::Rendered;

pub(crate) use session::Session;

/// Frames per second of the console.
const FRAMES_PER_SECOND: f64 = 60.0;
/// The aspect ratio of a television.
const TELEVISION: [usize; 2] = [4, 3];

/// The properties of a shown environment.
pub(crate) struct Description {
    pub(crate) title: String,
    /// The number of steps in a second at the usual speed.
    pub(crate) steps_per_second: f64,
    /// The ratio of the width and the height of a screen. If absent, pixels are squares.
    pub(crate) aspect_ratio: Option<[usize; 2]>,
    /// True if a person can play it.
    pub(crate) has_joystick: bool,
    /// The names of the agent's options, in the order of its readings; none for continuous actions.
    pub(crate) options: Vec<String>,
    /// The size of an observation in bytes.
    pub(crate) observation_bytes: usize,
}

/// The result of a step.
pub(crate) struct ShownStep {
    /// The unclipped reward.
    pub(crate) reward: f64,
    pub(crate) ends_episode: bool,
    /// The action as text.
    pub(crate) action: String,
    /// The indices of the [options](Description::options) that it consists of.
    pub(crate) chosen: Vec<usize>,
}

/// An environment with a screen, which only its caller resets.
pub(crate) trait ShownEnv {
    /// Starts an episode and writes its first observation.
    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) -> Result<()>;

    /// Takes a step with an action of the agent.
    fn step(&mut self, actions: Actions<'_>, observation: &mut [u8]) -> Result<ShownStep>;

    /// Takes a step with a position of the joystick.
    fn press(&mut self, _: Action, _: &mut [u8]) -> Result<ShownStep> {
        bail!("the environment has no joystick")
    }

    /// Returns the current screen.
    fn screen(&self) -> Result<RgbImage>;

    /// Returns the remaining lives; 0 in environments without lives.
    fn lives(&self) -> i32 {
        0
    }

    /// Returns the [sound](ale::AtariEnv::sound) of the last step; empty in environments without sound.
    fn sound(&self) -> &[u8] {
        &[]
    }
}

/// The person who watches an agent, and what they may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// They watch.
    Spectator,
    /// They can take over the joystick, if there is one.
    Player,
    /// They play against the agent.
    Opponent,
}

/// Starts an episode of the first game of `builder` with an agent.
pub(crate) fn session(
    builder: &Builder,
    trained: &TrainedAgent,
    audience: Audience,
    greedy: bool,
    seed: u64,
) -> Result<Session> {
    let name = builder.games().names()[0];
    let players = builder.games().flavour(name).map_or(1, |flavour| flavour.players);
    ensure!(
        players > 1 || audience != Audience::Opponent,
        "--versus is not possible: {name} is a game of one player; train an agent on a game such as pong@2p"
    );
    if players > 1 {
        return session_of_players(builder, trained, audience, greedy, seed);
    }
    let (player, spec) = trained.player(builder, greedy, seed)?;
    if !matches!(builder.games(), Games::Atari(_)) {
        let shown = Rendered::new(builder.build_shown(&spec)?, name);
        return Session::start(shown.description()?, Box::new(shown), Some(player), seed);
    }
    let env = builder.atari_env(seed)?;
    let codes = env.action_codes().to_vec();
    let env = if audience == Audience::Player { builder.playable_env(seed)? } else { env };
    let shown = ShownAtari::new(env, codes);
    let steps_per_second = FRAMES_PER_SECOND / trained.experiment.frames_per_step() as f64;
    Session::start(shown.description(steps_per_second), Box::new(shown), Some(player), seed)
}

/// Starts a game of several players, in which an agent plays all sides, or all except for that of a person.
fn session_of_players(
    builder: &Builder,
    trained: &TrainedAgent,
    audience: Audience,
    greedy: bool,
    seed: u64,
) -> Result<Session> {
    let env = builder.players_env(seed)?;
    let learner = trained.restore()?;
    let name = builder.games().names()[0];
    let task = learner.spec().tasks.iter().find(|task| task.name == name);
    let task = task.with_context(|| trained.unusable())?;
    let player = |sides: usize, seed: u64| {
        let (tasks, task_ids) = (vec![task.clone()], vec![0; sides]);
        learner.player(&VectorSpec { tasks, task_ids, ..learner.spec().clone() }, greedy, seed)
    };
    let codes = builder.action_codes(name).unwrap_or_default().to_vec();
    // Both have random numbers of their own.
    let opponent = player(env.players() - 1, seed.wrapping_add(1))?;
    let shown = ShownPlayers::new(env, codes, opponent, learner.spec().observation_space.byte_len());
    let steps_per_second = FRAMES_PER_SECOND / trained.experiment.frames_per_step() as f64;
    let description = shown.description(steps_per_second);
    let player = (audience != Audience::Opponent).then(|| player(1, seed)).transpose()?;
    Session::start(description, Box::new(shown), player, seed)
}

/// Starts an Atari game without an agent, with one frame per step.
pub(crate) fn session_without_agent(env: ale::AtariEnv, seed: u64) -> Result<Session> {
    let shown = ShownAtari::new(env, Vec::new());
    Session::start(shown.description(FRAMES_PER_SECOND), Box::new(shown), None, seed)
}

/// Returns a score as text: with two decimals, unless it is an integer.
pub(crate) fn score_digits(score: f64) -> String {
    if score.fract() == 0.0 { score.to_string() } else { format!("{score:.2}") }
}
