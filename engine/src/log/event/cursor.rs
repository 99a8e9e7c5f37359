//! Reading fields from bytes that may be anything.

/// The bytes not yet read. Every step says `None` when they do not suffice.
#[derive(Clone, Copy)]
pub(in crate::log) struct Cursor<'a>(pub(in crate::log) &'a [u8]);

impl<'a> Cursor<'a> {
    #[inline]
    pub(in crate::log) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A little-endian integer of up to 8 bytes.
    #[inline]
    pub(in crate::log) fn integer(&mut self, bytes: usize) -> Option<u64> {
        let mut wide = [0; 8];
        wide.get_mut(..bytes)?.copy_from_slice(self.take(bytes)?);
        Some(u64::from_le_bytes(wide))
    }

    pub(in crate::log) fn u8(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(in crate::log) fn u16(&mut self) -> Option<u16> {
        Some(self.integer(2)? as u16)
    }

    pub(in crate::log) fn u64(&mut self) -> Option<u64> {
        self.integer(8)
    }

    /// A length-encoded integer.
    pub(in crate::log) fn lenenc(&mut self) -> Option<u64> {
        match self.u8()? {
            short @ 0..=250 => Some(u64::from(short)),
            0xfc => self.integer(2),
            0xfd => self.integer(3),
            0xfe => self.integer(8),
            _ => None,
        }
    }

    /// Bytes after their length-encoded length.
    pub(in crate::log) fn lenenc_bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.lenenc()?).ok()?;
        self.take(length)
    }
}
