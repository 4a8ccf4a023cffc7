//! The five ways in which three accesses of one variable can be of no serial run.

/// The ways in which an access of another thread between two of a block's own accesses of one variable can be of no serial run:
/// the letters are the block's first access, the other's, and the block's second.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Pattern {
    Rwr,
    Rww,
    Wwr,
    Www,
    Wrw,
}

impl Pattern {
    /// The patterns of three accesses, given whether each reads and writes. An update is both, so it may make several.
    pub fn of(first: (bool, bool), other: (bool, bool), second: (bool, bool)) -> impl Iterator<Item = Pattern> {
        let table = [
            (Pattern::Rwr, first.0 && other.1 && second.0),
            (Pattern::Rww, first.0 && other.1 && second.1),
            (Pattern::Wwr, first.1 && other.1 && second.0),
            (Pattern::Www, first.1 && other.1 && second.1),
            (Pattern::Wrw, first.1 && other.0 && second.1),
        ];
        table.into_iter().filter_map(|(pattern, shown)| shown.then_some(pattern))
    }
}
