//! Who plays which side of each game.

use std::ops::Range;

/// The sides of some games, numbered as the rows of [`AtariPlayersVectorEnv`](vector::AtariPlayersVectorEnv): game by
/// game, then player by player.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) players: usize,
    /// The side of each of the agent's environments.
    pub(super) of_agent: Vec<usize>,
    /// The sides of the opponents.
    pub(super) of_opponents: Vec<usize>,
    /// The games of each task.
    pub(super) games_of_tasks: Vec<Range<usize>>,
}

impl Sides {
    /// Divides the sides of games of `players` players. The agent has `num_envs` environments of each task. In
    /// `past_share` of them it plays against opponents, as each of the players in turn; it plays all sides of the other
    /// games.
    pub(super) fn new(num_envs: &[usize], players: usize, past_share: f64) -> Self {
        let mut sides =
            Self { players, of_agent: Vec::new(), of_opponents: Vec::new(), games_of_tasks: Vec::new() };
        let mut game = 0;
        for &num_envs in num_envs {
            let first = game;
            let wanted = (past_share * num_envs as f64).round() as usize;
            let against_itself = (num_envs - wanted.min(num_envs)) / players;
            let against_others = num_envs - against_itself * players;
            sides.of_agent.extend(game * players..(game + against_itself) * players);
            game += against_itself;
            for index in 0..against_others {
                let (agent, all) = (index % players, game * players..(game + 1) * players);
                sides.of_agent.push(all.start + agent);
                sides.of_opponents.extend(all.clone().filter(|side| *side != all.start + agent));
                game += 1;
            }
            sides.games_of_tasks.push(first..game);
        }
        sides
    }

    /// Returns the game and the player of a side.
    pub(super) fn game_and_player(&self, side: usize) -> (usize, usize) {
        (side / self.players, side % self.players)
    }

    /// Returns the task of a game.
    pub(super) fn task_of(&self, game: usize) -> usize {
        self.games_of_tasks.iter().position(|games| games.contains(&game)).expect("every game has a task")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_plays_all_sides_of_a_game_or_one_of_them() {
        let sides = Sides::new(&[6, 1], 2, 0.25);
        // Two games against itself, then two against others, first as player 0, then as player 1; one of the last task.
        assert_eq!(sides.of_agent, [0, 1, 2, 3, 4, 7, 8]);
        assert_eq!(sides.of_opponents, [5, 6, 9]);
        assert_eq!(sides.games_of_tasks, [0..4, 4..5]);
        assert_eq!((sides.task_of(3), sides.task_of(4)), (0, 1));
        assert_eq!(sides.game_and_player(7), (3, 1));
    }

    #[test]
    fn every_environment_of_the_agent_is_one_side() {
        for players in [2, 4] {
            for num_envs in 1..20 {
                for past_share in [0.0, 0.1, 0.5, 1.0] {
                    let sides = Sides::new(&[num_envs], players, past_share);
                    assert_eq!(sides.of_agent.len(), num_envs);
                    let mut all = [&sides.of_agent[..], &sides.of_opponents].concat();
                    all.sort_unstable();
                    assert_eq!(all, (0..sides.games_of_tasks[0].len() * players).collect::<Vec<_>>());
                }
            }
        }
    }
}
