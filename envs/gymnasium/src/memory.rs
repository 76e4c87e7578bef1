//! Memory that this process shares with its workers.

use std::io::{self, Write};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::{env, iter};

use memmap2::{MmapOptions, MmapRaw};
use rl_env::ObservationBuffer;
use tempfile::{Builder, NamedTempFile, TempPath};

/// The size of a word in bytes. All buffers start at multiples of it.
const WORD: usize = size_of::<u64>();

/// The file system in memory of Linux. Files elsewhere work too, but the system may write them to a disk.
const IN_MEMORY: &str = "/dev/shm";

/// Zeros that are written at once.
const CHUNK: usize = 1 << 20;

/// A mapped file, of which buffers are taken from the front to the back.
pub(crate) struct SharedMemory {
    map: Arc<MmapRaw>,
    path: TempPath,
    /// The end of the buffers that have been taken.
    taken: usize,
}

impl SharedMemory {
    /// Creates a file of zeros and maps it. The file is deleted when the value is dropped; the memory stays until the
    /// last buffer is dropped.
    pub(crate) fn new(size: usize) -> io::Result<Self> {
        let size = size.max(WORD);
        let file = file_of_zeros(Path::new(IN_MEMORY), size);
        let file = file.or_else(|_| file_of_zeros(&env::temp_dir(), size))?;
        let map = MmapOptions::new().len(size).map_raw(file.as_file())?;
        Ok(Self { map: Arc::new(map), path: file.into_temp_path(), taken: 0 })
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.map.len()
    }

    /// Takes a buffer of `rows` rows. Returns its offset and the buffer.
    ///
    /// Workers write to rows too, but only between a request that names a row and its response. Nothing in this process
    /// accesses a row in that time.
    ///
    /// # Panics
    ///
    /// If the memory is too small.
    pub(crate) fn take_rows(&mut self, rows: usize, row_bytes: usize) -> (usize, ObservationBuffer) {
        let offset = self.take(bytes_of(rows, row_bytes));
        let start = self.start_at(offset);
        // SAFETY: the rows lie within the map (see `take`), which is as aligned as a page and starts with zeros,
        // `offset` is a multiple of a word, and the owner keeps the map. No other buffer of this process has these
        // rows, because `take` returns each offset once. Workers are other processes: they access a row only while the
        // caller does not, as documented, and the pipes order the accesses.
        #[allow(unsafe_code)]
        let buffer =
            unsafe { ObservationBuffer::lent(start, rows, row_bytes, Box::new(Arc::clone(&self.map))) };
        (offset, buffer)
    }

    /// Takes words that workers may change at any time. Returns their offset and the words.
    pub(crate) fn take_words(&mut self, count: usize) -> (usize, SharedWords) {
        let offset = self.take(count * WORD);
        (offset, SharedWords { map: Arc::clone(&self.map), offset, count })
    }

    fn take(&mut self, bytes: usize) -> usize {
        let offset = self.taken;
        assert!(bytes <= self.map.len() - offset, "the shared memory is too small");
        self.taken += bytes;
        offset
    }

    /// Returns a pointer to a byte of the map.
    fn start_at(&self, offset: usize) -> NonNull<u64> {
        let start = self.map.as_mut_ptr().wrapping_add(offset).cast();
        NonNull::new(start).expect("a map is not at address 0")
    }
}

/// Words that workers may change at any time.
pub(crate) struct SharedWords {
    map: Arc<MmapRaw>,
    offset: usize,
    count: usize,
}

impl SharedWords {
    /// Returns the current value of a word.
    pub(crate) fn load(&self, index: usize) -> i64 {
        assert!(index < self.count, "there is no word {index}");
        let word = self.map.as_mut_ptr().wrapping_add(self.offset + index * WORD).cast();
        // SAFETY: the word lies within the map, which `self.map` keeps, and is aligned (see `SharedMemory`). No
        // reference to it exists in this process. Workers store to it with single aligned stores, which are atomic on
        // all supported processors.
        #[allow(unsafe_code)]
        let word = unsafe { AtomicI64::from_ptr(word) };
        word.load(Ordering::Relaxed)
    }
}

/// Returns the size of rows in shared memory.
pub(crate) fn bytes_of(rows: usize, row_bytes: usize) -> usize {
    rows * row_bytes.next_multiple_of(WORD)
}

/// Creates a file of zeros. They are written, so that the file system has room for them: a map of a file without room
/// ends the process when it is used.
fn file_of_zeros(directory: &Path, size: usize) -> io::Result<NamedTempFile> {
    let mut file = Builder::new().prefix("ale-train-").tempfile_in(directory)?;
    let zeros = vec![0; size.min(CHUNK)];
    let chunks = iter::repeat_n(zeros.len(), size / zeros.len()).chain([size % zeros.len()]);
    for chunk in chunks {
        file.write_all(&zeros[..chunk])?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn buffers_are_disjoint_parts_of_the_file() {
        let mut memory = SharedMemory::new(bytes_of(3, 5) + bytes_of(2, 16) + WORD).unwrap();
        let (first, mut rows) = memory.take_rows(3, 5);
        let (second, mut others) = memory.take_rows(2, 16);
        let (third, words) = memory.take_words(1);
        assert_eq!((first, second, third), (0, 24, 56));
        rows.row_mut(2).fill(7);
        others.row_mut(0).fill(9);
        let bytes = fs::read(memory.path()).unwrap();
        assert_eq!((&bytes[16..21], &bytes[24..40]), (&[7; 5][..], &[9; 16][..]));
        assert_eq!((words.load(0), bytes.len()), (0, memory.size()));
        let path = memory.path().to_owned();
        drop(memory);
        assert!(!path.exists(), "the file is deleted");
        assert_eq!(rows.row(2), [7; 5], "the memory is kept");
    }

    #[test]
    fn sizes_need_not_be_multiples_of_a_chunk() {
        for size in [0, 1, WORD, CHUNK, CHUNK + 3] {
            assert_eq!(SharedMemory::new(size).unwrap().size(), size.max(WORD));
        }
    }

    #[test]
    #[should_panic(expected = "too small")]
    fn memory_cannot_be_taken_twice() {
        let mut memory = SharedMemory::new(WORD).unwrap();
        memory.take_rows(1, 8);
        memory.take_rows(1, 8);
    }
}
