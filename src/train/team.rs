//! Coordinates the processes that train a run together. They synchronize before every update, so that all of them stop,
//! write checkpoints and count episodes at the same point.

use std::cell::Cell;
use std::io::{self, Write};
use std::mem;
use std::time::Duration;

use anyhow::Result;
use rl_env::Batch;
use serde::{Deserialize, Serialize};

use super::tally::Log;
use crate::checkpoint::LearnerState;
use crate::cluster::{self, Peers};
use crate::environments::Environments;
use crate::interrupt::Interrupt;
use crate::learner::Learner;
use crate::signal::Signal;
use crate::telemetry::{Metric, Sample};

/// The number of batches between two synchronization points before learning starts.
const BATCHES_BETWEEN_SYNC_POINTS: u64 = 100;

/// This process among those that train a run.
pub(super) struct Team {
    /// `None` if this process trains alone.
    peers: Option<&'static dyn Peers>,
    /// The batches since the last synchronization point.
    log: Log,
    /// The time spent collecting them.
    collecting: Duration,
    /// For each process, its steps since the last report and the time in which it collected them.
    speeds: Vec<(u64, Duration)>,
    /// The request to stop that all processes agree on.
    interrupt: Interrupt,
    /// False until the first synchronization point.
    has_synced: bool,
}

/// The report of a process at a synchronization point, which covers the time since the last one.
#[derive(Serialize, Deserialize)]
struct RankReport {
    log: Log,
    /// The time for which its environments stepped and its learner acted.
    collecting: Duration,
    /// The number of the signal that it received, if any.
    signal: Option<u8>,
}

/// The decision of the leader at a synchronization point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Decision {
    /// True if a checkpoint is written now.
    pub(super) saves: bool,
    /// True if training ends.
    pub(super) ends: bool,
}

impl Team {
    /// Returns the team of this process. A process that trains alone stops on `local_interrupt`.
    pub(super) fn new(local_interrupt: &Interrupt) -> Self {
        let peers = cluster::peers();
        let interrupt = if peers.is_some() { Interrupt::default() } else { local_interrupt.clone() };
        let (log, collecting) = (Log::default(), Duration::ZERO);
        Self { peers, log, collecting, speeds: Vec::new(), interrupt, has_synced: false }
    }

    pub(super) fn is_alone(&self) -> bool {
        self.peers.is_none()
    }

    /// Returns the request to stop that this process has to follow.
    pub(super) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Records a batch of this process's environments, and the time in which it was collected, for the next report.
    pub(super) fn record_batch(&mut self, batch: &Batch, collecting: Duration) {
        self.log.add(batch);
        self.collecting += collecting;
    }

    /// Returns the speed of each process since the last call; nothing if this process trains alone.
    pub(super) fn take_speeds(&mut self) -> Vec<Sample> {
        let speeds = mem::take(&mut self.speeds).into_iter().enumerate();
        speeds.map(|(rank, (steps, time))| speed_sample(rank, steps, time)).collect()
    }

    /// Returns true if the processes synchronize now: they [exchange](Self::exchange) reports, update the learner if it
    /// is ready, and receive the decision of the leader. All of them get the same answer. They synchronize before the
    /// first step too, because a resumed run may begin with an evaluation that a signal interrupts.
    pub(super) fn is_sync_point(&self, learner: &dyn Learner) -> bool {
        let is_due = !self.has_synced || self.log.batches() >= BATCHES_BETWEEN_SYNC_POINTS;
        let syncs_while_idle = learner.is_idle() && is_due;
        !self.is_alone() && (learner.is_ready() || learner.is_complete() || syncs_while_idle)
    }

    /// Exchanges the reports since the last synchronization point, with the signal of `local_interrupt`. Returns the
    /// log of all processes.
    pub(super) fn exchange(&mut self, local_interrupt: &Interrupt) -> Result<Log> {
        self.has_synced = true;
        let report = RankReport {
            log: mem::take(&mut self.log),
            collecting: mem::take(&mut self.collecting),
            signal: local_interrupt.signal().map(|signal| signal as u8),
        };
        let Some(peers) = self.peers else { return Ok(report.log) };
        let reports = peers.all_gather(&postcard::to_stdvec(&report)?)?;
        let reports: Vec<RankReport> =
            reports.iter().map(|report| postcard::from_bytes(report)).collect::<Result<_, _>>()?;
        self.speeds.resize(reports.len(), (0, Duration::ZERO));
        for ((steps, time), report) in self.speeds.iter_mut().zip(&reports) {
            *steps += report.log.steps();
            *time += report.collecting;
        }
        let signals = reports.iter().filter_map(|report| Signal::from_number(report.signal?.into()));
        signals.take(1).for_each(|signal| self.interrupt.request(signal));
        Ok(Log::join(reports.into_iter().map(|report| report.log)))
    }

    /// Sends the decision of the leader to the followers.
    pub(super) fn broadcast(&self, decision: Decision) -> Result<()> {
        let Some(peers) = self.peers else { return Ok(()) };
        Ok(peers.broadcast(&postcard::to_stdvec(&decision)?)?)
    }

    /// Waits for the decision of the leader.
    pub(super) fn receive_broadcast(&self) -> Result<Decision> {
        let Some(peers) = self.peers else { return Ok(Decision { saves: false, ends: false }) };
        Ok(postcard::from_bytes(&peers.receive_broadcast()?)?)
    }

    /// Returns the snapshot of the environments of all processes, each of which calls this.
    pub(super) fn snapshot(&self, environments: &dyn Environments) -> Result<Vec<u8>> {
        let local = environments.snapshot()?;
        let Some(peers) = self.peers else { return Ok(local) };
        Ok(environments.join_snapshots(&peers.all_gather(&local)?)?)
    }
}

/// Returns the speed of a process that collected some steps in a time.
fn speed_sample(rank: usize, steps: u64, time: Duration) -> Sample {
    let speed = steps as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE);
    Sample::of_task(Metric::RankSps, &rank.to_string(), speed)
}

/// The learner's state in a checkpoint. All processes write it together, although only the leader has the file.
pub(super) struct SharedState<'a> {
    learner: &'a dyn Learner,
    is_written: Cell<bool>,
}

impl<'a> SharedState<'a> {
    pub(super) fn new(learner: &'a dyn Learner) -> Self {
        Self { learner, is_written: Cell::new(false) }
    }

    /// Contributes to writing the state, unless this process already has.
    pub(super) fn contribute(&self) -> Result<()> {
        if self.is_written.get() { Ok(()) } else { self.write(&mut io::sink()) }
    }
}

impl LearnerState for SharedState<'_> {
    fn write(&self, out: &mut dyn Write) -> Result<()> {
        self.is_written.set(true);
        Ok(self.learner.write_state(out)?)
    }
}
