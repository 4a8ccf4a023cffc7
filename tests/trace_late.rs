//! The monitor finds the same in its own view of a recording as in all of it.

mod common;
mod trace_streams;

use std::collections::HashMap;

use avmon::analysis::Violation;
use avmon::analysis::sidetrack::Config;
use avmon::event::{Event, Kind, ThreadId};
use avmon::trace::late::LateFrames;
use common::Trace;
use proptest::prelude::*;

const THREADS: ThreadId = 4;

/// One thing that a thread does. Depths are made to fit when it does it.
#[derive(Clone, Copy, Debug)]
enum Step {
    Call(u64),
    Return,
    /// Some frames at once, as `longjmp` does.
    Unwind(u32),
    /// A frame whose callers were not seen.
    Jump(u32),
    Access,
    Tell(Kind, u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let locking = prop_oneof![Just(Kind::Acquire), Just(Kind::Release)];
    let kinds = Kind::ALL.iter().copied().filter(|kind| {
        // Threads begin and end once; these are told by the test itself.
        !matches!(kind, Kind::Enter | Kind::Leave | Kind::Fork | Kind::Start | Kind::End | Kind::Join)
    });
    prop_oneof![
        6 => (0..4_u64).prop_map(Step::Call),
        5 => Just(Step::Return),
        1 => (0..4_u32).prop_map(Step::Unwind),
        1 => (0..3_u32).prop_map(Step::Jump),
        3 => Just(Step::Access),
        6 => (locking, 1..3_u64).prop_map(|(kind, object)| Step::Tell(kind, object)),
        2 => (proptest::sample::select(kinds.collect::<Vec<_>>()), 1..3_u64)
            .prop_map(|(kind, object)| Step::Tell(kind, object)),
    ]
}

/// The full stream of all threads, in the order in which it happened.
fn stream(steps: &[(ThreadId, Step)]) -> Vec<(ThreadId, Event)> {
    let mut depths: HashMap<ThreadId, u32> = HashMap::new();
    let mut events = Vec::new();
    for (place, &(thread, step)) in steps.iter().enumerate() {
        let depth = depths.entry(thread).or_default();
        let pc = place as u64 % 16;
        let event = match step {
            Step::Call(function) => {
                *depth += 1;
                Event::enter(*depth - 1, 0x7fff_0000 - 64 * u64::from(*depth), 100 + function, pc)
            }
            Step::Jump(gap) => {
                *depth += gap + 1;
                Event::enter(*depth - 1, 0, 200, pc)
            }
            Step::Return => {
                *depth = depth.saturating_sub(1);
                Event::new(Kind::Leave, 0, u64::from(*depth), 0, pc)
            }
            Step::Unwind(to) => {
                *depth = (*depth).min(to);
                Event::new(Kind::Leave, 0, u64::from(*depth), 0, 0)
            }
            Step::Access => Event::access(Kind::Write, 0, 8, 1, 0x1000, pc),
            Step::Tell(kind, object) => Event::new(kind, 0, 0, object, pc),
        };
        events.push((thread, event));
    }
    events
}

fn found(config: Config, events: impl IntoIterator<Item = (ThreadId, Event)>) -> Vec<Violation> {
    let mut trace = Trace::new(config, THREADS);
    for (thread, event) in events {
        trace.event(thread, event);
    }
    trace.found
}

/// The monitor's view of all threads, each event where it happened.
fn late(events: &[(ThreadId, Event)]) -> Vec<(ThreadId, Event)> {
    let mut threads: HashMap<ThreadId, LateFrames> = HashMap::new();
    let mut seen = Vec::new();
    for &(thread, event) in events {
        let mut told = Vec::new();
        threads.entry(thread).or_default().split(&[event], &mut told);
        seen.extend(told.into_iter().map(|event| (thread, event)));
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_late_view_gives_the_same_findings(
        strict_waits in any::<bool>(),
        sections in any::<bool>(),
        steps in proptest::collection::vec((0..=THREADS, any_step()), 1..200),
    ) {
        let config = Config { strict_waits, sections, ..common::FUNCTIONS };
        let events = stream(&steps);
        prop_assert_eq!(found(config, late(&events)), found(config, events));
    }

    #[test]
    fn pieces_do_not_matter(
        steps in proptest::collection::vec(any_step(), 1..200),
        cuts in proptest::collection::vec(1..20_usize, 1..20),
    ) {
        let steps: Vec<_> = steps.into_iter().map(|step| (0, step)).collect();
        let events: Vec<Event> = stream(&steps).into_iter().map(|(_, event)| event).collect();
        let mut whole = Vec::new();
        LateFrames::new().split(&events, &mut whole);
        let (mut frames, mut pieces, mut rest) = (LateFrames::new(), Vec::new(), &events[..]);
        for cut in cuts.into_iter().cycle() {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            frames.split(piece, &mut pieces);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(pieces, whole);
    }

    /// Frames are only told right before something that is none.
    #[test]
    fn the_view_never_ends_in_a_frame(steps in proptest::collection::vec((0..1_u32, any_step()), 1..100)) {
        let seen = late(&stream(&steps));
        let kind = seen.last().and_then(|(_, event)| event.kind());
        prop_assert!(!matches!(kind, Some(Kind::Enter | Kind::Leave)));
    }
}

fn view(events: &[Event]) -> Vec<Event> {
    let mut out = Vec::new();
    LateFrames::new().split(events, &mut out);
    out
}

fn enter(depth: u32, function: u64) -> Event {
    Event::enter(depth, 0x7fff_1000, function, function + 1)
}

fn told(depth: u64, function: u64) -> Event {
    Event::new(Kind::Enter, 0, depth, function, function + 1)
}

fn leave(depth: u64) -> Event {
    Event::new(Kind::Leave, 0, depth, 0, 0)
}

#[test]
fn a_function_in_which_nothing_happens_is_not_told() {
    let lock = Event::new(Kind::Acquire, 0, 0, 5, 6);
    let read = Event::access(Kind::Read, 0, 8, 0, 5, 6);
    assert_eq!(view(&[lock, enter(0, 10), read, enter(1, 20), leave(1), leave(0), lock]), [lock, lock]);
}

#[test]
fn a_function_that_is_entered_again_is_told_again() {
    let lock = Event::new(Kind::Acquire, 0, 0, 5, 6);
    let events = [enter(0, 10), enter(1, 20), lock, leave(1), enter(1, 20), lock, leave(1), lock];
    assert_eq!(view(&events), [told(0, 10), told(1, 20), lock, told(1, 20), lock, leave(1), lock]);
}

#[test]
fn what_was_closed_is_told_even_if_a_deeper_function_follows() {
    let lock = Event::new(Kind::Acquire, 0, 0, 5, 6);
    let events = [enter(0, 10), enter(1, 20), lock, leave(0), enter(2, 30), lock];
    assert_eq!(view(&events), [told(0, 10), told(1, 20), lock, leave(0), told(2, 30), lock]);
}

#[test]
fn accesses_unknown_kinds_and_the_like_are_not_told() {
    let unknown = Event::from_words([0xff, 1, 2]);
    let others = [Kind::Read, Kind::Write, Kind::Fence, Kind::Extent, Kind::Value, Kind::Branches, Kind::Time];
    let events: Vec<Event> = others.iter().map(|&kind| Event::new(kind, 0, 8, 5, 6)).chain([unknown]).collect();
    assert_eq!(view(&events), []);
}

#[test]
fn programs_have_few_events_for_the_monitor() {
    assert_eq!(view(&trace_streams::tree(10_000)).len(), 2, "the thread's start and its stack");
}
