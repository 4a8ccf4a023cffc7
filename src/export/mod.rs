//! Traces for other tools, one file per format. Pure: events go in, text comes out.
//!
//! | module | one idea |
//! |---|---|
//! | [`std`] | `THREAD\|OP\|LOC` lines, which the tools of the research community read |
//! | [`chrome`] | a timeline for `chrome://tracing` and Perfetto |

pub mod chrome;
pub mod std;
