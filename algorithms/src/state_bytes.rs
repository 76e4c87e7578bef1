//! The form of every learner's state: eight bytes that name the learner, the version as a little-endian `u16`, and
//! the state in postcard's encoding. Equal states have equal bytes.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::LearnerError;

/// What the state of one kind of learner begins with.
pub(crate) struct Header {
    /// Names the learner.
    pub(crate) magic: &'static [u8; 8],
    /// Changes whenever the meaning of the bytes does.
    pub(crate) version: u16,
}

impl Header {
    /// A state as bytes.
    pub(crate) fn encode(&self, state: &impl Serialize) -> Result<Vec<u8>, LearnerError> {
        let header = [self.magic.as_slice(), &self.version.to_le_bytes()].concat();
        postcard::to_extend(state, header).map_err(|error| bad(&error.to_string()))
    }

    /// The state that [`encode`](Self::encode) made bytes of.
    pub(crate) fn decode<S: DeserializeOwned>(&self, bytes: &[u8]) -> Result<S, LearnerError> {
        let rest =
            bytes.strip_prefix(self.magic.as_slice()).ok_or_else(|| bad("it does not begin like one"))?;
        let (version, rest) = rest.split_first_chunk().ok_or_else(|| bad("it is cut off"))?;
        let version = u16::from_le_bytes(*version);
        if version != self.version {
            let expected = self.version;
            return Err(bad(&format!("it has version {version}, this program reads version {expected}")));
        }
        let (state, rest) = postcard::take_from_bytes(rest).map_err(|error| bad(&error.to_string()))?;
        if !rest.is_empty() {
            return Err(bad(&format!("{} bytes too many", rest.len())));
        }
        Ok(state)
    }
}

/// The error about a state with a certain problem.
pub(crate) fn bad(problem: &str) -> LearnerError {
    LearnerError::BadState(problem.to_owned())
}
