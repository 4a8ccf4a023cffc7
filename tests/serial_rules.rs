//! What the serial check takes for a cycle, one small run at a time.

use avmon::analysis::serial::{Block, Config, Operation, Serial, Split};
use avmon::event::{Event, Kind, Mode, RESUMED, ThreadId, atomic, memory};

/// A run that is told event by event. Every event has the number of its call, from 1 on, as its code location.
struct Run {
    serial: Serial,
    events: u64,
    splits: Vec<Split>,
}

const X: u64 = 0x1000;
const Y: u64 = 0x2000;
const L: u64 = 0x100;
const M: u64 = 0x140;

impl Run {
    fn new() -> Run {
        Run::with(Config::default())
    }

    fn with(config: Config) -> Run {
        Run { serial: Serial::new(config), events: 0, splits: Vec::new() }
    }

    fn put(&mut self, thread: ThreadId, kind: Kind, detail: u8, number: u64, object: u64) -> &mut Run {
        self.events += 1;
        let event = Event::new(kind, detail, number, object, self.events);
        self.serial.step(thread, &event, &mut |split| self.splits.push(split));
        self
    }

    fn on(&mut self, thread: ThreadId, kind: Kind, object: u64) -> &mut Run {
        self.put(thread, kind, 0, 0, object)
    }

    fn begin(&mut self, thread: ThreadId) -> &mut Run {
        self.on(thread, Kind::BlockBegin, 0)
    }

    fn end(&mut self, thread: ThreadId) -> &mut Run {
        self.on(thread, Kind::BlockEnd, 0)
    }

    fn read(&mut self, thread: ThreadId, address: u64) -> &mut Run {
        self.put(thread, Kind::Read, 0, 8, address)
    }

    fn write(&mut self, thread: ThreadId, address: u64) -> &mut Run {
        self.put(thread, Kind::Write, 0, 8, address)
    }

    fn atomic(&mut self, thread: ThreadId, kind: Kind, address: u64) -> &mut Run {
        self.put(thread, kind, atomic::detail(0, 3), 0, address)
    }

    /// A critical section with nothing inside.
    fn section(&mut self, thread: ThreadId, lock: u64) -> &mut Run {
        self.on(thread, Kind::Acquire, lock).on(thread, Kind::Release, lock)
    }

    fn section_shared(&mut self, thread: ThreadId, lock: u64) -> &mut Run {
        let shared = Mode::Shared as u8;
        self.put(thread, Kind::Acquire, shared, 0, lock).put(thread, Kind::Release, shared, 0, lock)
    }

    fn allocate(&mut self, thread: ThreadId, detail: u8, address: u64, size: u64) -> &mut Run {
        self.put(thread, Kind::Extent, 0, size, 0).put(thread, Kind::Allocate, detail, 0, address)
    }

    /// The code locations of the blocks that were split.
    #[track_caller]
    fn splits(&self, blocks: &[u64]) {
        let split: Vec<u64> = self.splits.iter().map(|split| split.block.pc).collect();
        assert_eq!(split, blocks, "{:?}", self.splits);
    }
}

#[test]
fn blocks_one_after_the_other_are_serialisable() {
    let mut run = Run::new();
    for thread in [1, 2, 1, 2] {
        run.begin(thread).section(thread, L).write(thread, X).section(thread, L).read(thread, Y).end(thread);
    }
    run.splits(&[]);
    assert_eq!(run.serial.blocks(), 4);
}

#[test]
fn blocks_that_overlap_in_time_only_are_serialisable() {
    let mut run = Run::new();
    run.begin(1).begin(2).write(1, X).write(2, Y).read(1, X).end(1).read(2, X).end(2).splits(&[]);
}

#[test]
fn a_torn_pair_names_the_block_and_both_operations() {
    let mut run = Run::new();
    run.begin(1).read(1, X);
    run.begin(2).write(2, X).write(2, Y).end(2);
    run.read(1, Y).end(1).splits(&[1]);
    let (block, other) = (Block { label: 0, pc: 1 }, Block { label: 0, pc: 3 });
    let expected = Split {
        block,
        object: Y,
        operation: Operation { thread: 1, kind: Kind::Read, pc: 7, block: Some(block) },
        before: Operation { thread: 2, kind: Kind::Write, pc: 5, block: Some(other) },
    };
    assert_eq!(run.splits, [expected]);
}

#[test]
fn two_open_blocks_can_close_a_cycle() {
    let mut run = Run::new();
    run.begin(1).begin(2).write(1, X).write(2, Y).read(1, Y).splits(&[]);
    run.read(2, X).splits(&[2]);
}

#[test]
fn a_cycle_can_go_through_three_threads() {
    let mut run = Run::new();
    run.begin(1).write(1, X);
    run.begin(2).read(2, X).write(2, Y).end(2);
    run.begin(3).read(3, Y).write(3, 0x3000).end(3).splits(&[]);
    run.read(1, 0x3000).splits(&[1]);
}

#[test]
fn what_an_open_block_learns_reaches_those_that_came_after_it() {
    let mut run = Run::new();
    // Thread 2 comes after the open block 1, which then comes after the open block 3.
    run.begin(1).write(1, X).read(2, X).write(2, Y);
    run.begin(3).write(3, 0x3000).read(1, 0x3000).splits(&[]);
    run.read(3, Y).splits(&[5]);
}

#[test]
fn what_an_open_block_learns_reaches_those_that_came_after_it_and_are_over() {
    // Thread 1 comes after the open block of thread 2 and is over, then that block comes after the open block of thread 3.
    let run = |is_over: bool| {
        let mut run = Run::new();
        run.begin(2).write(2, X).begin(1).read(1, X).write(1, Y).end(1).section(1, L);
        run.begin(3).write(3, 0x3000).read(2, 0x3000);
        if is_over {
            run.end(2).section(2, L);
        }
        // Thread 4 comes after all of them.
        run.read(4, Y).write(4, 0x4000).splits(&[]);
        run.read(3, 0x4000).splits(&[9]);
    };
    run(false);
    run(true);
}

#[test]
fn what_is_over_learns_from_one_open_block_through_another_that_is_over() {
    let mut run = Run::new();
    run.begin(2).write(2, X).begin(1).read(1, X).write(1, Y).end(1).section(1, L);
    run.begin(3).write(3, 0x3000).read(2, 0x3000).end(2).section(2, L);
    // Thread 1 came after thread 2 and that after thread 3, which learns now of thread 4.
    run.begin(4).write(4, 0x4000).read(3, 0x4000).splits(&[]);
    run.read(4, Y).splits(&[15]);
}

#[test]
fn a_cycle_can_go_through_operations_outside_blocks() {
    let mut run = Run::new();
    run.begin(1).write(1, X).read(2, X).write(2, Y).read(1, Y).splits(&[1]);
    let mut run = Run::new();
    run.begin(1).write(1, X).write(2, Y).read(2, X).read(1, Y).splits(&[]);
}

#[test]
fn operations_outside_blocks_are_never_split() {
    let mut run = Run::new();
    for _ in 0..3 {
        run.read(1, X).write(2, X).section(1, L).section(2, L).atomic(1, Kind::AtomicUpdate, Y).atomic(
            2,
            Kind::AtomicUpdate,
            Y,
        );
    }
    run.splits(&[]);
}

#[test]
fn an_inner_block_belongs_to_the_outer_one() {
    let mut run = Run::new();
    run.begin(1).begin(1).write(1, X).end(1).write(2, X).read(1, X).splits(&[1]);
    assert_eq!(run.serial.blocks(), 1);
}

#[test]
fn reads_conflict_with_writes_only_and_only_where_they_share_a_byte() {
    let between = |kind: Kind, address: u64, size: u64| {
        let mut run = Run::new();
        run.begin(1).read(1, X).put(2, kind, 0, size, address).write(1, X).end(1);
        !run.splits.is_empty()
    };
    assert!(!between(Kind::Read, X, 8));
    assert!(between(Kind::Write, X, 8));
    assert!(between(Kind::Write, X + 7, 1));
    assert!(between(Kind::Write, X - 7, 8));
    assert!(between(Kind::Write, X - 100, 1000));
    assert!(!between(Kind::Write, X - 8, 8));
    assert!(!between(Kind::Write, X + 8, 8));
    assert!(!between(Kind::Write, X, 0));
}

#[test]
fn an_access_of_several_variables_comes_after_all_of_them_at_once() {
    let mut run = Run::new();
    run.begin(1).write(1, X + 8);
    // One write that comes after the block in its second half. Who comes after its first half comes after the block too.
    run.put(2, Kind::Write, 0, 16, X).read(3, X).write(3, Y).read(1, Y).splits(&[1]);
}

#[test]
fn atomic_operations_conflict_like_others() {
    use Kind::{AtomicLoad, AtomicStore, AtomicUpdate};
    let between = |first: Kind, other: Kind, last: Kind| {
        let mut run = Run::new();
        run.begin(1).atomic(1, first, X).atomic(2, other, X).atomic(1, last, X).end(1);
        !run.splits.is_empty()
    };
    assert!(between(AtomicLoad, AtomicUpdate, AtomicStore), "check, then act");
    assert!(between(AtomicLoad, AtomicStore, AtomicLoad));
    assert!(between(AtomicStore, AtomicLoad, AtomicStore));
    assert!(between(AtomicUpdate, AtomicUpdate, AtomicUpdate));
    assert!(!between(AtomicLoad, AtomicLoad, AtomicUpdate));
    let mut mixed = Run::new();
    mixed.begin(1).read(1, X).atomic(2, AtomicUpdate, X + 4).read(1, X).splits(&[1]);
}

#[test]
fn sections_of_one_lock_conflict_unless_both_are_shared() {
    Run::new().begin(1).section(1, L).section(2, L).section(1, L).splits(&[1]);
    Run::new().begin(1).section(1, L).section(2, M).section(1, L).splits(&[]);
    Run::new().begin(1).section_shared(1, L).section(2, L).section_shared(1, L).splits(&[1]);
    Run::new().begin(1).section(1, L).section_shared(2, L).section(1, L).splits(&[1]);
    Run::new().begin(1).section_shared(1, L).section_shared(2, L).section(1, L).splits(&[]);
    Run::new().begin(1).section_shared(1, L).section_shared(2, L).section_shared(1, L).splits(&[]);
}

#[test]
fn taking_a_lock_again_is_no_operation() {
    let mut run = Run::new();
    run.on(1, Kind::Acquire, L).begin(1).section(1, L).end(1);
    run.write(1, X).on(1, Kind::Release, L);
    run.begin(2).write(2, Y).section(2, L).begin(1).read(1, Y).section(1, M).end(1).end(2).splits(&[]);
    // But if its holder took it anew in the meantime, it is one.
    Run::new().begin(1).section(1, L).section(2, L).on(1, Kind::Acquire, L).section(1, L).splits(&[1]);
}

#[test]
fn an_attempt_that_failed_conflicts_with_the_sections_around_it() {
    let mut run = Run::new();
    run.on(2, Kind::Acquire, L).begin(1).on(1, Kind::Refused, L).on(2, Kind::Release, L).section(1, L).splits(&[3 - 1]);
    let mut run = Run::new();
    run.on(2, Kind::Acquire, L).begin(1).on(1, Kind::Refused, L).on(2, Kind::Release, L).end(1).splits(&[]);
    // Nobody holds it: when that was is not known.
    let mut run = Run::new();
    run.begin(1).on(1, Kind::Refused, L).section(2, L).on(1, Kind::Refused, L).splits(&[]);
}

#[test]
fn an_attempt_on_a_semaphore_that_failed_has_no_order() {
    let mut run = Run::new();
    run.begin(1).write(1, X).read(2, X).on(2, Kind::Signal, L).on(1, Kind::Refused, L).splits(&[]);
    let mut run = Run::new();
    run.begin(1).on(1, Kind::Refused, L).on(2, Kind::Signal, L).on(1, Kind::Await, L).splits(&[]);
}

#[test]
fn signals_come_before_waits_and_nothing_else() {
    let mut run = Run::new();
    run.begin(1).write(1, X).read(2, X).on(2, Kind::Signal, L).on(1, Kind::Await, L).splits(&[1]);
    for (first, other, last) in [
        (Kind::Signal, Kind::Signal, Kind::Signal),
        (Kind::Await, Kind::Await, Kind::Await),
        (Kind::Await, Kind::Signal, Kind::Signal),
    ] {
        Run::new().begin(1).on(1, first, L).on(2, other, L).on(1, last, L).splits(&[]);
    }
    // Signals of several threads, also when one came after another.
    let mut run = Run::new();
    run.begin(1)
        .write(1, X)
        .read(2, X)
        .on(2, Kind::Signal, L)
        .on(3, Kind::Signal, L)
        .on(1, Kind::Await, L)
        .splits(&[1]);
}

#[test]
fn a_wait_for_a_condition_follows_the_signals_since_it_began() {
    // A signal before the sleep, which thread 1 does not wait for, and one in it.
    let run = |before: bool, during: bool| {
        let mut run = Run::with(Config { strict_waits: true });
        run.on(1, Kind::Acquire, M).begin(1).write(1, X).read(2, X);
        if before {
            run.on(2, Kind::Signal, L);
        }
        run.on(1, Kind::Release, M);
        if during {
            run.on(2, Kind::Signal, L);
        }
        run.on(1, Kind::Interfere, 0).on(1, Kind::Await, L).put(1, Kind::Acquire, RESUMED, 0, M);
        !run.splits.is_empty()
    };
    assert!(!run(false, false));
    assert!(!run(true, false));
    assert!(run(false, true));
    assert!(run(true, true));
    // What did not begin with a release is no such wait.
    let mut run = Run::with(Config { strict_waits: true });
    run.begin(1).write(1, X).read(2, X).on(2, Kind::Signal, L).section(1, M).on(1, Kind::Fork, 3);
    run.on(1, Kind::Interfere, 0).on(1, Kind::Await, L).splits(&[1]);
}

/// A thread goes on behind a barrier.
fn pass(run: &mut Run, thread: ThreadId) -> &mut Run {
    run.on(thread, Kind::Interfere, 0).on(thread, Kind::Await, L)
}

#[test]
fn who_passes_a_barrier_follows_those_of_its_round() {
    // Threads 2 and 3 meet, then thread 1 comes after a part of a block of thread 4, and meets nobody before thread 3 passes.
    let run = |is_late: bool| {
        let mut run = Run::new();
        run.begin(4).write(4, X).on(2, Kind::Signal, L).on(3, Kind::Signal, L);
        if is_late {
            pass(&mut run, 2);
        }
        run.read(1, X).on(1, Kind::Signal, L);
        pass(&mut run, 3).write(3, Y).read(4, Y);
        !run.splits.is_empty()
    };
    assert!(run(false), "all three are of one round");
    assert!(!run(true), "the round was over");
    // One that arrives again belongs to the next round, and its first arrival still counts.
    let mut run = Run::new();
    run.begin(4).write(4, X).read(2, X).on(2, Kind::Signal, L).on(3, Kind::Signal, L);
    pass(&mut run, 2).on(2, Kind::Signal, L).on(1, Kind::Signal, L);
    pass(&mut run, 1);
    pass(&mut run, 3).write(3, Y).read(4, Y).splits(&[1]);
}

#[test]
fn rounds_that_are_over_are_forgotten() {
    let mut run = Run::new();
    for _ in 0..1000 {
        for thread in 1..4 {
            run.begin(thread).write(thread, X + 8 * u64::from(thread)).end(thread).on(thread, Kind::Signal, L);
        }
        for thread in 1..4 {
            pass(&mut run, thread);
        }
        // Somebody who arrives and goes away.
        run.on(5, Kind::Signal, L).write(5, Y);
    }
    let footprint = run.serial.footprint();
    assert!(footprint.nodes < 24 && footprint.rows < 24, "{footprint:?}");
}

#[test]
fn a_thread_comes_after_its_creation_and_before_its_join() {
    let mut run = Run::new();
    run.begin(1).on(1, Kind::Fork, 2).write(2, X).read(1, X).splits(&[1]);
    let mut run = Run::new();
    run.begin(1).on(1, Kind::Fork, 2).on(2, Kind::End, 2).on(1, Kind::Join, 2).splits(&[1]);
    assert_eq!(run.splits[0].before, Operation { thread: 2, kind: Kind::End, pc: 0, block: None });
    let mut run = Run::new();
    run.on(1, Kind::Fork, 2).begin(1).on(2, Kind::End, 2).on(1, Kind::Join, 2).end(1).splits(&[]);
}

#[test]
fn a_wait_splits_a_block_only_if_waits_are_strict() {
    let run = |strict_waits| {
        let mut run = Run::with(Config { strict_waits });
        run.begin(1).on(1, Kind::Acquire, L).on(1, Kind::Release, L).on(1, Kind::Interfere, 0);
        run.section(2, L).put(1, Kind::Acquire, RESUMED, 0, L).on(1, Kind::Release, L).end(1);
        !run.splits.is_empty()
    };
    assert!(!run(false));
    assert!(run(true));
    // What comes after the wait is a block again.
    let mut again = Run::new();
    again.begin(1).section(1, L).on(1, Kind::Interfere, 0).section(1, L).section(2, L).section(1, L).splits(&[1]);
}

#[test]
fn memory_that_is_allocated_holds_new_variables() {
    let around = |between: &dyn Fn(&mut Run)| {
        let mut run = Run::new();
        run.allocate(1, memory::HEAP, X, 16).begin(1).write(1, X).write(1, X + 8);
        between(&mut run);
        run.write(2, X + 8).write(1, X + 8);
        !run.splits.is_empty()
    };
    assert!(around(&|_| {}));
    assert!(around(&|run: &mut Run| _ = run.on(1, Kind::Free, X)), "nothing new has begun there");
    let renewed = |detail, size| {
        let mut run = Run::new();
        run.allocate(1, memory::HEAP, X, 16).begin(1).write(1, X + 8);
        run.write(2, X + 8).on(2, Kind::Free, X).allocate(2, detail, X, size).write(1, X + 8);
        !run.splits.is_empty()
    };
    assert!(!renewed(memory::HEAP, 16));
    assert!(renewed(memory::HEAP, 8), "it lies behind the new block");
    assert!(renewed(memory::RESIZED, 16), "it lives on");
}

#[test]
fn memory_that_is_allocated_holds_new_objects() {
    let signalled = |address, size| {
        let mut run = Run::new();
        run.begin(1).write(1, X).read(2, X).on(2, Kind::Signal, L).allocate(3, memory::HEAP, address, size);
        run.on(1, Kind::Await, L);
        !run.splits.is_empty()
    };
    assert!(!signalled(L, 8));
    assert!(!signalled(L - 8, 40));
    assert!(signalled(L - 8, 8));
    assert!(signalled(L + 8, 8));
    let locked = |is_held: bool| {
        let mut run = Run::new();
        run.begin(1).section(1, L).section(2, L);
        if is_held {
            run.put(3, Kind::Acquire, Mode::Shared as u8, 0, L);
        }
        run.allocate(3, memory::HEAP, L, 8).section_shared(1, L);
        !run.splits.is_empty()
    };
    assert!(!locked(false));
    assert!(locked(true));
    // It arrived at what is no more.
    let mut run = Run::new();
    run.begin(4).write(4, X).on(3, Kind::Signal, L).allocate(3, memory::HEAP, M, 8);
    run.on(1, Kind::Signal, L).allocate(2, memory::HEAP, L, 8).read(2, X).on(2, Kind::Signal, L);
    pass(&mut run, 1).write(1, Y).read(4, Y).splits(&[]);
}

#[test]
fn a_lock_that_is_initialised_or_destroyed_is_a_new_one() {
    for kind in [Kind::LockInit, Kind::LockDestroy] {
        Run::new().begin(1).section(1, L).section(2, L).on(2, kind, L).section(1, L).splits(&[]);
        Run::new().begin(1).section(1, L).section(2, L).on(2, kind, M).section(1, L).splits(&[1]);
    }
}

#[test]
fn what_was_lost_is_not_held_against_anybody() {
    let around_loss = |thread| {
        let mut run = Run::new();
        run.begin(1).write(1, X).write(2, X).put(thread, Kind::Lost, 0, 5, 0).write(1, X).end(1);
        assert_eq!(run.serial.lost(), 5);
        !run.splits.is_empty()
    };
    assert!(!around_loss(1), "the block may have ended");
    assert!(!around_loss(2), "the memory may be other memory");
    let mut run = Run::new();
    run.begin(1).write(1, X).read(2, X).on(2, Kind::Signal, L).put(3, Kind::Lost, 0, 5, 0).on(1, Kind::Await, L);
    run.splits(&[]);
    let mut run = Run::new();
    run.put(1, Kind::Lost, 0, 5, 0).begin(1).write(1, X).write(2, X).write(1, X).splits(&[2]);
}

#[test]
fn a_lock_can_be_given_back_by_another_thread() {
    let mut run = Run::new();
    run.on(1, Kind::Acquire, L).begin(2).write(2, X).on(2, Kind::Release, L).on(1, Kind::Acquire, L).read(1, X);
    run.splits(&[]);
    run.on(1, Kind::Release, L).section(2, L).splits(&[2]);
}

#[test]
fn every_block_is_told_once_and_its_runs_are_counted() {
    let mut run = Run::new();
    let mut serial = Serial::new(Config::default());
    let mut told = 0;
    let mut step = |thread, kind, object, pc| {
        serial.step(thread, &Event::new(kind, 0, 8, object, pc), &mut |_| told += 1);
    };
    for _ in 0..3 {
        step(1, Kind::BlockBegin, 7, 100);
        for _ in 0..2 {
            step(1, Kind::Write, X, 0);
            step(2, Kind::Write, X, 0);
        }
        step(1, Kind::BlockEnd, 0, 0);
    }
    assert_eq!((told, serial.counts()[&Block { label: 7, pc: 100 }]), (1, 3));
    // After one block was split the others are still seen.
    run.begin(1).write(1, X).write(2, X).write(1, X).end(1);
    run.begin(2).write(2, X).write(1, X).write(2, X).end(2).splits(&[1, 6]);
}

#[test]
fn damaged_streams_are_taken_as_they_come() {
    let mut run = Run::new();
    run.end(1).on(1, Kind::Release, L).on(1, Kind::Join, 1).on(1, Kind::Join, 9).on(1, Kind::Fork, 1);
    run.write(1, u64::MAX).put(1, Kind::Write, 0, 0xffff, u64::MAX - 8).write(2, u64::MAX - 3).read(1, u64::MAX);
    run.allocate(1, 0, u64::MAX - 3, 1 << 40).allocate(1, 0, 0, u64::MAX >> 16);
    run.on(2, Kind::End, 2).write(2, X).end(2).on(2, Kind::End, 2).on(1, Kind::Fork, 2).splits(&[]);
    for code in 0..=255_u64 {
        let event = Event::from_words([code | 0xff00, X, Y]);
        run.serial.step(3, &event, &mut |_| {});
    }
}

#[test]
fn transactions_that_nobody_can_conflict_with_any_more_are_forgotten() {
    let mut run = Run::new();
    // Named for ever by a variable that nobody touches again.
    run.begin(1).write(1, X).end(1);
    for turn in 0..10_000 {
        // Two blocks that overlap, each with a part that the other one comes after.
        let [one, other] = if turn % 2 == 0 { [1, 2] } else { [2, 1] };
        run.begin(one).section(one, L).begin(other).section(other, L).section(other, M).write(other, Y).end(other);
        run.read(3, Y).end(one);
    }
    run.splits(&[]);
    let footprint = run.serial.footprint();
    assert!(footprint.nodes < 16 && footprint.rows < 16, "{footprint:?}");
}

#[test]
fn threads_that_came_and_went_leave_no_room_in_the_clocks() {
    let mut run = Run::new();
    for child in 1..1000 {
        run.on(0, Kind::Fork, child)
            .begin(child as ThreadId)
            .write(child as ThreadId, X + child * 8)
            .end(child as ThreadId);
        run.on(child as ThreadId, Kind::End, child).on(0, Kind::Join, child);
    }
    run.splits(&[]);
    assert_eq!(run.serial.footprint().slots, 2);
}
