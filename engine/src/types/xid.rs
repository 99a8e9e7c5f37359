//! Names of distributed transactions, as X/Open's XA gives them.

use std::fmt;

/// The most bytes that each of the two parts of an [`Xid`] has (MAXGTRIDSIZE, MAXBQUALSIZE).
pub const XID_PART_MAX: usize = 64;

/// The name of one branch of a global transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xid {
    /// What kind of names these are: the transaction manager's business.
    pub format: u32,
    gtrid: Box<[u8]>,
    bqual: Box<[u8]>,
}

impl Xid {
    /// `None` if one of the parts is longer than [`XID_PART_MAX`] bytes.
    #[must_use]
    pub fn new(format: u32, gtrid: &[u8], bqual: &[u8]) -> Option<Xid> {
        let fits = gtrid.len() <= XID_PART_MAX && bqual.len() <= XID_PART_MAX;
        fits.then(|| Xid {
            format,
            gtrid: gtrid.into(),
            bqual: bqual.into(),
        })
    }
    /// The global transaction.
    #[must_use]
    pub fn gtrid(&self) -> &[u8] {
        &self.gtrid
    }
    /// The branch of it.
    #[must_use]
    pub fn bqual(&self) -> &[u8] {
        &self.bqual
    }
    /// Reads what `Display` writes.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Xid> {
        let mut parts = text.splitn(3, |byte| *byte == b',');
        let gtrid = unhex(parts.next()?)?;
        let bqual = unhex(parts.next()?)?;
        let format = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
        Xid::new(format, &gtrid, &bqual)
    }
}

/// As MySQL writes it in the binary log: `X'6162',X'',1`.
impl fmt::Display for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.gtrid, &self.bqual] {
            f.write_str("X'")?;
            for byte in part {
                write!(f, "{byte:02x}")?;
            }
            f.write_str("',")?;
        }
        write!(f, "{}", self.format)
    }
}

/// The bytes of `X'…'`.
fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.strip_prefix(b"X'")?.strip_suffix(b"'")?;
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8; 2]| u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok();
    pairs.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for (format, gtrid, bqual) in [
            (1, &b"abc"[..], &b""[..]),
            (0, &[0, 255, b'\''], &[9; 64]),
            (u32::MAX, &[], &[]),
        ] {
            let xid = Xid::new(format, gtrid, bqual).unwrap();
            assert_eq!(Xid::parse(xid.to_string().as_bytes()), Some(xid));
        }
        assert_eq!(
            Xid::new(7, b"ab", b"").unwrap().to_string(),
            "X'6162',X'',7"
        );
    }

    #[test]
    fn other_texts_are_refused() {
        let long = format!("X'{}',X'',1", "61".repeat(65));
        for text in [
            "",
            "X'6',X'',1",
            "X'61',X''",
            "X'61',X'',x",
            "X'6g',X'',1",
            "61,62,1",
            &long,
        ] {
            assert_eq!(Xid::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Xid::new(1, &[0; 65], b""), None);
    }
}
