//! The recorder drops an acquire and its release that repeat the pair before them (`runtime::record::acquire_mutex`).
//! Here its rule is applied to random streams: the analysis must find the same with and without the repetitions.

mod common;

use avmon::analysis::Violation;
use avmon::analysis::sidetrack::Config;
use avmon::event::{Event, Kind, Mode, ThreadId};
use common::{BLOCKS, SECTIONS, Trace};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};

const THREADS: ThreadId = 3;

/// One step of a thread, if it is possible when its turn comes. Random streams have no `Try`: a refused attempt takes all
/// that the owner of its lock did so far for done before it, and what the owner put off is not among that.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Takes and gives back a lock, so many times at one place.
    Sync {
        lock: u64,
        place: u64,
        times: u8,
    },
    Acquire {
        lock: u64,
        place: u64,
    },
    ReleaseLast,
    Try {
        lock: u64,
        place: u64,
    },
    Begin,
    End,
    Signal {
        object: u64,
    },
    Await {
        object: u64,
    },
}

fn any_step() -> impl Strategy<Value = Step> {
    let (lock, place) = (1..=3_u64, 1..=2_u64);
    prop_oneof![
        4 => (lock.clone(), place.clone(), 1..6_u8).prop_map(|(lock, place, times)| Step::Sync { lock, place, times }),
        2 => (lock, place).prop_map(|(lock, place)| Step::Acquire { lock, place }),
        2 => Just(Step::ReleaseLast),
        1 => Just(Step::Begin),
        1 => Just(Step::End),
        1 => (10..12_u64).prop_map(|object| Step::Signal { object }),
        1 => (10..12_u64).prop_map(|object| Step::Await { object }),
    ]
}

type Stream = Vec<(ThreadId, Event)>;

/// What the hooks would see of these steps, with mutual exclusion and recursive locks.
fn observe(steps: &[(ThreadId, Step)]) -> Stream {
    let mut stream = Stream::new();
    let mut owner: HashMap<u64, ThreadId> = HashMap::new();
    let mut held: HashMap<ThreadId, Vec<u64>> = HashMap::new();
    let mut blocks: HashMap<ThreadId, u32> = HashMap::new();
    let event = |kind, object, pc| Event::new(kind, Mode::Exclusive as u8, 0, object, pc);
    for &(thread, step) in steps {
        let is_free = |lock: u64, owner: &HashMap<u64, ThreadId>| owner.get(&lock).is_none_or(|&by| by == thread);
        let mine = held.entry(thread).or_default();
        match step {
            Step::Sync { lock, place, times } if is_free(lock, &owner) => {
                for _ in 0..times {
                    stream.push((thread, event(Kind::Acquire, lock, lock * 10 + place)));
                    stream.push((thread, event(Kind::Release, lock, 0)));
                }
            }
            Step::Acquire { lock, place } | Step::Try { lock, place } if is_free(lock, &owner) => {
                stream.push((thread, event(Kind::Acquire, lock, lock * 10 + place)));
                owner.insert(lock, thread);
                mine.push(lock);
            }
            Step::Try { lock, .. } => stream.push((thread, event(Kind::Refused, lock, 0))),
            Step::ReleaseLast => {
                if let Some(lock) = mine.pop() {
                    stream.push((thread, event(Kind::Release, lock, 0)));
                    if !mine.contains(&lock) {
                        owner.remove(&lock);
                    }
                }
            }
            Step::Begin => {
                *blocks.entry(thread).or_default() += 1;
                stream.push((thread, event(Kind::BlockBegin, 0, 1)));
            }
            Step::End => {
                if let Some(open @ 1..) = blocks.get_mut(&thread) {
                    *open -= 1;
                    stream.push((thread, event(Kind::BlockEnd, 0, 0)));
                }
            }
            Step::Signal { object } => stream.push((thread, event(Kind::Signal, object, 0))),
            Step::Await { object } => stream.push((thread, event(Kind::Await, object, 0))),
            Step::Sync { .. } | Step::Acquire { .. } => {}
        }
    }
    stream
}

/// The recorder's rule.
fn drop_repetitions(stream: &Stream) -> Stream {
    let mut kept = Stream::new();
    let mut recorded: HashMap<ThreadId, Vec<Event>> = HashMap::new();
    let mut deferred: HashMap<ThreadId, Event> = HashMap::new();
    // Who recorded the last event on a lock: while it is oneself, its stripe has not advanced.
    let mut last_on: HashMap<u64, ThreadId> = HashMap::new();
    for &(thread, mut event) in stream {
        let mine = recorded.entry(thread).or_default();
        if let Some(acquire) = deferred.remove(&thread) {
            let unseen = last_on.get(&acquire.object) == Some(&thread);
            if event.kind() == Some(Kind::Release) && event.object == acquire.object && unseen {
                continue;
            }
            kept.push((thread, acquire));
            mine.push(acquire);
            last_on.insert(acquire.object, thread);
        } else if event.kind() == Some(Kind::Acquire)
            && let [.., acquire, release] = mine[..]
            && (acquire.kind(), release.kind()) == (Some(Kind::Acquire), Some(Kind::Release))
            && (acquire.object, acquire.pc, release.object) == (event.object, event.pc, event.object)
            && last_on.get(&event.object) == Some(&thread)
        {
            if acquire.is_repeated_acquire() {
                deferred.insert(thread, event);
                continue;
            }
            event = Event::new(Kind::Acquire, Event::REPEATED, 0, event.object, event.pc);
        }
        kept.push((thread, event));
        mine.push(event);
        last_on.insert(event.object, thread);
    }
    kept
}

/// What is told about a violation, in comparable form.
fn facts(violation: &Violation) -> String {
    let Violation { kind, lock, first, second, culprit, .. } = violation;
    format!("{kind:?} {lock} {} {} {} {:?}", first.pc, second.pc, culprit.pc, violation.block())
}

fn found(stream: &Stream, config: Config) -> BTreeSet<String> {
    let mut trace = Trace::new(config, THREADS - 1);
    for &(thread, event) in stream {
        trace.event(thread, event);
    }
    trace.found.iter().map(facts).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn repetitions_add_no_finding(steps in proptest::collection::vec((0..THREADS, any_step()), 1..60)) {
        let stream = observe(&steps);
        let shorter = drop_repetitions(&stream);
        for config in [BLOCKS, SECTIONS, Config { strict_waits: true, ..SECTIONS }] {
            prop_assert_eq!(found(&shorter, config), found(&stream, config), "{:?}\n{:?}", stream, shorter);
        }
    }
}

/// Thread 0 was refused the lock that thread 1 held for the third time, so it runs after all three: it cannot split the
/// loop of thread 1, nor thread 1 its own.
#[test]
fn a_refused_attempt_sees_a_repetition() {
    let sync = |times| Step::Sync { lock: 3, place: 1, times };
    let take = |lock| Step::Acquire { lock, place: 1 };
    let steps = [
        (0, take(1)),
        (1, take(2)),
        (1, sync(2)),
        (1, take(3)),
        (0, Step::Try { lock: 3, place: 1 }),
        (1, Step::ReleaseLast),
        (0, sync(2)),
    ];
    let stream = observe(&steps);
    assert!(stream.iter().any(|(_, event)| event.kind() == Some(Kind::Refused)));
    assert_eq!(found(&stream, SECTIONS), BTreeSet::new());
    assert_eq!(found(&drop_repetitions(&stream), SECTIONS), BTreeSet::new());
}
