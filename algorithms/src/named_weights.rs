//! Named tensors for error reports, exports and checkpoints.

use kernels::ObservationLayout;
use serde::{Deserialize, Serialize};

/// The name of the temperature of SAC.
pub(crate) const TEMPERATURE: &str = "log_alpha";
/// The first part of the names of the statistics of observations.
pub(crate) const STATISTICS: &str = "obs_rms.";

/// One parameter of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedWeights {
    /// The path to it in the network, such as `body.layers.Nature.conv1.weight`.
    pub name: String,
    /// Length of every axis.
    pub shape: Vec<usize>,
    /// The values, outermost axis first.
    pub values: Vec<f32>,
}

impl NamedWeights {
    /// Converts rows of observations, with a name for error reports.
    pub(crate) fn of_rows<'a>(
        name: &str,
        layout: ObservationLayout,
        rows: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> Self {
        let (shape, values) = layout.decode_all(rows);
        Self { name: name.to_owned(), shape: shape.to_vec(), values }
    }

    /// Returns true for a weight or bias of a layer. False for statistics of observations and temperatures of SAC,
    /// which exports contain too.
    pub fn is_of_layer(&self) -> bool {
        self.name != TEMPERATURE && !self.name.starts_with(STATISTICS)
    }
}
