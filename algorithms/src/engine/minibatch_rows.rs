/// The rows of a minibatch, or those of one of its shards.
#[derive(Clone, Debug)]
pub struct MinibatchRows {
    /// The entries of the rollout, or for a recurrent network its environments.
    pub(crate) items: Vec<usize>,
    /// The entries of the rows. Those of a recurrent network are in the order of their steps.
    pub(crate) entries: Vec<usize>,
    /// The entries that are transitions: all but those that only reset their environment.
    pub(crate) transitions: Vec<usize>,
}
