//! Tests the settings that a new run keeps, so that later versions and other machines continue it alike.

use algorithms::networks::Bf16Arithmetic;

use crate::config::from_toml;

/// Returns the arithmetic that a new run keeps, and whether it does not use the requested precision.
fn settled_arithmetic(text: &str) -> (Option<Bf16Arithmetic>, bool) {
    let mut experiment = from_toml(text).unwrap().resolve().unwrap();
    crate::train::processes::settle_bf16_arithmetic(&mut experiment).unwrap();
    (experiment.policy.bf16_arithmetic, experiment.unused_precision().is_some())
}

#[test]
fn new_runs_on_the_cpu_keep_the_arithmetic_of_their_16_bit_products() {
    let here = Bf16Arithmetic::here();
    assert_eq!(settled_arithmetic(""), (None, false));
    assert_eq!(settled_arithmetic("policy.precision = 'bf16'"), (Some(here), false));
    for &chosen in Bf16Arithmetic::ALL {
        let text = format!("policy.precision = 'bf16'\npolicy.bf16_arithmetic = '{}'", chosen.name());
        assert_eq!(settled_arithmetic(&text), (Some(chosen), false));
    }
    assert_eq!(settled_arithmetic("policy.precision = 'bf16'\nexperiment.device = 'cuda'"), (None, false));
    // A run in 32 bits whose precision is changed later.
    let changed = from_toml("policy.precision = 'bf16'").unwrap().resolve().unwrap();
    let warning = changed.unused_precision().unwrap();
    assert!(warning.ends_with(&format!("add --set policy.bf16_arithmetic={}", here.name())), "{warning}");
}

/// Returns the least divisor of returns that a new run keeps.
fn settled_floor(text: &str) -> Option<f64> {
    let mut experiment = from_toml(text).unwrap().resolve().unwrap();
    experiment.settle_popart_floor();
    experiment.policy.popart_floor
}

#[test]
fn new_runs_with_clipped_rewards_divide_returns_by_at_least_1() {
    let popart = |keys: &str| format!("policy.value_scale = 'popart'\n{keys}");
    assert_eq!(settled_floor(&popart("")), Some(1.0));
    assert_eq!(settled_floor(&popart("policy.popart_floor = 0.25")), Some(0.25));
    assert_eq!(settled_floor(&popart("environments.reward_clipping = false")), None);
    assert_eq!(settled_floor(&popart("environments.games = ['CartPole-v1']")), None);
    assert_eq!(settled_floor(""), None);
}
