//! Ctrl-C during calls that run without the GIL.
//!
//! Python runs the handlers of signals only between its own instructions, so that a call of this module would delay
//! them until it returns. The main thread therefore runs them regularly during long calls. An exception that a handler
//! raises, such as `KeyboardInterrupt`, interrupts the call.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use rl_env::interrupt;

thread_local! {
    /// True in Python's main thread, the only one that runs the handlers of signals. Unknown before the first call.
    static IS_MAIN: Cell<Option<bool>> = const { Cell::new(None) };
    /// The exception that a handler raised during the current call.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// The addresses of the locks that this thread holds during its calls: the current one, and those that were
    /// interrupted by handlers in which it runs.
    static HELD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Locks a mutex. Waiting for the call of another thread releases the GIL. Raises `RuntimeError` instead of waiting
/// forever if a handler of a signal interrupted the call of this thread that holds the lock.
pub(crate) fn lock<'a, T>(py: Python<'_>, mutex: &'a Mutex<T>) -> PyResult<MutexGuard<'a, T>> {
    let address = address_of(mutex);
    if HELD.with_borrow(|held| held.contains(&address)) {
        return Err(PyRuntimeError::new_err(
            "a signal handler cannot use the environments whose call the signal interrupted",
        ));
    }
    // A panic while the lock was held leaves the value in a valid state, as an error does.
    Ok(mutex.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
}

/// Calls `call` without the GIL while `mutex` is locked. Raises the exception of a handler of a signal.
pub(crate) fn wait_locked<T: Send, V: Send>(
    py: Python<'_>,
    mutex: &Mutex<T>,
    call: impl FnOnce() -> V + Send,
) -> PyResult<V> {
    let _held = Held::new(address_of(mutex));
    wait(py, call)
}

/// Calls `call` without the GIL. Raises the exception of a handler of a signal.
pub(crate) fn wait<V: Send>(py: Python<'_>, call: impl FnOnce() -> V + Send) -> PyResult<V> {
    if !is_main(py)? {
        return Ok(py.detach(call));
    }
    let result = py.detach(|| interrupt::with_check(run_handlers, call));
    RAISED.take().map_or(Ok(result), Err)
}

/// Calls `call` without the GIL, which asks the function that it is given several times a second whether to stop.
/// Raises the exception for which it was stopped.
pub(crate) fn poll<V: Send>(
    py: Python<'_>,
    stopped: &Stopped,
    call: impl FnOnce(&mut (dyn FnMut() -> bool + Send)) -> V + Send,
) -> PyResult<V> {
    let is_main = is_main(py)?;
    let mut is_stopped =
        || stopped.is_stopped() || (is_main && stopped.if_true(|py| py.check_signals().map(|()| false)));
    let result = py.detach(|| call(&mut is_stopped));
    stopped.exception().map_or(Ok(result), Err)
}

/// A request to stop a call, which its Python code may make on any thread.
#[derive(Clone, Default)]
pub(crate) struct Stopped(Arc<Mutex<Request>>);

#[derive(Default)]
struct Request {
    is_made: bool,
    exception: Option<PyErr>,
}

impl Stopped {
    /// Makes the request if `code` returns true or raises an exception, which is kept. Returns true if so.
    pub(crate) fn if_true(&self, code: impl FnOnce(Python<'_>) -> PyResult<bool>) -> bool {
        let outcome = Python::attach(code);
        let stops = !matches!(outcome, Ok(false));
        if stops {
            let mut request = self.lock();
            request.is_made = true;
            // The first exception is the cause of the others.
            let first = request.exception.take();
            request.exception = first.or_else(|| outcome.err());
        }
        stops
    }

    fn is_stopped(&self) -> bool {
        self.lock().is_made
    }

    fn exception(&self) -> Option<PyErr> {
        self.lock().exception.take()
    }

    fn lock(&self) -> MutexGuard<'_, Request> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the handlers of the signals that have arrived. Returns true if one raised an exception.
fn run_handlers() -> bool {
    let raised = Python::attach(|py| py.check_signals().err());
    let is_raised = raised.is_some();
    if is_raised {
        RAISED.set(raised);
    }
    is_raised
}

fn is_main(py: Python<'_>) -> PyResult<bool> {
    if let Some(is_main) = IS_MAIN.get() {
        return Ok(is_main);
    }
    let threading = py.import("threading")?;
    // Not `current_thread`, which registers an object for a thread that Python did not start.
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    let is_main = threading.call_method0("get_ident")?.eq(main)?;
    IS_MAIN.set(Some(is_main));
    Ok(is_main)
}

fn address_of<T>(mutex: &Mutex<T>) -> usize {
    std::ptr::from_ref(mutex).addr()
}

/// A lock that this thread holds until this is dropped.
struct Held;

impl Held {
    fn new(address: usize) -> Self {
        HELD.with_borrow_mut(|held| held.push(address));
        Self
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.with_borrow_mut(Vec::pop);
    }
}
