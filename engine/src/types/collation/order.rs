//! How characters are ordered: by bytes, by code points, by a table, or by Unicode's algorithm.

use super::{names::LazyTable, uca::Uca, weights::next_char};

/// The order of a collation.
#[derive(Clone, Copy)]
pub enum Order {
    /// Byte by byte.
    Bytes,
    /// By code point.
    CodePoints,
    /// Each character has one weight, which the table knows.
    Table(&'static LazyTable),
    /// Thai: by bytes, some of which change places.
    Thai,
    /// Unicode's algorithm, with so many levels.
    Uca(&'static Uca, usize),
}

/// Compares by one weight for each character, the shorter string padded with spaces.
pub fn compare_padded(a: &[u8], b: &[u8], weight: impl Fn(u32) -> u32) -> std::cmp::Ordering {
    const SPACE: u32 = 0x20;
    let (mut a, mut b) = (a, b);
    loop {
        let (x, y) = match (next_char(a), next_char(b)) {
            (None, None) => return std::cmp::Ordering::Equal,
            (x, y) => (x.unwrap_or((SPACE, 0)), y.unwrap_or((SPACE, 0))),
        };
        if x.0 != y.0 {
            let order = weight(x.0).cmp(&weight(y.0));
            if order.is_ne() {
                return order;
            }
        }
        a = &a[x.1..];
        b = &b[y.1..];
    }
}
