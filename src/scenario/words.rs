//! The words of the language: one table for the parser, the messages and the manual.

use super::tree::ObjectKind;

macro_rules! words {
    ($(#[$doc:meta])* $enum:ident { $($name:ident, $text:literal, $form:literal, $($fits:ident)*, $meaning:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $enum { $($name,)* }

        impl $enum {
            pub const ALL: &'static [$enum] = &[$($enum::$name),*];

            /// How it is written.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $($enum::$name => $text,)* }
            }

            /// An example of its use.
            #[must_use]
            pub const fn form(self) -> &'static str {
                match self { $($enum::$name => $form,)* }
            }

            /// What it does, for the manual.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $($enum::$name => $meaning,)* }
            }

            /// The kinds of object that may stand after it.
            #[must_use]
            pub const fn fits(self) -> &'static [Declares] {
                match self { $($enum::$name => &[$(Declares::$fits),*],)* }
            }

            #[must_use]
            pub fn of(text: &str) -> Option<$enum> {
                $enum::ALL.iter().copied().find(|word| word.text() == text)
            }
        }
    };
}

words! {
    /// The words that declare objects.
    Declares {
        Lock, "lock", "lock m, n", , "mutexes";
        Recursive, "recursive", "recursive m", , "mutexes that their owner may take again";
        RwLock, "rwlock", "rwlock l", , "reader-writer locks";
        Condition, "cond", "cond c", , "condition variables";
        Barrier, "barrier", "barrier b 2", , "barriers, each with the number of threads that pass together";
        Semaphore, "semaphore", "semaphore s 1, u", , "semaphores and the units they begin with (0 if not said)";
        Variable, "var", "var x = 5, y", , "plain memory and its first value (0 if not said)";
        Atomic, "atomic", "atomic a = 1", , "atomic variables and their first value (0 if not said)";
    }
}

words! {
    /// The words that begin a step.
    Does {
        Acquire, "acq", "acq m", Lock Recursive RwLock, "take a lock; of a reader-writer lock: for writing";
        AcquireShared, "racq", "racq l", RwLock, "take a reader-writer lock for reading";
        Release, "rel", "rel m", Lock Recursive RwLock, "give a lock back, whichever way it was taken";
        Try, "try", "r = try m", Lock Recursive RwLock Semaphore, "take it if that needs no waiting: 1 if it was taken, else 0";
        TryShared, "rtry", "r = rtry l", RwLock, "the same, for reading";
        Read, "rd", "r = rd x", Variable, "read plain memory";
        Write, "wr", "wr x r + 1", Variable, "write plain memory; `wr x` alone writes 1";
        Load, "load", "r = load a", Atomic, "read an atomic variable";
        Store, "store", "store a 1", Atomic, "write an atomic variable";
        Add, "add", "r = add a 1", Atomic, "add to it; `r` gets the old value";
        Swap, "swap", "r = swap a 1", Atomic, "write it; `r` gets the old value";
        CompareExchange, "cas", "r = cas a 0 (q + 1)", Atomic, "write the second value if it holds the first one: 1 if so, else 0";
        Begin, "begin", "begin withdraw", , "a block that is meant to be atomic begins; the label may be left out";
        End, "end", "end", , "the innermost open block ends";
        Fork, "fork", "fork t", , "start a thread";
        Join, "join", "join t", , "wait until a thread has ended";
        Wait, "wait", "wait c m", Condition Barrier Semaphore, "wait for a condition (`wait c m`, with the lock held), at a barrier (`wait b`) or for a unit of a semaphore (`wait s`)";
        Signal, "signal", "signal c", Condition, "wake one thread that waits for the condition";
        Broadcast, "broadcast", "broadcast c", Condition, "wake all of them";
        Post, "post", "post s", Semaphore, "give a unit to a semaphore";
        Assert, "assert", "assert r == 1", , "the run fails here if the value is 0";
        If, "if", "if r > 0 { ... } else { ... }", , "one branch or the other; the second may be left out, or be another `if`";
        While, "while", "while r == 0 max 3 { ... }", , "repeat while the value is not 0, at most so many times (1 to 1000)";
    }
}

/// What steps are called elsewhere, unless their word here is the beginning of that one.
const OTHER_STEPS: &[(&str, Does)] = &[
    ("lock", Does::Acquire),
    ("rdlock", Does::AcquireShared),
    ("wrlock", Does::Acquire),
    ("trylock", Does::Try),
    ("unlock", Does::Release),
    ("read", Does::Read),
    ("spawn", Does::Fork),
    ("start", Does::Fork),
    ("sleep", Does::Wait),
    ("barrier", Does::Wait),
    ("notify", Does::Signal),
    ("wake", Does::Signal),
    ("notify_all", Does::Broadcast),
];

/// What declarations are called elsewhere.
const OTHER_DECLARATIONS: &[(&str, Declares)] = &[
    ("mutex", Declares::Lock),
    ("condition", Declares::Condition),
    ("condvar", Declares::Condition),
    ("sem", Declares::Semaphore),
    ("int", Declares::Variable),
    ("long", Declares::Variable),
];

/// Words with a meaning that begin neither a declaration nor a step.
const OTHERS: &[&str] = &["else", "max"];

/// Whether the word belongs to the language, so that nothing can be called by it.
#[must_use]
pub fn is_keyword(text: &str) -> bool {
    OTHERS.contains(&text) || Declares::of(text).is_some() || Does::of(text).is_some()
}

impl Declares {
    /// What messages call such an object.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        if matches!(self, Declares::Recursive) { "recursive lock" } else { self.text() }
    }

    /// What a word stands for that is none of the language.
    #[must_use]
    pub fn meant_by(word: &str) -> Option<Declares> {
        OTHER_DECLARATIONS.iter().find(|(other, _)| *other == word).map(|(_, declares)| *declares)
    }

    /// The steps that may name such an object.
    pub fn steps(self) -> impl Iterator<Item = Does> {
        Does::ALL.iter().copied().filter(move |step| step.fits().contains(&self))
    }
}

impl Does {
    /// What a word stands for that is no step of the language: most steps are short for something, as `wr` for write.
    #[must_use]
    pub fn meant_by(word: &str) -> Option<Does> {
        let known = OTHER_STEPS.iter().find(|(other, _)| *other == word).map(|(_, step)| *step);
        let short = || Does::ALL.iter().copied().filter(|step| word.starts_with(step.text()));
        known.or_else(|| short().max_by_key(|step| step.text().len()))
    }

    /// Whether `r = ` may stand before it.
    #[must_use]
    pub const fn has_result(self) -> bool {
        matches!(self, Does::Read | Does::Load | Does::Add | Does::Swap | Does::CompareExchange)
            || self.needs_register()
    }

    /// Whether `r = ` has to stand before it: an attempt whose outcome nobody looks at makes no sense.
    #[must_use]
    pub const fn needs_register(self) -> bool {
        matches!(self, Does::Try | Does::TryShared)
    }
}

impl From<ObjectKind> for Declares {
    fn from(kind: ObjectKind) -> Self {
        match kind {
            ObjectKind::Lock => Declares::Lock,
            ObjectKind::Recursive => Declares::Recursive,
            ObjectKind::RwLock => Declares::RwLock,
            ObjectKind::Condition => Declares::Condition,
            ObjectKind::Barrier(_) => Declares::Barrier,
            ObjectKind::Semaphore(_) => Declares::Semaphore,
            ObjectKind::Variable(_) => Declares::Variable,
            ObjectKind::Atomic(_) => Declares::Atomic,
        }
    }
}
