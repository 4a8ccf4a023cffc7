//! One test per rule of the analysis beyond the paper's figures.

mod common;

use avmon::analysis::ErrorKind::{After, Before, In};
use avmon::analysis::sidetrack::{Config, Footprint};
use avmon::analysis::{ErrorKind, Transaction, Violation};
use avmon::event::Mode::{self, Exclusive, Shared};
use avmon::event::{Event, Kind, RESUMED, ThreadId};
use common::{BLOCKS, FUNCTIONS, K, M, N, PAPER, SECTIONS, Trace};

const STRICT: Config = Config { strict_waits: true, ..BLOCKS };
const COND: u64 = 0xc000;

/// A window of thread 1 on `lock`.
fn window(trace: &mut Trace, lock: u64) {
    trace.t(1).begin().sync(lock).sync(lock).end();
}

// Windows and transactions

#[test]
fn two_acquires_in_different_transactions_make_no_window() {
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(1).begin().sync(M).end().begin().sync(M).end();
    trace.t(1).sync(M).sync(M);
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn a_block_around_a_function_and_a_function_around_a_block() {
    let mut trace = Trace::new(FUNCTIONS, 2);
    trace.t(1).begin().call(0xf0).sync(M).ret().call(0xf0).sync(M).ret().end();
    trace.t(1).call(0xf1).begin().sync(N).end().begin().sync(N).end().ret();
    trace.t(2).sync(M).sync(N);
    assert_eq!(trace.kinds(), [After, After]);
    assert!(matches!(trace.found[0].block(), Some(Transaction::Block { .. })));
    assert!(matches!(trace.found[1].block(), Some(Transaction::Function { inside: 0xf1, .. })));
}

#[test]
fn cutting_functions_below_a_block_closes_the_block_too() {
    let mut trace = Trace::new(FUNCTIONS, 2);
    let enter = |kept, function| Event::new(Kind::Enter, 0, kept, function, 0x77);
    trace.event(1, enter(0, 0xf0));
    trace.event(1, enter(1, 0xf1));
    trace.t(1).begin().sync(M);
    // A longjmp back into a new call from the bottom: the block is gone, and its end mark must not close another one.
    trace.event(1, enter(0, 0xf2));
    trace.t(1).end().sync(M).sync(M);
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), [After]);
    assert_eq!(trace.found[0].first.stack, [Transaction::Function { inside: 0xf2, call: 0x77 }]);
}

#[test]
fn functions_are_ignored_unless_asked_for() {
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(1).call(0xf0).sync(M).sync(M).ret();
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn re_entrant_acquires_are_invisible() {
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(1).begin().acq(M).sync(M).sync(M).rel(M).end();
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), []);
    trace.t(1).begin().acq(M).sync(M).rel(M).sync(M).end();
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), [Before, After]);
}

#[test]
fn a_wait_ends_the_transaction_unless_strict() {
    for (config, expected) in [(BLOCKS, vec![]), (STRICT, vec![In])] {
        let mut trace = Trace::new(config, 2);
        trace.t(1).begin().acq(M).rel(M).interfere();
        trace.t(2).acq(M).signal(COND).rel(M);
        trace.t(1).acq(M).wait(COND).rel(M).end();
        assert_eq!(trace.kinds(), expected);
    }
}

#[test]
fn what_a_wait_gives_back_goes_by_the_place_where_it_was_taken() {
    for (config, place) in [(BLOCKS, 0x11), (STRICT, 0x13)] {
        let mut trace = Trace::new(config, 2);
        let acquire = |detail, pc| Event::new(Kind::Acquire, detail, 0, M, pc);
        trace.t(1).begin();
        trace.event(1, acquire(Exclusive as u8, 0x11));
        trace.t(1).rel(M).interfere();
        trace.event(1, acquire(RESUMED, 0x13));
        trace.t(1).rel(M).sync(M).end();
        trace.t(2).sync(M);
        assert_eq!(trace.found.last().map(|violation| violation.first.pc), Some(place));
    }
}

#[test]
fn a_window_after_a_wait_is_a_window() {
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(1).begin().sync(M).interfere().sync(M).sync(M).end();
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), [After]);
}

#[test]
fn the_outermost_section_is_a_transaction() {
    let mut trace = Trace::new(SECTIONS, 2);
    trace.t(1).acq(N).sync(M).sync(M).rel(N);
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), [After]);
    let violation = &trace.found[0];
    assert!(matches!(violation.block(), Some(Transaction::Section { lock: N, .. })));
    assert_eq!(violation.first.held, [N]);
    assert_eq!(violation.locations(), (violation.first.pc, violation.second.pc));
}

#[test]
fn two_sections_in_a_row_are_two_transactions() {
    let mut trace = Trace::new(SECTIONS, 2);
    trace.t(1).acq(N).sync(M).rel(N).acq(N).sync(M).rel(N);
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn a_section_sits_between_the_functions_around_and_inside_it() {
    let mut trace = Trace::new(Config { functions: true, ..SECTIONS }, 2);
    trace.t(1).call(0xf0).acq(N);
    trace.t(1).call(0xf1).sync(M).ret().call(0xf2).sync(M).ret();
    trace.t(1).rel(N).ret();
    trace.t(2).sync(M);
    let violation = &trace.found[0];
    assert_eq!(violation.common, 2);
    assert!(matches!(
        violation.second.stack[..],
        [
            Transaction::Function { inside: 0xf0, .. },
            Transaction::Section { lock: N, .. },
            Transaction::Function { inside: 0xf2, .. }
        ]
    ));
}

#[test]
fn a_section_outlives_the_function_that_opened_it() {
    let mut trace = Trace::new(Config { functions: true, ..SECTIONS }, 2);
    trace.t(1).call(0xf0).acq(N).sync(M).ret();
    trace.t(1).call(0xf1).sync(M).rel(N).ret();
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), [After]);
    assert!(matches!(trace.found[0].block(), Some(Transaction::Section { lock: N, .. })));
}

// Functions that take a lock for their caller

const INSIDE_WRAPPER: u64 = 0xacc;

/// `own` takes `lock` through nested wrappers, which it calls at `own + 1`, and releases it itself.
fn section_through(trace: &mut Trace, thread: ThreadId, own: u64, wrappers: &[u64], (lock, mode): (u64, Mode)) {
    trace.t(thread).call(own);
    let mut call = own + 1;
    for (kept, &wrapper) in (1..).zip(wrappers) {
        trace.event(thread, Event::new(Kind::Enter, 0, kept, wrapper, call));
        call = wrapper + 1;
    }
    trace.event(thread, Event::new(Kind::Acquire, mode as u8, 0, lock, INSIDE_WRAPPER));
    trace.event(thread, Event::new(Kind::Leave, 0, 1, 0, 0));
    trace.t(thread).rel(lock).ret();
}

/// Where the culprits found so far are, and how many of their frames are their own.
fn culprits(trace: &Trace) -> Vec<(ErrorKind, u64, usize)> {
    let culprit = |violation: &Violation| (violation.kind, violation.culprit_location(), violation.culprit_frames);
    trace.found.iter().map(culprit).collect()
}

#[test]
fn a_wrapper_is_known_when_its_first_culprit_is_reported() {
    for mode in [Exclusive, Shared] {
        let mut trace = Trace::new(FUNCTIONS, 3);
        trace.t(1).call(0xb0).sync(M).sync(M).ret();
        section_through(&mut trace, 2, 0xf0, &[0xa0], (M, mode));
        assert_eq!(culprits(&trace), [(After, 0xf1, 1)]);
        assert_eq!((trace.found[0].culprit.pc, trace.found[0].culprit.stack.len()), (INSIDE_WRAPPER, 2));
        section_through(&mut trace, 3, 0xf0, &[0xa0], (M, mode));
        assert_eq!(trace.kinds(), [After], "it is the same culprit, though its wrapper was not known at first");
        assert_eq!(trace.analysis.counts()[&trace.found[0].key], 2);
    }
}

#[test]
fn two_culprits_behind_one_wrapper_are_two() {
    let two = |trace: &mut Trace| {
        section_through(trace, 2, 0xf0, &[0xa0], (M, Exclusive));
        section_through(trace, 3, 0xf8, &[0xa0], (M, Exclusive));
    };
    let mut trace = Trace::new(FUNCTIONS, 3);
    trace.t(1).call(0xb0).sync(M).sync(M).ret();
    two(&mut trace);
    assert_eq!(culprits(&trace), [(After, 0xf1, 1), (After, 0xf9, 1)]);

    let mut trace = Trace::new(FUNCTIONS, 3);
    trace.t(1).call(0xb0);
    for (thread, own) in [(2, 0xf0), (3, 0xf8)] {
        section_through(&mut trace, thread, own, &[0xa0], (M, Exclusive));
        trace.t(1).sync(M);
    }
    trace.t(1).sync(M).ret();
    assert_eq!(culprits(&trace), [(Before, 0xf1, 1), (In, 0xf9, 1), (Before, 0xf9, 1)]);
}

#[test]
fn wrappers_in_wrappers_are_seen_through() {
    let mut trace = Trace::new(FUNCTIONS, 3);
    trace.t(1).call(0xb0).sync(M).sync(M).ret();
    section_through(&mut trace, 2, 0xf0, &[0xa0, 0xa4, 0xa8], (M, Exclusive));
    // The inner wrappers are known by now; the outermost is another one.
    section_through(&mut trace, 3, 0xf8, &[0xac, 0xa4, 0xa8], (M, Exclusive));
    assert_eq!(culprits(&trace), [(After, 0xf1, 1), (After, 0xf9, 1)]);
}

#[test]
fn a_function_that_releases_its_lock_is_no_wrapper() {
    let mut trace = Trace::new(FUNCTIONS, 2);
    trace.t(1).call(0xb0).sync(M).sync(M).ret();
    trace.t(2).call(0xf0).call(0xa0).acq(M).call(0xa4).rel(M).ret().ret().ret();
    assert_eq!(culprits(&trace), [(After, trace.found[0].culprit.pc, 2)]);
}

#[test]
fn a_thread_that_left_its_base_has_shown_no_wrapper() {
    let mut trace = Trace::new(FUNCTIONS, 2);
    trace.t(1).call(0xb0).sync(M).sync(M).ret();
    trace.t(2).call(0xf0).acq(M).ret().rel(M);
    assert_eq!(culprits(&trace), [(After, trace.found[0].culprit.pc, 1)]);
}

#[test]
fn a_section_around_the_wrapper_is_the_culprits_own() {
    let mut trace = Trace::new(Config { functions: true, ..SECTIONS }, 2);
    trace.t(1).call(0xb0).sync(M).sync(M).ret();
    trace.t(2).call(0xf0).acq(N);
    trace.event(2, Event::new(Kind::Enter, 0, 1, 0xa0, 0xf1));
    trace.event(2, Event::new(Kind::Acquire, 0, 0, M, INSIDE_WRAPPER));
    trace.event(2, Event::new(Kind::Leave, 0, 1, 0, 0));
    trace.t(2).rel(M).rel(N).ret();
    assert_eq!(culprits(&trace), [(After, 0xf1, 2)]);
    assert!(matches!(trace.found[0].culprit.stack[1], Transaction::Section { lock: N, .. }));
}

// What keeps a culprit out

#[test]
fn an_after_error_waits_for_the_end_of_the_culprits_section() {
    let mut trace = Trace::new(BLOCKS, 2);
    window(&mut trace, M);
    trace.t(2).acq(M);
    assert_eq!(trace.kinds(), []);
    trace.t(2).rel(M);
    assert_eq!(trace.kinds(), [After]);
}

#[test]
fn the_culprit_may_take_a_lock_that_the_window_used_later() {
    let mut trace = Trace::new(BLOCKS, 2);
    window(&mut trace, M);
    trace.t(1).sync(K);
    trace.t(2).acq(M).sync(K).rel(M);
    assert_eq!(trace.kinds(), [After], "an inner lock that nobody can be inside of does not keep the culprit out");
}

#[test]
fn the_culprit_cannot_finish_while_a_third_thread_holds_what_it_needs_until_after_the_window() {
    let third_thread_holds_k = |trace: &mut Trace| {
        trace.t(3).acq(K).signal(COND);
        trace.t(1).wait(COND).begin().sync(M).sync(M).end().signal(COND + 8);
        trace.t(3).wait(COND + 8).rel(K);
        trace.t(2).wait(COND).acq(M).sync(K).rel(M);
    };
    let mut paper = Trace::new(PAPER, 3);
    third_thread_holds_k(&mut paper);
    assert_eq!(paper.kinds(), [After]);
    let mut trace = Trace::new(BLOCKS, 3);
    third_thread_holds_k(&mut trace);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn the_culprit_cannot_finish_if_it_awaits_what_follows_the_window() {
    let mut trace = Trace::new(BLOCKS, 2);
    window(&mut trace, M);
    trace.t(1).signal(COND);
    trace.t(2).acq(M).wait(COND).rel(M);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn the_culprit_may_keep_a_lock_that_it_took_inside() {
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(1).begin().sync(M).sync(K).sync(M).end().signal(COND);
    trace.t(2).acq(M).acq(K).rel(M);
    assert_eq!(trace.kinds(), [After], "the window's thread has done with K before its second acquire");
    trace.t(2).wait(COND).rel(K);
}

#[test]
fn a_before_error_cannot_happen_while_the_window_holds_what_the_culprit_needs() {
    for (config, expected) in [(PAPER, vec![Before]), (BLOCKS, vec![])] {
        let mut trace = Trace::new(config, 2);
        trace.t(2).acq(M).sync(K).rel(M);
        trace.t(1).begin().acq(M).acq(K).rel(M).sync(M).rel(K).end();
        assert_eq!(trace.kinds(), expected);
    }
}

#[test]
fn a_before_error_can_happen_if_the_inner_lock_is_given_back() {
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(2).acq(M).sync(K).rel(M);
    trace.t(1).begin().acq(M).sync(K).rel(M).sync(M).end();
    assert_eq!(trace.kinds(), [Before]);
}

/// The shortest false alarm of the paper's rules that the oracle found: joining inside the first section.
#[test]
fn a_before_error_whose_first_section_joins_the_culprit_cannot_happen() {
    for (config, expected) in [(PAPER, vec![Before]), (BLOCKS, vec![])] {
        let mut trace = Trace::new(config, 2);
        trace.t(2).sync(M).exit();
        trace.t(1).begin().acq(M).join(2).rel(M).sync(M).end();
        assert_eq!(trace.kinds(), expected);
    }
}

/// Found by the oracle: the writer cannot come before the reader that the other reader joins.
#[test]
fn a_before_error_with_a_reader_cannot_happen_while_another_reader_waits_for_it() {
    for (config, expected) in [(PAPER, vec![Before]), (BLOCKS, vec![])] {
        let mut trace = Trace::new(config, 0);
        trace.t(0).acq_in(M, Shared).fork(1).fork(2);
        trace.t(1).sync_in(M, Shared).exit();
        trace.t(0).join(1).rel(M);
        trace.t(2).begin().sync(M).sync(M).end();
        assert_eq!(trace.kinds(), expected);
    }
}

/// Thread 2 took M, then N. Thread 1 takes N in its first section of M: in the predicted run it is there first, and must be out again
/// before thread 2 comes. What it holds from before does not matter.
#[test]
fn a_before_error_may_turn_round_the_order_of_another_lock() {
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(2).sync(M).sync(N);
    trace.t(1).begin().acq(K).acq(M).sync(N).rel(M).rel(K).sync(M).end();
    assert_eq!(trace.kinds(), [Before]);
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(2).sync(M).sync(N);
    trace.t(1).begin().acq(M).acq(N).rel(M).rel(N).sync(M).end();
    assert_eq!(trace.kinds(), []);
}

#[test]
fn a_thread_that_tries_its_own_lock_waits_for_nobody() {
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(1).begin().acq(M).refused(M).rel(M).sync(M).end();
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), [After]);
}

#[test]
fn a_thread_cannot_join_itself() {
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(1).begin().sync(M).join(1).sync(M).end();
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), [After]);
}

/// Thread 2 gives back what thread 1 took: M is a semaphore in disguise from then on.
#[test]
fn a_lock_that_was_passed_on_protects_nothing() {
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(1).acq(M);
    trace.t(2).rel(M);
    window(&mut trace, M);
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), []);
}

/// Thread 2 gives back M though nobody saw it taken: who takes it next goes on after that.
#[test]
fn a_release_whose_acquire_was_not_seen_orders() {
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(1).sync(M);
    trace.t(2).begin().sync(K).sync(K).end().rel(M);
    trace.t(1).sync(M).sync(K);
    assert_eq!(trace.kinds(), []);
}

/// Thread 3 takes M though nobody saw it released. What thread 2 began with N is not touched by that.
#[test]
fn a_lock_that_was_taken_away_leaves_other_sections_as_they_are() {
    let mut trace = Trace::new(BLOCKS, 3);
    window(&mut trace, N);
    trace.t(2).acq(N).acq(M);
    trace.t(3).sync(M);
    trace.t(2).rel(N);
    assert_eq!(trace.kinds(), [After]);
}

#[test]
fn signal_and_await_order_what_semaphores_barriers_and_once_order() {
    let mut trace = Trace::new(BLOCKS, 2);
    window(&mut trace, M);
    trace.t(1).signal(COND);
    trace.t(2).wait(COND).sync(M);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn a_barrier_orders_all_that_arrive_before_all_that_leave() {
    let mut trace = Trace::new(BLOCKS, 3);
    trace.t(3).begin().sync(N).sync(N).end().signal(COND);
    trace.t(1).begin().sync(M).sync(M).end().signal(COND);
    trace.t(2).signal(COND).wait(COND).sync(M).sync(N);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn an_await_learns_nothing_from_another_object() {
    let mut trace = Trace::new(BLOCKS, 2);
    window(&mut trace, M);
    trace.t(1).signal(COND);
    trace.t(2).wait(COND + 8).sync(M);
    assert_eq!(trace.kinds(), [After]);
}

#[test]
fn a_refused_attempt_depends_on_the_holder() {
    let mut trace = Trace::new(BLOCKS, 2);
    window(&mut trace, M);
    trace.t(1).acq(K);
    trace.t(2).refused(K).sync(M);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn a_refused_attempt_depends_on_a_holder_that_shows_a_moment_later() {
    let mut trace = Trace::new(BLOCKS, 2);
    window(&mut trace, M);
    trace.t(2).refused(K);
    trace.t(1).acq(K);
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn a_refused_writer_depends_on_the_readers() {
    let mut trace = Trace::new(BLOCKS, 2);
    window(&mut trace, M);
    trace.t(1).acq_in(K, Shared);
    trace.t(2).refused(K).sync(M);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn a_refused_semaphore_depends_on_its_signals() {
    let mut trace = Trace::new(BLOCKS, 2);
    window(&mut trace, M);
    trace.t(1).signal(COND);
    trace.t(2).refused(COND).sync(M);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn a_joined_thread_comes_before_the_joiner() {
    let mut trace = Trace::new(BLOCKS, 2);
    window(&mut trace, M);
    trace.t(1).exit();
    trace.t(2).join(1).sync(M);
    assert_eq!(trace.kinds(), []);
}

// Locks

/// Window flanks and culprit: found if the culprit conflicts with both flanks.
const MODES: [(Mode, Mode, Mode, bool); 8] = [
    (Exclusive, Exclusive, Exclusive, true),
    (Exclusive, Exclusive, Shared, true),
    (Exclusive, Shared, Exclusive, true),
    (Exclusive, Shared, Shared, false),
    (Shared, Exclusive, Exclusive, true),
    (Shared, Exclusive, Shared, false),
    (Shared, Shared, Exclusive, true),
    (Shared, Shared, Shared, false),
];

#[test]
fn a_culprit_must_conflict_with_both_flanks() {
    for (first, second, culprit, conflict) in MODES {
        let expect = |kind: ErrorKind, trace: &Trace| {
            let expected = if conflict { vec![kind] } else { vec![] };
            assert_eq!(trace.kinds(), expected, "{kind:?}: {first:?} {second:?} split by {culprit:?}");
        };
        let mut trace = Trace::new(BLOCKS, 2);
        trace.t(2).sync_in(M, culprit);
        trace.t(1).begin().sync_in(M, first).sync_in(M, second).end();
        expect(Before, &trace);

        let mut trace = Trace::new(BLOCKS, 2);
        trace.t(1).begin().sync_in(M, first);
        trace.t(2).sync_in(M, culprit);
        trace.t(1).sync_in(M, second).end();
        expect(In, &trace);

        let mut trace = Trace::new(BLOCKS, 2);
        trace.t(1).begin().sync_in(M, first).sync_in(M, second).end();
        trace.t(2).sync_in(M, culprit);
        expect(After, &trace);
    }
}

/// For who can try it: of the readers that conflict with nothing, only those that may come between a check as a reader and a change as a writer.
#[test]
fn a_reader_that_may_check_too_is_told_if_asked_for() {
    for (first, second, culprit, conflict) in MODES {
        let mut trace = Trace::new(Config { rechecks: true, ..BLOCKS }, 2);
        trace.t(1).begin().sync_in(M, first).sync_in(M, second).end();
        trace.t(2).sync_in(M, culprit);
        let is_recheck = (first, second, culprit) == (Shared, Exclusive, Shared);
        let expected = if conflict || is_recheck { vec![After] } else { vec![] };
        assert_eq!(trace.kinds(), expected, "{first:?} {second:?} split by {culprit:?}");
    }
}

#[test]
fn readers_order_nothing_among_themselves() {
    let mut trace = Trace::new(BLOCKS, 2);
    window(&mut trace, M);
    trace.t(1).sync_in(K, Shared);
    trace.t(2).sync_in(K, Shared).sync(M);
    assert_eq!(trace.kinds(), [After]);
}

#[test]
fn a_writer_comes_after_all_readers_and_before_the_next() {
    let mut trace = Trace::new(BLOCKS, 3);
    window(&mut trace, M);
    trace.t(1).sync_in(K, Shared);
    trace.t(3).sync_in(K, Exclusive);
    trace.t(2).sync_in(K, Shared).sync(M);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn a_mutex_that_another_thread_releases_is_a_semaphore() {
    let mut trace = Trace::new(BLOCKS, 3);
    window(&mut trace, N);
    trace.t(1).acq(M);
    trace.t(2).rel(M);
    trace.t(1).begin().acq(M).acq(M).end();
    trace.t(3).acq(M);
    assert_eq!(trace.kinds(), [], "a hand-off makes no windows and is no culprit");
    trace.t(1).rel(M);
    trace.t(2).acq(M).sync(N);
    assert_eq!(trace.kinds(), [], "a hand-off orders the release before the next acquire");
}

#[test]
fn a_release_without_a_known_owner_is_plain() {
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(1).rel(M);
    window(&mut trace, M);
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), [After]);
}

#[test]
fn a_lock_whose_owner_died_orders_the_next_owner_after_it() {
    let mut trace = Trace::new(BLOCKS, 2);
    window(&mut trace, M);
    trace.t(1).acq(K).exit();
    trace.t(2).acq(K).acq(M).rel(M);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn a_release_that_was_not_seen_orders_the_holder_before_the_next() {
    for mode in [Exclusive, Shared] {
        let mut trace = Trace::new(BLOCKS, 2);
        window(&mut trace, M);
        trace.t(1).acq_in(K, mode);
        trace.t(2).acq(K).sync(M).rel(K).destroy(K).init(N);
        assert_eq!(trace.kinds(), []);
        trace.t(1).rel(K);
        trace.t(1).begin().sync(N).sync(N).end();
        trace.t(2).sync(N);
        assert_eq!(trace.kinds(), [After], "the late release touches no lock that took the place of the old one");
    }
}

#[test]
fn a_new_lock_at_an_old_address_is_another_lock() {
    let mut trace = Trace::new(BLOCKS, 2);
    window(&mut trace, M);
    trace.t(1).destroy(M).init(M);
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), []);
    window(&mut trace, M);
    trace.t(0).sync(M);
    assert_eq!(trace.kinds(), [Before, After]);
    assert!(trace.found.iter().all(|violation| violation.generation == 1 && violation.lock_init != 0));
    trace.t(1).init(M);
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), [Before, After], "init without destroy also starts a new lock");
}

#[test]
fn a_later_window_does_not_hide_an_earlier_one() {
    let two_windows = |trace: &mut Trace| {
        trace.t(1).begin().sync(M).sync(M).end();
        trace.t(2).begin().sync(M).sync(M).end();
        trace.t(3).sync(M);
    };
    let blocks = |trace: &Trace| {
        let after = trace.found.iter().filter(|violation| violation.kind == After && violation.culprit.thread == 3);
        after.map(|violation| violation.second.thread).collect::<Vec<_>>()
    };
    let mut paper = Trace::new(PAPER, 3);
    two_windows(&mut paper);
    assert_eq!(blocks(&paper), [2]);
    let mut trace = Trace::new(BLOCKS, 3);
    two_windows(&mut trace);
    assert_eq!(blocks(&trace), [1, 2]);
}

// Reports

#[test]
fn a_repeated_finding_is_counted_not_reported() {
    let mut trace = Trace::new(BLOCKS, 2);
    for lock in [M, N, K] {
        trace.t(1).begin().sync(lock).sync(lock).end();
        trace.t(2).sync(lock);
    }
    assert_eq!(trace.kinds(), [After], "the same code on another lock is the same finding");
    assert_eq!(trace.analysis.counts()[&trace.found[0].key], 3);
}

#[test]
fn a_report_tells_what_each_thread_held() {
    let mut trace = Trace::new(BLOCKS, 2);
    trace.t(1).begin().acq(N).sync(M).rel(N).sync(M).end();
    trace.t(2).acq(N).acq(K).rel(N).sync(M).rel(K);
    let after = trace.found.iter().find(|violation| violation.kind == After).expect("an after-error");
    assert_eq!((&after.first.held[..], &after.second.held[..], &after.culprit.held[..]), (&[N][..], &[][..], &[K][..]));
}

// Bounds

#[test]
fn lost_events_only_add_order() {
    let mut trace = Trace::new(BLOCKS, 3);
    window(&mut trace, M);
    trace.t(1).begin().acq(N).lost(7);
    trace.t(2).sync(M).sync(N);
    trace.t(3).sync(M);
    assert_eq!(trace.kinds(), [], "who knows what happened in between");
    trace.t(1).sync(N).sync(N).end();
    trace.t(3).sync(N);
    assert_eq!(trace.kinds(), [], "the block that was open is forgotten");
    window(&mut trace, M);
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), [Before, After], "later events are analysed as ever");
}

#[test]
fn a_thread_whose_fork_was_not_seen_comes_after_everything_so_far() {
    let mut trace = Trace::new(BLOCKS, 1);
    window(&mut trace, M);
    trace.t(77).sync(M);
    assert_eq!(trace.kinds(), []);
    window(&mut trace, M);
    trace.t(77).sync(M);
    assert_eq!(trace.kinds(), [Before, After]);
}

/// Threads come and go, a few at a time, each using locks of its own and common ones in transactions.
fn churn(trace: &mut Trace, threads: std::ops::Range<u32>, joined: bool) -> Footprint {
    for group in threads.collect::<Vec<_>>().chunks(20) {
        for &id in group {
            let own = 0x10_0000 + 64 * u64::from(id);
            trace.t(0).fork(id);
            trace.t(id).init(own).call(0xf0).sync(M).call(0xf1).acq(own).sync(M).rel(own).signal(own).sync(M);
            trace.t(id).destroy(own);
        }
        for &id in group {
            trace.t(id).exit();
            if joined {
                trace.t(0).join(id);
            }
        }
    }
    trace.analysis.footprint()
}

#[test]
fn memory_stays_flat_when_threads_come_and_go() {
    for joined in [true, false] {
        let mut trace = Trace::new(Config { functions: true, ..SECTIONS }, 0);
        let early = churn(&mut trace, 1..500, joined);
        let late = churn(&mut trace, 500..2500, joined);
        assert!(late.slots <= 64, "{} slots", late.slots);
        assert_eq!((early.slots, early.locks), (late.slots, late.locks));
        assert!(late.stack_nodes <= early.stack_nodes + 64, "{early:?} then {late:?}");
        assert_eq!(late.held_nodes, early.held_nodes);
    }
}

#[test]
fn nothing_is_left_of_threads_and_locks_that_are_gone() {
    let mut trace = Trace::new(Config { functions: true, ..SECTIONS }, 0);
    churn(&mut trace, 1..50, true);
    trace.t(0).call(0xf0).acq(M).acq(N).sync(K).rel(M).rel(N).exit();
    for lock in [M, N, K] {
        trace.t(0).destroy(lock);
    }
    let rest = trace.analysis.footprint();
    assert_eq!((rest.locks, rest.stack_nodes, rest.held_nodes, rest.section_nodes), (0, 0, 0, 0));
}

#[test]
fn a_detached_thread_that_is_joined_after_all_still_comes_before_the_joiner() {
    let mut trace = Trace::new(BLOCKS, 1);
    window(&mut trace, M);
    trace.t(1).exit();
    for id in 2..300 {
        trace.t(0).fork(id);
        trace.t(id).exit();
    }
    trace.t(0).join(1).sync(M);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn a_stack_of_a_hundred_thousand_frames_is_no_problem() {
    let mut trace = Trace::new(FUNCTIONS, 2);
    for level in 0..100_000 {
        trace.event(1, Event::new(Kind::Enter, 0, level, 0xf0, 0x77));
    }
    trace.t(1).sync(M).sync(M);
    trace.event(1, Event::new(Kind::Leave, 0, 0, 0, 0));
    trace.t(2).sync(M);
    assert_eq!(trace.found[0].common, 100_000);
}
