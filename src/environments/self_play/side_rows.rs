//! The rows of single sides.

use rl_env::Batch;

use super::super::joined::copy_results;

/// The last channel of the observations of the last player; it is 0 for the first one.
const LAST_PLAYER: usize = 255;

/// Copies row `side` of games of `players` players to a row of another batch. If its observations are longer, they have
/// a further channel, which tells the players apart.
pub(crate) fn copy_side(games: &Batch, side: usize, players: usize, to: &mut Batch, row: usize) {
    let channel = (side % players * LAST_PLAYER / (players - 1)) as u8;
    copy_results(games, side, to, row);
    copy_with_channel(games.observations.row(side), to.observations.row_mut(row), channel);
    if to.final_observations.rows() > 0 {
        copy_with_channel(games.final_observations.row(side), to.final_observations.row_mut(row), channel);
    }
}

/// Copies an observation and fills the channel after it, if there is one.
fn copy_with_channel(from: &[u8], to: &mut [u8], channel: u8) {
    let (copied, filled) = to.split_at_mut(from.len());
    copied.copy_from_slice(from);
    filled.fill(channel);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_channel_tells_the_players_apart() {
        let mut games = Batch::new(4, 2, false);
        for row in 0..4 {
            games.observations.row_mut(row).copy_from_slice(&[row as u8, 7]);
            games.rewards[row] = row as f32;
        }
        let (mut long, mut short) = (Batch::new(1, 3, false), Batch::new(1, 2, false));
        for (side, channel) in [(0, 0), (1, 85), (2, 170), (3, 255)] {
            copy_side(&games, side, 4, &mut long, 0);
            copy_side(&games, side, 4, &mut short, 0);
            assert_eq!(long.observations.row(0), [side as u8, 7, channel]);
            assert_eq!((short.observations.row(0), short.rewards[0]), (&[side as u8, 7][..], side as f32));
        }
    }
}
