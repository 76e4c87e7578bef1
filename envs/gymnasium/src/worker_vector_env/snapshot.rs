//! Snapshots of all environments.

use std::mem;
use std::ops::Range;

use rl_env::snapshot::{self, SavedEnv, SavedEnvs};
use rl_env::{Batch, EnvError, VectorError};
use serde::{Deserialize, Serialize};

use super::WorkerVectorEnv;
use crate::board::Command;
use crate::workers::{Fault, Workers};

/// The state of one environment.
#[derive(Serialize, Deserialize)]
struct WorkerEnvState {
    env_id: usize,
    task: String,
    seed: Option<u64>,
    /// The environment, its episode and its last result, pickled.
    state: Vec<u8>,
}

impl SavedEnv for WorkerEnvState {
    /// Changing the state in worker.py requires a new one too.
    const VERSION: u32 = 1;

    fn env_id(&self) -> usize {
        self.env_id
    }

    fn set_env_id(&mut self, env_id: usize) {
        self.env_id = env_id;
    }

    fn task(&self) -> &str {
        &self.task
    }
}

/// The request for the states of a worker's environments.
#[derive(Serialize)]
#[serde(tag = "request", rename = "snapshot")]
struct Snapshot {}

/// The request to read states, which follow each other.
#[derive(Serialize)]
#[serde(tag = "request", rename = "restore")]
struct Restore {
    sizes: Vec<usize>,
}

/// The lengths of the states in the bytes of a frame.
#[derive(Deserialize)]
struct Sizes {
    sizes: Vec<usize>,
}

impl WorkerVectorEnv {
    pub(super) fn save(&self) -> Result<Vec<u8>, VectorError> {
        self.phase.check_ready("snapshot was called before the first reset")?;
        let num_pending = self.envs.len() - self.batch_size;
        let all_received = self.takes_turns() && self.num_in_flight == 0;
        // An environment of the last batch that is in flight has a newer result than the one received.
        let is_stepping = self.ring.last().env_ids.iter().any(|&env| self.envs[env].in_flight);
        if is_stepping || self.num_in_flight != num_pending && !all_received {
            return Err(VectorError::OutOfOrder("snapshot was called between send and recv"));
        }
        let mut workers = self.lock();
        workers.wait_for_all().map_err(|fault| self.to_vector_error(fault))?;
        if let Some(fault) = workers.failure() {
            return Err(self.to_vector_error(fault.clone()));
        }
        let mut states = states_of(&mut workers).map_err(|fault| self.to_vector_error(fault))?;
        let envs = self.in_order_of_results(&workers).into_iter().map(|env| WorkerEnvState {
            env_id: env,
            task: self.task_of(env).to_owned(),
            seed: self.envs[env].seed,
            state: mem::take(&mut states[env]),
        });
        Ok(SavedEnvs::new(self.mode, envs.collect()).encode())
    }

    /// Returns all environments: those of the last batch, then those whose results have not been received. If all have
    /// been received, starts with those whose turn is next, as the results would follow each other in a ring. Nothing
    /// may be outstanding.
    fn in_order_of_results(&self, workers: &Workers) -> Vec<usize> {
        let last = &self.ring.last().env_ids;
        if !self.has_fixed_rows {
            return last.iter().copied().chain(workers.in_order()).collect();
        }
        let num_envs = self.envs.len();
        let first = if self.num_in_flight == 0 { self.next_turn } else { last[0] };
        (0..num_envs).map(|index| (first + index) % num_envs).collect()
    }

    pub(super) fn load(&mut self, snapshot: &[u8]) -> Result<&Batch, VectorError> {
        self.phase.check_usable()?;
        let mut saved = SavedEnvs::<WorkerEnvState>::decode(snapshot, self.mode)?;
        let tasks: Vec<&str> = (0..self.envs.len()).map(|env| self.task_of(env)).collect();
        saved.check_envs(&tasks, self.is_ordered())?;
        self.check_not_stepping("restore was called between send and recv")?;
        self.load_states(&mut saved)?;
        let order: Vec<usize> = saved.envs.iter().map(|env| env.env_id).collect();
        self.discard_from(order[0] / self.batch_size * self.batch_size)?;
        for env in &saved.envs {
            self.envs[env.env_id].seed = env.seed;
        }
        self.start_round(|_| Command::Restore)?;
        self.wait_for_all()?;
        self.workers_mut().reorder(order.into_iter());
        self.receive()
    }

    /// Makes the workers read the states. On an error no environment changes.
    fn load_states(&mut self, saved: &mut SavedEnvs<WorkerEnvState>) -> Result<(), VectorError> {
        let mut states = vec![Vec::new(); self.envs.len()];
        for env in &mut saved.envs {
            states[env.env_id] = mem::take(&mut env.state);
        }
        let workers = self.workers_mut();
        let parts: Vec<Range<usize>> = workers.envs().collect();
        for (index, part) in parts.into_iter().enumerate() {
            let states = &states[part];
            let sizes = states.iter().map(Vec::len).collect();
            let asked = workers.ask(index, &Restore { sizes }, &states.concat());
            if let Err(fault) = asked {
                return Err(match fault {
                    Fault::Env { .. } => self.bad_state(fault),
                    fault => self.record_fault(fault),
                });
            }
        }
        Ok(())
    }

    /// Returns the error of a state that Python cannot read.
    fn bad_state(&self, fault: Fault) -> VectorError {
        match self.to_vector_error(fault) {
            VectorError::Env { env, error: EnvError::Failed(reason) } => {
                VectorError::BadSnapshot(format!("environment {env}: {reason}"))
            }
            error => error,
        }
    }
}

/// Joins snapshots of several vector environments, each of whose batches hold all environments, into the snapshot of a
/// single vector environment with all their environments in this order.
pub fn join_snapshots(parts: &[Vec<u8>]) -> Result<Vec<u8>, VectorError> {
    snapshot::join_snapshots::<WorkerEnvState>(parts)
}

/// Returns the part of a snapshot that belongs to some environments, for a vector environment that has only these. The
/// snapshot must come from a vector environment whose batches hold all environments.
pub fn part_of_snapshot(snapshot: &[u8], envs: Range<usize>) -> Result<Vec<u8>, VectorError> {
    snapshot::part_of_snapshot::<WorkerEnvState>(snapshot, envs)
}

/// Returns the state of every environment, pickled.
fn states_of(workers: &mut Workers) -> Result<Vec<Vec<u8>>, Fault> {
    let parts: Vec<Range<usize>> = workers.envs().collect();
    for index in 0..parts.len() {
        workers.send_frame(index, &Snapshot {}, &[])?;
    }
    let mut states = Vec::new();
    let mut failed = None;
    for (index, part) in parts.into_iter().enumerate() {
        // All replies are read, so that none is left for the next call.
        match states_of_worker(workers, index, part.len()) {
            Ok(of_worker) => states.extend(of_worker),
            Err(fault) => {
                failed.get_or_insert(fault);
            }
        }
    }
    failed.map_or(Ok(states), Err)
}

/// Reads the reply of a worker with `num_envs` environments: their states.
fn states_of_worker(workers: &mut Workers, index: usize, num_envs: usize) -> Result<Vec<Vec<u8>>, Fault> {
    let reply = workers.reply(index)?;
    let sizes = reply.value().map_or_else(|_| Vec::new(), |Sizes { sizes }| sizes);
    if sizes.len() != num_envs {
        return Err(workers.end_after_bad_reply(index));
    }
    split_states(&sizes, &reply.bytes).ok_or_else(|| workers.end_after_bad_reply(index))
}

/// Splits bytes into states of these sizes. Returns nothing unless the bytes are exactly these states.
fn split_states(sizes: &[usize], bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut rest = bytes;
    let mut states = Vec::new();
    for &size in sizes {
        let (state, others) = rest.split_at_checked(size)?;
        states.push(state.to_vec());
        rest = others;
    }
    rest.is_empty().then_some(states)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_split_only_if_their_sizes_add_up() {
        assert_eq!(split_states(&[1, 0, 2], b"abc"), Some(vec![b"a".to_vec(), Vec::new(), b"bc".to_vec()]));
        for sizes in [&[1, 3][..], &[1, 1], &[], &[usize::MAX, 3]] {
            assert_eq!(split_states(sizes, b"abc"), None, "{sizes:?}");
        }
    }
}
