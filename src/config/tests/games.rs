//! Tests settings of single games.

use std::fs;

use tempfile::TempDir;

use super::{experiment, with_sets};
use crate::config::drawn::Drawn;
use crate::config::from_toml;

#[test]
fn keys_that_cannot_differ_between_games_are_named() {
    for (written, expected) in [
        ("environments.game.breakout.frame_skip", "'environments.frame_skip' cannot differ between games"),
        ("game.breakout.frame_skip", "'environments.frame_skip' cannot differ between games"),
        ("breakout.frameskip", "'environments.frame_skip' cannot differ between games"),
        (
            "environments.game.breakout.reward_clip",
            "'environments.reward_clipping' cannot differ between games",
        ),
        (
            "environments.game.breakout.gamma",
            "'ppo.gamma' and 'dqn.gamma' and 'pqn.gamma' and 'sac.gamma' cannot differ between games",
        ),
        ("environments.game.breakout.seed", "'experiment.seed' cannot differ between games"),
    ] {
        let error = experiment(&["--games", "breakout", "--set", &format!("{written}=1")]).unwrap_err();
        let allowed = "only num_envs, total_frames, mode, difficulty, max_num_frames_per_episode can";
        assert!(error.ends_with(&format!("{written} is not possible: {expected}; {allowed}")), "{error}");
    }
}

#[test]
fn games_that_a_flag_leaves_out_lose_their_overrides_in_a_file() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("six.toml");
    let path = file.to_str().unwrap();
    let text = "[environments]\ngames = ['pong', 'breakout', 'qbert']\n\
                [environments.game.pong]\nnum_envs = 3\n\
                [environments.game.'ALE/Breakout-v5']\nmode = 12\n[environments.game.qbert]\nnum_envs = 5\n";
    fs::write(&file, text).unwrap();
    let narrowed = |flags: &[&str]| experiment(&[&["--config", path], flags].concat());
    let notes = |flags: &[&str]| narrowed(flags).unwrap().notes;
    assert_eq!(notes(&[]), Vec::<String>::new());
    assert_eq!(notes(&["--games", "qbert,breakout,pong"]), Vec::<String>::new());
    let cause = "because other games are selected";
    let left_out = |games| format!("{path}: its overrides for {games} have no effect, {cause}");
    let one = narrowed(&["--games", "pong,boxing"]).unwrap();
    assert_eq!(one.notes, [left_out("breakout, qbert")]);
    assert_eq!((one.num_envs(), one.environments.game.len()), (3 + 8, 1));
    // The written experiment has no trace of them.
    assert_eq!(from_toml(&one.to_toml().unwrap()).unwrap().resolve().unwrap().notes, Vec::<String>::new());
    assert_eq!(notes(&["--set", "environments.games=breakout"]), [left_out("pong, qbert")]);
    assert_eq!(notes(&["--games", "atari57,-qbert"]), [left_out("qbert")]);
    // Flags that contradict each other are a mistake.
    let error = narrowed(&["--games", "pong", "--set", "environments.game.qbert.mode=0"]).unwrap_err();
    assert!(error.contains("'qbert' is not among the games of the experiment"), "{error}");

    // A misspelt game of the file remains an error, whatever the flags select.
    fs::write(&file, text.replace("[environments.game.qbert]", "[environments.game.qbrt]")).unwrap();
    for flags in [&[][..], &["--games", "pong"], &["--games", "qbert"]] {
        let error = narrowed(flags).unwrap_err();
        let expected = "environments.game.qbrt is not possible: 'qbrt' is not among the games of the experiment; \
                        did you mean qbert?";
        assert!(error.ends_with(expected), "{error}");
    }
    // A file that names no games is for any games.
    fs::write(&file, "[environments.game.pong]\nnum_envs = 3\n[environments.game.qbert]\nnum_envs = 5\n")
        .unwrap();
    assert_eq!(notes(&["--games", "pong,boxing"]), [left_out("qbert")]);
    fs::write(&file, "[environments.game.pong]\nnum_envs = 3\n[environments.game.qbrt]\nnum_envs = 5\n")
        .unwrap();
    assert!(narrowed(&["--games", "pong,qbert"]).unwrap_err().ends_with("did you mean qbert?"));
}

/// Returns the games for which a file and `sets` override settings.
fn overridden_games(path: &str, sets: &[&str]) -> Result<Vec<String>, String> {
    let experiment = experiment(&with_sets(&["--config", path], sets))?;
    Ok(experiment.environments.game.into_keys().collect())
}

#[test]
fn absent_removes_the_overrides_for_a_game() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("mine.toml");
    let text = "[environments]\ngames = ['pong', 'qbert']\n\
                [environments.game.'ALE/Pong-v5']\nnum_envs = 3\nmode = 1\n[environments.game.qbert]\nnum_envs = 5\n";
    fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let games = |sets: &[&str]| overridden_games(path, sets);
    assert_eq!(games(&[]).unwrap(), ["pong", "qbert"]);
    assert_eq!(games(&["environments.game.pong=absent"]).unwrap(), ["qbert"]);
    assert_eq!(games(&["environments.game.'ALE/Pong-v5'=absent"]).unwrap(), ["qbert"]);
    assert_eq!(games(&["environments.game=absent"]).unwrap(), Vec::<String>::new());
    assert_eq!(games(&["environments.game.boxing=absent"]).unwrap(), ["pong", "qbert"]);
    // Later assignments set keys of the removed section again.
    let again = ["environments.game.pong=absent", "environments.game.pong.num_envs=2"];
    let arguments = ["--config", path, "--set", again[0], "--set", again[1]];
    let pong = experiment(&arguments).unwrap().environments.game.remove("pong").unwrap();
    assert_eq!((pong.num_envs, pong.mode), (Some(2), None));
    let narrow = ["environments.games=qbert", "environments.game.pong=absent"];
    assert_eq!(games(&narrow).unwrap(), ["qbert"]);
    for (set, expected) in [
        ("environments.game.pogn=absent", "unknown game or set 'pogn'; did you mean pong?"),
        ("environments.game.pong=5", "environments.game.pong = 5 is not possible: it is a section with keys"),
        (
            "policy=absent",
            "policy = \"absent\" is not possible: it is a section with keys such as policy.torso",
        ),
    ] {
        let error = games(&[set]).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn single_games_have_overrides() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("mine.toml");
    let text = "[environments]\ngames = ['pong', 'qbert']\n\
                [environments.game.pong]\nnum_envs = 3\nmode = 1\ndifficulty = 1\nmax_num_frames_per_episode = 400\n";
    fs::write(&file, text).unwrap();
    let config = ["--config", file.to_str().unwrap()];
    let experiment = experiment(&config).unwrap();
    assert_eq!(experiment.num_envs(), 3 + 8);
    let again = from_toml(&experiment.to_toml().unwrap()).unwrap().resolve().unwrap();
    assert_eq!(again.environments, experiment.environments);
    assert_eq!(again.environments.game["pong"].difficulty, Some(Drawn::Always(1)));

    let error = |set: &str| self::experiment(&["--games", "pong,qbert", "--set", set]).unwrap_err();
    for (set, expected) in [
        (
            "environments.game.pogn.mode=0",
            "'pogn' is not among the games of the experiment; did you mean pong?",
        ),
        ("environments.game.pong.mod=0", "did you mean 'environments.game.pong.mode'?"),
        (
            "environments.game.pong.mode=7",
            "environments.game.pong.mode = 7 is invalid: it must be one of [0, 1]",
        ),
        ("environments.game.pong.difficulty=9", "difficulty = 9 is invalid: it must be one of [0, 1, 2, 3]"),
        (
            "environments.game.pong.num_envs=0",
            "environments.game.pong.num_envs = 0 is invalid: it must be in 1..=65536",
        ),
        (
            "evaluation.repeat_action_probability=2",
            "evaluation.repeat_action_probability = 2 is invalid: it must be in 0..=1",
        ),
    ] {
        let error = error(set);
        assert!(error.contains(expected), "{set}: {error}");
    }
    let classic = ["--games", "CartPole-v1", "--set", "environments.game.CartPole-v1.mode=1"];
    let error = self::experiment(&classic).unwrap_err();
    assert!(error.contains("mode is not possible: CartPole-v1 is not emulated"), "{error}");
}

#[test]
fn modes_have_settings_of_their_own() {
    let modes = ["--games", "pong,pong@1.2"];
    let sets = ["environments.game.\"Pong@1.2\".num_envs=3", "environments.game.pong.mode=[0, 1]"];
    let experiment = experiment(&with_sets(&modes, &sets)).unwrap();
    assert_eq!(
        (experiment.games.names(), experiment.games.labels()),
        (vec!["pong", "pong@1.2"], vec!["pong (mode 0, 1; difficulty 0)".to_owned(), "pong@1.2".to_owned()],)
    );
    assert_eq!(experiment.environments.num_envs_of("pong@1.2"), 3);
    let again = from_toml(&experiment.to_toml().unwrap()).unwrap().resolve().unwrap();
    assert_eq!(again.environments, experiment.environments);
    let removed = with_sets(&modes, &[sets[0], "environments.game.\"pong@1.2\"=absent"]);
    assert!(self::experiment(&removed).unwrap().environments.game.is_empty());
    for (set, expected) in [
        (
            "environments.game.\"pong@1.2\".mode=0",
            "environments.game.\"pong@1.2\".mode is not possible: pong@1.2 names a mode and a difficulty",
        ),
        (
            "environments.game.\"pong@1.2\".num_evs=1",
            "did you mean 'environments.game.\"pong@1.2\".num_envs'?",
        ),
        (
            "environments.game.pong.mode=[0, 7]",
            "environments.game.pong.mode = 7 is invalid: it must be one of [0, 1]",
        ),
        (
            "environments.game.pong.mode=[]",
            "it must be a whole number, 0 or more, or a list of such numbers, or absent",
        ),
    ] {
        let error = self::experiment(&with_sets(&modes, &[set])).unwrap_err();
        assert!(error.contains(expected), "{set}: {error}");
    }
    let error = self::experiment(&["--games", "pong@9"]).unwrap_err();
    assert_eq!(error, "pong has no mode 9; its modes are [0, 1]");
    let same = with_sets(&["--games", "pong,pong@1"], &["environments.game.pong.mode=1"]);
    let error = self::experiment(&same).unwrap_err();
    assert!(error.ends_with("pong and pong@1 are the same task: both are pong@1"), "{error}");
}
