//! Findings: from a violation's bare addresses to a report that a person can act on.
//!
//! ```text
//! Violation ──┬─ specification ─ symbols (over modules) ─ finding ─ suppressions ─┬─ text ─ stderr
//! Prediction ─┘                                            (merge, if offline)    └─ json ─ log
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`modules`] | which file lies at an address, also after it was unloaded |
//! | [`symbols`] | functions, lines and globals at an address |
//! | [`image`] | what one module's file says |
//! | [`source`] | what the source says that an allocation makes |
//! | [`variables`] | what variables are called, and which field of which type they are |
//! | [`demangle`] | the name that a person gave to a symbol |
//! | [`template`] | the sanitizers' pattern language |
//! | [`rules`] | files of `type:template` lines, and what can be wrong with them |
//! | [`suppressions`] | which findings the user does not want to see |
//! | [`specification`] | which blocks are meant to be atomic |
//! | [`finding`] | the data of a finding |
//! | [`resolve`] | makes that data from a violation |
//! | [`predicted`] | makes that data from a prediction |
//! | [`sentence`] | what could happen, in one sentence |
//! | [`diagram`] | an order of two threads' steps as lines of text |
//! | [`merge`] | one finding for each bug, whoever found it |
//! | [`text`] | its printing |
//! | [`json`] | the log: records, schema, validator, reader |
//! | [`sink`] | where output goes without ever hitting a file of the program |
//! | [`threads`] | the threads of a process, as its events tell of them |
//! | [`reporter`] | what the monitor and the predictor call |

mod allocated;
pub mod demangle;
pub mod diagram;
pub mod finding;
pub mod image;
pub mod json;
mod members;
pub mod merge;
pub mod modules;
pub mod predicted;
pub mod reporter;
pub mod resolve;
pub mod rules;
pub mod sentence;
pub mod sink;
pub mod source;
pub mod specification;
pub mod suppressions;
pub mod symbols;
pub mod template;
pub mod text;
pub mod threads;
pub mod variables;
