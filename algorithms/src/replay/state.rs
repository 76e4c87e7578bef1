use serde::{Deserialize, Serialize, Serializer};

use super::ReplayBuffer;
use super::history::History;
use super::sum_tree::SumTree;

/// A replay buffer with all of its contents.
#[derive(Serialize, Deserialize)]
pub(crate) struct ReplayState {
    histories: Vec<History>,
    priorities: Vec<SumTree>,
    max_priority: f64,
    written: u64,
    acting: bool,
    /// The slots of each environment that were written to.
    frames: Vec<Bytes>,
}

/// Bytes that are serialised as a whole.
#[derive(Deserialize)]
#[serde(transparent)]
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl ReplayBuffer {
    /// Returns a copy of all contents.
    pub(crate) fn state(&self) -> ReplayState {
        let used = |(history, region): (&History, &std::ops::Range<usize>)| {
            let length = history.frames.used_slots() * self.stack.frame_bytes;
            Bytes(self.frames.bytes()[region.start..region.start + length].to_vec())
        };
        ReplayState {
            histories: self.histories.clone(),
            priorities: self.priorities.clone(),
            max_priority: self.max_priority,
            written: self.written,
            acting: self.acting,
            frames: self.histories.iter().zip(&self.regions).map(used).collect(),
        }
    }

    /// Restores a state into an empty replay buffer that was created in the same way. On an error, which is
    /// one sentence, nothing has changed.
    pub(crate) fn restore(&mut self, state: ReplayState) -> Result<(), &'static str> {
        let count = self.histories.len();
        let same_histories = state.histories.len() == count
            && state.histories.iter().zip(&self.histories).all(|(new, old)| new.fits(old, self.stack));
        if !same_histories {
            return Err("the shape of the replay buffer does not match the configuration");
        }
        let same_trees = state.priorities.len() == self.priorities.len()
            && state.priorities.iter().zip(&self.priorities).all(|(new, old)| new.has_shape_of(old));
        if !same_trees || !state.max_priority.is_finite() {
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
        self.histories = state.histories;
        self.priorities = state.priorities;
        self.max_priority = state.max_priority;
        self.written = state.written;
        self.acting = state.acting;
        Ok(())
    }
}
