//! The commands that the documents show work: each is run as it is printed, in a folder like a clone. Of training, only
//! the experiment is made; of what needs a network, a quiet machine or hours, only the help is asked for.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const DOCUMENTS: [&str; 3] = ["README.md", "checkpoints/README.md", "roms/README.md"];
/// How a document calls the program.
const PROGRAM: &str = "cargo run --release -- ";

/// These and every page of the book.
fn documents() -> Vec<String> {
    let mut documents = DOCUMENTS.map(str::to_owned).to_vec();
    documents.extend(pages("docs/src"));
    documents
}

/// The Markdown files in a directory and below it.
fn pages(directory: &str) -> Vec<String> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(Path::new(ROOT).join(directory)).expect("a directory") {
        let entry = entry.expect("an entry");
        let path = format!("{directory}/{}", entry.file_name().into_string().expect("a name"));
        if entry.path().is_dir() {
            pages.extend(self::pages(&path));
        } else if path.ends_with(".md") {
            pages.push(path);
        }
    }
    pages
}

/// The arguments of every command of the program in the blocks of shell code, comments taken off.
fn commands(document: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(Path::new(ROOT).join(document)).expect("a document");
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
    let lines = blocks.flat_map(str::lines).filter_map(|line| line.trim().strip_prefix(PROGRAM));
    let words = |line: &str| {
        line.split('#').next().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    lines.map(words).collect()
}

/// What is run in place of a command: a training command becomes the experiment that it means, and what it would
/// download is explained.
fn runnable(words: &[String]) -> Vec<String> {
    let mut words = words.to_vec();
    match words[0].as_str() {
        "ppo" | "dqn" | "pqn" => {
            if let Some(index) = words.iter().position(|word| word == "--run-dir") {
                words.drain(index..index + 2);
            }
            words.retain(|word| word != "--json");
            let algorithm = std::mem::replace(&mut words[0], "config".to_owned());
            words.extend(["--set".to_owned(), format!("experiment.algorithm={algorithm}")]);
        }
        "roms" if words[1] != "list" => words.push("--help".to_owned()),
        // A quiet machine, hours, a person's terminal.
        "bench" | "sweep" | "play" => words.push("--help".to_owned()),
        _ => {}
    }
    words
}

fn ale_train(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ale-train"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

#[test]
fn the_commands_of_the_documents_work_as_printed() {
    let clone = TempDir::new().expect("a folder");
    fs::create_dir(clone.path().join("configs")).expect("a folder");
    for entry in fs::read_dir(Path::new(ROOT).join("configs")).expect("configs") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, clone.path().join("configs").join(path.file_name().expect("a name")))
            .expect("a copy");
    }
    // The runs that the documents speak of.
    for run in ["checkpoints/first", "checkpoints/RUN"] {
        let arguments = [
            "ppo",
            "--num-envs",
            "2",
            "--total-frames",
            "1024",
            "--set",
            "ppo.num_steps=16",
            "--set",
            "evaluation.episodes=0",
            "--run-dir",
            run,
        ];
        let output = ale_train(&arguments, clone.path());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let checkpoints = clone.path().join("checkpoints/RUN/checkpoints");
    let newest =
        fs::read_dir(&checkpoints).expect("checkpoints").next().expect("one").expect("an entry").path();
    fs::rename(newest, checkpoints.join("update-00000400")).expect("the checkpoint that the documents name");

    let mut count = 0;
    for document in &documents() {
        for words in commands(document) {
            let words = runnable(&words);
            let needs_rom = words[0] == "trace" && words[1] != "harvest";
            if needs_rom && ale::roms::for_tests(&words[1]).is_none() {
                continue;
            }
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let Output { status, stderr, .. } = ale_train(&words, clone.path());
            assert!(status.success(), "{document}: {words:?}: {}", String::from_utf8_lossy(&stderr));
            count += 1;
        }
    }
    assert!(count >= 45, "only {count} commands were found");
}

#[test]
fn what_the_documents_link_to_exists() {
    for document in &documents() {
        let path = Path::new(ROOT).join(document);
        let text = fs::read_to_string(&path).expect("a document");
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if file.is_empty() { path.clone() } else { path.parent().expect("a folder").join(file) };
            assert!(target.exists(), "{document} links to {link}");
            let has_heading =
                |text: &str| text.lines().any(|line| line.starts_with('#') && anchor(line) == heading);
            if !heading.is_empty() {
                let text = fs::read_to_string(&target).expect("a document");
                assert!(has_heading(&text), "{document} links to {link}");
            }
        }
    }
}

#[test]
fn the_files_that_the_pages_on_algorithms_name_exist() {
    let mut count = 0;
    for document in documents().iter().filter(|document| document.starts_with("docs/src/reference/algorithms")) {
        let text = fs::read_to_string(Path::new(ROOT).join(document)).expect("a document");
        for file in text.split('`').skip(1).step_by(2).filter_map(|code| code.strip_suffix(".rs")) {
            let exists = ["", "algorithms/src"]
                .iter()
                .any(|folder| Path::new(ROOT).join(folder).join(format!("{file}.rs")).exists());
            assert!(exists, "{document} names {file}.rs");
            count += 1;
        }
    }
    assert!(count > 30, "only {count} files were found");
}

#[test]
fn the_pages_on_algorithms_explain_every_metric_of_a_run() {
    let temp = TempDir::new().expect("a folder");
    let page =
        |name: &str| fs::read_to_string(Path::new(ROOT).join("docs/src/reference/algorithms").join(name)).expect("a page");
    for algorithm in ["ppo", "dqn", "pqn"] {
        let frames = ["--games", "CartPole-v1", "--total-frames", "4096", "--quiet", "--run-dir", algorithm];
        let output = ale_train(&[&[algorithm][..], &frames].concat(), temp.path());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let records = fs::read_to_string(temp.path().join(algorithm).join("metrics.jsonl")).expect("records");
        let explained = page("ppo.md") + &page(&format!("{algorithm}.md"));
        let mut tags = std::collections::BTreeSet::new();
        for line in records.lines() {
            let record: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(line).expect("JSON");
            tags.extend(record.into_iter().map(|(tag, _)| tag).filter(|tag| tag.contains('/')));
        }
        assert!(tags.len() > 10, "{algorithm}: {tags:?}");
        for tag in tags {
            assert!(explained.contains(&format!("`{tag}`")), "{algorithm}: nothing explains {tag}");
        }
    }
}

/// What a heading is called in links.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.collect::<String>().replace(' ', "-")
}
