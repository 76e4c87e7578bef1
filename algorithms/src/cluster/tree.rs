/// A sum of vectors along a binary tree: the sum of the first half plus the sum of the second half, each computed in
/// the same way. The result is bit-identical if neighbouring vectors, in groups whose size is a power of two, were
/// added beforehand. Holds one vector for each level of the tree.
#[derive(Debug, Default)]
pub struct TreeSum {
    /// The sums of complete subtrees with their sizes, the largest first.
    subtrees: Vec<(usize, Vec<f32>)>,
}

impl TreeSum {
    /// Adds the next vector, of the same length as the others.
    pub fn push(&mut self, vector: Vec<f32>) {
        let (mut size, mut vector) = (1, vector);
        while let Some((_, mut left)) = self.subtrees.pop_if(|(left, _)| *left == size) {
            left.iter_mut().zip(&vector).for_each(|(left, right)| *left += right);
            (size, vector) = (2 * size, left);
        }
        self.subtrees.push((size, vector));
    }

    /// Returns the sum.
    ///
    /// # Panics
    /// Panics unless the number of vectors is a power of two.
    pub fn finish(mut self) -> Vec<f32> {
        let (_, sum) = self.subtrees.pop().expect("at least one vector");
        assert!(self.subtrees.is_empty(), "the number of vectors is a power of two");
        sum
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn sum(vectors: impl IntoIterator<Item = Vec<f32>>) -> Vec<f32> {
        let mut sum = TreeSum::default();
        vectors.into_iter().for_each(|vector| sum.push(vector));
        sum.finish()
    }

    #[test]
    fn sums_do_not_depend_on_the_neighbours_that_were_added_before() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let vectors: Vec<Vec<f32>> =
            (0..16).map(|_| (0..100).map(|_| rng.random_range(-1.0..1.0)).collect()).collect();
        let expected = sum(vectors.clone());
        for size in [2, 4, 8, 16] {
            assert_eq!(sum(vectors.chunks(size).map(|part| sum(part.to_vec()))), expected, "{size}");
        }
        // The order of addition matters here, so the test can fail.
        let in_turn = vectors.iter().skip(1).fold(vectors[0].clone(), |sum, vector| {
            sum.iter().zip(vector).map(|(left, right)| left + right).collect()
        });
        assert_ne!(in_turn, expected);
    }
}
