//! The hooks of `-fsanitize=thread` and the public interface of its runtime library.
//!
//! Instrumented programs are never linked with that library: they get these hooks from libavmon.so when it is
//! preloaded, and else from the stub library `shim/stub.c`, which defines exactly the same names.

mod access;
mod annotate;
mod atomic;
mod query;

/// Function entry and exit: the hot pair. Exported with the thread state in the C shim that they change.
pub const FUNCTIONS: &[&str] = &["__tsan_func_entry", "__tsan_func_exit"];

/// Every name that instrumented code can refer to, family by family.
pub const FAMILIES: &[&[&str]] =
    &[FUNCTIONS, access::NAMES, access::COVERAGE, atomic::NAMES, annotate::NAMES, annotate::DYNAMIC, query::NAMES];
