//! Colour on a terminal, plain text everywhere else.

use anstyle::{AnsiColor, Style};
use std::io::IsTerminal as _;

pub const STRONG: Style = Style::new().bold();
pub const COMMAND: Style = AnsiColor::Cyan.on_default();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
pub const BAD: Style = AnsiColor::Red.on_default();

/// Whether output on stdout may be coloured.
pub fn is_wanted() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The text in that style if stdout is a terminal, else as it is.
pub fn paint(style: Style, text: &str) -> String {
    if is_wanted() { format!("{style}{text}{style:#}") } else { text.to_owned() }
}
