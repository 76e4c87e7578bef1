//! Files of named tensors in the safetensors format.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use algorithms::networks::NamedWeights;
use anyhow::{Context, Result, ensure};
use safetensors::{Dtype, SafeTensors, View};

use crate::durable;

/// A tensor of 32-bit floats.
struct Floats {
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl View for Floats {
    fn dtype(&self) -> Dtype {
        Dtype::F32
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

/// Reads tensors of 32-bit floats and the metadata.
pub(crate) fn read(path: &Path) -> Result<(Vec<NamedWeights>, HashMap<String, String>)> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let unusable = || format!("{} is not a safetensors file", path.display());
    let (_, metadata) = SafeTensors::read_metadata(&bytes).with_context(unusable)?;
    let tensors = SafeTensors::deserialize(&bytes).with_context(unusable)?;
    let weights = tensors.iter().map(|(name, tensor)| {
        ensure!(
            tensor.dtype() == Dtype::F32,
            "{}: the tensor {name} has the type {}; it must be F32",
            path.display(),
            tensor.dtype()
        );
        let values = tensor
            .data()
            .chunks_exact(4)
            .map(|value| f32::from_le_bytes([value[0], value[1], value[2], value[3]]));
        Ok(NamedWeights { name: name.to_owned(), shape: tensor.shape().to_vec(), values: values.collect() })
    });
    Ok((weights.collect::<Result<_>>()?, metadata.metadata().clone().unwrap_or_default()))
}

/// Writes tensors with metadata.
pub(crate) fn write(
    path: &Path,
    tensors: impl IntoIterator<Item = NamedWeights>,
    texts: HashMap<String, String>,
) -> Result<()> {
    let tensors = tensors.into_iter().map(|NamedWeights { name, shape, values }| {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        (name, Floats { shape, bytes })
    });
    let bytes = safetensors::serialize(tensors, Some(texts))?;
    durable::write(path, &bytes)
}
