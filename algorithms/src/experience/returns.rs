//! Returns and advantages: pure functions of time-indexed slices.
//!
//! Index `t` is a step of one environment: `rewards[t]` is the reward of the action at `t`, `values[t]` the
//! value estimate of the observation before it.

/// Consecutive steps of one environment, all slices of the same length.
#[derive(Clone, Copy, Debug)]
pub struct Trajectory<'a> {
    /// `r_t`: the reward of the action at `t`.
    pub rewards: &'a [f32],
    /// `V(s_t)`.
    pub values: &'a [f32],
    /// `V(s_{t+1})`: the value of the state after the action at `t`. If the episode was truncated at `t`, the
    /// value of its *final* observation, never of the next episode's first one.
    pub next_values: &'a [f32],
    /// The episode ended with the action at `t`, which has no successor: `next_values[t]` is unused.
    pub terminated: &'a [bool],
    /// The episode was cut off after the action at `t`: `next_values[t]` is used, but not the advantage of
    /// `t + 1`.
    pub truncated: &'a [bool],
}

/// Computes generalized advantage estimates, `advantages[t]` for every step of the trajectory.
///
/// Backwards in time, with an advantage of 0 after the last step (Schulman et al. 2016, "High-dimensional
/// continuous control using generalized advantage estimation", <https://arxiv.org/abs/1506.02438>, equation
/// 16):
///
/// ```text
/// delta_t = r_t + gamma * V(s_{t+1}) * (1 - terminated_t) - V(s_t)
/// A_t     = delta_t + gamma * lambda * A_{t+1} * (1 - terminated_t) * (1 - truncated_t)
/// ```
///
/// A `lambda` of 0 gives one-step temporal differences, 1 the discounted return minus the value.
///
/// ```
/// use algorithms::returns::{Trajectory, gae};
///
/// let trajectory = Trajectory {
///     rewards: &[1.0, 10.0],
///     values: &[2.0, 3.0],
///     next_values: &[3.0, 8.0],
///     terminated: &[false, true], // so that the last value is ignored
///     truncated: &[false, false],
/// };
/// let mut advantages = [0.0; 2];
/// gae(trajectory, 0.5, 0.5, &mut advantages);
/// assert_eq!(advantages[1], 10.0 - 3.0);
/// assert_eq!(advantages[0], (1.0 + 0.5 * 3.0 - 2.0) + 0.5 * 0.5 * advantages[1]);
/// ```
///
/// # Panics
/// Panics if the slices differ in length.
pub fn gae(trajectory: Trajectory<'_>, gamma: f32, lambda: f32, advantages: &mut [f32]) {
    truncated_traces(trajectory, |_| 1.0, gamma, lambda, advantages);
}

/// Computes the advantages of V-trace (Espeholt et al. 2018, "IMPALA", <https://arxiv.org/abs/1802.01561>) for actions
/// that another policy chose, with lambda as in remark 2 of the paper. `ratios[t]` is the probability of the action at
/// `t` under the policy in training, divided by that under the policy that chose it. Ratios above 1 are treated as 1.
///
/// ```text
/// delta_t = r_t + gamma * V(s_{t+1}) * (1 - terminated_t) - V(s_t)
/// A_t     = delta_t + gamma * lambda * min(1, ratio_{t+1}) * A_{t+1} * (1 - terminated_t) * (1 - truncated_t)
/// ```
///
/// `A_t` does not contain `ratio_t`, which is a factor of the objective. The target of `V(s_t)`, called `v_t` in the
/// paper, is `V(s_t) + min(1, ratio_t) * A_t`. If all ratios are 1, the advantages are those of [`gae`].
///
/// # Panics
/// Panics if the slices differ in length.
pub fn vtrace(trajectory: Trajectory<'_>, ratios: &[f32], gamma: f32, lambda: f32, advantages: &mut [f32]) {
    assert_eq!(ratios.len(), advantages.len(), "every step has a ratio");
    truncated_traces(trajectory, |t| ratios[t].min(1.0), gamma, lambda, advantages);
}

/// Computes advantages. The advantage at `t` is multiplied by `weight(t)` where it contributes to the step before.
fn truncated_traces(
    trajectory: Trajectory<'_>,
    weight: impl Fn(usize) -> f32,
    gamma: f32,
    lambda: f32,
    advantages: &mut [f32],
) {
    let Trajectory { rewards, values, next_values, terminated, truncated } = trajectory;
    let steps = rewards.len();
    for length in [values.len(), next_values.len(), terminated.len(), truncated.len(), advantages.len()] {
        assert_eq!(length, steps, "all slices of a trajectory have the same length");
    }
    let mut next_advantage = 0.0;
    for t in (0..steps).rev() {
        let next_value = if terminated[t] { 0.0 } else { next_values[t] };
        let delta = rewards[t] + gamma * next_value - values[t];
        let carried = if terminated[t] || truncated[t] { 0.0 } else { next_advantage };
        advantages[t] = delta + gamma * lambda * carried;
        next_advantage = weight(t) * advantages[t];
    }
}

/// The first steps of a return, and the discount of the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NStepReturn {
    /// `sum over k < steps of gamma^k * r_{t+k}`.
    pub rewards: f32,
    /// The factor of the value of the observation after the last of these steps: `gamma^steps`, or 0 if the
    /// episode terminated.
    pub discount: f32,
    /// The number of steps: at least 1.
    pub steps: usize,
}

/// Computes the n-step return (Sutton 1988) of the first of the given steps, at most n of them, each
/// `(reward, terminated, truncated)`. Steps after the end of the episode are ignored.
///
/// ```text
/// R_t = r_t + gamma * r_{t+1} + .. + gamma^(n-1) * r_{t+n-1} + gamma^n * V(s_{t+n})
/// ```
///
/// ```
/// use algorithms::returns::n_step_return;
///
/// let steps = [(1.0, false, false), (2.0, false, false)]; // reward, terminated, truncated
/// let result = n_step_return(steps, 0.5);
/// assert_eq!((result.rewards, result.discount), (1.0 + 0.5 * 2.0, 0.25));
/// ```
///
/// # Panics
/// Panics if there are no steps.
pub fn n_step_return(steps: impl IntoIterator<Item = (f32, bool, bool)>, gamma: f32) -> NStepReturn {
    let mut result = NStepReturn { rewards: 0.0, discount: 1.0, steps: 0 };
    for (reward, terminated, truncated) in steps {
        result.rewards += result.discount * reward;
        result.discount *= if terminated { 0.0 } else { gamma };
        result.steps += 1;
        if terminated || truncated {
            break;
        }
    }
    assert!(result.steps > 0, "a return has at least one step");
    result
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn n_step_returns_by_hand() {
        let step = |reward| (reward, false, false);
        let returned = |steps: &[(f32, bool, bool)]| n_step_return(steps.iter().copied(), 0.5);
        // 1 + 0.5 * 2 + 0.25 * 4, and 0.125 times the value after the third.
        let result = returned(&[step(1.0), step(2.0), step(4.0)]);
        assert_eq!(result, NStepReturn { rewards: 3.0, discount: 0.125, steps: 3 });
        // Nothing counts after the end of an episode, and only a truncated return is bootstrapped.
        let terminated = returned(&[step(1.0), (2.0, true, false), step(4.0)]);
        assert_eq!(terminated, NStepReturn { rewards: 2.0, discount: 0.0, steps: 2 });
        let truncated = returned(&[step(1.0), (2.0, false, true), step(4.0)]);
        assert_eq!(truncated, NStepReturn { rewards: 2.0, discount: 0.25, steps: 2 });
    }

    #[test]
    fn advantages_of_a_short_trajectory_by_hand() {
        // gamma 0.5, lambda 0.5:
        // delta_2 = 4 + 0.5 * 2 - 1 = 4                    A_2 = 4
        // delta_1 = 2 + 0.5 * 1 - 3 = -0.5                 A_1 = -0.5 + 0.25 * 4 = 0.5
        // delta_0 = 1 + 0.5 * 3 - 2 = 0.5                  A_0 = 0.5 + 0.25 * 0.5 = 0.625
        let mut advantages = [0.0; 3];
        let trajectory = Trajectory {
            rewards: &[1.0, 2.0, 4.0],
            values: &[2.0, 3.0, 1.0],
            next_values: &[3.0, 1.0, 2.0],
            terminated: &[false; 3],
            truncated: &[false; 3],
        };
        gae(trajectory, 0.5, 0.5, &mut advantages);
        assert_eq!(advantages, [0.625, 0.5, 4.0]);
    }

    #[test]
    fn vtrace_by_hand() {
        // The trajectory above with ratios 4, 0.5 and 3:
        // A_2 = 4, of which min(1, 3) counts for the step before: A_1 = -0.5 + 0.25 * 4 = 0.5
        // Half of A_1 counts:                                      A_0 = 0.5 + 0.25 * 0.5 * 0.5 = 0.5625
        let trajectory = Trajectory {
            rewards: &[1.0, 2.0, 4.0],
            values: &[2.0, 3.0, 1.0],
            next_values: &[3.0, 1.0, 2.0],
            terminated: &[false; 3],
            truncated: &[false; 3],
        };
        let advantages = |ratios: [f32; 3]| {
            let mut advantages = [0.0; 3];
            vtrace(trajectory, &ratios, 0.5, 0.5, &mut advantages);
            advantages
        };
        assert_eq!(advantages([4.0, 0.5, 3.0]), [0.5625, 0.5, 4.0]);
        // On-policy it is generalized advantage estimation.
        let mut expected = [0.0; 3];
        gae(trajectory, 0.5, 0.5, &mut expected);
        assert_eq!(advantages([1.0; 3]), expected);
    }

    #[test]
    fn vtrace_targets_are_those_of_the_paper() {
        // Equation 1: v_s = V(x_s) + sum over t >= s of gamma^(t-s) * (product over s <= i < t of c_i) * rho_t *
        // delta_t, with rho_t = min(1, ratio_t) and c_i = lambda * rho_i.
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut numbers =
            |low: f32, high: f32| -> Vec<f32> { (0..9).map(|_| rng.random_range(low..high)).collect() };
        let (rewards, values, ratios) = (numbers(-1.0, 1.0), numbers(-3.0, 3.0), numbers(0.2, 1.8));
        let next_values: Vec<f32> = values[1..].iter().copied().chain([0.7]).collect();
        let (gamma, lambda) = (0.9, 0.8);
        let nothing = [false; 9];
        let trajectory = Trajectory {
            rewards: &rewards,
            values: &values,
            next_values: &next_values,
            terminated: &nothing,
            truncated: &nothing,
        };
        let mut advantages = vec![0.0; 9];
        vtrace(trajectory, &ratios, gamma, lambda, &mut advantages);
        for s in 0..9 {
            let (mut target, mut factor) = (values[s], 1.0);
            for t in s..9 {
                let rho = ratios[t].min(1.0);
                target += factor * rho * (rewards[t] + gamma * next_values[t] - values[t]);
                factor *= gamma * lambda * rho;
            }
            let own = values[s] + ratios[s].min(1.0) * advantages[s];
            assert!((own - target).abs() < 1e-5, "{own} and {target}");
        }
    }

    #[test]
    fn terminations_are_not_bootstrapped_and_truncations_are() {
        let trajectory = |terminated, truncated| Trajectory {
            rewards: &[1.0, 10.0],
            values: &[2.0, 3.0],
            next_values: &[8.0, 5.0],
            terminated,
            truncated,
        };
        let mut advantages = [0.0; 2];
        // delta_1 = 10 + 0.5 * 5 - 3 = 9.5 in both cases.
        // Terminated at 0: A_0 = 1 - 2 = -1.
        gae(trajectory(&[true, false], &[false; 2]), 0.5, 0.5, &mut advantages);
        assert_eq!(advantages, [-1.0, 9.5]);
        // Truncated at 0: A_0 = 1 + 0.5 * 8 - 2 = 3, and nothing of A_1.
        gae(trajectory(&[false; 2], &[true, false]), 0.5, 0.5, &mut advantages);
        assert_eq!(advantages, [3.0, 9.5]);
    }

    /// `A_t = sum over l of (gamma * lambda)^l * delta_{t+l}`, up to the end of the episode.
    fn by_definition(trajectory: Trajectory<'_>, gamma: f64, lambda: f64, t: usize) -> f64 {
        let mut sum = 0.0;
        for (l, k) in (t..trajectory.rewards.len()).enumerate() {
            let alive = if trajectory.terminated[k] { 0.0 } else { 1.0 };
            let delta = f64::from(trajectory.rewards[k])
                + gamma * alive * f64::from(trajectory.next_values[k])
                - f64::from(trajectory.values[k]);
            sum += (gamma * lambda).powi(l as i32) * delta;
            if trajectory.terminated[k] || trajectory.truncated[k] {
                break;
            }
        }
        sum
    }

    #[test]
    fn the_recurrence_equals_the_definition() {
        for seed in 0..20 {
            println!("seed {seed}");
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let steps = rng.random_range(1..60);
            let mut floats = || (0..steps).map(|_| rng.random_range(-2.0..2.0)).collect::<Vec<f32>>();
            let (rewards, values, next_values) = (floats(), floats(), floats());
            let ends: Vec<f64> = (0..steps).map(|_| rng.random()).collect();
            let terminated: Vec<bool> = ends.iter().map(|&end| end < 0.1).collect();
            let truncated: Vec<bool> = ends.iter().map(|&end| end > 0.9).collect();
            let trajectory = Trajectory {
                rewards: &rewards,
                values: &values,
                next_values: &next_values,
                terminated: &terminated,
                truncated: &truncated,
            };
            let (gamma, lambda) = (rng.random_range(0.0..=1.0), rng.random_range(0.0..=1.0));
            let mut advantages = vec![0.0; steps];
            gae(trajectory, gamma, lambda, &mut advantages);
            for (t, &advantage) in advantages.iter().enumerate() {
                let expected = by_definition(trajectory, gamma.into(), lambda.into(), t);
                assert!((f64::from(advantage) - expected).abs() < 1e-4, "{t}: {advantage} and {expected}");
            }
        }
    }
}
