//! Files of named tensors in the safetensors format.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use algorithms::networks::NamedWeights;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use half::f16;
use safetensors::{Dtype, SafeTensors, View};

use crate::durable;

/// The data type of the values in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// 16-bit floats: half the size, three to four significant digits, values up to 65,504.
    F16,
}

impl Precision {
    fn dtype(self) -> Dtype {
        match self {
            Self::F32 => Dtype::F32,
            Self::F16 => Dtype::F16,
        }
    }

    /// Encodes values. Fails if a finite one is too large.
    fn encode(self, NamedWeights { name, values, .. }: &NamedWeights) -> Result<Vec<u8>> {
        match self {
            Self::F32 => Ok(values.iter().flat_map(|value| value.to_le_bytes()).collect()),
            Self::F16 => {
                let too_large = |&&value: &&f32| value.is_finite() && f16::from_f32(value).is_infinite();
                if let Some(value) = values.iter().find(too_large) {
                    bail!(
                        "{name} has the value {value}, but 16-bit floats reach only 65504; use 32-bit floats"
                    );
                }
                Ok(values.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect())
            }
        }
    }
}

/// Decodes the values of a tensor, if the type is supported.
fn decode(dtype: Dtype, bytes: &[u8]) -> Option<Vec<f32>> {
    match dtype {
        Dtype::F32 => Some(bytes.as_chunks().0.iter().map(|&value| f32::from_le_bytes(value)).collect()),
        Dtype::F16 => {
            Some(bytes.as_chunks().0.iter().map(|&value| f16::from_le_bytes(value).to_f32()).collect())
        }
        _ => None,
    }
}

/// A tensor in a file.
struct Encoded {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl View for Encoded {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// Reads the tensors and the metadata in the contents of a file. Errors name the file `path`.
pub(crate) fn parse(path: &Path, file: &[u8]) -> Result<(Vec<NamedWeights>, HashMap<String, String>)> {
    let unusable = || format!("{} is not an agent: not a safetensors file", path.display());
    let (_, metadata) = SafeTensors::read_metadata(file).with_context(unusable)?;
    let tensors = SafeTensors::deserialize(file).with_context(unusable)?;
    let weights = tensors.iter().map(|(name, tensor)| {
        let values = decode(tensor.dtype(), tensor.data()).with_context(|| {
            let (path, dtype) = (path.display(), tensor.dtype());
            format!("{path}: the tensor {name} has the type {dtype}; it must be F32 or F16")
        })?;
        Ok(NamedWeights { name: name.to_owned(), shape: tensor.shape().to_vec(), values })
    });
    Ok((weights.collect::<Result<_>>()?, metadata.metadata().clone().unwrap_or_default()))
}

/// Writes tensors with metadata. `precision` is that of the layers; statistics, whose values may be large, have 32
/// bits.
pub(crate) fn write(
    path: &Path,
    tensors: Vec<NamedWeights>,
    precision: Precision,
    metadata: HashMap<String, String>,
) -> Result<()> {
    let tensors = tensors.into_iter().map(|weights| {
        let precision = if weights.is_of_layer() { precision } else { Precision::F32 };
        let (dtype, bytes) = (precision.dtype(), precision.encode(&weights)?);
        Ok((weights.name, Encoded { dtype, shape: weights.shape, bytes }))
    });
    let mut bytes = safetensors::serialize(tensors.collect::<Result<Vec<_>>>()?, Some(metadata))?;
    sort_header(&mut bytes)?;
    durable::write(path, &bytes)
}

/// Sorts the keys in the header of a file. The order of the metadata would otherwise differ from one file to the next.
fn sort_header(file: &mut [u8]) -> Result<()> {
    type Header = BTreeMap<String, BTreeMap<String, serde_json::Value>>;
    let (length, rest) = file.split_first_chunk_mut().context("a safetensors file begins with a length")?;
    let header = &mut rest[..u64::from_le_bytes(*length) as usize];
    let mut sorted = serde_json::to_vec(&serde_json::from_slice::<Header>(header)?)?;
    // The header is padded.
    sorted.resize(header.len(), b' ');
    header.copy_from_slice(&sorted);
    Ok(())
}
