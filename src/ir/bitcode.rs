//! Bitcode, which LLVM's own tool makes text of.

use super::error::Error;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bitcode itself, and bitcode with a header around it.
const MAGIC: [&[u8]; 2] = [b"BC\xC0\xDE", b"\xDE\xC0\x17\x0B"];

pub(super) fn is_bitcode(bytes: &[u8]) -> bool {
    MAGIC.iter().any(|magic| bytes.starts_with(magic))
}

/// The text of a file of bitcode.
pub(super) fn disassembled(path: &Path) -> Result<Vec<u8>, Error> {
    let name = path.to_string_lossy();
    let mut complaint = None;
    for tool in tools() {
        let output = Command::new(&tool).arg("-o").arg("-").arg("--").arg(path).stdin(Stdio::null()).output();
        match output {
            Ok(output) if output.status.success() && !output.stdout.is_empty() => return Ok(output.stdout),
            Ok(output) => {
                // The first is the newest; what it says counts.
                let text = String::from_utf8_lossy(&output.stderr);
                let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given").trim();
                complaint.get_or_insert_with(|| format!("{} cannot read it: {line}", tool.display()));
            }
            Err(error) => {
                complaint.get_or_insert_with(|| format!("{} cannot be started: {error}", tool.display()));
            }
        }
    }
    Err(Error::whole(
        name,
        match complaint {
            None => "this is bitcode, and llvm-dis is needed to read it; install the package llvm, or give IR as text (clang -S -emit-llvm)".to_owned(),
            Some(complaint) => format!(
                "{complaint}; if the file is whole, it was made by a newer clang: install the package llvm-NN of that version, or give IR as text (clang -S -emit-llvm)"
            ),
        },
    ))
}

/// Every `llvm-dis` and `llvm-dis-NN` of the search path: the newest first, and the one without a number last.
fn tools() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut tools: Vec<(u32, PathBuf)> = Vec::new();
    for directory in env::split_paths(&path) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(rest) = name.to_str().and_then(|name| name.strip_prefix("llvm-dis")) else { continue };
            let version =
                if rest.is_empty() { Some(0) } else { rest.strip_prefix('-').and_then(|digits| digits.parse().ok()) };
            if let Some(version) = version
                && !tools.iter().any(|(known, _)| *known == version)
            {
                tools.push((version, entry.path()));
            }
        }
    }
    tools.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    tools.into_iter().map(|(_, path)| path).collect()
}
