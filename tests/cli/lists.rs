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
    let tasks: serde_json::Value =
        serde_json::from_str(&text(&["games", "--games", "classic,pong,Pendulum-v1", "--json"]))
            .expect("JSON");
    let list = tasks.as_array().expect("a list");
    let rows: Vec<_> =
        list.iter().map(|row| (row["id"].as_str().unwrap(), row["trainable"].as_bool())).collect();
    let expected = [
        ("pong", true),
        ("CartPole-v1", true),
        ("MountainCar-v0", true),
        ("Acrobot-v1", true),
        ("Pendulum-v1", false),
    ];
    assert_eq!(rows, expected.map(|(id, trainable)| (id, Some(trainable))));
    let classic = text(&["games", "--games", "classic"]);
    assert!(classic.lines().any(|line| line.starts_with("CartPole-v1 ")), "{classic}");
    let footer = text(&["games"]);
    assert!(footer.contains(
        "not trainable, because their actions are continuous: MountainCarContinuous-v0, Pendulum-v1"
    ));
    let empty = TempDir::new().expect("a directory");
    let directory = empty.path().to_str().expect("a name");
    let roms: serde_json::Value =
        serde_json::from_str(&text(&["roms", "list", "--json", "--rom-dir", directory])).expect("JSON");
    assert_eq!(roms["roms"].as_array().map(Vec::len), Some(108));
    assert!(text(&["roms", "list", "--rom-dir", directory]).contains("0 there, 108 missing, 0 damaged"));
}
