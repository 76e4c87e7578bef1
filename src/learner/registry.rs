use std::fmt;

use serde::{Deserialize, Serialize};
use settings::choices;

use super::algorithm::Descriptor;
use super::{dqn, ppo, pqn, sac};

choices! {
    /// The algorithms. To add one, implement [`AlgorithmConfig`](super::AlgorithmConfig) in a file of this directory
    /// and list it here.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) enum Algorithm {
        /// Proximal Policy Optimization.
        #[default]
        Ppo = "ppo",
        /// DQN and its extensions up to Rainbow.
        Dqn = "dqn",
        /// The parallelised Q-network.
        Pqn = "pqn",
        /// Soft Actor-Critic.
        Sac = "sac",
    }
}

impl Algorithm {
    /// Returns the algorithm's entry in the registry.
    pub(crate) const fn descriptor(self) -> &'static Descriptor {
        match self {
            Self::Ppo => &ppo::DESCRIPTOR,
            Self::Dqn => &dqn::DESCRIPTOR,
            Self::Pqn => &pqn::DESCRIPTOR,
            Self::Sac => &sac::DESCRIPTOR,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
