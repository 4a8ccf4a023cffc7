//! The programs of examples/views: what is known of them, and how what a tool says is compared with it.

pub mod known;
pub mod literature;
pub mod score;
pub mod table;
pub mod tools;

use crate::support;
use std::path::PathBuf;

pub fn directory() -> PathBuf {
    support::root().join("examples/views")
}
