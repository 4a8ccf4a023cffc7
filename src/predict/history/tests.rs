use super::made::{access, after_branches, count, event, of, with};
use super::*;
use crate::event::{Event, Kind, Mode, RESUMED, atomic};
use crate::predict::cut_points::Blocks;
use crate::predict::search::{self, Budget, Goal, Outcome};

const X: u64 = 0x1000;
const Y: u64 = 0x2000;
const M: u64 = 0x3000;
/// Something that is awaited.
const C: u64 = 0x4000;

fn enter(depth: u32, function: u64) -> Event {
    Event::enter(depth, 0, function, 0)
}

fn ops(history: &History) -> Vec<Op> {
    history.steps.iter().map(|step| step.op).collect()
}

/// The stack of a step, by where each transaction was opened.
fn opened(history: &History, place: u64) -> Vec<u64> {
    history.stack(history.made_by(place)).iter().map(Transaction::opened_at).collect()
}

#[test]
fn a_marked_block_may_end_inside_a_function_that_was_called_in_it() {
    let history = of(&[
        (1, enter(0, 0xf)),
        (1, event(Kind::BlockBegin, 0)),
        (1, access(Kind::Read, X)),
        (1, enter(1, 0x9)),
        (1, access(Kind::Read, X)),
        (1, event(Kind::BlockEnd, 0)),
        (1, access(Kind::Read, X)),
        (1, count(Kind::Leave, 1)),
        (1, access(Kind::Read, X)),
        (2, access(Kind::Write, X)),
    ]);
    let stacks = [3, 5, 7, 9].map(|place| opened(&history, place));
    assert_eq!(stacks, [vec![1, 2], vec![1, 2, 4], vec![1, 4], vec![1]]);
    let around = |blocks: Blocks, first, second| {
        let block = blocks.around(&history, history.made_by(first), history.made_by(second));
        block.and_then(|block| history.frames.get(block).transaction).map(|transaction| transaction.opened_at())
    };
    assert_eq!([around(Blocks::All, 3, 5), around(Blocks::Marked, 3, 5)], [Some(2), Some(2)]);
    assert_eq!([around(Blocks::All, 5, 7), around(Blocks::Marked, 5, 7)], [Some(1), None], "the block is over");
    assert_eq!(around(Blocks::All, 3, 9), Some(1));
}

#[test]
fn a_function_takes_its_blocks_with_it() {
    let history = of(&[
        (1, enter(0, 0xf)),
        (1, event(Kind::BlockBegin, 0)),
        (1, access(Kind::Read, X)),
        (1, count(Kind::Leave, 0)),
        (1, access(Kind::Read, X)),
        (2, access(Kind::Write, X)),
    ]);
    assert_eq!([opened(&history, 3), opened(&history, 5)], [vec![1, 2], vec![]]);
}

#[test]
fn nothing_is_atomic_across_an_interference_point() {
    let events = [
        (1, event(Kind::BlockBegin, 0)),
        (1, access(Kind::Read, X)),
        (1, event(Kind::Interfere, 0)),
        (1, access(Kind::Read, X)),
        (2, access(Kind::Write, X)),
    ];
    for (strict_waits, is_common) in [(false, false), (true, true)] {
        let history = with(&events, Config { strict_waits, ..Config::default() });
        let frame = |place| history.step(history.made_by(place)).frame;
        assert_eq!(history.frames.common(frame(2), frame(4)).is_some(), is_common);
        assert_eq!(opened(&history, 4), [1], "the block is open all the same");
    }
}

#[test]
fn a_lock_that_is_taken_again_is_held_until_it_is_given_back_as_often() {
    let history = of(&[
        (1, event(Kind::Acquire, M)),
        (1, event(Kind::Acquire, M)),
        (1, event(Kind::Release, M)),
        (1, access(Kind::Write, X)),
        (1, event(Kind::Release, M)),
        (1, access(Kind::Write, X)),
        (1, event(Kind::Release, M)),
        (2, access(Kind::Write, X)),
    ]);
    assert_eq!(ops(&history), [Op::Acquire, Op::Write, Op::Release, Op::Write, Op::Write]);
    let [acquire, inside, release, outside] = [1, 4, 5, 6].map(|place| history.made_by(place));
    assert_eq!((history.step(acquire).link, history.step(release).link), (release, acquire));
    assert_eq!((history.held(inside), history.held(outside)), (vec![acquire], vec![]));
}

#[test]
fn a_lock_that_another_thread_gives_back_stays_its_owners() {
    let history = of(&[
        (1, event(Kind::Acquire, M)),
        (1, access(Kind::Write, X)),
        (2, event(Kind::Release, M)),
        (1, access(Kind::Write, X)),
        (2, event(Kind::Acquire, M)),
        (2, access(Kind::Write, X)),
    ]);
    let [acquire, inside, outside, other] = [1, 2, 4, 6].map(|place| history.made_by(place));
    assert_eq!((history.held(inside), history.held(outside)), (vec![acquire], vec![acquire]));
    let goal = Goal { order: vec![(inside, other), (other, outside)], ignores_reads: true, ..Goal::default() };
    assert_eq!(search::find(&history, &goal, Budget::PATIENT), Outcome::Infeasible, "nothing is predicted with it");
}

#[test]
fn branches_before_private_memory_count_for_what_follows() {
    let private = 0x9000;
    let branched = |address, branches| Event::access(Kind::Write, 0, 8, branches, address, 0);
    let history = of(&[
        (1, access(Kind::Write, X)),
        (1, branched(private, 1)),
        (1, event(Kind::Signal, M)),
        (1, branched(private, 0)),
        (2, access(Kind::Write, X)),
    ]);
    assert_eq!(
        history.step(history.made_by(3)).branches,
        1,
        "the branch lies between the shared access and the signal"
    );
}

#[test]
fn another_lock_may_live_at_the_same_address() {
    let section = |thread| [(thread, event(Kind::Acquire, M)), (thread, event(Kind::Release, M))];
    let renewal = [(1, count(Kind::Extent, 64)), (1, event(Kind::Allocate, M))];
    let made = [(1, event(Kind::LockDestroy, M)), (1, event(Kind::LockInit, M))];
    let history = of(&[section(1), made, section(2), renewal, section(1)].concat());
    let known: Vec<_> = history.locks.iter().map(|lock| (lock.address, lock.generation, lock.initialised)).collect();
    assert_eq!(known, [(M, 0, 0), (M, 1, 4), (M, 2, 0)]);
    let objects: Vec<u32> = history.steps.iter().map(|step| step.object).collect();
    assert_eq!(objects, [0, 0, 1, 1, 2, 2]);
}

#[test]
fn memory_that_is_freed_ends_its_variables_and_begins_new_ones() {
    let life = [
        (1, count(Kind::Extent, 8)),
        (1, event(Kind::Allocate, X)),
        (1, access(Kind::Write, X)),
        (2, access(Kind::Write, X)),
        (2, event(Kind::Free, X)),
    ];
    let history = of(&[life, life].concat());
    assert_eq!(ops(&history), [Op::Write, Op::Write, Op::Free, Op::Write, Op::Write, Op::Free]);
    let links: Vec<At> = history.steps.iter().map(|step| step.link).collect();
    assert_eq!(links, [NONE, 0, 1, NONE, 3, 4], "a life does not see the one before it");
    assert_eq!([history.accesses(0), history.accesses(1)], [[0, 1, 2], [3, 4, 5]]);
    let allocated: Vec<_> = history.variables.iter().map(|it| it.allocation.map(|it| (it.size, it.pc))).collect();
    assert_eq!(allocated, [Some((8, 2)), Some((8, 7))]);
    let after_free = |before, after| {
        let goal = Goal { order: vec![(before, after)], ..Goal::default() };
        matches!(search::find(&history, &goal, Budget::PATIENT), Outcome::Feasible(_))
    };
    assert!(after_free(2, 0), "a use of memory that is gone is worth to be told");
    assert!(after_free(1, 0));
}

#[test]
fn values_belong_to_the_access_before_them() {
    let detail = atomic::detail(5, 3);
    let atomic = |kind, compared| Event::new(kind, detail | compared, 0, X, 0);
    let value = |value, old| Event::new(Kind::Value, 0, 0, value, old);
    let wide = Event::access(Kind::Write, 0, 16, 0, Y, 0);
    let history = of(&[
        (1, atomic(Kind::AtomicLoad, 0)),
        (1, value(4, 0)),
        (1, atomic(Kind::AtomicUpdate, 0)),
        (1, value(5, 4)),
        (2, atomic(Kind::AtomicLoad, atomic::COMPARED)),
        (2, value(5, 0)),
        (2, atomic(Kind::AtomicUpdate, atomic::COMPARED)),
        (2, value(6, 5)),
        (2, access(Kind::Write, Y)),
        (2, value(7, 0)),
        (1, wide),
        (1, value(8, 9)),
    ]);
    assert_eq!(ops(&history)[..5], [Op::Load, Op::Update, Op::Attempt, Op::Exchange, Op::Write]);
    let values: Vec<_> = (0..history.steps.len() as At)
        .map(|at| history.values.get(&at).map(|values| (values.seen, values.left)))
        .collect();
    let known = [Some((4, 4)), Some((4, 5)), Some((5, 5)), Some((5, 6)), Some((7, 7))];
    assert_eq!(values[..5], known);
    assert!(values[5..].iter().all(Option::is_none), "an access of two variables has no value");
    assert_eq!(history.variables[0].first_value, Some(4));
    assert_eq!(history.variables[1].first_value, None, "written before anybody read it");
}

#[test]
fn nobody_is_followed_past_lost_events() {
    let events =
        |between| [(1, access(Kind::Read, X)), (1, between), (1, access(Kind::Read, X)), (2, access(Kind::Write, X))];
    for (between, lost) in [(count(Kind::Lost, 7), 7), (access(Kind::Read, Y), 0)] {
        let history = of(&events(between));
        assert_eq!((history.lost, ops(&history).contains(&Op::Gap)), (lost, lost > 0));
        let [first, second, culprit] = [1, 3, 4].map(|place| history.made_by(place));
        let goal = Goal { order: vec![(first, culprit), (culprit, second)], ..Goal::default() };
        let outcome = search::find(&history, &goal, Budget::PATIENT);
        assert_eq!(matches!(outcome, Outcome::Feasible(_)), lost == 0, "{outcome:?}");
    }
}

/// How many branches there were is told by the next access, or by the end of the thread: what happens before that may lie behind them.
#[test]
fn branches_are_told_late() {
    let history = of(&[
        (1, access(Kind::Read, X)),
        (1, event(Kind::Acquire, M)),
        (1, event(Kind::Release, M)),
        (1, after_branches(Kind::Read, X, 2)),
        (1, after_branches(Kind::Read, Y, 1)),
        (1, access(Kind::Read, X)),
        (1, event(Kind::Acquire, M)),
        (1, enter(0, 0xf)),
        (1, count(Kind::Branches, 4)),
        (1, event(Kind::End, 1)),
        (2, access(Kind::Write, X)),
        (2, event(Kind::Signal, C)),
    ]);
    let branches = |place| history.step(history.made_by(place)).branches;
    assert_eq!([1, 2, 3, 4].map(branches), [0, 2, 2, 2]);
    assert_eq!(branches(6), 1, "those before memory of one thread count for the next step");
    assert_eq!([7, 10].map(branches), [3, 3], "a function begins with a block that no branch led to");
    assert_eq!(branches(12), u8::MAX, "nobody told");
}

#[test]
fn a_sleeper_keeps_its_place_among_the_signals() {
    let history = of(&[
        (2, event(Kind::Signal, C)),
        (1, event(Kind::Acquire, M)),
        (1, event(Kind::Release, M)),
        (2, event(Kind::Signal, C)),
        (1, event(Kind::Await, C)),
        (1, Event::new(Kind::Acquire, RESUMED, 0, M, 0)),
    ]);
    let after = |place| history.after.get(&history.made_by(place)).cloned().unwrap_or_default();
    let at = |place| history.made_by(place);
    assert_eq!(after(3), [at(1)], "it sleeps after the signal that it did not hear");
    assert_eq!(after(4), [at(3)], "and before the one that woke it");
    assert_eq!(after(5), [at(4)]);
}

#[test]
fn who_is_refused_found_a_holder() {
    let history = of(&[
        (1, Event::new(Kind::Acquire, Mode::Shared as u8, 0, M, 0)),
        (2, event(Kind::Refused, M)),
        (1, event(Kind::Release, M)),
    ]);
    assert_eq!(ops(&history), [Op::AcquireShared, Op::Refused, Op::Release]);
    assert_eq!(history.step(history.made_by(2)).link, history.made_by(1));
}

#[test]
fn what_does_not_fit_is_counted() {
    let events = [(1, access(Kind::Write, X)), (2, access(Kind::Write, X)), (1, access(Kind::Write, X))];
    let history = with(&events, Config { most_steps: 2, ..Config::default() });
    assert_eq!((history.steps.len(), history.left_out), (2, 1));
}
