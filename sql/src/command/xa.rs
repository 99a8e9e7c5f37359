//! XA: transactions whose two phases a transaction manager drives.

use super::{Cursor, Parsed};
use crate::{
    error::SqlError,
    lexer::{self, Kind},
};
use cohort_engine::types::Xid;

/// A statement of XA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Xa {
    /// START or BEGIN.
    Start {
        /// The name.
        xid: Xid,
        /// RESUME.
        resume: bool,
    },
    /// END.
    End(Xid),
    /// PREPARE.
    Prepare(Xid),
    /// COMMIT.
    Commit {
        /// The name.
        xid: Xid,
        /// ONE PHASE.
        one_phase: bool,
    },
    /// ROLLBACK.
    Rollback(Xid),
    /// RECOVER.
    Recover {
        /// CONVERT XID: its bytes in hexadecimal.
        convert: bool,
    },
    /// JOIN or SUSPEND, which MySQL's grammar knows and its server refuses.
    Invalid {
        /// START rather than END.
        start: bool,
    },
}

impl Xa {
    /// The name of its counter, after `Com_`.
    pub(super) fn counter(&self) -> &'static str {
        match self {
            Xa::Start { .. } | Xa::Invalid { start: true } => "xa_start",
            Xa::End(_) | Xa::Invalid { start: false } => "xa_end",
            Xa::Prepare(_) => "xa_prepare",
            Xa::Commit { .. } => "xa_commit",
            Xa::Rollback(_) => "xa_rollback",
            Xa::Recover { .. } => "xa_recover",
        }
    }
}

/// What follows the word XA.
pub(super) fn xa(c: &mut Cursor) -> Parsed<Xa> {
    if c.eat("START") || c.eat("BEGIN") {
        let xid = xid(c)?;
        if c.eat("JOIN") {
            return Ok(Xa::Invalid { start: true });
        }
        let resume = c.eat("RESUME");
        return Ok(Xa::Start { xid, resume });
    }
    if c.eat("END") {
        let xid = xid(c)?;
        if c.eat("SUSPEND") {
            if c.eat("FOR") {
                c.expect("MIGRATE")?;
            }
            return Ok(Xa::Invalid { start: false });
        }
        return Ok(Xa::End(xid));
    }
    if c.eat("PREPARE") {
        return Ok(Xa::Prepare(xid(c)?));
    }
    if c.eat("COMMIT") {
        let xid = xid(c)?;
        let one_phase = c.eat("ONE");
        if one_phase {
            c.expect("PHASE")?;
        }
        return Ok(Xa::Commit { xid, one_phase });
    }
    if c.eat("ROLLBACK") {
        return Ok(Xa::Rollback(xid(c)?));
    }
    c.expect("RECOVER")?;
    let convert = c.eat("CONVERT");
    if convert {
        c.expect("XID")?;
    }
    Ok(Xa::Recover { convert })
}

/// `gtrid [, bqual [, formatID]]`. A format of more than 32 bits, which MySQL cuts in its log, is
/// refused.
fn xid(c: &mut Cursor) -> Parsed<Xid> {
    let gtrid = part(c)?;
    let mut bqual = Vec::new();
    let mut format = 1;
    if c.eat_symbol(",") {
        bqual = part(c)?;
        if c.eat_symbol(",") {
            format = u32::try_from(format_id(c)?).map_err(|_| SqlError::xa_invalid())?;
        }
    }
    Xid::new(format, &gtrid, &bqual).ok_or_else(|| c.error())
}

/// A format is written in decimal or, as drivers do, in hexadecimal digits.
fn format_id(c: &mut Cursor) -> Parsed<u64> {
    let token = c.peek();
    let Some(bytes) = lexer::bits(token.kind, c.text(token)) else {
        return c.unsigned();
    };
    let significant = bytes.iter().skip_while(|byte| **byte == 0);
    if token.kind != Kind::Hex || significant.clone().count() > 8 {
        return Err(c.error());
    }
    c.next();
    Ok(significant.fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn part(c: &mut Cursor) -> Parsed<Vec<u8>> {
    let token = c.peek();
    let bytes = match token.kind {
        Kind::String => {
            c.next();
            return Ok(lexer::string(c.text(token), c.mode()).into_owned());
        }
        Kind::Hex | Kind::Bit => lexer::bits(token.kind, c.text(token)),
        _ => None,
    };
    let bytes = bytes.ok_or_else(|| c.error())?;
    c.next();
    Ok(bytes)
}
