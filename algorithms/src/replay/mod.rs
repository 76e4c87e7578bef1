//! The replay: what an off-policy learner remembers of all environments.
//!
//! * `history`: the frames and steps of one environment. A frame is kept once, observations are stacks of them.
//! * `sum_tree`: priorities, and finding an entry by them
//! * `storage`: where the frames are kept
//! * `state`: the replay as a serialisable value
//!
//! Three rules about the ends of episodes, as in [`ppo`](crate::ppo): a row that only reset its environment is no
//! step; nothing comes after a terminated step; a truncated step leads to its final observation.

mod history;
mod state;
mod storage;
mod sum_tree;
#[cfg(test)]
mod tests;

use std::ops::Range;

use rand::Rng;
use rl_env::{AutoresetMode, Batch};

use crate::VectorSpec;
use crate::networks::ObservationLayout;
use crate::returns::NStepReturn;

use history::{End, History, Stack};
use storage::FrameStore;
use sum_tree::SumTree;

pub(crate) use state::ReplayState;
pub use storage::{ReplayError, ReplaySize, ReplayStorage};

/// Added to every error before it becomes a priority, so that nothing is forgotten altogether.
const PRIORITY_EPSILON: f64 = 1e-6;

/// What a replay is to hold, and how it is sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ReplayOptions {
    /// Most steps, over all environments.
    pub(crate) buffer_size: usize,
    /// Steps of a return.
    pub(crate) n_step: usize,
    /// The discount of rewards from step to step.
    pub(crate) gamma: f32,
    /// The exponent of priorities; without it all steps are equal.
    pub(crate) alpha: Option<f32>,
}

/// A step that was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Draw {
    pub(crate) env: usize,
    /// The step's number in its environment.
    number: u64,
    /// What corrects the frequency with which the step is drawn: at most 1, and 1 everywhere without priorities.
    pub(crate) weight: f32,
}

/// Steps of many environments, with frames kept once and stacks made when they are asked for.
///
/// Every task has the same share of the steps, and of every batch that is drawn. So a game of many environments does
/// not push another one out.
///
/// A step is written in two halves: what was seen and done ([`begin_step`](Self::begin_step)), then what came of it
/// ([`end_step`](Self::end_step)).
pub(crate) struct ReplayBuffer {
    options: ReplayOptions,
    stack: Stack,
    mode: AutoresetMode,
    histories: Vec<History>,
    /// The slots of each environment in `frames`, in bytes.
    regions: Vec<Range<usize>>,
    frames: FrameStore,
    /// The environments of each task.
    envs_of: Vec<Vec<usize>>,
    /// For each environment its task, and its place among the task's environments.
    places: Vec<(usize, usize)>,
    /// For each task the priorities of its steps, environment after environment; none without priorities.
    priorities: Vec<SumTree>,
    /// The largest priority so far: what a new step gets.
    max_priority: f64,
    /// Steps written so far, those forgotten by now included.
    written: u64,
    acting: bool,
}

/// How many steps and slots each environment gets.
struct Shares {
    /// For each environment.
    steps: Vec<usize>,
    slots: Vec<usize>,
}

impl Shares {
    fn of(spec: &VectorSpec, stack: Stack, options: &ReplayOptions) -> Result<Self, ReplayError> {
        let of_task = |task: usize| spec.task_ids.iter().filter(|&&id| id == task).count();
        let share = |&task: &usize| options.buffer_size / spec.tasks.len() / of_task(task);
        let steps: Vec<usize> = spec.task_ids.iter().map(share).collect();
        let least = options.n_step + 1;
        if let Some(env) = (0..steps.len()).min_by_key(|&env| steps[env]).filter(|&env| steps[env] < least) {
            return Err(ReplayError::SmallShare {
                buffer_size: options.buffer_size,
                share: steps[env],
                task: spec.tasks[spec.task_ids[env]].name.clone(),
                least,
            });
        }
        let slots = steps.iter().map(|&steps| slots(steps, stack.stack)).collect();
        Ok(Self { steps, slots })
    }
}

/// Slots for the frames of `steps` steps. An episode has up to `stack` frames more than steps: there is room for
/// episodes of 64 steps, and where they are shorter, fewer steps are kept. Vectors, whose "stacks" are of one and which
/// are small, always find room.
fn slots(steps: usize, stack: usize) -> usize {
    let for_episodes = if stack == 1 { steps } else { steps / 64 * stack };
    steps.saturating_add(for_episodes).saturating_add(2 * stack + 2)
}

/// How observations are cut.
fn stack_of(layout: ObservationLayout) -> Stack {
    match layout {
        ObservationLayout::Images { channels, height, width } => {
            Stack { stack: channels, frame_bytes: height * width }
        }
        ObservationLayout::Bytes { .. } | ObservationLayout::Floats { .. } => {
            Stack { stack: 1, frame_bytes: layout.row_bytes() }
        }
    }
}

/// What a replay for these environments takes.
pub(crate) fn replay_size(
    spec: &VectorSpec,
    layout: ObservationLayout,
    options: &ReplayOptions,
) -> Result<ReplaySize, ReplayError> {
    let stack = stack_of(layout);
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
    Ok(ReplaySize {
        steps,
        storage_bytes: sum(&shares.slots).saturating_mul(stack.frame_bytes as u64),
        index_bytes: steps.saturating_mul(size_of::<history::Step>() as u64).saturating_add(trees),
    })
}

impl ReplayBuffer {
    /// An empty replay for the environments of `spec`, or why it cannot be.
    pub(crate) fn new(
        spec: &VectorSpec,
        layout: ObservationLayout,
        options: ReplayOptions,
        storage: ReplayStorage,
    ) -> Result<Self, ReplayError> {
        let stack = stack_of(layout);
        let shares = Shares::of(spec, stack, &options)?;
        let frames = FrameStore::new(replay_size(spec, layout, &options)?, storage)?;
        let mut envs_of = vec![Vec::new(); spec.tasks.len()];
        let mut places = Vec::new();
        for (env, &task) in spec.task_ids.iter().enumerate() {
            places.push((task, envs_of[task].len()));
            envs_of[task].push(env);
        }
        let ends = shares.slots.iter().scan(0, |end, slots| {
            let start = *end;
            *end += slots * stack.frame_bytes;
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
                .map(|(&steps, &slots)| History::new(steps, slots))
                .collect(),
            frames,
            envs_of,
            places,
            priorities,
            max_priority: 1.0,
            written: 0,
            acting: false,
        })
    }

    pub(crate) fn is_acting(&self) -> bool {
        self.acting
    }

    /// Steps written since the replay was made, those forgotten by now included.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Steps that can be drawn.
    pub(crate) fn len(&self) -> usize {
        self.histories.iter().map(History::ready_steps).sum()
    }

    /// Writes what was seen and done, one step for each environment.
    pub(crate) fn begin_step(&mut self, batch: &Batch, actions: &[i32]) {
        for (env, &action) in actions.iter().enumerate() {
            let position = self.push(env, batch.observations.row(env));
            self.histories[env].begin(position, action);
        }
        self.acting = true;
    }

    /// Writes what came of the step begun last. Returns how many environments made one; the others only reset.
    pub(crate) fn end_step(&mut self, batch: &Batch) -> u64 {
        let before = self.written;
        for env in 0..self.histories.len() {
            if batch.autoreset[env] {
                self.histories[env].discard();
            } else {
                self.end_step_of(env, batch);
                self.written += 1;
            }
            self.update_entries(env);
        }
        self.acting = false;
        self.written - before
    }

    fn end_step_of(&mut self, env: usize, batch: &Batch) {
        let end = match (batch.terminated[env], batch.truncated[env]) {
            (true, _) => End::Terminated,
            (false, true) => End::Truncated,
            (false, false) => End::None,
        };
        let observations = match self.mode {
            AutoresetMode::SameStep => &batch.final_observations,
            AutoresetMode::NextStep | AutoresetMode::Disabled => &batch.observations,
        };
        // What a terminated step led to is never looked at.
        let successor = (end != End::Terminated).then(|| self.push(env, observations.row(env)));
        self.histories[env].end(batch.rewards[env], end, successor);
    }

    fn push(&mut self, env: usize, row: &[u8]) -> u64 {
        let bytes = &mut self.frames.bytes_mut()[self.regions[env].clone()];
        self.histories[env].frames.push(row, self.stack, bytes)
    }

    /// Lets go of steps that are too many, and gives priorities to those that can be drawn from now on.
    fn update_entries(&mut self, env: usize) {
        let evicted = self.histories[env].evict(self.stack);
        let ready = self.histories[env].make_ready(self.options.n_step);
        let (task, _) = self.places[env];
        if let Some(alpha) = self.options.alpha {
            let priority = self.max_priority.powf(alpha.into());
            for (numbers, priority) in [(evicted, 0.0), (ready, priority)] {
                for number in numbers {
                    let entry = self.entry(env, number);
                    self.priorities[task].set(entry, priority);
                }
            }
        }
    }

    /// Whether there is a step of every task to be drawn.
    pub(crate) fn can_draw(&self) -> bool {
        (0..self.envs_of.len()).all(|task| self.ready_steps(task) > 0)
    }

    /// Draws steps, as many of each task, or one more. `beta` is how much of the priorities' bias the weights take
    /// back, from 0 (nothing) to 1 (all).
    pub(crate) fn draw(&self, count: usize, beta: f32, rng: &mut impl Rng) -> Vec<Draw> {
        let tasks = self.envs_of.len();
        let first = if tasks > 1 { rng.random_range(0..tasks) } else { 0 };
        let mut draws = Vec::with_capacity(count);
        for place in 0..tasks.min(count) {
            let task = (first + place) % tasks;
            let share = count / tasks + usize::from(place < count % tasks);
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
                    draws.push(Draw { env, number: self.histories[env].number(index), weight: 1.0 });
                    break;
                }
                index -= steps;
            }
        }
    }

    /// One step from each of `count` equal parts of the line on which steps are as long as their priorities. The
    /// weights are `(number of steps * probability)^-beta`, as in the paper.
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
            let (env, number) = self.step_of(task, entry);
            let probability = tree.priority(entry) / tree.total();
            let weight = (steps * probability).powf(-f64::from(beta)) as f32;
            draws.push(Draw { env, number, weight });
        }
    }

    /// Gives the steps that were drawn new priorities, from how wrong the network was about them.
    pub(crate) fn set_errors(&mut self, draws: &[Draw], errors: &[f32]) {
        let Some(alpha) = self.options.alpha else { return };
        for (draw, &error) in draws.iter().zip(errors) {
            if self.histories[draw.env].is_ready(draw.number) {
                let priority = f64::from(error.abs()) + PRIORITY_EPSILON;
                self.max_priority = self.max_priority.max(priority);
                let entry = self.entry(draw.env, draw.number);
                self.priorities[self.places[draw.env].0].set(entry, priority.powf(alpha.into()));
            }
        }
    }

    /// The action of a step.
    pub(crate) fn action(&self, draw: &Draw) -> i32 {
        self.histories[draw.env].step(draw.number).action
    }

    /// The n-step return from a step on.
    pub(crate) fn n_step_return(&self, draw: &Draw) -> NStepReturn {
        self.histories[draw.env].n_step_return(draw.number, self.options.n_step, self.options.gamma).0
    }

    /// The observations that the actions were taken in, as rows of `row_bytes` bytes one after another.
    pub(crate) fn observations(&self, draws: &[Draw]) -> Vec<u8> {
        self.rows(draws, |history, number| history.step(number).observation)
    }

    /// The observations after the last step of each return. What a terminated return has in its place is any
    /// observation: its discount is 0.
    pub(crate) fn successors(&self, draws: &[Draw]) -> Vec<u8> {
        let ReplayOptions { n_step, gamma, .. } = self.options;
        self.rows(draws, |history, number| history.n_step_return(number, n_step, gamma).1)
    }

    fn rows(&self, draws: &[Draw], position: impl Fn(&History, u64) -> u64) -> Vec<u8> {
        let mut rows = Vec::with_capacity(draws.len() * self.stack.row_bytes());
        for draw in draws {
            let history = &self.histories[draw.env];
            let bytes = &self.frames.bytes()[self.regions[draw.env].clone()];
            history.frames.read(position(history, draw.number), self.stack, bytes, &mut rows);
        }
        rows
    }

    /// Steps of a task that can be drawn.
    fn ready_steps(&self, task: usize) -> usize {
        self.envs_of[task].iter().map(|&env| self.histories[env].ready_steps()).sum()
    }

    /// The entry of a step in its task's priorities.
    fn entry(&self, env: usize, number: u64) -> usize {
        let (_, place) = self.places[env];
        place * self.histories[env].capacity() + self.histories[env].slot(number)
    }

    /// The step of an entry. Environments of a task have equal shares.
    fn step_of(&self, task: usize, entry: usize) -> (usize, u64) {
        let envs = &self.envs_of[task];
        let capacity = self.histories[envs[0]].capacity();
        let env = envs[entry / capacity];
        (env, self.histories[env].step_in_slot(entry % capacity))
    }
}
