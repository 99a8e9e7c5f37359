//! XA RECOVER: the prepared transactions.

use super::{NUMBER, Shown};
use crate::{catalog::text, error::SqlError, privileges::needed, state::State};
use cohort_engine::{
    txn::PreparedInfo,
    types::{ColumnType, Value},
};

/// The result of XA RECOVER; `convert`: the bytes of the xid in hexadecimal.
pub fn prepared(session: &State, convert: bool) -> Result<Shown, SqlError> {
    if !session.rights.has_any(needed::XA_RECOVER_ADMIN) {
        return Err(SqlError::xa_failed());
    }
    let row = |info: PreparedInfo| {
        let (gtrid, bqual) = (info.xid.gtrid(), info.xid.bqual());
        let data = [gtrid, bqual].concat();
        vec![
            Value::Int(i64::from(info.xid.format)),
            Value::Int(gtrid.len() as i64),
            Value::Int(bqual.len() as i64),
            if convert {
                text(hexadecimal(&data))
            } else {
                Value::Bytes(data)
            },
        ]
    };
    let rows = session.instance.engine.prepared().into_iter().map(row);
    let columns = [
        ("formatID", NUMBER),
        ("gtrid_length", NUMBER),
        ("bqual_length", NUMBER),
        ("data", ColumnType::VarChar(258)),
    ];
    let mut shown = Shown::new(&columns, rows.collect());
    for column in &mut shown.columns {
        column.unsigned = false;
    }
    Ok(shown)
}

/// `0x` and the digits.
fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = "0x".to_owned();
    for byte in bytes {
        text.push_str(&format!("{byte:02X}"));
    }
    text
}
