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
//! | [`stack`] | the open functions where a chunk begins |
//! | [`order`] | the journal of the live merge |
//! | [`index`] | where every chunk is |
//! | [`slots`] | the shared mapping of chunks that were not written yet |
//! | [`writer`] | events to a directory |
//! | [`reader`] | a directory to events, whatever happened to it |
//! | [`exclude`] | code whose accesses the user does not want |
//! | `problem` | what can be missing, in words |
//! | `open` | what is there, and what is not |
//! | `source`, `scan` | files that may be anything; the chunks of one, around damage |
//! | `stream` | one thread's events |
//! | `copies` | a copied structure is read before it is written |
//! | `merged` | all threads' events in one order |

pub mod codec;
mod copies;
pub mod exclude;
pub mod format;
pub mod index;
pub mod late;
mod merged;
pub mod meta;
mod open;
pub mod order;
mod problem;
pub mod reader;
mod scan;
pub mod slots;
mod source;
pub mod stack;
mod stream;
pub mod thin;
mod varint;
pub mod writer;
