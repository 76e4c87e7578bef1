use std::borrow::Cow;
use std::io::Write;

use serde::{Deserialize, Serialize};

use super::history::History;
use super::sum_tree::SumTree;
use super::{ActionElement, ReplayBuffer};
use crate::cluster::Cluster;
use crate::state_bytes::bad;
use crate::{LearnerError, VectorSpec};

/// The number of bytes of frames that processes exchange at once.
const PIECE: usize = 16 << 20;

/// A replay buffer without its frames, which follow the state of the learner: for each environment the slots that were
/// written to.
#[derive(Serialize, Deserialize)]
#[serde(bound = "E: ActionElement")]
pub(crate) struct ReplayState<'a, E: ActionElement> {
    histories: Cow<'a, [History<E>]>,
    priorities: Cow<'a, [SumTree]>,
    max_priorities: Cow<'a, [f64]>,
    written: u64,
    acting: bool,
}

/// Decodes the frames that [`write_frames`](ReplayBuffer::write_frames) wrote.
pub(crate) fn decode_frames(bytes: &[u8]) -> Result<(Vec<&[u8]>, &[u8]), LearnerError> {
    postcard::take_from_bytes(bytes).map_err(|error| bad(&error.to_string()))
}

impl<E: ActionElement> ReplayBuffer<E> {
    /// Returns all contents except the frames, without copying them.
    pub(crate) fn state(&self) -> ReplayState<'_, E> {
        ReplayState {
            histories: Cow::Borrowed(&self.histories),
            priorities: Cow::Borrowed(&self.priorities),
            max_priorities: Cow::Borrowed(&self.max_priorities),
            written: self.written,
            acting: self.acting,
        }
    }

    /// Writes the frames of all processes, which may be gigabytes, in small pieces. Each process calls this.
    pub(crate) fn write_frames(&self, cluster: &Cluster, out: &mut dyn Write) -> Result<(), LearnerError> {
        let mut result = Ok(());
        // Every process takes part in every exchange, even one that cannot write.
        let mut write = |bytes: &[u8]| {
            if result.is_ok() {
                result = out.write_all(bytes);
            }
        };
        write(&length(self.histories.len()));
        for (env, region) in self.regions.iter().enumerate() {
            let used = self.used_bytes(&self.histories[env]);
            write(&length(used));
            let own = self.own.contains(&env).then(|| &self.frames.bytes()[region.start..][..used]);
            if cluster.num_processes() == 1 {
                write(own.unwrap_or_default());
                continue;
            }
            for start in (0..used).step_by(PIECE) {
                let piece = own.map(|own| own[start..used.min(start + PIECE)].to_vec());
                cluster.all_gather(piece.unwrap_or_default())?.iter().for_each(|piece| write(piece));
            }
        }
        result.map_err(|error| LearnerError::StateNotWritten(error.to_string()))
    }

    /// Returns the number of bytes of the slots of an environment that were written to.
    fn used_bytes(&self, history: &History<E>) -> usize {
        history.frames.used_slots() * self.stack.slot_bytes()
    }

    /// Restores a state into an empty replay buffer that was created in the same way, for the environments of `spec`,
    /// with the frames of each environment. If the state does not fit, returns the reason and changes nothing.
    pub(crate) fn restore(
        &mut self,
        spec: &VectorSpec,
        state: ReplayState<'_, E>,
        frames: &[&[u8]],
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
        let lengths = state.histories.iter().map(|history| self.used_bytes(history));
        if !frames.iter().map(|frames| frames.len()).eq(lengths) {
            return Err("its replay buffer has the wrong number of frames");
        }
        for env in self.own_envs() {
            let start = self.regions[env].start;
            self.frames.bytes_mut()[start..start + frames[env].len()].copy_from_slice(frames[env]);
        }
        self.histories = state.histories.into_owned();
        self.priorities = state.priorities.into_owned();
        self.max_priorities = state.max_priorities.into_owned();
        self.written = state.written;
        self.acting = state.acting;
        Ok(())
    }
}

/// Encodes the length of a sequence as postcard does.
fn length(value: usize) -> Vec<u8> {
    postcard::to_stdvec(&value).expect("a number can be encoded")
}
