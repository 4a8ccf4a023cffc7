use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    build_stub();
}

/// The library of hooks that instrumented programs are linked with. The avmon binary carries it.
///
/// `-nostdlib`: it must add no dependency to a program. `-mcx16`: 128-bit atomics without a support library.
/// `-fno-semantic-interposition`: its own calls stay inside it.
fn build_stub() {
    println!("cargo::rerun-if-changed=shim/stub.c");
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("libavmon_hooks.so");
    let compiler = cc::Build::new().get_compiler();
    let status = Command::new(compiler.path())
        .args(["-shared", "-fPIC", "-O2", "-fomit-frame-pointer", "-fcf-protection=none", "-fno-plt", "-mcx16"])
        .args(["-fno-semantic-interposition", "-ffreestanding", "-Wall", "-Werror", "-nostdlib"])
        .args(["-Wl,-soname,libavmon_hooks.so", "-Wl,--build-id=none", "-Wl,-z,relro,-z,now,-z,noseparate-code", "-s", "-o"])
        .arg(&output)
        .arg("shim/stub.c")
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("the C compiler failed on shim/stub.c: {status}"),
        Err(error) => panic!("{}: {error}; install a C compiler, or name one in CC", compiler.path().display()),
    }
}
