use std::mem;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rl_env::{AutoresetMode, Batch, Env, EnvError, ObservationBuffer, VectorError};

use crate::BatchOrder;
use crate::arrivals::Arrivals;
use crate::pool::Task;
use crate::rows::Rows;
use crate::slot::Slot;

/// All environments and the ring of batches that they fill: the task that the pool runs.
///
/// In ordered mode, and where groups take turns, an environment writes its observation straight into its own row. Otherwise
/// its row is the next free one at the moment when it has *finished*, and only then does it write its observation: with rows given out beforehand a
/// quick environment would wait in a batch for a slow one. What has to be kept until then, the last observation of an
/// episode that is over, is kept in the slot's draft.
pub(crate) struct Slots<E: Env> {
    envs: Box<[Mutex<Slot<E>>]>,
    mode: AutoresetMode,
    is_ordered: bool,
    /// Batches are in order, or groups take turns: each environment has a row of its own in every round of batches.
    has_fixed_rows: bool,
    rows: Rows,
    /// The environment of every row of the ring.
    owners: Box<[AtomicU32]>,
    /// The position of the next free row, where environments have none of their own.
    next_position: AtomicUsize,
    pub(crate) arrivals: Arrivals,
}

impl<E: Env> Slots<E> {
    /// The environments, and the batches that they are to fill. With as many rows as there are environments the batches
    /// are in order; with fewer their number must be a multiple of the rows if groups take turns.
    pub(crate) fn new(
        envs: impl ExactSizeIterator<Item = E>,
        mode: AutoresetMode,
        batch_order: BatchOrder,
        batches: &mut [Batch],
    ) -> Self {
        let (batch_size, row_bytes) = (batches[0].len(), batches[0].observations.row_bytes());
        let is_ordered = batch_size == envs.len();
        let has_fixed_rows = is_ordered || batch_order == BatchOrder::InTurn;
        let scratch_bytes = match mode {
            _ if has_fixed_rows => 0,
            AutoresetMode::SameStep => 2 * row_bytes,
            AutoresetMode::NextStep | AutoresetMode::Disabled => row_bytes,
        };
        Self {
            envs: envs.map(|env| Mutex::new(Slot::new(env, scratch_bytes))).collect(),
            mode,
            is_ordered,
            has_fixed_rows,
            rows: Rows::of(batches),
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

    /// Whether batches hold fewer environments than there are, always the same ones together.
    pub(crate) fn takes_turns(&self) -> bool {
        self.has_fixed_rows && !self.is_ordered
    }

    /// Exclusive use of one slot. Workers and the calling thread never want a slot at the same time, as the caller
    /// leaves alone what is under way, so the lock is always free; it costs a few nanoseconds and proves to the compiler
    /// what the order of calls promises.
    pub(crate) fn lock(&self, env: usize) -> MutexGuard<'_, Slot<E>> {
        // A panic poisons the lock, but is kept as a failure, which nobody overlooks.
        self.envs[env].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The environment whose result is at a position.
    pub(crate) fn owner(&self, position: usize) -> usize {
        self.owners[position % self.owners.len()].load(Ordering::Relaxed) as usize
    }

    /// Says where the next results go; where environments have rows of their own, that of `first_env` is the first. Nothing
    /// may be under way.
    pub(crate) fn seek(&self, position: usize, first_env: usize) {
        self.next_position.store(position, Ordering::Relaxed);
        if self.has_fixed_rows {
            for index in 0..self.len() {
                self.lock((first_env + index) % self.len()).next_position = position + index;
            }
        }
    }

    /// Says where the observations of a batch go from now on. The batch must be the one that the caller reads, into which
    /// nobody writes, and must own the buffer before it is filled again.
    pub(crate) fn replace_observations(&self, batch: usize, buffer: &mut ObservationBuffer) {
        self.rows.replace_observations(batch, buffer);
    }

    /// Gives an environment's result its position.
    pub(crate) fn place(&self, env: usize, slot: &mut Slot<E>) -> usize {
        let position = if self.has_fixed_rows {
            let position = slot.next_position;
            slot.next_position += self.len();
            position
        } else {
            // Whoever takes a row sees what happened before the rows ahead of it were given out: that the caller has
            // done with the batch whose memory this is, and which memory that is.
            self.next_position.fetch_add(1, Ordering::AcqRel)
        };
        self.owners[position % self.owners.len()].store(env as u32, Ordering::Relaxed);
        position
    }

    /// Lets `write` fill the rows at a position that was given to an environment's result.
    fn write_row(
        &self,
        position: usize,
        write: impl FnOnce(&mut [u8], Option<&mut [u8]>) -> Result<(), EnvError>,
    ) -> Result<usize, EnvError> {
        // SAFETY: nobody else uses these rows: every environment has a position of its own, or takes the next one, and
        // the ring has rows for the batch that the caller reads and for as many results as there are environments.
        // `PoolVectorEnv` drops the batches after the pool whose task this is, and leaves those being filled alone.
        #[allow(unsafe_code)]
        let (row, final_row) = unsafe { self.rows.row(position) };
        write(row, final_row)?;
        Ok(position)
    }

    /// Lets an environment carry out its order, and returns the position of the result.
    fn perform(&self, env: usize) -> Result<usize, EnvError> {
        let mut slot = self.lock(env);
        if self.has_fixed_rows {
            let position = self.place(env, &mut slot);
            return self.write_row(position, |row, mut final_row| {
                slot.perform(self.mode, row, final_row.as_deref_mut())?;
                slot.observe(row, final_row);
                Ok(())
            });
        }
        let mut memory = mem::take(&mut slot.scratch);
        let (scratch, final_scratch) = memory.split_at_mut(self.rows.row_bytes());
        let has_final = self.mode == AutoresetMode::SameStep;
        let result = slot.perform(self.mode, scratch, has_final.then_some(&mut *final_scratch));
        let position = result.and_then(|()| {
            let position = self.place(env, &mut slot);
            self.write_row(position, |row, mut final_row| {
                slot.observe(row, final_row.as_deref_mut());
                if let (Some(final_row), Some(_)) = (final_row, slot.outcome.episode) {
                    final_row.copy_from_slice(final_scratch);
                }
                Ok(())
            })
        });
        slot.scratch = memory;
        position
    }
}

impl<E: Env + 'static> Task for Slots<E> {
    fn run(&self, env: usize) {
        match self.perform(env) {
            Ok(position) => self.arrivals.arrive(self.rows.batch_of(position)),
            Err(error) => self.arrivals.fail(VectorError::Env { env, error }),
        }
    }

    fn panicked(&self, env: usize, message: String) {
        self.arrivals.fail(VectorError::Panicked { env, message });
    }
}
