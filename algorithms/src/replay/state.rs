use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::history::History;
use super::sum_tree::SumTree;
use super::{ActionElement, ReplayBuffer};
use crate::VectorSpec;
use crate::state_bytes::Bytes;

/// A replay buffer with all of its contents.
#[derive(Serialize, Deserialize)]
#[serde(bound = "E: ActionElement")]
pub(crate) struct ReplayState<'a, E: ActionElement> {
    histories: Cow<'a, [History<E>]>,
    priorities: Cow<'a, [SumTree]>,
    max_priorities: Cow<'a, [f64]>,
    written: u64,
    acting: bool,
    /// The slots of each environment that were written to.
    frames: Vec<Bytes<'a>>,
}

impl<E: ActionElement> ReplayBuffer<E> {
    /// Returns all contents, which may be gigabytes, without copying them.
    pub(crate) fn state(&self) -> ReplayState<'_, E> {
        let used = |(history, region): (&History<E>, &std::ops::Range<usize>)| {
            let length = history.frames.used_slots() * self.stack.frame_bytes;
            Bytes(Cow::Borrowed(&self.frames.bytes()[region.start..region.start + length]))
        };
        ReplayState {
            histories: Cow::Borrowed(&self.histories),
            priorities: Cow::Borrowed(&self.priorities),
            max_priorities: Cow::Borrowed(&self.max_priorities),
            written: self.written,
            acting: self.acting,
            frames: self.histories.iter().zip(&self.regions).map(used).collect(),
        }
    }

    /// Restores a state into an empty replay buffer that was created in the same way, for the environments of `spec`. On an
    /// error, which is one sentence, nothing has changed.
    pub(crate) fn restore(
        &mut self,
        spec: &VectorSpec,
        state: ReplayState<'_, E>,
    ) -> Result<(), &'static str> {
        let count = self.histories.len();
        let same_histories = state.histories.len() == count
            && state.histories.iter().zip(&self.histories).all(|(new, old)| new.fits(old, self.stack));
        if !same_histories {
            return Err("the shape of the replay buffer does not match the configuration");
        }
        let are_legal = |(env, history): (usize, &History<E>)| {
            history.has_legal_actions(|action| E::is_legal(spec.actions(env), action))
        };
        if !state.histories.iter().enumerate().all(are_legal) {
            return Err("the replay buffer contains an illegal action");
        }
        let same_trees = state.priorities.len() == self.priorities.len()
            && state.priorities.iter().zip(&self.priorities).all(|(new, old)| new.has_shape_of(old));
        let same_maxima = state.max_priorities.len() == self.max_priorities.len()
            && state.max_priorities.iter().all(|priority| priority.is_finite());
        if !same_trees || !same_maxima {
            return Err("the priorities of the replay buffer do not match the configuration");
        }
        let lengths =
            state.histories.iter().map(|history| history.frames.used_slots() * self.stack.frame_bytes);
        if state.frames.len() != count
            || !state.frames.iter().zip(lengths).all(|(bytes, length)| bytes.0.len() == length)
        {
            return Err("its replay lacks frames");
        }
        for (bytes, region) in state.frames.iter().zip(&self.regions) {
            self.frames.bytes_mut()[region.start..region.start + bytes.0.len()].copy_from_slice(&bytes.0);
        }
        self.histories = state.histories.into_owned();
        self.priorities = state.priorities.into_owned();
        self.max_priorities = state.max_priorities.into_owned();
        self.written = state.written;
        self.acting = state.acting;
        Ok(())
    }
}
