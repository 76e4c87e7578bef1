//! Executable memory on Windows, which has to know how to unwind it.
//!
//! Windows walks the stack by tables, for backtraces and for exceptions, such as the panic of a callback. It takes a
//! function without an entry for one that leaves the stack alone, and would read a stored value as a return address.
//! Each function therefore has a table of one entry, which follows its code in the same memory:
//!
//! ```text
//!    code | UNWIND_INFO | RUNTIME_FUNCTION, which refers to both by their offsets
//! ```

// Calls of the system, which gives and takes memory by its address.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr;

use cranelift_codegen::CompiledCode;
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::isa::unwind::UnwindInfo;
use wasmtime_internal_jit_icache_coherence::{clear_cache, pipeline_flush_mt};
use windows_sys::Win32::System::Diagnostics::Debug::{
    IMAGE_RUNTIME_FUNCTION_ENTRY, RtlAddFunctionTable, RtlDeleteFunctionTable,
};
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_EXECUTE_READ, PAGE_READWRITE, VirtualAlloc, VirtualFree,
    VirtualProtect,
};

pub(in crate::translate) const UNWIND_INFO: &str = "true";

/// The alignment of `UNWIND_INFO` and `RUNTIME_FUNCTION`, in bytes.
const ALIGNMENT: usize = 4;

/// A function and its entry in the system's tables.
pub(in crate::translate) struct Executable {
    pages: Pages,
    /// The address of the entry.
    entry: usize,
}

impl Executable {
    pub(in crate::translate) fn new(code: &CompiledCode, isa: &dyn TargetIsa) -> Option<Self> {
        let Some(UnwindInfo::WindowsX64(unwind_info)) = code.create_unwind_info(isa).ok()? else {
            return None;
        };
        let mut contents = code.code_buffer().to_vec();
        let code_end = contents.len() as u32;
        let unwind_start = append(&mut contents, unwind_info.emit_size());
        unwind_info.emit(&mut contents[unwind_start..]);
        let entry_start = append(&mut contents, size_of::<IMAGE_RUNTIME_FUNCTION_ENTRY>());
        let entry = [0, code_end, unwind_start as u32].map(u32::to_le_bytes);
        contents[entry_start..].copy_from_slice(entry.as_flattened());

        let pages = Pages::executable(&contents)?;
        let entry = pages.start.get() + entry_start;
        // SAFETY: there is an entry, with offsets from the start of the pages. It is deleted before they are freed.
        let is_added =
            unsafe { RtlAddFunctionTable(ptr::with_exposed_provenance(entry), 1, pages.start.get() as u64) };
        is_added.then_some(Self { pages, entry })
    }

    pub(in crate::translate) fn start(&self) -> usize {
        self.pages.start.get()
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: the table was added by `new`, and no code runs any more that it describes.
        unsafe { RtlDeleteFunctionTable(ptr::with_exposed_provenance(self.entry)) };
    }
}

/// Appends zeros, aligned as the system's structures. Returns their offset.
fn append(contents: &mut Vec<u8>, length: usize) -> usize {
    let start = contents.len().next_multiple_of(ALIGNMENT);
    contents.resize(start + length, 0);
    start
}

pub(in crate::translate) fn can_execute() -> bool {
    Pages::executable(&[0]).is_some()
}

/// Pages that are never modified.
struct Pages {
    /// The address.
    start: NonZeroUsize,
}

impl Pages {
    /// Returns executable pages with the given contents, of at least one byte. Returns `None` if the system refuses.
    fn executable(contents: &[u8]) -> Option<Self> {
        // SAFETY: the system chooses the address.
        let memory =
            unsafe { VirtualAlloc(ptr::null(), contents.len(), MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE) };
        let pages = Self { start: NonZeroUsize::new(memory.expose_provenance())? };
        // SAFETY: the pages are new, writable and at least as long as the contents.
        unsafe { memory.cast::<u8>().copy_from_nonoverlapping(contents.as_ptr(), contents.len()) };
        let mut before = 0;
        // SAFETY: nothing refers to the pages.
        let is_executable =
            unsafe { VirtualProtect(memory, contents.len(), PAGE_EXECUTE_READ, &raw mut before) } != 0;
        // SAFETY: the range is within the pages.
        unsafe { clear_cache(memory.cast_const(), contents.len()) }.ok()?;
        pipeline_flush_mt().ok()?;
        is_executable.then_some(pages)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the address is that of `VirtualAlloc`, and nothing refers to the pages any more.
        unsafe { VirtualFree(ptr::with_exposed_provenance_mut::<c_void>(self.start.get()), 0, MEM_RELEASE) };
    }
}

#[cfg(test)]
mod tests {
    use std::backtrace::Backtrace;
    use std::cell::Cell;

    use cranelift_codegen::Context;
    use cranelift_codegen::control::ControlPlane;
    use cranelift_codegen::ir::types::I64;
    use cranelift_codegen::ir::{AbiParam, Function, InstBuilder, Signature};
    use cranelift_codegen::settings::{self, Configurable};
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
    use windows_sys::Win32::System::Diagnostics::Debug::RtlLookupFunctionEntry;

    use super::*;

    /// Returns a function that calls the function at the address that it receives.
    fn caller() -> Executable {
        let mut flags = settings::builder();
        flags.set("unwind_info", UNWIND_INFO).unwrap();
        let isa = cranelift_native::builder().unwrap().finish(settings::Flags::new(flags)).unwrap();
        let mut function = Function::new();
        function.signature.call_conv = isa.default_call_conv();
        function.signature.params.push(AbiParam::new(I64));
        let mut context = FunctionBuilderContext::new();
        let mut code = FunctionBuilder::new(&mut function, &mut context);
        let block = code.create_block();
        code.append_block_params_for_function_params(block);
        code.switch_to_block(block);
        let callee = code.block_params(block)[0];
        let signature = code.import_signature(Signature::new(isa.default_call_conv()));
        code.ins().call_indirect(signature, callee, &[]);
        code.ins().return_(&[]);
        code.seal_all_blocks();
        code.finalize(isa.frontend_config());
        let mut context = Context::for_function(function);
        Executable::new(context.compile(&*isa, &mut ControlPlane::default()).unwrap(), &*isa).unwrap()
    }

    /// Returns true if the system knows how to unwind the code at an address.
    fn has_entry(address: usize) -> bool {
        let mut base = 0;
        // SAFETY: the call writes the base address only.
        let entry = unsafe { RtlLookupFunctionEntry(address as u64, &raw mut base, ptr::null_mut()) };
        !entry.is_null() && base == address as u64
    }

    thread_local! {
        static BACKTRACE: Cell<String> = const { Cell::new(String::new()) };
    }

    extern "C" fn record_backtrace() {
        BACKTRACE.set(Backtrace::force_capture().to_string());
    }

    #[test]
    fn backtraces_continue_above_native_code() {
        type Caller = extern "C" fn(extern "C" fn());
        let function = caller();
        let code = ptr::with_exposed_provenance::<()>(function.start());
        // SAFETY: `caller` compiles a function of this type.
        unsafe { std::mem::transmute::<*const (), Caller>(code)(record_backtrace) };
        let backtrace = BACKTRACE.take();
        let callee_and_caller = ["record_backtrace", "backtraces_continue_above_native_code"];
        let [below, above] = callee_and_caller.map(|name| backtrace.find(name));
        assert!(below.is_some() && above > below, "{backtrace}");
    }

    #[test]
    fn dropped_code_has_no_entry() {
        let function = caller();
        let start = function.start();
        assert!(has_entry(start));
        drop(function);
        assert!(!has_entry(start));
    }
}
