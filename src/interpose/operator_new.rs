//! Who called `operator new`.
//!
//! The C++ library's operators call `malloc`, so that all that is made by `new` would seem to come from one place. How far above the call of `malloc` such
//! an operator keeps the address that it returns to is found out by calling it once.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// The operators, those first that others call.
const OPERATORS: [&CStr; 6] = [
    c"_Znwm",
    c"_Znam",
    c"_ZnwmRKSt9nothrow_t",
    c"_ZnamRKSt9nothrow_t",
    c"_ZnwmSt11align_val_t",
    c"_ZnamSt11align_val_t",
];
const DELETE: &CStr = c"_ZdlPv";
/// Another operator is the program's own, with an effect of its own.
const LIBRARIES: [&[u8]; 2] = [b"libstdc++.so", b"libc++.so"];

/// A call in an operator: the address it returns to, and how far above that the operator's own is.
struct Call {
    pc: AtomicU64,
    distance: AtomicU64,
}

/// No frame of an operator is larger.
const LARGEST: u64 = 512;

static CALLS: [Call; OPERATORS.len()] = [const { Call { pc: AtomicU64::new(0), distance: AtomicU64::new(0) } }; 6];
/// The code that the calls are in, and while an operator is tried out all code.
static BEGIN: AtomicU64 = AtomicU64::new(0);
static LENGTH: AtomicU64 = AtomicU64::new(0);
/// Where the address is that the operator returns to which is being tried out.
static TRIED: AtomicU64 = AtomicU64::new(0);

/// The address behind the program's call, from where on the stack the address is that a function of memory returns to.
///
/// # Safety
/// It is there.
#[inline(always)]
pub unsafe fn caller(place: *const u64) -> u64 {
    // SAFETY: the contract.
    unsafe {
        let pc = *place;
        let is_near = pc.wrapping_sub(BEGIN.load(Ordering::Relaxed)) < LENGTH.load(Ordering::Relaxed);
        if is_near { caller_of_operator(place) } else { pc }
    }
}

#[cold]
unsafe fn caller_of_operator(mut place: *const u64) -> u64 {
    // SAFETY: the place itself is the caller's promise; above it are the frames of operators, whose sizes are known.
    unsafe {
        for _ in 0..OPERATORS.len() {
            let Some(call) = CALLS.iter().find(|call| call.pc.load(Ordering::Relaxed) == *place) else { break };
            place = place.byte_add(call.distance.load(Ordering::Relaxed) as usize);
        }
        // While an operator is tried out, its call is new, unless it calls one that is known. Other threads are far away.
        let distance = TRIED.load(Ordering::Relaxed).wrapping_sub(place.addr() as u64);
        if (1..=LARGEST).contains(&distance)
            && let Some(free) = CALLS.iter().find(|call| call.pc.load(Ordering::Relaxed) == 0)
        {
            free.distance.store(distance, Ordering::Relaxed);
            free.pc.store(*place, Ordering::Relaxed);
        }
        *place
    }
}

/// Calls `operator(16, 16)`, and tells before where the address is that it will return to.
#[unsafe(naked)]
unsafe extern "C" fn call(operator: *mut libc::c_void, place: *const AtomicU64) -> *mut libc::c_void {
    // The push aligns the stack for the call.
    core::arch::naked_asm!(
        "push rbp",
        "lea rax, [rsp - 8]",
        "mov [rsi], rax",
        "mov rax, rdi",
        "mov edi, 16",
        "mov esi, 16",
        "call rax",
        "pop rbp",
        "ret",
    )
}

/// Tries out the operators of the C++ library, if there is one. The hooks of memory must be asked meanwhile. It asks the loader, whose lock a
/// thread that is gone may hold in a forked child: there what was found before holds.
pub fn find_out() {
    if CALLS[0].pc.load(Ordering::Relaxed) != 0 {
        return;
    }
    // Looking for what is not there would allocate, and a `malloc` of the program's own may not be ready.
    if !is_library_loaded() || !is_malloc_ours() {
        return;
    }
    // SAFETY: C strings.
    let (operators, delete) = unsafe { (OPERATORS.map(|name| defined(name)), defined(DELETE)) };
    // If one is the program's own, those of the library call it, before the program is ready for that.
    if delete.is_null() || !operators.iter().chain([&delete]).all(|it| it.is_null() || is_of_library(*it)) {
        return;
    }
    // SAFETY: operators that the program may call at any time, as the library defines them; what they make is given back.
    unsafe {
        let delete: unsafe extern "C" fn(*mut libc::c_void) = std::mem::transmute(delete);
        LENGTH.store(u64::MAX, Ordering::Relaxed);
        for operator in operators.into_iter().filter(|it| !it.is_null()) {
            // Of a size and alignment that each of them takes. The reference of those that do not throw is not looked at.
            let made = call(operator, &raw const TRIED);
            TRIED.store(0, Ordering::Relaxed);
            if !made.is_null() {
                delete(made);
            }
        }
    }
    let found = || CALLS.iter().map(|call| call.pc.load(Ordering::Relaxed)).filter(|pc| *pc != 0);
    let (first, last) = (found().min().unwrap_or(0), found().max().unwrap_or(0));
    BEGIN.store(first, Ordering::Relaxed);
    LENGTH.store(if first == 0 { 0 } else { last - first + 1 }, Ordering::Relaxed);
}

/// The function that the program would call by this name.
///
/// # Safety
/// The loader's lock is free: not in a forked child.
unsafe fn defined(name: &CStr) -> *mut libc::c_void {
    // SAFETY: a C string, and the contract.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Whether a function is the C++ library's.
fn is_of_library(address: *mut libc::c_void) -> bool {
    // SAFETY: all zeros are a value of this plain struct; dladdr fills it when it returns non-zero.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let is_known = libc::dladdr(address, &raw mut info) != 0 && !info.dli_fname.is_null();
        is_known && is_library(CStr::from_ptr(info.dli_fname))
    }
}

fn is_library(path: &CStr) -> bool {
    let file = path.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    LIBRARIES.iter().any(|library| file.starts_with(library))
}

fn is_library_loaded() -> bool {
    unsafe extern "C" fn look(module: *mut libc::dl_phdr_info, _: usize, _: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the loader's own description; a module may have no name.
        unsafe { (*module).dlpi_name.as_ref().is_some_and(|name| is_library(CStr::from_ptr(name))).into() }
    }
    // SAFETY: the function has the right type and asks for nothing of the loader's.
    unsafe { libc::dl_iterate_phdr(Some(look), std::ptr::null_mut()) != 0 }
}

/// Whether the program's calls of `malloc` come to the hook, and not to a function that the program defines.
fn is_malloc_ours() -> bool {
    // SAFETY: a C string; every process has one.
    let called = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"malloc".as_ptr()) };
    called.cast_const() == super::memory::malloc as *const libc::c_void
}
