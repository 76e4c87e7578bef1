//! Advantages and returns of a complete rollout.

use super::Rollout;
use crate::experience::returns::{Trajectory, gae, vtrace};

/// The estimates of a complete rollout, entry by entry.
pub(crate) struct Estimates {
    /// The values of the observations, the baseline of the advantages.
    pub(crate) values: Vec<f32>,
    pub(crate) advantages: Vec<f32>,
    /// The targets of the value head: advantage plus value, unless the rollout was [evaluated again](Reevaluation).
    pub(crate) returns: Vec<f32>,
}

/// The evaluation of a rollout by a network other than the one that acted, entry by entry.
pub(crate) struct Reevaluation {
    /// The values of the observations.
    pub(crate) values: Vec<f32>,
    /// The log-probabilities of the actions.
    pub(crate) log_probs: Vec<f32>,
}

impl Rollout {
    /// Computes advantages and returns, given the value of every environment's observation after the last step. If the
    /// rollout was evaluated again, uses V-trace, which estimates the returns of the network that evaluated it.
    pub(crate) fn estimates(
        &self,
        last_values: &[f32],
        reevaluation: Option<Reevaluation>,
        gamma: f32,
        gae_lambda: f32,
    ) -> Estimates {
        let (values, ratios) = match reevaluation {
            Some(Reevaluation { values, log_probs }) => {
                let log_ratios = log_probs.iter().zip(&self.results.log_probs).map(|(new, old)| new - old);
                (values, Some(log_ratios.map(f32::exp).collect::<Vec<f32>>()))
            }
            None => (self.results.values.clone(), None),
        };
        let mut advantages = vec![0.0; values.len()];
        for ((env, &last_value), advantages) in
            last_values.iter().enumerate().zip(advantages.chunks_exact_mut(self.num_steps))
        {
            let steps = env * self.num_steps..(env + 1) * self.num_steps;
            let values = &values[steps.clone()];
            let successors = values[1..].iter().copied().chain([last_value]);
            let next_values: Vec<f32> = successors
                .zip(&self.results.final_values[steps.clone()])
                .map(|(successor, final_value)| final_value.unwrap_or(successor))
                .collect();
            let trajectory = Trajectory {
                rewards: &self.results.rewards[steps.clone()],
                values,
                next_values: &next_values,
                terminated: &self.results.terminated[steps.clone()],
                truncated: &self.results.truncated[steps.clone()],
            };
            match &ratios {
                Some(ratios) => vtrace(trajectory, &ratios[steps], gamma, gae_lambda, advantages),
                None => gae(trajectory, gamma, gae_lambda, advantages),
            }
        }
        let weight = |entry: usize| ratios.as_ref().map_or(1.0, |ratios| ratios[entry].min(1.0));
        let returns =
            (0..values.len()).map(|entry| weight(entry) * advantages[entry] + values[entry]).collect();
        Estimates { values, advantages, returns }
    }
}

#[cfg(test)]
mod tests {
    use rl_env::Batch;

    use super::*;
    use crate::experience::batch_reader::rows;
    use crate::experience::rollout::{Decision, RowSizes};

    /// Result of one step of the only environment.
    #[derive(Clone, Copy, Default)]
    struct Outcome {
        reward: f32,
        terminated: bool,
        truncated: bool,
        autoreset: bool,
        final_value: Option<f32>,
    }

    /// Returns a rollout of one environment with values 1, 2, 3, ... and the given outcomes.
    fn rollout(outcomes: &[Outcome]) -> Rollout {
        let mut rollout = Rollout::new(1, outcomes.len(), RowSizes { observation: 4, mask: 0 }, 1, 0);
        let mut batch = Batch::new(1, 4, false);
        for (step, outcome) in outcomes.iter().enumerate() {
            let row = rows(&batch)[0];
            rollout.begin_step(row, &Decision { value: step as f32 + 1.0, ..Decision::default() });
            batch.rewards[0] = outcome.reward;
            batch.terminated[0] = outcome.terminated;
            batch.truncated[0] = outcome.truncated;
            batch.autoreset[0] = outcome.autoreset;
            rollout.end_step(&batch, row, outcome.final_value);
        }
        rollout
    }

    fn reward(reward: f32) -> Outcome {
        Outcome { reward, ..Outcome::default() }
    }

    /// Advantages of the transitions, with gamma 0.5, lambda 0.5 and 8 as the last value.
    fn advantages(rollout: &Rollout) -> Vec<f32> {
        let estimates = rollout.estimates(&[8.0], None, 0.5, 0.5);
        rollout.transitions().into_iter().map(|entry| estimates.advantages[entry]).collect()
    }

    #[test]
    fn a_terminated_step_is_not_bootstrapped() {
        let end = Outcome { terminated: true, ..reward(10.0) };
        let reset = Outcome { autoreset: true, ..Outcome::default() };
        // Step 0: A = 10 - 1. Step 1 only resets. Step 2: A = 1 + 0.5 * 8 - 3.
        assert_eq!(advantages(&rollout(&[end, reset, reward(1.0)])), [9.0, 2.0]);
    }

    #[test]
    fn a_termination_without_reset_ends_the_return_but_not_the_episode() {
        let lost_life = Outcome { terminated: true, ..reward(10.0) };
        // Step 0: A = 10 - 1. Step 1 is an ordinary transition: A = 1 + 0.5 * 8 - 2.
        assert_eq!(advantages(&rollout(&[lost_life, reward(1.0)])), [9.0, 3.0]);
    }

    #[test]
    fn next_step_mode_bootstraps_a_truncation_from_the_observation_that_follows() {
        let end = Outcome { truncated: true, ..reward(10.0) };
        let reset = Outcome { autoreset: true, ..Outcome::default() };
        // Step 0: A = 10 + 0.5 * 2 - 1, where 2 is the value of the final observation. Step 2: A = 1 + 0.5 * 8 - 3.
        assert_eq!(advantages(&rollout(&[end, reset, reward(1.0)])), [10.0, 2.0]);
    }

    #[test]
    fn same_step_mode_bootstraps_a_truncation_from_the_final_observation() {
        let end = Outcome { truncated: true, final_value: Some(20.0), ..reward(10.0) };
        // Step 0: A = 10 + 0.5 * 20 - 1. Step 1: A = 1 + 0.5 * 8 - 2, the first step of the next episode.
        assert_eq!(advantages(&rollout(&[end, reward(1.0)])), [19.0, 3.0]);
    }

    #[test]
    fn a_truncation_in_the_last_step_is_bootstrapped_from_the_last_value() {
        let end = Outcome { truncated: true, ..reward(10.0) };
        // Step 1: A = 10 + 0.5 * 8 - 2 = 12. Step 0: delta = 1 + 0.5 * 2 - 1 = 1, A = 1 + 0.25 * 12.
        assert_eq!(advantages(&rollout(&[reward(1.0), end])), [4.0, 12.0]);
    }

    #[test]
    fn a_rollout_may_begin_with_a_reset() {
        let reset = Outcome { autoreset: true, ..Outcome::default() };
        assert_eq!(advantages(&rollout(&[reset, reward(1.0)])), [3.0]);
    }
}
