//! The optional part of the state of a learner, which follows the rest if the learner has intrinsic rewards. States
//! without it are those of PPO alone.

use std::io::Write;

use super::config::RndConfig;
use super::state::RndState;
use crate::LearnerError;
use crate::state_bytes::Header;

/// The optional part.
type Optional = Option<(RndConfig, RndState)>;

const HEADER: Header = Header { magic: b"RNDSTATE", version: 1 };

/// Writes the optional part, if there is one.
pub(in crate::ppo) fn write(
    config: &RndConfig,
    state: Option<&RndState>,
    out: &mut dyn Write,
) -> Result<(), LearnerError> {
    state.map_or(Ok(()), |state| HEADER.write(&(config, state), out))
}

/// Reads the optional part, if `bytes` begin with it. Also returns the rest.
pub(in crate::ppo) fn read(bytes: &[u8]) -> Result<(Optional, &[u8]), LearnerError> {
    if !bytes.starts_with(HEADER.magic) {
        return Ok((None, bytes));
    }
    let (parts, rest) = HEADER.decode_first(bytes)?;
    Ok((Some(parts), rest))
}
