//! The numbers of steps and frames of each environment, and the memory that they need.

use super::action_element::ActionElement;
use super::history::{Stack, Step};
use super::storage::ReplaySize;
use super::sum_tree::SumTree;
use crate::VectorSpec;
use crate::cluster::Cluster;
use crate::error::ReplayError;
use crate::networks::ObservationLayout;

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

/// The capacity of each environment.
pub(super) struct Shares {
    /// The number of steps of each environment.
    pub(super) steps: Vec<usize>,
    /// The number of slots for frames of each environment.
    pub(super) slots: Vec<usize>,
}

impl Shares {
    /// Divides the steps of a replay buffer equally among the tasks, and those of a task among its environments.
    pub(super) fn of(spec: &VectorSpec, stack: Stack, options: &ReplayOptions) -> Result<Self, ReplayError> {
        let num_envs = |task: usize| spec.task_ids.iter().filter(|&&id| id == task).count();
        let share = |&task: &usize| options.buffer_size / spec.tasks.len() / num_envs(task);
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
/// There is room for the frames of episodes of 64 steps; if episodes are shorter, fewer steps are kept. Vectors are
/// small and have a stack of one, so there is always room for them.
fn slots(steps: usize, stack: usize) -> usize {
    const EPISODE_STEPS: usize = 64;
    let starts_of_episodes = if stack == 1 { steps } else { steps / EPISODE_STEPS * stack };
    steps.saturating_add(starts_of_episodes).saturating_add(2 * stack + 2)
}

/// Returns the division of observations into frames, for action masks of `mask_bytes` bytes.
pub(super) fn stack_of(layout: ObservationLayout, mask_bytes: usize) -> Stack {
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
    let steps = saturating_sum(&shares.steps);
    let own_envs = cluster.own_envs(spec.num_envs());
    let bytes_of_frames = |frames: &[usize]| saturating_sum(frames).saturating_mul(stack.slot_bytes() as u64);
    let bytes_of_step = size_of::<Step>() + E::width(spec) * size_of::<E>();
    let bytes_of_trees = match options.alpha {
        Some(_) => steps_of_tasks(spec, &shares.steps).into_iter().map(SumTree::bytes).sum(),
        None => 0,
    };
    Ok(ReplaySize {
        steps,
        storage_bytes: bytes_of_frames(&shares.slots[own_envs.clone()]),
        frame_bytes: bytes_of_frames(&shares.steps[own_envs]),
        index_bytes: steps.saturating_mul(bytes_of_step as u64).saturating_add(bytes_of_trees),
    })
}

fn saturating_sum(counts: &[usize]) -> u64 {
    counts.iter().map(|&count| count as u64).fold(0, u64::saturating_add)
}

/// Returns the number of steps of each task, given those of each environment.
fn steps_of_tasks(spec: &VectorSpec, steps_of_envs: &[usize]) -> Vec<usize> {
    let mut steps_of_tasks = vec![0; spec.tasks.len()];
    for (&task, &steps) in spec.task_ids.iter().zip(steps_of_envs) {
        steps_of_tasks[task] += steps;
    }
    steps_of_tasks
}
