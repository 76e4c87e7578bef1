//! The instructions for products of `bf16` numbers that this processor has.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use std::arch::{
    asm,
    x86_64::{__cpuid, __cpuid_count},
};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use std::sync::LazyLock;

/// Returns true if the processor has those of AVX-512 BF16.
#[cfg(target_arch = "x86_64")]
pub(super) fn dots_are_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bf16")
}

/// Returns true if the processor has tiles and the system allows their use.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(super) fn tiles_are_available() -> bool {
    static AVAILABLE: LazyLock<bool> = LazyLock::new(|| has_tiles() && request_tiles());
    *AVAILABLE
}

/// Returns true if the processor has tiles of `bf16`.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn has_tiles() -> bool {
    const BF16_AND_TILES: u32 = 1 << 22 | 1 << 24;
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & BF16_AND_TILES == BF16_AND_TILES
}

/// Asks Linux for the registers, whose size it accounts for in signal handlers. Returns true if it grants them.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[allow(unsafe_code)]
fn request_tiles() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: i64 = 0x1023;
    const XTILEDATA: i64 = 18;
    let result: i64;
    // SAFETY: the system call reads and writes no memory of this process. A kernel that does not know it returns an
    // error.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XTILEDATA,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}
