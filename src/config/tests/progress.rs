//! Tests when an experiment is done.

use super::{experiment, experiment_by};
use crate::telemetry::Moment;

#[test]
fn a_run_is_done_only_when_its_training_is_complete() {
    // Updates of 8 environments and 32 steps.
    let sizes = ["--num-envs", "8", "--set", "ppo.num_steps=32", "--total-frames", "1000"];
    let requested = experiment(&[&["--games", "CartPole-v1"], &sizes[..]].concat()).unwrap();
    assert_eq!(requested.final_frames(), 768);
    for (updates, percent) in [(0, 0), (1, 33), (2, 66), (3, 100)] {
        let steps = updates * 256;
        let reached = Moment { updates, steps, frames: steps, seconds: 1.0 };
        assert_eq!(requested.percent_done(&reached), percent, "{updates} updates");
    }
    // The last update is not yet done.
    let before = Moment { updates: 2, steps: 768, frames: 768, seconds: 1.0 };
    assert_eq!(requested.percent_done(&before), 99);
    // A game that rests: 100 frames of one and, in three updates of 32 rounds, 4 * 96 of the other.
    let budget = "environments.game.CartPole-v1.total_frames=100";
    let games = ["--games", "CartPole-v1,Acrobot-v1", "--num-envs", "4", "--total-frames", "500"];
    let limited = [&games[..], &["--set", "ppo.num_steps=32", "--set", budget]].concat();
    assert_eq!(experiment(&limited).unwrap().final_frames(), 484);
    let dqn = experiment_by("dqn", &["--games", "CartPole-v1", "--total-frames", "1000"]).unwrap();
    assert_eq!(dqn.final_frames(), 1000);
    // The last step of three environments exceeds the total.
    assert_eq!(dqn.percent_done(&Moment { steps: 1002, frames: 1002, ..Moment::default() }), 100);
    assert_eq!(dqn.percent_done(&Moment { steps: 999, frames: 999, ..Moment::default() }), 99);
}
