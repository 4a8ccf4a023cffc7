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
    /// The thread's function stack is cut to [`Event::depth`] frames, then gains (`object` = address inside the function,
    /// `pc` = return address in its caller). Emitted late: only before the next event that needs the stack. A recording has it at
    /// the entry itself, with [`Event::stack_pointer`].
    Enter = 0, false, "enter";
    /// The thread's function stack is cut to [`Event::depth`] frames.
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
    /// Memory at `object` is about to be read; `number` packs [`Event::size`] and [`Event::branches`], `detail` is of
    /// [`access`]. Plain accesses carry no order number: they lie between their thread's numbered events.
    Read = 17, false, "read";
    /// The same for a write.
    Write = 18, false, "write";
    /// An atomic load, or a compare-exchange that failed; `detail` is of [`atomic`]. Operation and number were taken
    /// together, so that the numbers of one address are its modification order.
    AtomicLoad = 19, true, "atomic_load";
    /// An atomic store.
    AtomicStore = 20, true, "atomic_store";
    /// An atomic read-modify-write, or a compare-exchange that succeeded.
    AtomicUpdate = 21, true, "atomic_update";
    /// A fence; `detail` is its order, as in [`atomic`].
    Fence = 22, false, "fence";
    /// Memory of the size that the [`Kind::Extent`] before it tells begins a new life at `object`; `detail` is of
    /// [`memory`]. Numbered after the real allocation, on one stripe for all memory: blocks overlap those that were there before.
    Allocate = 23, true, "allocate";
    /// The memory at `object` is about to end: the block that began there, or as much as a [`Kind::Extent`] before it tells.
    /// Numbered before that, on the same stripe.
    Free = 24, true, "free";
    /// The next event of this thread is about `number` bytes.
    Extent = 25, false, "extent";
    /// What the access just before this one read or wrote, if it was of no more than 16 bytes: in `object`, and in `pc` those
    /// above eight. After an [`Kind::AtomicUpdate`] of up to eight bytes `object` is the new value and `pc` the old one; a wider
    /// update has none. Every atomic operation has it; plain accesses only in a recording with values.
    Value = 26, false, "value";
    /// `number` basic blocks were entered since the thread's last access. Only in front of atomic operations and at the end of a
    /// thread: plain accesses have room for it.
    Branches = 27, false, "branches";
    /// Thread `number` is called what the 16 bytes of `object` and `pc` spell, up to the first zero.
    Name = 28, false, "name";
    /// It is `number` nanoseconds after the beginning of the recording.
    Time = 29, false, "time";
}

impl Kind {
    /// Whether it goes through the order merge while the program runs. The rest is recorded for offline analyses only.
    #[inline(always)]
    #[must_use]
    pub const fn is_for_monitor(self) -> bool {
        match self {
            Kind::Read | Kind::Write | Kind::Fence | Kind::Extent | Kind::Value | Kind::Branches | Kind::Time => false,
            Kind::Enter
            | Kind::Leave
            | Kind::BlockBegin
            | Kind::BlockEnd
            | Kind::Interfere
            | Kind::Lost
            | Kind::Name => true,
            ordered => ordered.is_ordered(),
        }
    }
}

/// Details of a plain access.
pub mod access {
    /// The program's source says `volatile`.
    pub const VOLATILE: u8 = 1;
    /// A C++ object's pointer to its virtual functions.
    pub const VPTR: u8 = 2;
    pub const UNALIGNED: u8 = 4;
    /// Any number of bytes: a copied structure, or a function like `memcpy` or `strlen`.
    pub const RANGE: u8 = 8;
}

/// Details of an atomic operation: its order in the three low bits, the logarithm of its size in the next three, and two marks.
pub mod atomic {
    /// Names of the orders, by the code that compilers give them.
    pub const ORDERS: [&str; 6] = ["relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"];
    /// A fence before it makes it order like a release.
    pub const FENCED: u8 = 1 << 6;
    /// A compare-exchange. If it is an update, the old value was the expected one; if it is a load, it was not. After another old value it
    /// might have been the other.
    pub const COMPARED: u8 = 1 << 7;

    /// The detail of an operation on `1 << log_size` bytes.
    #[must_use]
    pub const fn detail(order: u8, log_size: u8) -> u8 {
        order & 7 | (log_size & 7) << 3
    }

    /// The order's code.
    #[must_use]
    pub const fn order(detail: u8) -> u8 {
        detail & 7
    }

    /// How many bytes are touched.
    #[must_use]
    pub const fn size(detail: u8) -> u64 {
        1 << (detail >> 3 & 7)
    }

    /// Whether what follows in this thread is ordered after the store that was seen. Consume counts as acquire: that is how
    /// compilers implement it.
    #[must_use]
    pub const fn acquires(detail: u8) -> bool {
        !matches!(order(detail), 0 | 3)
    }

    /// Whether what came before in this thread is ordered before whoever sees the store.
    #[must_use]
    pub const fn releases(detail: u8) -> bool {
        detail & FENCED != 0 || order(detail) >= 3
    }
}

/// Details of an allocation.
pub mod memory {
    pub const HEAP: u8 = 0;
    /// By `mmap`.
    pub const MAPPING: u8 = 1;
    /// The stack of the thread itself.
    pub const STACK: u8 = 2;
    /// By `realloc`: if the thread's `Free` just before was of the same address, its content lives on.
    pub const RESIZED: u8 = 3;
}

/// The stripe of all allocations.
const MEMORY_STRIPE: usize = 0;

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

    /// The event as it lies in memory, for those who store it.
    #[inline(always)]
    #[must_use]
    pub const fn words(&self) -> [u64; 3] {
        [self.head, self.object, self.pc]
    }

    /// The event that [`Event::words`] took apart. Any words make an event, if only one of an unknown kind.
    #[inline(always)]
    #[must_use]
    pub const fn from_words([head, object, pc]: [u64; 3]) -> Event {
        Event { head, object, pc }
    }

    /// The event's kind. `None` only for bytes that no writer of this version made.
    #[inline(always)]
    #[must_use]
    pub const fn kind(&self) -> Option<Kind> {
        Kind::from_code(self.head as u8)
    }

    /// Whether this is a plain read or write: what almost all events of a recording are.
    #[inline(always)]
    #[must_use]
    pub const fn is_plain_access(&self) -> bool {
        self.head as u8 == Kind::Read as u8 || self.head as u8 == Kind::Write as u8
    }

    /// Whether a function is entered or left here. Asked of every event of a recording.
    #[inline(always)]
    #[must_use]
    pub const fn is_frame(&self) -> bool {
        const { assert!(Kind::Enter as u8 == 0 && Kind::Leave as u8 == 1) };
        self.head as u8 <= Kind::Leave as u8
    }

    /// The detail as its kind defines it.
    #[inline(always)]
    #[must_use]
    pub const fn detail(&self) -> u8 {
        (self.head >> 8) as u8
    }

    /// The stripe that numbers events of this kind on this object.
    #[inline(always)]
    #[must_use]
    pub fn stripe(kind: Kind, object: u64) -> usize {
        if matches!(kind, Kind::Allocate | Kind::Free) { MEMORY_STRIPE } else { stripe_of(object) }
    }

    /// A plain access of `size` bytes, `branches` basic blocks after the one before it.
    #[inline(always)]
    #[must_use]
    pub const fn access(kind: Kind, detail: u8, size: u32, branches: u16, address: u64, pc: u64) -> Event {
        Event::new(kind, detail, size as u64 | (branches as u64) << 32, address, pc)
    }

    /// A function that is entered `depth` frames deep, when the stack pointer is `stack_pointer`.
    #[inline(always)]
    #[must_use]
    pub const fn enter(depth: u32, stack_pointer: u64, inside: u64, call: u64) -> Event {
        Event::new(Kind::Enter, 0, depth as u64 | (stack_pointer >> 4 & 0xfff_ffff) << 20, inside, call)
    }

    /// The depth that an `Enter` or `Leave` cuts the function stack to.
    #[inline(always)]
    #[must_use]
    pub const fn depth(&self) -> u32 {
        self.number() as u32 & 0xf_ffff
    }

    /// The stack pointer at an `Enter`, as far as it is kept: it is a multiple of 16, and the low 32 bits tell all addresses of one
    /// stack apart. 0 if it was not recorded.
    #[inline(always)]
    #[must_use]
    pub const fn stack_pointer(&self) -> u64 {
        (self.number() >> 20) << 4
    }

    /// Thread `thread` is called `name`, of which 15 bytes are kept, as by the kernel.
    #[must_use]
    pub fn name(thread: ThreadId, name: &[u8]) -> Event {
        let mut bytes = [0; 16];
        let length = name.len().min(15);
        bytes[..length].copy_from_slice(&name[..length]);
        let [object, pc] = [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i])));
        Event::new(Kind::Name, 0, u64::from(thread), object, pc)
    }

    /// The text of a `Name`.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = [self.object, self.pc].into_iter().flat_map(u64::to_le_bytes).collect();
        String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or(&[])).into_owned()
    }

    /// The bytes that an access touches; 0 if this is none.
    #[inline(always)]
    #[must_use]
    pub const fn size(&self) -> u64 {
        match self.kind() {
            Some(Kind::Read | Kind::Write) => self.number() & 0xffff_ffff,
            Some(Kind::AtomicLoad | Kind::AtomicStore | Kind::AtomicUpdate) => atomic::size(self.detail()),
            _ => 0,
        }
    }

    /// Basic blocks that were entered between the thread's previous access and this plain one. 65,535 stands for that many or more.
    #[inline(always)]
    #[must_use]
    pub const fn branches(&self) -> u16 {
        match self.kind() {
            Some(Kind::Read | Kind::Write) => (self.head >> 48) as u16,
            _ => 0,
        }
    }

    /// Whether this is a compare-exchange, successful or not.
    #[inline(always)]
    #[must_use]
    pub const fn is_comparison(&self) -> bool {
        matches!(self.kind(), Some(Kind::AtomicLoad | Kind::AtomicUpdate)) && self.detail() & atomic::COMPARED != 0
    }

    /// The lock mode of an acquire or release.
    #[inline(always)]
    #[must_use]
    pub const fn mode(&self) -> Mode {
        if self.detail() == Mode::Shared as u8 { Mode::Shared } else { Mode::Exclusive }
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
        self.detail() == RESUMED
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
    fn an_access_keeps_size_and_branches() {
        let event = Event::access(Kind::Write, access::RANGE, u32::MAX, u16::MAX, 5, 6);
        assert_eq!((event.kind(), event.detail()), (Some(Kind::Write), access::RANGE));
        assert_eq!((event.size(), event.branches(), event.object, event.pc), (u64::from(u32::MAX), u16::MAX, 5, 6));
        let event = Event::new(Kind::AtomicLoad, atomic::detail(5, 4), Event::MAX_NUMBER, 5, 6);
        assert_eq!((event.size(), event.branches(), atomic::order(event.detail())), (16, 0, 5));
    }

    #[test]
    fn the_marks_of_an_atomic_operation_leave_the_rest_alone() {
        let plain = atomic::detail(2, 4);
        let marked = plain | atomic::FENCED | atomic::COMPARED;
        assert_eq!((atomic::order(marked), atomic::size(marked)), (2, 16));
        assert!(atomic::acquires(marked) && atomic::releases(marked) && !atomic::releases(plain | atomic::COMPARED));
        for (kind, detail, expected) in [
            (Kind::AtomicUpdate, marked, true),
            (Kind::AtomicLoad, marked, true),
            (Kind::AtomicUpdate, plain | atomic::FENCED, false),
            (Kind::Acquire, Event::REPEATED, false),
        ] {
            assert_eq!(Event::new(kind, detail, 0, 5, 6).is_comparison(), expected, "{kind:?} {detail:#x}");
        }
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
