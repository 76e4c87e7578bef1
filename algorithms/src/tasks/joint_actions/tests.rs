//! Graphs, choices and definitions of legal actions.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::definition::Definition;
use super::graph::{Edge, Node};
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
        let mut expected: Vec<Vec<usize>> = match &actions.definition.factors {
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
        if actions.definition.factors.is_some() {
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
        Definition { sizes: vec![2, usize::MAX], factors: None },
        Definition { sizes: vec![2, 2], factors: Some(vec![vec![0, 7]]) },
    ];
    for definition in damaged {
        assert!(postcard::from_bytes::<JointActions>(&postcard::to_stdvec(&definition).unwrap()).is_err());
    }
}
