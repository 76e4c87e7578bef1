//! Observations, rewards, flags and `info` of the tasks equal Gymnasium's bit for bit, in the recorded traces or in
//! those of the directory `ALE_TRAIN_MUJOCO_TRACES`.

use std::env;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use mujoco::Task;

use crate::{installation, trace};

/// The tasks with the minimal numbers of terminations and truncations in their traces.
const TRACES: [(&str, usize, usize); 21] = [
    ("Ant-v4", 4, 1),
    ("Ant-v5", 10, 1),
    ("HalfCheetah-v4", 0, 1),
    ("HalfCheetah-v5", 0, 1),
    ("Hopper-v4", 10, 0),
    ("Hopper-v5", 10, 0),
    ("Humanoid-v4", 10, 0),
    ("Humanoid-v5", 10, 0),
    ("HumanoidStandup-v4", 0, 1),
    ("HumanoidStandup-v5", 0, 1),
    ("InvertedDoublePendulum-v4", 10, 0),
    ("InvertedDoublePendulum-v5", 10, 0),
    ("InvertedPendulum-v4", 10, 0),
    ("InvertedPendulum-v5", 10, 0),
    ("Pusher-v5", 0, 10),
    ("Reacher-v4", 0, 10),
    ("Reacher-v5", 0, 10),
    ("Swimmer-v4", 0, 1),
    ("Swimmer-v5", 0, 1),
    ("Walker2d-v4", 10, 0),
    ("Walker2d-v5", 10, 0),
];

/// Returns a recorded trace. Those of other versions than 3.17.0 have a directory, unless they are equal.
fn recorded(version: &str, id: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mujoco/data");
    let file = format!("{id}.trace");
    let own = data.join(version).join(&file);
    read_to_string(if own.exists() { own } else { data.join(file) }).unwrap()
}

#[test]
fn traces_equal_those_of_gymnasium() {
    let installation = installation();
    let version = installation.library().unwrap().version();
    let directory = env::var_os("ALE_TRAIN_MUJOCO_TRACES").map(PathBuf::from);
    assert!(Task::ids().eq(TRACES.map(|(id, ..)| id)), "every task has a trace");
    for (id, terminations, truncations) in TRACES {
        let recorded = recorded(&version, id);
        let read = |directory: &PathBuf| read_to_string(directory.join(format!("{id}.trace"))).unwrap();
        let other = directory.as_ref().map(read);
        let counts = trace::play(&installation, id, other.as_deref().unwrap_or(&recorded));
        // With other seeds, episodes end at other steps, but the number of steps is the same.
        assert_eq!(counts.steps, recorded.matches("\nstep ").count(), "{id}");
        assert!(
            other.is_some() || (counts.terminations >= terminations && counts.truncations >= truncations),
            "{id}: {counts:?}"
        );
    }
}
