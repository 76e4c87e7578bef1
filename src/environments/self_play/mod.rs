//! Games of several players, in which the agent plays against itself and against opponents.
//!
//! * `sides` divides the sides of the games among the agent and its opponents, and `side_rows` copies their rows.
//! * `opponents` plays the sides of the opponents: earlier `versions` of the agent, made as `agents` describes.

mod agents;
mod opponents;
mod side_rows;
mod sides;
mod versions;

use ale::RgbImage;
use algorithms::VectorSpec;
use anyhow::Result;
use rl_env::{Actions, AutoresetMode, Batch, EnvError, ResetSeeds, Space, VectorEnv, VectorError, snapshot};
use vector::{AtariGroup, AtariPlayersVectorEnv, PoolOptions};

use super::Environments;
use crate::config::SelfPlaySettings;
use opponents::{OpposedGame, Training};
use sides::Sides;
use versions::Networks;

pub(super) use agents::AgentSettings;
pub(crate) use opponents::Opponents;
pub(crate) use side_rows::copy_side;

/// Environments of games of several players. Each is a side that the agent plays.
///
/// Observations have a further channel, which is constant and tells the players apart, as the agent indicator of
/// `SuperSuit` does.
pub(super) struct SelfPlay {
    games: AtariPlayersVectorEnv,
    sides: Sides,
    opponents: Opponents,
    observation_space: Space,
    action_spaces: Vec<Space>,
    task_ids: Vec<usize>,
    /// The last batch of the agent's sides.
    batch: Batch,
    /// The last observations of the opponents' sides.
    opposing: Batch,
}

impl SelfPlay {
    /// Creates the environments of all groups, whose numbers of environments are those of the agent. In `past_share` of
    /// them, it plays against opponents: random players, until it is [trained](Self::train_against_versions).
    pub(super) fn new(
        mut groups: Vec<AtariGroup>,
        players: usize,
        past_share: f64,
        pool: PoolOptions,
    ) -> Result<Self> {
        let num_envs: Vec<usize> = groups.iter().map(|group| group.num_envs).collect();
        let sides = Sides::new(&num_envs, players, past_share);
        for (group, games) in groups.iter_mut().zip(&sides.games_of_tasks) {
            group.num_envs = games.len();
        }
        let games = AtariPlayersVectorEnv::of_groups(groups, players, pool)?;
        let observation_space = with_channel(games.single_observation_space());
        let new_batch = |sides: &[usize]| {
            let has_final = games.autoreset_mode() == AutoresetMode::SameStep;
            Batch::new(sides.len(), observation_space.byte_len(), has_final)
        };
        Ok(Self {
            batch: new_batch(&sides.of_agent),
            opposing: new_batch(&sides.of_opponents),
            opponents: Opponents::new(opposed_games(&sides, games.action_spaces()), games.tasks()),
            action_spaces: sides.of_agent.iter().map(|&side| games.action_spaces()[side].clone()).collect(),
            task_ids: sides.of_agent.iter().map(|&side| games.task_ids()[side]).collect(),
            observation_space,
            games,
            sides,
        })
    }

    /// Lets earlier versions of the agent, whose environments are like those of `spec`, be the opponents.
    pub(super) fn train_against_versions(
        &mut self,
        settings: SelfPlaySettings,
        agents: AgentSettings,
        spec: &VectorSpec,
    ) {
        let of_opponents = self.sides.of_opponents.iter().map(|&side| self.games.task_ids()[side]);
        // A specification has an environment of each task.
        let task_ids = of_opponents.chain(0..spec.tasks.len()).collect();
        let networks = Networks { agents, spec: VectorSpec { task_ids, ..spec.clone() } };
        self.opponents.train(Training { settings, networks });
    }

    /// Copies the last batch of the games.
    fn receive(&mut self) -> &Batch {
        let games = self.games.batch();
        for (sides, batch) in
            [(&self.sides.of_agent, &mut self.batch), (&self.sides.of_opponents, &mut self.opposing)]
        {
            for (row, &side) in sides.iter().enumerate() {
                copy_side(games, side, self.sides.players, batch, row);
            }
        }
        &self.batch
    }

    /// Counts the games with opponents that have ended.
    fn count_results(&mut self) {
        let episodes = &self.games.batch().episodes;
        for &side in &self.sides.of_agent {
            let (game, _) = self.sides.game_and_player(side);
            let Some(opposed) = self.opponents.opposed(game) else { continue };
            let Some(own) = episodes[side] else { continue };
            let all = game * self.sides.players..(game + 1) * self.sides.players;
            let others = all.filter(|&other| other != side).filter_map(|other| episodes[other]);
            let best = others.map(|episode| episode.total_reward).fold(f64::NEG_INFINITY, f64::max);
            self.opponents.end_game(opposed, result(own.total_reward, best));
        }
    }

    fn check_env(&self, env: usize) -> Result<usize, VectorError> {
        let num_envs = self.num_envs();
        let side = self.sides.of_agent.get(env).copied();
        side.ok_or(VectorError::UnknownEnv { env, num_envs })
    }
}

/// Returns the result of a game for a player: 1 for a win, 0.5 for a draw, 0 for a loss.
fn result(own: f64, other: f64) -> f64 {
    0.5 * (1.0 + f64::from(i8::from(own > other) - i8::from(own < other)))
}

/// Returns the space of observations with one more channel.
fn with_channel(space: &Space) -> Space {
    let mut shape = space.shape().expect("pictures have a shape");
    shape[0] += 1;
    Space::bytes(shape)
}

/// Returns the games in which opponents play.
fn opposed_games(sides: &Sides, action_spaces: &[Space]) -> Vec<OpposedGame> {
    let mut games: Vec<OpposedGame> = Vec::new();
    for (row, &side) in sides.of_opponents.iter().enumerate() {
        let (index, _) = sides.game_and_player(side);
        match games.last_mut().filter(|last| last.index == index) {
            Some(last) => last.rows.end = row + 1,
            None => games.push(OpposedGame {
                index,
                task: sides.task_of(index),
                rows: row..row + 1,
                num_actions: num_actions(&action_spaces[side]),
            }),
        }
    }
    games
}

fn num_actions(space: &Space) -> usize {
    match *space {
        Space::Discrete { n, .. } => n,
        _ => 0,
    }
}

impl VectorEnv for SelfPlay {
    fn num_envs(&self) -> usize {
        self.sides.of_agent.len()
    }

    fn batch_size(&self) -> usize {
        self.sides.of_agent.len()
    }

    fn single_observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_spaces(&self) -> &[Space] {
        &self.action_spaces
    }

    fn tasks(&self) -> &[String] {
        self.games.tasks()
    }

    fn task_ids(&self) -> &[usize] {
        &self.task_ids
    }

    fn autoreset_mode(&self) -> AutoresetMode {
        self.games.autoreset_mode()
    }

    /// Resets every game with the seed of its first environment.
    fn reset(&mut self, seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        let mut seeds_of_games = vec![None; self.games.num_shared()];
        for (env, &side) in self.sides.of_agent.iter().enumerate().rev() {
            let (game, _) = self.sides.game_and_player(side);
            seeds_of_games[game] = seeds.of(env);
        }
        self.games.reset(ResetSeeds::Each(&seeds_of_games))?;
        if let Some(seed) = seeds_of_games[0] {
            self.opponents.seed(seed);
        }
        self.opponents.begin_games();
        Ok(self.receive())
    }

    fn send(&mut self, actions: Actions<'_>) -> Result<(), VectorError> {
        VectorError::check_len("action values", actions.num_elements(), self.num_envs())?;
        let chosen = actions.discrete().ok_or(VectorError::OutOfOrder("games need discrete actions"))?;
        let replies = self.opponents.act(&self.opposing).map_err(|error| {
            let error = EnvError::Failed(format!("its opponent failed: {error:#}"));
            VectorError::Env { env: 0, error }
        })?;
        let mut actions = vec![0; self.games.num_envs()];
        for (sides, chosen) in [(&self.sides.of_agent, chosen), (&self.sides.of_opponents, &replies)] {
            for (&side, &action) in sides.iter().zip(chosen) {
                actions[side] = action;
            }
        }
        self.games.send(Actions::Discrete(&actions))
    }

    fn recv(&mut self) -> Result<&Batch, VectorError> {
        self.games.recv()?;
        self.count_results();
        Ok(self.receive())
    }

    fn batch(&self) -> &Batch {
        &self.batch
    }

    fn snapshot(&self) -> Result<Vec<u8>, VectorError> {
        Ok(snapshot::encode(&(self.games.snapshot()?, self.opponents.state())))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<&Batch, VectorError> {
        let (games, opponents): (Vec<u8>, opponents::State) = snapshot::decode_vector_state(snapshot)?;
        let opponents = self.opponents.restored(opponents);
        let opponents = opponents.map_err(|error| VectorError::BadSnapshot(format!("{error:#}")))?;
        self.games.restore(&games)?;
        self.opponents.continue_from(opponents);
        Ok(self.receive())
    }
}

impl Environments for SelfPlay {
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        if env_ids.iter().copied().eq(0..self.num_envs()) {
            return self.send(actions);
        }
        Err(VectorError::OutOfOrder("the sides of all games are stepped together"))
    }

    fn screen(&self, env: usize) -> Result<Option<RgbImage>, VectorError> {
        let (game, _) = self.sides.game_and_player(self.check_env(env)?);
        self.games.render(game).map(Some)
    }

    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        let (game, _) = self.sides.game_and_player(self.check_env(env)?);
        self.games.limit_steps(game, steps)
    }

    fn opponents(&mut self) -> Option<&mut Opponents> {
        Some(&mut self.opponents)
    }
}
