//! Machine code: compiled by cranelift, kept in pages of its own.

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{Context, isa};
use memmap2::{Mmap, MmapMut};

/// Compiles functions and keeps them for as long as it lives.
pub(super) struct Native {
    isa: OwnedTargetIsa,
    context: Context,
    /// Never changed once they are executable, never unmapped before the translation is dropped.
    pages: Vec<Mmap>,
}

impl Native {
    /// Returns a compiler for this processor, or `None` if native code cannot be had: on processors other than x86-64,
    /// whose instruction caches would have to be made coherent, and on systems that refuse executable memory.
    pub(super) fn new() -> Option<Self> {
        if !cfg!(target_arch = "x86_64") || !can_execute() {
            return None;
        }
        let mut flags = settings::builder();
        flags.set("opt_level", "none").ok()?;
        flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }).ok()?;
        flags.set("unwind_info", "false").ok()?;
        flags.set("regalloc_algorithm", "backtracking").ok()?;
        let isa: isa::Builder = cranelift_native::builder().ok()?;
        let isa = isa.finish(settings::Flags::new(flags)).ok()?;
        Some(Self { isa, context: Context::new(), pages: Vec::new() })
    }

    /// The number of functions that have been compiled.
    pub(super) fn compiled(&self) -> usize {
        self.pages.len()
    }

    pub(super) fn isa(&self) -> &dyn isa::TargetIsa {
        &*self.isa
    }

    /// Compiles a function that refers to nothing but absolute addresses, and returns where it begins; `None` if the
    /// system gives no executable memory.
    pub(super) fn compile(&mut self, function: Function) -> Option<*const u8> {
        self.context.clear();
        self.context.func = function;
        let code = self.context.compile(&*self.isa, &mut ControlPlane::default()).ok()?;
        if !code.buffer.relocs().is_empty() {
            return None;
        }
        let mut memory = MmapMut::map_anon(code.code_buffer().len()).ok()?;
        memory.copy_from_slice(code.code_buffer());
        let page = memory.make_exec().ok()?;
        let start = page.as_ptr();
        self.pages.push(page);
        Some(start)
    }
}

/// Returns true if the system gives executable memory.
fn can_execute() -> bool {
    MmapMut::map_anon(1).and_then(MmapMut::make_exec).is_ok()
}
