//! Communication over MPI. Only one thread calls MPI at a time.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use algorithms::cluster::{CommunicationError, Communicator, SumOrder, TreeSum};
use anyhow::{Context, Result, ensure};
use ferrompi::{Communicator as World, Mpi, ReduceOp, Request, ThreadLevel};

use super::{Peers, Place};

/// The tag of messages from the leader.
const TAG: i32 = 1;
/// The time for which a process busy-waits for a message from the leader.
const BUSY: Duration = Duration::from_millis(2);
/// The polling interval after that.
const NAP: Duration = Duration::from_millis(1);

/// The processes of `MPI_COMM_WORLD`.
pub(super) struct Processes {
    world: World,
    place: Place,
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
    let place = Place { local_rank: machine.rank() as usize, local_size: machine.size() as usize };
    Ok((mpi, Processes { world, place }))
}

impl Processes {
    /// Adds vectors along a tree. Each process adds one part of them on behalf of all.
    fn add_along_tree(&self, values: &mut [f32]) -> ferrompi::Result<()> {
        let parts = Parts::of(values.len(), self.size());
        let own = parts.counts[self.rank()] as usize;
        let (counts, places) = (vec![own as i32; self.size()], Parts::even(own, self.size()));
        let mut received = vec![0.0; own * self.size()];
        ferrompi::scope(|scope| {
            let (sent, got) = (&*values, &mut received);
            complete(self.world.ialltoallv(
                scope,
                sent,
                &parts.counts,
                &parts.places,
                got,
                &counts,
                &places,
            )?)
        })?;
        let mut sum = TreeSum::default();
        for process in 0..self.size() {
            sum.push(received[process * own..(process + 1) * own].to_vec());
        }
        let sum = sum.finish();
        ferrompi::scope(|scope| {
            complete(self.world.iallgatherv(scope, &sum, values, &parts.counts, &parts.places)?)
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
    counts: Vec<i32>,
    places: Vec<i32>,
}

impl Parts {
    /// Divides `len` elements.
    fn of(len: usize, size: usize) -> Self {
        let border = |part: usize| part * len / size;
        let counts = (0..size).map(|part| (border(part + 1) - border(part)) as i32).collect();
        Self { counts, places: (0..size).map(|part| border(part) as i32).collect() }
    }

    /// Returns the places of parts of `len` elements each.
    fn even(len: usize, size: usize) -> Vec<i32> {
        (0..size).map(|part| (part * len) as i32).collect()
    }
}

impl Communicator for Processes {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn size(&self) -> usize {
        self.world.size() as usize
    }

    fn sum(&self, values: &mut [f32], order: SumOrder) -> Result<(), CommunicationError> {
        let sum = match order {
            SumOrder::Tree => self.add_along_tree(values),
            SumOrder::Any => ferrompi::scope(|scope| {
                complete(self.world.iallreduce_inplace(scope, values, ReduceOp::Sum)?)
            }),
        };
        sum.map_err(error)
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CommunicationError> {
        let too_long = |_| CommunicationError(format!("a message of {} bytes is too long", own.len()));
        let mut counts = vec![0; self.size()];
        self.world.allgather(&[i32::try_from(own.len()).map_err(too_long)?], &mut counts).map_err(error)?;
        let places = counts.iter().scan(0_i32, |end, &count| {
            let place = *end;
            *end = end.checked_add(count)?;
            Some(place)
        });
        let places: Vec<i32> = places.collect();
        if places.len() < counts.len() {
            return Err(CommunicationError("messages of more than 2 GiB are too long".to_owned()));
        }
        let mut all = vec![0; counts.iter().map(|&count| count as usize).sum()];
        self.world.allgatherv(own, &mut all, &counts, &places).map_err(error)?;
        let mut rest = all.as_slice();
        let split = |&count: &i32| {
            let own;
            (own, rest) = rest.split_at(count as usize);
            own.to_vec()
        };
        Ok(counts.iter().map(split).collect())
    }
}

impl Peers for Processes {
    fn place(&self) -> Place {
        self.place
    }

    fn part(&self, size: usize) -> Result<Option<Arc<dyn Communicator>>, CommunicationError> {
        let color = (self.rank() < size).then_some(0);
        let part = self.world.split(color, self.world.rank()).map_err(error)?;
        Ok(part.map(|world| Arc::new(Self { world, place: self.place }) as Arc<dyn Communicator>))
    }

    fn tell(&self, message: &[u8]) -> Result<(), CommunicationError> {
        (1..self.world.size()).try_for_each(|rank| self.world.send(message, rank, TAG)).map_err(error)
    }

    fn listen(&self) -> Result<Vec<u8>, CommunicationError> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.world.iprobe::<u8>(0, TAG).map_err(error)? {
                let mut message = vec![0; status.count.unwrap_or(0)];
                self.world.recv(&mut message, 0, TAG).map_err(error)?;
                return Ok(message);
            }
            if began.elapsed() > BUSY { thread::sleep(NAP) } else { thread::yield_now() }
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
