//! The `avmon` command. Everything is in [`avmon::cli`].

use avmon::cli::compiler::{self, Language};
use avmon::cli::flags::Flags;
use clap::{Args as _, FromArgMatches as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let link = Language::of_link(&arguments[0]);
    let result = match (link, arguments.get(1).and_then(|word| word.to_str())) {
        (Some(language), _) => compiler::run(language, arguments[1..].to_vec()),
        (None, Some("cc")) => compiler::run(Language::C, arguments[2..].to_vec()),
        (None, Some("c++")) => compiler::run(Language::Cxx, arguments[2..].to_vec()),
        (None, Some("flags")) => {
            let command = Flags::augment_args(clap::Command::new("flags"));
            let matches = command.get_matches_from(&arguments[1..]);
            let flags = Flags::from_arg_matches(&matches).expect("just parsed");
            flags.line().map(|line| println!("{line}"))
        }
        _ => Err("no such command".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("avmon: error: {text}");
            ExitCode::FAILURE
        }
    }
}
