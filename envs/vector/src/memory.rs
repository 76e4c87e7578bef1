use std::hint;

use crate::BuildError;

/// Returns an error if memory for all parts, given as their number and their size in bytes, cannot be allocated.
///
/// A failed allocation ends the process. Therefore all of the memory is allocated once, without touching it, before any
/// part is used.
pub(crate) fn check_available(parts: impl IntoIterator<Item = (usize, usize)>) -> Result<(), BuildError> {
    let bytes = parts.into_iter().try_fold(0, add_bytes).unwrap_or(usize::MAX);
    let mut probe = Vec::<u8>::new();
    let reserved = probe.try_reserve_exact(bytes);
    // The compiler may leave out an allocation that nothing uses.
    hint::black_box(&probe);
    reserved.map_err(|_| BuildError::Memory { bytes })
}

/// Adds the bytes of some parts to a sum. Returns `None` if it overflows.
fn add_bytes(sum: usize, (count, bytes_each): (usize, usize)) -> Option<usize> {
    count.checked_mul(bytes_each).and_then(|bytes| sum.checked_add(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_no_machine_has_is_refused() {
        assert!(check_available([(1000, 1000), (3, 8)]).is_ok());
        for (parts, bytes) in [
            (vec![(1 << 20, 1 << 30)], 1 << 50),
            (vec![(1, usize::MAX), (1, 1)], usize::MAX),
            (vec![(usize::MAX, 2)], usize::MAX),
        ] {
            assert!(
                matches!(check_available(parts), Err(BuildError::Memory { bytes: needed }) if needed == bytes)
            );
        }
    }
}
