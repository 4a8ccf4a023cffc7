//! Model check of the chunk buffer: every interleaving and every allowed reordering of one writer and one reader.
//! The very source of the library's chunk is compiled here, over loom's cells and atomics.

#[path = "../src/event.rs"]
#[allow(dead_code)]
mod event;

#[path = "../src/runtime/chunk.rs"]
#[allow(dead_code)]
mod chunk;

/// Stands for `src/runtime/sync.rs`.
mod sync {
    pub use loom::sync::atomic::AtomicU32;

    pub struct Cell<T>(loom::cell::UnsafeCell<T>);

    impl<T: Copy> Cell<T> {
        pub fn new(value: T) -> Cell<T> {
            Cell(loom::cell::UnsafeCell::new(value))
        }

        pub unsafe fn set(&self, value: T) {
            // SAFETY: loom fails the test if anybody else is in the cell.
            self.0.with_mut(|place| unsafe { place.write(value) });
        }

        pub unsafe fn get(&self) -> T {
            // SAFETY: loom fails the test if a writer is in the cell.
            self.0.with(|place| unsafe { place.read() })
        }
    }

    pub fn prefetch(_: *const Cell<crate::event::Event>) {}
}

use chunk::Chunk;
use event::{Event, Kind};
use loom::sync::Arc;
use loom::thread;
use sync::{AtomicU32, Cell};

const SLOTS: usize = 3;

fn empty() -> Chunk<SLOTS> {
    Chunk {
        published: AtomicU32::new(0),
        thread: Cell::new(0),
        serial: Cell::new(0),
        slots: std::array::from_fn(|_| Cell::new(numbered(99))),
    }
}

fn numbered(number: u64) -> Event {
    Event::new(Kind::Acquire, 0, number, 7, 0)
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(Event::number).collect()
}

#[test]
fn a_reader_of_an_open_chunk_sees_a_prefix_and_never_half_an_event() {
    loom::model(|| {
        let chunk: Arc<Chunk<SLOTS>> = Arc::new(empty());
        let writer = {
            let chunk = Arc::clone(&chunk);
            thread::spawn(move || {
                for number in 0..SLOTS as u64 {
                    // SAFETY: this thread is the only writer, and there are as many slots as events.
                    unsafe { chunk.put(numbered(number)) };
                }
            })
        };
        let mut seen = Vec::new();
        for _ in 0..2 {
            chunk.copy_from(seen.len(), &mut seen);
        }
        let count = seen.len() as u64;
        assert_eq!(numbers(&seen), (0..count).collect::<Vec<_>>());
        writer.join().unwrap();
        chunk.copy_from(seen.len(), &mut seen);
        assert_eq!(numbers(&seen), (0..SLOTS as u64).collect::<Vec<_>>());
    });
}

#[test]
fn a_chunk_that_changes_hands_shows_only_its_new_events() {
    loom::model(|| {
        let chunk: Arc<Chunk<SLOTS>> = Arc::new(empty());
        let (to_reader, full) = loom::sync::mpsc::channel::<()>();
        let (to_writer, empty) = loom::sync::mpsc::channel::<()>();
        let writer = {
            let chunk = Arc::clone(&chunk);
            thread::spawn(move || {
                // SAFETY: the only owner, the only writer, with room.
                unsafe {
                    chunk.reset(1, 0);
                    chunk.put(numbered(10));
                }
                to_reader.send(()).unwrap();
                empty.recv().unwrap();
                // SAFETY: as above; the reader gave the chunk back.
                unsafe {
                    chunk.reset(2, 0);
                    chunk.put(numbered(20));
                }
                to_reader.send(()).unwrap();
            })
        };
        for (owner, number) in [(1, 10), (2, 20)] {
            full.recv().unwrap();
            let mut seen = Vec::new();
            chunk.copy_from(0, &mut seen);
            assert_eq!(numbers(&seen), [number]);
            // SAFETY: the chunk came over the channel, after its reset.
            assert_eq!(unsafe { chunk.owner() }, (owner, 0));
            if owner == 1 {
                to_writer.send(()).unwrap();
            }
        }
        writer.join().unwrap();
    });
}
