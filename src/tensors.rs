//! Files of named tensors in the safetensors format.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use algorithms::networks::NamedWeights;
use anyhow::Result;
use safetensors::{Dtype, View};

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
