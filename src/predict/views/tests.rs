use super::*;
use crate::event::{Event, Kind, ThreadId};
use crate::predict::clocks::Clocks;
use crate::predict::cut_points::Blocks;
use crate::predict::history::History;
use crate::predict::history::made::{access, event, of};

const X: u64 = 0x1000;
const Y: u64 = 0x2000;
const Z: u64 = 0x3000;
const M: u64 = 0x4000;

const fn read(address: u64) -> Event {
    access(Kind::Read, address)
}

const fn write(address: u64) -> Event {
    access(Kind::Write, address)
}

/// Critical sections of a thread, one after the other.
fn sections(thread: ThreadId, sections: &[&[Event]]) -> Vec<(ThreadId, Event)> {
    let mut events = Vec::new();
    for section in sections {
        events.push((thread, event(Kind::Acquire, M)));
        events.extend(section.iter().map(|&event| (thread, event)));
        events.push((thread, event(Kind::Release, M)));
    }
    events
}

/// In one marked block.
fn marked(events: &[(ThreadId, Event)]) -> Vec<(ThreadId, Event)> {
    let thread = events[0].0;
    let mark = |kind| [(thread, event(kind, 0))];
    [&mark(Kind::BlockBegin)[..], events, &mark(Kind::BlockEnd)].concat()
}

/// The views of a thread by the addresses of their variables.
fn views(history: &History, lane: u16, access: Access) -> Vec<Vec<u64>> {
    let views = Views::of(history);
    let named = |variables: Vec<u32>| variables.into_iter().map(|v| history.variables[v as usize].address).collect();
    views.blocks(lane).iter().map(|block| named(views.variables(lane, block, access))).collect()
}

fn candidates(history: &History) -> Vec<(Access, [u64; 4])> {
    let views = Views::of(history);
    let found = look_at(history, &Clocks::new(history), &views, Blocks::All, Bounds::NONE, 1, &|| false);
    let mut all: Vec<_> = found
        .classes
        .iter()
        .flat_map(|(class, alike)| {
            alike.nearest.iter().map(|steps| (class.access, steps.all().map(|at| history.pc(at))))
        })
        .collect();
    all.sort_unstable();
    all
}

fn run(parts: &[Vec<(ThreadId, Event)>]) -> History {
    of(&parts.concat())
}

#[test]
fn a_view_has_what_a_section_reads_or_what_it_writes() {
    let both = access(Kind::AtomicUpdate, Z);
    let history = run(&[
        sections(1, &[&[read(X), write(Y), read(X), both], &[write(X)]]),
        vec![(1, read(Y))],
        sections(2, &[&[write(X), write(Y), write(Z)]]),
    ]);
    assert_eq!(views(&history, 0, Access::Read), [vec![X, Z], vec![]], "what is outside all blocks is in no view");
    assert_eq!(views(&history, 0, Access::Write), [vec![Y, Z], vec![X]]);
    let views = Views::of(&history);
    let touch = views.touch(0, &views.blocks(0)[0], Access::Read, history.step(history.made_by(2)).object).unwrap();
    assert_eq!([touch.first, touch.last], [history.made_by(2), history.made_by(4)]);
}

#[test]
fn a_marked_block_is_a_block_around_its_sections() {
    let history = run(&[marked(&sections(1, &[&[read(X)], &[read(Y)]])), sections(2, &[&[write(X), write(Y)]])]);
    assert_eq!(views(&history, 0, Access::Read), [vec![X], vec![X, Y], vec![Y]]);
}

#[test]
fn a_wait_ends_a_section() {
    let mut events = sections(1, &[&[read(X)]]);
    let waits = [event(Kind::Release, M), event(Kind::Await, 0x5000), event(Kind::Acquire, M), read(Y)];
    let release = events.pop().unwrap();
    events.extend(waits.map(|event| (1, event)));
    events.push(release);
    let history = run(&[events, sections(2, &[&[write(X), write(Y)]])]);
    assert_eq!(views(&history, 0, Access::Read), [vec![X], vec![Y]]);
}

#[test]
fn a_maximal_view_is_no_part_of_another() {
    let history = run(&[
        sections(1, &[&[write(X)], &[write(Y), write(X)], &[write(Z)], &[write(X), write(Y), write(Z)], &[read(X)]]),
        sections(2, &[&[read(X), read(Y), read(Z), write(Z)]]),
    ]);
    let all = Views::of(&history);
    let addresses = |variables: Vec<u32>| -> Vec<u64> {
        let mut addresses: Vec<u64> = variables.iter().map(|&v| history.variables[v as usize].address).collect();
        addresses.sort_unstable();
        addresses
    };
    for (lane, access, expected) in [
        (0, Access::Write, [vec![X, Y, Z], vec![X, Y, Z], vec![X, Y, Z], vec![X, Y, Z], vec![X, Y, Z]].to_vec()),
        (1, Access::Read, vec![vec![X, Y, Z]]),
        (1, Access::Write, vec![vec![Z]]),
    ] {
        let maximal = |block| addresses(all.maximal(lane, block, access));
        assert_eq!(all.blocks(lane).iter().map(maximal).collect::<Vec<_>>(), expected, "{lane} {access:?}");
    }
}

/// What a view and another one have in common. Both are sorted, and so is the answer.
fn overlap(one: &[u32], other: &[u32]) -> Vec<u32> {
    one.iter().copied().filter(|variable| other.binary_search(variable).is_ok()).collect()
}

/// Whether one of two overlaps contains the other.
fn form_chain(one: &[u32], other: &[u32]) -> bool {
    is_part(one, other) || is_part(other, one)
}

#[test]
fn overlaps_and_chains() {
    assert_eq!(overlap(&[1, 2, 5], &[2, 3, 5]), [2, 5]);
    assert!(overlap(&[1], &[2]).is_empty());
    assert!(form_chain(&[1], &[1, 2]) && form_chain(&[1, 2], &[1]) && form_chain(&[1], &[1]) && form_chain(&[], &[1]));
    assert!(!form_chain(&[1], &[2]) && !form_chain(&[1, 2], &[2, 3]));
}

#[test]
fn reads_are_torn_by_who_writes_both() {
    let history = run(&[marked(&sections(1, &[&[read(X)], &[read(Y)]])), sections(2, &[&[write(X), write(Y)]])]);
    assert_eq!(candidates(&history), [(Access::Read, [3, 10, 11, 6])]);
}

#[test]
fn writes_are_torn_for_who_reads_both() {
    let history = run(&[marked(&sections(1, &[&[write(X)], &[write(Y)]])), sections(2, &[&[read(Y), read(X)]])]);
    assert_eq!(candidates(&history), [(Access::Write, [3, 11, 10, 6])]);
}

#[test]
fn nobody_tears_what_forms_a_chain() {
    for (blocks, culprit) in [
        // The later block reads both again.
        ([&[read(X)][..], &[read(X), read(Y)]], [write(X), write(Y)]),
        ([&[read(X), read(Y)], &[read(Y)]], [write(X), write(Y)]),
        // Nobody writes both.
        ([&[read(X)], &[read(Y)]], [write(X), read(Y)]),
        // Two that read, or two that write, are none of a view's business.
        ([&[read(X)], &[read(Y)]], [read(X), read(Y)]),
        ([&[write(X)], &[write(Y)]], [write(X), write(Y)]),
        ([&[read(X)], &[write(Y)]], [write(X), write(Y)]),
    ] {
        let history = run(&[
            marked(&sections(1, &blocks)),
            sections(2, &[&culprit]),
            sections(3, &[&[write(X)], &[write(Y)], &[read(X)], &[read(Y)]]),
        ]);
        assert_eq!(candidates(&history), [], "{blocks:?}");
    }
}

#[test]
fn two_calls_of_a_thread_are_no_transaction() {
    let history = run(&[
        sections(1, &[&[read(X)]]),
        vec![(1, event(Kind::Interfere, 0))],
        sections(1, &[&[read(Y)]]),
        sections(2, &[&[write(X), write(Y)]]),
    ]);
    assert_eq!(candidates(&history), []);
}

/// The candidates are those that the definitions tell, for all programs of two blocks and a culprit over three variables.
#[test]
fn candidates_are_what_the_definitions_tell() {
    let variables = [X, Y, Z];
    let set = |bits: usize, of: fn(u64) -> Event| -> Vec<Event> {
        (0..3).filter(|bit| bits >> bit & 1 == 1).map(|bit| of(variables[bit])).collect()
    };
    let mut torn = 0;
    for bits in 0..512 {
        let [one, other, culprit] = [bits & 7, bits >> 3 & 7, bits >> 6];
        let history = run(&[
            marked(&sections(1, &[&set(one, read), &set(other, read)])),
            sections(2, &[&set(culprit, write)]),
            // So that all of it is shared.
            sections(3, &[&[read(X)], &[read(Y)], &[read(Z)], &[write(X)], &[write(Y)], &[write(Z)]]),
        ]);
        let [one, other] = [one, other].map(|bits| overlap(&members(bits), &members(culprit)));
        let expected = if form_chain(&one, &other) { 0 } else { only_in(&one, &other) * only_in(&other, &one) };
        assert_eq!(candidates(&history).len(), expected, "{bits:b}");
        torn += usize::from(expected > 0);
    }
    assert_eq!(torn, 42);
}

fn members(bits: usize) -> Vec<u32> {
    (0..3).filter(|bit| bits >> bit & 1 == 1).collect()
}

fn only_in(one: &[u32], other: &[u32]) -> usize {
    one.iter().filter(|variable| !other.contains(variable)).count()
}
