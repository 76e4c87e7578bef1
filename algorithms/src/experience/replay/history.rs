use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::action_element::ActionElement;
use crate::experience::returns::{NStepReturn, n_step_return};

/// The division of observations into frames: `frames` frames of `frame_bytes` bytes, the oldest first. The action mask
/// of an observation, of `mask_bytes` bytes, follows its last frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stack {
    pub(super) frames: usize,
    pub(super) frame_bytes: usize,
    /// 0 if there are no masks.
    pub(super) mask_bytes: usize,
}

impl Stack {
    /// Returns the number of bytes of a frame and a mask.
    pub(super) fn slot_bytes(self) -> usize {
        self.frame_bytes + self.mask_bytes
    }

    pub(super) fn row_bytes(self) -> usize {
        self.frames * self.frame_bytes
    }
}

/// The frames of one environment in the order of their arrival, each stored once: a ring of slots.
///
/// An observation is `stack` consecutive frames, identified by its *position*: the number of frames up to its last one.
/// Usually an observation shares all but one frame with the one before it. The shared frames are found by comparison,
/// so that stacks are correct regardless of how an environment fills them at the beginning of an episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FrameRing {
    /// The number of slots.
    slots: usize,
    /// The number of frames so far. Frame `i`, counted from 0, is in slot `i % slots` until a later one
    /// replaces it.
    written: u64,
}

impl FrameRing {
    /// Creates an empty ring. `slots` must exceed the number of frames of an observation.
    pub(super) fn new(slots: usize) -> Self {
        Self { slots, written: 0 }
    }

    /// Appends the frames of `row` that the last observation does not contain, with the action `mask` of the row, and
    /// returns the position. `bytes` holds the frames of the slots.
    pub(super) fn push(&mut self, row: &[u8], mask: &[u8], stack: Stack, bytes: &mut [u8]) -> u64 {
        let new = self.new_frames(row, mask, stack, bytes);
        let frame_bytes = stack.frame_bytes;
        for frame in row.chunks_exact(frame_bytes).skip(stack.frames - new) {
            let slot = &mut bytes[self.slot(self.written) * stack.slot_bytes()..][..stack.slot_bytes()];
            let (to, of_mask) = slot.split_at_mut(frame_bytes);
            to.copy_from_slice(frame);
            of_mask.fill(0);
            of_mask[..mask.len()].copy_from_slice(mask);
            self.written += 1;
        }
        self.written
    }

    /// Returns the number of trailing frames of the row that have to be appended. The other frames are already at the
    /// end of the ring.
    fn new_frames(&self, row: &[u8], mask: &[u8], stack: Stack, bytes: &[u8]) -> usize {
        if self.written == 0 {
            return stack.frames;
        }
        let first = self.written - stack.frames as u64;
        let continues_after = |new: &usize| {
            let known = row.chunks_exact(stack.frame_bytes).take(stack.frames - new);
            // An observation with another mask is another one.
            let has_mask = *new > 0 || self.mask(self.written, stack, bytes).starts_with(mask);
            has_mask
                && (first + *new as u64..)
                    .zip(known)
                    .all(|(frame, known)| self.frame(frame, stack, bytes) == known)
        };
        (0..=stack.frames).find(continues_after).unwrap_or(stack.frames)
    }

    /// Returns true if all frames of the observation at `position` are present.
    pub(super) fn holds(&self, position: u64, stack: Stack) -> bool {
        let first = position.checked_sub(stack.frames as u64);
        position <= self.written && first.is_some_and(|first| first + self.slots as u64 >= self.written)
    }

    /// Appends the observation at `position` to `row`.
    pub(super) fn read(&self, position: u64, stack: Stack, bytes: &[u8], row: &mut Vec<u8>) {
        for frame in position - stack.frames as u64..position {
            row.extend_from_slice(self.frame(frame, stack, bytes));
        }
    }

    /// Returns the action mask of the observation at `position`.
    pub(super) fn mask<'a>(&self, position: u64, stack: Stack, bytes: &'a [u8]) -> &'a [u8] {
        let end = (self.slot(position - 1) + 1) * stack.slot_bytes();
        &bytes[end - stack.mask_bytes..end]
    }

    /// Returns the number of frames so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Sets the number of frames of a ring whose frames another process stores.
    pub(super) fn set_written(&mut self, written: u64) {
        self.written = written;
    }

    /// Returns the number of slots that were written to, which are the first slots.
    pub(super) fn used_slots(&self) -> usize {
        self.slots.min(usize::try_from(self.written).unwrap_or(usize::MAX))
    }

    fn frame<'a>(&self, frame: u64, stack: Stack, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.slot(frame) * stack.slot_bytes()..][..stack.frame_bytes]
    }

    fn slot(&self, frame: u64) -> usize {
        (frame % self.slots as u64) as usize
    }
}

/// The end of an episode after a step, if it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum End {
    /// The episode continues.
    None,
    /// The episode terminated: the step has no successor.
    Terminated,
    /// The episode was truncated: its return is bootstrapped from the final observation.
    Truncated,
}

/// The result of an action.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) reward: f32,
    pub(super) end: End,
    /// Position of the observation after the action. Absent after a terminated step.
    pub(super) successor: Option<u64>,
}

/// One step of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    /// Position of the observation before the action.
    pub(super) observation: u64,
    /// Position of the observation after the action: the final one if the episode was truncated, arbitrary if
    /// it terminated.
    pub(super) successor: u64,
    pub(super) reward: f32,
    pub(super) end: End,
}

/// The last steps of one environment, numbered from 0 in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "E: ActionElement")]
pub(super) struct History<E> {
    /// The largest number of steps.
    capacity: usize,
    pub(super) frames: FrameRing,
    steps: VecDeque<Step>,
    /// The number of elements of an action that a step has room for.
    action_width: usize,
    /// The elements of the actions of all steps and of the one that has begun, padded with 0.
    actions: VecDeque<E>,
    /// Number of the oldest step.
    oldest: u64,
    /// Number of the first step that cannot be drawn yet, because its return is incomplete.
    ready_end: u64,
    /// Position of the observation of a step that has begun.
    begun: Option<u64>,
}

impl<E: ActionElement> History<E> {
    /// Creates an empty history of up to `capacity` steps with `slots` frames and actions of up to `action_width`
    /// elements.
    pub(super) fn new(capacity: usize, slots: usize, action_width: usize) -> Self {
        Self {
            capacity,
            frames: FrameRing::new(slots),
            steps: VecDeque::with_capacity(capacity + 1),
            action_width,
            actions: VecDeque::with_capacity((capacity + 1) * action_width),
            oldest: 0,
            ready_end: 0,
            begun: None,
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Begins a step with an action, padded with 0, in the observation at `position`.
    pub(super) fn begin(&mut self, position: u64, action: &[E]) {
        self.begun = Some(position);
        self.actions.extend(action);
    }

    /// Returns the position of the observation and the action of the step that has begun.
    pub(super) fn begun(&self) -> Option<(u64, Vec<E>)> {
        Some((self.begun?, self.action(self.newest_end())))
    }

    /// Ends the step that has begun, or discards it if it has no outcome.
    pub(super) fn end(&mut self, outcome: Option<Outcome>) {
        match (self.begun.take(), outcome) {
            (Some(observation), Some(Outcome { reward, end, successor })) => {
                let successor = successor.unwrap_or(observation);
                self.steps.push_back(Step { observation, successor, reward, end });
            }
            _ => self.actions.truncate(self.steps.len() * self.action_width),
        }
    }

    /// Removes surplus steps and steps whose frames were overwritten. Returns their numbers.
    pub(super) fn evict(&mut self, stack: Stack) -> std::ops::Range<u64> {
        let first = self.oldest;
        while let Some(step) = self.steps.front()
            && (self.steps.len() > self.capacity || !self.frames.holds(step.observation, stack))
        {
            self.steps.pop_front();
            self.actions.drain(..self.action_width);
            self.oldest += 1;
        }
        self.ready_end = self.ready_end.max(self.oldest);
        first..self.oldest
    }

    /// Marks the steps whose `n`-step return is now complete as ready. Returns their numbers.
    pub(super) fn make_ready(&mut self, n: usize) -> std::ops::Range<u64> {
        let first = self.ready_end;
        while self.ready_end < self.newest_end() && self.return_is_known(self.ready_end, n) {
            self.ready_end += 1;
        }
        first..self.ready_end
    }

    /// Returns the number of steps that can be drawn.
    pub(super) fn ready_steps(&self) -> usize {
        (self.ready_end - self.oldest) as usize
    }

    /// Returns the number of the `index`-th oldest step.
    pub(super) fn step_id(&self, index: usize) -> u64 {
        self.oldest + index as u64
    }

    /// Returns the number of the step in slot `slot` of a ring of `capacity` slots.
    pub(super) fn step_in_slot(&self, slot: usize) -> u64 {
        let capacity = self.capacity as u64;
        self.oldest + (slot as u64 + capacity - self.oldest % capacity) % capacity
    }

    /// Returns the slot of a step in a ring of `capacity` slots.
    pub(super) fn slot(&self, step_id: u64) -> usize {
        (step_id % self.capacity as u64) as usize
    }

    /// Returns true if a step can be drawn.
    pub(super) fn is_ready(&self, step_id: u64) -> bool {
        (self.oldest..self.ready_end).contains(&step_id)
    }

    pub(super) fn step(&self, step_id: u64) -> &Step {
        &self.steps[(step_id - self.oldest) as usize]
    }

    /// Returns the newest step.
    pub(super) fn last_step(&self) -> &Step {
        self.step(self.newest_end() - 1)
    }

    /// Returns the elements of a step's action, padded with 0.
    pub(super) fn action(&self, step_id: u64) -> Vec<E> {
        let start = (step_id - self.oldest) as usize * self.action_width;
        self.actions.range(start..start + self.action_width).copied().collect()
    }

    /// Returns true if `is_legal` holds for every action.
    pub(super) fn has_legal_actions(&self, is_legal: impl Fn(&[E]) -> bool) -> bool {
        let count = self.actions.len() / self.action_width;
        (self.oldest..).take(count).all(|step_id| is_legal(&self.action(step_id)))
    }

    /// Returns the `n`-step return from a step on, and the position of the observation from which it is
    /// bootstrapped.
    pub(super) fn n_step_return(&self, step_id: u64, n: usize, gamma: f32) -> (NStepReturn, u64) {
        let steps = self.steps.range((step_id - self.oldest) as usize..).take(n);
        let result = n_step_return(
            steps.map(|step| (step.reward, step.end == End::Terminated, step.end == End::Truncated)),
            gamma,
        );
        (result, self.step(step_id + result.steps as u64 - 1).successor)
    }

    fn newest_end(&self) -> u64 {
        self.oldest + self.steps.len() as u64
    }

    fn return_is_known(&self, step_id: u64, n: usize) -> bool {
        let mut steps = self.steps.range((step_id - self.oldest) as usize..).take(n);
        step_id + n as u64 <= self.newest_end() || steps.any(|step| step.end != End::None)
    }

    /// Returns true if the sizes match and all observations are present. Returns false for a damaged history.
    pub(super) fn fits(&self, other: &Self, stack: Stack) -> bool {
        let positions = self.steps.iter().flat_map(|step| [step.observation, step.successor]);
        let mut positions = positions.chain(self.begun);
        self.capacity == other.capacity
            && self.frames.slots == other.frames.slots
            && self.steps.len() <= self.capacity
            && self.action_width == other.action_width
            && self.actions.len()
                == (self.steps.len() + usize::from(self.begun.is_some())) * self.action_width
            && (self.oldest..=self.newest_end()).contains(&self.ready_end)
            && (self.frames.written == 0 || self.frames.written >= stack.frames as u64)
            && positions.all(|position| self.frames.holds(position, stack))
    }
}
