//! Native code: functions compiled by cranelift, in executable pages.

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{Context, isa};

use super::executable::{Executable, UNWIND_INFO, can_execute};

/// Maximum number of functions: one for every byte of the largest image that is translated. Programs have far fewer,
/// unless they run the same code at several mirrors of the cartridge.
const MAX_FUNCTIONS: usize = 32 * 1024;

/// Compiles functions and owns their code.
pub(super) struct Native {
    isa: OwnedTargetIsa,
    context: Context,
    /// Maximum number of functions.
    pub(super) capacity: usize,
    /// The compiled functions. They are never modified, and unmapped only with the translation.
    functions: Vec<Executable>,
}

impl Native {
    /// Creates a compiler for this processor. Returns `None` where native code is not available: on
    /// processors other than x86-64 and aarch64, and on systems that refuse executable memory.
    pub(super) fn new() -> Option<Self> {
        if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) || !can_execute() {
            return None;
        }
        let mut flags = settings::builder();
        flags.set("opt_level", "none").ok()?;
        flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }).ok()?;
        flags.set("unwind_info", UNWIND_INFO).ok()?;
        flags.set("regalloc_algorithm", "backtracking").ok()?;
        let isa: isa::Builder = cranelift_native::builder().ok()?;
        let isa = isa.finish(settings::Flags::new(flags)).ok()?;
        Some(Self { isa, context: Context::new(), capacity: MAX_FUNCTIONS, functions: Vec::new() })
    }

    /// Returns the number of compiled functions.
    pub(super) fn compiled(&self) -> usize {
        self.functions.len()
    }

    pub(super) fn isa(&self) -> &dyn isa::TargetIsa {
        &*self.isa
    }

    /// Compiles a function that refers to absolute addresses only, and returns its address. Returns `None`
    /// if there are too many functions or the system refuses executable memory.
    pub(super) fn compile(&mut self, function: Function) -> Option<usize> {
        if self.functions.len() >= self.capacity {
            return None;
        }
        self.context.clear();
        self.context.func = function;
        let code = self.context.compile(&*self.isa, &mut ControlPlane::default()).ok()?;
        if !code.buffer.relocs().is_empty() {
            return None;
        }
        let function = Executable::new(code, &*self.isa)?;
        let start = function.start();
        self.functions.push(function);
        Some(start)
    }
}
