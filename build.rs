//! Builds the C shim into the library, and the stub library that the binary carries.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=shim");
    cc::Build::new()
        .files(["shim/access.c", "shim/strings.c", "shim/thread.c", "shim/wait.c"])
        .std("gnu11")
        .opt_level(2)
        .flag("-fvisibility=hidden")
        // Threads are cancelled, and exceptions fly, through the shim's frames.
        .flag("-fexceptions")
        // A thread's state is one %fs-relative access away; the library is only ever loaded at start.
        .flag("-ftls-model=initial-exec")
        // Our own functions on strings must not be made of calls of themselves.
        .flag("-fno-builtin")
        // A call of another library's function goes straight to it.
        .flag("-fno-plt")
        // The hooks of function entry and exit are a handful of instructions.
        .force_frame_pointer(false)
        .warnings(true)
        .extra_warnings(true)
        .compile("avmon_shim");
    // The program must never unload us: our hooks are in its call paths, our key in its threads.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    build_stub();
}

/// The library of hooks that instrumented programs are linked with. The avmon binary carries it.
///
/// `-nostdlib`: it must add no dependency to a program. `-mcx16`: 128-bit atomics without a support library.
fn build_stub() {
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("libavmon_hooks.so");
    let compiler = cc::Build::new().get_compiler();
    let status = compiler
        .to_command()
        .args(["-shared", "-fPIC", "-O2", "-fomit-frame-pointer", "-fcf-protection=none", "-fno-plt", "-mcx16"])
        .args(["-fno-semantic-interposition", "-ffreestanding", "-Wno-unused-parameter", "-nostdlib", "-s"])
        .args(["-Wl,-soname,libavmon_hooks.so", "-Wl,--build-id=none", "-Wl,-z,relro,-z,now,-z,noseparate-code", "-o"])
        .arg(&output)
        .arg("shim/stub.c")
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("the C compiler failed on shim/stub.c: {status}"),
        Err(error) => panic!("{}: {error}; install a C compiler, or name one in CC", compiler.path().display()),
    }
}
