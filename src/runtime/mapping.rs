//! Memory mappings by bare system calls. The functions of the C library are what the program calls, and so have hooks of ours in
//! front of them, which must not come to see us.

use libc::{c_int, c_void, off_t};

/// The kernel's answer: an address or 0, or a negated error code.
unsafe fn call(number: i64, arguments: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let result;
    // SAFETY: the caller's promise; the kernel changes these registers only.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") first, in("rsi") second, in("rdx") third, in("r10") fourth, in("r8") fifth, in("r9") sixth,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// What the C library would return: the error goes to `errno`.
fn answer(result: isize) -> *mut c_void {
    if (-4095..0).contains(&result) {
        // SAFETY: always a valid thread-local address.
        unsafe { *libc::__errno_location() = -result as c_int };
        return libc::MAP_FAILED;
    }
    std::ptr::with_exposed_provenance_mut(result as usize)
}

/// # Safety
/// As for `mmap`.
pub unsafe fn map(
    address: *mut c_void,
    size: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    let arguments = [address.addr(), size, protection as usize, flags as usize, file as usize, offset as usize];
    // SAFETY: the contract.
    answer(unsafe { call(libc::SYS_mmap, arguments) })
}

/// New memory, all zero, of which nothing is taken before it is used. Null if there is none.
#[must_use]
pub fn map_anonymous(size: usize) -> *mut c_void {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping where the kernel likes.
    let address = unsafe { map(std::ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if address == libc::MAP_FAILED { std::ptr::null_mut() } else { address }
}

/// # Safety
/// As for `munmap`.
pub unsafe fn unmap(address: *mut c_void, size: usize) -> c_int {
    // SAFETY: the contract.
    let result = answer(unsafe { call(libc::SYS_munmap, [address.addr(), size, 0, 0, 0, 0]) });
    if result == libc::MAP_FAILED { -1 } else { 0 }
}

/// # Safety
/// As for `mremap`.
pub unsafe fn remap(address: *mut c_void, old_size: usize, size: usize, flags: c_int, to: *mut c_void) -> *mut c_void {
    // SAFETY: the contract.
    answer(unsafe { call(libc::SYS_mremap, [address.addr(), old_size, size, flags as usize, to.addr(), 0]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_mapped_resized_and_unmapped() {
        let place = map_anonymous(1 << 12).cast::<u8>();
        assert!(!place.is_null());
        // SAFETY: the mappings just made, within their sizes.
        unsafe {
            place.write(7);
            let larger = remap(place.cast(), 1 << 12, 1 << 14, libc::MREMAP_MAYMOVE, std::ptr::null_mut()).cast::<u8>();
            assert_eq!((larger.read(), larger.add((1 << 14) - 1).read()), (7, 0));
            assert_eq!(unmap(larger.cast(), 1 << 14), 0);
            assert_eq!(unmap(std::ptr::without_provenance_mut(1), 1), -1);
            assert_eq!(*libc::__errno_location(), libc::EINVAL);
        }
    }
}
