//! Lists of games and ROMs.

use tempfile::TempDir;

use super::output;

#[test]
fn games_and_roms_are_listed_as_text_and_json() {
    let text = |arguments: &[&str]| String::from_utf8(output(arguments).stdout).expect("text");
    assert!(text(&["games"]).contains("ms_pacman"));
    let games: serde_json::Value =
        serde_json::from_str(&text(&["games", "--games", "atari57", "--json"])).expect("JSON");
    assert_eq!(games.as_array().map(Vec::len), Some(57));
    let all: serde_json::Value = serde_json::from_str(&text(&["games", "--json"])).expect("JSON");
    let ids: Vec<_> = all.as_array().expect("a list").iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert!(["harvest", "pong", "CartPole-v1", "FrozenLake-v1", "Ant-v5"].iter().all(|id| ids.contains(id)));
    let tasks: serde_json::Value =
        serde_json::from_str(&text(&["games", "--games", "classic,pong,Pendulum-v1", "--json"]))
            .expect("JSON");
    let list = tasks.as_array().expect("a list");
    let rows: Vec<_> = list
        .iter()
        .map(|row| (row["id"].as_str().unwrap(), row["num_actions"].as_u64(), row["num_components"].as_u64()))
        .collect();
    let expected = [
        ("pong", None, None),
        ("CartPole-v1", Some(2), Some(0)),
        ("MountainCar-v0", Some(3), Some(0)),
        ("Acrobot-v1", Some(3), Some(0)),
        ("Pendulum-v1", None, Some(1)),
    ];
    assert_eq!(rows, expected);
    let classic = text(&["games", "--games", "classic"]);
    assert!(classic.lines().any(|line| line.starts_with("CartPole-v1 ")), "{classic}");
    let footer = text(&["games"]);
    assert!(footer.contains("with continuous actions, for PPO and SAC: Ant-v4, Ant-v5, "));
    assert!(footer.contains("FrozenLake-v1"));
    let empty = TempDir::new().expect("a directory");
    let directory = empty.path().to_str().expect("a name");
    let roms: serde_json::Value =
        serde_json::from_str(&text(&["roms", "list", "--json", "--rom-dir", directory])).expect("JSON");
    assert_eq!(roms["roms"].as_array().map(Vec::len), Some(108));
    assert!(text(&["roms", "list", "--rom-dir", directory]).contains("0 present, 108 missing, 0 damaged"));
}
