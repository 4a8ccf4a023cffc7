//! Windows.
use super::synthesis::Target;
#[must_use]
pub fn target(
    _: &crate::predict::history::History,
    _: &crate::analysis::Violation,
    _: crate::predict::search::Budget,
) -> Option<Target> {
    None
}
