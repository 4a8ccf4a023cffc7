//! Recordings: what is kept of a run, and how it is stored.
//!
//! | module | one idea |
//! |---|---|
//! | [`late`] | the monitor's view of a thread's full stream |
//! | [`thin`] | the leave-out rules |
//! | [`codec`] | the events of one chunk to bytes and back |

pub mod codec;
pub mod late;
pub mod thin;
