//! How a symbol that the program calls is exported.

/// Exports symbols and lists their names.
///
/// `name / N => implementation` defines `name` as a jump to `implementation`, with the caller's address as one more
/// argument after the N that the program passed. A jump leaves no frame of ours on the stack: an implementation
/// in the C shim can be unwound through (cancellation, exceptions), which a Rust frame would not survive.
/// `name => implementation` is the plain jump, for those that do not need the caller's address.
/// `name in a recording => implementation` returns at once without a recording, and `name => implementation, in a recording =>
/// other` has one for either case. The hottest hooks are such: they look at the switch here, and their jump is the branch on it.
macro_rules! exports {
    (pub const $table:ident; $($rest:tt)*) => {
        exports!(@each [] $table $($rest)*);
    };
    (@each [$($done:ident)*] $table:ident) => {
        /// The names that this family exports.
        pub const $table: &[&str] = &[$(stringify!($done)),*];
    };
    (@each [$($done:ident)*] $table:ident $(#[$attr:meta])* $name:ident / $count:tt => $target:path; $($rest:tt)*) => {
        $(#[$attr])*
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(exports!(@load $count), "jmp {target}", target = sym $target)
        }
        exports!(@each [$($done)* $name] $table $($rest)*);
    };
    (@each [$($done:ident)*] $table:ident $(#[$attr:meta])* $name:ident => $target:path; $($rest:tt)*) => {
        $(#[$attr])*
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!("jmp {target}", target = sym $target)
        }
        exports!(@each [$($done)* $name] $table $($rest)*);
    };
    (@each [$($done:ident)*] $table:ident $name:ident in a recording => $target:path; $($rest:tt)*) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "cmp dword ptr [rip + avmon_recording], 0",
                "jne {target}",
                "ret",
                target = sym $target,
            )
        }
        exports!(@each [$($done)* $name] $table $($rest)*);
    };
    (@each [$($done:ident)*] $table:ident $name:ident => $target:path, in a recording => $other:path; $($rest:tt)*) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "cmp dword ptr [rip + avmon_recording], 0",
                "jne {other}",
                "jmp {target}",
                target = sym $target,
                other = sym $other,
            )
        }
        exports!(@each [$($done)* $name] $table $($rest)*);
    };
    // The System V calling convention passes integer arguments in rdi, rsi, rdx, rcx, r8, r9; at entry the return
    // address is on top of the stack.
    (@load 0) => { "mov rdi, [rsp]" };
    (@load 1) => { "mov rsi, [rsp]" };
    (@load 2) => { "mov rdx, [rsp]" };
    (@load 3) => { "mov rcx, [rsp]" };
    (@load 4) => { "mov r8, [rsp]" };
    (@load 5) => { "mov r9, [rsp]" };
}

pub(crate) use exports;
