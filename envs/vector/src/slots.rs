use std::cell::Cell;
use std::mem;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rl_env::{AutoresetMode, Batch, Env, EnvError, ObservationBuffer, VectorError, interrupt};

use crate::BatchOrder;
use crate::arrivals::Arrivals;
use crate::pool::Task;
use crate::rows::Rows;
use crate::slot::Slot;

/// All environments and the ring of batches that they fill: the task that the pool runs.
///
/// If a batch holds all environments, or groups take turns, an environment writes its observation directly to its fixed
/// row. Otherwise it takes the next free row only when it has *finished*: if rows were assigned earlier, a fast
/// environment would have to wait for a slow one in the same batch. While it has no row, its observations are in the
/// scratch memory of the slot.
pub(crate) struct Slots<E: Env> {
    envs: Box<[Mutex<Slot<E>>]>,
    mode: AutoresetMode,
    is_ordered: bool,
    /// True if each environment has a fixed row in every round of batches: a batch holds all of them, or groups take
    /// turns.
    has_fixed_rows: bool,
    rows: Rows,
    /// The environment of each row of the ring.
    owners: Box<[AtomicU32]>,
    /// The position of the next free row, if rows are not fixed.
    next_position: AtomicUsize,
    pub(crate) arrivals: Arrivals,
}

impl<E: Env> Slots<E> {
    /// Combines environments with the batches that they fill. If groups take turns, the number of rows must divide the
    /// number of environments.
    pub(crate) fn new(
        envs: impl ExactSizeIterator<Item = E>,
        mode: AutoresetMode,
        batch_order: BatchOrder,
        batches: &mut [Batch],
    ) -> Self {
        let (batch_size, row_bytes) = (batches[0].len(), batches[0].observations.row_bytes());
        let is_ordered = batch_size == envs.len();
        let has_fixed_rows = is_ordered || batch_order == BatchOrder::InTurn;
        let scratch_rows = match mode {
            _ if has_fixed_rows => 0,
            AutoresetMode::SameStep => 2,
            AutoresetMode::NextStep | AutoresetMode::Disabled => 1,
        };
        let scratch = || ObservationBuffer::new(scratch_rows, row_bytes);
        Self {
            envs: envs.map(|env| Mutex::new(Slot::new(env, scratch()))).collect(),
            mode,
            is_ordered,
            has_fixed_rows,
            rows: Rows::share(batches),
            owners: (0..batches.len() * batch_size).map(|_| AtomicU32::new(0)).collect(),
            next_position: AtomicUsize::new(0),
            arrivals: Arrivals::new(batches.len(), batch_size),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.envs.len()
    }

    pub(crate) fn mode(&self) -> AutoresetMode {
        self.mode
    }

    pub(crate) fn is_ordered(&self) -> bool {
        self.is_ordered
    }

    /// Returns true if fixed groups of environments take turns.
    pub(crate) fn takes_turns(&self) -> bool {
        self.has_fixed_rows && !self.is_ordered
    }

    /// Locks one slot. The lock is never contended, because the caller does not touch environments in flight. It costs
    /// a few nanoseconds and avoids `unsafe` code.
    pub(crate) fn lock(&self, env: usize) -> MutexGuard<'_, Slot<E>> {
        // A panic poisons the lock, but is also recorded as a failure, after which the environment is not used.
        self.envs[env].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the environment whose result is at a position.
    pub(crate) fn owner(&self, position: usize) -> usize {
        self.owners[position % self.owners.len()].load(Ordering::Relaxed) as usize
    }

    /// Sets the position of the next result. If rows are fixed, that is the row of `first_env`. Nothing may be in
    /// flight.
    pub(crate) fn seek(&self, position: usize, first_env: usize) {
        self.next_position.store(position, Ordering::Relaxed);
        if self.has_fixed_rows {
            for index in 0..self.len() {
                self.lock((first_env + index) % self.len()).next_position = position + index;
            }
        }
    }

    /// Replaces the observations of a batch. It must be the batch that the caller reads, to which no thread writes. The
    /// batch must own the buffer before it is filled again.
    pub(crate) fn replace_observations(&self, batch: usize, buffer: &mut ObservationBuffer) {
        self.rows.replace_observations(batch, buffer);
    }

    /// Assigns a position to the result of an environment.
    pub(crate) fn assign_position(&self, env: usize, slot: &mut Slot<E>) -> usize {
        let position = if self.has_fixed_rows {
            let position = slot.next_position;
            slot.next_position += self.len();
            position
        } else {
            // AcqRel: a thread that takes a row sees everything that happened before the earlier rows were taken. In
            // particular, the caller has finished reading the batch in this memory, and the address of the memory is up
            // to date.
            self.next_position.fetch_add(1, Ordering::AcqRel)
        };
        self.owners[position % self.owners.len()].store(env as u32, Ordering::Relaxed);
        position
    }

    /// Calls `write` with the rows of the observation and of the final observation at a position assigned by
    /// [`assign_position`](Self::assign_position).
    fn write_row<R>(&self, position: usize, write: impl FnOnce(&mut [u8], Option<&mut [u8]>) -> R) -> R {
        // SAFETY: positions are distinct, and the ring has room for the batch that the caller reads and for one result
        // of each environment, so nothing else accesses these rows. `PoolVectorEnv` drops the batches after the pool
        // that runs this task, and does not touch those being filled.
        #[allow(unsafe_code)]
        let (row, final_row) = unsafe { self.rows.row(position) };
        write(row, final_row)
    }

    /// Carries out the command of an environment and returns the position of the result.
    fn perform(&self, env: usize) -> Result<usize, EnvError> {
        let mut slot = self.lock(env);
        if self.has_fixed_rows {
            let position = self.assign_position(env, &mut slot);
            self.write_row(position, |row, mut final_row| {
                slot.perform(self.mode, row, final_row.as_deref_mut())?;
                slot.observe(row, final_row);
                Ok(())
            })?;
            return Ok(position);
        }
        let mut memory = mem::replace(&mut slot.scratch, ObservationBuffer::new(0, 0));
        let (scratch, final_scratch) = {
            // Observations of no bytes have no rows, and only final observations need a second one.
            let mut rows = memory.rows_mut();
            (rows.next().unwrap_or_default(), rows.next().unwrap_or_default())
        };
        let has_final = self.mode == AutoresetMode::SameStep;
        let result = slot.perform(self.mode, scratch, has_final.then_some(&mut *final_scratch));
        let position = result.map(|()| self.write_next_row(env, &mut slot, final_scratch));
        slot.scratch = memory;
        position
    }

    /// Takes the next free row for an environment that has performed its command, and writes the result there.
    /// `final_observation` is copied if an episode has ended. Returns the position.
    fn write_next_row(&self, env: usize, slot: &mut Slot<E>, final_observation: &[u8]) -> usize {
        let position = self.assign_position(env, slot);
        self.write_row(position, |row, mut final_row| {
            slot.observe(row, final_row.as_deref_mut());
            if let (Some(final_row), Some(_)) = (final_row, slot.outcome.episode) {
                final_row.copy_from_slice(final_observation);
            }
        });
        position
    }
}

/// The number of environments between two polls of the calling thread.
const ENVS_PER_POLL: usize = 64;

thread_local! {
    /// The number of environments that this thread has run.
    static RUNS: Cell<usize> = const { Cell::new(0) };
}

/// Counts an environment that this thread has run. Returns true if its computation was interrupted.
fn is_interrupted_after_run() -> bool {
    let runs = RUNS.get().wrapping_add(1);
    RUNS.set(runs);
    if runs.is_multiple_of(ENVS_PER_POLL) { interrupt::poll() } else { interrupt::is_requested() }
}

impl<E: Env + 'static> Task for Slots<E> {
    fn on_thread_start(&self) {
        self.arrivals.watch_interruptions();
    }

    fn run(&self, env: usize) {
        let result = (!self.arrivals.is_interrupted()).then(|| self.perform(env));
        // An environment that was interrupted has ended early, in an arbitrary state.
        match result.filter(|_| !is_interrupted_after_run() && !self.arrivals.is_interrupted()) {
            Some(Ok(position)) => self.arrivals.arrive(self.rows.batch_of(position)),
            Some(Err(error)) => self.arrivals.fail(VectorError::Env { env, error }),
            None => {
                self.arrivals.interrupt();
                self.arrivals.fail(VectorError::Interrupted);
            }
        }
    }

    fn panicked(&self, env: usize, message: String) {
        self.arrivals.fail(VectorError::Panicked { env, message });
    }
}
