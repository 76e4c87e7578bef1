//! A game of several players as one environment of a pool.

use ale::{AtariInfo, AtariPlayersEnv, MAX_PLAYERS};
use rl_env::{Action, Env, EnvError, Space, Step, snapshot};
use serde::{Deserialize, Serialize};

/// An environment whose action is that of all its players, and whose observation has a row for each of them.
pub(super) struct SharedEnv {
    pub(super) env: AtariPlayersEnv,
    observation_space: Space,
    action_space: Space,
    /// The sums of the raw rewards in the current episode.
    rewards: [f64; MAX_PLAYERS],
    played: Played,
}

/// The results of the last step, which a reset does not change.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Played {
    pub(super) steps: [Step; MAX_PLAYERS],
    /// The sums of the raw rewards in the episode of the step.
    pub(super) rewards: [f64; MAX_PLAYERS],
}

/// The info of all players.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SharedInfo {
    pub(super) infos: [AtariInfo; MAX_PLAYERS],
    pub(super) played: Played,
}

impl SharedEnv {
    pub(super) fn new(env: AtariPlayersEnv) -> Self {
        // Each row starts at a multiple of eight bytes, as in a batch with a row for each player.
        let row = env.observation_space().byte_len().next_multiple_of(size_of::<u64>());
        Self {
            observation_space: Space::bytes([env.players(), row]),
            action_space: Space::multi_discrete(vec![env.action_codes().len(); env.players()]),
            env,
            rewards: [0.0; MAX_PLAYERS],
            played: Played::default(),
        }
    }
}

impl Env for SharedEnv {
    type Info = SharedInfo;

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observations: &mut [u8]) {
        self.rewards = [0.0; MAX_PLAYERS];
        self.env.reset(seed, observations);
    }

    fn step(&mut self, action: Action<'_>, observations: &mut [u8]) -> Result<Step, EnvError> {
        let step = self.advance(action, observations)?;
        self.observe(observations);
        Ok(step)
    }

    /// Returns a step without a reward that ends when the game ends for all players.
    fn advance(&mut self, action: Action<'_>, _: &mut [u8]) -> Result<Step, EnvError> {
        let steps = self.env.advance(action.to_indices(&self.action_space)?)?;
        for (sum, step) in self.rewards.iter_mut().zip(&steps) {
            *sum += f64::from(step.raw_reward);
        }
        self.played = Played { steps, rewards: self.rewards };
        let ends = steps.iter().any(Step::ends_episode);
        let truncated = ends && steps.iter().any(|step| step.truncated);
        Ok(Step { terminated: ends && !truncated, truncated, ..Step::default() })
    }

    fn info(&self) -> SharedInfo {
        let infos = std::array::from_fn(|player| self.env.info(player).unwrap_or_default());
        SharedInfo { infos, played: self.played }
    }

    fn observe(&self, observations: &mut [u8]) {
        self.env.observe(observations);
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&(self.rewards, self.played, self.env.snapshot()))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let (rewards, played, env): (_, _, Vec<u8>) = snapshot::decode(snapshot)?;
        self.env.restore(&env)?;
        (self.rewards, self.played) = (rewards, played);
        Ok(())
    }
}
