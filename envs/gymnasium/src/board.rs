//! The commands, actions and results of all environments in shared memory.

use rl_env::{Actions, ObservationBuffer};

use crate::memory::{SharedMemory, bytes_of};

/// The bytes of a command: its kind, the row of the observation, and a seed.
const COMMAND_BYTES: usize = 24;

/// The bytes of a result: the reward, and the return, the seconds and the length of the episode, and flags.
const RESULT_BYTES: usize = 40;

/// The bytes of a component of an action.
const COMPONENT_BYTES: usize = 4;

/// Flags of a result.
const TERMINATED: u64 = 1;
const TRUNCATED: u64 = 2;
const AUTORESET: u64 = 4;
const ENDED: u64 = 8;
const OVER: u64 = 16;
const STEPPED: u64 = 32;

/// A command to an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Performs the action, or resets if the autoreset mode requires it.
    Step,
    /// Starts a new episode, with a seed or with the random number generator continuing.
    Reset(Option<u64>),
    /// Reports the current state again.
    Report,
    /// Reports the current state of an environment that has used up its steps.
    Idle,
    /// Continues the state that was loaded, and reports its last result again.
    Restore,
}

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) reward: f64,
    /// The return of the episode that ended.
    pub(crate) total: f64,
    /// The duration of the episode that ended.
    pub(crate) seconds: f64,
    /// The number of steps in the episode that ended, or in the current one.
    pub(crate) length: u64,
    pub(crate) terminated: bool,
    pub(crate) truncated: bool,
    /// True if the row is not a transition.
    pub(crate) autoreset: bool,
    /// True if an episode ended.
    pub(crate) ended: bool,
    /// True if the episode is over, so that a reset has to precede the next step.
    pub(crate) is_over: bool,
    /// True if an action was performed.
    pub(crate) stepped: bool,
}

/// The commands, actions and results of all environments.
pub(crate) struct Board {
    commands: ObservationBuffer,
    actions: ObservationBuffer,
    results: ObservationBuffer,
    pub(crate) offsets: BoardOffsets,
}

/// The places of a board in shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoardOffsets {
    pub(crate) commands: usize,
    pub(crate) actions: usize,
    /// The distance between the actions of two environments.
    pub(crate) action_stride: usize,
    pub(crate) results: usize,
}

impl Board {
    /// Returns the number of bytes for environments whose actions have up to `action_len` components.
    pub(crate) fn size(num_envs: usize, action_len: usize) -> usize {
        let rows = [COMMAND_BYTES, action_len * COMPONENT_BYTES, RESULT_BYTES];
        rows.iter().map(|&row| bytes_of(num_envs, row)).sum()
    }

    pub(crate) fn new(memory: &mut SharedMemory, num_envs: usize, action_len: usize) -> Self {
        let (commands, command_rows) = memory.take_rows(num_envs, COMMAND_BYTES);
        let (actions, action_rows) = memory.take_rows(num_envs, action_len * COMPONENT_BYTES);
        let (results, result_rows) = memory.take_rows(num_envs, RESULT_BYTES);
        let offsets = BoardOffsets { commands, actions, action_stride: action_rows.stride(), results };
        Self { commands: command_rows, actions: action_rows, results: result_rows, offsets }
    }

    /// Writes a command. The observation goes to `row`.
    pub(crate) fn command(&mut self, env: usize, command: Command, row: usize) {
        let (kind, seed) = match command {
            Command::Step => (0, 0),
            Command::Reset(None) => (1, 0),
            Command::Reset(Some(seed)) => (2, seed),
            Command::Report => (3, 0),
            Command::Idle => (4, 0),
            Command::Restore => (5, 0),
        };
        let words: &mut [u64] = bytemuck::cast_slice_mut(self.commands.row_mut(env));
        words.copy_from_slice(&[kind, row as u64, seed]);
    }

    /// Writes the action of an environment.
    pub(crate) fn act(&mut self, env: usize, action: Actions<'_>) {
        let bytes: &[u8] = match action {
            Actions::Discrete(values) => bytemuck::cast_slice(values),
            Actions::Continuous(values) => bytemuck::cast_slice(values),
        };
        self.actions.row_mut(env)[..bytes.len()].copy_from_slice(bytes);
    }

    /// Returns the result of an environment.
    pub(crate) fn outcome(&self, env: usize) -> Outcome {
        let words: &[u64] = bytemuck::cast_slice(self.results.row(env));
        let has = |flag: u64| words[4] & flag != 0;
        Outcome {
            reward: f64::from_bits(words[0]),
            total: f64::from_bits(words[1]),
            seconds: f64::from_bits(words[2]),
            length: words[3],
            terminated: has(TERMINATED),
            truncated: has(TRUNCATED),
            autoreset: has(AUTORESET),
            ended: has(ENDED),
            is_over: has(OVER),
            stepped: has(STEPPED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_actions_and_results_have_their_own_rows() {
        let mut memory = SharedMemory::new(Board::size(3, 3)).unwrap();
        let mut board = Board::new(&mut memory, 3, 3);
        assert_eq!(board.offsets.action_stride, 16);
        for env in 0..3 {
            board.command(env, Command::Reset(Some(u64::MAX)), 10 + env);
            board.act(env, Actions::Discrete(&[env as i32; 3]));
        }
        board.act(1, Actions::Continuous(&[0.5]));
        let words: &[u64] = bytemuck::cast_slice(board.commands.row(2));
        assert_eq!(words, [2, 12, u64::MAX]);
        let action: &[i32] = bytemuck::cast_slice(board.actions.row(1));
        assert_eq!(action, [0.5_f32.to_bits().cast_signed(), 1, 1]);
        let words: &mut [u64] = bytemuck::cast_slice_mut(board.results.row_mut(1));
        words.copy_from_slice(&[1.5_f64.to_bits(), 0, 0, 9, TRUNCATED | ENDED]);
        let outcome = board.outcome(1);
        assert_eq!((outcome.reward, outcome.length), (1.5, 9));
        let flags = [outcome.terminated, outcome.truncated, outcome.autoreset, outcome.ended];
        assert_eq!(flags, [false, true, false, true]);
    }
}
