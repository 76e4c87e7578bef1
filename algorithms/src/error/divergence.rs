use std::fmt;

use crate::named_weights::NamedWeights;

/// Report of a step of the optimiser, or of an action, that produced NaN or infinity.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// The first value that was not finite, such as `the value loss`.
    pub what: String,
    /// The number of updates made before it.
    pub updates: u64,
    /// The learning rate.
    pub learning_rate: f64,
    /// The tasks of the batch, each with its number of rows.
    pub tasks: Vec<(String, usize)>,
    /// The likely cause, judging by the inputs.
    pub suspect: String,
    /// Every tensor of the batch. The first axis is the row.
    pub batch: Vec<NamedWeights>,
}

/// The largest number of tasks that a message lists.
const NAMED_TASKS: usize = 6;

impl Divergence {
    /// Describes a batch and the weights with which it was evaluated. `rows` holds the task of each row.
    pub(crate) fn new(
        what: String,
        updates: u64,
        learning_rate: f64,
        rows: &[&str],
        batch: Vec<NamedWeights>,
        weights: &[NamedWeights],
    ) -> Self {
        let mut tasks: Vec<(String, usize)> = Vec::new();
        for &row in rows {
            match tasks.iter_mut().find(|(name, _)| name == row) {
                Some((_, count)) => *count += 1,
                None => tasks.push((row.to_owned(), 1)),
            }
        }
        let suspect = suspect(&batch, rows, weights);
        Self { what, updates, learning_rate, tasks, suspect, batch }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, updates, learning_rate, suspect, tasks, .. } = self;
        write!(
            f,
            "{what} is not finite after {updates} updates, at learning rate {learning_rate:e}; {suspect}; "
        )?;
        if tasks.len() > NAMED_TASKS {
            return write!(f, "the batch has rows of {} games", tasks.len());
        }
        let tasks = tasks.iter().map(|(name, rows)| format!("{name} ({rows})"));
        write!(f, "the batch has rows of {}", tasks.collect::<Vec<_>>().join(", "))
    }
}

/// Describes the first non-finite value of the batch, or else of the weights. If all values are finite, describes the
/// largest one.
fn suspect(batch: &[NamedWeights], rows: &[&str], weights: &[NamedWeights]) -> String {
    let of_batch = |tensor: &NamedWeights, position: usize| {
        let row = position * rows.len() / tensor.values.len();
        format!("{} in `{}`, row {row}, of {}", tensor.values[position], tensor.name, rows[row])
    };
    let of_weights = |tensor: &NamedWeights, position: usize| {
        format!("{} in the weights `{}`", tensor.values[position], tensor.name)
    };
    let bad = |tensor: &NamedWeights| tensor.values.iter().position(|value| !value.is_finite());
    if let Some(suspect) = batch.iter().find_map(|tensor| Some(of_batch(tensor, bad(tensor)?))) {
        return format!("the first such value is {suspect}");
    }
    if let Some(suspect) = weights.iter().find_map(|tensor| Some(of_weights(tensor, bad(tensor)?))) {
        return format!("the first such value is {suspect}");
    }
    let position = |tensor: &NamedWeights| {
        (0..tensor.values.len()).max_by(|&a, &b| tensor.values[a].abs().total_cmp(&tensor.values[b].abs()))
    };
    let largest = |tensors: &[NamedWeights], say: &dyn Fn(&NamedWeights, usize) -> String| {
        let all = tensors.iter().filter_map(|tensor| {
            let position = position(tensor)?;
            Some((tensor.values[position].abs(), say(tensor, position)))
        });
        all.max_by(|(a, _), (b, _)| a.total_cmp(b))
    };
    let suspect = [largest(batch, &of_batch), largest(weights, &of_weights)];
    match suspect.into_iter().flatten().max_by(|(a, _), (b, _)| a.total_cmp(b)) {
        Some((_, suspect)) => format!("all inputs are finite, the largest value is {suspect}"),
        None => "there were no inputs".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(name: &str, shape: &[usize], values: &[f32]) -> NamedWeights {
        NamedWeights { name: name.to_owned(), shape: shape.to_vec(), values: values.to_vec() }
    }

    fn message(returns: [f32; 3], weight: f32) -> String {
        let observations = tensor("observations", &[3, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let batch = vec![observations, tensor("returns", &[3], &returns)];
        let weights = [tensor("body.linear.weight", &[1], &[weight])];
        let rows = ["pong", "qbert", "pong"];
        Divergence::new("the value loss".to_owned(), 7, 2.5e-4, &rows, batch, &weights).to_string()
    }

    #[test]
    fn reports_the_first_non_finite_value_with_its_row() {
        assert_eq!(
            message([0.0, f32::NAN, 1.0], f32::INFINITY),
            "the value loss is not finite after 7 updates, at learning rate 2.5e-4; the first such value is NaN in \
             `returns`, row 1, of qbert; the batch has rows of pong (2), qbert (1)"
        );
        assert!(
            message([0.0; 3], f32::INFINITY)
                .contains("the first such value is inf in the weights `body.linear.weight`")
        );
    }

    #[test]
    fn reports_the_largest_value_if_all_are_finite() {
        assert!(
            message([0.0, 1.0, -9.0], 8.0)
                .contains("all inputs are finite, the largest value is -9 in `returns`, row 2, of pong")
        );
        assert!(message([0.0; 3], 8.0).contains("is 8 in the weights `body.linear.weight`"));
    }
}
