//! Encoding of environment states as bytes.

mod saved_envs;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{EnvError, VectorError};

pub use saved_envs::{SavedEnv, SavedEnvs, join_snapshots, part_of_snapshot};

/// Encodes a state.
///
/// # Panics
///
/// If a sequence of unknown length is serialized. Derived implementations of plain data never do that.
pub fn encode(state: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(state).expect("plain data can be encoded")
}

/// Decodes a state that [`encode`] wrote.
pub fn decode<T: DeserializeOwned>(snapshot: &[u8]) -> Result<T, EnvError> {
    match postcard::take_from_bytes(snapshot) {
        Ok((state, [])) => Ok(state),
        Ok((_, rest)) => Err(EnvError::BadSnapshot(format!("{} trailing bytes", rest.len()))),
        Err(error) => Err(EnvError::BadSnapshot(error.to_string())),
    }
}

/// Decodes the state of a vector environment that [`encode`] wrote.
pub fn decode_vector_state<T: DeserializeOwned>(snapshot: &[u8]) -> Result<T, VectorError> {
    decode(snapshot).map_err(|error| match error {
        EnvError::BadSnapshot(reason) => VectorError::BadSnapshot(reason),
        error => VectorError::BadSnapshot(error.to_string()),
    })
}
