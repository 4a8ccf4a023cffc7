//! Numbers of variable length: seven bits per byte, the lowest first, and a flag that more follow.

pub fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number off the front. `None` if the bytes end first, or no number of ours is that long.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Small distances in either direction to small numbers.
pub fn zigzag(distance: u64) -> u64 {
    distance << 1 ^ (distance as i64 >> 63) as u64
}

/// The way back.
pub fn unzigzag(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        let numbers = (0..64).flat_map(|shift| [1 << shift, (1 << shift) - 1, u64::MAX << shift]);
        let mut bytes = Vec::new();
        numbers.clone().for_each(|number| put(&mut bytes, zigzag(number)));
        let mut rest = &bytes[..];
        for number in numbers {
            assert_eq!(take(&mut rest).map(unzigzag), Some(number));
        }
        assert_eq!(take(&mut rest), None);
        assert_eq!(take(&mut &[0xff; 11][..]), None);
    }
}
