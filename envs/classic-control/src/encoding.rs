//! How the environments of this crate put observations and states into bytes.

use rl_env::EnvError;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes floats as an observation row.
pub(crate) fn write_floats(values: &[f32], observation: &mut [u8]) {
    for (bytes, value) in observation.chunks_exact_mut(size_of::<f32>()).zip(values) {
        bytes.copy_from_slice(&value.to_ne_bytes());
    }
}

/// A state as bytes.
pub(crate) fn snapshot(state: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(state).expect("a state of plain numbers always has a byte form")
}

/// The state that [`snapshot`] wrote.
pub(crate) fn restore<T: DeserializeOwned>(snapshot: &[u8]) -> Result<T, EnvError> {
    match postcard::take_from_bytes(snapshot) {
        Ok((state, [])) => Ok(state),
        Ok((_, rest)) => Err(EnvError::BadSnapshot(format!("{} bytes too many", rest.len()))),
        Err(error) => Err(EnvError::BadSnapshot(error.to_string())),
    }
}
