//! The tensors of a file.

use std::collections::BTreeMap;

use half::f16;
use safetensors::{Dtype, SafeTensors};

use crate::error::FileError;

/// The values of a tensor in row-major order.
#[derive(Clone, Debug)]
struct Tensor {
    shape: Vec<usize>,
    values: Vec<f32>,
}

/// The tensors of a network by name.
#[derive(Clone, Debug)]
pub(crate) struct Weights(BTreeMap<String, Tensor>);

impl Weights {
    /// Decodes the tensors of a file.
    pub(crate) fn read(file: &SafeTensors<'_>) -> Result<Self, FileError> {
        let tensor = |(name, tensor): (&str, safetensors::tensor::TensorView<'_>)| {
            let values = decode(tensor.dtype(), tensor.data());
            let values = values.ok_or_else(|| {
                FileError::Unsupported(format!("whose tensor `{name}` has the type {}", tensor.dtype()))
            })?;
            Ok((name.to_owned(), Tensor { shape: tensor.shape().to_vec(), values }))
        };
        file.iter().map(tensor).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the number of axes of a tensor, or `None` if there is none of this name.
    pub(super) fn axes(&self, name: &str) -> Option<usize> {
        self.0.get(name).map(|tensor| tensor.shape.len())
    }

    /// Returns the shape of a tensor with `N` axes, none of them empty, and its values.
    pub(super) fn get<const N: usize>(&self, name: &str) -> Result<([usize; N], &[f32]), FileError> {
        let tensor = self.0.get(name).filter(|tensor| !tensor.values.is_empty());
        let shaped = tensor.and_then(|tensor| Some((tensor.shape[..].try_into().ok()?, &tensor.values[..])));
        shaped.ok_or_else(|| FileError::Tensor(name.to_owned()))
    }

    /// Returns the values of a tensor of this shape.
    pub(super) fn of_shape<const N: usize>(
        &self,
        name: &str,
        shape: [usize; N],
    ) -> Result<&[f32], FileError> {
        let (found, values) = self.get::<N>(name)?;
        if found == shape { Ok(values) } else { Err(FileError::Tensor(name.to_owned())) }
    }
}

/// Decodes values, if their type is one that `ale-train export` writes.
fn decode(dtype: Dtype, bytes: &[u8]) -> Option<Vec<f32>> {
    match dtype {
        Dtype::F32 => Some(bytes.as_chunks().0.iter().map(|&value| f32::from_le_bytes(value)).collect()),
        Dtype::F16 => {
            Some(bytes.as_chunks().0.iter().map(|&value| f16::from_le_bytes(value).to_f32()).collect())
        }
        _ => None,
    }
}
