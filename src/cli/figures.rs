//! Numbers for people: grouped digits, sizes with a unit.

/// `1,234,567`, of any whole number.
pub fn grouped(number: impl std::fmt::Display) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 event`, `2,000 events`.
pub fn counted(number: impl Into<u128>, noun: &str) -> String {
    let number = number.into();
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// `512 bytes`, `1.5 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return counted(bytes, "byte");
    }
    let mut value = ratio(bytes, 1024);
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// How often `part` goes into `whole`, near enough to be shown.
#[expect(clippy::cast_precision_loss, reason = "nobody sees so many digits")]
pub fn ratio(whole: u64, part: u64) -> f64 {
    whole as f64 / part as f64
}

/// `0.123 s`, `2 min 5 s`, `3 h 0 min`.
pub fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0..60 => format!("{seconds}.{:03} s", milliseconds % 1000),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_in_threes() {
        let shown = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((counted(1_u64, "lock"), counted(2000_u64, "lock")), ("1 lock".into(), "2,000 locks".into()));
    }

    #[test]
    fn sizes_have_the_unit_that_fits() {
        let shown = [1, 1023, 1024, 1536 << 10, (1 << 20) - 1, u64::MAX].map(size);
        assert_eq!(shown, ["1 byte", "1,023 bytes", "1.0 KiB", "1.5 MiB", "1.0 MiB", "16384.0 PiB"]);
    }

    #[test]
    fn durations_are_short() {
        let shown = [5, 59_999, 125_000, 10_800_000].map(duration);
        assert_eq!(shown, ["0.005 s", "59.999 s", "2 min 5 s", "3 h 0 min"]);
    }
}
