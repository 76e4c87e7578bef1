//! The rows of a minibatch.
//!
//! An *entry* of a rollout is a step of an environment. An epoch shuffles and splits *units*: entries or, for a
//! recurrent network, environments, because all steps of an environment must be in one minibatch. The tensors of a
//! minibatch have a *row* for each entry.

/// The rows of a minibatch, or those of one of its shards.
#[derive(Clone, Debug)]
pub struct MinibatchRows {
    /// The units of the minibatch: indices of entries or, for a recurrent network, of environments.
    pub(crate) units: Vec<usize>,
    /// The entry of each row. The rows of a recurrent network are step by step: first the first step of each
    /// environment.
    pub(crate) entries: Vec<usize>,
    /// The entries that are transitions: all but those that only reset their environment.
    pub(crate) transitions: Vec<usize>,
}
