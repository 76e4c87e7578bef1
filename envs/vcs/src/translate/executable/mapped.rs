//! Executable memory as a private mapping.

use cranelift_codegen::CompiledCode;
use cranelift_codegen::isa::TargetIsa;
use memmap2::{Mmap, MmapMut};
use wasmtime_internal_jit_icache_coherence::{clear_cache, pipeline_flush_mt};

/// Panics do not unwind through native code.
pub(in crate::translate) const UNWIND_INFO: &str = "false";

pub(in crate::translate) struct Executable(Mmap);

impl Executable {
    pub(in crate::translate) fn new(code: &CompiledCode, _: &dyn TargetIsa) -> Option<Self> {
        let mut memory = MmapMut::map_anon(code.code_buffer().len()).ok()?;
        memory.copy_from_slice(code.code_buffer());
        executable(memory).map(Self)
    }

    pub(in crate::translate) fn start(&self) -> usize {
        self.0.as_ptr().expose_provenance()
    }
}

pub(in crate::translate) fn can_execute() -> bool {
    MmapMut::map_anon(1).ok().and_then(executable).is_some()
}

/// Makes new memory executable for all threads. On processors whose instruction caches are not coherent with writes, it
/// first clears these caches and makes all cores discard prefetched instructions. Returns `None` if the system refuses.
#[allow(unsafe_code)]
fn executable(memory: MmapMut) -> Option<Mmap> {
    // SAFETY: the range is that of the mapping.
    unsafe { clear_cache(memory.as_ptr().cast(), memory.len()) }.ok()?;
    let page = memory.make_exec().ok()?;
    pipeline_flush_mt().ok()?;
    Some(page)
}
