//! Recordings that were written without trouble, or by a program that was killed: what goes in comes out.

mod trace_run;

use std::fs;

use avmon::event::{Event, Kind};
use avmon::trace::reader::{OpenError, Problem, Trace};
use avmon::trace::writer::Limits;
use proptest::prelude::*;
use tempfile::tempdir;
use trace_run::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_run_comes_back_in_the_order_of_the_live_analysis(
        seed in any::<u64>(),
        timing in any::<u64>(),
        steps in 1..4000_usize,
        chunk in 1..120_usize,
    ) {
        let directory = tempdir().unwrap();
        let streams = simulate(seed, steps, 6);
        let live = record(directory.path(), &streams, Recipe { seed: timing, chunk, ..PLAIN });
        let trace = Trace::open(directory.path()).unwrap();
        prop_assert_eq!(texts(trace.problems()), Vec::<String>::new());
        let (output, result) = monitored(&trace);
        prop_assert_eq!(texts(&result.problems), Vec::<String>::new());
        prop_assert_eq!(&output, &live.order);
        let (output, result) = merged(&trace);
        prop_assert_eq!(texts(&result.problems), Vec::<String>::new());
        assert_legal(&streams, &output);
        let is_seen = |event: &Event| event.kind().is_some_and(|kind| kind.is_for_monitor() && !matches!(kind, Kind::Enter | Kind::Leave));
        let seen = |all: &[(u32, Event)]| all.iter().filter(|(_, event)| is_seen(event)).copied().collect::<Vec<_>>();
        prop_assert_eq!(seen(&output), seen(&live.order), "both orders agree on what both have");
    }

    #[test]
    fn a_killed_program_loses_nothing_that_was_published(
        seed in any::<u64>(),
        timing in any::<u64>(),
        killed in 0..900_usize,
        chunk in 1..60_usize,
    ) {
        let directory = tempdir().unwrap();
        let streams = simulate(seed, 3000, 5);
        let live = record(directory.path(), &streams, Recipe { seed: timing, chunk, killed_after: Some(killed), ..PLAIN });
        let trace = Trace::open(directory.path()).unwrap();
        prop_assert_eq!(texts(trace.problems()), [Problem::NoEnd.to_string()]);
        let (output, result) = merged(&trace);
        prop_assert_eq!(texts(&result.problems), Vec::<String>::new());
        for (thread, published) in live.published.iter().enumerate() {
            prop_assert_eq!(&by_thread(&output, thread), published);
            if !published.is_empty() {
                prop_assert_eq!(&alone(&trace, thread as u32), published);
            }
        }
        let (output, result) = monitored(&trace);
        prop_assert_eq!(texts(&result.problems), Vec::<String>::new());
        // The journal may end before the order that the live analysis saw, but then goes on by the numbers.
        prop_assert!(output.len() >= live.order.len());
    }
}
