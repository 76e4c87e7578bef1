//! The C library's allocator. An update allocates and frees the same tensors again and again; by default the pages of large
//! ones are returned to the system each time, and zeroed when they come back.

/// Keeps freed memory for later allocations. Has an effect with the GNU C library only.
pub(crate) fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, bytes) in LIMITS {
        #[allow(unsafe_code)]
        // SAFETY: the function takes any parameter and value, ignores those that it does not know, and locks the allocator.
        unsafe {
            libc::mallopt(parameter, bytes);
        }
    }
}

/// Limits in bytes. The allocator gives an allocation pages of its own from the first one on, the largest that it accepts, and
/// returns them when the allocation is freed. It returns free memory at the end of the heap above the second one, and grows
/// the heap by the third.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LIMITS: [(libc::c_int, libc::c_int); 3] =
    [(libc::M_MMAP_THRESHOLD, 32 << 20), (libc::M_TRIM_THRESHOLD, 512 << 20), (libc::M_TOP_PAD, 16 << 20)];
