//! The text of `avmon export --format std`: well formed whatever the trace, and with exactly the order that the run had.

use avmon::event::{Event, Kind, Mode, RESUMED, ThreadId, atomic, memory};
use avmon::export::std::{Survey, Translator};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};

type Trace = Vec<(ThreadId, Event)>;

fn translated(trace: &Trace, with_functions: bool) -> String {
    let mut survey = Survey::default();
    for (thread, event) in trace {
        survey.step(*thread, event);
    }
    let mut translator = Translator::new(survey, with_functions, Vec::new());
    for (thread, event) in trace {
        translator.step(*thread, event).unwrap();
    }
    String::from_utf8(translator.finish().unwrap().0).unwrap()
}

/// The text on one line, without locations.
fn short(trace: &Trace, with_functions: bool) -> String {
    let text = translated(trace, with_functions);
    text.lines().map(|line| line.rsplit_once('|').unwrap().0.replace('|', ":")).collect::<Vec<_>>().join(" ")
}

fn event(kind: Kind, object: u64) -> Event {
    Event::new(kind, 0, 0, object, 0x10)
}

fn shared(object: u64) -> Event {
    Event::new(Kind::Acquire, Mode::Shared as u8, 0, object, 0x10)
}

fn access(kind: Kind, address: u64, size: u32) -> Event {
    Event::access(kind, 0, size, 0, address, 0x10)
}

// What the format cannot say.

#[test]
fn accesses_are_cut_where_others_begin_and_end() {
    let trace =
        vec![(0, access(Kind::Write, 0x100, 8)), (0, access(Kind::Read, 0x104, 2)), (0, access(Kind::Read, 0x108, 4))];
    assert_eq!(short(&trace, false), "T0:w(V0) T0:w(V1) T0:w(V2) T0:r(V1) T0:r(V3)");
}

#[test]
fn memory_that_is_allocated_again_is_another_variable() {
    let allocated = |size| [(0, Event::new(Kind::Extent, 0, size, 0, 0)), (0, event(Kind::Allocate, 0x100))];
    let mut trace = allocated(16).to_vec();
    trace.extend([(0, access(Kind::Write, 0x100, 4)), (0, event(Kind::Free, 0x100))]);
    trace.extend(allocated(16));
    trace.push((0, access(Kind::Write, 0x100, 4)));
    trace.extend([(0, event(Kind::Free, 0x100)), (0, Event::new(Kind::Extent, 0, 32, 0, 0))]);
    trace.extend([(0, Event::new(Kind::Allocate, memory::RESIZED, 0, 0x100, 0)), (0, access(Kind::Write, 0x100, 4))]);
    assert_eq!(short(&trace, false), "T0:w(V0) T0:w(V1) T0:w(V1)", "what is resized in place lives on");
}

#[test]
fn readers_take_their_own_part_of_a_lock_and_writers_all_of_it() {
    let trace = vec![
        (1, shared(0x10)),
        (2, shared(0x10)),
        (1, event(Kind::Release, 0x10)),
        (2, event(Kind::Release, 0x10)),
        (3, event(Kind::Acquire, 0x10)),
        (3, event(Kind::Release, 0x10)),
    ];
    let text = "T1:acq(L0) T2:acq(L1) T1:rel(L0) T2:rel(L1) \
                T3:acq(L2) T3:acq(L0) T3:acq(L1) T3:rel(L1) T3:rel(L0) T3:rel(L2)";
    assert_eq!(short(&trace, false), text);
}

#[test]
fn a_lock_taken_twice_is_one_section_and_sections_nest() {
    let [acquire, release] = [Kind::Acquire, Kind::Release];
    let twice = [acquire, acquire, release, release].map(|kind| (0, event(kind, 0x10)));
    assert_eq!(short(&twice.to_vec(), false), "T0:acq(L0) T0:rel(L0)");
    let hand_over_hand = [(acquire, 1), (acquire, 2), (release, 1), (release, 2)];
    let trace = hand_over_hand.map(|(kind, lock)| (0, event(kind, lock)));
    assert_eq!(short(&trace.to_vec(), false), "T0:acq(L0) T0:acq(L1) T0:rel(L1) T0:rel(L0) T0:acq(L1) T0:rel(L1)");
}

#[test]
fn a_lock_released_by_another_thread_was_handed_over() {
    let trace = vec![(1, event(Kind::Acquire, 8)), (2, event(Kind::Release, 8)), (3, event(Kind::Acquire, 8))];
    assert_eq!(short(&trace, false), "T1:acq(L0) T1:rel(L0) T2:acq(L0) T2:rel(L0) T3:acq(L0)");
}

#[test]
fn a_condition_wait_orders_the_signal_before_it() {
    let trace = vec![
        (1, event(Kind::Acquire, 8)),
        (1, event(Kind::Release, 8)),
        (2, event(Kind::Signal, 9)),
        (1, event(Kind::Await, 9)),
        (1, event(Kind::Interfere, 0)),
        (1, Event::new(Kind::Acquire, RESUMED, 0, 8, 0)),
        (2, event(Kind::Signal, 9)),
    ];
    assert_eq!(short(&trace, false), "T1:acq(L0) T1:rel(L0) T2:fork(T3) T1:join(T3) T1:acq(L0)");
}

#[test]
fn atomics_are_order_and_no_accesses() {
    let operation = |kind, order| Event::new(kind, atomic::detail(order, 2), 0, 0x40, 0);
    let trace = vec![
        (1, operation(Kind::AtomicStore, 3)),
        (2, operation(Kind::AtomicLoad, 2)),
        (2, operation(Kind::AtomicLoad, 2)),
        (3, operation(Kind::AtomicLoad, 0)),
    ];
    assert_eq!(short(&trace, false), "T1:fork(T4) T2:join(T4)");
}

#[test]
fn marks_are_blocks_and_functions_only_if_wanted() {
    let trace = vec![
        (1, Event::enter(0, 0, 1, 0)),
        (1, Event::enter(1, 0, 2, 0)),
        (1, event(Kind::BlockBegin, 0)),
        (1, event(Kind::Interfere, 0)),
        (1, event(Kind::BlockEnd, 0)),
        (1, Event::new(Kind::Leave, 0, 0, 0, 0)),
    ];
    assert_eq!(short(&trace, false), "T1:begin T1:end T1:begin T1:end");
    assert_eq!(
        short(&trace, true),
        "T1:begin T1:begin T1:end T1:end T1:begin T1:begin T1:end T1:end",
        "the outermost function is no block"
    );
}

#[test]
fn a_thread_that_ends_gives_everything_back() {
    let trace = vec![
        (0, event(Kind::Fork, 1)),
        (1, event(Kind::BlockBegin, 0)),
        (1, event(Kind::Acquire, 8)),
        (1, event(Kind::End, 1)),
        (0, event(Kind::Join, 1)),
        (1, access(Kind::Write, 8, 8)),
    ];
    assert_eq!(short(&trace, false), "T0:fork(T1) T1:begin T1:acq(L0) T1:rel(L0) T1:end T0:join(T1)");
}

// Any trace.

struct Line<'a> {
    thread: &'a str,
    operation: &'a str,
    argument: &'a str,
    location: u32,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().map(|line| {
        let mut parts = line.split('|');
        let (thread, operation, location) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        assert_eq!(parts.next(), None);
        let (operation, argument) = match operation.split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')').unwrap()),
            None => (operation, ""),
        };
        assert!(location.bytes().all(|byte| byte.is_ascii_digit()));
        Line { thread, operation, argument, location: location.parse().unwrap() }
    })
}

/// Asserts what tools take for granted.
fn check_form(text: &str) {
    let mut owners = HashMap::new();
    let mut held: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut blocks: HashMap<&str, u32> = HashMap::new();
    let (mut known, mut joined) = (HashSet::new(), HashSet::new());
    for Line { thread, operation, argument, .. } in lines(text) {
        known.insert(thread);
        assert!(!joined.contains(thread), "{thread} does something after it was joined");
        match operation {
            "acq" => {
                assert_eq!(owners.insert(argument, thread), None, "{argument} is taken twice");
                held.entry(thread).or_default().push(argument);
            }
            "rel" => {
                assert_eq!(owners.remove(argument), Some(thread));
                assert_eq!(held.entry(thread).or_default().pop(), Some(argument), "sections nest");
            }
            "fork" => assert!(known.insert(argument), "{argument} is created twice or too late"),
            "join" => assert!(known.contains(argument) && joined.insert(argument), "{argument} is joined"),
            "begin" => *blocks.entry(thread).or_default() += 1,
            "end" => {
                let open = blocks.entry(thread).or_default();
                *open = open.checked_sub(1).expect("a block is open");
            }
            "r" | "w" => assert!(argument.starts_with('V')),
            other => panic!("unknown operation {other}"),
        }
    }
}

prop_compose! {
    fn any_event()(kind in 0..Kind::ALL.len(), detail in 0u8..8, number in 0u64..4, object in 0u64..6, pc in 0u64..9) -> Event {
        Event::new(Kind::ALL[kind], detail, number, object, pc)
    }
}

proptest! {
    #[test]
    fn every_trace_gives_a_well_formed_text(
        trace in prop::collection::vec((0u32..4, any_event()), 0..200),
        with_functions: bool,
    ) {
        check_form(&translated(&trace, with_functions));
    }
}

// Order.

/// Happens-before between the accesses of a trace, as pairs of code locations: for each thread the set of those that come
/// before what it does next.
#[derive(Default)]
struct Order<'a> {
    threads: HashMap<&'a str, BTreeSet<u32>>,
    pairs: BTreeSet<(u32, u32)>,
}

impl<'a> Order<'a> {
    fn access(&mut self, thread: &'a str, location: u32) {
        let before = self.threads.entry(thread).or_default();
        self.pairs.extend(before.iter().filter(|earlier| **earlier != location).map(|earlier| (*earlier, location)));
        before.insert(location);
    }

    fn of(&self, thread: &str) -> BTreeSet<u32> {
        self.threads.get(thread).cloned().unwrap_or_default()
    }

    fn after(&mut self, thread: &'a str, before: &BTreeSet<u32>) {
        self.threads.entry(thread).or_default().extend(before);
    }
}

/// The order that the text says.
fn order_of_text(text: &str) -> BTreeSet<(u32, u32)> {
    let mut order = Order::default();
    let mut locks: HashMap<&str, BTreeSet<u32>> = HashMap::new();
    for Line { thread, operation, argument, location } in lines(text) {
        match operation {
            "r" | "w" => order.access(thread, location),
            "acq" => order.after(thread, &locks.get(argument).cloned().unwrap_or_default()),
            "rel" => drop(locks.insert(argument, order.of(thread))),
            "fork" => order.after(argument, &order.of(thread)),
            "join" => order.after(thread, &order.of(argument)),
            _ => {}
        }
    }
    order.pairs
}

/// The order that the run had: of a lock what its modes say, of an atomic what C11 says.
fn order_of_trace(trace: &Trace, names: &[String], location: &HashMap<u64, u32>) -> BTreeSet<(u32, u32)> {
    let mut order = Order::default();
    // By address: what writers did, what readers did since; what was signalled or released.
    let mut writers: HashMap<u64, BTreeSet<u32>> = HashMap::new();
    let mut readers: HashMap<u64, BTreeSet<u32>> = HashMap::new();
    let mut reads: HashSet<(ThreadId, u64)> = HashSet::new();
    let mut objects: HashMap<u64, BTreeSet<u32>> = HashMap::new();
    for (thread, event) in trace {
        let name: &str = &names[*thread as usize];
        let (object, detail) = (event.object, event.detail());
        match event.kind().unwrap() {
            Kind::Read | Kind::Write => order.access(name, location[&event.pc]),
            Kind::Fork => order.after(&names[object as usize], &order.of(name)),
            Kind::Join => order.after(name, &order.of(&names[object as usize])),
            Kind::Acquire => {
                order.after(name, &writers.get(&object).cloned().unwrap_or_default());
                if event.mode() == Mode::Shared {
                    reads.insert((*thread, object));
                } else {
                    order.after(name, &readers.get(&object).cloned().unwrap_or_default());
                }
            }
            Kind::Release => {
                let done = if reads.remove(&(*thread, object)) { &mut readers } else { &mut writers };
                done.entry(object).or_default().extend(order.of(name));
            }
            Kind::Signal => objects.entry(object).or_default().extend(order.of(name)),
            Kind::Await => order.after(name, &objects.get(&object).cloned().unwrap_or_default()),
            kind @ (Kind::AtomicLoad | Kind::AtomicStore | Kind::AtomicUpdate) => {
                if kind != Kind::AtomicStore && atomic::acquires(detail) {
                    order.after(name, &objects.get(&object).cloned().unwrap_or_default());
                }
                if kind == Kind::AtomicStore {
                    objects.remove(&object);
                }
                if kind != Kind::AtomicLoad && atomic::releases(detail) {
                    objects.entry(object).or_default().extend(order.of(name));
                }
            }
            _ => {}
        }
    }
    order.pairs
}

/// A run of four threads that does what the numbers say, as far as locks allow it.
fn run(choices: &[(u32, u8, u64)]) -> Trace {
    let mut trace: Trace = (1..4).map(|thread| (0, event(Kind::Fork, thread))).collect();
    let mut writer: HashMap<u64, ThreadId> = HashMap::new();
    let mut readers: HashMap<u64, HashSet<ThreadId>> = HashMap::new();
    for (index, &(thread, choice, argument)) in choices.iter().enumerate() {
        let pc = 0x1000 + index as u64;
        let lock = 0x100 + argument;
        let is_free = !writer.contains_key(&lock);
        let read_by = readers.entry(lock).or_default();
        let order = [0, 2, 3, 4][argument as usize % 4];
        let detail = atomic::detail(order, 2);
        let made = match choice {
            0 => Event::access(Kind::Write, 0, 4, 0, 0x8000, pc),
            1 => Event::access(Kind::Read, 0, 4, 0, 0x8000, pc),
            2 | 3 if writer.get(&lock) == Some(&thread) => {
                writer.remove(&lock);
                event(Kind::Release, lock)
            }
            2 | 3 if read_by.remove(&thread) => event(Kind::Release, lock),
            2 if is_free && read_by.is_empty() => {
                writer.insert(lock, thread);
                event(Kind::Acquire, lock)
            }
            3 if is_free => {
                read_by.insert(thread);
                shared(lock)
            }
            4 => event(Kind::Signal, 0x200 + argument),
            5 => event(Kind::Await, 0x200 + argument),
            6 => Event::new(Kind::AtomicStore, detail, 0, 0x300, pc),
            7 => Event::new(Kind::AtomicLoad, detail, 0, 0x300, pc),
            8 => Event::new(Kind::AtomicUpdate, detail, 0, 0x300, pc),
            _ => continue,
        };
        trace.push((thread, made));
    }
    trace
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn the_text_has_the_order_of_the_run_and_no_other(
        choices in prop::collection::vec((0u32..4, 0u8..9, 0u64..3), 0..80),
    ) {
        let trace = run(&choices);
        let names: Vec<String> = (0..4).map(|thread| format!("T{thread}")).collect();
        let text = translated(&trace, false);
        check_form(&text);
        // Locations are numbered in the order in which they come, those without a line too.
        let mut location = HashMap::new();
        for (_, event) in &trace {
            let next = location.len() as u32;
            location.entry(event.pc).or_insert(next);
        }
        prop_assert_eq!(order_of_text(&text), order_of_trace(&trace, &names, &location));
    }
}
