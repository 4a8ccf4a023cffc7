//! Builds the C shim into the library.

fn main() {
    println!("cargo:rerun-if-changed=shim");
    cc::Build::new()
        .files(["shim/thread.c", "shim/wait.c"])
        .std("gnu11")
        .opt_level(2)
        .flag("-fvisibility=hidden")
        // Threads are cancelled, and exceptions fly, through the shim's frames.
        .flag("-fexceptions")
        .warnings(true)
        .extra_warnings(true)
        .compile("avmon_shim");
    // The program must never unload us: our hooks are in its call paths, our key in its threads.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
