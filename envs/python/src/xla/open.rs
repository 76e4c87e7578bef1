//! The environments that handles name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::call::{Argument, Failure};
use crate::environments::Environments;

/// The environments by their handles. A handle is never reused, so one that outlives its environments is never mistaken
/// for another.
static OPEN: Mutex<Open> = Mutex::new(Open { last: 0, envs: BTreeMap::new() });

struct Open {
    last: u64,
    envs: BTreeMap<u64, Weak<Environments>>,
}

/// Environments that have a handle until this is dropped.
pub(crate) struct Opened(u64);

impl Opened {
    /// Returns the handle.
    pub(crate) fn handle(&self) -> [u8; 8] {
        self.0.to_ne_bytes()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).envs.remove(&self.0);
    }
}

/// Gives environments a handle.
pub(crate) fn open(envs: &Arc<Environments>) -> Opened {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.last += 1;
    let id = open.last;
    open.envs.insert(id, Arc::downgrade(envs));
    Opened(id)
}

/// Returns the handle in an argument and its environments.
pub(super) fn find(argument: &Argument<'_>) -> Result<([u8; 8], Arc<Environments>), Failure> {
    let handle: [u8; 8] = argument.elements()?.try_into().map_err(|_| {
        Failure::invalid("the handle must have 8 elements; env.xla() returns it as the first of its results")
    })?;
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let envs = open.envs.get(&u64::from_ne_bytes(handle)).and_then(Weak::upgrade);
    let envs = envs.ok_or_else(|| Failure::invalid("the vector environment of this handle is closed"))?;
    Ok((handle, envs))
}
