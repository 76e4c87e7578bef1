//! The classic control tasks and the probes follow the rules of [`rl_env::Env`].

use classic_control::{Probe, ProbeKind};
use rl_env::{BoxedEnv, Registry, RescaleObservation, check_env};

fn registry() -> Registry {
    let mut registry = Registry::new();
    classic_control::register(&mut registry).unwrap();
    registry
}

#[test]
fn registered_environments_follow_the_rules() {
    let registry = registry();
    for id in registry.ids() {
        assert_eq!(check_env(&mut registry.make(id).unwrap()), Ok(()), "{id}");
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
