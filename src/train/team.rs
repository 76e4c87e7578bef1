//! Coordinates the processes that train a run together: they meet before every update, so that all of them stop, write
//! checkpoints and count episodes at the same point.

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

/// The number of batches between two meetings before learning starts.
const PATIENCE: u64 = 100;

/// This process among those that train a run.
pub(super) struct Team {
    /// `None` if this process trains alone.
    peers: Option<&'static dyn Peers>,
    /// The batches since the last meeting.
    log: Log,
    /// The time spent collecting them.
    collecting: Duration,
    /// For each process, its steps since the last report and the time in which it collected them.
    speeds: Vec<(u64, Duration)>,
    /// The request to stop that all processes agree on.
    agreed: Interrupt,
    /// False until the first meeting.
    has_met: bool,
}

/// The report of a process at a meeting, which covers the time since the last meeting.
#[derive(Serialize, Deserialize)]
struct News {
    log: Log,
    /// The time for which its environments stepped and its learner acted.
    collecting: Duration,
    /// The number of the signal that it received.
    signal: Option<u8>,
}

/// The decision of the leader at a meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Decision {
    /// True if a checkpoint is written now.
    pub(super) saves: bool,
    /// True if training ends.
    pub(super) ends: bool,
}

impl Team {
    /// Returns the team of this process. A process that trains alone uses `heard` as its request to stop.
    pub(super) fn new(heard: &Interrupt) -> Self {
        let peers = cluster::peers();
        let agreed = if peers.is_some() { Interrupt::default() } else { heard.clone() };
        let (log, collecting) = (Log::default(), Duration::ZERO);
        Self { peers, log, collecting, speeds: Vec::new(), agreed, has_met: false }
    }

    pub(super) fn is_alone(&self) -> bool {
        self.peers.is_none()
    }

    /// Returns the request to stop that this process has to follow.
    pub(super) fn interrupt(&self) -> &Interrupt {
        &self.agreed
    }

    /// Records a batch of this process's environments, and the time in which it was collected, for the next meeting.
    pub(super) fn note(&mut self, batch: &Batch, collecting: Duration) {
        self.log.add(batch);
        self.collecting += collecting;
    }

    /// Returns the speed of each process since the last call; nothing if this process trains alone.
    pub(super) fn take_speeds(&mut self) -> Vec<Sample> {
        let speeds = mem::take(&mut self.speeds).into_iter().enumerate();
        let sample = |(rank, (steps, time)): (usize, (u64, Duration))| {
            let speed = steps as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE);
            Sample::of_task(Metric::RankSps, &rank.to_string(), speed)
        };
        speeds.map(sample).collect()
    }

    /// Returns true if the processes meet now: they [exchange](Self::exchange) news, update the learner if it is ready, and
    /// learn the decision of the leader. All of them get the same answer. They meet before the first step too, because a
    /// resumed run may begin with an evaluation that a signal interrupts.
    pub(super) fn meets(&self, learner: &dyn Learner) -> bool {
        let is_time = learner.is_idle() && (!self.has_met || self.log.batches() >= PATIENCE);
        !self.is_alone() && (learner.is_ready() || learner.is_complete() || is_time)
    }

    /// Exchanges the news since the last meeting, with the signal that this process `heard`. Returns the log of all processes.
    pub(super) fn exchange(&mut self, heard: &Interrupt) -> Result<Log> {
        self.has_met = true;
        let signal = heard.signal().map(|signal| signal as u8);
        let own = News { log: mem::take(&mut self.log), collecting: mem::take(&mut self.collecting), signal };
        let Some(peers) = self.peers else { return Ok(own.log) };
        let news = peers.gather(&postcard::to_stdvec(&own)?)?;
        let news: Vec<News> = news.iter().map(|news| postcard::from_bytes(news)).collect::<Result<_, _>>()?;
        self.speeds.resize(news.len(), (0, Duration::ZERO));
        for ((steps, time), news) in self.speeds.iter_mut().zip(&news) {
            *steps += news.log.steps();
            *time += news.collecting;
        }
        let signals = news.iter().filter_map(|news| Signal::of_number(news.signal?.into()));
        signals.take(1).for_each(|signal| self.agreed.request(signal));
        Ok(Log::join(news.into_iter().map(|news| news.log)))
    }

    /// Tells the followers what the leader has decided.
    pub(super) fn tell(&self, decision: Decision) -> Result<()> {
        let Some(peers) = self.peers else { return Ok(()) };
        Ok(peers.tell(&postcard::to_stdvec(&decision)?)?)
    }

    /// Waits for the decision of the leader.
    pub(super) fn listen(&self) -> Result<Decision> {
        let Some(peers) = self.peers else { return Ok(Decision { saves: false, ends: false }) };
        Ok(postcard::from_bytes(&peers.listen()?)?)
    }

    /// Returns the snapshot of the environments of all processes, each of which calls this.
    pub(super) fn snapshot(&self, own: &dyn Environments) -> Result<Vec<u8>> {
        let own = own.snapshot()?;
        let Some(peers) = self.peers else { return Ok(own) };
        Ok(vector::join_snapshots(&peers.gather(&own)?)?)
    }
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

    /// Takes part in writing the state, unless this process already has.
    pub(super) fn take_part(&self) -> Result<()> {
        if self.is_written.get() { Ok(()) } else { self.write(&mut io::sink()) }
    }
}

impl LearnerState for SharedState<'_> {
    fn write(&self, out: &mut dyn Write) -> Result<()> {
        self.is_written.set(true);
        Ok(self.learner.write_state(out)?)
    }
}
