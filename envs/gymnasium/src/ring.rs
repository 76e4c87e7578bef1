//! The batches, and the rows of shared memory to which workers write observations.

use std::iter;

use rl_env::{AutoresetMode, Batch, ObservationBuffer};

use crate::memory::SharedMemory;

/// The sizes of batches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) num_envs: usize,
    pub(crate) batch_size: usize,
    /// The bytes of an observation.
    pub(crate) row_bytes: usize,
    /// The bytes of an action mask; 0 if there are no masks.
    pub(crate) mask_bytes: usize,
    pub(crate) mode: AutoresetMode,
    /// True if each environment has a fixed row: batches hold all environments, or groups take turns.
    pub(crate) has_fixed_rows: bool,
}

impl Sizes {
    /// Returns the number of rows in shared memory: those of the batch that the caller reads and one for each
    /// environment, or only these if the rows of batches are not fixed.
    fn rows(&self) -> usize {
        if self.has_fixed_rows { self.batch_size + self.num_envs } else { self.num_envs }
    }

    fn has_final(&self) -> bool {
        self.mode == AutoresetMode::SameStep
    }

    /// Returns the number of bytes of the rows in shared memory. `None` if it is too large.
    pub(crate) fn bytes(&self) -> Option<usize> {
        let row =
            self.row_bytes.checked_next_multiple_of(8)?.checked_add(self.mask_bytes.next_multiple_of(8))?;
        let copies = if self.has_final() { 2 } else { 1 };
        row.checked_mul(self.rows())?.checked_mul(copies).filter(|bytes| *bytes <= isize::MAX as usize / 2)
    }
}

/// The batches, and the rows to which environments write.
///
/// With fixed rows, batches form a ring in shared memory: the last one received stays valid while others are filled,
/// and an observation is written to the row that the caller reads. Otherwise, the batch of an environment is known only
/// when it has finished. Each environment then has one row in shared memory, which is copied to the batch.
pub(crate) struct Ring {
    sizes: Sizes,
    batches: Box<[Batch]>,
    /// The rows of all environments, unless rows are fixed.
    stage: Option<Batch>,
    /// The number of batches received.
    received: usize,
    /// The row of the next result of each environment.
    next_rows: Box<[usize]>,
    pub(crate) offsets: RowOffsets,
}

/// The places of the first rows in shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowOffsets {
    pub(crate) observations: usize,
    pub(crate) final_observations: usize,
    pub(crate) action_masks: usize,
    pub(crate) final_action_masks: usize,
}

impl Ring {
    pub(crate) fn new(memory: &mut SharedMemory, sizes: Sizes) -> Self {
        let (count, rows) = if sizes.has_fixed_rows {
            (sizes.rows() / sizes.batch_size, sizes.batch_size)
        } else {
            (1, sizes.num_envs)
        };
        let (has_final, has_masks) = (sizes.has_final(), sizes.mask_bytes > 0);
        let mut take = |are_there: bool, row_bytes: usize| {
            let rows = if are_there { rows } else { 0 };
            let taken = (0..count).map(|_| memory.take_rows(rows, row_bytes));
            let (offsets, buffers): (Vec<usize>, Vec<ObservationBuffer>) = taken.unzip();
            (offsets[0], buffers.into_iter())
        };
        let (observations, mut of_observations) = take(true, sizes.row_bytes);
        let (final_observations, mut of_final_observations) = take(has_final, sizes.row_bytes);
        let (action_masks, mut of_masks) = take(has_masks, sizes.mask_bytes);
        let (final_action_masks, mut of_final_masks) = take(has_masks && has_final, sizes.mask_bytes);
        let offsets = RowOffsets { observations, final_observations, action_masks, final_action_masks };
        let mut shared = iter::from_fn(|| {
            Some(Batch {
                observations: of_observations.next()?,
                final_observations: of_final_observations.next()?,
                action_masks: of_masks.next()?,
                final_action_masks: of_final_masks.next()?,
                ..Batch::new(rows, 0, false)
            })
        });
        let (stage, batches) = if sizes.has_fixed_rows {
            (None, shared.collect())
        } else {
            let batch = Batch::new(sizes.batch_size, sizes.row_bytes, has_final);
            let batch = if has_masks { batch.with_action_masks(sizes.mask_bytes) } else { batch };
            (shared.next(), [batch].into())
        };
        let next_rows = vec![0; sizes.num_envs].into();
        let mut ring = Self { sizes, batches, stage, received: 0, next_rows, offsets };
        ring.seek(0);
        ring
    }

    /// Returns the last batch received.
    pub(crate) fn last(&self) -> &Batch {
        &self.batches[(self.received + self.batches.len() - 1) % self.batches.len()]
    }

    /// Makes the results after the last batch start with those of `first_env`. Nothing may be in flight.
    pub(crate) fn seek(&mut self, first_env: usize) {
        let Sizes { num_envs, batch_size, has_fixed_rows, .. } = self.sizes;
        for index in 0..num_envs {
            let env = (first_env + index) % num_envs;
            self.next_rows[env] =
                if has_fixed_rows { (self.received * batch_size + index) % self.sizes.rows() } else { env };
        }
    }

    /// Returns the row of the next result of an environment.
    pub(crate) fn next_row(&mut self, env: usize) -> usize {
        let row = self.next_rows[env];
        if self.sizes.has_fixed_rows {
            self.next_rows[env] = (row + self.sizes.num_envs) % self.sizes.rows();
        }
        row
    }

    /// Fills the part of a row after its first `own_bytes` with zeros: another environment may have used the row
    /// before.
    pub(crate) fn pad(&mut self, row: usize, own_bytes: usize) {
        let Sizes { row_bytes, batch_size, has_fixed_rows, .. } = self.sizes;
        if own_bytes == row_bytes || !has_fixed_rows {
            return;
        }
        let (batch, row) = (&mut self.batches[row / batch_size], row % batch_size);
        batch.observations.row_mut(row)[own_bytes..].fill(0);
        if batch.final_observations.rows() > 0 {
            batch.final_observations.row_mut(row)[own_bytes..].fill(0);
        }
    }

    /// Receives the next batch, of these environments, and returns it. Its observations are complete; the caller fills
    /// in the other fields.
    pub(crate) fn receive(&mut self, envs: impl Iterator<Item = usize>) -> &mut Batch {
        let batch = &mut self.batches[self.received % self.batches.len()];
        self.received += 1;
        for (row, env) in envs.enumerate() {
            batch.env_ids[row] = env;
            let Some(stage) = &self.stage else { continue };
            for (to, from) in [
                (&mut batch.observations, &stage.observations),
                (&mut batch.final_observations, &stage.final_observations),
                (&mut batch.action_masks, &stage.action_masks),
                (&mut batch.final_action_masks, &stage.final_action_masks),
            ] {
                if to.rows() > 0 {
                    to.row_mut(row).copy_from_slice(from.row(env));
                }
            }
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(batch_size: usize, has_fixed_rows: bool) -> Ring {
        let mode = AutoresetMode::SameStep;
        let sizes = Sizes { num_envs: 4, batch_size, row_bytes: 4, mask_bytes: 3, mode, has_fixed_rows };
        let mut memory = SharedMemory::new(sizes.bytes().unwrap()).unwrap();
        Ring::new(&mut memory, sizes)
    }

    #[test]
    fn fixed_rows_alternate_without_touching_the_last_batch() {
        let mut ring = ring(2, true);
        assert_eq!(ring.batches.len(), 3);
        let take = |ring: &mut Ring, envs: [usize; 2]| envs.map(|env| ring.next_row(env));
        assert_eq!((take(&mut ring, [0, 1]), take(&mut ring, [2, 3])), ([0, 1], [2, 3]));
        assert_eq!(ring.receive([0, 1].into_iter()).env_ids, [0, 1]);
        assert_eq!(take(&mut ring, [0, 1]), [4, 5]);
        assert_eq!(ring.receive([2, 3].into_iter()).env_ids, [2, 3]);
        assert_eq!(take(&mut ring, [2, 3]), [0, 1]);
        ring.seek(2);
        assert_eq!((take(&mut ring, [2, 3]), take(&mut ring, [0, 1])), ([4, 5], [0, 1]));
    }

    #[test]
    fn other_rows_are_copied_to_the_batch() {
        let mut ring = ring(2, false);
        assert_eq!((0..4).map(|env| ring.next_row(env)).collect::<Vec<_>>(), [0, 1, 2, 3]);
        let stage = ring.stage.as_mut().unwrap();
        stage.observations.row_mut(3).fill(3);
        stage.final_observations.row_mut(3).fill(9);
        stage.action_masks.row_mut(3).fill(1);
        stage.final_action_masks.row_mut(1).fill(1);
        let batch = ring.receive([1, 3].into_iter());
        assert_eq!(batch.env_ids, [1, 3]);
        assert_eq!((batch.observations.row(1), batch.final_observations.row(1)), (&[3; 4][..], &[9; 4][..]));
        assert_eq!((batch.action_masks.row(0), batch.action_masks.row(1)), (&[0; 3][..], &[1; 3][..]));
        assert_eq!(batch.final_action_masks.row(0), [1; 3]);
        assert_eq!(ring.last().env_ids, [1, 3]);
    }

    #[test]
    fn sizes_that_no_machine_has_are_found() {
        let sizes = Sizes {
            num_envs: 1 << 16,
            batch_size: 1 << 16,
            row_bytes: 1 << 50,
            mask_bytes: 0,
            mode: AutoresetMode::NextStep,
            has_fixed_rows: true,
        };
        assert_eq!(sizes.bytes(), None);
    }
}
