//! Functions on bytes and strings, called from instrumented code: in a recording the bytes that they touch are accesses of their
//! caller. They are in `shim/strings.c`.
//!
//! The linker lets the program call `__wrap_NAME` for `NAME` (`shim/wrapped.flags`); in the stub library that is a jump to the real
//! one. So other libraries' calls, of which there are many, are left alone.

use super::export::exports;

macro_rules! functions_in_c {
    ($($name:ident)*) => {
        unsafe extern "C" { $(pub(super) fn $name();)* }
    };
}

functions_in_c! {
    avmon_memcpy
    avmon_memmove
    avmon_mempcpy
    avmon_memset
    avmon_memcmp
    avmon_memchr
    avmon_strlen
    avmon_strnlen
    avmon_strcpy
    avmon_stpcpy
    avmon_strncpy
    avmon_strcat
    avmon_strncat
    avmon_strcmp
    avmon_strncmp
    avmon_strchr
    avmon_strrchr
    avmon_strstr
    avmon_strdup
    avmon_strndup
    avmon___memcpy_chk
    avmon___memmove_chk
    avmon___mempcpy_chk
    avmon___memset_chk
    avmon___strcpy_chk
    avmon___stpcpy_chk
    avmon___strncpy_chk
    avmon___strcat_chk
    avmon___strncat_chk
}

exports! {
    pub const NAMES;
    __wrap_memcpy / 3 => avmon_memcpy;
    __wrap_memmove / 3 => avmon_memmove;
    __wrap_mempcpy / 3 => avmon_mempcpy;
    __wrap_memset / 3 => avmon_memset;
    __wrap_memcmp / 3 => avmon_memcmp;
    __wrap_memchr / 3 => avmon_memchr;
    __wrap_strlen / 1 => avmon_strlen;
    __wrap_strnlen / 2 => avmon_strnlen;
    __wrap_strcpy / 2 => avmon_strcpy;
    __wrap_stpcpy / 2 => avmon_stpcpy;
    __wrap_strncpy / 3 => avmon_strncpy;
    __wrap_strcat / 2 => avmon_strcat;
    __wrap_strncat / 3 => avmon_strncat;
    __wrap_strcmp / 2 => avmon_strcmp;
    __wrap_strncmp / 3 => avmon_strncmp;
    __wrap_strchr / 2 => avmon_strchr;
    __wrap_strrchr / 2 => avmon_strrchr;
    __wrap_strstr / 2 => avmon_strstr;
    __wrap_strdup / 1 => avmon_strdup;
    __wrap_strndup / 2 => avmon_strndup;
    __wrap___memcpy_chk / 4 => avmon___memcpy_chk;
    __wrap___memmove_chk / 4 => avmon___memmove_chk;
    __wrap___mempcpy_chk / 4 => avmon___mempcpy_chk;
    __wrap___memset_chk / 4 => avmon___memset_chk;
    __wrap___strcpy_chk / 3 => avmon___strcpy_chk;
    __wrap___stpcpy_chk / 3 => avmon___stpcpy_chk;
    __wrap___strncpy_chk / 4 => avmon___strncpy_chk;
    __wrap___strcat_chk / 3 => avmon___strcat_chk;
    __wrap___strncat_chk / 4 => avmon___strncat_chk;
}

/// What the names of the functions start with, as the program calls them.
pub const PREFIX: &str = "__wrap_";

/// The functions by their own names. The checked ones are what a compiler makes of the others.
pub fn functions() -> impl Iterator<Item = &'static str> {
    NAMES.iter().filter_map(|name| name.strip_prefix(PREFIX))
}

/// Those that a compiler would otherwise put into the code itself.
pub fn builtins() -> impl Iterator<Item = &'static str> {
    functions().filter(|name| !name.ends_with("_chk"))
}
