//! Training of one learner by several processes, with the same result for any number of processes.
//!
//! The environments are divided into a fixed number of *shards* of consecutive environments, and every process owns
//! consecutive shards. A process steps its own environments and stores their observations. Everything else, such as
//! rewards and actions, is exchanged once per rollout, or after every step if there is a replay buffer. Every process
//! can then compute the advantages, minibatches, priorities, schedules and statistics of the whole batch. Each process
//! computes the gradients of a minibatch for its own shards, one shard at a time. The gradients of all shards are added
//! along a binary tree that does not depend on the number of processes.
//!
//! The number of shards affects rounding: a network evaluates the rows of each shard separately, and gradients are
//! summed in a different order. A run therefore keeps its number of shards.

mod communicator;
mod tree;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use kernels::ObservationLayout;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use settings::ConfigError;

pub use communicator::{CommunicationError, Communicator, SumOrder};
pub use tree::TreeSum;

/// The largest number of shards.
pub const MAX_SHARDS: usize = 1024;

/// The processes that train a learner together, and the shards of its environments.
#[derive(Clone)]
pub struct Cluster {
    /// The communicator, or `None` for a single process.
    communicator: Option<Arc<dyn Communicator>>,
    shards: usize,
    order: SumOrder,
}

/// An error: the number of processes does not fit the number of shards.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{shards} {} cannot be divided among {processes} {}: both must be powers of two, with processes <= shards <= \
     {MAX_SHARDS}",
    if *.shards == 1 { "shard" } else { "shards" },
    if *.processes == 1 { "process" } else { "processes" }
)]
pub struct BadClusterSize {
    /// The number of processes.
    pub processes: usize,
    /// The number of shards.
    pub shards: usize,
}

impl Default for Cluster {
    /// A single process with a single shard.
    fn default() -> Self {
        Self { communicator: None, shards: 1, order: SumOrder::Tree }
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "rank {} of {} with {} shards", self.rank(), self.num_processes(), self.shards)
    }
}

impl Cluster {
    /// Creates the cluster of the processes of a communicator, or of this process alone. `shards` must be a
    /// [valid](Self::check_shards) number.
    pub fn new(communicator: Option<Arc<dyn Communicator>>, shards: usize) -> Result<Self, BadClusterSize> {
        let cluster = Self { communicator, shards, order: SumOrder::Tree };
        let processes = cluster.num_processes();
        if is_shard_count(shards) && processes.is_power_of_two() && processes <= shards {
            Ok(cluster)
        } else {
            Err(BadClusterSize { processes, shards })
        }
    }

    /// Creates a cluster in which the environments of each process form one shard. This is faster, but the result
    /// depends on the number of processes and on the order of their messages.
    pub fn inexact(communicator: Option<Arc<dyn Communicator>>) -> Self {
        let cluster = Self { communicator, shards: 1, order: SumOrder::Any };
        Self { shards: cluster.num_processes(), ..cluster }
    }

    /// Fails unless `num_envs` environments can be divided into `shards` shards.
    pub fn check_shards(shards: usize, num_envs: usize) -> Result<(), ConfigError> {
        let allowed =
            format!("a power of two up to {MAX_SHARDS}, at most the number of environments ({num_envs})");
        ConfigError::unless(is_shard_count(shards) && shards <= num_envs, "shards", &shards, allowed)
    }

    /// Fails if there are more shards than environments.
    pub(crate) fn check_envs(&self, num_envs: usize) -> Result<(), ConfigError> {
        let allowed = format!("at most {num_envs}, the number of environments");
        ConfigError::unless(self.shards <= num_envs, "shards", &self.shards, allowed)
    }

    /// Returns the index of this process, from 0.
    pub fn rank(&self) -> usize {
        self.communicator.as_ref().map_or(0, |communicator| communicator.rank())
    }

    /// Returns the number of processes.
    pub fn num_processes(&self) -> usize {
        self.communicator.as_ref().map_or(1, |communicator| communicator.size())
    }

    /// Returns the number of shards.
    pub fn shards(&self) -> usize {
        self.shards
    }

    /// Returns the environments of this process among `num_envs` environments.
    pub fn own_envs(&self, num_envs: usize) -> Range<usize> {
        self.envs_of(self.rank(), num_envs)
    }

    /// Returns the environments of a process.
    pub fn envs_of(&self, rank: usize, num_envs: usize) -> Range<usize> {
        let shards = self.shards_of(rank);
        self.first_env_of_shard(shards.start, num_envs)..self.first_env_of_shard(shards.end, num_envs)
    }

    /// Returns the bytes that every process passes, in rank order.
    pub fn all_gather(&self, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, CommunicationError> {
        match &self.communicator {
            Some(communicator) => communicator.all_gather(&bytes),
            None => Ok(vec![bytes]),
        }
    }

    /// Like [`all_gather`](Self::all_gather), for values.
    pub(crate) fn all_gather_values<T: Serialize + DeserializeOwned>(
        &self,
        value: &T,
    ) -> Result<Vec<T>, CommunicationError> {
        let damaged = |error: postcard::Error| CommunicationError(format!("a message is damaged ({error})"));
        let messages = self.all_gather(postcard::to_stdvec(value).map_err(damaged)?)?;
        messages.iter().map(|bytes| postcard::from_bytes(bytes)).collect::<Result<_, _>>().map_err(damaged)
    }

    /// Returns true if there is a single shard, and so a single process.
    pub fn has_single_shard(&self) -> bool {
        self.shards == 1
    }

    /// Returns the environments of each shard of this process.
    pub(crate) fn own_shards(&self, num_envs: usize) -> Vec<Range<usize>> {
        self.shards_of(self.rank())
            .map(|shard| {
                self.first_env_of_shard(shard, num_envs)..self.first_env_of_shard(shard + 1, num_envs)
            })
            .collect()
    }

    /// Splits rows of this process's environments, which are in the order of the environments, by shard. Shards without
    /// rows are left out. `env` returns the environment of a row.
    pub(crate) fn split<'a, R>(
        &self,
        rows: &'a [R],
        env: impl Fn(&R) -> usize,
        num_envs: usize,
    ) -> Vec<&'a [R]> {
        let mut remaining = rows;
        let mut parts = Vec::new();
        for envs in self.own_shards(num_envs) {
            let (part, later) = remaining.split_at(remaining.partition_point(|row| env(row) < envs.end));
            if !part.is_empty() {
                parts.push(part);
            }
            remaining = later;
        }
        parts
    }

    /// Returns true if the backward pass for observations of `layout` is [split](crate::engine::backward), so that most
    /// of the gradient is summed over processes during the rest of the pass.
    pub(crate) fn splits_backward_pass(&self, layout: ObservationLayout) -> bool {
        self.num_processes() > 1 && matches!(layout, ObservationLayout::Images { .. })
    }

    /// Replaces a vector by its sum over all processes, while `work` runs.
    pub(crate) fn all_reduce_during<T>(
        &self,
        vector: &mut [f32],
        work: impl FnOnce() -> T,
    ) -> Result<T, CommunicationError> {
        let Some(communicator) = self.communicator.as_ref().filter(|_| !vector.is_empty()) else {
            return Ok(work());
        };
        let (mut work, mut result) = (Some(work), None);
        communicator
            .all_reduce_during(vector, self.order, &mut || result = work.take().map(|work| work()))?;
        Ok(result.expect("the work has run"))
    }

    /// Replaces a vector by its sum over all processes.
    pub(crate) fn all_reduce(&self, vector: &mut [f32]) -> Result<(), CommunicationError> {
        match &self.communicator {
            Some(communicator) => communicator.all_reduce(vector, self.order),
            None => Ok(()),
        }
    }

    /// Returns the shards of a process.
    fn shards_of(&self, rank: usize) -> Range<usize> {
        let count = self.shards / self.num_processes();
        rank * count..(rank + 1) * count
    }

    /// Returns the first environment of a shard.
    fn first_env_of_shard(&self, shard: usize, num_envs: usize) -> usize {
        shard * num_envs / self.shards
    }
}

/// Returns true if environments may be divided into `shards` shards.
fn is_shard_count(shards: usize) -> bool {
    shards.is_power_of_two() && shards <= MAX_SHARDS
}

#[cfg(test)]
mod tests;
