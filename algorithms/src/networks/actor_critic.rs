use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand_chacha::ChaCha8Rng;

use super::body::{Body, Hidden, VectorLayers};
use super::lstm::Lstm;
use super::norm::Activation;
use super::{
    Exploration, ExplorationSizes, Heads, Initializer, LstmState, ObservationLayout, Outputs, PolicyConfig,
    RowTasks, Sequences, TaskNetwork, TorsoKind,
};
use crate::VectorSpec;
use crate::networks::value_scale::Rescaling;

/// Default width of both layers for vector observations.
const VECTOR_WIDTH: usize = 64;

/// Layers that policy and value share, and heads for every task.
#[derive(Module, Debug)]
pub struct ActorCritic {
    pub(super) body: Body,
    hidden: Hidden,
    lstm: Option<Lstm>,
    heads: Heads,
    exploration: Option<Exploration>,
}

impl ActorCritic {
    /// Creates a network for observations of `layout` and the tasks of `spec`: convolutions and a hidden
    /// layer for images, two tanh layers for vectors.
    pub fn new(
        layout: ObservationLayout,
        spec: &VectorSpec,
        config: &PolicyConfig,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> Self {
        let mut initializer = Initializer { rng, device };
        let layer_norm = config.layer_norm.unwrap_or(false);
        let width = config.hidden_size.unwrap_or(VECTOR_WIDTH);
        let vector = VectorLayers { width, tanh: true };
        let body = Body::new(layout, spec.tasks.len(), config, layer_norm, vector, &mut initializer);
        let inputs = body.features();
        let images = layout.has_images();
        let torso = config.torso_for(layout);
        let width = if images { config.image_hidden_size(torso) } else { width };
        let linear = match torso {
            TorsoKind::Impala if images => initializer.uniform_linear(inputs, width),
            _ => initializer.linear(inputs, width, 2f64.sqrt()),
        };
        let arithmetic = config.arithmetic_on(device).filter(|_| images);
        let activation = Activation::new(width, layer_norm, !images, device);
        let hidden = Hidden::new(linear, activation).with_arithmetic(arithmetic);
        let lstm = (config.lstm > 0).then(|| Lstm::new(width, config.lstm, &mut initializer));
        let features = if config.lstm > 0 { config.lstm } else { width };
        let heads = Heads::new(features, spec, config, &mut initializer);
        Self { body, hidden, lstm, heads, exploration: None }
    }

    /// Adds the networks of Random Network Distillation, and a value head for intrinsic returns.
    #[must_use]
    pub(crate) fn exploring(
        self,
        sizes: ExplorationSizes,
        config: &PolicyConfig,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> Self {
        let mut initializer = Initializer { rng, device };
        let exploration = Exploration::new(self.heads.shape(), sizes, config, &mut initializer);
        Self { exploration: Some(exploration), ..self }
    }

    /// Returns the networks of Random Network Distillation, if the agent learns from intrinsic rewards.
    pub(crate) fn exploration(&self) -> Option<&Exploration> {
        self.exploration.as_ref()
    }

    /// Computes logits and values of observations `[rows, length]` from [`ObservationLayout::tensor`]. A recurrent
    /// network requires `sequences`, which arrange the rows as sequences, and also returns its next state.
    ///
    /// # Panics
    /// Panics if the network is recurrent and `sequences` is `None`.
    pub fn forward(
        &self,
        observations: Tensor<2>,
        rows: &RowTasks,
        sequences: Option<Sequences>,
    ) -> (Outputs, Option<LstmState>) {
        let (features, state) = self.features(self.body.forward(observations, rows), sequences);
        (self.outputs(features, rows), state)
    }

    /// Computes the first part of [`forward`](Self::forward): the layers before the last hidden one.
    pub(crate) fn body(&self, observations: Tensor<2>, rows: &RowTasks) -> Tensor<2> {
        self.body.forward(observations, rows)
    }

    /// Computes the second part: the other layers that all tasks share, to `[rows, features]`.
    pub(crate) fn features(
        &self,
        body: Tensor<2>,
        sequences: Option<Sequences>,
    ) -> (Tensor<2>, Option<LstmState>) {
        let features = self.hidden.forward(body);
        match (&self.lstm, sequences) {
            (Some(lstm), Some(sequences)) => {
                let (features, state) = lstm.forward(features, sequences);
                (features, Some(state))
            }
            (Some(_), None) => panic!("a recurrent network requires sequences"),
            (None, _) => (features, None),
        }
    }

    /// Computes the third part: the heads of each row's task.
    pub(crate) fn outputs(&self, features: Tensor<2>, rows: &RowTasks) -> Outputs {
        let values = |exploration: &Exploration| exploration.values(features.clone(), rows);
        let intrinsic_values = self.exploration.as_ref().map(values);
        Outputs { intrinsic_values, ..self.heads.forward(features, rows) }
    }
}

impl TaskNetwork for ActorCritic {
    fn rescale_values(self, changes: &[Rescaling]) -> Self {
        Self { heads: self.heads.rescale_values(changes), ..self }
    }
}
