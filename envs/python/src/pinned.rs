//! Observation buffers in page-locked memory, which PyTorch allocates.

use std::ptr::NonNull;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rl_env::ObservationBuffer;

/// A Python function that takes a number of bytes and returns the address and the owner of memory of this size.
#[derive(Debug, FromPyObject)]
pub(crate) struct PinnedMemory(Py<PyAny>);

impl PinnedMemory {
    /// Returns a buffer of this shape with arbitrary contents. Runs Python code, so no environments may be locked.
    pub(crate) fn buffer(
        &self,
        py: Python<'_>,
        rows: usize,
        row_bytes: usize,
    ) -> PyResult<ObservationBuffer> {
        let bytes = rows * row_bytes.next_multiple_of(size_of::<u64>());
        let (address, owner): (usize, Py<PyAny>) = self.0.call1(py, (bytes,))?.extract(py)?;
        let start = NonNull::new(std::ptr::with_exposed_provenance_mut::<u64>(address));
        let start = start.filter(|start| start.is_aligned()).ok_or_else(|| {
            PyRuntimeError::new_err(format!("page-locked memory at {address:#x} is not aligned to 8 bytes"))
        })?;
        // SAFETY: `start` is aligned. The function is that of `pinned.allocator` in the package. The memory has this
        // size, its contents were written outside of Rust, and it belongs to `owner`, a tensor that nothing else refers
        // to.
        #[allow(unsafe_code)]
        Ok(unsafe { ObservationBuffer::lent(start, rows, row_bytes, Box::new(owner)) })
    }
}
