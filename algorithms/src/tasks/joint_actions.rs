//! Discrete actions that consist of one choice or several.

mod definition;
mod graph;
#[cfg(test)]
mod tests;

use std::fmt;

use rand::Rng;
use rl_env::Space;
use serde::{Deserialize, Serialize};

pub use definition::JointActionsError;
use definition::{Definition, MAX_OPTIONS, first_columns, sorted};
use graph::{Node, chain, ln_count_after, ln_counts, merged};

/// The legal actions of a task. An action is a sequence of choices, each among a few options.
///
/// An action of [`Space::Discrete`] is a single choice; an action of [`Space::MultiDiscrete`] has one choice per
/// component. The actions of a discrete space can also be [factored](Self::factored) into several choices, such as the
/// directions and the button of a joystick. In that case some combinations of options may be illegal: the options of a
/// later choice depend on the earlier choices.
///
/// The choices form a graph. A node is a choice with its legal options, and every path from the first node is a legal
/// action. Nodes with the same continuations are merged, so the graph has one node per choice if all combinations are
/// legal.
///
/// Networks have one output column for each option of each choice, whether it is legal or not.
///
/// ```
/// use algorithms::JointActions;
///
/// // Two directions and a button that has an effect only without a direction.
/// let actions = JointActions::factored(&[2, 3], vec![vec![0, 0], vec![0, 1], vec![0, 2], vec![1, 0]])?;
/// assert_eq!((actions.num_choices(), actions.num_outputs()), (2, 5));
/// assert_eq!(actions.to_string(), "4 actions in choices of 2 x 3");
/// assert!((actions.ln_count() - 4f64.ln()).abs() < 1e-12);
/// # Ok::<(), algorithms::JointActionsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Definition", into = "Definition")]
pub struct JointActions {
    definition: Definition,
    /// The first output column of each choice.
    first_columns: Vec<usize>,
    /// The nodes of the graph, in topological order.
    nodes: Vec<Node>,
}

impl JointActions {
    /// The largest total number of options.
    pub const MAX_OPTIONS: usize = MAX_OPTIONS;

    /// Creates the actions of [`Space::Discrete`], a single choice of `n` options.
    ///
    /// # Panics
    /// Panics if `n` is 0 or more than [`MAX_OPTIONS`](Self::MAX_OPTIONS).
    pub fn discrete(n: usize) -> Self {
        Self::product(&[n]).expect("a possible number of actions")
    }

    /// Creates the actions of [`Space::MultiDiscrete`]: all combinations of options, given the number of options of
    /// each choice.
    pub fn product(sizes: &[usize]) -> Result<Self, JointActionsError> {
        Self::try_from(Definition { sizes: sizes.to_vec(), factors: None })
    }

    /// Creates the actions of [`Space::Discrete`] as several choices. `factors` holds the options of each action, one
    /// per choice. `sizes` holds the number of options of each choice, some of which may be illegal.
    pub fn factored(sizes: &[usize], factors: Vec<Vec<usize>>) -> Result<Self, JointActionsError> {
        Self::try_from(Definition { sizes: sizes.to_vec(), factors: Some(factors) })
    }

    /// Creates the actions of an action space, if learners support it: [`Space::Discrete`] or [`Space::MultiDiscrete`]
    /// that starts at 0.
    pub(crate) fn of_space(space: &Space) -> Option<Self> {
        match space {
            Space::Discrete { n, start: 0 } => Self::product(&[*n]).ok(),
            Space::MultiDiscrete { nvec, start } if start.iter().all(|&start| start == 0) => {
                Self::product(nvec).ok()
            }
            _ => None,
        }
    }

    /// Returns the action space of the environments. A `MultiDiscrete` space with a single choice counts as `Discrete`.
    pub fn space(&self) -> Space {
        match (&self.definition.factors, &self.definition.sizes[..]) {
            (Some(factors), _) => Space::discrete(factors.len()),
            (None, &[n]) => Space::discrete(n),
            (None, sizes) => Space::multi_discrete(sizes),
        }
    }

    /// Returns the number of choices of an action.
    pub fn num_choices(&self) -> usize {
        self.definition.sizes.len()
    }

    /// Returns the number of options of each choice, legal or not.
    pub fn sizes(&self) -> &[usize] {
        &self.definition.sizes
    }

    /// Returns the options of each action of a discrete space, if it is [factored](Self::factored).
    pub fn factors(&self) -> Option<&[Vec<usize>]> {
        self.definition.factors.as_deref()
    }

    /// Returns the number of output columns of a network: the options of all choices side by side.
    pub fn num_outputs(&self) -> usize {
        self.definition.sizes.iter().sum()
    }

    /// Returns the natural logarithm of the number of legal actions, which is the largest entropy of a policy.
    pub fn ln_count(&self) -> f64 {
        ln_counts(&self.nodes)[0]
    }

    /// Returns the nodes of the graph, in topological order.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns true for a single choice whose options are all legal.
    pub(crate) fn is_single_choice(&self) -> bool {
        matches!(&self.nodes[..], [only] if only.len() == self.num_outputs())
    }

    /// Returns true if all combinations of the legal options of the choices are legal.
    pub(crate) fn is_product(&self) -> bool {
        self.nodes.len() == self.num_choices()
    }

    /// Returns the action that `choose` selects. For each node on the path, `choose` returns the index of one of its
    /// edges.
    pub(crate) fn walk(&self, mut choose: impl FnMut(usize, &Node) -> usize) -> Vec<i32> {
        let mut options = Vec::with_capacity(self.num_choices());
        let mut next = Some(0);
        while let Some(node) = next {
            let edge = self.nodes[node][choose(node, &self.nodes[node])];
            options.push((edge.column - self.first_columns[options.len()]) as i32);
            next = edge.next;
        }
        options
    }

    /// Returns the nodes of an action, each with the index of the edge to the next one. Ends early if the action is
    /// illegal.
    pub(crate) fn path<'a>(&'a self, options: &'a [i32]) -> impl Iterator<Item = (usize, usize)> + 'a {
        let mut next = Some(0);
        options.iter().zip(&self.first_columns).map_while(move |(&option, &first_column)| {
            let node = next?;
            let edges = &self.nodes[node];
            let column = first_column + usize::try_from(option).ok()?;
            let index = edges.binary_search_by_key(&column, |edge| edge.column).ok()?;
            next = edges[index].next;
            Some((node, index))
        })
    }

    /// Returns the columns of the options of a choice that belong to legal actions, possibly with repetitions. Empty if
    /// there is no such choice.
    pub fn columns_of(&self, choice: usize) -> impl Iterator<Item = usize> {
        let start = self.first_columns.get(choice).copied().unwrap_or(usize::MAX);
        let end = start.saturating_add(self.definition.sizes.get(choice).copied().unwrap_or(0));
        self.nodes
            .iter()
            .flatten()
            .map(|edge| edge.column)
            .filter(move |column| (start..end).contains(column))
    }

    /// Returns true if an action, which may be padded with further options, is legal.
    pub(crate) fn is_legal(&self, options: &[i32]) -> bool {
        self.path(options).count() == self.num_choices()
    }

    /// Returns the output columns of an action. Ends early if the action is illegal.
    pub(crate) fn columns<'a>(&'a self, options: &'a [i32]) -> impl Iterator<Item = usize> + 'a {
        self.path(options).map(|(node, edge)| self.nodes[node][edge].column)
    }

    /// Returns the action with the largest sum of scores along its path. Ties go to the first action in the order of
    /// the options. `score` is called with a node and the index of an edge.
    pub(crate) fn best(&self, score: impl Fn(usize, usize) -> f32) -> Vec<i32> {
        // The best edge of each node, and the sum of the scores from there on.
        let mut best = vec![(0, 0.0); self.nodes.len()];
        for (node, edges) in self.nodes.iter().enumerate().rev() {
            let sum_from = |edge: usize| {
                let score = score(node, edge);
                edges[edge].next.map_or(score, |next| score + best[next].1)
            };
            let mut best_here = (0, sum_from(0));
            for edge in 1..edges.len() {
                let sum = sum_from(edge);
                if sum > best_here.1 {
                    best_here = (edge, sum);
                }
            }
            best[node] = best_here;
        }
        self.walk(|node, _| best[node].0)
    }

    /// Draws a legal action uniformly at random, with one random number for each choice.
    pub(crate) fn random(&self, rng: &mut impl Rng) -> Vec<i32> {
        if let [only] = &self.nodes[..] {
            return vec![only[rng.random_range(0..only.len())].column as i32];
        }
        let ln_counts = ln_counts(&self.nodes);
        self.walk(|node, edges| {
            let mut remaining = rng.random::<f64>();
            let drawn = edges.iter().position(|edge| {
                let probability = (ln_count_after(&ln_counts, edge) - ln_counts[node]).exp();
                remaining -= probability;
                remaining < 0.0
            });
            // The sum of the probabilities may round to less than 1.
            drawn.unwrap_or(edges.len() - 1)
        })
    }

    /// Draws an action uniformly at random among those whose options are allowed, with one random number for each
    /// choice. `is_allowed` is called with output columns, and allows at least one option of each choice.
    pub(crate) fn random_among(&self, is_allowed: impl Fn(usize) -> bool, rng: &mut impl Rng) -> Vec<i32> {
        self.walk(|_, edges| {
            let allowed: Vec<usize> =
                (0..edges.len()).filter(|&edge| is_allowed(edges[edge].column)).collect();
            let index = (rng.random::<f64>() * allowed.len() as f64) as usize;
            allowed.get(index).copied().unwrap_or_default()
        })
    }

    /// Appends the elements of the action that the environment receives: the index of the action if its space is
    /// discrete, otherwise the options.
    pub(crate) fn write(&self, options: &[i32], elements: &mut Vec<i32>) {
        let Some(factors) = &self.definition.factors else { return elements.extend_from_slice(options) };
        let has_these_options = |action: &Vec<usize>| {
            action.iter().zip(options).all(|(&expected, &option)| expected == option as usize)
        };
        let action = factors.iter().position(has_these_options).expect("the action is legal");
        elements.push(action as i32);
    }

    /// Returns the sum of scores along the path of each action of a discrete space, or for [`Space::MultiDiscrete`] the
    /// score of each option of each choice. `score` is called with a node and the index of an edge.
    pub(crate) fn sums(&self, score: impl Fn(usize, usize) -> f32) -> Vec<f32> {
        let Some(factors) = &self.definition.factors else {
            let mut scores = Vec::new();
            for (node, edges) in self.nodes.iter().enumerate() {
                scores.extend((0..edges.len()).map(|edge| score(node, edge)));
            }
            return scores;
        };
        let sum = |action: &Vec<usize>| {
            let options: Vec<i32> = action.iter().map(|&option| option as i32).collect();
            self.path(&options).map(|(node, edge)| score(node, edge)).sum()
        };
        factors.iter().map(sum).collect()
    }
}

impl TryFrom<Definition> for JointActions {
    type Error = JointActionsError;

    fn try_from(definition: Definition) -> Result<Self, JointActionsError> {
        let Definition { sizes, factors } = &definition;
        let first_columns = first_columns(sizes)?;
        let nodes = match factors {
            Some(factors) => merged(&first_columns, &sorted(sizes, factors)?),
            None => chain(&first_columns, sizes),
        };
        Ok(Self { definition, first_columns, nodes })
    }
}

impl From<JointActions> for Definition {
    fn from(actions: JointActions) -> Self {
        actions.definition
    }
}

impl fmt::Display for JointActions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = || self.sizes().iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        match (&self.definition.factors, self.num_choices()) {
            (Some(factors), _) => write!(f, "{} actions in choices of {}", factors.len(), sizes()),
            (None, 1) => write!(f, "{} actions", sizes()),
            (None, _) => write!(f, "choices of {}", sizes()),
        }
    }
}
