use crate::cluster::Cluster;
use crate::experience::replay::ReplayStorage;

/// Where a learner with a replay buffer trains. The default is a single process with unlimited memory.
#[derive(Debug)]
pub struct Placement {
    /// The processes that train the learner together.
    pub cluster: Cluster,
    /// The memory for this process's part of the replay buffer.
    pub storage: ReplayStorage,
}

impl Default for Placement {
    fn default() -> Self {
        Self { cluster: Cluster::default(), storage: ReplayStorage::UNLIMITED }
    }
}
