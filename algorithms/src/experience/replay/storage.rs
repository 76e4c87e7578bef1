use std::fmt;
use std::ops::DerefMut;

use crate::error::ReplayError;

/// The memory in which a replay buffer stores its frames, which are nearly all of its data.
pub enum ReplayStorage {
    /// Memory of the process.
    Memory {
        /// The number of bytes that it may use. A replay buffer that needs more is an error.
        available: u64,
    },
    /// Memory that the caller provides, such as a mapped file: at least [`ReplaySize::storage_bytes`] bytes
    /// with any contents.
    External(Box<dyn DerefMut<Target = [u8]> + Send>),
}

impl ReplayStorage {
    /// Process memory without a limit.
    pub const UNLIMITED: Self = Self::Memory { available: u64::MAX };
}

impl fmt::Debug for ReplayStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { available } => f.debug_struct("Memory").field("available", available).finish(),
            Self::External(bytes) => f.debug_tuple("External").field(&bytes.len()).finish(),
        }
    }
}

/// The size of a replay buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplaySize {
    /// The number of steps that it holds, over all environments; fewer if successive images share no channels, as they
    /// do in stacks of frames.
    pub steps: u64,
    /// The number of bytes of the frames.
    pub storage_bytes: u64,
    /// The number of bytes of the frames of as many steps, if each adds one. There is room for more, because an episode
    /// has more frames than steps.
    pub frame_bytes: u64,
    /// The number of bytes of everything else, which is always in process memory.
    pub index_bytes: u64,
}

impl ReplaySize {
    /// Returns the total number of bytes.
    pub fn total_bytes(&self) -> u64 {
        self.storage_bytes.saturating_add(self.index_bytes)
    }
}

/// The bytes of all frames.
pub(super) struct FrameStore(Box<dyn DerefMut<Target = [u8]> + Send>);

impl FrameStore {
    /// Allocates the bytes of `size` in `storage`.
    pub(super) fn new(size: ReplaySize, storage: ReplayStorage) -> Result<Self, ReplayError> {
        let too_large = |wanted, available| ReplayError::TooLarge { steps: size.steps, wanted, available };
        match storage {
            ReplayStorage::Memory { available } if size.total_bytes() > available => {
                Err(too_large(size.total_bytes(), available))
            }
            ReplayStorage::Memory { available } => {
                let mut bytes = Vec::<u8>::new();
                let length = usize::try_from(size.storage_bytes).unwrap_or(usize::MAX);
                bytes.try_reserve_exact(length).map_err(|_| too_large(size.total_bytes(), available))?;
                drop(bytes);
                // The system provides zeroed memory lazily: a page is allocated on its first write.
                Ok(Self(Box::new(vec![0; length])))
            }
            ReplayStorage::External(bytes) if (bytes.len() as u64) < size.storage_bytes => {
                Err(too_large(size.storage_bytes, bytes.len() as u64))
            }
            ReplayStorage::External(bytes) => Ok(Self(bytes)),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: ReplaySize =
        ReplaySize { steps: 1_000_000, storage_bytes: 3 << 30, frame_bytes: 2 << 30, index_bytes: 1 << 30 };

    #[test]
    fn too_large_a_buffer_is_an_error_with_both_sizes() {
        let refused = FrameStore::new(SIZE, ReplayStorage::Memory { available: 1 << 30 }).err().unwrap();
        assert_eq!(
            refused.to_string(),
            "a replay buffer of 1000000 steps needs 4294967296 bytes (4.0 GiB), but 1073741824 (1.0 GiB) are available; \
             reduce buffer_size to about 250000 steps, or keep the replay buffer in a file"
        );
        // More memory than any machine has.
        let huge = ReplaySize { storage_bytes: u64::MAX - (1 << 30), ..SIZE };
        assert!(FrameStore::new(huge, ReplayStorage::Memory { available: u64::MAX }).is_err());
    }

    #[test]
    fn external_storage_must_be_large_enough() {
        let size = ReplaySize { steps: 10, storage_bytes: 100, frame_bytes: 80, index_bytes: 1 << 40 };
        assert!(FrameStore::new(size, ReplayStorage::External(Box::new(vec![0; 100]))).is_ok());
        let refused = FrameStore::new(size, ReplayStorage::External(Box::new(vec![0; 99]))).err();
        assert_eq!(refused, Some(ReplayError::TooLarge { steps: 10, wanted: 100, available: 99 }));
    }
}
