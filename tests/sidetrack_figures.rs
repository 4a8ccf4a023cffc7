//! The figures of the `SideTrack` paper, each with the paper's verdict.

mod common;

use avmon::analysis::ErrorKind::{After, Before, In};
use avmon::analysis::Transaction;
use common::{BLOCKS, FUNCTIONS, K, M, N, PAPER, Trace};

#[test]
fn figure_1_the_section_of_thread_2_fits_into_the_window() {
    for config in [BLOCKS, PAPER] {
        let mut trace = Trace::new(config, 2);
        trace.t(1).begin().sync(M).sync(M).end();
        trace.t(2).sync(M);
        assert_eq!(trace.kinds(), [After]);
        let violation = &trace.found[0];
        assert_eq!((violation.first.thread, violation.second.thread, violation.culprit.thread), (1, 1, 2));
        assert_eq!((violation.lock, violation.common), (M, 1));
    }
}

#[test]
fn figure_3a_before() {
    for config in [BLOCKS, PAPER] {
        let mut trace = Trace::new(config, 2);
        trace.t(2).sync(M);
        trace.t(1).begin().sync(M).sync(M).end();
        assert_eq!(trace.kinds(), [Before]);
    }
}

#[test]
fn figure_3b_in() {
    for config in [BLOCKS, PAPER] {
        let mut trace = Trace::new(config, 2);
        trace.t(1).begin().sync(M);
        trace.t(2).sync(M);
        trace.t(1).sync(M).end();
        assert_eq!(trace.kinds(), [In]);
    }
}

#[test]
fn figure_3c_after() {
    for config in [BLOCKS, PAPER] {
        let mut trace = Trace::new(config, 2);
        trace.t(1).begin().sync(M).sync(M).end();
        trace.t(2).sync(M);
        assert_eq!(trace.kinds(), [After]);
    }
}

#[test]
fn figure_4_a_thread_forked_in_the_second_section_cannot_run_in_the_window() {
    for config in [BLOCKS, PAPER] {
        let mut trace = Trace::new(config, 1);
        trace.t(1).begin().sync(M).acq(M).fork(2).rel(M).end();
        trace.t(2).sync(M);
        assert_eq!(trace.kinds(), []);
    }
}

#[test]
fn figure_5_what_thread_2_read_under_another_lock_may_have_led_it_here() {
    for config in [BLOCKS, PAPER] {
        let mut trace = Trace::new(config, 2);
        trace.t(1).begin().sync(M).sync(M).sync(N).end();
        trace.t(2).sync(N).sync(M);
        assert_eq!(trace.kinds(), []);
    }
}

/// The figure starts with the clocks <5,0> and <0,8>; here the fork has let thread 1 know time 1 of thread 0.
#[test]
fn figure_7_clocks_step_by_step() {
    let mut trace = Trace::new(PAPER, 1);
    let release = |trace: &Trace| trace.analysis.release_of(M).map(|clock| clock.components().to_vec());
    let window = |trace: &Trace| trace.analysis.windows_of(M).collect::<Vec<_>>();
    trace.t(0).sync(K).sync(K).sync(K);
    for _ in 1..8 {
        trace.t(1).sync(N);
    }
    assert_eq!((trace.clock(0), trace.clock(1)), (vec![5], vec![1, 8]));

    trace.t(0).begin().acq(M);
    assert_eq!((trace.clock(0), window(&trace)), (vec![5], vec![]));
    trace.t(0).rel(M);
    assert_eq!((trace.clock(0), release(&trace)), (vec![6], Some(vec![5])));
    trace.t(0).acq(M);
    assert_eq!((trace.clock(0), window(&trace)), (vec![6], vec![(0, 6)]));
    trace.t(0).rel(M).end();
    assert_eq!((trace.clock(0), release(&trace)), (vec![7], Some(vec![6])));
    assert_eq!(trace.kinds(), []);
    trace.t(1).acq(M);
    assert_eq!(trace.kinds(), [After]);
    assert_eq!(trace.clock(1), [6, 8]);
    assert_eq!(window(&trace), [(0, 6)]);
}

#[test]
fn figure_8_top_reports_nothing() {
    for config in [BLOCKS, PAPER] {
        let mut trace = Trace::new(config, 2);
        trace.t(2).acq(M).sync(N).rel(M);
        trace.t(1).begin().acq(N).sync(M).sync(M).rel(N).end();
        assert_eq!(trace.kinds(), []);
    }
}

fn figure_8_bottom(trace: &mut Trace) {
    trace.t(1).begin().acq(N).sync(M).sync(M).rel(N).end();
    trace.t(2).acq(M).sync(N).rel(M);
}

#[test]
fn figure_8_bottom_is_an_after_error_in_paper_mode() {
    let mut trace = Trace::new(PAPER, 2);
    figure_8_bottom(&mut trace);
    assert_eq!(trace.kinds(), [After]);
}

#[test]
fn figure_8_bottom_predicts_a_deadlock_and_is_no_violation_by_default() {
    let mut trace = Trace::new(BLOCKS, 2);
    figure_8_bottom(&mut trace);
    assert_eq!(trace.kinds(), []);
}

#[test]
fn figure_9_blames_a_and_b_but_not_c_and_d() {
    const A: u64 = 0xa0;
    const B: u64 = 0xb0;
    const C: u64 = 0xc0;
    const D: u64 = 0xd0;
    let mut trace = Trace::new(FUNCTIONS, 2);
    trace.t(1).call(A).call(B);
    trace.t(1).call(D).sync(M).ret();
    trace.t(1).call(C).call(D).sync(M).ret().ret();
    trace.t(1).ret().ret();
    trace.t(2).sync(M);
    assert_eq!(trace.kinds(), [After]);
    let violation = &trace.found[0];
    let names = |stack: &[Transaction]| -> Vec<u64> {
        stack.iter().map(|frame| if let Transaction::Function { inside, .. } = frame { *inside } else { 0 }).collect()
    };
    assert_eq!(names(&violation.first.stack), [A, B, D]);
    assert_eq!(names(&violation.second.stack), [A, B, C, D]);
    assert_eq!(names(&violation.first.stack[..violation.common]), [A, B]);
    assert!(matches!(violation.block(), Some(Transaction::Function { inside: B, .. })));
    let (first, second) = violation.locations();
    assert_eq!(first, violation.first.stack[2].opened_at());
    assert_eq!(second, violation.second.stack[2].opened_at());
}
