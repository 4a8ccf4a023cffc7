//! The name that a person gave to a symbol.

use cpp_demangle::{DemangleOptions, Symbol};

/// What compilers append to a function that they split or specialised.
const CLONES: &[&str] = &["part", "constprop", "isra", "cold", "lto_priv", "localalias", "llvm"];

/// The name to show for a linkage name: C++ demangled (without the return type), versions and compiler-made suffixes
/// cut off.
#[must_use]
pub fn demangle(linkage: &str) -> String {
    let name = strip_suffixes(linkage.split('@').next().unwrap_or(linkage));
    if !name.starts_with("_Z") {
        return name.to_owned();
    }
    let options = DemangleOptions::new().no_return_type();
    Symbol::new(name).ok().and_then(|s| s.demangle_with_options(&options).ok()).unwrap_or_else(|| name.to_owned())
}

/// `append.part.0` and `append.cold` are `append`; a local static `lock.3` is `lock`.
fn strip_suffixes(name: &str) -> &str {
    let mut kept = name;
    while let Some((before, suffix)) = kept.rsplit_once('.') {
        let made_by_compiler = CLONES.contains(&suffix) || suffix.bytes().all(|b| b.is_ascii_digit());
        if before.is_empty() || !made_by_compiler {
            break;
        }
        kept = before;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_names_stay() {
        assert_eq!(demangle("append"), "append");
        assert_eq!(demangle("_start"), "_start");
    }

    #[test]
    fn cpp_names_are_demangled_without_return_type() {
        assert_eq!(demangle("_ZN3Log6appendEi"), "Log::append(int)");
        assert_eq!(
            demangle("_ZSt8__invokeIRFviEJiEEvOT_DpOT0_"),
            "std::__invoke<void (&)(int), int>(void (&)(int), int&&)"
        );
    }

    #[test]
    fn what_compilers_append_is_cut_off() {
        assert_eq!(demangle("append.part.0"), "append");
        assert_eq!(demangle("append.constprop.0.isra.0.cold"), "append");
        assert_eq!(demangle("_ZN3Log6appendEi.cold"), "Log::append(int)");
        assert_eq!(demangle("lock.3"), "lock");
        assert_eq!(demangle("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(demangle("file.name"), "file.name");
    }

    #[test]
    fn a_broken_name_is_shown_as_it_is() {
        assert_eq!(demangle("_ZNbroken"), "_ZNbroken");
    }
}
