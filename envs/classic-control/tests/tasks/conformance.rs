//! The classic control tasks and the probes follow the rules of [`rl_env::Env`].

use classic_control::{Acrobot, Control, Probe, ProbeKind};
use rl_env::{ActionKind, BoxedEnv, Env, EnvError, Registry, RescaleObservation, check_env};

fn registry() -> Registry {
    let mut registry = Registry::new();
    classic_control::register(&mut registry).unwrap();
    registry
}

#[test]
fn registered_environments_follow_the_rules() {
    let registry = registry();
    for (id, spec) in registry.specs() {
        let mut env = registry.make(id).unwrap();
        assert_eq!(check_env(&mut env), Ok(()), "{id}");
        assert_eq!(ActionKind::of(env.action_space()), Some(spec.action_kind), "{id}");
    }
}

#[test]
fn rescaled_observations_follow_the_rules() {
    let registry = registry();
    for id in registry.ids() {
        let mut rescaled = RescaleObservation::<BoxedEnv>::new(registry.make(id).unwrap()).unwrap();
        assert_eq!(check_env(&mut rescaled), Ok(()), "{id}");
    }
}

#[test]
fn probes_follow_the_rules() {
    for kind in ProbeKind::ALL.into_iter().chain([ProbeKind::Memory, ProbeKind::Combination]) {
        assert_eq!(check_env(&mut Probe::new(kind)), Ok(()), "{kind:?}");
    }
}

#[test]
fn acrobots_with_huge_angles_are_not_restored() {
    let mut env = Control::new(Acrobot);
    let before = env.snapshot();
    // The snapshot ends with four numbers, the angles and their velocities.
    for (index, number) in [(0, 1e300), (1, f64::INFINITY), (2, f64::NAN), (3, 1e3)] {
        let mut damaged = before.clone();
        let start = damaged.len() - 8 * (4 - index);
        damaged[start..start + 8].copy_from_slice(&f64::to_le_bytes(number));
        assert!(matches!(env.restore(&damaged), Err(EnvError::BadSnapshot(_))), "{number}");
        assert_eq!(env.snapshot(), before);
    }
}
