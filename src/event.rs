//! What travels from the program's threads to the analyses: one fixed-size record per event.
//!
//! A record is three words. `head` packs the kind, a small detail and the order number; `object` is what the
//! event is about (a lock, a thread, a function); `pc` is the code location, the return address of the call.
//!
//! Order numbers come from [`stripe_of`] counters: events on one stripe are totally ordered by them, and
//! [`crate::order`] merges the threads' streams so that every stripe's numbers come out consecutive.

/// A thread of the program. Never reused within a process; 0 is the thread that ran `main`.
pub type ThreadId = u32;

/// Number of order-number stripes. A power of two: large enough that two hot locks rarely share one.
pub const STRIPES: usize = 4096;

/// The stripe that orders events on `object`. Sharing a stripe only adds order that really held in time.
#[inline(always)]
#[must_use]
pub fn stripe_of(object: u64) -> usize {
    // Fibonacci hashing: the high bits of the product depend on all bits of the address.
    (object.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52) as usize
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $ordered:literal, $text:literal;)*) => {
        /// The kinds of event. `ordered` kinds carry a number of their object's stripe.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $name = $value,)* }

        impl Kind {
            /// Every kind, in the order of its code.
            pub const ALL: &'static [Kind] = &[$(Kind::$name),*];

            /// The kind with this code, if there is one.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Kind> {
                match code { $($value => Some(Kind::$name),)* _ => None }
            }

            /// Whether events of this kind take a number from their object's stripe.
            #[inline(always)]
            #[must_use]
            pub const fn is_ordered(self) -> bool {
                const ORDERED: u64 = 0 $(| (($ordered as u64) << $value))*;
                ORDERED >> (self as u8) & 1 == 1
            }

            /// The name that dumps and logs use.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Kind::$name => $text,)* }
            }
        }
    };
}

kinds! {
    /// The thread's function stack is cut to `number` frames, then gains (`object` = address inside the function,
    /// `pc` = return address in its caller). Emitted late: only before the next event that needs the stack.
    Enter = 0, false, "enter";
    /// The thread's function stack is cut to `number` frames.
    Leave = 1, false, "leave";
    /// A marked block opens: `object` is the address of its NUL-terminated label, or 0.
    BlockBegin = 2, false, "block_begin";
    /// The innermost marked block closes.
    BlockEnd = 3, false, "block_end";
    /// `object` (a lock) was acquired; `detail` is a [`Mode`] or [`RESUMED`]. Numbered after the real acquire.
    Acquire = 4, true, "acquire";
    /// `object` (a lock) is about to be released. Numbered before the real release.
    Release = 5, true, "release";
    /// An attempt on `object` (a lock or semaphore) failed because somebody else held it.
    Refused = 6, true, "refused";
    /// A new lock begins at address `object`; `pc` is where it was initialised.
    LockInit = 7, true, "lock_init";
    /// The lock at address `object` ends.
    LockDestroy = 8, true, "lock_destroy";
    /// What this thread did so far happens before whatever awaits `object`. Numbered before the real operation.
    Signal = 9, true, "signal";
    /// This thread goes on after everything that signalled `object`. Numbered after the real operation.
    Await = 10, true, "await";
    /// A declared interference point (a wait for other threads): open transactions end here and start again.
    Interfere = 11, false, "interfere";
    /// This thread is about to create thread `object` (its id); `pc` is the creation site.
    Fork = 12, true, "fork";
    /// First event of a thread; `object` is its own id, `pc` the address of its start routine (0: unknown).
    Start = 13, true, "start";
    /// Last event of a thread; `object` is its own id.
    End = 14, true, "end";
    /// Thread `object` (its id) was joined.
    Join = 15, true, "join";
    /// `number` events of this thread were lost just before this one.
    Lost = 16, false, "lost";
}

/// How a lock was acquired.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Mode {
    /// A mutex, a spin lock, the write side of a reader-writer lock.
    Exclusive = 0,
    /// The read side of a reader-writer lock.
    Shared = 1,
}

/// Detail of an acquire: exclusive, by a wait on a condition that gives the lock back to who held it before.
pub const RESUMED: u8 = 2;

/// One event of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Event {
    head: u64,
    /// The lock, condition, thread id or function that the event is about.
    pub object: u64,
    /// The code location: the return address of the call that made the event.
    pub pc: u64,
}

const _: () = assert!(size_of::<Event>() == 24, "the record is part of the chunk and trace formats");

impl Event {
    /// Largest number that fits into an event's head.
    pub const MAX_NUMBER: u64 = (1 << 48) - 1;

    /// Packs an event. `number` is the stripe number, a depth or a count, as its kind says.
    #[inline(always)]
    #[must_use]
    pub const fn new(kind: Kind, detail: u8, number: u64, object: u64, pc: u64) -> Event {
        Event { head: kind as u64 | (detail as u64) << 8 | number << 16, object, pc }
    }

    /// The event's kind. `None` only for bytes that no writer of this version made.
    #[inline(always)]
    #[must_use]
    pub const fn kind(&self) -> Option<Kind> {
        Kind::from_code(self.head as u8)
    }

    /// The lock mode of an acquire or release.
    #[inline(always)]
    #[must_use]
    pub const fn mode(&self) -> Mode {
        if (self.head >> 8) as u8 == Mode::Shared as u8 { Mode::Shared } else { Mode::Exclusive }
    }

    /// Beside the mode in the detail of an acquire: the thread's two events before it were an acquire of the same lock at
    /// the same place, and its release.
    pub const REPEATED: u8 = 0x80;

    /// Whether this is an exclusive acquire that is marked as [`Event::REPEATED`].
    #[inline(always)]
    #[must_use]
    pub const fn is_repeated_acquire(&self) -> bool {
        self.head as u16 == Kind::Acquire as u16 | (Event::REPEATED as u16) << 8
    }

    /// Whether this acquire goes on with a critical section that a wait had interrupted.
    #[inline(always)]
    #[must_use]
    pub const fn is_resumption(&self) -> bool {
        (self.head >> 8) as u8 == RESUMED
    }

    /// The stripe number, depth or count.
    #[inline(always)]
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.head >> 16
    }
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.kind().map_or("unknown", Kind::name);
        write!(f, "{name}(#{} {:#x} at {:#x})", self.number(), self.object, self.pc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_maps_back_to_its_kind() {
        for (code, &kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(kind as usize, code);
            assert_eq!(Kind::from_code(kind as u8), Some(kind));
        }
        assert_eq!(Kind::from_code(Kind::ALL.len() as u8), None);
    }

    #[test]
    fn a_head_keeps_all_its_parts() {
        let event = Event::new(Kind::Acquire, Mode::Shared as u8, Event::MAX_NUMBER, u64::MAX, 7);
        assert_eq!(event.kind(), Some(Kind::Acquire));
        assert_eq!(event.mode(), Mode::Shared);
        assert_eq!(event.number(), Event::MAX_NUMBER);
        assert_eq!((event.object, event.pc), (u64::MAX, 7));
    }

    #[test]
    fn neighbouring_addresses_spread_over_the_stripes() {
        let mut used = std::collections::HashSet::new();
        for i in 0..1024u64 {
            let stripe = stripe_of(0x5555_0000_0000 + i * 40);
            assert!(stripe < STRIPES);
            used.insert(stripe);
        }
        assert!(used.len() > 700, "only {} stripes for 1024 mutexes in an array", used.len());
    }
}
