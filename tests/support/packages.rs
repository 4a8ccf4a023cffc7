//! Debian packages that tests need. A missing one is installed if we may, and otherwise an error: never a silent skip.

use std::process::{Command, Stdio};
use std::sync::Mutex;

/// One installation at a time; apt has a lock, but waiting for it is noisy.
static APT: Mutex<()> = Mutex::new(());

/// Makes sure that all packages are installed.
pub fn ensure(packages: &[&str]) -> Result<(), String> {
    let _one_at_a_time = APT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let missing: Vec<&str> = packages.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    // SAFETY: takes and gives a number.
    if unsafe { libc::geteuid() } != 0 {
        return Err(format!(
            "this test needs packages; install them first: sudo apt-get install {}",
            missing.join(" ")
        ));
    }
    let install = apt(&[&["install", "-y", "--no-install-recommends"], missing.as_slice()].concat());
    // Lists may be missing or old in a fresh container.
    install.or_else(|_| {
        apt(&["update"])?;
        apt(&[&["install", "-y", "--no-install-recommends"], missing.as_slice()].concat())
    })
}

fn is_installed(package: &str) -> bool {
    let status = Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Status}", package]).output();
    status.is_ok_and(|output| output.stdout == b"installed")
}

fn apt(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("apt-get")
        .args(["-q", "-o", "DPkg::Lock::Timeout=120"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("apt-get cannot be started: {error}; install by other means: {arguments:?}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("apt-get {arguments:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)))
    }
}
