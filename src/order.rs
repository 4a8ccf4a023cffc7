//! Per-thread streams of events to one legal order.
//!
//! **The release rule.** The head event of a thread's stream may go out if its kind is unordered, or if its number is
//! the next one of its object's stripe; that stripe then expects the number after it.
//!
//! **Why the result is legal.** Each thread's events leave in program order, since only heads leave. Each stripe's
//! events leave in the order of their numbers, and all events on one object share a stripe. The hooks number an acquire
//! after the real acquire and a release before the real release, so the numbers of one lock's sections never
//! interleave: mutual exclusion holds in the output. `Fork`, `Start`, `End` and `Join` are ordered events on the child's
//! thread id, so the same rule puts a fork before the start and an end before the join.
//!
//! **Why it never gets stuck while nothing is missing.** Real time is one order that satisfies both program order and
//! stripe order, so of the events held back the earliest in real time is a head with its stripe's next number.
//! A number that never arrives (a lost event) does block its stripe; see [`Merger::skip_gap`].

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::event::{Event, Kind, STRIPES, ThreadId};

const NOBODY: u32 = u32::MAX;

/// Merges the threads' batches of events. A batch is dropped as soon as its last event has gone out.
pub struct Merger<B> {
    stripes: Box<[Stripe]>,
    queues: Vec<Queue<B>>,
    unused: Vec<u32>,
    by_thread: FxHashMap<ThreadId, u32>,
    /// Queues whose head may be able to go out.
    ready: Vec<u32>,
    pending: usize,
}

#[derive(Clone, Copy)]
struct Stripe {
    next: u64,
    /// Ends of the list of queues that wait for a number of this stripe, the smallest number first: when the stripe
    /// advances, only the first can have become ready. Threads mostly come to wait in the order of their numbers, so
    /// a newcomer is compared with the last one first.
    first: u32,
    last: u32,
}

struct Queue<B> {
    thread: ThreadId,
    state: State,
    /// While waiting: the number that the head event carries, and the next waiter of the stripe.
    awaited: u64,
    next_waiter: u32,
    batches: VecDeque<B>,
    /// Events of the front batch that have gone out.
    consumed: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing queued.
    Idle,
    /// In `ready`.
    Ready,
    /// In the list of a stripe.
    Waiting,
    /// The thread's `End` went out and nothing is queued: the queue is forgotten unless more arrives.
    Ended,
}

impl<B: AsRef<[Event]>> Default for Merger<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: AsRef<[Event]>> Merger<B> {
    /// A merger in which every stripe expects the number 0.
    #[must_use]
    pub fn new() -> Self {
        Merger {
            stripes: vec![Stripe { next: 0, first: NOBODY, last: NOBODY }; STRIPES].into_boxed_slice(),
            queues: Vec::new(),
            unused: Vec::new(),
            by_thread: FxHashMap::default(),
            ready: Vec::new(),
            pending: 0,
        }
    }

    /// Appends a batch to the stream of `thread`.
    pub fn push(&mut self, thread: ThreadId, batch: B) {
        let len = batch.as_ref().len();
        if len == 0 {
            return;
        }
        self.pending += len;
        let index = match self.by_thread.get(&thread) {
            Some(&index) => index,
            None => self.add_queue(thread),
        };
        let queue = &mut self.queues[index as usize];
        queue.batches.push_back(batch);
        if queue.state == State::Idle {
            queue.state = State::Ready;
            self.ready.push(index);
        }
    }

    /// Hands every event that can go out to `sink`.
    pub fn drain(&mut self, sink: &mut impl FnMut(ThreadId, &Event)) {
        while let Some(index) = self.ready.pop() {
            let state = self.run(index, sink);
            self.queues[index as usize].state = state;
            if state == State::Ended {
                self.forget(index);
            }
        }
    }

    /// Events that are held back.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// Threads with a queue: those that have not ended.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.by_thread.len()
    }

    /// Gives up on numbers that never arrive, where the fewest are missing: that stripe jumps to the smallest number
    /// that a thread waits with. Returns false if no thread waits. To be called only after [`Merger::drain`], when
    /// what is missing is known to be lost; what arrives too late after all goes out at once.
    pub fn skip_gap(&mut self) -> bool {
        if self.pending == 0 {
            return false;
        }
        let gaps = self.stripes.iter().enumerate().filter(|(_, stripe)| stripe.first != NOBODY);
        // Numbers of a damaged trace may be any.
        let distance = |stripe: &Stripe| self.queues[stripe.first as usize].awaited.saturating_sub(stripe.next);
        let Some((index, _)) = gaps.min_by_key(|(_, stripe)| distance(stripe)) else { return false };
        let awaited = self.queues[self.stripes[index].first as usize].awaited;
        self.stripes[index].next = self.stripes[index].next.max(awaited);
        self.wake(index);
        true
    }

    /// Lets one thread run until its head has to wait or nothing is left.
    fn run(&mut self, index: u32, sink: &mut impl FnMut(ThreadId, &Event)) -> State {
        let thread = self.queues[index as usize].thread;
        let mut start = std::mem::take(&mut self.queues[index as usize].consumed);
        let mut ended = false;
        while let Some(batch) = self.queues[index as usize].batches.pop_front() {
            let events = &batch.as_ref()[start..];
            for (done, event) in events.iter().enumerate() {
                if let Some(kind) = event.kind()
                    && kind.is_ordered()
                {
                    let stripe_index = Event::stripe(kind, event.object);
                    let stripe = &mut self.stripes[stripe_index];
                    let number = event.number();
                    if number > stripe.next {
                        self.pending -= done;
                        let queue = &mut self.queues[index as usize];
                        queue.consumed = start + done;
                        queue.batches.push_front(batch);
                        self.wait(index, stripe_index, number);
                        return State::Waiting;
                    }
                    // A smaller number belongs to a gap that was skipped.
                    if number == stripe.next {
                        stripe.next += 1;
                        if stripe.first != NOBODY {
                            self.wake(stripe_index);
                        }
                    }
                    ended = kind == Kind::End;
                }
                sink(thread, event);
            }
            self.pending -= events.len();
            start = 0;
        }
        if ended { State::Ended } else { State::Idle }
    }

    /// Puts a queue into the list of the stripe that its head waits for.
    fn wait(&mut self, index: u32, stripe: usize, number: u64) {
        let Stripe { first, last, .. } = self.stripes[stripe];
        let comes_last = first == NOBODY || self.queues[last as usize].awaited <= number;
        let (mut before, mut after) = if comes_last { (last, NOBODY) } else { (NOBODY, first) };
        while after != NOBODY && self.queues[after as usize].awaited < number {
            before = after;
            after = self.queues[after as usize].next_waiter;
        }
        let queue = &mut self.queues[index as usize];
        queue.awaited = number;
        queue.next_waiter = after;
        if comes_last {
            self.stripes[stripe].last = index;
        }
        if before == NOBODY {
            self.stripes[stripe].first = index;
        } else {
            self.queues[before as usize].next_waiter = index;
        }
    }

    /// Makes the first waiter of a stripe ready if its number has come.
    fn wake(&mut self, stripe: usize) {
        let Stripe { next, first, .. } = self.stripes[stripe];
        let queue = &mut self.queues[first as usize];
        if queue.awaited <= next {
            queue.state = State::Ready;
            self.stripes[stripe].first = queue.next_waiter;
            if queue.next_waiter == NOBODY {
                self.stripes[stripe].last = NOBODY;
            }
            self.ready.push(first);
        }
    }

    fn add_queue(&mut self, thread: ThreadId) -> u32 {
        let queue = Queue {
            thread,
            state: State::Idle,
            awaited: 0,
            next_waiter: NOBODY,
            batches: VecDeque::new(),
            consumed: 0,
        };
        let index = if let Some(index) = self.unused.pop() {
            self.queues[index as usize] = queue;
            index
        } else {
            self.queues.push(queue);
            self.queues.len() as u32 - 1
        };
        self.by_thread.insert(thread, index);
        index
    }

    fn forget(&mut self, index: u32) {
        self.by_thread.remove(&self.queues[index as usize].thread);
        self.unused.push(index);
    }
}
