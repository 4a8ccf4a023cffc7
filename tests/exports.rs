//! What the library exports is what its table says, and the same code linked into a program does nothing.

use avmon::interpose::TABLE;
use avmon::runtime::state::{State, state};
use std::collections::BTreeSet;
use std::process::Command;

fn library() -> std::path::PathBuf {
    // Cargo builds the library for the tests beside their own binaries.
    std::env::current_exe().unwrap().with_file_name("libavmon.so")
}

fn exported() -> BTreeSet<String> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library()).output().expect("nm");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned).collect()
}

#[test]
fn the_library_exports_exactly_its_table() {
    let table: BTreeSet<String> = TABLE.iter().flat_map(|(_, names)| *names).map(|&name| name.to_owned()).collect();
    let exported = exported();
    let missing: Vec<_> = table.difference(&exported).collect();
    let extra: Vec<_> = exported.difference(&table).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing: {missing:?}, not in the table: {extra:?}");
}

#[test]
fn no_name_is_in_the_table_twice() {
    let mut seen = BTreeSet::new();
    for (family, names) in TABLE {
        for name in *names {
            assert!(seen.insert(name), "{name} is listed again in family {family}");
        }
    }
}

/// The interposers are linked into this test, as they are into the `avmon` command.
#[test]
fn the_interposers_are_inert_in_a_program_that_links_them() {
    unsafe extern "C" {
        fn pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> libc::c_int;
    }
    // SAFETY: dladdr fills the struct when it returns non-zero; the mutex is initialised and ours.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        assert_ne!(libc::dladdr(pthread_mutex_lock as *const libc::c_void, &raw mut info), 0);
        let file = std::ffi::CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned();
        assert!(!file.contains("libc.so"), "the interposer is not linked in, so this test shows nothing: {file}");

        let mut mutex: libc::pthread_mutex_t = libc::PTHREAD_MUTEX_INITIALIZER;
        assert_eq!(pthread_mutex_lock(&raw mut mutex), 0);
        assert_eq!(libc::pthread_mutex_unlock(&raw mut mutex), 0);
    }
    std::thread::spawn(|| ()).join().unwrap();
    assert_eq!(state(), State::Off);
    let names = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names: Vec<String> = names.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok()).collect();
    assert!(names.iter().all(|name| name.trim() != "avmon"), "a worker was started: {names:?}");
}

#[test]
fn the_library_stays_loaded_and_needs_no_executable_stack() {
    let output = Command::new("readelf").args(["-dlW"]).arg(library()).output().expect("readelf");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("NODELETE"), "{text}");
    let stack = text.lines().find(|line| line.contains("GNU_STACK")).expect("GNU_STACK");
    assert!(!stack.contains('E'), "{stack}");
}
