//! Observations, rewards, flags and `info` of the tasks equal Gymnasium's bit for bit, in the recorded traces or in
//! those of the directory `ALE_TRAIN_MUJOCO_TRACES`.

use std::env;
use std::fs::read_to_string;
use std::path::PathBuf;

use mujoco::Task;

use crate::{installation, trace};

/// The traces with their minimal numbers of terminations and truncations.
const TRACES: [(&str, &str, usize, usize); 21] = [
    ("Ant-v4", include_str!("data/Ant-v4.trace"), 5, 1),
    ("Ant-v5", include_str!("data/Ant-v5.trace"), 10, 1),
    ("HalfCheetah-v4", include_str!("data/HalfCheetah-v4.trace"), 0, 1),
    ("HalfCheetah-v5", include_str!("data/HalfCheetah-v5.trace"), 0, 1),
    ("Hopper-v4", include_str!("data/Hopper-v4.trace"), 10, 0),
    ("Hopper-v5", include_str!("data/Hopper-v5.trace"), 10, 0),
    ("Humanoid-v4", include_str!("data/Humanoid-v4.trace"), 10, 0),
    ("Humanoid-v5", include_str!("data/Humanoid-v5.trace"), 10, 0),
    ("HumanoidStandup-v4", include_str!("data/HumanoidStandup-v4.trace"), 0, 1),
    ("HumanoidStandup-v5", include_str!("data/HumanoidStandup-v5.trace"), 0, 1),
    ("InvertedDoublePendulum-v4", include_str!("data/InvertedDoublePendulum-v4.trace"), 10, 0),
    ("InvertedDoublePendulum-v5", include_str!("data/InvertedDoublePendulum-v5.trace"), 10, 0),
    ("InvertedPendulum-v4", include_str!("data/InvertedPendulum-v4.trace"), 10, 0),
    ("InvertedPendulum-v5", include_str!("data/InvertedPendulum-v5.trace"), 10, 0),
    ("Pusher-v5", include_str!("data/Pusher-v5.trace"), 0, 10),
    ("Reacher-v4", include_str!("data/Reacher-v4.trace"), 0, 10),
    ("Reacher-v5", include_str!("data/Reacher-v5.trace"), 0, 10),
    ("Swimmer-v4", include_str!("data/Swimmer-v4.trace"), 0, 1),
    ("Swimmer-v5", include_str!("data/Swimmer-v5.trace"), 0, 1),
    ("Walker2d-v4", include_str!("data/Walker2d-v4.trace"), 10, 0),
    ("Walker2d-v5", include_str!("data/Walker2d-v5.trace"), 10, 0),
];

#[test]
fn traces_equal_those_of_gymnasium() {
    let installation = installation();
    let directory = env::var_os("ALE_TRAIN_MUJOCO_TRACES").map(PathBuf::from);
    assert!(Task::ids().eq(TRACES.map(|(id, ..)| id)), "every task has a trace");
    for (id, recorded, terminations, truncations) in TRACES {
        let read = |directory: &PathBuf| read_to_string(directory.join(format!("{id}.trace"))).unwrap();
        let other = directory.as_ref().map(read);
        let counts = trace::play(&installation, id, other.as_deref().unwrap_or(recorded));
        // With other seeds, episodes end at other steps, but the number of steps is the same.
        assert_eq!(counts.steps, recorded.matches("\nstep ").count(), "{id}");
        assert!(
            other.is_some() || (counts.terminations >= terminations && counts.truncations >= truncations),
            "{id}: {counts:?}"
        );
    }
}
