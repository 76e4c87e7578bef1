//! The tasks follow the rules of [`rl_env::Env`].

use rl_env::{Action, ActionKind, Env, FlattenObservation, Registry, check_env};

use crate::installation;

#[test]
fn registered_environments_follow_the_rules() {
    let mut registry = Registry::new();
    mujoco::register(&mut registry, &installation()).unwrap();
    assert_eq!(registry.ids().count(), 21);
    for (id, spec) in registry.specs() {
        let mut env = registry.make(id).unwrap();
        assert_eq!(check_env(&mut env), Ok(()), "{id}");
        assert_eq!(ActionKind::of(env.action_space()), Some(spec.action_kind), "{id}");
    }
}

#[test]
fn observations_can_be_rounded_for_learners() {
    let mut registry = Registry::new();
    mujoco::register(&mut registry, &installation()).unwrap();
    let mut exact = registry.make("Reacher-v5").unwrap();
    let mut rounded = FlattenObservation::new(registry.make("Reacher-v5").unwrap());
    assert_eq!(check_env(&mut rounded), Ok(()));
    let (mut wide, mut narrow) = ([0; 80], [0; 40]);
    exact.reset(Some(3), &mut wide);
    rounded.reset(Some(3), &mut narrow);
    for _ in 0..20 {
        exact.step(Action::Continuous(&[0.3, -0.7]), &mut wide).unwrap();
        rounded.step(Action::Continuous(&[0.3, -0.7]), &mut narrow).unwrap();
        let expected = wide.as_chunks().0.iter().map(|bytes| f64::from_ne_bytes(*bytes) as f32);
        assert!(narrow.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).eq(expected));
    }
}
