//! The format of every learner's state: eight bytes that identify the learner, the version as a little-endian `u16`,
//! and the state in postcard encoding. Equal states have equal bytes.

use std::borrow::Cow;
use std::io::Write;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};

use crate::LearnerError;

/// The number of bytes that identify the learner, at the start of a state.
pub(crate) const MAGIC_BYTES: usize = 8;
/// The number of bytes before the encoded state: those that identify the learner, and the version.
pub(crate) const HEADER_BYTES: usize = MAGIC_BYTES + size_of::<u16>();

/// The first bytes of the state of one kind of learner.
pub struct Header {
    /// The name of the learner.
    pub(crate) magic: &'static [u8; MAGIC_BYTES],
    /// The version of the format.
    pub(crate) version: u16,
}

impl Header {
    /// Writes a state.
    pub(crate) fn write(&self, state: &impl Serialize, out: &mut dyn Write) -> Result<(), LearnerError> {
        let header = [self.magic.as_slice(), &self.version.to_le_bytes()].concat();
        out.write_all(&header).map_err(|error| LearnerError::StateNotWritten(error.to_string()))?;
        match postcard::to_io(state, out) {
            Ok(_) => Ok(()),
            Err(error) => Err(LearnerError::StateNotWritten(error.to_string())),
        }
    }

    /// Returns true if `bytes` begin like a state of this kind of learner, of any version.
    pub(crate) fn begins(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(self.magic)
    }

    /// Decodes a state that [`write`](Self::write) wrote at the beginning of `bytes`. Also returns the rest.
    pub(crate) fn decode_first<'a, S: DeserializeOwned>(
        &self,
        bytes: &'a [u8],
    ) -> Result<(S, &'a [u8]), LearnerError> {
        let rest =
            bytes.strip_prefix(self.magic.as_slice()).ok_or_else(|| bad("it has the wrong first bytes"))?;
        let (version, rest) = rest.split_first_chunk().ok_or_else(|| bad("it is truncated"))?;
        let version = u16::from_le_bytes(*version);
        if version != self.version {
            let expected = self.version;
            return Err(bad(&format!("it has version {version}, but this build reads version {expected}")));
        }
        postcard::take_from_bytes(rest).map_err(|error| bad(&error.to_string()))
    }
}

/// Fails if bytes are left after a state.
pub(crate) fn end(rest: &[u8]) -> Result<(), LearnerError> {
    if rest.is_empty() { Ok(()) } else { Err(bad(&format!("bytes follow its end: {}", rest.len()))) }
}

/// Bytes that are written as a whole rather than one by one.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Bytes<'a>(pub(crate) Cow<'a, [u8]>);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

/// Returns the error of a state with the given problem.
pub(crate) fn bad(problem: &str) -> LearnerError {
    LearnerError::BadState(problem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_bytes_are_errors_with_their_cause() {
        let header = Header { magic: b"EXAMPLES", version: 3 };
        let mut bytes = Vec::new();
        header.write(&"state", &mut bytes).unwrap();
        assert_eq!(header.decode_first::<String>(&bytes).unwrap(), ("state".to_owned(), &[][..]));
        let problem = |bytes: &[u8]| match header.decode_first::<String>(bytes) {
            Err(LearnerError::BadState(problem)) => problem,
            other => panic!("{other:?}"),
        };
        assert_eq!(problem(b"something else"), "it has the wrong first bytes");
        assert_eq!(problem(&bytes[..HEADER_BYTES - 1]), "it is truncated");
        assert_eq!(end(b"+"), Err(bad("bytes follow its end: 1")));
        bytes[MAGIC_BYTES] = 4;
        assert_eq!(problem(&bytes), "it has version 4, but this build reads version 3");
    }
}
