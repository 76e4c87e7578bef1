//! How environments turn their state into the bytes of a snapshot.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::EnvError;

/// A state as bytes.
///
/// # Panics
///
/// If the state has no byte form: only types whose serialisation asks for the length of a sequence that it does not
/// know. States of plain numbers always have one.
pub fn encode(state: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(state).expect("a state of plain numbers always has a byte form")
}

/// The state that [`encode`] wrote.
pub fn decode<T: DeserializeOwned>(snapshot: &[u8]) -> Result<T, EnvError> {
    match postcard::take_from_bytes(snapshot) {
        Ok((state, [])) => Ok(state),
        Ok((_, rest)) => Err(EnvError::BadSnapshot(format!("{} bytes too many", rest.len()))),
        Err(error) => Err(EnvError::BadSnapshot(error.to_string())),
    }
}
