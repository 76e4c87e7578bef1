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

/// The number of processes does not fit the number of shards.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{processes} processes cannot share {shards} {}: both must be powers of two, the number of processes at most \
     the number of shards, and the number of shards at most {MAX_SHARDS} and the number of environments",
    if *.shards == 1 { "shard" } else { "shards" }
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
        let are_possible = shards.is_power_of_two() && shards <= MAX_SHARDS;
        if are_possible && processes.is_power_of_two() && processes <= shards {
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
        let is_possible = shards.is_power_of_two() && shards <= MAX_SHARDS && shards <= num_envs;
        let allowed =
            format!("a power of two up to {MAX_SHARDS}, at most the number of environments ({num_envs})");
        ConfigError::unless(is_possible, "shards", &shards, allowed)
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
        let shards = self.shards / self.num_processes();
        self.border(rank * shards, num_envs)..self.border((rank + 1) * shards, num_envs)
    }

    /// Returns the bytes that every process passes, in rank order.
    pub fn gather(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, CommunicationError> {
        match &self.communicator {
            Some(communicator) => communicator.gather(&own),
            None => Ok(vec![own]),
        }
    }

    /// Like [`gather`](Self::gather), for values.
    pub(crate) fn gather_values<T: Serialize + DeserializeOwned>(
        &self,
        own: &T,
    ) -> Result<Vec<T>, CommunicationError> {
        let damaged = |error: postcard::Error| CommunicationError(format!("a message is damaged ({error})"));
        let all = self.gather(postcard::to_stdvec(own).map_err(damaged)?)?;
        all.iter().map(|bytes| postcard::from_bytes(bytes)).collect::<Result<_, _>>().map_err(damaged)
    }

    /// Returns true if there is a single shard, and so a single process.
    pub fn is_whole(&self) -> bool {
        self.shards == 1
    }

    /// Returns the environments of each shard of this process.
    pub(crate) fn own_shards(&self, num_envs: usize) -> Vec<Range<usize>> {
        let count = self.shards / self.num_processes();
        let first = self.rank() * count;
        (first..first + count)
            .map(|shard| self.border(shard, num_envs)..self.border(shard + 1, num_envs))
            .collect()
    }

    /// Splits rows of this process's environments, which are in the order of the environments, by shard.
    /// `env` returns the environment of a row.
    pub(crate) fn split<'a, R>(
        &self,
        rows: &'a [R],
        env: impl Fn(&R) -> usize,
        num_envs: usize,
    ) -> Vec<&'a [R]> {
        let mut rest = rows;
        let parts = self.own_shards(num_envs).into_iter().map(|envs| {
            let own;
            (own, rest) = rest.split_at(rest.partition_point(|row| env(row) < envs.end));
            own
        });
        parts.filter(|rows| !rows.is_empty()).collect()
    }

    /// Returns true if the backward pass for observations of `layout` [pauses](crate::engine::backward), so that most
    /// of the gradient is summed over processes during the rest of the pass.
    pub(crate) fn pauses(&self, layout: ObservationLayout) -> bool {
        self.num_processes() > 1 && matches!(layout, ObservationLayout::Images { .. })
    }

    /// Replaces a vector by its sum over all processes, while `work` runs.
    pub(crate) fn add_during<T>(
        &self,
        vector: &mut [f32],
        work: impl FnOnce() -> T,
    ) -> Result<T, CommunicationError> {
        let Some(communicator) = self.communicator.as_ref().filter(|_| !vector.is_empty()) else {
            return Ok(work());
        };
        let (mut work, mut result) = (Some(work), None);
        communicator.sum_during(vector, self.order, &mut || result = work.take().map(|work| work()))?;
        Ok(result.expect("the work has run"))
    }

    /// Replaces a vector by its sum over all processes.
    pub(crate) fn add_vectors(&self, vector: &mut [f32]) -> Result<(), CommunicationError> {
        match &self.communicator {
            Some(communicator) => communicator.sum(vector, self.order),
            None => Ok(()),
        }
    }

    /// Returns the first environment of a shard.
    fn border(&self, shard: usize, num_envs: usize) -> usize {
        shard * num_envs / self.shards
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod unit {
    use super::communicator::testing::together;
    use super::*;

    fn cluster(communicator: Arc<dyn Communicator>, shards: usize) -> Cluster {
        Cluster::new(Some(communicator), shards).unwrap()
    }

    #[test]
    fn processes_own_consecutive_shards_that_cover_all_environments() {
        for processes in [1, 2, 4, 8] {
            let shares = together(processes, |communicator| {
                let cluster = cluster(communicator, 8);
                (cluster.own_envs(19), cluster.own_shards(19))
            });
            let shards: Vec<Range<usize>> = shares.iter().flat_map(|(_, shards)| shards.clone()).collect();
            assert_eq!(shards.len(), 8);
            assert!(shards.windows(2).all(|pair| pair[0].end == pair[1].start), "{shards:?}");
            assert!(shards.iter().all(|shard| [2, 3].contains(&shard.len())), "{shards:?}");
            for (envs, shards) in shares {
                assert_eq!(envs, shards[0].start..shards[shards.len() - 1].end);
            }
        }
    }

    #[test]
    fn rows_are_split_by_shard() {
        let cluster = Cluster::new(None, 4).unwrap();
        let rows = [0, 1, 6, 7];
        assert_eq!(cluster.split(&rows, |env| *env, 8), [&rows[..2], &rows[2..]]);
        assert_eq!(Cluster::default().split(&rows, |env| *env, 8), [&rows[..]]);
    }

    #[test]
    fn impossible_numbers_of_processes_and_shards_are_refused() {
        let errors = together(3, |communicator| Cluster::new(Some(communicator), 8).unwrap_err());
        assert_eq!(errors[0], BadClusterSize { processes: 3, shards: 8 });
        for shards in [0, 3, 2048] {
            assert_eq!(Cluster::new(None, shards).unwrap_err(), BadClusterSize { processes: 1, shards });
        }
        assert!(Cluster::check_shards(8, 8).is_ok());
        for (shards, num_envs) in [(0, 8), (3, 8), (8, 7), (2048, 4096)] {
            assert!(Cluster::check_shards(shards, num_envs).is_err(), "{shards} shards");
        }
    }
}
