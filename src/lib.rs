//! avmon finds atomicity violations in native pthreads programs.
//!
//! ```text
//! app threads ─ interpose + shim hooks ─ runtime::chunk ─ channel ─┬─ order ─ analysis ─ report ─ log
//!                                                                  └─ trace (recorded)
//! trace ─ predict ─ replay::synthesis ─ schedule ─ runtime::steering (the gate, in the app) ─ journal ─ replay::verdict ─ report
//! source ─ clang ─ ir ─ causal ─┬─ lint ─ report
//!                               └─ predict (which values depend on which)
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`event`] | the record that every part speaks |
//! | [`options`] | the table behind `AVMON_OPTIONS`, its help and its docs |
//! | [`interpose`] | what the program calls: one family per file, and the table of exported symbols |
//! | [`runtime`] | lifecycle, thread registry, chunk buffer, worker thread |
//! | [`order`] | per-thread streams to one legal order |
//! | [`analysis`] | pure state machines over that order |
//! | [`monitor`] | the online rules and their reports over one order: live, and over a trace |
//! | [`predict`] | what other orders of a recorded run would show |
//! | [`replay`] | the real program in a predicted order: schedule, gate, verdict |
//! | [`ir`] | the program as its compiler saw it: LLVM IR, read from text |
//! | [`causal`] | which values depend on which, by data and by control, through the whole program |
//! | [`lint`] | split views and stale values in the source, without a run |
//! | [`random`] | numbers that follow from a seed |
//! | [`scenario`] | a language for small concurrent programs, and an interpreter that knows all their runs |
//! | [`trace`] | what a recording is made of: its thinning, its bytes, and the monitor's view of it |
//! | [`export`] | traces for other tools |
//! | [`report`] | findings: data, symbols, suppressions, text, JSON |
//! | [`cli`] | the `avmon` command, one file per subcommand |

pub mod analysis;
pub mod causal;
pub mod cli;
pub mod event;
pub mod export;
pub mod interpose;
pub mod ir;
pub mod lint;
pub mod monitor;
pub mod options;
pub mod order;
pub mod predict;
pub mod random;
pub mod replay;
pub mod report;
pub mod runtime;
pub mod scenario;
pub mod trace;
