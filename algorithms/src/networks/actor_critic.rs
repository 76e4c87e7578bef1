use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand_chacha::ChaCha8Rng;

use super::{Heads, Initializer, Mlp, Nature, ObservationLayout, RowTasks};
use crate::Task;

/// What a network says about a batch of observations.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// `[rows, max_actions]`, illegal actions masked.
    pub logits: Tensor<2>,
    /// `[rows]`.
    pub values: Tensor<1>,
}

/// The part of a network that depends on what observations look like.
#[derive(Module, Debug)]
#[expect(clippy::large_enum_variant, reason = "a network has one torso and is moved a few times an update")]
enum Torso {
    Nature(Nature),
    Mlp(Mlp),
}

/// A torso shared by policy and value, and heads for every task.
#[derive(Module, Debug)]
pub struct ActorCritic {
    torso: Torso,
    heads: Heads,
}

impl ActorCritic {
    /// A network for observations of `layout` and the given tasks: [`Nature`] for pictures, [`Mlp`] for vectors.
    pub fn new(layout: ObservationLayout, tasks: &[Task], rng: &mut ChaCha8Rng, device: &Device) -> Self {
        let mut initializer = Initializer { rng, device };
        let (torso, features) = match layout {
            ObservationLayout::Pictures { channels, height, width } => {
                (Torso::Nature(Nature::new([height, width, channels], &mut initializer)), Nature::FEATURES)
            }
            ObservationLayout::Bytes { length } | ObservationLayout::Floats { length } => {
                (Torso::Mlp(Mlp::new(length, &mut initializer)), Mlp::FEATURES)
            }
        };
        let max_actions = tasks.iter().map(|task| task.num_actions).max().unwrap_or(0);
        let heads = Heads::new(features, tasks.len(), max_actions, &mut initializer);
        Self { torso, heads }
    }

    /// Logits and values of observations `[rows, length]` as [`ObservationLayout::tensor`] makes them.
    pub fn forward(&self, observations: Tensor<2>, rows: &RowTasks) -> Outputs {
        let features = match &self.torso {
            Torso::Nature(nature) => nature.forward(observations),
            Torso::Mlp(mlp) => mlp.forward(observations),
        };
        self.heads.forward(features, rows)
    }
}
