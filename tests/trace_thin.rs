//! What the leave-out rules drop, and that nothing is lost by it.

mod trace_streams;

use std::collections::HashSet;

use avmon::event::{Event, Kind, access, memory};
use avmon::trace::thin::{Dropped, Thinner, Thread};
use proptest::prelude::*;
use trace_streams::{STACK, STACK_SIZE};

const HEAP: u64 = 0x5555_0000_0000;
const LOCK: u64 = 0x5555_1000_0000;

/// What stays of the chunks of one thread, and what was dropped.
fn thinned(chunks: &[&[Event]], thinner: &mut Thinner) -> (Vec<Vec<Event>>, Dropped) {
    let mut thread = Thread::default();
    let mut dropped = Dropped::default();
    let kept = chunks.iter().map(|events| {
        let mut out = Vec::new();
        let now = thinner.thin(&mut thread, events, &mut out);
        assert_eq!(out.len() as u64 + now.total(), events.len() as u64, "each event is kept or counted");
        dropped += now;
        out
    });
    (kept.collect(), dropped)
}

fn thin(events: &[Event]) -> (Vec<Event>, Dropped) {
    let (mut kept, dropped) = thinned(&[events], &mut Thinner::new(None));
    (kept.remove(0), dropped)
}

/// All but the branches of an access.
fn key(event: &Event) -> [u64; 3] {
    let [head, object, pc] = event.words();
    [if is_access(event) { head & (u64::MAX >> 16) } else { head }, object, pc]
}

fn is_access(event: &Event) -> bool {
    matches!(event.kind(), Some(Kind::Read | Kind::Write))
}

fn branches(event: &Event) -> u64 {
    if event.kind() == Some(Kind::Branches) { event.number() } else { u64::from(event.branches()) }
}

/// The number of the epoch in which each event lies.
fn epochs(events: &[Event]) -> Vec<usize> {
    let mut epoch = 0;
    let mut number = |event: &Event| {
        epoch += usize::from(!is_access(event));
        epoch
    };
    events.iter().map(&mut number).collect()
}

/// Which events were kept. Every access has branches, so their sum tells where in the original a kept access was: this holds
/// only if the sums are right.
fn positions(original: &[Event], kept: &[Event]) -> Vec<usize> {
    let mut at = 0;
    let (mut sum, mut kept_sum) = (0, 0);
    let mut positions = Vec::new();
    for event in kept {
        kept_sum += branches(event);
        loop {
            let candidate = original.get(at).expect("kept events are a subsequence");
            sum += branches(candidate);
            at += 1;
            if is_access(candidate) && (!is_access(event) || sum < kept_sum) {
                continue;
            }
            let same = if event.kind() == Some(Kind::Branches) {
                candidate.kind() == Some(Kind::Branches)
            } else {
                key(candidate) == key(event)
            };
            assert!(same, "{event:?} instead of {candidate:?}");
            break;
        }
        positions.push(at - 1);
    }
    assert!(original[at..].iter().all(is_access), "only accesses are dropped");
    positions
}

/// Accesses of few places, in few functions, under few locks.
fn any_event() -> impl Strategy<Value = Event> {
    let kinds = prop_oneof![Just(Kind::Read), Just(Kind::Write)];
    let others: Vec<Kind> =
        Kind::ALL.iter().copied().filter(|kind| !matches!(kind, Kind::Read | Kind::Write)).collect();
    prop_oneof![
        12 => (kinds, 0..2_u8, 0..2_u32, 1..5_u16, 0..3_u64, 0..3_u64).prop_map(|(kind, detail, size, branches, object, pc)| {
            Event::access(kind, detail, 4 << size, branches, HEAP + object * 8, pc)
        }),
        1 => (proptest::sample::select(others), 1..4_u64).prop_map(|(kind, number)| Event::new(kind, 0, number, LOCK, 9)),
    ]
}

/// Accesses of very few places, so that whole runs repeat, and seldom something else.
fn any_repetitive_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        60 => (0..3_u16, 0..2_u64, 0..2_u64).prop_map(|(branches, object, pc)| {
            Event::access(Kind::Write, 0, 8, branches, HEAP + object * 8, pc)
        }),
        1 => proptest::sample::select(&[Kind::Branches, Kind::Acquire, Kind::Leave]).prop_map(|kind| {
            Event::new(kind, 0, 0, LOCK, 9)
        }),
    ]
}

/// The pairs of accesses with no branch between them: where the epoch of each begins, and all but its branches.
fn straight_pairs(chunks: &[impl AsRef<[Event]>], excluded: u64) -> HashSet<[([usize; 2], [u64; 3]); 2]> {
    let mut pairs = HashSet::new();
    let mut run = Vec::new();
    for (chunk, events) in chunks.iter().enumerate() {
        let events = events.as_ref();
        for (event, epoch) in events.iter().zip(epochs(events)) {
            if branches(event) > 0 {
                run.clear();
            }
            if is_access(event) && event.pc != excluded {
                let after = ([chunk, epoch], key(event));
                pairs.extend(run.iter().map(|&before| [before, after]));
                run.push(after);
            }
        }
    }
    pairs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_ordered_pair_survives(events in proptest::collection::vec(any_event(), 1..120)) {
        let (kept, _) = thin(&events);
        let positions = positions(&events, &kept);
        let epochs = epochs(&events);
        let like = |one: usize, other: usize| key(&events[one]) == key(&events[other]) && epochs[one] == epochs[other];
        for a in 0..events.len() {
            for b in a + 1..events.len() {
                let before = positions.iter().find(|&&at| at <= a && like(at, a));
                let after = positions.iter().rev().find(|&&at| at >= b && like(at, b));
                prop_assert!(before.is_some() && after.is_some(), "the pair {a} and {b} is lost");
            }
        }
    }

    #[test]
    fn only_what_lies_between_is_dropped(events in proptest::collection::vec(any_event(), 1..120)) {
        let (kept, dropped) = thin(&events);
        let kept: HashSet<usize> = positions(&events, &kept).into_iter().collect();
        let epochs = epochs(&events);
        for at in (0..events.len()).filter(|at| !kept.contains(at)) {
            let like = |&other: &usize| key(&events[other]) == key(&events[at]) && epochs[other] == epochs[at];
            prop_assert!((0..at).any(|other| like(&other)) && (at + 1..events.len()).any(|other| like(&other)));
        }
        prop_assert_eq!(dropped, Dropped { repetition: (events.len() - kept.len()) as u64, ..Dropped::default() });
    }

    /// No pair is lost, and none comes to be.
    #[test]
    fn every_pair_without_a_branch_between_survives(
        events in proptest::collection::vec(any_repetitive_event(), 1..300),
        size in 20..300_usize,
        excluded in 0..9_u64,
    ) {
        let chunks: Vec<&[Event]> = events.chunks(size).collect();
        let (kept, dropped) = thinned(&chunks, &mut Thinner::new(Some(Box::new(move |pc| pc == excluded))));
        prop_assert!(dropped.repetition > 0 || events.len() < 100 || size < 50);
        let (all, kept) = (straight_pairs(&chunks, excluded), straight_pairs(&kept, excluded));
        prop_assert!(all == kept, "lost {:?}, invented {:?}", all.difference(&kept).next(), kept.difference(&all).next());
    }

    /// Each chunk is thinned by itself; only branches are carried over, and these exactly.
    #[test]
    fn branches_are_preserved_over_chunks(
        events in proptest::collection::vec(any_event(), 1..120),
        size in 1..30_usize,
        excluded in 0..3_u64,
    ) {
        let end = Event::access(Kind::Read, 0, 8, 1, HEAP + 4096, 77);
        let all: Vec<Event> = events.into_iter().chain([end]).collect();
        let chunks: Vec<&[Event]> = all.chunks(size).collect();
        let (kept, dropped) = thinned(&chunks, &mut Thinner::new(Some(Box::new(move |pc| pc == excluded))));
        let kept = kept.concat();
        positions(&all, &kept);
        prop_assert_eq!(kept.iter().map(branches).sum::<u64>(), all.iter().map(branches).sum::<u64>());
        let is_excluded = |event: &&Event| is_access(event) && event.pc == excluded;
        prop_assert_eq!(dropped.excluded as usize, all.iter().filter(is_excluded).count());
        prop_assert_eq!(kept.iter().filter(is_excluded).count(), 0);
    }

    /// The stack rule against its definition, word for word.
    #[test]
    fn the_stack_rule_drops_what_it_says(
        steps in proptest::collection::vec((0..12_u8, 0..12_u64, 0..40_u64), 1..150),
    ) {
        let events = stack_program(&steps);
        let (kept, dropped) = thin(&events);
        let kept: HashSet<usize> = positions(&events, &kept).into_iter().collect();
        let mut count = 0;
        for (at, event) in events.iter().enumerate() {
            if is_access(event) {
                let private = is_private(&events, at);
                count += u64::from(private);
                prop_assert_eq!(kept.contains(&at), !private, "{:?} at {}", event, at);
            }
        }
        prop_assert_eq!(dropped, Dropped { stack: count, ..Dropped::default() });
    }
}

/// A thread that calls, returns, touches its stack, each time at another code location, and now and then locks.
fn stack_program(steps: &[(u8, u64, u64)]) -> Vec<Event> {
    let mut events = vec![Event::new(Kind::Extent, 0, STACK_SIZE, 0, 0), stack_begins()];
    let mut pointers: Vec<u64> = Vec::new();
    let lowest = |pointers: &[u64]| pointers.iter().copied().filter(|&at| at != 0).min().unwrap_or(STACK + 4096);
    for (pc, &(step, amount, place)) in steps.iter().enumerate() {
        match step {
            0..3 if pointers.len() < 12 => {
                let pointer = lowest(&pointers) - 16 - amount * 16;
                // Seldom one that is not known. Those inside it are then not known either.
                let known = (amount != 0 && !pointers.contains(&0)) as u64;
                events.push(Event::enter(pointers.len() as u32, pointer * known, 1, pc as u64));
                pointers.push(pointer * known);
            }
            3..6 if !pointers.is_empty() => {
                pointers.truncate(pointers.len().saturating_sub(1 + amount as usize / 8));
                events.push(Event::new(Kind::Leave, 0, pointers.len() as u64, 0, 0));
            }
            6 if amount < 4 => events.push(Event::new(Kind::Signal, 0, 0, LOCK, pc as u64)),
            6..8 => events.push(Event::new(Kind::Branches, 0, 1, 0, 0)),
            _ => {
                let address = (lowest(&pointers) - 128 + place * 16).min(STACK + STACK_SIZE + 8);
                events.push(Event::access(Kind::Write, 0, 1 << (amount % 6), 1, address, pc as u64));
            }
        }
    }
    events
}

/// Whether the function that owns the place of an access was entered and left with only accesses and calls in between.
fn is_private(events: &[Event], at: usize) -> bool {
    let mut open: Vec<(usize, &Event)> = Vec::new();
    for (entry, event) in events[..at].iter().enumerate() {
        if matches!(event.kind(), Some(Kind::Enter | Kind::Leave)) {
            open.retain(|(_, frame)| frame.depth() < event.depth());
        }
        if event.kind() == Some(Kind::Enter) {
            open.push((entry, event));
        }
    }
    let (first, last) = (events[at].object, events[at].object + events[at].size() - 1);
    if !(STACK..STACK + STACK_SIZE).contains(&first) {
        return false;
    }
    for &(entry, frame) in open.iter().rev() {
        if frame.stack_pointer() == 0 {
            return false;
        }
        if last as u32 as u64 >= frame.stack_pointer() {
            continue;
        }
        let rest = &events[entry + 1..];
        let is_end =
            |event: &Event| matches!(event.kind(), Some(Kind::Enter | Kind::Leave)) && event.depth() <= frame.depth();
        let Some(end) = rest.iter().position(is_end) else { return false };
        return rest[..end]
            .iter()
            .all(|event| is_access(event) || matches!(event.kind(), Some(Kind::Enter | Kind::Leave | Kind::Branches)));
    }
    false
}

fn stack_begins() -> Event {
    Event::new(Kind::Allocate, memory::STACK, 0, STACK, 0)
}

/// The thread's first events, which tell its stack.
fn begin() -> [Event; 2] {
    [Event::new(Kind::Extent, 0, STACK_SIZE, 0, 0), stack_begins()]
}

const OUTER: u64 = STACK + 0x8000;
const INNER: u64 = STACK + 0x4000;
/// A local variable of each.
const OUTER_BUFFER: u64 = OUTER - 64;
const INNER_BUFFER: u64 = INNER - 64;

fn enter(depth: u32, stack_pointer: u64) -> Event {
    Event::enter(depth, stack_pointer, 0x40_0000, 0x40_1000)
}

fn leave(depth: u64) -> Event {
    Event::new(Kind::Leave, 0, depth, 0, 0)
}

fn write(address: u64) -> Event {
    Event::access(Kind::Write, 0, 8, 1, address, 0x40_2000)
}

fn lock() -> Event {
    Event::new(Kind::Acquire, 0, 0, LOCK, 0x40_3000)
}

/// How many accesses the stack rule drops from one chunk of a thread.
fn dropped_from(events: &[Event]) -> u64 {
    let all: Vec<Event> = begin().into_iter().chain(events.iter().copied()).collect();
    thin(&all).1.stack
}

#[test]
fn a_private_buffer_is_dropped() {
    assert_eq!(dropped_from(&[enter(0, OUTER), write(OUTER_BUFFER), leave(0)]), 1);
    assert_eq!(dropped_from(&[enter(0, OUTER), enter(1, INNER), write(OUTER_BUFFER), leave(1), leave(0)]), 1);
}

#[test]
fn a_buffer_is_kept_if_something_happens_while_its_function_is_open() {
    let others = Kind::ALL
        .iter()
        .filter(|kind| !matches!(kind, Kind::Read | Kind::Write | Kind::Enter | Kind::Leave | Kind::Branches));
    for &kind in others {
        let event = Event::new(kind, 0, 0, LOCK, 1);
        assert_eq!(dropped_from(&[enter(0, OUTER), write(OUTER_BUFFER), event, leave(0)]), 0, "{kind:?} after");
        assert_eq!(dropped_from(&[enter(0, OUTER), event, write(OUTER_BUFFER), leave(0)]), 0, "{kind:?} before");
        assert_eq!(
            dropped_from(&[event, enter(0, OUTER), write(OUTER_BUFFER), leave(0), event]),
            1,
            "{kind:?} outside"
        );
    }
}

#[test]
fn a_callers_buffer_is_kept_if_the_caller_stays_open() {
    let events = [enter(0, OUTER), enter(1, INNER), write(OUTER_BUFFER), write(INNER_BUFFER), leave(1)];
    assert_eq!(dropped_from(&events), 1, "only the inner function's own");
}

#[test]
fn a_callers_buffer_is_kept_if_the_caller_locks_later() {
    let events =
        [enter(0, OUTER), enter(1, INNER), write(OUTER_BUFFER), write(INNER_BUFFER), leave(1), lock(), leave(0)];
    assert_eq!(dropped_from(&events), 1, "only the inner function's own");
}

#[test]
fn a_range_into_the_callers_frame_belongs_to_the_caller() {
    let range = Event::access(Kind::Write, access::RANGE, 4096, 1, INNER_BUFFER, 0x40_2000);
    assert_eq!(dropped_from(&[enter(0, OUTER), enter(1, INNER), range, leave(1)]), 0);
    assert_eq!(dropped_from(&[enter(0, OUTER), enter(1, INNER), range, leave(1), leave(0)]), 1);
}

#[test]
fn what_is_above_all_known_frames_is_kept() {
    assert_eq!(dropped_from(&[enter(0, OUTER), write(OUTER), leave(0)]), 0);
    assert_eq!(dropped_from(&[write(OUTER_BUFFER)]), 0, "the function was entered in an earlier chunk");
}

#[test]
fn a_frame_without_a_stack_pointer_hides_those_around_it() {
    assert_eq!(dropped_from(&[enter(0, OUTER), enter(1, 0), write(OUTER_BUFFER), leave(0)]), 0);
    assert_eq!(dropped_from(&[enter(0, 0), write(OUTER_BUFFER), leave(0)]), 0);
}

#[test]
fn a_frame_on_another_stack_owns_nothing() {
    let elsewhere = STACK - 0x10_0000;
    assert_eq!(dropped_from(&[enter(0, OUTER), enter(1, elsewhere), write(INNER_BUFFER), leave(0)]), 0);
    assert_eq!(dropped_from(&[enter(0, elsewhere), write(elsewhere - 64), leave(0)]), 0);
}

#[test]
fn without_a_known_stack_nothing_is_private() {
    let events = [enter(0, OUTER), write(OUTER_BUFFER), leave(0)];
    assert_eq!(thin(&events).1, Dropped::default());
    let heap = Event::new(Kind::Allocate, memory::HEAP, 0, STACK, 0);
    let all: Vec<Event> = [begin()[0], heap].into_iter().chain(events).collect();
    assert_eq!(thin(&all).1, Dropped::default(), "an allocation on the heap is not a stack");
}

#[test]
fn the_stack_is_known_from_chunk_to_chunk() {
    let [extent, stack] = begin();
    let call = [enter(0, OUTER), write(OUTER_BUFFER), leave(0)];
    let (_, dropped) = thinned(&[&[extent], &[stack], &call, &call], &mut Thinner::new(None));
    assert_eq!(dropped.stack, 2);
    let (_, dropped) = thinned(&[&[extent, stack], &call[..2], &call[2..]], &mut Thinner::new(None));
    assert_eq!(dropped.stack, 0, "entered in one chunk and left in the next");
}

#[test]
fn a_return_over_several_frames_closes_them_all() {
    assert_eq!(dropped_from(&[enter(0, OUTER), enter(1, INNER), write(INNER_BUFFER), leave(0)]), 1);
    assert_eq!(dropped_from(&[enter(0, OUTER), enter(1, INNER), write(INNER_BUFFER), enter(0, OUTER)]), 1);
}

#[test]
fn the_first_and_the_last_of_a_loop_are_kept() {
    let read = |branches| Event::access(Kind::Read, 0, 8, branches, HEAP, 0x40_2000);
    let (kept, dropped) = thin(&[read(3); 100]);
    assert_eq!(kept, [read(3), read(297)]);
    assert_eq!(dropped, Dropped { repetition: 98, ..Dropped::default() });
}

#[test]
fn branch_counts_saturate() {
    let read = |branches| Event::access(Kind::Read, 0, 8, branches, HEAP, 0x40_2000);
    assert_eq!(thin(&[read(40_000); 4]).0, [read(40_000), read(u16::MAX)]);
}

#[test]
fn an_atomic_operation_gets_the_branches_before_it() {
    let count = |number| Event::new(Kind::Branches, 0, number, 0, 0);
    let update = Event::new(Kind::AtomicUpdate, 0, 0, HEAP, 1);
    let tail = [count(5), update];
    let events: Vec<Event> =
        begin().into_iter().chain([enter(0, OUTER), write(OUTER_BUFFER), leave(0)]).chain(tail).collect();
    assert_eq!(thin(&events).0[4..], [count(6), update]);
}

#[test]
fn a_code_location_is_judged_once() {
    let mut asked = HashSet::new();
    let mut thinner = Thinner::new(Some(Box::new(move |pc| {
        assert!(asked.insert(pc), "asked twice");
        pc == 0x40_2000
    })));
    let other = Event::access(Kind::Read, 0, 8, 1, HEAP, 0x40_5000);
    let chunk = [write(HEAP), other, write(HEAP + 8)];
    let (kept, dropped) = thinned(&[&chunk, &chunk], &mut thinner);
    assert_eq!(kept.concat().iter().map(|event| event.pc).collect::<Vec<_>>(), [other.pc; 2]);
    assert_eq!(dropped, Dropped { excluded: 4, ..Dropped::default() });
}

#[test]
fn programs_keep_all_but_accesses() {
    for (name, program) in trace_streams::ALL {
        let events = program(50_000);
        let chunks: Vec<&[Event]> = events.chunks(680).collect();
        let (kept, dropped) = thinned(&chunks, &mut Thinner::new(None));
        let others = |events: &[Event]| events.iter().filter(|event| !is_access(event)).copied().collect::<Vec<_>>();
        assert_eq!(others(&kept.concat()), others(&events), "{name}");
        assert_eq!(dropped.total() as usize, events.len() - kept.concat().len(), "{name}");
    }
}
