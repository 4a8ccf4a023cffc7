//! The variables that make the programs started by this one monitored too.

use std::ffi::{CStr, CString};

const PRELOAD: &CStr = c"LD_PRELOAD";

/// Takes this library out of `LD_PRELOAD`, so that no child of this process is monitored, however it is started.
pub fn leave_preload() {
    // SAFETY: called from the constructor, before the program has threads that could use the environment.
    unsafe {
        let value = libc::getenv(PRELOAD.as_ptr());
        if value.is_null() {
            return;
        }
        let rest = without_avmon(&CStr::from_ptr(value).to_string_lossy());
        match CString::new(rest) {
            Ok(rest) if !rest.is_empty() => libc::setenv(PRELOAD.as_ptr(), rest.as_ptr(), 1),
            _ => libc::unsetenv(PRELOAD.as_ptr()),
        };
    }
}

fn without_avmon(list: &str) -> String {
    let is_ours = |path: &&str| path.rsplit('/').next().is_some_and(|name| name.starts_with("libavmon"));
    let others: Vec<&str> = list.split([':', ' ']).filter(|path| !path.is_empty() && !is_ours(path)).collect();
    others.join(":")
}

#[cfg(test)]
mod tests {
    use super::without_avmon;

    #[test]
    fn other_preloads_stay() {
        assert_eq!(without_avmon("/x/libavmon.so:/y/libjemalloc.so.2"), "/y/libjemalloc.so.2");
        assert_eq!(without_avmon("liba.so /x/libavmon.so libb.so"), "liba.so:libb.so");
        assert_eq!(without_avmon("libavmon.so"), "");
    }
}
