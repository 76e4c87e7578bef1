//! The classic control tasks equal Gymnasium's, from which `data/record_traces.py` recorded the traces.

use rl_env::Registry;

/// The traces with their minimal numbers of terminations and truncations.
const TRACES: [(&str, &str, usize, usize); 6] = [
    ("CartPole-v0", include_str!("../data/CartPole-v0.trace"), 0, 1),
    ("CartPole-v1", include_str!("../data/CartPole-v1.trace"), 10, 1),
    ("MountainCar-v0", include_str!("../data/MountainCar-v0.trace"), 3, 1),
    ("MountainCarContinuous-v0", include_str!("../data/MountainCarContinuous-v0.trace"), 3, 1),
    ("Pendulum-v1", include_str!("../data/Pendulum-v1.trace"), 0, 3),
    ("Acrobot-v1", include_str!("../data/Acrobot-v1.trace"), 6, 1),
];

/// The tasks whose recorded observations depend on the last bit of the sines of glibc. Those of Windows differ.
const OF_GLIBC: &[&str] = &["Acrobot-v1"];

#[test]
fn traces_equal_those_of_gymnasium() {
    let mut registry = Registry::new();
    classic_control::register(&mut registry).unwrap();
    assert_eq!(registry.ids().count(), TRACES.len(), "every task has a trace");
    for (id, trace, terminations, truncations) in TRACES {
        if cfg!(windows) && OF_GLIBC.contains(&id) {
            eprintln!("skipped on Windows: {id}");
            continue;
        }
        let counts = crate::trace::play(id, trace, &mut registry.make(id).unwrap(), |()| String::new());
        assert!(counts.terminations >= terminations && counts.truncations >= truncations, "{id}: {counts:?}");
    }
}
