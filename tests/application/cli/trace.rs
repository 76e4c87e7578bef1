//! `ale-train trace`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::{error, output};

#[test]
fn a_trace_without_actions_names_both_ways_to_give_them() {
    let error = error(&["trace", "harvest", "--seed", "1", "--steps", "1"]);
    assert!(error.contains("--actions") && error.contains("--random-actions"), "{error}");
}

#[test]
fn a_trace_is_not_sticky_unless_asked_to_be() {
    let trace = |sticky: &[&str]| {
        let fixed = ["trace", "ALE/Harvest-v5", "--seed", "3", "--random-actions", "5", "--steps", "60"];
        output(&[&fixed[..], sticky].concat()).stdout
    };
    assert_eq!(trace(&[]), trace(&["--repeat-action-probability", "0"]));
    assert_ne!(trace(&[]), trace(&["--repeat-action-probability", "0.25"]));
}

#[test]
fn a_trace_has_one_object_per_act() {
    let arguments =
        ["trace", "harvest", "--seed", "3", "--random-actions", "5", "--steps", "40", "--frame-skip", "4"];
    let Output { status, stdout, .. } = output(&arguments);
    assert!(status.success());
    let lines: Vec<serde_json::Value> = stdout
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 40);
    assert_eq!(lines[39]["frame"], 160);
    assert!(lines.iter().all(|line| line["ram"].as_str().map(str::len) == Some(256)));
    assert!(lines.iter().all(|line| line["sound"].as_str().map(str::len) == Some(8)));
    assert_eq!(stdout, output(&arguments).stdout, "the same seed gives the same trace");
}

/// Returns the arguments of a short trace of a file, with an empty ROM directory.
fn trace<'a>(file: &'a Path, directory: &'a Path) -> Vec<&'a str> {
    let [file, directory] = [file, directory].map(|path| path.to_str().expect("a name"));
    vec![
        "trace",
        file,
        "--seed",
        "1",
        "--random-actions",
        "1",
        "--steps",
        "30",
        "--rom-dir",
        directory,
        "--offline",
    ]
}

#[test]
fn errors_about_invalid_roms_list_the_known_sizes() {
    let temp = TempDir::new().expect("a directory");
    let file = temp.path().join("pong.bin");
    for (size, expected) in [
        (0, "the ROM image is empty"),
        (1000, "no cartridge has 1000 bytes; known sizes are 2048, 4096,"),
        (4095, "no cartridge has 4095 bytes"),
        (3 << 20, "it is longer than 1 MiB, larger than any ROM"),
    ] {
        fs::write(&file, vec![0; size]).expect("a file");
        for flags in [&[][..], &["--allow-unknown-rom"]] {
            let error = error(&[trace(&file, temp.path()), flags.to_vec()].concat());
            assert!(error.contains(expected), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}

#[test]
fn unknown_roms_run_only_with_a_flag_and_without_rewards() {
    let temp = TempDir::new().expect("a directory");
    let file = temp.path().join("breakot.bin");
    let mut image = include_bytes!("../../../roms/open/harvest.bin").to_vec();
    image[100] ^= 1;
    fs::write(&file, &image).expect("a file");
    let arguments = trace(&file, temp.path());
    let refused = error(&arguments);
    assert!(refused.contains(&format!("its MD5 is {}", ale::roms::Md5Sum::of(&image))), "{refused}");
    assert!(
        refused.contains("similar known ROMs: breakout") && refused.contains("--allow-unknown-rom"),
        "{refused}"
    );
    assert_eq!(refused.lines().count(), 1, "{refused}");

    let Output { status, stdout, stderr } = output(&[arguments, vec!["--allow-unknown-rom"]].concat());
    let stderr = String::from_utf8(stderr).expect("text");
    assert!(status.success(), "{stderr}");
    assert!(stderr.contains("is not a known ROM") && stderr.contains("without rewards"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    let stdout = String::from_utf8(stdout).expect("text");
    assert_eq!(stdout.lines().count(), 30);
    assert!(
        stdout.lines().all(|line| line.contains("\"reward\":0,\"lives\":0,\"terminal\":false")),
        "{stdout}"
    );
}

#[test]
fn errors_name_the_line_of_an_invalid_action() {
    let temp = TempDir::new().expect("a directory");
    let file = temp.path().join("actions.txt");
    let name = file.to_str().expect("a name");
    for (text, place) in
        [("0\n3\n18\n", "line 3: '18'"), ("0\n\nfire\n", "line 3: 'fire'"), ("-1", "line 1: '-1'")]
    {
        fs::write(&file, text).expect("a file");
        let error = error(&["trace", "harvest", "--seed", "1", "--actions", name]);
        assert!(error.contains(place) && error.contains("a code from 0 to 17"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    fs::write(&file, "0\n\n 3 \n").expect("a file");
    let Output { stdout, .. } = output(&["trace", "harvest", "--seed", "1", "--actions", name]);
    assert_eq!(String::from_utf8(stdout).expect("text").lines().count(), 2);
    // The file is not UTF-8.
    fs::write(&file, [0xFF, 0xFE]).expect("a file");
    assert!(error(&["trace", "harvest", "--seed", "1", "--actions", name]).contains("cannot read"));
}

#[cfg(unix)]
#[test]
fn a_rom_that_is_a_pipe_or_longer_than_any_cartridge_is_refused_at_once() {
    let temp = TempDir::new().expect("a directory");
    let [pipe, long] = ["pipe", "long"].map(|name| temp.path().join(name));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("a pipe").success());
    fs::File::create(&long).expect("a file").set_len(1 << 40).expect("a file");
    let [pipe, long] = [&pipe, &long].map(|path| path.to_str().expect("a name"));
    let trace = |name| ["trace", name, "--seed", "1", "--random-actions", "5", "--steps", "1"];
    for (arguments, reason) in [
        (&trace(pipe)[..], format!("{pipe}: it is not a regular file")),
        (&trace("/dev/zero"), "/dev/zero: it is not a regular file".to_owned()),
        (&trace(long), format!("{long}: it is longer than 1 MiB, larger than any ROM")),
        (&["roms", "import", pipe], format!("{pipe}: it is not a regular file")),
        (&["roms", "import", "/dev/zero"], "/dev/zero: it is not a regular file".to_owned()),
    ] {
        let error = error(arguments);
        assert!(error.contains(&format!("cannot read {reason}")), "{error}");
    }
}
