use super::{experiment, experiment_by, value, with_sets};

#[test]
fn intrinsic_rewards_are_refused_where_they_are_not_possible() {
    let refused = |arguments: &[&str], sets: &[&str]| {
        let arguments = with_sets(&with_sets(arguments, &["ppo.rnd.enabled=true"]), sets);
        experiment(&arguments).expect_err("a refusal")
    };
    for (arguments, sets, expected) in [
        (
            &["--games", "pong@2p"][..],
            &[][..],
            "ppo.rnd.enabled = true is not possible with pong@2p: the last channel of its observations is not a frame",
        ),
        (
            &[],
            &["experiment.device=cuda"],
            "ppo.rnd.enabled = true is not possible with experiment.device = cuda: it needs the CPU",
        ),
        (&[], &["policy.lstm=8"], "policy.lstm = 8 is invalid: it must be 0 with ppo.rnd.enabled = true"),
        (
            &[],
            &["ppo.overlap=true"],
            "ppo.overlap = true is invalid: it must be false with ppo.rnd.enabled = true",
        ),
        (&[], &["ppo.rnd.int_gamma=2"], "ppo.rnd.int_gamma = 2 is invalid: it must be in 0..=1"),
    ] {
        assert!(refused(arguments, sets).contains(expected), "{}", refused(arguments, sets));
    }
}

#[test]
fn the_settings_of_intrinsic_rewards_are_those_of_ppo() {
    let preset = experiment(&["--preset", "rnd-ppo"]).unwrap();
    assert_eq!(value(&preset, "ppo.rnd.enabled"), true.into());
    assert_eq!(value(&preset, "ppo.rnd.num_iterations_obs_norm_init"), 10.into());
    let keys = |algorithm| experiment_by(algorithm, &[]).unwrap().absent_keys().unwrap();
    assert!(keys("dqn").iter().all(|key| !key.starts_with("ppo.")));
}
