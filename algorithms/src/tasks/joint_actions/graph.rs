//! The graph of legal actions. A node is a choice with its legal options; every path from the first node is an action.

use std::collections::BTreeMap;

/// The legal options of a choice after some earlier choices, in ascending order.
pub(crate) type Node = Vec<Edge>;

/// A legal option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    /// The output column of the option.
    pub(crate) column: usize,
    /// The node of the next choice; `None` after the last one.
    pub(crate) next: Option<usize>,
}

/// Returns the graph of all combinations of options: one node for each choice, in order.
pub(super) fn chain(first_columns: &[usize], sizes: &[usize]) -> Vec<Node> {
    let mut nodes = Vec::with_capacity(sizes.len());
    for (choice, (&first_column, &size)) in first_columns.iter().zip(sizes).enumerate() {
        let next = (choice + 1 < sizes.len()).then_some(choice + 1);
        nodes.push((first_column..first_column + size).map(|column| Edge { column, next }).collect());
    }
    nodes
}

/// Returns the smallest graph whose paths are the given actions, which are in ascending order.
pub(super) fn merged(first_columns: &[usize], actions: &[&[usize]]) -> Vec<Node> {
    // From the last choice to the first. A node refers to those before it.
    let mut nodes: Vec<Node> = Vec::new();
    // An action for each distinct prefix of as many options as there are choices before, and the node after the prefix.
    let mut prefixes: Vec<(&[usize], Option<usize>)> = actions.iter().map(|&action| (action, None)).collect();
    for (choice, first_column) in first_columns.iter().enumerate().rev() {
        let mut known = BTreeMap::new();
        let mut shorter_prefixes = Vec::new();
        for group in prefixes.chunk_by(|left, right| left.0[..choice] == right.0[..choice]) {
            let edges: Node = group
                .iter()
                .map(|&(action, next)| Edge { column: first_column + action[choice], next })
                .collect();
            let node = *known.entry(edges.clone()).or_insert_with(|| {
                nodes.push(edges);
                nodes.len() - 1
            });
            shorter_prefixes.push((group[0].0, Some(node)));
        }
        prefixes = shorter_prefixes;
    }
    let last = nodes.len() - 1;
    nodes.reverse();
    nodes.iter_mut().flatten().for_each(|edge| edge.next = edge.next.map(|next| last - next));
    nodes
}

/// Returns the natural logarithm of the number of paths from each node.
pub(super) fn ln_counts(nodes: &[Node]) -> Vec<f64> {
    let mut counts = vec![0.0; nodes.len()];
    for (index, node) in nodes.iter().enumerate().rev() {
        let largest = node.iter().map(|edge| ln_count_after(&counts, edge)).fold(0.0, f64::max);
        let shares = node.iter().map(|edge| (ln_count_after(&counts, edge) - largest).exp());
        counts[index] = largest + shares.sum::<f64>().ln();
    }
    counts
}

/// Returns the natural logarithm of the number of paths that continue after an edge, given those of later nodes.
pub(super) fn ln_count_after(ln_counts: &[f64], edge: &Edge) -> f64 {
    edge.next.map_or(0.0, |next| ln_counts[next])
}
