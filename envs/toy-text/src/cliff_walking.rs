use crate::grid::{Direction, Grid};
use crate::{Outcome, Tabular};

const GRID: Grid = Grid { rows: 4, columns: 12 };
const START: usize = 36;
const CLIFF: std::ops::Range<usize> = 37..47;
const GOAL: usize = 47;
/// The directions of actions 0 to 3.
const ACTIONS: [Direction; 4] = [Direction::Up, Direction::Right, Direction::Down, Direction::Left];

/// Creates a walk along a cliff: Gymnasium's `CliffWalking-v1` and `CliffWalkingSlippery-v1`.
///
/// Observation: the cell of the 4 by 12 map, numbered row by row. Actions: up, right, down, left; if slippery, each
/// leads ahead, left or right with equal probability. A step costs 1; a step over the cliff costs 100 and returns to
/// the start. The episode terminates at the goal. Example 6.6 of Sutton and Barto's book.
pub fn cliff_walking(is_slippery: bool) -> Tabular {
    let start: Vec<f64> = (0..GRID.num_cells()).map(|cell| f64::from(cell == START)).collect();
    Tabular::new(&start, ACTIONS.len(), |cell, action| {
        let directions =
            if is_slippery { vec![(action + 3) % 4, action, (action + 1) % 4] } else { vec![action] };
        let probability = 1.0 / directions.len() as f64;
        directions.into_iter().map(|direction| outcome(cell, direction, probability)).collect()
    })
}

/// Returns the outcome of a step in a direction.
fn outcome(cell: usize, direction: usize, probability: f64) -> Outcome {
    match GRID.neighbour(cell, ACTIONS[direction]) {
        next if CLIFF.contains(&next) => {
            Outcome { probability, next: START, reward: -100.0, terminated: false }
        }
        next => Outcome { probability, next, reward: -1.0, terminated: next == GOAL },
    }
}
