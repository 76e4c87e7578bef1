use thiserror::Error;

use crate::grid::{Direction, Grid};
use crate::{Outcome, Tabular};

/// The default map.
pub const MAP_4X4: [&str; 4] = ["SFFF", "FHFH", "FFFH", "HFFG"];

/// The larger map, of `FrozenLake8x8-v1`.
pub const MAP_8X8: [&str; 8] =
    ["SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF", "FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG"];

/// The directions of actions 0 to 3.
const ACTIONS: [Direction; 4] = [Direction::Left, Direction::Down, Direction::Right, Direction::Up];

/// The arguments of Gymnasium's `FrozenLake-v1`, with its defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrozenLakeOptions<'a> {
    /// The rows of the map: `S` start, `F` ice, `H` hole, `G` goal.
    pub desc: &'a [&'a str],
    /// True if a move may slip sideways.
    pub is_slippery: bool,
    /// The probability of moving in the chosen direction on slippery ice.
    pub success_rate: f64,
    /// The rewards of entering the goal, a hole and ice.
    pub reward_schedule: [f64; 3],
}

impl Default for FrozenLakeOptions<'_> {
    fn default() -> Self {
        Self { desc: &MAP_4X4, is_slippery: true, success_rate: 1.0 / 3.0, reward_schedule: [1.0, 0.0, 0.0] }
    }
}

/// An error of [`frozen_lake`].
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FrozenLakeError {
    /// The map is empty or not rectangular.
    #[error("the map of a frozen lake must have at least one row, and rows of equal length")]
    NoRectangle,
    /// The map contains an unknown character.
    #[error("the map of a frozen lake contains {0:?}; allowed are S, F, H and G")]
    UnknownCell(char),
    /// The map has no start.
    #[error("the map of a frozen lake needs an S, the start")]
    NoStart,
    /// The success rate is not a probability.
    #[error("the success rate of a frozen lake is {0}, but must be between 0 and 1")]
    SuccessRate(f64),
}

/// Creates a frozen lake to be crossed without falling into a hole: Gymnasium's `FrozenLake-v1`.
///
/// Observation: the cell, numbered row by row. Actions: left, down, right, up. The episode terminates in a hole or at
/// the goal; by default only the goal is rewarded. On slippery ice a move that fails goes to either side with equal
/// probability.
pub fn frozen_lake(options: &FrozenLakeOptions<'_>) -> Result<Tabular, FrozenLakeError> {
    let columns = options.desc.first().map_or(0, |row| row.chars().count());
    if columns == 0 || options.desc.iter().any(|row| row.chars().count() != columns) {
        return Err(FrozenLakeError::NoRectangle);
    }
    let cells: Vec<char> = options.desc.iter().flat_map(|row| row.chars()).collect();
    if let Some(&unknown) = cells.iter().find(|cell| !"SFHG".contains(**cell)) {
        return Err(FrozenLakeError::UnknownCell(unknown));
    }
    if !(0.0..=1.0).contains(&options.success_rate) {
        return Err(FrozenLakeError::SuccessRate(options.success_rate));
    }
    let starts = cells.iter().filter(|&&cell| cell == 'S').count();
    if starts == 0 {
        return Err(FrozenLakeError::NoStart);
    }
    let start: Vec<f64> = cells.iter().map(|&cell| f64::from(cell == 'S') / starts as f64).collect();
    let grid = Grid { rows: options.desc.len(), columns };
    Ok(Tabular::new(&start, ACTIONS.len(), |cell, action| outcomes(options, &cells, grid, cell, action)))
}

fn outcomes(
    options: &FrozenLakeOptions<'_>,
    cells: &[char],
    grid: Grid,
    cell: usize,
    action: usize,
) -> Vec<Outcome> {
    if "GH".contains(cells[cell]) {
        return vec![Outcome { probability: 1.0, next: cell, reward: 0.0, terminated: true }];
    }
    let directions = if options.is_slippery {
        let fail_rate = (1.0 - options.success_rate) / 2.0;
        vec![((action + 3) % 4, fail_rate), (action, options.success_rate), ((action + 1) % 4, fail_rate)]
    } else {
        vec![(action, 1.0)]
    };
    let outcomes = directions.into_iter().map(|(direction, probability)| {
        let next = grid.neighbour(cell, ACTIONS[direction]);
        let (reward, terminated) = entered(cells[next], options.reward_schedule);
        Outcome { probability, next, reward, terminated }
    });
    outcomes.collect()
}

/// Returns the reward for a step onto a cell, and true if it ends the episode.
fn entered(cell: char, [goal, hole, ice]: [f64; 3]) -> (f64, bool) {
    match cell {
        'G' => (goal, true),
        'H' => (hole, true),
        _ => (ice, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_invalid_lakes() {
        let refused = |options: FrozenLakeOptions<'_>| frozen_lake(&options).err().unwrap().to_string();
        let lake = |desc| refused(FrozenLakeOptions { desc, ..FrozenLakeOptions::default() });
        assert!(lake(&[]).contains("at least one row"));
        assert!(lake(&["SF", "G"]).contains("equal length"));
        assert!(lake(&["SX"]).contains("contains 'X'"));
        assert!(lake(&["FG"]).contains("needs an S"));
        let rate = FrozenLakeOptions { success_rate: 1.5, ..FrozenLakeOptions::default() };
        assert!(refused(rate).contains("is 1.5, but"));
    }
}
