//! `ale-train export --card`: directories for the Hugging Face Hub.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::program::run;

/// Returns the names of the files in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect();
    names.sort();
    names
}

#[test]
fn a_card_has_metadata_scores_a_video_and_the_agent() {
    let temp = TempDir::new().expect("a directory");
    let path = temp.path();
    run("export zoo:harvest --card card --offline").within(path).succeed();
    assert_eq!(names(&path.join("card")), ["README.md", "agent.safetensors", "harvest.gif"]);
    let readme = fs::read_to_string(path.join("card/README.md")).expect("a file");
    for part in [
        "---\nlicense: \"mit\"\nlibrary_name: \"ale-train\"\n",
        "- \"reinforcement-learning\"\n",
        "- \"ALE/Harvest-v5\"\n",
        "\n    - type: mean_reward\n      value: \"",
        " +/- ",
        "\n---\n\n# PPO agent for harvest\n",
        "* Licence: MIT OR Apache-2.0, like the program\n",
        "\n![The agent plays harvest](harvest.gif)\n",
        "\n| harvest | ",
        "The agent sampled its actions from its policy",
        "ale-train play --checkpoint agent.safetensors --watch\n",
        "ale_train.load_agent(\"agent.safetensors\")",
        "\n[environments]\n",
    ] {
        assert!(readme.contains(part), "{part} is not in: {readme}");
    }
    assert!(!readme.contains("curves.svg"));
    run("eval card/agent.safetensors --episodes 1").within(path).succeed();
    assert!(fs::read(path.join("card/harvest.gif")).expect("a video").starts_with(b"GIF89a"));
}

#[test]
fn the_card_of_a_run_has_its_curves_and_the_licence_that_the_user_names() {
    let temp = TempDir::new().expect("a directory");
    let path = temp.path();
    let words = "ppo --games harvest --num-envs 2 --total-frames 16384 --num-threads 1 --quiet --run-dir run";
    run(words).settings(&["ppo.num_steps=16", "evaluation.episodes=2"]).within(path).succeed();
    // An empty directory, given with a slash.
    fs::create_dir(path.join("card")).expect("a directory");
    let said = run("export run --card card/ --license apache-2.0 --dtype f16").within(path).messages();
    assert!(!said.contains("licence"), "{said}");
    let directory = path.join("card");
    assert_eq!(names(&directory), ["README.md", "agent.safetensors", "curves.svg", "harvest.gif"]);
    let readme = fs::read_to_string(directory.join("README.md")).expect("a file");
    let parts = [
        "license: \"apache-2.0\"",
        "![Learning curves](curves.svg)",
        "| harvest | 2 |",
        "* Licence: apache-2.0",
    ];
    assert!(parts.into_iter().all(|part| readme.contains(part)), "{readme}");
    assert_eq!(names(path), ["card", "run"]);

    // Without scores there are no results, and without a licence a hint.
    let words =
        "ppo --games CartPole-v1 --num-envs 2 --total-frames 512 --num-threads 1 --quiet --run-dir pole";
    run(words).settings(&["ppo.num_steps=16", "evaluation.episodes=0"]).within(path).succeed();
    let said = run("export pole --card other").within(path).messages();
    assert!(said.contains("the card states no licence; --license names one"), "{said}");
    let readme = fs::read_to_string(path.join("other/README.md")).expect("a file");
    let parts = ["license:", "model-index", "## Scores"];
    assert!(parts.into_iter().all(|part| !readme.contains(part)), "{readme}");
    assert!(readme.contains("![The agent plays CartPole-v1](CartPole-v1.gif)"), "{readme}");
}

#[test]
fn a_card_is_written_completely_or_not_at_all() {
    let temp = TempDir::new().expect("a directory");
    let path = temp.path();
    fs::create_dir(path.join("full")).expect("a directory");
    fs::write(path.join("full/file"), "x").expect("a file");
    for (words, expected) in [
        ("export zoo:harvest --card full", "cannot write the card to full: it is not empty"),
        ("export zoo:harvest --card full/file", "cannot write the card to full/file"),
        // The video needs the ROM.
        ("export zoo:pong --card card --offline", "ROMs"),
        ("export zoo:harvest --card card --out a.safetensors", "cannot be used with"),
        ("export zoo:harvest", "--out"),
        ("export zoo:harvest --out a.safetensors --license mit", "cannot be used with"),
    ] {
        let command = &mut run(words).within(path).command();
        let output = command.env_clear().output().expect("the program");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(expected), "{words}: {error}");
        assert_eq!(names(path), ["full"], "{words}");
    }
    assert_eq!(fs::read(path.join("full/file")).expect("a file"), b"x");
}
