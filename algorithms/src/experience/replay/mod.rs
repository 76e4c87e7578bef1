//! The replay buffer of an off-policy learner.
//!
//! * `action_element`: the elements of actions: options of choices, or components
//! * `capacity`: the numbers of steps and frames of each environment, and the memory that they need
//! * `sampling`: draws of steps, uniformly or by priority
//! * `history`: the frames and steps of one environment. Each frame is stored once; observations are stacks
//!   of frames.
//! * `sum_tree`: priorities, and sampling by priority
//! * `storage`: the memory of the frames
//! * `state`: the replay buffer as a serialisable value
//! * `shared_step`: the steps that processes exchange. Each of them stores the frames of its own environments.
//!
//! Three rules hold at the ends of episodes, as in [`ppo`](crate::ppo): a row that only reset its environment
//! is not a step; a terminated step has no successor; the successor of a truncated step is its final
//! observation.

mod action_element;
mod capacity;
mod history;
mod sampling;
mod shared_step;
mod state;
mod storage;
mod sum_tree;
#[cfg(test)]
mod tests;

use std::ops::Range;

use rl_env::{AutoresetMode, Batch};

use crate::cluster::Cluster;
use crate::error::ReplayError;
use crate::experience::batch_reader::Observed;
use crate::experience::returns::NStepReturn;
use crate::networks::ObservationLayout;
use crate::{LearnerError, VectorSpec};

use history::{End, History, Outcome, Stack};
use shared_step::SharedStep;
use storage::FrameStore;
use sum_tree::SumTree;

pub(crate) use action_element::ActionElement;
pub(crate) use capacity::{ReplayOptions, frame_bytes, replay_size};
use capacity::{Shares, stack_of};
pub(crate) use sampling::{Draw, Priorities};
pub(crate) use state::{ReplayState, decode_frames};
pub use storage::{ReplaySize, ReplayStorage};

/// Steps of many environments. Each frame is stored once; stacks are assembled on reading.
///
/// Every task has the same share of the steps and of every batch, so that a task with many environments does not crowd
/// out the others.
///
/// A step is written in two halves: [`begin_step`](Self::begin_step) stores the observation and the action,
/// [`end_step`](Self::end_step) the result.
pub(crate) struct ReplayBuffer<E> {
    options: ReplayOptions,
    stack: Stack,
    mode: AutoresetMode,
    histories: Vec<History<E>>,
    /// The environments whose frames are stored here. Everything else is the same in all processes of a cluster.
    own: Range<usize>,
    /// The slots of each environment in `frames`, as ranges of bytes; empty for the frames of other processes.
    regions: Vec<Range<usize>>,
    frames: FrameStore,
    /// The environments of each task.
    envs_of: Vec<Vec<usize>>,
    /// The task of each environment, and the environment's index among those of the task.
    task_positions: Vec<(usize, usize)>,
    /// The priorities of each task's steps, environment by environment; empty without priorities.
    priorities: Vec<SumTree>,
    /// The largest priority of each task so far, which its new steps receive. The magnitude of errors differs between
    /// tasks.
    max_priorities: Vec<f64>,
    /// The number of steps written so far, including evicted ones.
    written: u64,
    acting: bool,
}

impl<E: ActionElement> ReplayBuffer<E> {
    /// Creates an empty replay buffer for the environments of `spec`, which stores the frames of this process.
    pub(crate) fn new(
        spec: &VectorSpec,
        layout: ObservationLayout,
        options: ReplayOptions,
        cluster: &Cluster,
        storage: ReplayStorage,
    ) -> Result<Self, ReplayError> {
        let stack = stack_of(layout, spec.mask_bytes());
        let shares = Shares::of(spec, stack, &options)?;
        let frames = FrameStore::new(replay_size::<E>(spec, layout, &options, cluster)?, storage)?;
        let mut envs_of = vec![Vec::new(); spec.tasks.len()];
        let mut task_positions = Vec::new();
        for (env, &task) in spec.task_ids.iter().enumerate() {
            task_positions.push((task, envs_of[task].len()));
            envs_of[task].push(env);
        }
        let own = cluster.own_envs(spec.num_envs());
        let ends = shares.slots.iter().enumerate().scan(0, |end, (env, slots)| {
            let start = *end;
            *end += if own.contains(&env) { slots * stack.slot_bytes() } else { 0 };
            Some(start..*end)
        });
        let entries = |envs: &Vec<usize>| envs.iter().map(|&env| shares.steps[env]).sum();
        let prioritized = if options.alpha.is_some() { &envs_of[..] } else { &[] };
        let priorities = prioritized.iter().map(|envs| SumTree::new(entries(envs))).collect();
        Ok(Self {
            options,
            stack,
            mode: spec.autoreset_mode,
            regions: ends.collect(),
            histories: shares
                .steps
                .iter()
                .zip(&shares.slots)
                .map(|(&steps, &slots)| History::new(steps, slots, E::width(spec)))
                .collect(),
            own,
            frames,
            envs_of,
            task_positions,
            priorities,
            max_priorities: vec![1.0; spec.tasks.len()],
            written: 0,
            acting: false,
        })
    }

    pub(crate) fn is_acting(&self) -> bool {
        self.acting
    }

    /// Returns the environments whose frames are stored here.
    pub(crate) fn own_envs(&self) -> Range<usize> {
        self.own.clone()
    }

    /// Returns the number of steps written so far, including evicted ones.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Returns the number of steps that can be drawn.
    pub(crate) fn len(&self) -> usize {
        self.histories.iter().map(History::ready_steps).sum()
    }

    /// Stores the observation and the action of one step for each of this process's environments. `actions` are the
    /// elements of their actions, each padded to the largest number of any task.
    pub(crate) fn begin_step(&mut self, batch: &Batch, actions: &[E]) {
        let width = actions.len() / self.own.len();
        for ((row, env), action) in self.own_envs().enumerate().zip(actions.chunks_exact(width)) {
            let position = self.push(env, Observed::of(batch), row);
            self.histories[env].begin(position, action);
            // The new frames may have replaced those of the oldest steps.
            self.update_entries(env);
        }
        self.acting = true;
    }

    /// Stores the result of the last step, and exchanges steps with the other processes of the cluster. Returns the
    /// number of environments that made a step; the others only reset.
    pub(crate) fn end_step(&mut self, batch: &Batch, cluster: &Cluster) -> Result<u64, LearnerError> {
        let (own, before) = (self.own_envs(), self.written);
        let is_shared = cluster.num_processes() > 1;
        let mut own_steps = Vec::new();
        for (row, env) in own.clone().enumerate() {
            let outcome = (!batch.autoreset[row]).then(|| self.outcome(env, row, batch));
            if is_shared {
                own_steps.push(SharedStep::of(&self.histories[env], outcome));
            }
            self.end_step_of(env, outcome);
        }
        if is_shared {
            let steps = cluster.all_gather_values(&own_steps)?.into_iter().flatten().enumerate();
            for (env, step) in steps.filter(|(env, _)| !own.contains(env)) {
                let outcome = step.begin(&mut self.histories[env]);
                self.end_step_of(env, outcome);
            }
        }
        for env in 0..self.histories.len() {
            self.update_entries(env);
        }
        self.acting = false;
        Ok(self.written - before)
    }

    /// Stores the frames after the step of an environment. Returns its result.
    fn outcome(&mut self, env: usize, row: usize, batch: &Batch) -> Outcome {
        let end = match (batch.terminated[row], batch.truncated[row]) {
            (true, _) => End::Terminated,
            (false, true) => End::Truncated,
            (false, false) => End::None,
        };
        let observed = match self.mode {
            AutoresetMode::SameStep => Observed::last_of(batch),
            AutoresetMode::NextStep | AutoresetMode::Disabled => Observed::of(batch),
        };
        // The successor of a terminated step is never read.
        let successor = (end != End::Terminated).then(|| self.push(env, observed, row));
        Outcome { reward: batch.rewards[row], end, successor }
    }

    fn end_step_of(&mut self, env: usize, outcome: Option<Outcome>) {
        self.histories[env].end(outcome);
        self.written += u64::from(outcome.is_some());
    }

    fn push(&mut self, env: usize, observed: Observed<'_>, row: usize) -> u64 {
        let bytes = &mut self.frames.bytes_mut()[self.regions[env].clone()];
        let (row, mask) = (observed.observation(row), observed.mask(row));
        self.histories[env].frames.push(row, mask, self.stack, bytes)
    }

    /// Evicts surplus steps of an environment, and makes those drawable whose returns are complete.
    fn update_entries(&mut self, env: usize) {
        let evicted = self.histories[env].evict(self.stack);
        let ready = self.histories[env].make_ready(self.options.n_step);
        self.update_priorities(env, evicted, ready);
    }

    /// Returns the elements of a step's action, padded with 0.
    pub(crate) fn action(&self, draw: &Draw) -> Vec<E> {
        self.histories[draw.env].action(draw.step_id)
    }

    /// Returns the n-step return that begins with a step.
    pub(crate) fn n_step_return(&self, draw: &Draw) -> NStepReturn {
        self.histories[draw.env].n_step_return(draw.step_id, self.options.n_step, self.options.gamma).0
    }

    /// Returns the observations before the actions, as consecutive rows of `row_bytes` bytes. The draws must come from
    /// this process's environments.
    pub(crate) fn observations(&self, draws: &[Draw]) -> Vec<u8> {
        self.rows(draws, |history, step_id| history.step(step_id).observation)
    }

    /// Returns the observation before the last step of one of this process's environments, which must have made one.
    pub(crate) fn last_observation(&self, env: usize) -> Vec<u8> {
        let mut row = Vec::with_capacity(self.stack.row_bytes());
        self.read(env, self.histories[env].last_step().observation, &mut row);
        row
    }

    /// Returns the observations after the last step of each return. For a terminated return, whose discount
    /// is 0, it is an arbitrary observation.
    pub(crate) fn successors(&self, draws: &[Draw]) -> Vec<u8> {
        self.rows(draws, |history, step_id| self.successor(history, step_id))
    }

    /// Returns the action mask of each of the [observations](Self::observations), empty if there are no masks.
    pub(crate) fn masks(&self, draws: &[Draw]) -> Vec<Vec<u8>> {
        self.masks_at(draws, |history, step_id| history.step(step_id).observation)
    }

    /// Returns the action mask of each of the [successors](Self::successors), empty if there are no masks.
    pub(crate) fn successor_masks(&self, draws: &[Draw]) -> Vec<Vec<u8>> {
        self.masks_at(draws, |history, step_id| self.successor(history, step_id))
    }

    fn masks_at(&self, draws: &[Draw], position: impl Fn(&History<E>, u64) -> u64) -> Vec<Vec<u8>> {
        let mask = |draw: &Draw| {
            let (history, region) = (&self.histories[draw.env], self.regions[draw.env].clone());
            let position = position(history, draw.step_id);
            history.frames.mask(position, self.stack, &self.frames.bytes()[region]).to_vec()
        };
        draws.iter().map(mask).collect()
    }

    /// Returns the position of the observation after the last step of the return that begins with a step.
    fn successor(&self, history: &History<E>, step_id: u64) -> u64 {
        let ReplayOptions { n_step, gamma, .. } = self.options;
        history.n_step_return(step_id, n_step, gamma).1
    }

    fn rows(&self, draws: &[Draw], position: impl Fn(&History<E>, u64) -> u64) -> Vec<u8> {
        let mut rows = Vec::with_capacity(draws.len() * self.stack.row_bytes());
        for draw in draws {
            self.read(draw.env, position(&self.histories[draw.env], draw.step_id), &mut rows);
        }
        rows
    }

    /// Appends the observation at `position` of one of this process's environments to `rows`.
    fn read(&self, env: usize, position: u64, rows: &mut Vec<u8>) {
        let bytes = &self.frames.bytes()[self.regions[env].clone()];
        self.histories[env].frames.read(position, self.stack, bytes, rows);
    }
}
