//! Communication between the processes of a cluster.

use std::panic::resume_unwind;
use std::thread;

use thiserror::Error;

/// The connection of a process to the others of a cluster. Its methods are collective: they return once every process
/// has called them, in the same order.
pub trait Communicator: Send + Sync {
    /// Returns the index of this process, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of processes.
    fn size(&self) -> usize;

    /// Replaces `values`, which have the same length in every process, by their sums over all processes.
    fn all_reduce(&self, values: &mut [f32], order: SumOrder) -> Result<(), CommunicationError>;

    /// Like [`all_reduce`](Self::all_reduce), but runs `work` on this thread while another thread computes the sum.
    /// `work` must not communicate.
    fn all_reduce_during(
        &self,
        values: &mut [f32],
        order: SumOrder,
        work: &mut dyn FnMut(),
    ) -> Result<(), CommunicationError> {
        thread::scope(|scope| {
            let sum = scope.spawn(|| self.all_reduce(values, order));
            work();
            sum.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Returns the bytes that every process passes, in rank order. Lengths may differ.
    fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommunicationError>;
}

/// The order of the terms of a sum over all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumOrder {
    /// Along a binary tree, in the same way as [`TreeSum`](super::TreeSum), so that the result does not depend on the
    /// number of processes, which must be a power of two.
    Tree,
    /// The fastest order. All processes get the same result.
    Any,
}

/// An error: the processes of a cluster cannot communicate.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the processes cannot communicate: {0}")]
pub struct CommunicationError(pub String);

#[cfg(test)]
pub(crate) mod testing {
    use std::sync::{Arc, Barrier, Mutex};
    use std::thread;

    use super::super::TreeSum;
    use super::*;

    /// Threads of this process in place of processes.
    struct Threads {
        rank: usize,
        shared: Arc<Shared>,
    }

    struct Shared {
        barrier: Barrier,
        messages: Mutex<Vec<Vec<u8>>>,
    }

    impl Communicator for Threads {
        fn rank(&self) -> usize {
            self.rank
        }

        fn size(&self) -> usize {
            self.shared.messages.lock().unwrap().len()
        }

        fn all_reduce(&self, values: &mut [f32], _: SumOrder) -> Result<(), CommunicationError> {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let mut sum = TreeSum::default();
            for message in self.all_gather(&bytes)? {
                sum.push(
                    message
                        .chunks_exact(4)
                        .map(|value| f32::from_le_bytes(value.try_into().unwrap()))
                        .collect(),
                );
            }
            values.copy_from_slice(&sum.finish());
            Ok(())
        }

        fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommunicationError> {
            self.shared.messages.lock().unwrap()[self.rank] = bytes.to_vec();
            self.shared.barrier.wait();
            let messages = self.shared.messages.lock().unwrap().clone();
            // No thread may write its next message before all have read these.
            self.shared.barrier.wait();
            Ok(messages)
        }
    }

    /// Runs `work` for each of several ranks at the same time. Returns the results in the order of the ranks.
    pub(crate) fn together<T: Send>(size: usize, work: impl Fn(Arc<dyn Communicator>) -> T + Sync) -> Vec<T> {
        let shared =
            Arc::new(Shared { barrier: Barrier::new(size), messages: Mutex::new(vec![Vec::new(); size]) });
        thread::scope(|scope| {
            let start = |rank| {
                let communicator = Arc::new(Threads { rank, shared: Arc::clone(&shared) });
                let work = &work;
                scope.spawn(move || work(communicator))
            };
            let threads: Vec<_> = (0..size).map(start).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    /// A communicator whose sums complete only after the concurrent work has begun.
    struct Slow(Barrier);

    impl Communicator for Slow {
        fn rank(&self) -> usize {
            0
        }

        fn size(&self) -> usize {
            2
        }

        fn all_reduce(&self, _: &mut [f32], _: SumOrder) -> Result<(), CommunicationError> {
            self.0.wait();
            Ok(())
        }

        fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommunicationError> {
            Ok(vec![bytes.to_vec(); 2])
        }
    }

    #[test]
    fn work_runs_during_a_sum() {
        let slow = Slow(Barrier::new(2));
        let mut is_done = false;
        let mut work = || {
            slow.0.wait();
            is_done = true;
        };
        slow.all_reduce_during(&mut [], SumOrder::Tree, &mut work).unwrap();
        assert!(is_done);
    }
}
