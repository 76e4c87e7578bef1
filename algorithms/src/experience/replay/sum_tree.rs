use serde::{Deserialize, Serialize};

/// Priorities of a fixed number of entries, and their sums. Changing and finding an entry take logarithmic
/// time (Schaul et al. 2016, "Prioritized experience replay", <https://arxiv.org/abs/1511.05952>, appendix
/// B).
///
/// Every inner node is the sum of its two children, recomputed when one of them changes, so that rounding
/// errors do not accumulate and equal priorities give equal trees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SumTree {
    /// Node 1 is the root, node `i` has the children `2 * i` and `2 * i + 1`; the second half are the leaves.
    nodes: Vec<f64>,
}

impl SumTree {
    /// Creates a tree for at least `entries` entries, all of priority 0.
    pub(super) fn new(entries: usize) -> Self {
        Self { nodes: vec![0.0; 2 * entries.next_power_of_two()] }
    }

    /// Returns the number of bytes of a tree for `entries` entries.
    pub(super) fn bytes(entries: usize) -> u64 {
        let leaves = entries.checked_next_power_of_two().map_or(u64::MAX, |leaves| leaves as u64);
        leaves.saturating_mul(2 * size_of::<f64>() as u64)
    }

    /// Returns the sum of all priorities.
    pub(super) fn total(&self) -> f64 {
        self.nodes[1]
    }

    pub(super) fn priority(&self, entry: usize) -> f64 {
        self.nodes[self.leaves() + entry]
    }

    /// Sets the priority of an entry: 0 or more.
    pub(super) fn set(&mut self, entry: usize, priority: f64) {
        let mut node = self.leaves() + entry;
        self.nodes[node] = priority;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1];
        }
    }

    /// Returns the entry that contains `position` if the entries divide `0..total` in order, each as long as
    /// its priority. Never an entry of priority 0, unless all are.
    pub(super) fn find(&self, position: f64) -> usize {
        let (mut node, mut position) = (1, position);
        while node < self.leaves() {
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            node *= 2;
            // Due to rounding, a position may lie at the end, beyond all priorities.
            if position >= left && right > 0.0 {
                position -= left;
                node += 1;
            }
        }
        node - self.leaves()
    }

    /// Returns true if `other` is a tree of the same size.
    pub(super) fn has_shape_of(&self, other: &Self) -> bool {
        self.nodes.len() == other.nodes.len()
    }

    fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn finds_entries_by_cumulative_priority() {
        let mut tree = SumTree::new(5);
        for (entry, priority) in [1.0, 0.0, 2.0, 0.5, 0.0].into_iter().enumerate() {
            tree.set(entry, priority);
        }
        assert_eq!(tree.total(), 3.5);
        let found = [0.0, 0.99, 1.0, 2.99, 3.0, 3.49, 3.5, 9.0].map(|position| tree.find(position));
        assert_eq!(found, [0, 0, 2, 2, 3, 3, 3, 3]);
    }

    #[test]
    fn equals_a_list_of_priorities() {
        for seed in 0..20 {
            println!("seed {seed}");
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let entries = rng.random_range(1..40);
            let (mut tree, mut list) = (SumTree::new(entries), vec![0.0; entries]);
            for _ in 0..200 {
                // Multiples of 1/8, so that sums are exact in any order.
                let (entry, priority) =
                    (rng.random_range(0..entries), f64::from(rng.random_range(0..16)) / 8.0);
                tree.set(entry, priority);
                list[entry] = priority;
                let total: f64 = list.iter().sum();
                assert_eq!(tree.total(), total);
                if total == 0.0 {
                    continue;
                }
                let position = rng.random::<f64>() * total;
                let mut end = 0.0;
                let expected = list.iter().position(|&priority| {
                    end += priority;
                    position < end
                });
                assert_eq!(Some(tree.find(position)), expected);
            }
        }
    }
}
