//! The large convolutional network of Espeholt et al. 2018 (<https://arxiv.org/abs/1802.01561>): three sections, and a
//! ReLU.

use super::layers::{Rectifier, Sequence};
use super::maps::{Conv, Maps, Size};
use super::weights::Weights;
use crate::error::FileError;

#[derive(Clone, Debug)]
pub(super) struct Impala {
    sections: Vec<Section>,
    rectifier: Rectifier,
}

/// A convolution, a max pooling, and two residual blocks.
#[derive(Clone, Debug)]
struct Section {
    conv: Conv,
    blocks: Vec<Block>,
}

/// Activations and convolutions in turn, whose result is added to the input.
#[derive(Clone, Debug)]
struct Block {
    layers: Vec<(Rectifier, Conv)>,
}

impl Impala {
    /// Reads the network and moves behind its last activation. Also returns the size of its feature maps.
    pub(super) fn read(sequence: &mut Sequence<'_>, image: Size) -> Result<(Self, Size), FileError> {
        let mut size = image;
        let mut sections = Vec::new();
        for _ in 0..3 {
            let (section, output) = Section::read(sequence.weights(), &sequence.module(), size)?;
            sequence.skip(1);
            sections.push(section);
            size = output;
        }
        let rectifier = size.rectifier(sequence.weights(), &sequence.module())?;
        sequence.skip(rectifier.modules());
        Ok((Self { sections, rectifier }, size))
    }

    pub(super) fn apply(&self, image: &Maps) -> Maps {
        let mut maps = image.clone();
        for section in &self.sections {
            maps = section.apply(&maps);
        }
        self.rectifier.apply(&mut maps.values);
        maps
    }
}

impl Section {
    fn read(weights: &Weights, name: &str, input: Size) -> Result<(Self, Size), FileError> {
        let (conv, size) = Conv::read(weights, &format!("{name}.conv"), input, 1, 1)?;
        let size = size.pooled();
        let block = |index| Block::read(weights, &format!("{name}.res_block{index}"), size);
        Ok((Self { conv, blocks: (0..2).map(block).collect::<Result<_, _>>()? }, size))
    }

    fn apply(&self, maps: &Maps) -> Maps {
        self.blocks.iter().fold(self.conv.apply(maps).max_pooled(), |maps, block| block.apply(maps))
    }
}

impl Block {
    fn read(weights: &Weights, name: &str, size: Size) -> Result<Self, FileError> {
        let layer = |index: usize| {
            let rectifier = size.rectifier(weights, &format!("{name}.norm{index}"))?;
            let (conv, output) = Conv::read(weights, &format!("{name}.conv{index}"), size, 1, 1)?;
            if output == size { Ok((rectifier, conv)) } else { Err(FileError::Tensor(name.to_owned())) }
        };
        Ok(Self { layers: (0..2).map(layer).collect::<Result<_, _>>()? })
    }

    fn apply(&self, mut maps: Maps) -> Maps {
        let mut inner = maps.clone();
        for (rectifier, conv) in &self.layers {
            rectifier.apply(&mut inner.values);
            inner = conv.apply(&inner);
        }
        for (value, inner) in maps.values.iter_mut().zip(inner.values) {
            *value += inner;
        }
        maps
    }
}
