//! The replay buffer of an off-policy learner.
//!
//! * `action_element`: the elements of actions: options of choices, or components
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
mod history;
mod shared_step;
mod state;
mod storage;
mod sum_tree;
#[cfg(test)]
mod tests;

use std::ops::Range;

use rand::Rng;
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
pub(crate) use state::{ReplayState, decode_frames};
pub use storage::{ReplaySize, ReplayStorage};

/// Added to every error before it becomes a priority, so that every step can be drawn again.
const PRIORITY_EPSILON: f64 = 1e-6;

/// Capacity and sampling of a replay buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayOptions {
    /// The largest number of steps, over all environments.
    pub(crate) buffer_size: usize,
    /// The number of steps of a return.
    pub(crate) n_step: usize,
    /// The discount of rewards per step.
    pub(crate) gamma: f32,
    /// The exponent of priorities; uniform sampling if absent.
    pub(crate) alpha: Option<f32>,
}

/// A step that was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Draw {
    pub(crate) env: usize,
    /// The index of the step in its environment.
    pub(crate) step_id: u64,
    /// The importance weight, which corrects the sampling bias to the degree set by `beta`: at most 1, and always 1
    /// without priorities.
    pub(crate) weight: f32,
    /// The probability of this step without priorities, divided by its probability with them.
    pub(crate) correction: f32,
}

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

/// A snapshot of the priorities of all steps.
pub(crate) struct Priorities {
    trees: Vec<SumTree>,
    largest: Vec<f64>,
}

/// The capacity of each environment.
struct Shares {
    /// The number of steps of each environment.
    steps: Vec<usize>,
    slots: Vec<usize>,
}

impl Shares {
    fn of(spec: &VectorSpec, stack: Stack, options: &ReplayOptions) -> Result<Self, ReplayError> {
        let of_task = |task: usize| spec.task_ids.iter().filter(|&&id| id == task).count();
        let share = |&task: &usize| options.buffer_size / spec.tasks.len() / of_task(task);
        let steps: Vec<usize> = spec.task_ids.iter().map(share).collect();
        let least = options.n_step.saturating_add(1);
        if let Some(env) = (0..steps.len()).min_by_key(|&env| steps[env]).filter(|&env| steps[env] < least) {
            return Err(ReplayError::SmallShare {
                buffer_size: options.buffer_size,
                share: steps[env],
                task: spec.tasks[spec.task_ids[env]].name.clone(),
                least,
            });
        }
        let slots = steps.iter().map(|&steps| slots(steps, stack.frames)).collect();
        Ok(Self { steps, slots })
    }
}

/// Returns the number of slots for the frames of `steps` steps. An episode has up to `stack` more frames than steps.
/// There is room for episodes of 64 steps; if episodes are shorter, fewer steps are kept. Vectors are small and have a
/// stack of one, so there is always room for them.
fn slots(steps: usize, stack: usize) -> usize {
    let for_episodes = if stack == 1 { steps } else { steps / 64 * stack };
    steps.saturating_add(for_episodes).saturating_add(2 * stack + 2)
}

/// Returns the division of observations into frames, for action masks of `mask_bytes` bytes.
fn stack_of(layout: ObservationLayout, mask_bytes: usize) -> Stack {
    let (frames, frame_bytes) = match layout {
        ObservationLayout::Images { channels, height, width } => (channels, height * width),
        ObservationLayout::Bytes { .. }
        | ObservationLayout::Floats { .. }
        | ObservationLayout::Mixed { .. } => (1, layout.row_bytes()),
    };
    Stack { frames, frame_bytes, mask_bytes }
}

/// Returns the number of bytes of a frame, of which observations are stacks.
pub(crate) fn frame_bytes(layout: ObservationLayout) -> usize {
    stack_of(layout, 0).frame_bytes
}

/// Computes the size of the part of a replay buffer that a process of a cluster holds.
pub(crate) fn replay_size<E: ActionElement>(
    spec: &VectorSpec,
    layout: ObservationLayout,
    options: &ReplayOptions,
    cluster: &Cluster,
) -> Result<ReplaySize, ReplayError> {
    let stack = stack_of(layout, spec.mask_bytes());
    let shares = Shares::of(spec, stack, options)?;
    let sum = |counts: &[usize]| counts.iter().map(|&count| count as u64).fold(0, u64::saturating_add);
    let steps = sum(&shares.steps);
    let trees = match options.alpha {
        Some(_) => {
            let of_task = |task| shares.steps.iter().zip(&spec.task_ids).filter(move |&(_, &id)| id == task);
            let entries = |task| of_task(task).map(|(&steps, _)| steps).sum();
            (0..spec.tasks.len()).map(|task| SumTree::bytes(entries(task))).sum()
        }
        None => 0,
    };
    let of_step = size_of::<history::Step>() + E::width(spec) * size_of::<E>();
    Ok(ReplaySize {
        steps,
        storage_bytes: sum(&shares.slots[cluster.own_envs(spec.num_envs())])
            .saturating_mul(stack.slot_bytes() as u64),
        frame_bytes: sum(&shares.steps[cluster.own_envs(spec.num_envs())])
            .saturating_mul(stack.slot_bytes() as u64),
        index_bytes: steps.saturating_mul(of_step as u64).saturating_add(trees),
    })
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
    pub(crate) fn own(&self) -> Range<usize> {
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

    /// Returns a copy of the priorities.
    pub(crate) fn priorities(&self) -> Priorities {
        Priorities { trees: self.priorities.clone(), largest: self.max_priorities.clone() }
    }

    /// Restores the [priorities](Self::priorities) from before the last draws.
    pub(crate) fn set_priorities(&mut self, Priorities { trees, largest }: Priorities) {
        (self.priorities, self.max_priorities) = (trees, largest);
    }

    /// Stores the observation and the action of one step for each of this process's environments. `actions` are the
    /// elements of their actions, each padded to the largest number of any task.
    pub(crate) fn begin_step(&mut self, batch: &Batch, actions: &[E]) {
        let width = actions.len() / self.own.len();
        for ((row, env), action) in self.own().enumerate().zip(actions.chunks_exact(width)) {
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
        let (own, before) = (self.own(), self.written);
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

    /// Evicts surplus steps, and sets the priorities of steps that can now be drawn.
    fn update_entries(&mut self, env: usize) {
        let evicted = self.histories[env].evict(self.stack);
        let ready = self.histories[env].make_ready(self.options.n_step);
        let (task, _) = self.task_positions[env];
        if let Some(alpha) = self.options.alpha {
            let priority = self.max_priorities[task].powf(alpha.into());
            for (steps, priority) in [(evicted, 0.0), (ready, priority)] {
                for step_id in steps {
                    let entry = self.entry(env, step_id);
                    self.priorities[task].set(entry, priority);
                }
            }
        }
    }

    /// Returns true if steps can be drawn.
    pub(crate) fn can_draw(&self) -> bool {
        self.drawable_tasks().next().is_some()
    }

    /// Returns the tasks with steps that can be drawn. A task whose environments had used up their steps when the
    /// replay buffer was lost never has any.
    fn drawable_tasks(&self) -> impl Iterator<Item = usize> {
        (0..self.envs_of.len()).filter(|&task| self.ready_steps(task) > 0)
    }

    /// Draws `count` steps. The numbers of steps of the tasks that have any differ by at most one. `beta` is the
    /// exponent of the importance weights, from 0 (no correction) to 1 (full correction).
    pub(crate) fn draw(&self, count: usize, beta: f32, rng: &mut impl Rng) -> Vec<Draw> {
        let drawable: Vec<usize> = self.drawable_tasks().collect();
        let tasks = drawable.len();
        let first = if tasks > 1 { rng.random_range(0..tasks) } else { 0 };
        let mut draws = Vec::with_capacity(count);
        for turn in 0..tasks.min(count) {
            let task = drawable[(first + turn) % tasks];
            let share = count / tasks + usize::from(turn < count % tasks);
            if self.options.alpha.is_some() {
                self.draw_by_priority(task, share, beta, rng, &mut draws);
            } else {
                self.draw_uniformly(task, share, rng, &mut draws);
            }
        }
        let largest = draws.iter().map(|draw| draw.weight).fold(0.0, f32::max);
        for draw in &mut draws {
            draw.weight /= largest;
        }
        draws
    }

    fn draw_uniformly(&self, task: usize, count: usize, rng: &mut impl Rng, draws: &mut Vec<Draw>) {
        let total = self.ready_steps(task);
        for _ in 0..count {
            let mut index = rng.random_range(0..total);
            for &env in &self.envs_of[task] {
                let steps = self.histories[env].ready_steps();
                if index < steps {
                    let step_id = self.histories[env].step_id(index);
                    draws.push(Draw { env, step_id, weight: 1.0, correction: 1.0 });
                    break;
                }
                index -= steps;
            }
        }
    }

    /// Draws one step from each of `count` equal parts of the cumulative priorities. The weights are
    /// `(number of steps * probability)^-beta`, as in the paper.
    fn draw_by_priority(
        &self,
        task: usize,
        count: usize,
        beta: f32,
        rng: &mut impl Rng,
        draws: &mut Vec<Draw>,
    ) {
        let tree = &self.priorities[task];
        let steps = self.ready_steps(task) as f64;
        for part in 0..count {
            let position = (part as f64 + rng.random::<f64>()) / count as f64 * tree.total();
            let entry = tree.find(position);
            let (env, step_id) = self.step_of(task, entry);
            let probability = tree.priority(entry) / tree.total();
            let correction = (steps * probability).recip();
            let weight = correction.powf(beta.into()) as f32;
            draws.push(Draw { env, step_id, weight, correction: correction as f32 });
        }
    }

    /// Returns a step as if it had been drawn uniformly. `index` counts the steps of the environment that can be drawn.
    #[cfg(test)]
    pub(crate) fn draw_of(&self, env: usize, index: usize) -> Draw {
        Draw { env, step_id: self.histories[env].step_id(index), weight: 1.0, correction: 1.0 }
    }

    /// Returns the number of steps of an environment that can be drawn.
    #[cfg(test)]
    pub(crate) fn ready_steps_of(&self, env: usize) -> usize {
        self.histories[env].ready_steps()
    }

    /// Returns the priority of a drawn step, after the exponent was applied.
    #[cfg(test)]
    pub(crate) fn priority(&self, draw: &Draw) -> f64 {
        self.priorities[self.task_positions[draw.env].0].priority(self.entry(draw.env, draw.step_id))
    }

    /// Updates the priorities of drawn steps from the errors of the network.
    pub(crate) fn set_errors(&mut self, draws: &[Draw], errors: &[f32]) {
        let Some(alpha) = self.options.alpha else { return };
        for (draw, &error) in draws.iter().zip(errors) {
            if self.histories[draw.env].is_ready(draw.step_id) {
                let priority = f64::from(error.abs()) + PRIORITY_EPSILON;
                let (task, _) = self.task_positions[draw.env];
                self.max_priorities[task] = self.max_priorities[task].max(priority);
                let entry = self.entry(draw.env, draw.step_id);
                self.priorities[task].set(entry, priority.powf(alpha.into()));
            }
        }
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

    /// Returns the action mask of each of the [successors](Self::successors), empty if there are no masks.
    pub(crate) fn successor_masks(&self, draws: &[Draw]) -> Vec<Vec<u8>> {
        let mask = |draw: &Draw| {
            let (history, region) = (&self.histories[draw.env], self.regions[draw.env].clone());
            let position = self.successor(history, draw.step_id);
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

    /// Returns the number of steps of a task that can be drawn.
    fn ready_steps(&self, task: usize) -> usize {
        self.envs_of[task].iter().map(|&env| self.histories[env].ready_steps()).sum()
    }

    /// Returns the index of a step in its task's priorities.
    fn entry(&self, env: usize, step_id: u64) -> usize {
        let (_, position) = self.task_positions[env];
        position * self.histories[env].capacity() + self.histories[env].slot(step_id)
    }

    /// Returns the step at an index of its task's priorities. Environments of a task have equal shares.
    fn step_of(&self, task: usize, entry: usize) -> (usize, u64) {
        let envs = &self.envs_of[task];
        let capacity = self.histories[envs[0]].capacity();
        let env = envs[entry / capacity];
        (env, self.histories[env].step_in_slot(entry % capacity))
    }
}
