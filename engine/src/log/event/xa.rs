//! Distributed transactions in the log, as MySQL writes them.
//!
//! A prepared one is `XA START xid`, its row changes, `XA END xid`, and an event of its own:
//!
//! ```text
//! 0  one phase    u8   0: prepared
//! 1  format       u32  of the xid
//! 5  gtrid length u32
//! 9  bqual length u32
//! 13 gtrid, bqual
//! ```
//!
//! What became of it comes later, in a transaction of one statement: `XA COMMIT xid` or
//! `XA ROLLBACK xid`.

use super::{Cursor, begin, finish, kind};
use crate::types::Xid;

/// Appends an XA_PREPARE event.
pub(in crate::log) fn xa_prepare(out: &mut Vec<u8>, xid: &Xid) {
    let start = begin(out, kind::XA_PREPARE, 0);
    out.push(0);
    out.extend_from_slice(&xid.format.to_le_bytes());
    for part in [xid.gtrid(), xid.bqual()] {
        out.extend_from_slice(&(part.len() as u32).to_le_bytes());
    }
    out.extend_from_slice(xid.gtrid());
    out.extend_from_slice(xid.bqual());
    finish(out, start);
}

/// The xid of an XA_PREPARE event, if it is one of the first phase.
pub(in crate::log) fn prepared_xid(body: &[u8]) -> Option<Xid> {
    let mut cursor = Cursor(body);
    let one_phase = cursor.u8()? != 0;
    let mut number = || u32::try_from(cursor.integer(4)?).ok();
    let (format, gtrid, bqual) = (number()?, number()? as usize, number()? as usize);
    let xid = Xid::new(format, cursor.take(gtrid)?, cursor.take(bqual)?)?;
    (!one_phase && cursor.0.is_empty()).then_some(xid)
}

/// What a QUERY event says about a distributed transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) enum XaStatement<'a> {
    Start(&'a [u8]),
    End,
    Commit(&'a [u8]),
    Rollback(&'a [u8]),
}

/// Takes such a statement apart; the xid is in the form that `Xid::parse` reads.
pub(in crate::log) fn xa_statement(text: &[u8]) -> Option<XaStatement<'_>> {
    let rest = text.strip_prefix(b"XA ")?;
    let after = |verb: &[u8]| rest.strip_prefix(verb);
    after(b"START ")
        .map(XaStatement::Start)
        .or_else(|| after(b"END ").map(|_| XaStatement::End))
        .or_else(|| after(b"COMMIT ").map(XaStatement::Commit))
        .or_else(|| after(b"ROLLBACK ").map(XaStatement::Rollback))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::event::{CHECKSUM, HEADER};

    #[test]
    fn the_event_is_read_again_and_others_are_refused() {
        let xid = Xid::new(0xffff_ffff, b"global", &[0; 64]).unwrap();
        let mut out = Vec::new();
        xa_prepare(&mut out, &xid);
        let body = &out[HEADER..out.len() - CHECKSUM];
        assert_eq!(prepared_xid(body), Some(xid));
        for end in 0..body.len() {
            assert_eq!(prepared_xid(&body[..end]), None, "cut at {end}");
        }
        let mut one_phase = body.to_vec();
        one_phase[0] = 1;
        assert_eq!(prepared_xid(&one_phase), None);
        let mut long = body.to_vec();
        long[5..9].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(prepared_xid(&long), None);
    }
}
