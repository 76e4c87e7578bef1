use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

use rl_env::{Batch, ObservationBuffer};

/// The rows of a ring of batches, open to whichever thread steps their environment.
///
/// A borrowed slice cannot say this: the batches belong to the caller, which reads one of them while threads that live
/// longer write rows of the others. So the borrow ends, in [`Rows::of`], and its rules become a contract.
///
/// A *position* counts rows from the first batch on through the whole life of the ring: row `position % batch_size` of
/// batch `position / batch_size`, whose memory is that of the batch one ring before.
#[derive(Debug)]
pub(crate) struct Rows {
    observations: Box<[BufferPtr]>,
    /// Empty unless the batches have final observations.
    final_observations: Box<[BufferPtr]>,
    batch_size: usize,
    row_bytes: usize,
    stride: usize,
}

/// The start of a buffer that another owns. It is only an address; `Rows::row` says who may use what lies there.
#[derive(Debug)]
struct BufferPtr(AtomicPtr<u8>);

impl BufferPtr {
    fn new(buffer: &mut ObservationBuffer) -> Self {
        Self(AtomicPtr::new(buffer.as_mut_ptr()))
    }
}

impl Rows {
    /// The rows of these batches, at least one, which are all alike.
    pub(crate) fn of(batches: &mut [Batch]) -> Self {
        let has_final = batches[0].final_observations.rows() > 0;
        let finals = batches.iter_mut().filter(|_| has_final);
        Self {
            final_observations: finals.map(|batch| BufferPtr::new(&mut batch.final_observations)).collect(),
            observations: batches.iter_mut().map(|batch| BufferPtr::new(&mut batch.observations)).collect(),
            batch_size: batches[0].len(),
            row_bytes: batches[0].observations.row_bytes(),
            stride: batches[0].observations.stride(),
        }
    }

    /// Puts another buffer, of the same form, in the place of a batch's observations.
    ///
    /// The contract of [`row`](Self::row) holds for it as for the first one. Whoever uses the batch's rows next must have
    /// learnt of this, as it learns that the rows are free.
    pub(crate) fn replace_observations(&self, batch: usize, buffer: &mut ObservationBuffer) {
        self.observations[batch].0.store(buffer.as_mut_ptr(), Ordering::Relaxed);
    }

    /// Bytes in a row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Which batch of the ring a position belongs to.
    pub(crate) fn batch_of(&self, position: usize) -> usize {
        position / self.batch_size % self.observations.len()
    }

    /// The row at a position and, where the batches have them, the row of its final observation.
    ///
    /// # Safety
    ///
    /// The batches given to [`Rows::of`], or the buffers lent since, must still exist (moving them is fine, their rows
    /// stay where they are), and as long as the slices are used, nobody else may use the same rows.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    pub(crate) unsafe fn row(&self, position: usize) -> (&mut [u8], Option<&mut [u8]>) {
        let (batch, row) = (self.batch_of(position), position % self.batch_size);
        let slice = |lent: &BufferPtr| {
            // SAFETY: the buffer has `batch_size` times `stride` bytes, so that the row lies within it; it exists and
            // nobody else uses the row, as the caller vouches.
            unsafe {
                let start = lent.0.load(Ordering::Relaxed).add(row * self.stride);
                slice::from_raw_parts_mut(start, self.row_bytes)
            }
        };
        (slice(&self.observations[batch]), self.final_observations.get(batch).map(slice))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    #[allow(unsafe_code)]
    fn threads_fill_rows_of_a_ring_of_batches() {
        for with_final in [false, true] {
            let mut batches = vec![Batch::new(5, 13, with_final), Batch::new(5, 13, with_final)];
            let rows = Rows::of(&mut batches);
            thread::scope(|scope| {
                for position in 20..30 {
                    let rows = &rows;
                    scope.spawn(move || {
                        // SAFETY: the batches outlive the scope, and every thread has a position of its own.
                        let (row, final_row) = unsafe { rows.row(position) };
                        row.fill(position as u8);
                        if let Some(final_row) = final_row {
                            final_row.fill(100 + position as u8);
                        }
                    });
                }
            });
            for position in 20..30_u8 {
                let (batch, row) = (&batches[usize::from(position) / 5 % 2], usize::from(position) % 5);
                assert_eq!(batch.observations.row(row), [position; 13]);
                if with_final {
                    assert_eq!(batch.final_observations.row(row), [100 + position; 13]);
                }
            }
        }
    }
}
