//! One finding for each bug, whoever found it.
//!
//! Findings of the same block and the same places are one, whichever analyses they are from. A window of a lock is the same as a conflict
//! of data whose accesses lie in the sections that the window's three acquires open: it is the conflict that is told. A
//! window without such a conflict stays, and is marked as one of locks only.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use crate::report::finding::{Data, Finding, Frame, Kind, Operation, Pattern, Rung, Section, Strength};

/// A finding, and the ids of those that it stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub finding: Finding,
    pub members: Vec<u64>,
}

/// Merges findings of one run, the most important first. `is_complete` tells that all conflicts are among them, so that a window without one
/// has none.
#[must_use]
pub fn merge(findings: Vec<Finding>, is_complete: bool) -> Vec<Entry> {
    let (conflicts, windows): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| finding.pattern.is_some());
    let mut entries = group(conflicts);
    for window in group(windows) {
        let mut is_told = false;
        for entry in entries.iter_mut().filter(|entry| lies_in(&entry.finding, &window.finding)) {
            absorb(&mut entry.finding, &window.finding);
            if !is_told {
                entry.members.extend(&window.members);
            }
            is_told = true;
        }
        if is_told {
            continue;
        }
        let finding = of_locks_only(window.finding, is_complete);
        // The block is known to be split, and by what: a section that does not conflict with it is no news.
        let same_block = |entry: &&mut Entry| entry.finding.block.identity() == finding.block.identity();
        let told = entries.iter_mut().filter(|entry| entry.finding.pattern.is_some()).find(same_block);
        match told {
            Some(entry) if finding.data == Some(Data::NotConflicting) => entry.members.extend(window.members),
            _ => entries.push(Entry { finding, members: window.members }),
        }
    }
    entries.sort_by_cached_key(|entry| rank(&entry.finding));
    entries
}

/// One entry for all findings of the same places.
fn group(findings: Vec<Finding>) -> Vec<Entry> {
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    let mut entries: Vec<Entry> = Vec::new();
    for finding in findings {
        let place = *places.entry(bug(&finding)).or_insert(entries.len());
        let Some(entry) = entries.get_mut(place) else {
            entries.push(Entry { members: vec![finding.id], finding });
            continue;
        };
        entry.members.push(finding.id);
        let mut other = finding;
        if telling(&other) < telling(&entry.finding) {
            std::mem::swap(&mut entry.finding, &mut other);
        }
        absorb(&mut entry.finding, &other);
        if other.block != entry.finding.block && !entry.finding.also_split.contains(&other.block.name) {
            entry.finding.also_split.push(other.block.name);
        }
    }
    entries
}

/// What makes two findings one bug: the block and the places. Of two variables the four places: seen from either block it is the same.
fn bug(finding: &Finding) -> String {
    let Some(other) = &finding.culprit_too else { return finding.spot() };
    let four = [&finding.first, &finding.culprit, other, &finding.second];
    let mut places = four.map(|operation| operation.location.identity());
    places.sort_unstable();
    places.join("\n")
}

/// Which of several findings of the same places tells most.
fn telling(finding: &Finding) -> (Strength, Option<Pattern>, u8) {
    let kind = match finding.kind {
        Kind::In => 0,
        Kind::After => 1,
        Kind::Before => 2,
    };
    (finding.strength, finding.pattern, kind)
}

fn absorb(finding: &mut Finding, other: &Finding) {
    finding.found_by.extend(&other.found_by);
    finding.found_by.sort_unstable();
    finding.found_by.dedup();
    if finding.view.is_empty() {
        finding.view.clone_from(&other.view);
        finding.view_more = other.view_more;
    }
    finding.dependency = finding.dependency.take().or_else(|| other.dependency.clone());
    finding.lock = finding.lock.take().or_else(|| other.lock.clone());
}

/// Whether the accesses of a conflict lie in the sections that the acquires of a window open, all of one lock. It may be another
/// lock than the one of which the window tells: each object may have its own.
fn lies_in(conflict: &Finding, window: &Finding) -> bool {
    let opened_at = |operation: &Operation, place: &Frame| -> Vec<(String, u32)> {
        let here = operation.sections.iter().filter(|section| section.taken_at.identity() == place.identity());
        here.map(|Section { lock, .. }| (lock.address.clone(), lock.generation)).collect()
    };
    let second = opened_at(&conflict.second, &window.second.location);
    let culprits = [Some(&conflict.culprit), conflict.culprit_too.as_ref()];
    let culprits: Vec<_> =
        culprits.into_iter().flatten().flat_map(|culprit| opened_at(culprit, &window.culprit.location)).collect();
    let mut first = opened_at(&conflict.first, &window.first.location).into_iter();
    conflict.block.identity() == window.block.identity()
        && first.any(|lock| second.contains(&lock) && culprits.contains(&lock))
}

/// A window that is no conflict.
fn of_locks_only(mut window: Finding, is_complete: bool) -> Finding {
    if window.strength == Strength::Strong && window.kind == Kind::Before {
        window.strength = Strength::Conditional;
    }
    if window.data.is_none() && is_complete {
        window.data = Some(Data::NotConflicting);
    }
    window
}

/// What comes first in a list.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    strength: Strength,
    rung: Reverse<Rung>,
    pattern: Option<Pattern>,
    data: Option<Data>,
    file: Option<String>,
    line: Option<u32>,
    place: (String, u64),
}

fn rank(finding: &Finding) -> Rank {
    let Frame { file, line, module, offset, .. } = &finding.first.location;
    Rank {
        strength: finding.strength,
        rung: Reverse(finding.rung),
        pattern: finding.pattern,
        data: finding.data,
        file: file.clone(),
        line: *line,
        place: (module.clone(), *offset),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::finding::{Analysis, samples};

    fn numbered(findings: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
        (1..).zip(findings).map(|(id, finding)| Finding { id, ..finding }).collect()
    }

    fn names(entry: &Entry) -> Vec<&str> {
        entry.finding.found_by.iter().map(|analysis| analysis.name()).collect()
    }

    #[test]
    fn a_window_and_the_conflict_in_it_are_one() {
        let entries = merge(numbered([samples::append(), samples::length()]), true);
        assert_eq!(entries.len(), 1);
        assert_eq!(names(&entries[0]), ["windows", "cut_points"]);
        assert_eq!((entries[0].finding.rung, entries[0].finding.pattern), (Rung::Conflicting, Some(Pattern::Rww)));
        assert_eq!(entries[0].members, [2, 1]);
    }

    #[test]
    fn a_window_without_a_conflict_is_no_news_where_the_block_is_known_to_be_split() {
        let change: [fn(&mut Finding); 3] = [
            |finding| finding.first.sections[0].taken_at.line = Some(11),
            |finding| finding.culprit.sections.clear(),
            |finding| finding.second.sections[0].lock.address = "0x5040".into(),
        ];
        for change in change {
            let mut conflict = samples::length();
            change(&mut conflict);
            let entries = merge(numbered([samples::append(), conflict.clone()]), true);
            assert_eq!(entries.len(), 1);
            assert_eq!((names(&entries[0]), &entries[0].members[..]), (vec!["cut_points"], &[2, 1][..]));
            let entries = merge(numbered([samples::append(), conflict]), false);
            assert_eq!(entries.len(), 2, "there may be a conflict that was not looked for");
        }
    }

    #[test]
    fn a_window_of_another_block_comes_after_what_conflicts() {
        let mut conflict = samples::length();
        conflict.block.name = "append_all".into();
        let entries = merge(numbered([samples::append(), conflict]), true);
        assert_eq!(entries.len(), 2);
        assert_eq!(names(&entries[0]), ["cut_points"]);
        let window = &entries[1].finding;
        assert_eq!((window.data, window.strength), (Some(Data::NotConflicting), Strength::Strong));
    }

    #[test]
    fn each_object_may_have_a_lock_of_its_own() {
        let mut conflict = samples::length();
        for operation in [&mut conflict.first, &mut conflict.culprit, &mut conflict.second] {
            operation.sections[0].lock.address = "0x9000".into();
        }
        assert_eq!(merge(numbered([samples::append(), conflict]), true).len(), 1);
    }

    #[test]
    fn a_window_explains_all_conflicts_in_it_and_is_counted_once() {
        let mut other = samples::length();
        other.first.location.line = Some(14);
        let entries = merge(numbered([samples::length(), other, samples::append()]), true);
        assert_eq!(entries.iter().map(names).collect::<Vec<_>>(), [["windows", "cut_points"]; 2]);
        assert_eq!(entries.iter().map(|entry| entry.members.clone()).collect::<Vec<_>>(), [vec![1, 3], vec![2]]);
    }

    #[test]
    fn a_window_of_which_nothing_is_known_stays_as_it_is() {
        let partial = merge(numbered([samples::append()]), false);
        assert_eq!((partial[0].finding.strength, partial[0].finding.data), (Strength::Strong, None));
        let unseen = Finding { data: Some(Data::NotSeen), ..samples::append() };
        let unseen = merge(numbered([unseen]), true);
        assert_eq!((unseen[0].finding.strength, unseen[0].finding.data), (Strength::Strong, Some(Data::NotSeen)));
    }

    #[test]
    fn analyses_that_see_the_same_places_make_one_entry() {
        let weaker = Finding {
            pattern: Some(Pattern::Wrw),
            found_by: vec![Analysis::Nondeterminism],
            kind: Kind::In,
            ..samples::length()
        };
        let twice = [samples::length(), weaker.clone(), samples::length()];
        let entries = merge(numbered(twice), true);
        assert_eq!(entries.len(), 1);
        assert_eq!(names(&entries[0]), ["cut_points", "nondeterminism"]);
        assert_eq!((entries[0].finding.pattern, &entries[0].members[..]), (Some(Pattern::Rww), &[1, 2, 3][..]));
        let turned = merge(numbered([weaker, samples::length()]), true);
        assert_eq!(turned[0].finding.pattern, Some(Pattern::Rww), "whoever came first");
    }

    #[test]
    fn kinds_of_one_window_are_one_entry() {
        let of_kind = |kind| Finding { kind, ..samples::append() };
        let entries = merge(numbered([Kind::Before, Kind::In, Kind::After].map(of_kind)), false);
        assert_eq!((entries.len(), entries[0].finding.kind), (1, Kind::In));
        let only = merge(numbered([of_kind(Kind::Before)]), false);
        assert_eq!(only[0].finding.strength, Strength::Conditional);
    }

    #[test]
    fn the_order_is_by_strength_then_rung_then_pattern_then_place() {
        let mut weak = Finding { strength: Strength::Loop, ..samples::length() };
        weak.block.name = "weak".into();
        let mut later = samples::length();
        later.first.location.line = Some(16);
        let mut elsewhere = samples::append();
        elsewhere.block.name = "other".into();
        elsewhere.data = Some(Data::NotSeen);
        let entries = merge(numbered([weak, elsewhere, samples::pair(), later, samples::length()]), true);
        assert_eq!(entries.iter().map(|entry| entry.members[0]).collect::<Vec<_>>(), [5, 4, 3, 2, 1]);
    }
}
