//! The toy text environments equal Gymnasium's, from which `data/record_traces.py` recorded the traces.

use rl_env::{Env, Registry, TimeLimit};
use toy_text::{
    Blackjack, BlackjackRules, FrozenLakeOptions, MAP_8X8, TabularInfo, Taxi, TaxiInfo, TaxiOptions,
    cliff_walking, frozen_lake,
};

fn probability(info: TabularInfo) -> String {
    format!("{:?}", info.probability)
}

fn probability_and_mask(info: TaxiInfo) -> String {
    let mask: String = info.action_mask.map(|changes| if changes { '1' } else { '0' }).iter().collect();
    format!("{:?} | {mask}", info.probability)
}

/// Plays a trace and requires minimal numbers of terminations and truncations.
macro_rules! check {
    ($name:literal, $env:expr, $info:expr, $at_least:expr) => {
        let counts =
            crate::trace::play($name, include_str!(concat!("../data/", $name, ".trace")), &mut $env, $info);
        let enough =
            [counts.terminations, counts.truncations].iter().zip($at_least).all(|(&n, least)| n >= least);
        assert!(enough, "{}: {counts:?}", $name);
    };
}

#[test]
fn tabular_environments_equal_those_of_gymnasium() {
    let lake = |options, limit| TimeLimit::new(frozen_lake(&options).unwrap(), limit);
    let small = FrozenLakeOptions::default();
    let large = FrozenLakeOptions { desc: &MAP_8X8, ..small };
    let dry = FrozenLakeOptions { is_slippery: false, ..small };
    let rewards = FrozenLakeOptions { success_rate: 0.7, reward_schedule: [10.0, -5.0, -1.0], ..small };
    check!("FrozenLake-v1", lake(small, 100), probability, [40, 0]);
    check!("FrozenLake8x8-v1", lake(large, 200), probability, [3, 0]);
    check!("FrozenLake-dry", lake(dry, 100), probability, [10, 1]);
    check!("FrozenLake-rewards", lake(rewards, 100), probability, [10, 0]);
    check!("CliffWalking-v1", cliff_walking(false), probability, [5, 0]);
    check!("CliffWalkingSlippery-v1", cliff_walking(true), probability, [1, 0]);
}

#[test]
fn taxis_equal_those_of_gymnasium() {
    let taxi = |options| TimeLimit::new(Taxi::new(options), 200);
    let rainy = TaxiOptions { is_rainy: true, fickle_passenger: true, ..TaxiOptions::default() };
    check!("Taxi-v4", taxi(TaxiOptions::default()), probability_and_mask, [10, 1]);
    check!("Taxi-rainy-fickle", taxi(rainy), probability_and_mask, [10, 0]);
}

#[test]
fn hands_of_blackjack_equal_those_of_gymnasium() {
    let nothing = |()| String::new();
    check!("Blackjack-v1", Blackjack::new(BlackjackRules::SuttonBarto), nothing, [200, 0]);
    check!("Blackjack-natural", Blackjack::new(BlackjackRules::Natural), nothing, [200, 0]);
    check!("Blackjack-plain", Blackjack::new(BlackjackRules::Plain), nothing, [200, 0]);
}

#[test]
fn registers_the_environments_of_gymnasium() {
    let mut registry = Registry::new();
    toy_text::register(&mut registry).unwrap();
    let limits = [
        ("Blackjack-v1", None, "Tuple(Discrete(32), Discrete(11), Discrete(2))"),
        ("CliffWalking-v1", None, "Discrete(48)"),
        ("CliffWalkingSlippery-v1", None, "Discrete(48)"),
        ("FrozenLake-v1", Some(100), "Discrete(16)"),
        ("FrozenLake8x8-v1", Some(200), "Discrete(64)"),
        ("Taxi-v4", Some(200), "Discrete(500)"),
    ];
    assert!(registry.ids().eq(limits.map(|(id, ..)| id)));
    for (id, max_episode_steps, space) in limits {
        assert_eq!(registry.spec(id).unwrap().max_episode_steps, max_episode_steps, "{id}");
        assert_eq!(registry.make(id).unwrap().observation_space().to_string(), space, "{id}");
    }
}
