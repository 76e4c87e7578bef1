//! Checks the documents: their commands run as printed, the targets of their links and the files that they name exist,
//! and the reference pages are complete.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

use crate::program::run;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The pages of the book.
const BOOK: &str = "docs/src";
const SUMMARY: &str = "docs/src/SUMMARY.md";
/// The pages about the Python API, and the script that adds them to the book when it is built.
const API: (&str, &str) = ("docs/src/python/api", "envs/python/document_api.py");
/// Directories with documents, at any depth. Those of the root and of `checkpoints` are added.
const DIRECTORIES: [&str; 4] = ["benches", "docs", "envs", "roms"];
/// The ways in which a document runs the program: installed, or from a checkout.
const PROGRAM: [&str; 2] = ["ale-train ", "cargo run --release -- "];

/// Returns all documents, relative to the root.
fn documents() -> Vec<String> {
    let mut documents = vec!["checkpoints/README.md".to_owned()];
    for entry in fs::read_dir(ROOT).expect("a directory") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        if has_extension(&name, "md") {
            documents.push(name);
        }
    }
    for directory in DIRECTORIES {
        collect(directory, &mut documents);
    }
    documents.sort();
    documents
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|other| other == extension)
}

/// Adds the Markdown files below a directory. Hidden directories contain only what tools install.
fn collect(directory: &str, documents: &mut Vec<String>) {
    for entry in fs::read_dir(Path::new(ROOT).join(directory)).expect("a directory") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name");
        let path = format!("{directory}/{name}");
        if entry.path().is_dir() && !name.starts_with('.') {
            collect(&path, documents);
        } else if has_extension(&name, "md") {
            documents.push(path);
        }
    }
}

fn pages_of_the_book() -> Vec<String> {
    let mut pages = Vec::new();
    collect(BOOK, &mut pages);
    pages
}

fn read(document: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(document)).expect("a document")
}

/// Returns the text without code blocks.
fn prose(document: &str) -> String {
    read(document).split("```").step_by(2).collect()
}

/// Returns the spans of inline code in the prose.
fn inline_code(document: &str) -> Vec<String> {
    prose(document).split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the arguments of every command of the program in the blocks of shell code, without comments.
fn commands(document: &str) -> Vec<Vec<String>> {
    let text = read(document);
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
    blocks.flat_map(str::lines).filter_map(command).collect()
}

/// Returns the arguments of a command of the program in a line, if there is one.
fn command(line: &str) -> Option<Vec<String>> {
    let arguments = PROGRAM.iter().find_map(|program| line.trim().strip_prefix(program))?;
    let arguments = arguments.split('#').next().unwrap_or_default();
    Some(arguments.split_whitespace().map(str::to_owned).collect())
}

/// Returns the command to run in place of a documented one. A training command becomes `config`, which resolves the
/// experiment without training. An evaluation plays one episode, and an extended run makes a few updates. Commands that
/// need a network connection, an idle machine, hours, a terminal, a browser, an agent for two players, a run in
/// training or a tracker only print their help.
fn runnable(arguments: &[String]) -> Vec<String> {
    let mut arguments = arguments.to_vec();
    match arguments[0].as_str() {
        "ppo" | "dqn" | "pqn" | "sac" => {
            remove_option(&mut arguments, "--run-dir");
            remove_option(&mut arguments, "--init-from");
            arguments.retain(|argument| argument != "--json");
            let algorithm = std::mem::replace(&mut arguments[0], "config".to_owned());
            arguments.extend(["--set".to_owned(), format!("experiment.algorithm={algorithm}")]);
        }
        "resume" if arguments.iter().any(|argument| argument == "--total-frames") => {
            // A few more updates than the runs of `checkout`, and more for larger numbers.
            let frames: u64 = remove_option(&mut arguments, "--total-frames")[1].parse().expect("a number");
            arguments.extend(["--total-frames".to_owned(), (frames / 40_000).to_string()]);
        }
        "eval" => {
            remove_option(&mut arguments, "--episodes");
            arguments.extend(["--episodes".to_owned(), "1".to_owned()]);
        }
        "roms" if arguments[1] != "list" => arguments.push("--help".to_owned()),
        "bench" | "sweep" | "sync" | "play" | "match" | "watch" | "checkpoint" => {
            arguments.push("--help".to_owned());
        }
        _ => {}
    }
    arguments
}

/// Removes an option with its value, and returns both if they are there.
fn remove_option(arguments: &mut Vec<String>, option: &str) -> Vec<String> {
    match arguments.iter().position(|argument| argument == option) {
        Some(index) => arguments.drain(index..index + 2).collect(),
        None => Vec::new(),
    }
}

/// Returns a directory like a checkout, with the presets and the runs that the documents mention.
fn checkout() -> TempDir {
    let checkout = TempDir::new().expect("a directory");
    fs::create_dir(checkout.path().join("configs")).expect("a directory");
    for entry in fs::read_dir(Path::new(ROOT).join("configs")).expect("configs") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, checkout.path().join("configs").join(path.file_name().expect("a name")))
            .expect("a copy");
    }
    for directory in ["checkpoints/first", "checkpoints/pong", "checkpoints/RUN"] {
        let line =
            run("ppo --num-envs 2 --total-frames 1024 --set ppo.num_steps=16 --run-dir").arg(directory);
        let evaluation = ["evaluation.episodes=1", "evaluation.interval_frames=512"];
        line.settings(&evaluation).within(checkout.path()).succeed();
    }
    let checkpoints = checkout.path().join("checkpoints/RUN/checkpoints");
    let newest =
        fs::read_dir(&checkpoints).expect("checkpoints").next().expect("one").expect("an entry").path();
    fs::rename(newest, checkpoints.join("update-00000400")).expect("the checkpoint that the documents name");
    checkout
}

#[test]
fn documented_commands_run_as_printed() {
    let checkout = checkout();
    let mut count = 0;
    for document in &documents() {
        for arguments in commands(document) {
            let arguments = runnable(&arguments);
            let needs_rom = arguments[0] == "trace" && arguments[1] != "harvest";
            if needs_rom && ale::roms::for_tests(&arguments[1]).is_none() {
                continue;
            }
            eprintln!("{document}: {}", arguments.join(" "));
            run("").args(arguments).within(checkout.path()).succeed();
            count += 1;
        }
    }
    assert!(count >= 60, "only {count} commands were found");
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut count = 0;
    for document in &documents() {
        let prose = prose(document);
        let links = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = target(document, file);
            let is_generated = document.starts_with(BOOK) && is_page_of_the_api(&target);
            assert!(is_generated || Path::new(ROOT).join(&target).exists(), "{document} links to {link}");
            assert!(
                !document.starts_with(BOOK) || target.starts_with(BOOK),
                "{document} links to {link}, which the built book does not contain"
            );
            assert!(heading.is_empty() || has_heading(&target, heading), "{document} links to {link}");
            count += 1;
        }
    }
    assert!(count >= 100, "only {count} links were found");
}

fn is_page_of_the_api(target: &Path) -> bool {
    let (directory, script) = API;
    let page = target.strip_prefix(directory).ok().and_then(Path::to_str);
    page.is_some_and(|page| read(script).contains(&format!("\"{page}\",")))
}

fn has_heading(document: &Path, heading: &str) -> bool {
    let text = fs::read_to_string(Path::new(ROOT).join(document)).expect("a document");
    text.lines().any(|line| line.starts_with('#') && anchor(line) == heading)
}

/// Returns the target of a link, relative to the root.
fn target(document: &str, file: &str) -> PathBuf {
    if file.is_empty() {
        return document.into();
    }
    let mut target = Path::new(document).parent().expect("a directory").to_owned();
    for component in Path::new(file).components() {
        match component {
            Component::ParentDir => {
                assert!(target.pop(), "{document} links to {file}, outside the repository");
            }
            component => target.push(component),
        }
    }
    target
}

/// Returns the anchor of a heading, as mdbook and code hosts generate it.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.collect::<String>().replace(' ', "-")
}

#[test]
fn the_table_of_contents_has_every_page_once() {
    let summary = read(SUMMARY);
    for page in pages_of_the_book().iter().filter(|page| *page != SUMMARY) {
        let link = format!("]({})", page.strip_prefix("docs/src/").expect("a page of the book"));
        assert_eq!(summary.matches(&link).count(), 1, "{SUMMARY} must list {page} once");
    }
}

/// Asserts that a file that a document names exists in one of the directories.
fn assert_exists(document: &str, name: &str, directories: &[&str]) {
    let exists = directories.iter().any(|directory| Path::new(ROOT).join(directory).join(name).exists());
    assert!(exists, "{document} names {name}");
}

/// In the book, a path from the root or a file below `algorithms/src`; in `ARCHITECTURE.md`, a path from the root or
/// from the directory in the heading of its section. Files that a run or a build makes are not in a clean clone.
#[test]
fn files_that_documents_name_exist() {
    let mut count = 0;
    let top: BTreeSet<String> = fs::read_dir(ROOT)
        .expect("a directory")
        .map(|entry| format!("{}/", entry.expect("an entry").file_name().to_string_lossy()))
        .filter(|directory| !["checkpoints/", "target/"].contains(&directory.as_str()))
        .collect();
    for page in pages_of_the_book() {
        for code in inline_code(&page) {
            let is_in_tree = top.iter().any(|directory| code.starts_with(directory.as_str()));
            let has_placeholder = code.contains([' ', '*']) || code.chars().any(char::is_uppercase);
            if has_extension(&code, "rs") || is_in_tree && !has_placeholder {
                assert_exists(&page, &code, &["", "algorithms/src"]);
                count += 1;
            }
        }
    }
    let map = "ARCHITECTURE.md";
    for section in read(map).split("\n### ") {
        let heading = section.lines().next().unwrap_or_default();
        let directory = heading.split('`').nth(1).unwrap_or_default();
        let code = section.split('`').skip(1).step_by(2);
        for name in code
            .filter(|code| has_extension(code, "rs") || has_extension(code, "toml") || code.ends_with('/'))
        {
            assert_exists(map, name, &["", directory]);
            count += 1;
        }
    }
    assert!(count > 80, "only {count} files were found");
}

#[test]
fn the_reference_lists_every_command_preset_and_agent() {
    let help = run("--help").stdout();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect();
    assert!(commands.len() > 10, "{commands:?}");
    let page = read("docs/src/reference/commands.md");
    for command in commands {
        assert!(page.contains(&format!("| `ale-train {command}` |")), "commands.md lacks {command}");
    }
    let message = "write it with `ale-train presets --reference > docs/src/reference/presets.md`";
    assert!(read("docs/src/reference/presets.md") == run("presets --reference").stdout(), "{message}");
    let message = "write it with `ale-train zoo --reference > docs/src/reference/zoo.md`";
    assert!(read("docs/src/reference/zoo.md") == run("zoo --reference").stdout(), "{message}");
}

#[test]
fn every_metric_of_a_run_is_explained() {
    let temp = TempDir::new().expect("a directory");
    let page = |name: &str| read(&format!("docs/src/reference/algorithms/{name}.md"));
    for (algorithm, game, frames) in [
        ("ppo", "CartPole-v1", "4096"),
        ("dqn", "CartPole-v1", "4096"),
        ("pqn", "CartPole-v1", "4096"),
        // Enough updates for two reports.
        ("sac", "Pendulum-v1", "1300"),
    ] {
        let words =
            format!("{algorithm} --games {game} --total-frames {frames} --quiet --run-dir {algorithm}");
        run(&words).within(temp.path()).succeed();
        let records = fs::read_to_string(temp.path().join(algorithm).join("metrics.jsonl")).expect("records");
        let explained = page("ppo") + &page(algorithm);
        let mut tags = BTreeSet::new();
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
