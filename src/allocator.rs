//! Settings of the C library's allocator. An update allocates and frees the same tensors again and again. By default,
//! the pages of large tensors are returned to the system each time, and the system zeroes them when they are allocated
//! again.

/// Keeps freed memory for later allocations. Has an effect with the GNU C library only.
pub(crate) fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, bytes) in LIMITS {
        #[allow(unsafe_code)]
        // SAFETY: the function takes any parameter and value, ignores those that it does not know, and locks the
        // allocator.
        unsafe {
            libc::mallopt(parameter, bytes);
        }
    }
}

/// Limits in bytes. Allocations of at least the first one (the largest value that the allocator accepts) get their own
/// pages, which are returned to the system when freed. Free memory at the end of the heap beyond the second one is
/// returned too. The heap grows in steps of the third one.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LIMITS: [(libc::c_int, libc::c_int); 3] =
    [(libc::M_MMAP_THRESHOLD, 32 << 20), (libc::M_TRIM_THRESHOLD, 512 << 20), (libc::M_TOP_PAD, 16 << 20)];
