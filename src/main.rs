//! The `avmon` command. Everything is in [`avmon::cli`].

/// The loader calls this before Rust's runtime starts.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_THE_RUNTIME: extern "C" fn() = avmon::cli::inherited::record;

fn main() {
    let code = avmon::cli::main(std::env::args_os().collect());
    std::process::exit(code.0.into());
}
