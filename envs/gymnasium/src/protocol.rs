//! The messages on the pipes between this process and a worker.
//!
//! A request starts with a word: the number of environments that carry out their commands, followed by their indices
//! within the worker, or [`ALL`], or [`CONTROL`], followed by a frame. A response starts with a byte, and is answered
//! in the order of the requests. A frame is a value in JSON and bytes, with the length of each before.

use std::fs::File;
use std::io::{self, Read};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The first word of a request that a frame follows.
const CONTROL: u32 = 0;

/// The first word of a request to all environments of a worker.
const ALL: u32 = u32::MAX;

/// The first byte of a response to environments that have carried out their commands.
const DONE: u8 = b'.';

/// The first byte of a response if an environment failed. A frame follows.
const FAILED: u8 = b'!';

/// The first byte of the reply to a frame. A frame follows.
const REPLY: u8 = b'=';

/// An error of an environment, as the worker describes it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct EnvFault {
    pub(crate) env: usize,
    /// The method that failed.
    pub(crate) stage: String,
    /// The number of the step in its episode.
    pub(crate) step: u64,
    pub(crate) error: String,
    pub(crate) traceback: Option<String>,
}

/// A value in JSON and bytes.
#[derive(Debug)]
pub(crate) struct Frame {
    json: Vec<u8>,
    pub(crate) bytes: Vec<u8>,
}

impl Frame {
    /// Parses the value.
    pub(crate) fn value<T: DeserializeOwned>(&self) -> io::Result<T> {
        Ok(serde_json::from_slice(&self.json)?)
    }
}

/// A response of a worker.
#[derive(Debug)]
pub(crate) enum Response {
    /// The environments have carried out their commands.
    Done,
    /// One of them failed, and those after it have done nothing.
    Failed(EnvFault),
    /// The reply to a frame.
    Reply(Frame),
}

/// Writes a request to environments to `message`: to those with these indices within the worker, or to all.
pub(crate) fn write_request(message: &mut Vec<u8>, indices: Option<&[u32]>) {
    message.clear();
    let first = indices.map_or(ALL, |indices| indices.len() as u32);
    message.extend(first.to_ne_bytes());
    message.extend(indices.unwrap_or_default().iter().flat_map(|index| index.to_ne_bytes()));
}

/// Returns a request with a value in JSON and bytes.
pub(crate) fn frame(value: &impl Serialize, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(value)?;
    let mut message = CONTROL.to_ne_bytes().to_vec();
    message.extend((json.len() as u32).to_ne_bytes());
    message.extend((bytes.len() as u64).to_ne_bytes());
    message.extend(json);
    message.extend(bytes);
    Ok(message)
}

/// Reads a response. `None` is the end of the pipe: the worker has ended.
pub(crate) fn read_response(mut pipe: &File) -> io::Result<Option<Response>> {
    let mut kind = [0];
    match pipe.read_exact(&mut kind) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let response = match kind[0] {
        DONE => Response::Done,
        FAILED => Response::Failed(read_frame(pipe)?.value()?),
        REPLY => Response::Reply(read_frame(pipe)?),
        other => return Err(io::Error::other(format!("a response starts with the byte {other}"))),
    };
    Ok(Some(response))
}

fn read_frame(mut pipe: &File) -> io::Result<Frame> {
    let (mut json_length, mut length) = ([0; 4], [0; 8]);
    pipe.read_exact(&mut json_length)?;
    pipe.read_exact(&mut length)?;
    let mut json = vec![0; u32::from_ne_bytes(json_length) as usize];
    pipe.read_exact(&mut json)?;
    let mut bytes = vec![0; u64::from_ne_bytes(length) as usize];
    pipe.read_exact(&mut bytes)?;
    Ok(Frame { json, bytes })
}
