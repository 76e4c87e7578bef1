//! The messages that fill TensorBoard's HPARAMS tab, as PyTorch's `SummaryWriter.add_hparams` writes them.
//!
//! The plugin's messages are not in tensorboard-proto. They are encoded here, field by field, with the numbers of
//! `tensorboard/plugins/hparams/{plugin_data,api}.proto`.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use protobuf::{CodedOutputStream, ProtobufResult};
use tensorboard_proto::summary::{Summary, SummaryMetadata, SummaryMetadata_PluginData};

use super::tensorboard_summary::summary;

const PLUGIN: &str = "hparams";
/// A key of a map entry, and its value.
const MAP_KEY: u32 = 1;
const MAP_VALUE: u32 = 2;
/// `STATUS_SUCCESS`.
const SUCCESS: i32 = 1;

/// The value of a hyperparameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Hyperparameter {
    Number(f64),
    Truth(bool),
    Text(String),
}

/// The hyperparameters of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Session {
    /// The columns of the tab, each with a value of its type. TensorBoard shows the columns of one run for all runs, so
    /// they include the keys of other algorithms.
    pub(crate) columns: Vec<(String, Hyperparameter)>,
    /// The columns to show first. TensorBoard sorts them by name, and shows five until others are chosen.
    pub(crate) first: Vec<String>,
    /// The scalars that are shown as results.
    pub(crate) metrics: Vec<String>,
    /// The values of the run.
    pub(crate) values: Vec<(String, Hyperparameter)>,
}

impl Hyperparameter {
    /// Returns the number of `DataType`.
    fn data_type(&self) -> i32 {
        match self {
            Self::Text(_) => 1,
            Self::Truth(_) => 2,
            Self::Number(_) => 3,
        }
    }

    /// Encodes a `google.protobuf.Value`.
    fn encoded(&self) -> ProtobufResult<Vec<u8>> {
        message(|out| match self {
            Self::Number(number) => out.write_double(2, *number),
            Self::Text(text) => out.write_string(3, text),
            Self::Truth(truth) => out.write_bool(4, *truth),
        })
    }
}

/// Returns the messages at the start of a run: the columns of the tab, and the values of the run.
pub(super) fn start(session: &Session) -> io::Result<[Summary; 2]> {
    let experiment = experiment(session).map_err(io::Error::other)?;
    let values = values(session).map_err(io::Error::other)?;
    Ok([
        plugin_data("_hparams_/experiment", 2, &experiment)?,
        plugin_data("_hparams_/session_start_info", 3, &values)?,
    ])
}

/// Returns the message at the end of a run.
pub(super) fn end() -> io::Result<Summary> {
    let info = message(|out| {
        out.write_enum(1, SUCCESS)?;
        out.write_double(2, now())
    });
    plugin_data("_hparams_/session_end_info", 4, &info.map_err(io::Error::other)?)
}

/// Encodes an `Experiment`.
fn experiment(session: &Session) -> ProtobufResult<Vec<u8>> {
    message(|out| {
        out.write_double(3, now())?;
        for (key, value) in &session.columns {
            let column = message(|out| {
                out.write_string(1, key)?;
                out.write_enum(4, value.data_type())?;
                // `differs`, by which TensorBoard sorts.
                out.write_bool(7, session.first.contains(key))
            })?;
            out.write_bytes(4, &column)?;
        }
        for tag in &session.metrics {
            let name = message(|out| out.write_string(2, tag))?;
            let metric = message(|out| out.write_bytes(1, &name))?;
            out.write_bytes(5, &metric)?;
        }
        Ok(())
    })
}

/// Encodes a `SessionStartInfo`.
fn values(session: &Session) -> ProtobufResult<Vec<u8>> {
    message(|out| {
        for (key, value) in &session.values {
            let entry = message(|out| {
                out.write_string(MAP_KEY, key)?;
                out.write_bytes(MAP_VALUE, &value.encoded()?)
            })?;
            out.write_bytes(1, &entry)?;
        }
        out.write_double(5, now())
    })
}

/// Returns a summary whose metadata is an `HParamsPluginData` with one field.
fn plugin_data(tag: &str, field: u32, content: &[u8]) -> io::Result<Summary> {
    let content = message(|out| out.write_bytes(field, content)).map_err(io::Error::other)?;
    let mut plugin = SummaryMetadata_PluginData::new();
    plugin.set_plugin_name(PLUGIN.to_owned());
    plugin.set_content(content);
    let mut metadata = SummaryMetadata::new();
    metadata.set_plugin_data(plugin);
    Ok(summary(tag, |value| value.set_metadata(metadata)))
}

fn message(write: impl FnOnce(&mut CodedOutputStream<'_>) -> ProtobufResult<()>) -> ProtobufResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut out = CodedOutputStream::vec(&mut bytes);
    write(&mut out)?;
    out.flush()?;
    drop(out);
    Ok(bytes)
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
