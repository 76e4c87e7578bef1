//! The store with made-up images, and a shell script in place of pip.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{Imported, Manifest, Md5Sum, RomError, RomState, RomStore};

const ALPHA: &[u8] = b"the image of alpha";
const BETA: &[u8] = b"the image of beta";

fn store(directory: &Path) -> RomStore {
    let manifest = manifest_line("alpha", ALPHA) + &manifest_line("beta", BETA);
    RomStore::new(directory.join("roms"), Manifest::parse(&manifest).unwrap())
}

fn manifest_line(id: &str, image: &[u8]) -> String {
    format!("{id} = {{ md5 = \"{}\", size = {} }}\n", Md5Sum::of(image), image.len())
}

fn zip(path: PathBuf, files: &[(&str, &[u8])]) -> PathBuf {
    let mut writer = ZipWriter::new(fs::File::create(&path).unwrap());
    for (name, contents) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(contents).unwrap();
    }
    writer.finish().unwrap();
    path
}

/// Returns the names of all files in the directory of the store except images and the lock.
fn leftovers(store: &RomStore) -> Vec<String> {
    let names = fs::read_dir(store.directory())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.strip_suffix(".bin").is_none() && name != ".lock").collect()
}

#[test]
fn finds_images_by_content_in_directories_and_archives() {
    let temp = TempDir::new().unwrap();
    let source = temp.path().join("mine");
    fs::create_dir_all(source.join("deep/er")).unwrap();
    fs::write(source.join("deep/er/Some Name (1981) [!].a26"), ALPHA).unwrap();
    fs::write(source.join("alpha.bin"), "not what the name says").unwrap();
    fs::write(source.join("notes.txt"), vec![0; 100_000]).unwrap();
    zip(source.join("pack.ZIP"), &[("x/whatever", BETA), ("again", BETA), ("other", b"?")]);

    let store = store(temp.path());
    let imported = store.import(&source).unwrap();
    assert_eq!(imported.files, 6);
    assert_eq!(imported.already_present, 0);
    let mut written = imported.written;
    written.sort();
    assert_eq!(written, ["alpha", "beta"]);
    assert_eq!(*store.read("alpha").unwrap(), *ALPHA);
    assert_eq!(*store.read("beta").unwrap(), *BETA);
    assert_eq!(leftovers(&store), Vec::<String>::new());

    let again = store.import(&source).unwrap();
    assert_eq!((again.written.len(), again.already_present), (0, 3));
}

#[test]
fn rejects_a_source_without_known_images_and_writes_nothing() {
    let temp = TempDir::new().unwrap();
    let source = zip(temp.path().join("other.zip"), &[("a", b"1"), ("b", b"2")]);
    let store = store(temp.path());
    let error = store.import(&source).unwrap_err();
    assert!(matches!(error, RomError::NothingToImport { files: 2, .. }), "{error}");
    assert!(!store.directory().exists());

    fs::write(temp.path().join("broken.whl"), "not an archive").unwrap();
    let error = store.import(&temp.path().join("broken.whl")).unwrap_err();
    assert!(matches!(error, RomError::BadArchive { .. }), "{error}");
    let error = store.import(&temp.path().join("nowhere")).unwrap_err();
    assert!(matches!(error, RomError::Unreadable { .. }), "{error}");
}

#[test]
fn imports_from_a_directory_with_damaged_archives() {
    let temp = TempDir::new().unwrap();
    let source = temp.path().join("downloads");
    fs::create_dir_all(source.join("sub")).unwrap();
    fs::write(source.join("broken.whl"), "not an archive").unwrap();
    fs::write(source.join("sub/broken.zip"), "not an archive").unwrap();
    fs::write(source.join("sub/image"), ALPHA).unwrap();
    let Imported { files, written, .. } = store(temp.path()).import(&source).unwrap();
    assert_eq!((files, written), (3, vec!["alpha".to_owned()]));
}

#[test]
fn reports_a_damaged_image_with_both_sums_and_replaces_it_on_import() {
    let temp = TempDir::new().unwrap();
    let store = store(temp.path());
    fs::create_dir_all(store.directory()).unwrap();
    fs::write(store.path("alpha"), "the image of alphA").unwrap();

    let found = Md5Sum::of(b"the image of alphA");
    let damaged = RomState::Damaged { found };
    assert_eq!(store.list().unwrap(), [("alpha", damaged), ("beta", RomState::Missing)]);
    let message = store.read("alpha").unwrap_err().to_string();
    assert!(
        message.contains(&found.to_string()) && message.contains(&Md5Sum::of(ALPHA).to_string()),
        "{message}"
    );

    let source = temp.path().join("good");
    fs::write(&source, ALPHA).unwrap();
    assert_eq!(store.import(&source).unwrap().written, ["alpha"]);
    assert_eq!(*store.read("alpha").unwrap(), *ALPHA);
}

#[test]
fn reads_the_open_game_without_a_store() {
    let temp = TempDir::new().unwrap();
    let store = store(temp.path());
    assert_eq!(store.read("harvest").unwrap().len(), 4096);
    assert!(!store.directory().exists());
}

#[test]
fn reports_a_missing_image_if_there_is_no_pip() {
    let temp = TempDir::new().unwrap();
    let error = store(temp.path()).obtain("beta", None).unwrap_err();
    assert!(matches!(error, RomError::Missing { .. }), "{error}");
    let error = store(temp.path()).obtain("betta", None).unwrap_err();
    assert_eq!(error.to_string(), "unknown game 'betta', did you mean 'beta'?");
}

#[test]
fn reports_a_directory_that_cannot_be_created() {
    let temp = TempDir::new().unwrap();
    fs::write(temp.path().join("roms"), "a file instead of a directory").unwrap();
    fs::write(temp.path().join("alpha"), ALPHA).unwrap();
    let error = store(temp.path()).import(&temp.path().join("alpha")).unwrap_err();
    // Some systems fail when reading below a file, others only when writing.
    assert!(matches!(error, RomError::Unwritable { .. } | RomError::Unreadable { .. }), "{error}");
}

/// Downloads with a shell script in place of Python.
#[cfg(unix)]
mod downloads {
    use std::process::Command;
    use std::thread;

    use super::super::Pip;
    use super::*;

    /// Returns a `python3` that runs `script`, in which `$dest` is the target directory of the download.
    ///
    /// Another process writes the file. If it were open here while a parallel test starts a child, the child would
    /// inherit it and running it would fail with "text file busy".
    fn python(directory: &Path, script: &str) -> Pip {
        let path = directory.join("python3");
        let parse = "for last; do [ \"$previous\" = --dest ] && dest=$last; previous=$last; done";
        let mut shell = Command::new("sh");
        shell.args(["-c", "printf '#!/bin/sh\n%s\n%s\n' \"$2\" \"$3\" > \"$1\" && chmod +x \"$1\"", "sh"]);
        assert!(shell.arg(&path).args([parse, script]).status().unwrap().success());
        Pip::new(|_| ()).with_interpreter(path)
    }

    fn fetch_error(script: &str) -> RomError {
        let temp = TempDir::new().unwrap();
        let pip = python(temp.path(), script);
        let store = store(temp.path());
        let error = store.fetch(&pip).unwrap_err();
        assert_eq!(leftovers(&store), Vec::<String>::new());
        error
    }

    #[test]
    fn concurrent_fetches_download_once() {
        let temp = TempDir::new().unwrap();
        let wheel = zip(temp.path().join("ale.whl"), &[("roms/a.bin", ALPHA), ("roms/b.bin", BETA)]);
        let count = temp.path().join("count");
        let script = format!("echo x >> {}; sleep 0.2; cp {} \"$dest\"", count.display(), wheel.display());
        let pip = python(temp.path(), &script);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(*store(temp.path()).obtain("beta", Some(&pip)).unwrap(), *BETA));
            }
        });
        assert_eq!(fs::read_to_string(count).unwrap().lines().count(), 1);
        assert_eq!(leftovers(&store(temp.path())), Vec::<String>::new());
    }

    #[test]
    fn a_complete_store_is_not_written() {
        let temp = TempDir::new().unwrap();
        let store = store(temp.path());
        store.import(&zip(temp.path().join("ale.whl"), &[("a", ALPHA), ("b", BETA)])).unwrap();
        // As on a read-only file system, the file of the lock cannot be created.
        let lock = store.directory().join(".lock");
        fs::create_dir(&lock).unwrap();
        let pip = python(temp.path(), "exit 1");
        assert_eq!(store.fetch(&pip).unwrap().already_present, store.manifest().len());
        fs::remove_file(store.path("beta")).unwrap();
        assert!(matches!(store.fetch(&pip), Err(RomError::Unwritable { .. })));
    }

    #[test]
    fn falls_back_to_the_wheel_of_another_platform() {
        let temp = TempDir::new().unwrap();
        let wheel = zip(temp.path().join("ale.whl"), &[("a", ALPHA), ("b", BETA)]);
        let script = format!(
            "case \"$*\" in *--platform*) cp {} \"$dest\";; *) echo 'ERROR: No matching distribution' >&2; exit 1;; esac",
            wheel.display()
        );
        let pip = python(temp.path(), &script);
        assert_eq!(store(temp.path()).fetch(&pip).unwrap().written.len(), 2);
    }

    #[test]
    fn says_why_there_is_no_wheel() {
        let message = |script: &str| fetch_error(script).to_string();
        let own_files = "; without a download, `ale-train roms import` takes your own files, ALE_TRAIN_ROMS, --rom-dir and \
                         ALE_ROMS_DIR name a directory that has them as ID.bin, and those of an installed ale-py or AutoROM \
                         are found";
        assert_eq!(
            message("echo 'ERROR: disk quota exceeded' >&2; exit 1"),
            format!("cannot download ale-py==0.12.1: ERROR: disk quota exceeded{own_files}")
        );
        assert_eq!(
            message("exit 0"),
            format!("cannot download ale-py==0.12.1: pip reported success but left no wheel{own_files}")
        );
    }

    #[test]
    fn reports_an_incomplete_wheel_and_keeps_its_images() {
        let temp = TempDir::new().unwrap();
        let wheel = zip(temp.path().join("ale.whl"), &[("a", ALPHA)]);
        let pip = python(temp.path(), &format!("cp {} \"$dest\"", wheel.display()));
        let store = store(temp.path());
        let error = store.fetch(&pip).unwrap_err();
        assert!(
            matches!(&error, RomError::IncompleteWheel { missing, .. } if missing == &["beta"]),
            "{error}"
        );
        assert!(store.read("alpha").is_ok());
    }
}
