//! The toy text environments follow the rules of [`rl_env::Env`].

use rl_env::{Registry, check_env};
use toy_text::{Blackjack, BlackjackRules, Taxi, TaxiOptions};

#[test]
fn registered_environments_follow_the_rules() {
    let mut registry = Registry::new();
    toy_text::register(&mut registry).unwrap();
    for id in registry.ids() {
        assert_eq!(check_env(&mut registry.make(id).unwrap()), Ok(()), "{id}");
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
