//! Numbers that look random and follow from a seed.

/// The number with this index in the sequence that the seed stands for (`SplitMix64`): any seed will do, and any number can be asked for without
/// those before it.
#[must_use]
pub const fn number(seed: u64, index: u64) -> u64 {
    let mut mixed = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}
