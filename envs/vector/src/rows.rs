use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

use rl_env::{Batch, ObservationBuffer};

/// The rows of a ring of batches, writable by the threads that step the environments.
///
/// Borrowed slices cannot express this: the caller owns the batches and reads one of them while longer-lived threads
/// write rows of the others. Therefore the borrow ends in [`Rows::share`] and is replaced by the safety contract of
/// [`row`](Self::row).
///
/// A *position* counts rows over the whole life of the ring. It stands for row `position % batch_size` of batch
/// `position / batch_size`, modulo the length of the ring.
#[derive(Debug)]
pub(crate) struct Rows {
    observations: Box<[BufferPtr]>,
    /// Empty if the batches have no final observations.
    final_observations: Box<[BufferPtr]>,
    batch_size: usize,
    row_bytes: usize,
    stride: usize,
}

/// The address of a buffer that the caller owns. [`Rows::row`] defines who may access the memory.
#[derive(Debug)]
struct BufferPtr(AtomicPtr<u8>);

impl BufferPtr {
    fn new(buffer: &mut ObservationBuffer) -> Self {
        Self(AtomicPtr::new(buffer.as_mut_ptr()))
    }
}

impl Rows {
    /// Shares the rows of these batches, at least one, which all have the same shape.
    pub(crate) fn share(batches: &mut [Batch]) -> Self {
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

    /// Replaces the observations of a batch with a buffer of the same shape.
    ///
    /// The contract of [`row`](Self::row) applies to the new buffer. This call must happen before the next use of the
    /// batch's rows, as must the release of the rows.
    pub(crate) fn replace_observations(&self, batch: usize, buffer: &mut ObservationBuffer) {
        self.observations[batch].0.store(buffer.as_mut_ptr(), Ordering::Relaxed);
    }

    /// Returns the index in the ring of the batch of a position.
    pub(crate) fn batch_of(&self, position: usize) -> usize {
        position / self.batch_size % self.observations.len()
    }

    /// Returns the row at a position and, if the batches have final observations, that of the final observation.
    ///
    /// # Safety
    ///
    /// The batches given to [`Rows::share`], or the buffers that replaced theirs, must still exist. They may have
    /// moved, as their rows are on the heap. Nothing else may access the same rows while the slices are in use.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    pub(crate) unsafe fn row(&self, position: usize) -> (&mut [u8], Option<&mut [u8]>) {
        let (batch, row) = (self.batch_of(position), position % self.batch_size);
        // SAFETY: each buffer has `batch_size` rows, and the caller guarantees the rest.
        unsafe {
            let final_buffer = self.final_observations.get(batch);
            let final_row = final_buffer.map(|buffer| self.row_of_buffer(buffer, row));
            (self.row_of_buffer(&self.observations[batch], row), final_row)
        }
    }

    /// Returns a row of a buffer.
    ///
    /// # Safety
    ///
    /// The buffer must exist and have the row, and nothing else may access the row while the slice is in use.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    unsafe fn row_of_buffer<'a>(&'a self, buffer: &'a BufferPtr, row: usize) -> &'a mut [u8] {
        // SAFETY: rows are `stride` bytes apart and have `row_bytes`. The caller guarantees the rest.
        unsafe {
            let start = buffer.0.load(Ordering::Relaxed).add(row * self.stride);
            slice::from_raw_parts_mut(start, self.row_bytes)
        }
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
            let rows = Rows::share(&mut batches);
            thread::scope(|scope| {
                for position in 20..30 {
                    let rows = &rows;
                    scope.spawn(move || {
                        // SAFETY: the batches outlive the scope, and the positions of the threads are distinct.
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
