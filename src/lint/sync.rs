//! Calls that begin and end atomic blocks, by the names of what is called.

/// What a call does to the blocks of its thread. Arguments are told by their place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sync {
    Acquire(usize),
    /// It may not get the lock.
    Try(usize),
    Release(usize),
    /// The end of a guard, which may have given its lock back already.
    ReleaseIfHeld(usize),
    /// Gives the lock back and takes it again.
    Wait(usize),
    /// A lock function that does neither.
    Nothing,
    BlockBegin,
    BlockEnd,
}

const TABLE: &[(Sync, &[&str])] = &[
    (
        Sync::Acquire(0),
        &[
            "pthread_mutex_lock",
            "pthread_mutex_timedlock",
            "pthread_mutex_clocklock",
            "pthread_rwlock_rdlock",
            "pthread_rwlock_wrlock",
            "pthread_rwlock_timedrdlock",
            "pthread_rwlock_timedwrlock",
            "pthread_spin_lock",
            "mtx_lock",
            "mtx_timedlock",
            "avmon_mark_lock_acquired",
        ],
    ),
    (
        Sync::Try(0),
        &[
            "pthread_mutex_trylock",
            "pthread_rwlock_tryrdlock",
            "pthread_rwlock_trywrlock",
            "pthread_spin_trylock",
            "mtx_trylock",
        ],
    ),
    (
        Sync::Release(0),
        &[
            "pthread_mutex_unlock",
            "pthread_rwlock_unlock",
            "pthread_spin_unlock",
            "mtx_unlock",
            "avmon_mark_lock_releasing",
        ],
    ),
    (
        Sync::Wait(1),
        &["pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "cnd_wait", "cnd_timedwait"],
    ),
    (Sync::BlockBegin, &["avmon_mark_block_begin"]),
    (Sync::BlockEnd, &["avmon_mark_block_end"]),
    (
        Sync::Nothing,
        &[
            "pthread_mutex_init",
            "pthread_mutex_destroy",
            "pthread_cond_init",
            "pthread_cond_destroy",
            "pthread_cond_signal",
            "pthread_cond_broadcast",
            "avmon_mark_lock_created",
            "avmon_mark_lock_destroyed",
            "avmon_mark_order_signal",
            "avmon_mark_order_await",
            "avmon_mark_interference",
        ],
    ),
];

/// Locks of the C++ library, as the linker knows their names.
const MUTEXES: &[&str] = &[
    "St5mutex",
    "St15recursive_mutex",
    "St11timed_mutex",
    "St21recursive_timed_mutex",
    "St12shared_mutex",
    "St18shared_timed_mutex",
];
const GUARDS: &[&str] = &["St10lock_guardI", "St11unique_lockI", "St11scoped_lockI", "St11shared_lockI"];

/// What the function does, if it does anything with locks or marked blocks.
#[must_use]
pub fn of(name: &str) -> Option<Sync> {
    if let Some((sync, _)) = TABLE.iter().find(|(_, names)| names.contains(&name)) {
        return Some(*sync);
    }
    // Of the function that the header makes for each file.
    if name.starts_with("avmon_mark_") {
        return TABLE.iter().find(|(_, names)| names.iter().any(|it| name.starts_with(it))).map(|(sync, _)| *sync);
    }
    let member = name.strip_prefix("_ZN")?;
    if let Some(rest) = MUTEXES.iter().find_map(|mutex| member.strip_prefix(mutex)) {
        return match rest {
            "4lockEv" | "11lock_sharedEv" => Some(Sync::Acquire(0)),
            "8try_lockEv" | "15try_lock_sharedEv" => Some(Sync::Try(0)),
            "6unlockEv" | "13unlock_sharedEv" => Some(Sync::Release(0)),
            _ => None,
        };
    }
    if member.starts_with("St18condition_variable4wait") || member.starts_with("St18condition_variable10wait_") {
        return Some(Sync::Wait(1));
    }
    if member.starts_with("St22condition_variable_any") && member.contains("4wait") {
        return Some(Sync::Wait(1));
    }
    guard_member(name).map(of_guard)
}

/// Which argument of a function that acquires is the lock: of a guard's constructor the second one.
#[must_use]
pub fn lock_argument(name: &str) -> usize {
    usize::from(makes_guard(name))
}

/// Whether the function is the constructor of a guard.
#[must_use]
pub fn makes_guard(name: &str) -> bool {
    guard_member(name).is_some_and(is_constructor)
}

/// Whether the function is given a guard that is there already, and takes its lock.
#[must_use]
pub fn takes_again(name: &str) -> bool {
    guard_member(name).is_some_and(|member| !is_constructor(member))
}

fn guard_member(name: &str) -> Option<&str> {
    let member = name.strip_prefix("_ZN")?;
    GUARDS.iter().any(|guard| member.starts_with(guard)).then_some(member)
}

fn is_constructor(member: &str) -> bool {
    ["EC1E", "EC2E"].iter().any(|constructor| member.contains(constructor))
}

fn of_guard(member: &str) -> Sync {
    let tagged = |tag: &str| member.ends_with(tag);
    if ["ED0Ev", "ED1Ev", "ED2Ev"].iter().any(|end| tagged(end)) {
        Sync::ReleaseIfHeld(0)
    } else if tagged("E4lockEv") {
        Sync::Acquire(0)
    } else if tagged("E6unlockEv") {
        Sync::ReleaseIfHeld(0)
    } else if tagged("E8try_lockEv") {
        Sync::Try(0)
    } else if is_constructor(member) {
        // By its own name: a guard is what gives the lock back.
        match () {
            () if tagged("EC1Ev") || tagged("EC2Ev") || tagged("St12defer_lock_t") || tagged("OS1_") => Sync::Nothing,
            () if tagged("St13try_to_lock_t") => Sync::Try(0),
            () => Sync::Acquire(0),
        }
    } else {
        Sync::Nothing
    }
}
