//! Streams that no program makes: lost, doubled and misplaced events. The analysis runs inside other people's
//! programs, so it must survive them all, and keep its books: when all threads and locks are gone, nothing is left.

mod common;

use avmon::analysis::sidetrack::Config;
use avmon::event::{Event, Kind, Mode};
use common::Trace;
use proptest::prelude::*;

const THREADS: u32 = 5;
const OBJECTS: u64 = 5;

/// Any kind, but mostly those that make windows.
fn any_kind() -> impl Strategy<Value = Kind> {
    let usual = [Kind::Acquire, Kind::Release, Kind::Acquire, Kind::Release, Kind::BlockBegin, Kind::Enter];
    prop_oneof![1 => proptest::sample::select(Kind::ALL), 3 => proptest::sample::select(usual.to_vec())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_stream_is_survived_and_leaves_nothing(
        switches in any::<[bool; 5]>(),
        steps in proptest::collection::vec((0..THREADS, any_kind(), any::<bool>(), 0..4_u64, 1..=OBJECTS), 1..300),
    ) {
        let [paper, strict_waits, functions, sections, rechecks] = switches;
        let mut trace = Trace::new(Config { paper, strict_waits, functions, sections, rechecks }, 0);
        for (line, (thread, kind, shared, number, object)) in steps.into_iter().enumerate() {
            let mode = if shared { Mode::Shared } else { Mode::Exclusive };
            trace.event(thread, Event::new(kind, mode as u8, number, object, line as u64 % 20));
        }
        for violation in &trace.found {
            prop_assert!(violation.common > 0 && violation.block().is_some());
            let prefix = |stack: &[_]| stack[..violation.common].to_vec();
            prop_assert_eq!(prefix(&violation.first.stack), prefix(&violation.second.stack));
            prop_assert!(violation.first.thread == violation.second.thread);
            prop_assert!(violation.culprit.thread != violation.first.thread);
        }
        for thread in 0..THREADS {
            trace.t(thread).exit();
        }
        for object in 1..=OBJECTS {
            trace.t(0).destroy(object);
        }
        let rest = trace.analysis.footprint();
        prop_assert_eq!((rest.locks, rest.stack_nodes, rest.held_nodes, rest.section_nodes), (0, 0, 0, 0));
    }
}
