//! The rows of the players, made of the batch of the environments that they share.

use std::mem;

use rl_env::{Batch, EpisodeStats, ObservationBuffer, Step, VectorError};

use super::AtariPlayersVectorEnv;
use super::shared_env::SharedInfo;

impl AtariPlayersVectorEnv {
    /// Makes the last batch of the shared environments the last batch, with a row for each player.
    pub(super) fn fill_batch(&mut self) -> Result<&Batch, VectorError> {
        self.take_shared_observations()?;
        let shared = self.shared.batch();
        let infos = self.shared.infos().iter().zip(self.shared.final_infos());
        for (source, (info, final_info)) in infos.enumerate() {
            for player in 0..self.players {
                let row = source * self.players + player;
                fill_row(&mut self.batch, row, shared, source, player, self.players, final_info);
                self.infos[row] = info.infos[player];
                self.final_infos[row] = final_info.infos[player];
            }
        }
        Ok(&self.batch)
    }

    /// Exchanges the memory of the observations instead of copying them. Final observations, which are rare, are
    /// copied.
    fn take_shared_observations(&mut self) -> Result<(), VectorError> {
        let (rows, row_bytes) = (self.batch.len(), self.observation_space.byte_len());
        let shared = &self.shared.batch().observations;
        let (shared_rows, shared_bytes) = (shared.rows(), shared.row_bytes());
        let last = mem::replace(&mut self.batch.observations, ObservationBuffer::new(0, 0));
        let observations = self.shared.take_observations(last.with_rows(shared_rows, shared_bytes))?;
        self.batch.observations = observations.with_rows(rows, row_bytes);
        let stride = self.batch.observations.stride();
        let finals = self.batch.final_observations.rows_mut().enumerate();
        for (row, observation) in finals {
            let shared = self.shared.batch().final_observations.row(row / self.players);
            observation.copy_from_slice(&shared[row % self.players * stride..][..row_bytes]);
        }
        Ok(())
    }
}

/// Fills a row of a player from a row of the shared environments.
fn fill_row(
    batch: &mut Batch,
    row: usize,
    shared: &Batch,
    source: usize,
    player: usize,
    players: usize,
    info: &SharedInfo,
) {
    let is_transition = shared.steps[source] > 0;
    let step = if is_transition { info.played.steps[player] } else { Step::default() };
    batch.env_ids[row] = shared.env_ids[source] * players + player;
    batch.rewards[row] = step.reward;
    batch.raw_rewards[row] = step.raw_reward;
    batch.terminated[row] = step.terminated;
    batch.truncated[row] = step.truncated;
    batch.continues[row] = step.continues;
    batch.steps[row] = shared.steps[source];
    batch.autoreset[row] = shared.autoreset[source];
    let total_reward = info.played.rewards[player];
    batch.episodes[row] = shared.episodes[source].map(|episode| EpisodeStats { total_reward, ..episode });
    batch.episode_seconds[row] = shared.episode_seconds[source];
}
