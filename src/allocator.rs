//! The C library's allocator. An update allocates and frees the same tensors again and again; by default the pages of large
//! ones are returned to the system each time, and zeroed when they come back.

/// Keeps freed memory for later allocations. Has an effect with the GNU C library only.
pub(crate) fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, bytes) in LIMITS {
        #[allow(unsafe_code)]
        // SAFETY: the parameters are those of the function, which checks the values.
        unsafe {
            libc::mallopt(parameter, bytes);
        }
    }
}

/// Allocations from the first size on are pages of their own, which are returned when freed; it is the largest that the library
/// allows. Free memory at the end of the heap is returned beyond the second one. The heap grows by the third.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LIMITS: [(libc::c_int, libc::c_int); 3] =
    [(libc::M_MMAP_THRESHOLD, 32 << 20), (libc::M_TRIM_THRESHOLD, 512 << 20), (libc::M_TOP_PAD, 16 << 20)];
