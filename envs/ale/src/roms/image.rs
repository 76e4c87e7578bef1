use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The largest file that is read as an image, in bytes. Every cartridge is smaller.
const LARGEST: u64 = 1 << 20;

/// Reads the file of an image. Fails if it is not a regular file or if it is longer than 1 MiB, larger than any
/// cartridge. Never waits for a pipe.
pub fn read_image(path: &Path) -> io::Result<Vec<u8>> {
    let mut image = Vec::new();
    open_regular(path)?.take(LARGEST + 1).read_to_end(&mut image)?;
    if image.len() as u64 > LARGEST {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is longer than 1 MiB, larger than any ROM"));
    }
    Ok(image)
}

/// Opens a regular file: pipes and devices could block, or never end.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_larger_than_any_cartridge_is_not_read() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("image");
        fs::write(&path, vec![7; LARGEST as usize]).unwrap();
        assert_eq!(read_image(&path).unwrap().len() as u64, LARGEST);
        // It occupies no space, but would fill the memory.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read_image(&path).unwrap_err().to_string().contains("longer than 1 MiB"));
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_refused_at_once() {
        let temp = tempfile::tempdir().unwrap();
        let pipe = temp.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [&pipe, Path::new("/dev/zero"), temp.path()] {
            assert_eq!(read_image(path).unwrap_err().to_string(), "it is not a regular file");
        }
    }
}
