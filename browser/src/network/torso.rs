//! The convolutions of a network.

use serde::Deserialize;

use super::impala::Impala;
use super::layers::Sequence;
use super::maps::{Maps, RectifiedConv, Size};
use crate::error::FileError;

/// The largest byte: images are divided by it.
const LARGEST_BYTE: f32 = 255.0;
/// The height and width from which images have the strides of [`STRIDED`] with [`TorsoKind::Small`].
const STRIDED_SIDE: usize = 16;

const NATURE: &[usize] = &[4, 2, 1];
const DATA_EFFICIENT: &[usize] = &[5, 5];
const SMALL: &[usize] = &[1, 1, 1];
const STRIDED: &[usize] = &[1, 2, 2];

/// The kind of the convolutions, as in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TorsoKind {
    /// Mnih et al. 2015.
    Nature,
    /// Espeholt et al. 2018.
    Impala,
    /// Van Hasselt et al. 2019.
    DataEfficient,
    /// For grids of symbols, whose bytes are not divided by 255.
    Small,
}

/// The convolutions that compute the features of images.
#[derive(Clone, Debug)]
pub(super) struct Torso {
    layers: Layers,
    image: Size,
    features: usize,
    /// By which bytes are divided.
    largest: f32,
}

#[derive(Clone, Debug)]
enum Layers {
    Convolutions(Vec<RectifiedConv>),
    Impala(Box<Impala>),
}

impl Torso {
    /// Reads the convolutions for images of this size, and moves behind the flattening.
    pub(super) fn read(sequence: &mut Sequence<'_>, kind: TorsoKind, image: Size) -> Result<Self, FileError> {
        let (layers, maps) = match strides(kind, image) {
            Some(strides) => convolutions(sequence, strides, image)?,
            None => impala(sequence, image)?,
        };
        sequence.skip(1);
        let largest = if kind == TorsoKind::Small { 1.0 } else { LARGEST_BYTE };
        Ok(Self { layers, image, features: maps.values(), largest })
    }

    /// Returns the number of bytes of an observation.
    pub(super) fn inputs(&self) -> usize {
        self.image.values()
    }

    /// Returns the number of features.
    pub(super) fn features(&self) -> usize {
        self.features
    }

    /// Computes the features of an image `[channels, height, width]`.
    pub(super) fn apply(&self, image: &[u8]) -> Vec<f32> {
        let bytes = self.image.channels_last(image);
        let values = bytes.into_iter().map(|byte| f32::from(byte) / self.largest).collect();
        let maps = Maps { size: self.image, values };
        let maps = match &self.layers {
            Layers::Convolutions(layers) => layers.iter().fold(maps, |maps, layer| layer.apply(&maps)),
            Layers::Impala(impala) => impala.apply(&maps),
        };
        maps.flattened()
    }
}

/// Returns the strides of the convolutions; `None` for those of IMPALA.
fn strides(kind: TorsoKind, image: Size) -> Option<&'static [usize]> {
    match kind {
        TorsoKind::Nature => Some(NATURE),
        TorsoKind::DataEfficient => Some(DATA_EFFICIENT),
        TorsoKind::Small if image.height.min(image.width) >= STRIDED_SIDE => Some(STRIDED),
        TorsoKind::Small => Some(SMALL),
        TorsoKind::Impala => None,
    }
}

fn impala(sequence: &mut Sequence<'_>, image: Size) -> Result<(Layers, Size), FileError> {
    let (impala, maps) = Impala::read(sequence, image)?;
    Ok((Layers::Impala(Box::new(impala)), maps))
}

fn convolutions(
    sequence: &mut Sequence<'_>,
    strides: &[usize],
    image: Size,
) -> Result<(Layers, Size), FileError> {
    let mut size = image;
    let mut layers = Vec::new();
    for &stride in strides {
        let (layer, output) = RectifiedConv::read(sequence, size, stride)?;
        layers.push(layer);
        size = output;
    }
    Ok((Layers::Convolutions(layers), size))
}
