//! The hooks of `-fsanitize=thread` and the public interface of its runtime library.
//!
//! Instrumented programs are never linked with that library: they get these hooks from libavmon.so when it is
//! preloaded, and else from the stub library `shim/stub.c`, which defines exactly the same names.

pub mod access;
pub mod annotate;
pub mod atomic;
mod fence;
pub mod query;

/// Every name that instrumented code can refer to, family by family.
pub const FAMILIES: &[&[&str]] = &[
    super::FUNCTIONS,
    super::strings::NAMES,
    access::NAMES,
    access::COVERAGE,
    atomic::NAMES,
    annotate::NAMES,
    annotate::DYNAMIC,
    query::NAMES,
];
