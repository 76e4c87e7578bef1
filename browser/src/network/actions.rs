//! The actions of a task, and the outputs of a network that belong to them.

use serde::Deserialize;

use crate::error::FileError;

/// The largest number of outputs of a head that all tasks share.
const MOST_OUTPUTS: usize = 1 << 20;

/// The actions of a task, as the metadata of a file describes them.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TaskActions {
    pub(crate) name: String,
    /// The indices of the outputs in a head that all tasks share.
    shared: Vec<usize>,
    /// The number of options of each choice; absent for a single one.
    #[serde(default)]
    choices: Vec<usize>,
    /// The options of each action; absent if actions were not factored.
    factors: Option<Vec<Vec<usize>>>,
    /// The components of continuous actions.
    num_components: Option<usize>,
}

impl TaskActions {
    /// Fails if the actions are not numbered, or if some part does not fit the others.
    pub(crate) fn check(&self) -> Result<(), FileError> {
        if self.num_components.is_some() || self.choices.len() > 1 && self.factors.is_none() {
            return Err(FileError::Unsupported(format!("whose actions in {} are not numbered", self.name)));
        }
        let columns = self.choices.iter().try_fold(0_usize, |sum, &options| sum.checked_add(options));
        let fits = |action: &Vec<usize>| {
            action.len() == self.choices.len()
                && action.iter().zip(&self.choices).all(|(option, options)| option < options)
        };
        let is_consistent = match &self.factors {
            Some(factors) => columns == Some(self.shared.len()) && factors.iter().all(fits),
            None => self.choices.is_empty() || columns == Some(self.shared.len()),
        };
        let is_possible = self.count() > 0 && self.shared.iter().all(|&column| column < MOST_OUTPUTS);
        if is_consistent && is_possible { Ok(()) } else { Err(FileError::Metadata("tasks")) }
    }

    /// Returns the number of actions.
    pub(crate) fn count(&self) -> usize {
        self.factors.as_ref().map_or(self.shared.len(), Vec::len)
    }

    /// Returns the indices of the outputs of this task in a head that all tasks share.
    pub(super) fn shared(&self) -> &[usize] {
        &self.shared
    }

    /// Returns the logarithms of the probabilities of the actions.
    pub(super) fn log_probabilities(&self, logits: &[f32]) -> Vec<f32> {
        match &self.factors {
            None => {
                let total = log_sum_exp(logits.iter().copied());
                logits.iter().map(|logit| logit - total).collect()
            }
            Some(factors) => factors.iter().map(|action| self.log_probability(logits, action)).collect(),
        }
    }

    /// Returns the sum over the choices of the logarithm of the option's probability after the earlier ones.
    fn log_probability(&self, logits: &[f32], action: &[usize]) -> f32 {
        let choice = |(choice, &option): (usize, &usize)| {
            let first = self.first_column(choice);
            let legal = self.legal(choice, &action[..choice]).into_iter();
            logits[first + option] - log_sum_exp(legal.map(|legal| logits[first + legal]))
        };
        action.iter().enumerate().map(choice).sum()
    }

    /// Returns the values of the actions: the means of those of their options.
    pub(super) fn values(&self, of_options: &[f32]) -> Vec<f32> {
        let Some(factors) = &self.factors else { return of_options.to_vec() };
        let mean = |action: &Vec<usize>| {
            let columns =
                action.iter().enumerate().map(|(choice, option)| self.first_column(choice) + option);
            columns.map(|column| of_options[column]).sum::<f32>() / action.len() as f32
        };
        factors.iter().map(mean).collect()
    }

    /// Subtracts the mean over the legal options of each choice from advantages `[options, atoms]`.
    pub(super) fn centre(&self, advantages: &mut [f32], atoms: usize) {
        let choices = if self.choices.is_empty() { vec![self.shared.len()] } else { self.choices.clone() };
        for (choice, options) in choices.into_iter().enumerate() {
            let first = self.first_column(choice);
            let legal: Vec<usize> = match self.factors {
                Some(_) => self.legal(choice, &[]),
                None => (0..options).collect(),
            };
            for atom in 0..atoms {
                let column = |option: usize| (first + option) * atoms + atom;
                let sum: f32 = legal.iter().map(|&option| advantages[column(option)]).sum();
                let mean = sum / legal.len() as f32;
                (0..options).for_each(|option| advantages[column(option)] -= mean);
            }
        }
    }

    /// Returns the options of a choice that actions with these first options have.
    fn legal(&self, choice: usize, beginning: &[usize]) -> Vec<usize> {
        let factors = self.factors.iter().flatten().filter(|action| action.starts_with(beginning));
        let mut options: Vec<usize> = factors.map(|action| action[choice]).collect();
        options.sort_unstable();
        options.dedup();
        options
    }

    /// Returns the column of the first option of a choice.
    fn first_column(&self, choice: usize) -> usize {
        self.choices[..choice].iter().sum()
    }
}

fn log_sum_exp(values: impl Iterator<Item = f32> + Clone) -> f32 {
    let max = values.clone().fold(f32::NEG_INFINITY, f32::max);
    max + values.map(|value| (value - max).exp()).sum::<f32>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(json: &str) -> TaskActions {
        serde_json::from_str(json).expect("a task")
    }

    #[test]
    fn probabilities_of_factored_actions_sum_to_1() {
        let task = actions(
            r#"{"name": "a", "shared": [0, 1, 2, 3, 4], "choices": [2, 3], "factors": [[0, 0], [0, 1], [0, 2], [1, 0]]}"#,
        );
        task.check().expect("a consistent task");
        let logits = [0.0, 3_f32.ln(), 0.5, -1.0, 2.0];
        let probabilities: Vec<f32> = task.log_probabilities(&logits).into_iter().map(f32::exp).collect();
        assert!((probabilities.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{probabilities:?}");
        // The only action that begins with the second option.
        assert!((probabilities[3] - 0.75).abs() < 1e-6, "{probabilities:?}");
        assert_eq!(task.values(&[1.0, 2.0, 3.0, 4.0, 5.0]), [2.0, 2.5, 3.0, 2.5]);
    }

    #[test]
    fn advantages_have_the_mean_0_over_each_choice() {
        let mut advantages = [1.0, 2.0, 3.0, 6.0];
        actions(r#"{"name": "a", "shared": [0, 5]}"#).centre(&mut advantages, 2);
        assert_eq!(advantages, [-1.0, -2.0, 1.0, 2.0]);
    }

    #[test]
    fn actions_that_do_not_fit_are_refused() {
        for (json, error) in [
            (r#"{"name": "a", "shared": []}"#, FileError::Metadata("tasks")),
            (r#"{"name": "a", "shared": [18446744073709551615]}"#, FileError::Metadata("tasks")),
            (
                r#"{"name": "a", "shared": [0, 1], "choices": [2], "factors": [[2]]}"#,
                FileError::Metadata("tasks"),
            ),
            (
                r#"{"name": "a", "shared": [0, 1], "choices": [3], "factors": [[2]]}"#,
                FileError::Metadata("tasks"),
            ),
            (
                r#"{"name": "a", "shared": [0], "num_components": 1}"#,
                FileError::Unsupported("whose actions in a are not numbered".to_owned()),
            ),
        ] {
            assert_eq!(actions(json).check(), Err(error), "{json}");
        }
    }
}
