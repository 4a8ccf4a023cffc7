//! Rows of the table that `scripts/bench predict` prints.

use std::time::Duration;

/// The largest resident memory of this process so far. It tells of one measurement only if that has a process of its own.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// A trace, what the paper reports of it, and what was measured.
pub fn print_row(trace: &str, paper: &str, indexed: Duration, analysed: Duration, found: &str) {
    let [indexed, analysed] = [indexed, analysed].map(|time| time.as_secs_f64());
    println!("| {trace} | {paper} | {indexed:.2} s + {analysed:.2} s | {} MiB | {found} |", peak_mib());
}
