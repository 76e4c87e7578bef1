use std::fs::File;
use std::io;
use std::path::Path;

pub(super) use std::fs::{remove_dir_all, rename};

pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
