use rand::Rng;

use crate::{JointActions, categorical};

/// The distribution of the actions of a row, on the host: at each node of the graph of choices, a categorical
/// distribution over its legal options. All methods must be given the actions that it was made for.
///
/// The probability of an action is the product of the probabilities along its path, so the probabilities of all legal
/// actions add up to 1.
#[derive(Clone, Debug)]
pub(crate) struct JointPolicy {
    /// The log-probabilities of the options of each node.
    nodes: Vec<Vec<f32>>,
}

impl JointPolicy {
    /// Creates the distribution with the given logits, one for each output. Those of illegal options have no effect.
    pub(crate) fn new(actions: &JointActions, logits: &[f32]) -> Self {
        let nodes = actions.nodes().iter().map(|node| {
            let mut log_probs: Vec<f32> = node.iter().map(|edge| logits[edge.column]).collect();
            categorical::log_softmax(&mut log_probs);
            log_probs
        });
        Self { nodes: nodes.collect() }
    }

    /// Samples an action. Returns its options and its log-probability. Draws one random number for each choice.
    pub(crate) fn sample(&self, actions: &JointActions, rng: &mut impl Rng) -> (Vec<i32>, f32) {
        let mut log_prob = 0.0;
        let options = actions.walk(|node, _| {
            let log_probs = &self.nodes[node];
            let option = categorical::sample(log_probs, rng);
            log_prob += log_probs[option];
            option
        });
        (options, log_prob)
    }

    /// Returns the options of the most probable action, the first one if several are equal.
    pub(crate) fn greedy(&self, actions: &JointActions) -> Vec<i32> {
        actions.best(|node, option| self.nodes[node][option])
    }

    /// Returns the log-probability of a legal action.
    #[cfg(test)]
    pub(crate) fn log_prob(&self, actions: &JointActions, options: &[i32]) -> f32 {
        actions.path(options).map(|(node, option)| self.nodes[node][option]).sum()
    }

    /// Returns the log-probability of each action of a discrete space, or that of each option of each choice.
    pub(crate) fn log_probs(&self, actions: &JointActions) -> Vec<f32> {
        actions.sums(|node, option| self.nodes[node][option])
    }
}
