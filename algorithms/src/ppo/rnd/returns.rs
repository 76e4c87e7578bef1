use crate::experience::returns::{Trajectory, gae};

/// Computes generalized advantage estimates of intrinsic returns for successive transitions of one environment, which
/// continue across the ends of episodes. `last_value` is the value of the observation after the last transition.
pub(super) fn continued_advantages(
    rewards: &[f32],
    values: &[f32],
    last_value: f32,
    gamma: f32,
    gae_lambda: f32,
) -> Vec<f32> {
    let next_values: Vec<f32> = values.iter().skip(1).copied().chain([last_value]).collect();
    let never = vec![false; rewards.len()];
    let mut advantages = vec![0.0; rewards.len()];
    let trajectory = Trajectory {
        rewards,
        values,
        next_values: &next_values[..rewards.len()],
        terminated: &never,
        truncated: &never,
    };
    gae(trajectory, gamma, gae_lambda, &mut advantages);
    advantages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advantages_by_hand() {
        // gamma 0.5, lambda 0.5:
        // delta_2 = 4 + 0.5 * 2 - 1 = 4                    A_2 = 4
        // delta_1 = 2 + 0.5 * 1 - 3 = -0.5                 A_1 = -0.5 + 0.25 * 4 = 0.5
        // delta_0 = 1 + 0.5 * 3 - 2 = 0.5                  A_0 = 0.5 + 0.25 * 0.5 = 0.625
        assert_eq!(
            continued_advantages(&[1.0, 2.0, 4.0], &[2.0, 3.0, 1.0], 2.0, 0.5, 0.5),
            [0.625, 0.5, 4.0]
        );
        assert!(continued_advantages(&[], &[], 2.0, 0.5, 0.5).is_empty());
    }
}
