use std::collections::BTreeMap;
use std::fmt;

use rand::Rng;
use rl_env::Space;
use serde::{Deserialize, Serialize};
use thiserror::Error;

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
#[serde(try_from = "Legal", into = "Legal")]
pub struct JointActions {
    legal: Legal,
    /// The first column of each choice.
    starts: Vec<usize>,
    /// The nodes of the graph, in topological order.
    nodes: Vec<Node>,
}

/// The definition of legal actions, from which everything else is derived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Legal {
    /// The number of options of each choice.
    sizes: Vec<usize>,
    /// The options of each action of a discrete space. `None` if all combinations are legal and the environment expects
    /// the options themselves.
    factors: Option<Vec<Vec<usize>>>,
}

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

/// An error in the definition of legal actions.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum JointActionsError {
    /// There are no choices, a choice has no options, or there are too many of them.
    #[error(
        "choices of {0:?} options are not possible: each choice needs at least one option, and there can be at \
         most {max} in total",
        max = JointActions::MAX_OPTIONS
    )]
    Sizes(Vec<usize>),
    /// There are no actions.
    #[error("a task needs at least one action")]
    Empty,
    /// An action does not fit the choices.
    #[error("the action {action:?} must have one option for each choice, below {sizes:?}")]
    Unfit {
        /// The options of the action.
        action: Vec<usize>,
        /// The number of options of each choice.
        sizes: Vec<usize>,
    },
    /// Two actions have the same options.
    #[error("two actions have the same options {0:?}")]
    Repeated(Vec<usize>),
}

impl JointActions {
    /// The largest total number of options.
    pub const MAX_OPTIONS: usize = 1 << 20;

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
        Self::try_from(Legal { sizes: sizes.to_vec(), factors: None })
    }

    /// Creates the actions of [`Space::Discrete`] as several choices. `factors` holds the options of each action, one
    /// per choice. `sizes` holds the number of options of each choice, some of which may be illegal.
    pub fn factored(sizes: &[usize], factors: Vec<Vec<usize>>) -> Result<Self, JointActionsError> {
        Self::try_from(Legal { sizes: sizes.to_vec(), factors: Some(factors) })
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
        match (&self.legal.factors, &self.legal.sizes[..]) {
            (Some(factors), _) => Space::discrete(factors.len()),
            (None, &[n]) => Space::discrete(n),
            (None, sizes) => Space::multi_discrete(sizes),
        }
    }

    /// Returns the number of choices of an action.
    pub fn num_choices(&self) -> usize {
        self.legal.sizes.len()
    }

    /// Returns the number of options of each choice, legal or not.
    pub fn sizes(&self) -> &[usize] {
        &self.legal.sizes
    }

    /// Returns the options of each action of a discrete space, if it is [factored](Self::factored).
    pub fn factors(&self) -> Option<&[Vec<usize>]> {
        self.legal.factors.as_deref()
    }

    /// Returns the number of output columns of a network: the options of all choices side by side.
    pub fn num_outputs(&self) -> usize {
        self.legal.sizes.iter().sum()
    }

    /// Returns the natural logarithm of the number of legal actions, which is the largest entropy of a policy.
    pub fn ln_count(&self) -> f64 {
        self.ln_counts()[0]
    }

    /// Returns the natural logarithm of the number of paths from each node.
    fn ln_counts(&self) -> Vec<f64> {
        let mut counts = vec![0.0; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let after = |edge: &Edge| edge.next.map_or(0.0, |next| counts[next]);
            let largest = node.iter().map(after).fold(0.0, f64::max);
            counts[index] = largest + node.iter().map(|edge| (after(edge) - largest).exp()).sum::<f64>().ln();
        }
        counts
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
            options.push((edge.column - self.starts[options.len()]) as i32);
            next = edge.next;
        }
        options
    }

    /// Returns the nodes of an action, each with the index of the edge to the next one. Ends early if the action is
    /// illegal.
    pub(crate) fn path<'a>(&'a self, options: &'a [i32]) -> impl Iterator<Item = (usize, usize)> + 'a {
        let mut next = Some(0);
        options.iter().zip(&self.starts).map_while(move |(&option, &start)| {
            let node = next?;
            let edges = &self.nodes[node];
            let column = start + usize::try_from(option).ok()?;
            let index = edges.binary_search_by_key(&column, |edge| edge.column).ok()?;
            next = edges[index].next;
            Some((node, index))
        })
    }

    /// Returns the columns of the options of a choice that belong to legal actions, possibly with repetitions. Empty if
    /// there is no such choice.
    pub fn columns_of(&self, choice: usize) -> impl Iterator<Item = usize> {
        let start = self.starts.get(choice).copied().unwrap_or(usize::MAX);
        let end = start.saturating_add(self.legal.sizes.get(choice).copied().unwrap_or(0));
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
        let mut best = vec![(0, 0.0); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let total = |edge: usize| {
                let score = score(index, edge);
                node[edge].next.map_or(score, |next| score + best[next].1)
            };
            let first = (0, total(0));
            best[index] = (1..node.len())
                .map(|edge| (edge, total(edge)))
                .fold(first, |best, other| if other.1 > best.1 { other } else { best });
        }
        self.walk(|node, _| best[node].0)
    }

    /// Draws a legal action uniformly at random, with one random number for each choice.
    pub(crate) fn random(&self, rng: &mut impl Rng) -> Vec<i32> {
        if let [only] = &self.nodes[..] {
            return vec![only[rng.random_range(0..only.len())].column as i32];
        }
        let counts = self.ln_counts();
        let after = |edge: &Edge| edge.next.map_or(0.0, |next| counts[next]);
        self.walk(|node, edges| {
            let mut left = rng.random::<f64>();
            let passed = edges.iter().position(|edge| {
                left -= (after(edge) - counts[node]).exp();
                left < 0.0
            });
            // The sum of the shares may round to less than 1.
            passed.unwrap_or(edges.len() - 1)
        })
    }

    /// Draws an action uniformly at random among those whose options are allowed, with one random number for each
    /// choice.
    /// `is_allowed` is called with output columns, and allows at least one option of each choice.
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
        let Some(factors) = &self.legal.factors else { return elements.extend_from_slice(options) };
        let equal = |factors: &Vec<usize>| {
            factors.iter().zip(options).all(|(&factor, &option)| factor == option as usize)
        };
        let action = factors.iter().position(equal).expect("the action is legal");
        elements.push(action as i32);
    }

    /// Returns the sum of scores along the path of each action of a discrete space, or for [`Space::MultiDiscrete`] the
    /// score of each option of each choice. `score` is called with a node and the index of an edge.
    pub(crate) fn sums(&self, score: impl Fn(usize, usize) -> f32) -> Vec<f32> {
        let Some(factors) = &self.legal.factors else {
            let edges = self.nodes.iter().enumerate();
            return edges
                .flat_map(|(node, edges)| (0..edges.len()).map(move |edge| (node, edge)))
                .map(|(node, edge)| score(node, edge))
                .collect();
        };
        let sum = |factors: &Vec<usize>| {
            let options: Vec<i32> = factors.iter().map(|&factor| factor as i32).collect();
            self.path(&options).map(|(node, edge)| score(node, edge)).sum()
        };
        factors.iter().map(sum).collect()
    }
}

impl TryFrom<Legal> for JointActions {
    type Error = JointActionsError;

    fn try_from(legal: Legal) -> Result<Self, JointActionsError> {
        let Legal { sizes, factors } = &legal;
        let total = sizes.iter().try_fold(0_usize, |total, &size| total.checked_add(size));
        if sizes.is_empty() || sizes.contains(&0) || total.is_none_or(|total| total > Self::MAX_OPTIONS) {
            return Err(JointActionsError::Sizes(sizes.clone()));
        }
        let starts: Vec<usize> = sizes
            .iter()
            .scan(0, |end, &size| {
                let start = *end;
                *end += size;
                Some(start)
            })
            .collect();
        let nodes = match factors {
            Some(factors) => merged(&starts, &sorted(sizes, factors)?),
            None => chain(&starts, sizes),
        };
        Ok(Self { legal, starts, nodes })
    }
}

impl From<JointActions> for Legal {
    fn from(actions: JointActions) -> Self {
        actions.legal
    }
}

impl fmt::Display for JointActions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = || self.sizes().iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        match (&self.legal.factors, self.num_choices()) {
            (Some(factors), _) => write!(f, "{} actions in choices of {}", factors.len(), sizes()),
            (None, 1) => write!(f, "{} actions", sizes()),
            (None, _) => write!(f, "choices of {}", sizes()),
        }
    }
}

/// Returns one node for each choice.
fn chain(starts: &[usize], sizes: &[usize]) -> Vec<Node> {
    let node = |(choice, (&start, &size)): (usize, (&usize, &usize))| {
        let next = (choice + 1 < sizes.len()).then_some(choice + 1);
        (start..start + size).map(|column| Edge { column, next }).collect()
    };
    starts.iter().zip(sizes).enumerate().map(node).collect()
}

/// Returns actions in ascending order. Fails unless they are distinct and fit the choices.
fn sorted<'a>(sizes: &[usize], factors: &'a [Vec<usize>]) -> Result<Vec<&'a [usize]>, JointActionsError> {
    let fits = |action: &[usize]| {
        action.len() == sizes.len() && action.iter().zip(sizes).all(|(option, size)| option < size)
    };
    if let Some(action) = factors.iter().find(|action| !fits(action)) {
        return Err(JointActionsError::Unfit { action: action.clone(), sizes: sizes.to_vec() });
    }
    let mut sorted: Vec<&[usize]> = factors.iter().map(Vec::as_slice).collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(JointActionsError::Repeated(pair[0].to_vec())),
        None if sorted.is_empty() => Err(JointActionsError::Empty),
        None => Ok(sorted),
    }
}

/// Returns the smallest graph whose paths are the given actions, which are in ascending order.
fn merged(starts: &[usize], actions: &[&[usize]]) -> Vec<Node> {
    // The nodes from the last choice to the first, and the node that follows each prefix of an action.
    let mut nodes: Vec<Node> = Vec::new();
    let mut beginnings: Vec<(&[usize], Option<usize>)> =
        actions.iter().map(|&action| (action, None)).collect();
    for (choice, start) in starts.iter().enumerate().rev() {
        let mut known = BTreeMap::new();
        let same = |left: &(&[usize], _), right: &(&[usize], _)| left.0[..choice] == right.0[..choice];
        let grouped = beginnings.chunk_by(same).map(|group| {
            let edges: Node =
                group.iter().map(|&(action, next)| Edge { column: start + action[choice], next }).collect();
            let node = *known.entry(edges.clone()).or_insert_with(|| {
                nodes.push(edges);
                nodes.len() - 1
            });
            (group[0].0, Some(node))
        });
        beginnings = grouped.collect();
    }
    let last = nodes.len() - 1;
    nodes.reverse();
    nodes.iter_mut().flatten().for_each(|edge| edge.next = edge.next.map(|next| last - next));
    nodes
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::testing::{all_actions, random_actions};

    /// Actions of 200 seeds.
    fn cases() -> impl Iterator<Item = (JointActions, ChaCha8Rng)> {
        (0..200).map(|seed| {
            println!("seed {seed}");
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            (random_actions(&mut rng), rng)
        })
    }

    fn factored(sizes: &[usize], factors: &[&[usize]]) -> Result<JointActions, JointActionsError> {
        JointActions::factored(sizes, factors.iter().map(|action| action.to_vec()).collect())
    }

    #[test]
    fn the_paths_are_the_given_actions() {
        for (actions, _) in cases() {
            let mut expected: Vec<Vec<usize>> = match &actions.legal.factors {
                Some(factors) => factors.clone(),
                None => continue,
            };
            expected.sort();
            let paths = all_actions(&actions);
            let equal = |(path, expected): (&Vec<i32>, &Vec<usize>)| {
                path.iter().zip(expected).all(|(&option, &expected)| option as usize == expected)
            };
            assert!(paths.len() == expected.len() && paths.iter().zip(&expected).all(equal));
            assert!((actions.ln_count() - (paths.len() as f64).ln()).abs() < 1e-9);
            assert_eq!(actions.space(), Space::discrete(paths.len()));
        }
    }

    #[test]
    fn nodes_with_equal_continuations_are_merged() {
        // All combinations in any order are a chain.
        let all = [[1, 0], [0, 2], [1, 1], [0, 0], [1, 2], [0, 1]];
        let all = factored(&[2, 3], &all.each_ref().map(|action| &action[..])).unwrap();
        assert_eq!(all.nodes, JointActions::product(&[2, 3]).unwrap().nodes);
        // Every direction without the button, none with it; then always the same choice.
        let some: [&[usize]; 8] =
            [&[0, 0, 0], &[0, 1, 0], &[0, 2, 0], &[1, 0, 0], &[0, 0, 1], &[0, 1, 1], &[0, 2, 1], &[1, 0, 1]];
        let some = factored(&[2, 3, 2], &some).unwrap();
        let edge = |column, next| Edge { column, next };
        let last: Node = vec![edge(5, None), edge(6, None)];
        let directions: Node = (2..5).map(|column| edge(column, Some(3))).collect();
        let none = vec![edge(2, Some(3))];
        let first = some.nodes[0].iter().map(|edge| &some.nodes[edge.next.unwrap()]);
        assert_eq!(first.collect::<Vec<_>>(), [&directions, &none]);
        assert_eq!((some.nodes.len(), &some.nodes[3]), (4, &last));
        assert!(all.is_product() && !some.is_product());
    }

    #[test]
    fn nodes_are_in_topological_order() {
        for (actions, _) in cases() {
            for (index, node) in actions.nodes.iter().enumerate() {
                assert!(node.iter().all(|edge| edge.next.is_none_or(|next| next > index)));
            }
        }
    }

    #[test]
    fn the_best_action_has_the_largest_sum_and_is_the_first_of_equals() {
        for (actions, mut rng) in cases() {
            let width = actions.num_outputs();
            // Small integers, so that sums are exact and often equal.
            let scores: Vec<f32> =
                (0..width * actions.nodes.len()).map(|_| rng.random_range(-2..3) as f32).collect();
            let score = |node: usize, edge: usize| scores[node * width + edge];
            let sum =
                |options: &Vec<i32>| actions.path(options).map(|(node, edge)| score(node, edge)).sum::<f32>();
            let all = all_actions(&actions);
            let largest = all.iter().map(sum).fold(f32::NEG_INFINITY, f32::max);
            let first = all.iter().find(|options| sum(options) == largest).unwrap();
            assert_eq!(actions.best(score), *first);
            if actions.legal.factors.is_some() {
                for (action, total) in actions.sums(score).into_iter().enumerate() {
                    let options = all.iter().find(|options| {
                        let mut elements = Vec::new();
                        actions.write(options, &mut elements);
                        elements == [action as i32]
                    });
                    assert_eq!(total, sum(options.unwrap()));
                }
            }
        }
    }

    #[test]
    fn random_actions_are_legal_and_equally_frequent() {
        // The first choice has three continuations with option 0 and one with option 1.
        let actions = factored(&[2, 3], &[&[0, 0], &[0, 1], &[0, 2], &[1, 1]]).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = BTreeMap::new();
        for _ in 0..40_000 {
            *counts.entry(actions.random(&mut rng)).or_insert(0) += 1;
        }
        assert_eq!(counts.keys().cloned().collect::<Vec<_>>(), all_actions(&actions));
        // Five standard deviations of a binomial count are 433.
        assert!(counts.values().all(|count| i32::abs(count - 10_000) < 433), "{counts:?}");
        for (actions, mut rng) in cases() {
            let all = all_actions(&actions);
            (0..20).for_each(|_| assert!(all.contains(&actions.random(&mut rng))));
        }
    }

    #[test]
    fn a_single_choice_draws_one_integer() {
        let (mut rng, mut same) = (ChaCha8Rng::seed_from_u64(1), ChaCha8Rng::seed_from_u64(1));
        for n in 1..100 {
            assert_eq!(JointActions::discrete(n).random(&mut rng), [same.random_range(0..n) as i32]);
            assert_eq!(JointActions::discrete(n).ln_count() as f32, (n as f32).ln());
        }
    }

    #[test]
    fn actions_of_environments_are_indices_or_options() {
        let elements = |actions: JointActions, options: &[i32]| {
            let mut elements = vec![9];
            actions.write(options, &mut elements);
            elements
        };
        assert_eq!(elements(factored(&[2, 3], &[&[1, 2], &[0, 1]]).unwrap(), &[0, 1]), [9, 1]);
        assert_eq!(elements(JointActions::product(&[2, 3]).unwrap(), &[0, 2]), [9, 0, 2]);
        assert_eq!(elements(JointActions::discrete(4), &[3]), [9, 3]);
        let spaces = [Space::discrete(4), Space::multi_discrete([2, 3])];
        for space in spaces {
            assert_eq!(JointActions::of_space(&space).unwrap().space(), space);
        }
        let refused = [
            Space::Discrete { n: 3, start: 1 },
            Space::discrete(0),
            Space::MultiDiscrete { nvec: vec![2, 2], start: vec![0, 1] },
            Space::multi_discrete([2, 0]),
            Space::multi_discrete([]),
            Space::multi_discrete([usize::MAX, 2]),
            Space::multi_binary(2),
            Space::floats(1, -1.0, 1.0),
        ];
        assert!(refused.iter().all(|space| JointActions::of_space(space).is_none()));
    }

    #[test]
    fn impossible_actions_are_errors() {
        type Error = JointActionsError;
        assert_eq!(factored(&[2], &[]), Err(Error::Empty));
        assert_eq!(factored(&[2, 2], &[&[0, 1], &[1, 1], &[0, 1]]), Err(Error::Repeated(vec![0, 1])));
        let unfit = |action: &[usize]| Err(Error::Unfit { action: action.to_vec(), sizes: vec![2, 2] });
        assert_eq!(factored(&[2, 2], &[&[0, 2]]), unfit(&[0, 2]));
        assert_eq!(factored(&[2, 2], &[&[0]]), unfit(&[0]));
        for sizes in [&[][..], &[2, 0], &[usize::MAX, 1], &[JointActions::MAX_OPTIONS, 1]] {
            assert_eq!(JointActions::product(sizes), Err(Error::Sizes(sizes.to_vec())));
        }
    }

    #[test]
    fn actions_are_restored_from_their_definition_and_damaged_ones_are_refused() {
        for (actions, _) in cases() {
            let bytes = postcard::to_stdvec(&actions).unwrap();
            assert_eq!(postcard::from_bytes::<JointActions>(&bytes).unwrap(), actions);
        }
        let damaged = [
            Legal { sizes: vec![2, usize::MAX], factors: None },
            Legal { sizes: vec![2, 2], factors: Some(vec![vec![0, 7]]) },
        ];
        for legal in damaged {
            assert!(postcard::from_bytes::<JointActions>(&postcard::to_stdvec(&legal).unwrap()).is_err());
        }
    }
}
