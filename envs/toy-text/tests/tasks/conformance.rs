//! The toy text environments follow the rules of [`rl_env::Env`].

use rl_env::{Action, ActionKind, Env, FlattenObservation, Registry, check_env};
use toy_text::{Blackjack, BlackjackRules, Taxi, TaxiOptions};

#[test]
fn registered_environments_follow_the_rules() {
    let mut registry = Registry::new();
    toy_text::register(&mut registry).unwrap();
    for (id, spec) in registry.specs() {
        let mut env = registry.make(id).unwrap();
        assert_eq!(check_env(&mut env), Ok(()), "{id}");
        assert_eq!(ActionKind::of(env.action_space()), Some(spec.action_kind), "{id}");
    }
}

#[test]
fn variants_follow_the_rules() {
    let options = TaxiOptions { is_rainy: true, fickle_passenger: true, ..TaxiOptions::default() };
    assert_eq!(check_env(&mut Taxi::new(options)), Ok(()));
    for rules in [BlackjackRules::Plain, BlackjackRules::Natural] {
        assert_eq!(check_env(&mut Blackjack::new(rules)), Ok(()), "{rules:?}");
    }
}

#[test]
fn flattened_observations_are_one_hot() {
    let mut registry = Registry::new();
    toy_text::register(&mut registry).unwrap();
    for id in registry.ids() {
        assert_eq!(check_env(&mut FlattenObservation::new(registry.make(id).unwrap())), Ok(()), "{id}");
    }
    let mut lake = registry.make("FrozenLake-v1").unwrap();
    let mut flat = FlattenObservation::new(registry.make("FrozenLake-v1").unwrap());
    let (mut state, mut row) = ([0; 8], [0; 16 * 4]);
    lake.reset(Some(4), &mut state);
    flat.reset(Some(4), &mut row);
    for _ in 0..10 {
        let cell = i64::from_ne_bytes(state) as usize;
        let expected: Vec<f32> = (0..16).map(|index| f32::from(index == cell)).collect();
        assert_eq!(floats(&row), expected);
        lake.step(Action::Discrete(&[1]), &mut state).unwrap();
        flat.step(Action::Discrete(&[1]), &mut row).unwrap();
    }
    // The player's sum, the dealer's card and a usable ace, of 32, 11 and 2 values.
    let mut cards = FlattenObservation::new(registry.make("Blackjack-v1").unwrap());
    let mut row = [0; (32 + 11 + 2) * 4];
    cards.reset(Some(1), &mut row);
    let row = floats(&row);
    for part in [0..32, 32..43, 43..45] {
        assert_eq!(row[part].iter().sum::<f32>(), 1.0);
    }
}

fn floats(row: &[u8]) -> Vec<f32> {
    row.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
}
