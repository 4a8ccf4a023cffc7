//! The functions that we stand in front of.

use libc::{c_char, c_int, c_void, clockid_t, pthread_attr_t, pthread_t, sighandler_t, timespec};
use std::sync::atomic::{AtomicPtr, Ordering};

/// An address that the program gave us and that we only pass on.
pub type Object = *mut c_void;

macro_rules! real_functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?, $version:expr;)*) => {
        #[allow(non_upper_case_globals)]
        mod slots {
            use super::*;
            $(pub static $name: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());)*
        }

        $(
            /// The function of this name that the program would have called without us.
            #[inline(always)]
            #[must_use]
            #[allow(non_snake_case)]
            pub fn $name() -> unsafe extern "C" fn($($argument),*) $(-> $result)? {
                let mut address = slots::$name.load(Ordering::Relaxed);
                if address.is_null() {
                    // A constructor of another library called before ours ran.
                    super::resolve_from_c();
                    address = slots::$name.load(Ordering::Relaxed);
                }
                // SAFETY: the address is that of the C function of this name, whose signature the table gives. It
                // cannot be null: the program could not have been linked to a function that its libc lacks.
                unsafe { std::mem::transmute(address) }
            }
        )*

        /// Finds all of them. Later calls find the same.
        pub fn resolve_all() {
            $(slots::$name.store(find(concat!(stringify!($name), "\0"), $version), Ordering::Relaxed);)*
        }
    };
}

/// `pthread_cond`_* exists twice in glibc, for two layouts; the default of `dlsym` may be the old one.
const COND: Option<&std::ffi::CStr> = Some(c"GLIBC_2.3.2");

fn find(name: &str, version: Option<&std::ffi::CStr>) -> *mut c_void {
    let name = name.as_ptr().cast::<c_char>();
    // SAFETY: both strings are NUL-terminated.
    unsafe {
        let found = version.map_or(std::ptr::null_mut(), |v| libc::dlvsym(libc::RTLD_NEXT, name, v.as_ptr()));
        if found.is_null() { libc::dlsym(libc::RTLD_NEXT, name) } else { found }
    }
}

real_functions! {
    pthread_mutex_lock: fn(Object) -> c_int, None;
    pthread_mutex_trylock: fn(Object) -> c_int, None;
    pthread_mutex_timedlock: fn(Object, *const timespec) -> c_int, None;
    pthread_mutex_clocklock: fn(Object, clockid_t, *const timespec) -> c_int, None;
    pthread_mutex_unlock: fn(Object) -> c_int, None;
    pthread_mutex_init: fn(Object, Object) -> c_int, None;
    pthread_mutex_destroy: fn(Object) -> c_int, None;
    pthread_rwlock_rdlock: fn(Object) -> c_int, None;
    pthread_rwlock_wrlock: fn(Object) -> c_int, None;
    pthread_rwlock_tryrdlock: fn(Object) -> c_int, None;
    pthread_rwlock_trywrlock: fn(Object) -> c_int, None;
    pthread_rwlock_timedrdlock: fn(Object, *const timespec) -> c_int, None;
    pthread_rwlock_timedwrlock: fn(Object, *const timespec) -> c_int, None;
    pthread_rwlock_clockrdlock: fn(Object, clockid_t, *const timespec) -> c_int, None;
    pthread_rwlock_clockwrlock: fn(Object, clockid_t, *const timespec) -> c_int, None;
    pthread_rwlock_unlock: fn(Object) -> c_int, None;
    pthread_rwlock_init: fn(Object, Object) -> c_int, None;
    pthread_rwlock_destroy: fn(Object) -> c_int, None;
    pthread_spin_lock: fn(Object) -> c_int, None;
    pthread_spin_trylock: fn(Object) -> c_int, None;
    pthread_spin_unlock: fn(Object) -> c_int, None;
    pthread_spin_init: fn(Object, c_int) -> c_int, None;
    pthread_spin_destroy: fn(Object) -> c_int, None;
    pthread_cond_signal: fn(Object) -> c_int, COND;
    pthread_cond_broadcast: fn(Object) -> c_int, COND;
    pthread_barrier_wait: fn(Object) -> c_int, None;
    sem_post: fn(Object) -> c_int, None;
    sem_trywait: fn(Object) -> c_int, None;
    pthread_create: fn(*mut pthread_t, *const pthread_attr_t, Object, Object) -> c_int, None;
    pthread_tryjoin_np: fn(pthread_t, *mut Object) -> c_int, None;
    pthread_setname_np: fn(pthread_t, *const c_char) -> c_int, None;
    thrd_create: fn(*mut pthread_t, Object, Object) -> c_int, None;
    mtx_init: fn(Object, c_int) -> c_int, None;
    mtx_lock: fn(Object) -> c_int, None;
    mtx_trylock: fn(Object) -> c_int, None;
    mtx_timedlock: fn(Object, *const timespec) -> c_int, None;
    mtx_unlock: fn(Object) -> c_int, None;
    mtx_destroy: fn(Object), None;
    cnd_signal: fn(Object) -> c_int, None;
    cnd_broadcast: fn(Object) -> c_int, None;
    sigaction: fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int, None;
    signal: fn(c_int, sighandler_t) -> sighandler_t, None;
    bsd_signal: fn(c_int, sighandler_t) -> sighandler_t, None;
    ssignal: fn(c_int, sighandler_t) -> sighandler_t, None;
    sysv_signal: fn(c_int, sighandler_t) -> sighandler_t, None;
    __sysv_signal: fn(c_int, sighandler_t) -> sighandler_t, None;
    pipe: fn(*mut c_int) -> c_int, None;
    pipe2: fn(*mut c_int, c_int) -> c_int, None;
    socketpair: fn(c_int, c_int, c_int, *mut c_int) -> c_int, None;
    eventfd: fn(libc::c_uint, c_int) -> c_int, None;
    dup: fn(c_int) -> c_int, None;
    dup2: fn(c_int, c_int) -> c_int, None;
    dup3: fn(c_int, c_int, c_int) -> c_int, None;
    clock_gettime: fn(clockid_t, *mut timespec) -> c_int, None;
    gettimeofday: fn(*mut libc::timeval, *mut c_void) -> c_int, None;
    time: fn(*mut libc::time_t) -> libc::time_t, None;
    getrandom: fn(*mut c_void, libc::size_t, libc::c_uint) -> libc::ssize_t, None;
    getentropy: fn(*mut c_void, libc::size_t) -> c_int, None;
    arc4random: fn() -> u32, None;
    arc4random_buf: fn(*mut c_void, libc::size_t), None;
    arc4random_uniform: fn(u32) -> u32, None;
    timespec_get: fn(*mut timespec, c_int) -> c_int, None;
    getpid: fn() -> libc::pid_t, None;
    getppid: fn() -> libc::pid_t, None;
    kill: fn(libc::pid_t, c_int) -> c_int, None;
    killpg: fn(libc::pid_t, c_int) -> c_int, None;
    gettid: fn() -> libc::pid_t, None;
    getpgrp: fn() -> libc::pid_t, None;
    setsid: fn() -> libc::pid_t, None;
    tcgetpgrp: fn(c_int) -> libc::pid_t, None;
    tcgetsid: fn(c_int) -> libc::pid_t, None;
    sigqueue: fn(libc::pid_t, c_int, libc::sigval) -> c_int, None;
    tgkill: fn(libc::pid_t, libc::pid_t, c_int) -> c_int, None;
    getpgid: fn(libc::pid_t) -> libc::pid_t, None;
    setpgid: fn(libc::pid_t, libc::pid_t) -> c_int, None;
    getsid: fn(libc::pid_t) -> libc::pid_t, None;
    _Fork: fn() -> libc::pid_t, None;
    _exit: fn(c_int) -> !, None;
    quick_exit: fn(c_int) -> !, None;
    abort: fn() -> !, None;
}

/// The address of any other libc function, for a wrapper that ends in a jump to it.
pub fn address_of(name: &'static std::ffi::CStr) -> *mut c_void {
    // SAFETY: a C string.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}
