//! The commands, actions and results of all environments in shared memory. `worker.py` has the same constants.

use rl_env::{Actions, ObservationBuffer};

use crate::memory::{SharedMemory, bytes_of};

/// The words of a command: its kind, the row of the observation, and a seed.
const COMMAND_WORDS: usize = 3;
const COMMAND_BYTES: usize = COMMAND_WORDS * size_of::<u64>();

/// The words of a result: the reward, then the return, the seconds and the length of the episode, and flags.
const RESULT_WORDS: usize = 5;
const RESULT_BYTES: usize = RESULT_WORDS * size_of::<u64>();

/// The bytes of a component of an action, `i32` or `f32`.
const COMPONENT_BYTES: usize = 4;

/// Kinds of commands.
const STEP: u64 = 0;
const RESET: u64 = 1;
const RESET_WITH_SEED: u64 = 2;
const REPORT: u64 = 3;
const IDLE: u64 = 4;
const RESTORE: u64 = 5;

/// Flags of a result.
const TERMINATED: u64 = 1 << 0;
const TRUNCATED: u64 = 1 << 1;
const AUTORESET: u64 = 1 << 2;
const ENDED: u64 = 1 << 3;
const OVER: u64 = 1 << 4;
const STEPPED: u64 = 1 << 5;

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
    pub(crate) episode_return: f64,
    /// The duration of the episode that ended.
    pub(crate) episode_seconds: f64,
    /// The number of steps in the episode that ended, or in the current one.
    pub(crate) episode_length: u64,
    pub(crate) terminated: bool,
    pub(crate) truncated: bool,
    /// True if the row is not a transition.
    pub(crate) autoreset: bool,
    /// True if an episode ended with this row.
    pub(crate) episode_ended: bool,
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

/// The offsets in bytes of the parts of a board in shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoardOffsets {
    pub(crate) commands: usize,
    pub(crate) actions: usize,
    /// The bytes from the action of an environment to that of the next one.
    pub(crate) action_stride: usize,
    pub(crate) results: usize,
}

impl Board {
    /// Returns the number of bytes for environments whose actions have up to `action_len` components.
    pub(crate) fn size(num_envs: usize, action_len: usize) -> usize {
        let rows = [COMMAND_BYTES, action_len * COMPONENT_BYTES, RESULT_BYTES];
        rows.iter().map(|&row| bytes_of(num_envs, row)).sum()
    }

    /// Creates the board at the current end of the shared memory.
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
            Command::Step => (STEP, 0),
            Command::Reset(None) => (RESET, 0),
            Command::Reset(Some(seed)) => (RESET_WITH_SEED, seed),
            Command::Report => (REPORT, 0),
            Command::Idle => (IDLE, 0),
            Command::Restore => (RESTORE, 0),
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
        let &[reward, episode_return, episode_seconds, episode_length, flags] =
            bytemuck::from_bytes::<[u64; RESULT_WORDS]>(self.results.row(env));
        let has = |flag: u64| flags & flag != 0;
        Outcome {
            reward: f64::from_bits(reward),
            episode_return: f64::from_bits(episode_return),
            episode_seconds: f64::from_bits(episode_seconds),
            episode_length,
            terminated: has(TERMINATED),
            truncated: has(TRUNCATED),
            autoreset: has(AUTORESET),
            episode_ended: has(ENDED),
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
        assert_eq!(words, [RESET_WITH_SEED, 12, u64::MAX]);
        let action: &[i32] = bytemuck::cast_slice(board.actions.row(1));
        assert_eq!(action, [0.5_f32.to_bits().cast_signed(), 1, 1]);
        let words: &mut [u64] = bytemuck::cast_slice_mut(board.results.row_mut(1));
        words.copy_from_slice(&[1.5_f64.to_bits(), 0, 0, 9, TRUNCATED | ENDED]);
        let outcome = board.outcome(1);
        assert_eq!((outcome.reward, outcome.episode_length), (1.5, 9));
        let flags = [outcome.terminated, outcome.truncated, outcome.autoreset, outcome.episode_ended];
        assert_eq!(flags, [false, true, false, true]);
    }
}
