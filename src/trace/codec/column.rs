//! Columns of bytes: written without a check per byte, read without trust.

/// A column that grows. Room is made once per event, so that writing never has to ask.
#[derive(Debug, Default)]
pub struct Column {
    bytes: Vec<u8>,
    len: usize,
}

/// Bytes of the longest variable-length number.
pub const VARINT: usize = 10;

impl Column {
    /// Empties it, with room for `bytes`.
    pub fn reset(&mut self, bytes: usize) {
        self.len = 0;
        // A number is stored as a whole word even if only some of its bytes count.
        let needed = bytes + size_of::<u64>();
        if self.bytes.len() < needed {
            self.bytes.resize(needed, 0);
        }
    }

    #[inline(always)]
    pub fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// The `length` low bytes of a number.
    #[inline(always)]
    pub fn low_bytes(&mut self, number: u64, length: u8) {
        self.bytes[self.len..self.len + size_of::<u64>()].copy_from_slice(&number.to_le_bytes());
        self.len += length as usize;
    }

    #[inline(always)]
    pub fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    #[must_use]
    pub fn written(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// What is left to read of a column. Reading past its end gives `None`.
#[derive(Clone, Copy, Debug)]
pub struct Rest<'a>(pub &'a [u8]);

impl<'a> Rest<'a> {
    #[inline(always)]
    pub fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    #[inline(always)]
    pub fn low_bytes(&mut self, length: u8) -> Option<u64> {
        let length = length as usize;
        let number = if let Some(word) = self.0.first_chunk() {
            u64::from_le_bytes(*word) & (u64::MAX >> (64 - 8 * length))
        } else {
            let mut word = [0; size_of::<u64>()];
            word[..length].copy_from_slice(self.0.get(..length)?);
            u64::from_le_bytes(word)
        };
        self.0 = &self.0[length..];
        Some(number)
    }

    /// Bits beyond the 64th are dropped: they are only there in damaged bytes.
    #[inline(always)]
    pub fn varint(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < 0x80 { Some(u64::from(first)) } else { self.long_varint(first) }
    }

    fn long_varint(&mut self, first: u8) -> Option<u64> {
        let mut number = u64::from(first & 0x7f);
        for shift in 1..VARINT as u32 {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << (7 * shift);
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub fn take(&mut self, bytes: usize) -> Option<Rest<'a>> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(Rest(taken))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
