//! C11 and C++ atomics: the real operation, and the order that it makes between threads.
//!
//! A release operation signals its address before it happens, an acquire operation awaits the address after it
//! happened. So if an acquire reads what a release wrote, the signal's number is lower than the await's, and the
//! merged order shows the edge. Number and operation are not one step: a signal that slipped in between is awaited
//! too. That is order that held in this run but need not hold in every run; it can hide a finding, never invent one.
//!
//! Awaits are deferred to this thread's next recorded event and repeated ones are merged, so that a spinning thread
//! does not flood the stream. Nothing of this thread is recorded in between, so no event loses its order by it.
//!
//! In a recording the operation itself is recorded, with its order, and its number is taken together with it; the analysis derives
//! the signals and awaits. Only those of an acquire fence are told as here.
//!
//! A relaxed operation makes no order by itself. After a release fence it signals its address. A load that is not an
//! acquire is remembered for an acquire fence, which awaits it: the fence of a reference count that reached zero
//! is ordered after the release decrements only that way.

use super::super::export::exports;
use super::fence;
use crate::event::{self, Kind};
use crate::runtime::{self, Operation};
use core::sync::atomic::{self, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, compiler_fence};
use std::ffi::c_int;

/// A memory order as the compilers pass it. Bits above these 16 are hints (lock elision).
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
struct Order(c_int);

impl Order {
    const RELAXED: u16 = 0;
    const CONSUME: u16 = 1;
    const ACQUIRE: u16 = 2;
    const RELEASE: u16 = 3;
    const SEQ_CST: u16 = 5;

    fn code(self) -> u16 {
        self.0 as u16
    }

    /// Consume counts as acquire: that is how compilers implement it.
    fn acquires(self) -> bool {
        !matches!(self.code(), Order::RELAXED | Order::RELEASE)
    }

    fn releases(self) -> bool {
        !matches!(self.code(), Order::RELAXED | Order::CONSUME | Order::ACQUIRE)
    }

    fn is_sequential(self) -> bool {
        self.code() >= Order::SEQ_CST
    }

    /// How the recording tells of an operation of this order on so many bytes.
    fn detail(self, bytes: usize) -> u8 {
        event::atomic::detail(self.code().min(Order::SEQ_CST) as u8, bytes.trailing_zeros() as u8)
    }

    /// The same for one that stores: a release fence before it makes it a release.
    fn storing_detail(self, bytes: usize) -> u8 {
        let fenced = if runtime::has_release_fence() { event::atomic::FENCED } else { 0 };
        self.detail(bytes) | fenced
    }

    /// The order side of a store or read-modify-write that is about to happen.
    fn before(self, address: u64, pc: u64) {
        if self.releases() || runtime::has_release_fence() {
            runtime::signal_once(address, pc);
        }
    }

    /// The order side of a load or read-modify-write that just happened.
    fn after(self, address: u64) {
        if self.acquires() {
            runtime::await_later(address);
        } else {
            fence::remember(address);
        }
    }
}

/// Does a load or read-modify-write in a recording. `order` is that of what it turned out to be. The old value.
#[inline(always)]
fn recorded(address: u64, pc: u64, operate: impl FnOnce() -> (Order, Operation)) -> u128 {
    let mut order = Order(0);
    let operation = runtime::atomic(address, pc, || {
        let done = operate();
        order = done.0;
        done.1
    });
    if !order.acquires() {
        fence::remember(address);
    }
    operation.old
}

/// The hooks of one width, in a module of its own.
macro_rules! width {
    ($module:ident, $value:ty, $atomic:ident) => {
        mod $module {
            use super::*;

            const BYTES: usize = size_of::<$value>();

            pub(super) unsafe extern "C" fn load(address: *mut $value, order: Order, pc: u64) -> $value {
                if runtime::is_recording() {
                    return recorded(address as u64, pc, || {
                        // SAFETY: the program asked for an atomic load here.
                        let value = u128::from(unsafe { $atomic::from_ptr(address) }.load(Ordering::SeqCst));
                        (order, Operation { kind: Kind::AtomicLoad, detail: order.detail(BYTES), old: value, new: value })
                    }) as $value;
                }
                // SAFETY: the program asked for an atomic load here.
                let value = unsafe { $atomic::from_ptr(address) }.load(Ordering::SeqCst);
                order.after(address as u64);
                value
            }

            pub(super) unsafe extern "C" fn store(address: *mut $value, value: $value, order: Order, pc: u64) {
                if runtime::is_recording() {
                    runtime::atomic(address as u64, pc, || {
                        let detail = order.storing_detail(BYTES);
                        // SAFETY: the program asked for an atomic store here.
                        unsafe { $atomic::from_ptr(address) }.store(value, Ordering::SeqCst);
                        Operation { kind: Kind::AtomicStore, detail, old: 0, new: value.into() }
                    });
                    return;
                }
                order.before(address as u64, pc);
                // A sequentially consistent store is the only operation for which x86-64 has a costlier instruction.
                let strength = if order.is_sequential() { Ordering::SeqCst } else { Ordering::Release };
                // SAFETY: the program asked for an atomic store here.
                unsafe { $atomic::from_ptr(address) }.store(value, strength);
            }

            /// What each update leaves behind.
            mod after {
                pub fn exchange(_: $value, value: $value) -> $value { value }
                pub fn fetch_add(old: $value, value: $value) -> $value { old.wrapping_add(value) }
                pub fn fetch_sub(old: $value, value: $value) -> $value { old.wrapping_sub(value) }
                pub fn fetch_and(old: $value, value: $value) -> $value { old & value }
                pub fn fetch_or(old: $value, value: $value) -> $value { old | value }
                pub fn fetch_xor(old: $value, value: $value) -> $value { old ^ value }
                pub fn fetch_nand(old: $value, value: $value) -> $value { !(old & value) }
            }

            width!(@update $value, $atomic; exchange = swap, fetch_add = fetch_add, fetch_sub = fetch_sub,
                fetch_and = fetch_and, fetch_or = fetch_or, fetch_xor = fetch_xor, fetch_nand = fetch_nand);

            /// The old value.
            unsafe fn compare_exchange(
                address: *mut $value, expected: $value, new: $value, order: Order, failure: Order, pc: u64,
            ) -> $value {
                if runtime::is_recording() {
                    return recorded(address as u64, pc, || {
                        let detail = order.storing_detail(BYTES);
                        // SAFETY: the program asked for an atomic exchange here.
                        let cell = unsafe { $atomic::from_ptr(address) };
                        match cell.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst) {
                            Ok(old) => {
                                let detail = detail | event::atomic::COMPARED;
                                let (old, new) = (old.into(), new.into());
                                (order, Operation { kind: Kind::AtomicUpdate, detail, old, new })
                            }
                            Err(old) => {
                                let detail = failure.detail(BYTES) | event::atomic::COMPARED;
                                let old = u128::from(old);
                                (failure, Operation { kind: Kind::AtomicLoad, detail, old, new: old })
                            }
                        }
                    }) as $value;
                }
                // Whether it will succeed is not known yet; a signal too many is harmless.
                order.before(address as u64, pc);
                // SAFETY: the program asked for an atomic exchange here.
                let result = unsafe { $atomic::from_ptr(address) }.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst);
                match result {
                    Ok(old) => {
                        order.after(address as u64);
                        old
                    }
                    Err(old) => {
                        failure.after(address as u64);
                        old
                    }
                }
            }

            /// Weak and strong: a strong exchange is a weak one that never fails without reason.
            pub(super) unsafe extern "C" fn compare_exchange_in_place(
                address: *mut $value, expected: *mut $value, new: $value, order: Order, failure: Order, pc: u64,
            ) -> c_int {
                let recorded = |kind| {
                    if runtime::is_recording() {
                        runtime::access(kind, BYTES as u32, expected as u64, pc);
                    }
                };
                recorded(Kind::Read);
                // SAFETY: the program passes its own variable for the expected value.
                let wanted = unsafe { *expected };
                // SAFETY: as the caller promises.
                let old = unsafe { compare_exchange(address, wanted, new, order, failure, pc) };
                if old == wanted {
                    return 1;
                }
                recorded(Kind::Write);
                // SAFETY: as above.
                unsafe { *expected = old };
                0
            }

            pub(super) unsafe extern "C" fn compare_exchange_val(
                address: *mut $value, expected: $value, new: $value, order: Order, failure: Order, pc: u64,
            ) -> $value {
                // SAFETY: as the caller promises.
                unsafe { compare_exchange(address, expected, new, order, failure, pc) }
            }
        }
    };
    // On x86-64 a locked read-modify-write is sequentially consistent whatever order was asked for.
    (@update $value:ty, $atomic:ident; $($name:ident = $operation:ident),*) => {
        $(pub(super) unsafe extern "C" fn $name(address: *mut $value, value: $value, order: Order, pc: u64) -> $value {
            if runtime::is_recording() {
                return recorded(address as u64, pc, || {
                    let detail = order.storing_detail(BYTES);
                    // SAFETY: the program asked for an atomic update here.
                    let old = unsafe { $atomic::from_ptr(address) }.$operation(value, Ordering::SeqCst);
                    let new = after::$name(old, value).into();
                    (order, Operation { kind: Kind::AtomicUpdate, detail, old: old.into(), new })
                }) as $value;
            }
            order.before(address as u64, pc);
            // SAFETY: the program asked for an atomic update here.
            let old = unsafe { $atomic::from_ptr(address) }.$operation(value, Ordering::SeqCst);
            order.after(address as u64);
            old
        })*
    };
}

width!(bits8, u8, AtomicU8);
width!(bits16, u16, AtomicU16);
width!(bits32, u32, AtomicU32);
width!(bits64, u64, AtomicU64);
width!(bits128, u128, AtomicU128);

/// The part of the standard library's atomic interface that is not stable for 128 bits.
///
/// Everything is a compare and exchange, loads too: the processor has no other atomic access of this width that
/// all models promise, and compilers' own support library does the same.
struct AtomicU128(*mut u128);

impl AtomicU128 {
    /// # Safety
    /// `address` is a 16-byte cell, aligned to its size, that is used atomically while this value lives; and the
    /// processor has `cmpxchg16b`, which all but the first few x86-64 models have.
    unsafe fn from_ptr(address: *mut u128) -> AtomicU128 {
        AtomicU128(address)
    }

    fn compare_exchange(&self, expected: u128, new: u128, _: Ordering, _: Ordering) -> Result<u128, u128> {
        let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
        // SAFETY: the contract of `from_ptr`. The compiler keeps rbx for itself, so it is borrowed and given back; the other
        // registers are named, as one of the compiler's choice could be rbx.
        unsafe {
            core::arch::asm!(
                "xchg rbx, rsi",
                "lock cmpxchg16b [rdi]",
                "mov rbx, rsi",
                in("rdi") self.0,
                inout("rsi") new as u64 => _,
                in("rcx") (new >> 64) as u64,
                inout("rax") low,
                inout("rdx") high,
                options(nostack),
            );
        }
        let old = u128::from(high) << 64 | u128::from(low);
        if old == expected { Ok(old) } else { Err(old) }
    }

    fn update(&self, change: impl Fn(u128) -> u128) -> u128 {
        let mut old = self.load(Ordering::SeqCst);
        loop {
            match self.compare_exchange(old, change(old), Ordering::SeqCst, Ordering::SeqCst) {
                Ok(old) => return old,
                Err(current) => old = current,
            }
        }
    }

    fn load(&self, order: Ordering) -> u128 {
        let (Ok(value) | Err(value)) = self.compare_exchange(0, 0, order, order);
        value
    }

    fn store(&self, value: u128, _: Ordering) {
        self.update(|_| value);
    }

    fn swap(&self, value: u128, _: Ordering) -> u128 {
        self.update(|_| value)
    }

    fn fetch_add(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old.wrapping_add(value))
    }

    fn fetch_sub(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old.wrapping_sub(value))
    }

    fn fetch_and(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old & value)
    }

    fn fetch_or(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old | value)
    }

    fn fetch_xor(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old ^ value)
    }

    fn fetch_nand(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| !(old & value))
    }
}

unsafe extern "C" fn thread_fence(order: Order, pc: u64) {
    if runtime::is_recording() {
        runtime::record(Kind::Fence, order.detail(1), 0, pc);
    }
    if order.releases() {
        runtime::fence_release();
    }
    atomic::fence(Ordering::SeqCst);
    if order.acquires() {
        fence::acquire();
    }
}

/// Orders a thread with its own signal handlers only: nothing between threads.
unsafe extern "C" fn signal_fence() {
    compiler_fence(Ordering::SeqCst);
}

/// What stands for the caller's address where it is not known: the arguments of a 128-bit compare and exchange fill
/// all registers, so there is no place to pass it.
const UNKNOWN_PC: u64 = 0;

unsafe extern "C" fn compare_exchange_128_in_place(
    address: *mut u128,
    expected: *mut u128,
    new: u128,
    order: Order,
    failure: Order,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { bits128::compare_exchange_in_place(address, expected, new, order, failure, UNKNOWN_PC) }
}

unsafe extern "C" fn compare_exchange_128_val(
    address: *mut u128,
    expected: u128,
    new: u128,
    order: Order,
    failure: Order,
) -> u128 {
    // SAFETY: the program's own arguments.
    unsafe { bits128::compare_exchange_val(address, expected, new, order, failure, UNKNOWN_PC) }
}

exports! {
    pub const NAMES;
    __tsan_atomic_thread_fence / 1 => thread_fence;
    __tsan_atomic_signal_fence => signal_fence;
    __tsan_atomic8_load / 2 => bits8::load;
    __tsan_atomic8_store / 3 => bits8::store;
    __tsan_atomic8_exchange / 3 => bits8::exchange;
    __tsan_atomic8_fetch_add / 3 => bits8::fetch_add;
    __tsan_atomic8_fetch_sub / 3 => bits8::fetch_sub;
    __tsan_atomic8_fetch_and / 3 => bits8::fetch_and;
    __tsan_atomic8_fetch_or / 3 => bits8::fetch_or;
    __tsan_atomic8_fetch_xor / 3 => bits8::fetch_xor;
    __tsan_atomic8_fetch_nand / 3 => bits8::fetch_nand;
    __tsan_atomic8_compare_exchange_strong / 5 => bits8::compare_exchange_in_place;
    __tsan_atomic8_compare_exchange_weak / 5 => bits8::compare_exchange_in_place;
    __tsan_atomic8_compare_exchange_val / 5 => bits8::compare_exchange_val;
    __tsan_atomic16_load / 2 => bits16::load;
    __tsan_atomic16_store / 3 => bits16::store;
    __tsan_atomic16_exchange / 3 => bits16::exchange;
    __tsan_atomic16_fetch_add / 3 => bits16::fetch_add;
    __tsan_atomic16_fetch_sub / 3 => bits16::fetch_sub;
    __tsan_atomic16_fetch_and / 3 => bits16::fetch_and;
    __tsan_atomic16_fetch_or / 3 => bits16::fetch_or;
    __tsan_atomic16_fetch_xor / 3 => bits16::fetch_xor;
    __tsan_atomic16_fetch_nand / 3 => bits16::fetch_nand;
    __tsan_atomic16_compare_exchange_strong / 5 => bits16::compare_exchange_in_place;
    __tsan_atomic16_compare_exchange_weak / 5 => bits16::compare_exchange_in_place;
    __tsan_atomic16_compare_exchange_val / 5 => bits16::compare_exchange_val;
    __tsan_atomic32_load / 2 => bits32::load;
    __tsan_atomic32_store / 3 => bits32::store;
    __tsan_atomic32_exchange / 3 => bits32::exchange;
    __tsan_atomic32_fetch_add / 3 => bits32::fetch_add;
    __tsan_atomic32_fetch_sub / 3 => bits32::fetch_sub;
    __tsan_atomic32_fetch_and / 3 => bits32::fetch_and;
    __tsan_atomic32_fetch_or / 3 => bits32::fetch_or;
    __tsan_atomic32_fetch_xor / 3 => bits32::fetch_xor;
    __tsan_atomic32_fetch_nand / 3 => bits32::fetch_nand;
    __tsan_atomic32_compare_exchange_strong / 5 => bits32::compare_exchange_in_place;
    __tsan_atomic32_compare_exchange_weak / 5 => bits32::compare_exchange_in_place;
    __tsan_atomic32_compare_exchange_val / 5 => bits32::compare_exchange_val;
    __tsan_atomic64_load / 2 => bits64::load;
    __tsan_atomic64_store / 3 => bits64::store;
    __tsan_atomic64_exchange / 3 => bits64::exchange;
    __tsan_atomic64_fetch_add / 3 => bits64::fetch_add;
    __tsan_atomic64_fetch_sub / 3 => bits64::fetch_sub;
    __tsan_atomic64_fetch_and / 3 => bits64::fetch_and;
    __tsan_atomic64_fetch_or / 3 => bits64::fetch_or;
    __tsan_atomic64_fetch_xor / 3 => bits64::fetch_xor;
    __tsan_atomic64_fetch_nand / 3 => bits64::fetch_nand;
    __tsan_atomic64_compare_exchange_strong / 5 => bits64::compare_exchange_in_place;
    __tsan_atomic64_compare_exchange_weak / 5 => bits64::compare_exchange_in_place;
    __tsan_atomic64_compare_exchange_val / 5 => bits64::compare_exchange_val;
    __tsan_atomic128_load / 2 => bits128::load;
    __tsan_atomic128_store / 4 => bits128::store;
    __tsan_atomic128_exchange / 4 => bits128::exchange;
    __tsan_atomic128_fetch_add / 4 => bits128::fetch_add;
    __tsan_atomic128_fetch_sub / 4 => bits128::fetch_sub;
    __tsan_atomic128_fetch_and / 4 => bits128::fetch_and;
    __tsan_atomic128_fetch_or / 4 => bits128::fetch_or;
    __tsan_atomic128_fetch_xor / 4 => bits128::fetch_xor;
    __tsan_atomic128_fetch_nand / 4 => bits128::fetch_nand;
    __tsan_atomic128_compare_exchange_strong => compare_exchange_128_in_place;
    __tsan_atomic128_compare_exchange_weak => compare_exchange_128_in_place;
    __tsan_atomic128_compare_exchange_val => compare_exchange_128_val;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_the_compilers_number_them() {
        for (name, code, acquires, releases, is_sequential) in [
            ("relaxed", 0, false, false, false),
            ("consume", 1, true, false, false),
            ("acquire", 2, true, false, false),
            ("release", 3, false, true, false),
            ("acq_rel", 4, true, true, false),
            ("seq_cst", 5, true, true, true),
            ("acquire with lock elision", 2 | 1 << 16, true, false, false),
        ] {
            let order = Order(code);
            let read = (order.acquires(), order.releases(), order.is_sequential());
            assert_eq!(read, (acquires, releases, is_sequential), "{name}");
        }
    }
}
