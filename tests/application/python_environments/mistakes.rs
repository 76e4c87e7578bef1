//! Mistakes of users.

use super::Modules;

#[test]
fn masks_that_are_missing_end_the_run() {
    let Some(modules) = Modules::new() else { return };
    // One worker: of several that fail, any may be the first.
    let settings = "--total-frames 4096 --set environments.gymnasium.workers=1";
    let line = modules.train("run", "ppo --env python:corridor:Corridor").words(settings);
    let messages = line.set("environments.gymnasium.action_masks", true).fail(1);
    let expected =
        "environment 0: python:corridor:Corridor (seed 0): reset failed: the info has no \"action_mask\"";
    assert!(messages.contains(expected), "{messages}");
}

#[test]
fn mistakes_are_one_sentence() {
    let Some(modules) = Modules::new() else { return };
    for (settings, status, expected) in [
        ("ppo --env gymnasium:NoSuch-v0", 2, "NoSuch"),
        ("ppo --env python:no_such_module:Env", 2, "has no module \"no_such_module\""),
        ("ppo --env python:corridor", 2, "does not name an environment"),
        ("dqn --env gym:Pendulum-v1", 2, "learners of action values need Discrete or MultiDiscrete actions"),
        ("ppo --games pong,gym:CartPole-v1", 2, "cannot be trained together with pong"),
        (
            "ppo --games CartPole-v1,python:envs:Images",
            2,
            "python:envs:Images, whose observations are images",
        ),
        ("ppo --games CartPole-v1,gym:Pendulum-v1", 2, "gymnasium:Pendulum-v1"),
        (
            "ppo --games CartPole-v1,gym:CartPole-v1 --set environments.halves=true",
            2,
            "environments.halves = true is not possible with gymnasium:CartPole-v1, because other tasks do not run",
        ),
        ("ppo --games LunarLander-v3", 2, "gymnasium:LunarLander-v3 would be an environment of Gymnasium"),
    ] {
        let messages = modules.train("run", settings).fail(status);
        assert!(messages.contains(expected), "{settings}: {messages}");
        assert!(!messages.contains("Traceback"), "{settings}: {messages}");
    }
}
