//! Communication over MPI. Only one thread calls MPI at a time.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use algorithms::cluster::{CommunicationError, Communicator, SumOrder, TreeSum};
use anyhow::{Context, Result, ensure};
use ferrompi::{Communicator as World, Mpi, ReduceOp, Request, ThreadLevel};

use super::{LocalRank, Peers};

/// The tag of messages from the leader.
const TAG: i32 = 1;
/// The time for which a process busy-waits for a message from the leader.
const BUSY_WAIT: Duration = Duration::from_millis(2);
/// The polling interval after that.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The processes of `MPI_COMM_WORLD`.
pub(super) struct Processes {
    world: World,
    local_rank: LocalRank,
}

/// Initialises MPI. It is finalised when the handle is dropped.
pub(super) fn connect() -> Result<(Mpi, Processes)> {
    let mpi = Mpi::init_thread(ThreadLevel::Serialized).context("MPI cannot be initialised")?;
    let level = mpi.thread_level();
    ensure!(
        level >= ThreadLevel::Serialized,
        "this MPI library supports calls only from the main thread ({level:?})"
    );
    let world = mpi.world();
    let machine = world.split_shared().context("cannot count the processes on this machine")?;
    let local_rank = LocalRank { rank: machine.rank() as usize, size: machine.size() as usize };
    Ok((mpi, Processes { world, local_rank }))
}

impl Processes {
    /// Adds vectors along a tree. Each process adds one part of them on behalf of all.
    fn add_along_tree(&self, values: &mut [f32]) -> ferrompi::Result<()> {
        let parts = Parts::divide(values.len(), self.size());
        let part_len = parts.counts[self.rank()] as usize;
        let received_parts = Parts::equal(part_len, self.size());
        let mut received = vec![0.0; part_len * self.size()];
        ferrompi::scope(|scope| {
            let (sent, received) = (&*values, &mut received);
            complete(self.world.ialltoallv(
                scope,
                sent,
                &parts.counts,
                &parts.displacements,
                received,
                &received_parts.counts,
                &received_parts.displacements,
            )?)
        })?;
        let mut sum = TreeSum::default();
        for process in 0..self.size() {
            sum.push(received[process * part_len..(process + 1) * part_len].to_vec());
        }
        let sum = sum.finish();
        ferrompi::scope(|scope| {
            complete(self.world.iallgatherv(scope, &sum, values, &parts.counts, &parts.displacements)?)
        })
    }
}

/// Waits for a request and yields to other threads meanwhile: a blocking MPI call would occupy the core.
fn complete(mut request: Request<'_>) -> ferrompi::Result<()> {
    while request.test()?.is_none() {
        thread::yield_now();
    }
    Ok(())
}

/// Consecutive parts of a vector, one for each process.
struct Parts {
    /// The number of elements of each part.
    counts: Vec<i32>,
    /// The index of the first element of each part.
    displacements: Vec<i32>,
}

impl Parts {
    /// Divides `len` elements among `size` processes.
    fn divide(len: usize, size: usize) -> Self {
        let start = |part: usize| part * len / size;
        let counts = (0..size).map(|part| (start(part + 1) - start(part)) as i32).collect();
        Self { counts, displacements: (0..size).map(|part| start(part) as i32).collect() }
    }

    /// Returns parts of `len` elements for each of `size` processes.
    fn equal(len: usize, size: usize) -> Self {
        let displacements = (0..size).map(|part| (part * len) as i32).collect();
        Self { counts: vec![len as i32; size], displacements }
    }
}

impl Communicator for Processes {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn size(&self) -> usize {
        self.world.size() as usize
    }

    fn all_reduce(&self, values: &mut [f32], order: SumOrder) -> Result<(), CommunicationError> {
        let sum = match order {
            SumOrder::Tree => self.add_along_tree(values),
            SumOrder::Any => ferrompi::scope(|scope| {
                complete(self.world.iallreduce_inplace(scope, values, ReduceOp::Sum)?)
            }),
        };
        sum.map_err(error)
    }

    fn all_gather(&self, message: &[u8]) -> Result<Vec<Vec<u8>>, CommunicationError> {
        let too_long = |_| CommunicationError(format!("a message of {} bytes is too long", message.len()));
        let count = i32::try_from(message.len()).map_err(too_long)?;
        let mut counts = vec![0; self.size()];
        self.world.allgather(&[count], &mut counts).map_err(error)?;
        let displacements = counts.iter().scan(0_i32, |end, &count| {
            let displacement = *end;
            *end = end.checked_add(count)?;
            Some(displacement)
        });
        let displacements: Vec<i32> = displacements.collect();
        if displacements.len() < counts.len() {
            return Err(CommunicationError("messages of more than 2 GiB are too long".to_owned()));
        }
        let mut gathered = vec![0; counts.iter().map(|&count| count as usize).sum()];
        self.world.allgatherv(message, &mut gathered, &counts, &displacements).map_err(error)?;
        let messages = displacements.iter().zip(&counts);
        Ok(messages.map(|(&start, &count)| gathered[start as usize..][..count as usize].to_vec()).collect())
    }
}

impl Peers for Processes {
    fn local_rank(&self) -> LocalRank {
        self.local_rank
    }

    fn part(&self, size: usize) -> Result<Option<Arc<dyn Communicator>>, CommunicationError> {
        let color = (self.rank() < size).then_some(0);
        let part = self.world.split(color, self.world.rank()).map_err(error)?;
        Ok(part.map(|world| Arc::new(Self { world, local_rank: self.local_rank }) as Arc<dyn Communicator>))
    }

    fn broadcast(&self, message: &[u8]) -> Result<(), CommunicationError> {
        (1..self.world.size()).try_for_each(|rank| self.world.send(message, rank, TAG)).map_err(error)
    }

    fn receive_broadcast(&self) -> Result<Vec<u8>, CommunicationError> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.world.iprobe::<u8>(0, TAG).map_err(error)? {
                let mut message = vec![0; status.count.unwrap_or(0)];
                self.world.recv(&mut message, 0, TAG).map_err(error)?;
                return Ok(message);
            }
            if began.elapsed() > BUSY_WAIT { thread::sleep(POLL_INTERVAL) } else { thread::yield_now() }
        }
    }

    fn abort(&self, status: u8) -> ! {
        self.world.abort(status.into())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn error(error: ferrompi::Error) -> CommunicationError {
    CommunicationError(error.to_string())
}
