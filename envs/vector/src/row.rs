use std::ptr::NonNull;
use std::slice;

use rl_env::ObservationBuffer;

/// One row of a batch, lent to whichever thread steps its environment.
///
/// A borrowed slice cannot say this: the batch belongs to the caller, which goes on with other things between `send`
/// and `recv`, while threads that live longer write its rows. So the borrow ends, in [`lend`], and its rules become
/// that function's contract.
#[derive(Debug)]
pub(crate) struct Row {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a `Row` is an exclusive borrow of plain bytes in all but its lifetime, which `lend` makes its caller keep;
// such a borrow may be used on any thread.
#[allow(unsafe_code)]
unsafe impl Send for Row {}

impl Row {
    /// The row's bytes.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `lend` made the row from an exclusive borrow of these bytes, and its caller vouches that until the
        // row's last use the buffer exists and nobody else touches it.
        #[allow(unsafe_code)]
        unsafe {
            slice::from_raw_parts_mut(self.start.as_ptr(), self.len)
        }
    }
}

/// Lends the rows of a buffer, one after another.
///
/// # Safety
///
/// Until a row has been used for the last time, the buffer must neither be dropped nor read nor written, except
/// through the row itself.
#[allow(unsafe_code)]
pub(crate) unsafe fn lend(buffer: &mut ObservationBuffer) -> impl Iterator<Item = Row> + use<> {
    let (len, stride, rows) = (buffer.row_bytes(), buffer.stride(), buffer.rows());
    let start = buffer.as_mut_ptr();
    (0..rows).map(move |index| Row {
        // The pointer stays inside the buffer: it has `rows` times `stride` bytes.
        start: NonNull::new(start.wrapping_add(index * stride)).expect("a buffer is never at address zero"),
        len,
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    #[allow(unsafe_code)]
    fn threads_fill_rows_of_one_buffer() {
        let mut buffer = ObservationBuffer::new(5, 13);
        // SAFETY: the rows are used within the scope only, and the buffer only after it.
        let rows = unsafe { lend(&mut buffer) };
        thread::scope(|scope| {
            for (index, mut row) in rows.enumerate() {
                scope.spawn(move || row.bytes().fill(index as u8 + 1));
            }
        });
        for index in 0..5 {
            assert_eq!(buffer.row(index), [index as u8 + 1; 13]);
        }
    }
}
