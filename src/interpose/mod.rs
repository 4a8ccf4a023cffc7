//! What the program calls: one family per file, and here the one table of all that the library exports.

pub mod blocks;
pub mod condition;
pub mod export;
pub mod io;
pub mod lock;
pub mod memory;
pub mod operator_new;
pub mod pinned;
pub mod process;
pub mod real;
#[cfg(test)]
mod recording_tests;
pub mod shim;
pub mod signal;
pub mod strings;
pub mod thread;
pub mod tsan;

use export::exports;

/// Finds the real functions. The constructor calls it, or the first hook that runs before the constructor.
pub fn resolve() {
    memory::resolve();
    process::resolve_syscall();
    real::resolve_all();
    // SAFETY: no preconditions.
    unsafe { shim::avmon_resolve_waits() };
    jumps::resolve_all();
}

/// By the C ABI, so that callers need no code for the case that it unwinds; see `runtime::record`.
#[cold]
extern "C" fn resolve_from_c() {
    resolve();
}

exports! {
    pub const SYNCHRONISATION;
    pthread_mutex_lock / 1 => lock::pthread_mutex_lock;
    pthread_mutex_trylock / 1 => lock::pthread_mutex_trylock;
    pthread_mutex_timedlock / 2 => lock::pthread_mutex_timedlock;
    pthread_mutex_clocklock / 3 => lock::pthread_mutex_clocklock;
    pthread_mutex_unlock / 1 => lock::pthread_mutex_unlock;
    pthread_mutex_init / 2 => lock::pthread_mutex_init;
    pthread_mutex_destroy / 1 => lock::pthread_mutex_destroy;
    pthread_rwlock_rdlock / 1 => lock::pthread_rwlock_rdlock;
    pthread_rwlock_wrlock / 1 => lock::pthread_rwlock_wrlock;
    pthread_rwlock_tryrdlock / 1 => lock::pthread_rwlock_tryrdlock;
    pthread_rwlock_trywrlock / 1 => lock::pthread_rwlock_trywrlock;
    pthread_rwlock_timedrdlock / 2 => lock::pthread_rwlock_timedrdlock;
    pthread_rwlock_timedwrlock / 2 => lock::pthread_rwlock_timedwrlock;
    pthread_rwlock_clockrdlock / 3 => lock::pthread_rwlock_clockrdlock;
    pthread_rwlock_clockwrlock / 3 => lock::pthread_rwlock_clockwrlock;
    pthread_rwlock_unlock / 1 => lock::pthread_rwlock_unlock;
    pthread_rwlock_init / 2 => lock::pthread_rwlock_init;
    pthread_rwlock_destroy / 1 => lock::pthread_rwlock_destroy;
    pthread_spin_lock / 1 => lock::pthread_spin_lock;
    pthread_spin_trylock / 1 => lock::pthread_spin_trylock;
    pthread_spin_unlock / 1 => lock::pthread_spin_unlock;
    pthread_spin_init / 2 => lock::pthread_spin_init;
    pthread_spin_destroy / 1 => lock::pthread_spin_destroy;
    mtx_init / 2 => lock::mtx_init;
    mtx_lock / 1 => lock::mtx_lock;
    mtx_trylock / 1 => lock::mtx_trylock;
    mtx_timedlock / 2 => lock::mtx_timedlock;
    mtx_unlock / 1 => lock::mtx_unlock;
    mtx_destroy / 1 => lock::mtx_destroy;
    pthread_cond_wait / 2 => shim::avmon_pthread_cond_wait;
    pthread_cond_timedwait / 3 => shim::avmon_pthread_cond_timedwait;
    pthread_cond_clockwait / 4 => shim::avmon_pthread_cond_clockwait;
    pthread_cond_signal / 1 => condition::pthread_cond_signal;
    pthread_cond_broadcast / 1 => condition::pthread_cond_broadcast;
    cnd_wait / 2 => shim::avmon_cnd_wait;
    cnd_timedwait / 3 => shim::avmon_cnd_timedwait;
    cnd_signal / 1 => condition::cnd_signal;
    cnd_broadcast / 1 => condition::cnd_broadcast;
    pthread_barrier_wait / 1 => condition::pthread_barrier_wait;
    sem_post / 1 => condition::sem_post;
    sem_trywait / 1 => condition::sem_trywait;
    sem_wait / 1 => shim::avmon_sem_wait;
    sem_timedwait / 2 => shim::avmon_sem_timedwait;
    sem_clockwait / 3 => shim::avmon_sem_clockwait;
    pthread_once / 2 => shim::avmon_pthread_once;
    call_once / 2 => shim::avmon_call_once;
}

exports! {
    pub const THREADS;
    pthread_create / 4 => thread::pthread_create;
    pthread_join / 2 => shim::avmon_pthread_join;
    pthread_tryjoin_np / 2 => thread::pthread_tryjoin_np;
    pthread_timedjoin_np / 3 => shim::avmon_pthread_timedjoin_np;
    pthread_clockjoin_np / 4 => shim::avmon_pthread_clockjoin_np;
    pthread_cancel / 1 => shim::avmon_pthread_cancel;
    pthread_setname_np / 2 => thread::pthread_setname_np;
    thrd_create / 3 => thread::thrd_create;
    thrd_join / 2 => shim::avmon_thrd_join;
}

exports! {
    pub const PROCESS;
    _exit => process::exit_now;
    _Exit => process::exit_now;
    quick_exit => process::quick_exit;
    abort => process::abort;
    _Fork => process::fork_without_handlers;
    vfork => process::vfork;
    syscall => process::syscall;
}

exports! {
    pub const SIGNALS;
    sigaction => signal::sigaction;
    signal => signal::signal;
    bsd_signal => signal::bsd_signal;
    ssignal => signal::ssignal;
    sysv_signal => signal::sysv_signal;
    __sysv_signal => signal::__sysv_signal;
}

exports! {
    pub const CHANNELS;
    pipe => io::pipe;
    pipe2 => io::pipe2;
    socketpair => io::socketpair;
    eventfd => io::eventfd;
    dup => io::dup;
    dup2 => io::dup2;
    dup3 => io::dup3;
    read => shim::avmon_read;
    readv => shim::avmon_readv;
    recv => shim::avmon_recv;
    recvfrom => shim::avmon_recvfrom;
    recvmsg => shim::avmon_recvmsg;
    eventfd_read => shim::avmon_eventfd_read;
    __read_chk => shim::avmon___read_chk;
    __recv_chk => shim::avmon___recv_chk;
    sigwait => shim::avmon_sigwait;
    sigwaitinfo => shim::avmon_sigwaitinfo;
    sigtimedwait => shim::avmon_sigtimedwait;
}

exports! {
    pub const PINNED;
    clock_gettime => pinned::clock::clock_gettime;
    gettimeofday => pinned::clock::gettimeofday;
    time => pinned::clock::time;
    getrandom => pinned::random::getrandom;
    getentropy => pinned::random::getentropy;
    arc4random => pinned::random::arc4random;
    arc4random_buf => pinned::random::arc4random_buf;
    arc4random_uniform => pinned::random::arc4random_uniform;
    timespec_get => pinned::clock::timespec_get;
    clock_nanosleep => shim::avmon_clock_nanosleep;
    getpid => pinned::ids::getpid;
    getppid => pinned::ids::getppid;
    kill => pinned::ids::kill;
    killpg => pinned::ids::killpg;
    sigqueue => pinned::ids::sigqueue;
    tgkill => pinned::ids::tgkill;
    getpgid => pinned::ids::getpgid;
    setpgid => pinned::ids::setpgid;
    getsid => pinned::ids::getsid;
    setsid => pinned::ids::setsid;
    gettid => pinned::ids::gettid;
    getpgrp => pinned::ids::getpgrp;
    tcgetpgrp => pinned::ids::tcgetpgrp;
    tcgetsid => pinned::ids::tcgetsid;
}

exports! {
    pub const STEERING;
    avmon_violation => crate::runtime::steering::violation;
}

exports! {
    pub const FUNCTIONS;
    __tsan_func_entry => shim::avmon_func_entry, in a recording => shim::avmon_record_entry;
    __tsan_func_exit => shim::avmon_func_exit, in a recording => shim::avmon_record_exit;
}

/// Functions in front of which something happens, and that then run as if called directly: they do not return here,
/// have argument lists of any length, or can be cancelled. One of their arguments may be changed on the way.
mod jumps {
    use super::pinned::{deadline, ids};
    use super::{io, process, real, shim, thread};
    use std::sync::atomic::{AtomicPtr, Ordering};

    macro_rules! jumps {
        ($($name:ident: $before:path $(, which gives argument $argument:tt)?;)*) => {
            /// The names that this family exports.
            pub const JUMPS: &[&str] = &[$(stringify!($name)),*];

            #[allow(non_upper_case_globals)]
            mod slots {
                use super::AtomicPtr;
                $(pub static $name: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());)*
            }

            pub fn resolve_all() {
                $({
                    let name = concat!(stringify!($name), "\0");
                    let name = std::ffi::CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default();
                    slots::$name.store(real::address_of(name), Ordering::Relaxed);
                })*
            }

            $(
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                pub unsafe extern "C" fn $name() {
                    // All argument registers are kept, rax too: it counts the vector registers of a call with "...".
                    // Seven pushes keep the stack aligned for the call.
                    core::arch::naked_asm!(
                        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                        "call {before}",
                        jumps!(@keep $($argument)?),
                        "cmp qword ptr [rip + {slot}], 0",
                        "jne 2f",
                        "call {resolve}",
                        "2:",
                        "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                        "jmp qword ptr [rip + {slot}]",
                        before = sym $before, resolve = sym super::resolve_from_c, slot = sym slots::$name,
                    )
                }
            )*
        };
        // Where it was pushed.
        (@keep) => { "" };
        (@keep 1) => { "mov [rsp + 48], rax" };
        (@keep 2) => { "mov [rsp + 40], rax" };
    }

    jumps! {
        longjmp: shim::avmon_before_longjmp;
        _longjmp: shim::avmon_before_longjmp;
        siglongjmp: shim::avmon_before_longjmp;
        __longjmp_chk: shim::avmon_before_longjmp;
        prctl: thread::before_prctl;
        makecontext: process::before_makecontext;
        swapcontext: process::before_swapcontext;
        setcontext: process::before_setcontext;
        write: io::before_write;
        writev: io::before_write;
        send: io::before_write;
        sendto: io::before_write;
        sendmsg: io::before_write;
        eventfd_write: io::before_write;
        close: io::before_close;
        pthread_kill: io::before_kill;
        pthread_sigqueue: io::before_kill;
        nanosleep: deadline::before_nanosleep;
        thrd_sleep: deadline::before_nanosleep;
        usleep: deadline::before_usleep;
        sleep: deadline::before_sleep;
        waitpid: ids::meant, which gives argument 1;
        wait4: ids::meant, which gives argument 1;
        waitid: ids::meant_by_wait, which gives argument 2;
        getpriority: ids::meant_by_priority, which gives argument 2;
        setpriority: ids::meant_by_priority, which gives argument 2;
        tcsetpgrp: ids::meant_by_terminal, which gives argument 2;
        prlimit: ids::meant, which gives argument 1;
        prlimit64: ids::meant, which gives argument 1;
        pidfd_open: ids::meant, which gives argument 1;
        sched_getaffinity: ids::meant, which gives argument 1;
        sched_setaffinity: ids::meant, which gives argument 1;
        sched_getparam: ids::meant, which gives argument 1;
        sched_setparam: ids::meant, which gives argument 1;
        sched_getscheduler: ids::meant, which gives argument 1;
        sched_setscheduler: ids::meant, which gives argument 1;
        sched_rr_get_interval: ids::meant, which gives argument 1;
        dlclose: process::before_dlclose;
        execve: process::before_exec;
        execv: process::before_exec;
        execvp: process::before_exec;
        execvpe: process::before_exec;
        execl: process::before_exec;
        execlp: process::before_exec;
        execle: process::before_exec;
        fexecve: process::before_exec;
    }
}

/// Every symbol that the library exports, by family.
pub const TABLE: &[(&str, &[&str])] = &[
    ("synchronisation", SYNCHRONISATION),
    ("threads", THREADS),
    ("process", PROCESS),
    ("signals", SIGNALS),
    ("channels", CHANNELS),
    ("memory", memory::NAMES),
    ("pinned", PINNED),
    ("steering", STEERING),
    ("strings", strings::NAMES),
    ("functions", FUNCTIONS),
    ("accesses", tsan::access::NAMES),
    ("coverage", tsan::access::COVERAGE),
    ("atomics", tsan::atomic::NAMES),
    ("annotations", tsan::annotate::NAMES),
    ("dynamic annotations", tsan::annotate::DYNAMIC),
    ("queries", tsan::query::NAMES),
    ("marks", blocks::NAMES),
    ("jumps", jumps::JUMPS),
];
