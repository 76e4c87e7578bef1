//! PQN's loss: the squared errors of the values of the actions taken.

use super::minibatch::Minibatch;
use crate::action_values::loss::weighted_mean;
use crate::engine::backward::SplitPoint;
use crate::engine::loss::Loss;
use crate::networks::QNetwork;

/// The names of the terms.
pub(super) const TERMS: &[&str] = &["the loss"];

/// Computes the mean of `(Q(s, a) - R)^2` over the rows of a minibatch; that of an action of several choices is the
/// mean over its choices. The details are `Q(s, a)` of each choice.
pub(super) fn loss(network: &QNetwork, minibatch: Minibatch, split: &mut SplitPoint) -> Loss {
    let Minibatch { observations, rows, branches, returns, weights } = minibatch;
    let body = split.pass(network.body(observations, &rows));
    let values = network.outputs(body, &rows, None);
    let taken = branches.select(values).squeeze_dim::<1>(1);
    let total = weighted_mean((taken.clone() - returns).square(), weights);
    Loss { terms: vec![total.clone()], total, details: taken.into() }
}
