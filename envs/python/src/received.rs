//! Conversion of batches to NumPy arrays.

use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use numpy::ndarray::{ArrayView, IxDyn};
use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rl_env::{Env, ObservationBuffer, VectorError};
use vector::PoolVectorEnv;

use crate::environments::{Environments, State};
use crate::errors;
use crate::pinned::PinnedMemory;

/// Observations and info.
pub(crate) type ResetBatch<'py> = (Bound<'py, PyArrayDyn<u8>>, Bound<'py, PyDict>);

/// Observations, rewards, terminations, truncations and info, in Gymnasium's order.
pub(crate) type StepBatch<'py> = (
    Bound<'py, PyArrayDyn<u8>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyDict>,
);

/// The maximum number of spare buffers. More are never needed: one is the next to be handed over while another is still
/// being read.
const SPARES: usize = 2;

/// Observation buffers that Python no longer uses. Those in page-locked memory are returned to PyTorch instead, which
/// reuses them after all copies to a GPU have been completed.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    pinned: Option<PinnedMemory>,
    buffers: Mutex<Vec<ObservationBuffer>>,
}

impl Spares {
    /// Creates an empty pool of spare buffers. Buffers are in page-locked memory if `pinned` is given.
    pub(crate) fn new(pinned: Option<PinnedMemory>) -> Self {
        Self { pinned, buffers: Mutex::default() }
    }

    /// Returns a buffer of this shape with arbitrary contents. Page-locked memory is allocated by Python code.
    pub(crate) fn take(&self, py: Python<'_>, rows: usize, row_bytes: usize) -> PyResult<ObservationBuffer> {
        if let Some(pinned) = &self.pinned {
            return pinned.buffer(py, rows, row_bytes);
        }
        let spare = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let spare = spare.or_else(|| ObservationBuffer::try_new(rows, row_bytes));
        spare.ok_or_else(|| errors::from_memory(rows * row_bytes))
    }

    /// Returns the buffer, or a page-locked copy if it should be page-locked and is not. The environments are created
    /// with buffers that are not.
    fn pin(&self, py: Python<'_>, buffer: ObservationBuffer) -> PyResult<ObservationBuffer> {
        if self.pinned.is_none() || buffer.is_lent() {
            return Ok(buffer);
        }
        let mut copy = self.take(py, buffer.rows(), buffer.row_bytes())?;
        copy.rows_mut().enumerate().for_each(|(index, row)| row.copy_from_slice(buffer.row(index)));
        Ok(copy)
    }

    /// Keeps a buffer that is no longer used, if it is not page-locked and there is room for it.
    pub(crate) fn put(&self, buffer: ObservationBuffer) {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if self.pinned.is_none() && buffers.len() < SPARES {
            buffers.push(buffer);
        }
    }
}

/// Calls `call` without the GIL, reads the resulting batch, and moves the observations out of it.
pub(crate) fn take_batch<E: Env + 'static, T>(
    py: Python<'_>,
    envs: &Environments<E>,
    spares: &Spares,
    call: impl FnOnce(&mut State<E>) -> Result<(), VectorError> + Send,
    read: impl FnOnce(&PoolVectorEnv<E>) -> PyResult<T>,
) -> PyResult<(ObservationBuffer, T)> {
    // Before the environments are locked, because the allocator of page-locked memory is Python code.
    let spare = spares.take(py, envs.rows, envs.row_bytes)?;
    let mut guard = envs.lock(py)?;
    let state = &mut *guard;
    match envs.wait(py, state, call).and_then(|()| read(&state.env)) {
        Ok(values) => {
            let observations =
                state.env.take_observations(spare).map_err(|error| errors::from_vector(&error))?;
            Ok((observations, values))
        }
        Err(error) => {
            // Freeing page-locked memory may run Python code, too.
            drop(guard);
            spares.put(spare);
            Err(error)
        }
    }
}

/// The owner of the memory of NumPy arrays. When the last array that refers to it is dropped, the buffer becomes a
/// spare.
#[pyclass(frozen, module = "ale_train._native")]
struct ObservationMemory {
    /// Taken when the object is dropped.
    buffer: Option<ObservationBuffer>,
    spares: Arc<Spares>,
}

impl Drop for ObservationMemory {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.spares.put(buffer);
        }
    }
}

/// Returns observations of one array of `shape` each as an array of shape `(rows, *shape)`, without a copy if rows are
/// contiguous. `T` is the element type of the observation space. The environments must not be locked, because
/// page-locked memory may be allocated.
pub(crate) fn share<'py, T: Element + Pod>(
    py: Python<'py>,
    buffer: ObservationBuffer,
    shape: &[usize],
    spares: &Arc<Spares>,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    if buffer.stride() != buffer.row_bytes() {
        let array = copy(py, &buffer, shape)?;
        spares.put(buffer);
        return Ok(array);
    }
    let mut buffer = spares.pin(py, buffer)?;
    assert_eq!(
        shape.iter().product::<usize>() * size_of::<T>(),
        buffer.row_bytes(),
        "rows are of `shape` elements"
    );
    let start = buffer.as_mut_ptr().cast::<T>();
    let shape = with_rows(buffer.rows(), shape);
    let memory = ObservationMemory { buffer: Some(buffer), spares: Arc::clone(spares) };
    let owner = Bound::new(py, memory)?.into_any();
    // SAFETY: the pointer is to the allocation of the buffer, which does not move while `owner` lives, and the array
    // keeps `owner` alive. The buffer holds contiguous rows of `shape` elements, as was asserted, aligned to eight
    // bytes, and any bytes are valid elements. Rust does not access them before `owner` is dropped, so Python may write
    // to them.
    #[allow(unsafe_code)]
    Ok(unsafe {
        let view = ArrayView::from_shape_ptr(IxDyn(&shape), start.cast_const());
        PyArrayDyn::borrow_from_array(&view, owner)
    })
}

/// Returns a copy of observations as an array of shape `(rows, *shape)`.
pub(crate) fn copy<'py, T: Element + Pod>(
    py: Python<'py>,
    buffer: &ObservationBuffer,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let mut elements: Vec<T> = Vec::new();
    let bytes = buffer.rows() * buffer.row_bytes();
    elements.try_reserve_exact(bytes / size_of::<T>()).map_err(|_| errors::from_memory(bytes))?;
    (0..buffer.rows()).for_each(|row| elements.extend_from_slice(bytemuck::cast_slice(buffer.row(row))));
    PyArray1::from_vec(py, elements).reshape(with_rows(buffer.rows(), shape))
}

fn with_rows(rows: usize, shape: &[usize]) -> Vec<usize> {
    [&[rows], shape].concat()
}

/// Returns an array of these values. NumPy's own memory costs less than an object that owns a `Vec`.
pub(crate) fn column<T: Element>(
    py: Python<'_>,
    values: impl IntoIterator<Item = T>,
) -> Bound<'_, PyArray1<T>> {
    PyArray1::from_slice(py, &values.into_iter().collect::<Vec<_>>())
}

/// Converts rewards to integers, as in ale-py.
pub(crate) fn whole_numbers<'py>(py: Python<'py>, rewards: &[f32]) -> Bound<'py, PyArray1<i32>> {
    column(py, rewards.iter().map(|&reward| reward as i32))
}
