//! What the hooks write into the calling thread's chunk while everything is recorded. A thread of the test gets a chunk by hand; no
//! monitor runs.

use super::strings;
use super::tsan::{access, atomic};
use crate::event::Kind::{Enter, Leave, Read, Value, Write};
use crate::event::atomic::detail;
use crate::event::{self, Event, Kind};
use crate::runtime::chunk::Chunk;
use crate::runtime::record::{start_recording, stop_recording};
use crate::runtime::tls::{Frame, Tls, tls};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The switch is one for the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What `work` records in a new thread.
fn recorded(values: bool, work: impl FnOnce(*mut Tls) + Send) -> Vec<Event> {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    std::thread::scope(|scope| scope.spawn(|| in_this_thread(values, work)).join().unwrap())
}

fn in_this_thread(values: bool, work: impl FnOnce(*mut Tls)) -> Vec<Event> {
    // Never freed, as chunks are.
    let chunk: &'static Chunk = Box::leak(Box::new(
        // SAFETY: all zeroes is an empty chunk.
        unsafe { std::mem::zeroed() },
    ));
    let frames: &'static mut [Frame] = Box::leak((0..8).map(|_| Frame { inside: 0, call: 0, sp: 0 }).collect());
    let t = tls();
    let base = frames.as_mut_ptr();
    // SAFETY: this thread's own state; the chunk and the frames live for ever.
    unsafe {
        chunk.reset(1, 0);
        (*t).chunk = chunk;
        ((*t).base, (*t).top, (*t).low, (*t).published, (*t).end) = (base, base, base, base, base.add(8));
        (*t).os_thread_id = 1;
        (*t).owes = u32::from(values);
    }
    start_recording(values);
    work(t);
    stop_recording();
    let mut events = Vec::new();
    chunk.copy_from(0, &mut events);
    // When the time is told depends on how fast this runs.
    events.retain(|event| event.kind() != Some(Kind::Time));
    events
}

type Hook = unsafe extern "C" fn();

/// Calls a hook with integers in registers; those that it does not look at do no harm, nor does an answer that it does not give.
fn call(hook: Hook, arguments: &[u64]) -> u64 {
    let at = |index: usize| arguments.get(index).copied().unwrap_or(0);
    // SAFETY: a function of the C ABI; the addresses that the tests pass are their own variables'.
    unsafe {
        let hook: unsafe extern "C" fn(u64, u64, u64, u64, u64) -> u64 = std::mem::transmute(hook);
        hook(at(0), at(1), at(2), at(3), at(4))
    }
}

macro_rules! call {
    ($hook:expr, $($argument:expr),*) => { call($hook, &[$($argument as u64),*]) };
    ($hook:expr, $($argument:expr),*; $result:ty) => { call($hook, &[$($argument as u64),*]) as $result };
}

/// Shuts or opens the gate, as if the thread were in a hook already.
fn set_gate(t: *mut Tls, gate: u64) {
    // SAFETY: the calling thread's own state.
    unsafe { (*t).gate = gate };
}

/// Whether the recording was told of all frames.
fn is_in_step(t: *mut Tls) -> bool {
    // SAFETY: the calling thread's own state.
    unsafe { (*t).top == (*t).published && (*t).low == (*t).published && (*t).owes == 0 }
}

/// Kind, detail and size.
fn shape(event: &Event) -> (Kind, u8, u64) {
    (event.kind().unwrap(), event.detail(), event.size())
}

#[test]
fn each_access_is_an_event_with_its_size_and_place() {
    let cell = 0u128;
    let at = (&raw const cell).addr() as u64;
    let events = recorded(false, |_| {
        call!(access::__tsan_read1, at);
        call!(access::__tsan_write16, at);
        call!(access::__tsan_unaligned_read4, at);
        call!(access::__tsan_read_write8, at);
        call!(access::__tsan_vptr_update, at, 0);
        call!(access::__tsan_volatile_write2, at);
        call!(access::__tsan_read8_pc, at, 77);
        call!(access::__tsan_write_range, at, 5);
        call!(access::__tsan_read_range_pc, at, 1u64 << 40, 78);
        call!(access::__tsan_write_range, at, 0);
    });
    let expected = [
        (Kind::Read, 0, 1),
        (Kind::Write, 0, 16),
        (Kind::Read, event::access::UNALIGNED, 4),
        (Kind::Read, 0, 8),
        (Kind::Write, 0, 8),
        (Kind::Write, event::access::VPTR, 8),
        (Kind::Write, event::access::VOLATILE, 2),
        (Kind::Read, 0, 8),
        (Kind::Write, event::access::RANGE, 5),
        (Kind::Read, event::access::RANGE, u64::from(u32::MAX)),
    ];
    assert_eq!(events.iter().map(shape).collect::<Vec<_>>(), expected);
    assert!(events.iter().all(|event| event.object == at && event.pc != 0));
    assert_eq!((events[7].pc, events[9].pc), (77, 78));
}

#[test]
fn basic_blocks_are_counted_up_to_the_next_access() {
    let events = recorded(false, |_| {
        for blocks in [3, 0, 70_000] {
            for _ in 0..blocks {
                call!(access::__sanitizer_cov_trace_pc,);
            }
            call!(access::__tsan_read1, 8);
        }
    });
    assert_eq!(events.iter().map(Event::branches).collect::<Vec<_>>(), [3, 0, u16::MAX]);
}

#[test]
fn functions_are_told_when_they_are_entered_and_left() {
    let events = recorded(false, |t| {
        call!(super::__tsan_func_entry, 100);
        call!(super::__tsan_func_entry, 200);
        call!(access::__tsan_read1, 8);
        call!(super::__tsan_func_exit,);
        assert!(is_in_step(t));
        // As in a signal handler that interrupted a hook: nothing now, and nothing to say if it comes to nothing.
        set_gate(t, 8);
        call!(super::__tsan_func_entry, 300);
        call!(access::__tsan_read1, 8);
        call!(super::__tsan_func_exit,);
        set_gate(t, 0);
        assert!(!is_in_step(t));
        call!(access::__tsan_write1, 8);
        call!(super::__tsan_func_exit,);
        // More exits than entries: the thread was adopted in the middle of a function.
        call!(super::__tsan_func_exit,);
    });
    let kinds: Vec<_> = events.iter().map(|event| (event.kind().unwrap(), event.depth())).collect();
    let told =
        [(Kind::Enter, 0), (Kind::Enter, 1), (Kind::Read, 1), (Kind::Leave, 1), (Kind::Write, 1), (Kind::Leave, 0)];
    assert_eq!(kinds, told);
    assert_eq!((events[0].pc, events[1].pc), (100, 200));
    assert!(events[..2].iter().all(|event| event.stack_pointer() != 0));
}

#[test]
fn calls_too_deep_to_keep_are_told_once_or_not_at_all() {
    let events = recorded(false, |_| {
        for call in 1..=10 {
            call!(super::__tsan_func_entry, call);
            call!(access::__tsan_read1, 8);
        }
        for _ in 1..=10 {
            call!(super::__tsan_func_exit,);
        }
        call!(access::__tsan_read1, 8);
    });
    let count = |kind| events.iter().filter(|event| event.kind() == Some(kind)).count();
    assert_eq!((count(Kind::Enter), count(Kind::Leave), count(Kind::Read)), (8, 8, 11));
}

#[test]
fn an_atomic_operation_has_its_order_and_its_value() {
    let mut cell = 5u32;
    let at = (&raw mut cell).addr() as u64;
    let mut expected = 1u32;
    let expected_at = (&raw mut expected).addr() as u64;
    let events = recorded(true, |_| {
        call!(access::__sanitizer_cov_trace_pc,);
        assert_eq!(call!(atomic::__tsan_atomic32_load, at, 2; u32), 5);
        call!(atomic::__tsan_atomic32_store, at, 7, 3);
        assert_eq!(call!(atomic::__tsan_atomic32_fetch_nand, at, 3, 4; u32), 7);
        assert_eq!(call!(atomic::__tsan_atomic32_compare_exchange_strong, at, expected_at, 2, 5, 0; i32), 0);
        call!(atomic::__tsan_atomic_thread_fence, 5);
    });
    let told: Vec<_> = events.iter().map(|event| (event.kind().unwrap(), event.detail())).collect();
    assert_eq!(
        told,
        [
            (Kind::Branches, 0),
            (Kind::AtomicLoad, detail(2, 2)),
            (Kind::Value, 0),
            (Kind::AtomicStore, detail(3, 2)),
            (Kind::Value, 0),
            (Kind::AtomicUpdate, detail(4, 2)),
            (Kind::Value, 0),
            // What is expected is read, and what was there instead written.
            (Kind::Read, 0),
            (Kind::Value, 0),
            (Kind::AtomicLoad, detail(0, 2) | event::atomic::COMPARED),
            (Kind::Value, 0),
            (Kind::Write, 0),
            (Kind::Value, 0),
            (Kind::Fence, 5),
        ]
    );
    let value = |index: usize| (events[index].object, events[index].pc);
    let after = u64::from(!(7u32 & 3));
    assert_eq!([2, 4, 6, 8, 10, 12].map(value), [(5, 0), (7, 0), (after, 7), (1, 0), (after, 0), (after, 0)]);
    assert_eq!(u64::from(cell), after);
    let numbers: Vec<u64> = [1, 3, 5, 9].map(|index: usize| events[index].number()).into();
    assert!(numbers.windows(2).all(|pair| pair[1] > pair[0]), "{numbers:?}");
}

#[test]
fn a_successful_compare_exchange_is_told_apart_and_has_its_values_in_any_recording() {
    let mut cell = 5u128;
    let at = (&raw mut cell).addr() as u64;
    let mut expected = 5u128;
    let expected_at = (&raw mut expected).addr() as u64;
    let events = recorded(false, |_| {
        assert_eq!(call!(atomic::__tsan_atomic8_compare_exchange_strong, at, expected_at, 6, 5, 0; i32), 1);
        assert_eq!(call!(atomic::__tsan_atomic16_compare_exchange_val, at, 6, 7, 4, 0; u16), 6);
        assert_eq!(call!(atomic::__tsan_atomic32_compare_exchange_val, at, 7, 8, 2, 0; u32), 7);
        assert_eq!(call!(atomic::__tsan_atomic64_compare_exchange_val, at, 8, 5, 0, 0; u64), 8);
        assert_eq!(call!(atomic::__tsan_atomic128_compare_exchange_weak, at, expected_at, 9, 0, 5, 0; i32), 1);
        assert_eq!(call!(atomic::__tsan_atomic64_exchange, at, 9, 5; u64), 9);
        assert_eq!(call!(atomic::__tsan_atomic64_compare_exchange_val, at, 8, 5, 5, 5; u64), 9);
    });
    let told: Vec<_> = events.iter().map(|event| (event.kind().unwrap(), event.detail())).collect();
    let compared = |order, log_size| (Kind::AtomicUpdate, detail(order, log_size) | event::atomic::COMPARED);
    assert_eq!(
        told,
        [
            (Kind::Read, 0),
            compared(5, 0),
            (Kind::Value, 0),
            compared(4, 1),
            (Kind::Value, 0),
            compared(2, 2),
            (Kind::Value, 0),
            compared(0, 3),
            (Kind::Value, 0),
            (Kind::Read, 0),
            compared(5, 4),
            (Kind::AtomicUpdate, detail(5, 3)),
            (Kind::Value, 0),
            (Kind::AtomicLoad, detail(5, 3) | event::atomic::COMPARED),
            (Kind::Value, 0),
        ]
    );
    let value = |index: usize| (events[index].object, events[index].pc);
    assert_eq!([2, 4, 6, 8, 12, 14].map(value), [(6, 5), (7, 6), (8, 7), (5, 8), (9, 9), (9, 0)]);
}

#[test]
fn a_written_value_is_told_before_the_next_event() {
    let cell = [AtomicU64::new(1), AtomicU64::new(2)];
    let at = cell.as_ptr().addr();
    let events = recorded(true, |_| {
        call!(access::__tsan_read16, at);
        call!(access::__tsan_write8, at);
        cell[0].store(3, Ordering::Relaxed);
        call!(super::__tsan_func_entry, 100);
        // Where nothing is mapped, nothing can be told.
        call!(access::__tsan_read8, 8);
        call!(access::__tsan_write_range, at, 17);
        call!(access::__tsan_write1, 8);
        call!(super::__tsan_func_exit,);
    });
    let kinds: Vec<Kind> = events.iter().filter_map(Event::kind).collect();
    assert_eq!(kinds, [Read, Value, Write, Value, Enter, Read, Write, Write, Leave]);
    assert_eq!((events[1].object, events[1].pc), (1, 2));
    assert_eq!((events[3].object, events[3].pc), (3, 0));
}

#[test]
fn functions_on_strings_touch_what_they_look_at() {
    let mut buffer = *b"hello\0..........";
    let to = buffer.as_mut_ptr().addr();
    let [hello, help, lo] = [c"hello", c"help", c"lo"].map(|text| text.as_ptr().addr());
    for (hook, arguments, expected) in [
        (strings::__wrap_strlen as Hook, [hello, 0, 0, 0], &[(Kind::Read, 6)][..]),
        (strings::__wrap_strnlen, [hello, 3, 0, 0], &[(Kind::Read, 3)]),
        (strings::__wrap_strcmp, [hello, help, 0, 0], &[(Kind::Read, 4), (Kind::Read, 4)]),
        (strings::__wrap_strncmp, [hello, help, 2, 0], &[(Kind::Read, 2), (Kind::Read, 2)]),
        (strings::__wrap_memcmp, [hello, help, 5, 0], &[(Kind::Read, 4), (Kind::Read, 4)]),
        (strings::__wrap_strchr, [hello, b'l'.into(), 0, 0], &[(Kind::Read, 3)]),
        (strings::__wrap_strrchr, [hello, b'l'.into(), 0, 0], &[(Kind::Read, 6)]),
        (strings::__wrap_memchr, [hello, b'z'.into(), 4, 0], &[(Kind::Read, 4)]),
        (strings::__wrap_strstr, [hello, lo, 0, 0], &[(Kind::Read, 3), (Kind::Read, 5)]),
        (strings::__wrap_memcpy, [to, hello, 6, 0], &[(Kind::Read, 6), (Kind::Write, 6)]),
        (strings::__wrap___memcpy_chk, [to, hello, 6, 16], &[(Kind::Read, 6), (Kind::Write, 6)]),
        (strings::__wrap_memset, [to, b'x'.into(), 4, 0], &[(Kind::Write, 4)]),
        (strings::__wrap_strcpy, [to, lo, 0, 0], &[(Kind::Read, 3), (Kind::Write, 3)]),
        (strings::__wrap_strcat, [to, lo, 0, 0], &[(Kind::Read, 3), (Kind::Read, 3), (Kind::Write, 3)]),
        (strings::__wrap_strncat, [to, hello, 2, 0], &[(Kind::Read, 5), (Kind::Read, 2), (Kind::Write, 3)]),
        (strings::__wrap_strncpy, [to, lo, 9, 0], &[(Kind::Read, 3), (Kind::Write, 9)]),
        (access::__tsan_memset, [to, 0, 4, 0], &[(Kind::Write, 4)]),
    ] {
        let events = recorded(false, |_| {
            call(hook, &arguments.map(|argument| argument as u64));
        });
        let touched: Vec<_> = events.iter().map(|event| (event.kind().unwrap(), event.size())).collect();
        assert_eq!(touched, expected, "{arguments:x?}");
        assert!(events.iter().all(|event| event.detail() == event::access::RANGE && event.pc != 0));
    }
}
