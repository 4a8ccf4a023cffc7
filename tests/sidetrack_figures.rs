//! Those figures of the `SideTrack` paper that are more than a scenario: clocks step by step, and functions. For the others see
//! `tests/scenario_figures.rs`.

mod common;

use avmon::analysis::ErrorKind::After;
use avmon::analysis::Transaction;
use common::{FUNCTIONS, K, M, N, PAPER, Trace};

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
