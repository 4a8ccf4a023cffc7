//! The `avmon` command. Everything is in [`avmon::cli`].

fn main() {
    let code = avmon::cli::main(std::env::args_os().collect());
    std::process::exit(code as i32);
}
