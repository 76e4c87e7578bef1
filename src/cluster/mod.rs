//! The processes of a job that train one agent together, started by a launcher such as `mpirun` or `srun`.
//!
//! The process of rank 0 *leads*: it alone prints, writes the run directory and evaluates. The others follow it.

mod launcher;
#[cfg(feature = "mpi")]
mod mpi;

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use algorithms::LearnerError;
use algorithms::cluster::{Cluster, CommunicationError, Communicator};
use anyhow::{Context, Error, Result, ensure};

use crate::failure::{Interrupted, sentence, status};
use crate::output::{counted, notice};

/// The default number of shards of a run with several processes and enough environments.
const SHARDS: usize = 8;
/// The time that the other processes give the leader to report an error that occurs in all processes.
const REPORT_DELAY: Duration = Duration::from_secs(1);
/// The time that they give it to save the batch that led to NaN or infinity.
const DIVERGENCE_DELAY: Duration = Duration::from_mins(2);

/// The other processes of the job.
static PEERS: OnceLock<Arc<dyn Peers>> = OnceLock::new();

/// The connection of a process to the others of its job.
pub(crate) trait Peers: Communicator {
    /// Returns the rank of this process among those of the job on its machine, and their number.
    fn local_rank(&self) -> LocalRank;

    /// Returns the communicator of the first `size` processes, if this is one of them. All processes call this.
    fn part(&self, size: usize) -> Result<Option<Arc<dyn Communicator>>, CommunicationError>;

    /// Sends a message from the leader to all others.
    fn broadcast(&self, message: &[u8]) -> Result<(), CommunicationError>;

    /// Waits for the next message of the leader, without keeping a core busy.
    fn receive_broadcast(&self) -> Result<Vec<u8>, CommunicationError>;

    /// Ends all processes of the job.
    fn abort(&self, status: u8) -> !;
}

/// The rank of a process among the processes of the job on its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalRank {
    pub(crate) rank: usize,
    /// The number of these processes.
    pub(crate) size: usize,
}

/// A connection to the other processes of the job. It must be [left](Self::leave) before the program ends.
pub(crate) struct Job {
    #[cfg(feature = "mpi")]
    _mpi: Option<ferrompi::Mpi>,
}

impl Job {
    /// Connects this process to the others of its job, if a launcher has started it as part of one.
    pub(crate) fn join() -> Result<Self> {
        #[cfg(feature = "mpi")]
        {
            if !launcher::is_present() {
                launcher::check_size(1)?;
                return Ok(Self { _mpi: None });
            }
            let (mpi, peers) = mpi::connect()?;
            launcher::check_size(peers.size())?;
            end_at_panics(peers.rank());
            PEERS.get_or_init(|| Arc::new(peers));
            Ok(Self { _mpi: Some(mpi) })
        }
        #[cfg(not(feature = "mpi"))]
        {
            launcher::check_size(1)?;
            Ok(Self {})
        }
    }

    /// Leaves the job. After an error the whole job ends at once; otherwise the processes end together.
    #[expect(clippy::unused_self, reason = "the connection closes at the end")]
    pub(crate) fn leave(self, outcome: &Result<()>) -> Result<()> {
        let Some(peers) = peers() else { return Ok(()) };
        if let Err(error) = outcome
            && !error.is::<Interrupted>()
        {
            fail(peers, error);
        }
        if is_follower() {
            peers.receive_broadcast()?;
        } else {
            peers.broadcast(&[])?;
        }
        Ok(())
    }
}

/// Ends the process after a panic. Otherwise, dropping the connection would wait for the other processes, which wait
/// for this one.
#[cfg(feature = "mpi")]
fn end_at_panics(rank: usize) {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        notice(format_args!("rank {rank} panicked"));
        report(panic);
        std::process::exit(101);
    }));
}

/// Reports an error and ends the job. An error that occurs in all processes, such as a missing file, is reported once.
fn fail(peers: &dyn Peers, error: &Error) -> ! {
    if peers.rank() > 0 {
        thread::sleep(if is_divergence(error) { DIVERGENCE_DELAY } else { REPORT_DELAY });
    }
    notice(format_args!("error: rank {} of {}: {}", peers.rank(), peers.size(), sentence(error)));
    peers.abort(status(error))
}

/// Returns true if NaN or infinity caused an error.
fn is_divergence(error: &Error) -> bool {
    matches!(error.downcast_ref(), Some(LearnerError::Diverged(_) | LearnerError::NonFinite { .. }))
}

/// Returns the connection to the other processes, if there are any.
pub(crate) fn peers() -> Option<&'static dyn Peers> {
    PEERS.get().map(AsRef::as_ref).filter(|peers| peers.size() > 1)
}

/// Returns true if another process leads.
pub(crate) fn is_follower() -> bool {
    peers().is_some_and(|peers| peers.rank() > 0)
}

/// Returns the number of processes of the job on this machine.
pub(crate) fn local_size() -> usize {
    PEERS.get().map_or(1, |peers| peers.local_rank().size)
}

/// Returns the index of this process among those of the job on this machine, if there is a job.
#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "cuda"))]
pub(crate) fn local_rank() -> Option<usize> {
    PEERS.get().map(|peers| peers.local_rank().rank)
}

/// Runs `work`, such as a download, in the leader first, and then in the other processes.
pub(crate) fn leader_first<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(peers) = peers() else { return work() };
    if peers.rank() > 0 {
        peers.receive_broadcast()?;
        return work();
    }
    let result = work()?;
    peers.broadcast(&[])?;
    Ok(result)
}

/// Returns the number of shards of a new run with `num_envs` environments that does not configure it.
pub(crate) fn default_shards(num_envs: usize) -> usize {
    let has_launcher = PEERS.get().is_some();
    if has_launcher { 1 << SHARDS.min(num_envs).ilog2() } else { 1 }
}

/// Returns the choice of the leader among `choices`. The other processes ignore their `local_choice`.
pub(crate) fn leader_choice<T: Copy + PartialEq>(local_choice: T, choices: &[T]) -> Result<T> {
    let Some(peers) = peers() else { return Ok(local_choice) };
    if peers.rank() > 0 {
        let message = peers.receive_broadcast()?;
        let choice = message.first().and_then(|&index| choices.get(usize::from(index)));
        return choice.copied().context("the leader has chosen what this process does not know");
    }
    let index = choices.iter().position(|choice| *choice == local_choice).expect("one of the choices");
    peers.broadcast(&[index as u8])?;
    Ok(local_choice)
}

/// Returns the cluster of the processes that train `num_envs` environments in a number of shards. `None` means a shard
/// for each process.
pub(crate) fn connect(shards: Option<usize>, num_envs: usize) -> Result<Cluster> {
    let communicator = PEERS.get().map(|peers| Arc::clone(peers) as Arc<dyn Communicator>);
    let Some(shards) = shards else {
        let cluster = Cluster::inexact(communicator);
        let processes = cluster.num_processes();
        ensure!(
            processes <= num_envs,
            "{processes} processes cannot share {}: start fewer processes or raise --num-envs",
            counted(num_envs, "environment")
        );
        return Ok(cluster);
    };
    Cluster::check_shards(shards, num_envs).map_err(|error| error.within("distributed"))?;
    Ok(Cluster::new(communicator, shards)?)
}
