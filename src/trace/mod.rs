//! Recordings: what is kept of a run, and how it is stored.
//!
//! ```text
//! runtime ─ chunks ─┬─ late ─ order merge (live)
//!                   └─ thin ─ codec ─ writer ─ directory ─ reader ─┬─ one thread's stream
//!                                                                  └─ merged ─ all threads in one order
//! ```
//!
//! Neither the writer nor the reader touches the runtime.
//!
//! | module | one idea |
//! |---|---|
//! | [`late`] | the monitor's view of a thread's full stream |
//! | [`thin`] | the leave-out rules |
//! | [`codec`] | the events of one chunk to bytes and back |
//! | [`format`](mod@format) | layouts of the binary files, and the version |
//! | [`meta`] | the JSON files |
//! | [`writer`] | events to a directory |
//! | [`reader`] | a directory to events, whatever happened to it |
//! | [`exclude`] | code whose accesses the user does not want |
//! | [`memory`] | generations of memory, for those who read |

pub mod codec;
pub mod exclude;
pub mod format;
pub mod late;
pub mod memory;
pub mod meta;
pub mod reader;
pub mod thin;
pub mod writer;
