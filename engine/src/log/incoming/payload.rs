//! TRANSACTION_PAYLOAD events: a transaction's events in one, compressed
//! (binlog_transaction_compression).

use super::Flaw;
use crate::log::event::{Cursor, SIZE_MAX};
use ruzstd::decoding::StreamingDecoder;
use std::io::Read;

/// The events in the body of one. They have no checksums of their own.
///
/// # Errors
/// It is none, or its events are more than 1 GiB.
pub fn unpack(body: &[u8]) -> Result<Vec<u8>, Flaw> {
    const ZSTD: u64 = 0;
    const NONE: u64 = 255;
    let flaw = Flaw::Fields("transaction payload");
    let fields = fields(body).ok_or(flaw)?;
    if fields.unpacked_bytes > SIZE_MAX as u64 {
        return Err(Flaw::Size);
    }
    match fields.compression {
        NONE => Ok(fields.payload.to_vec()),
        ZSTD => {
            let decoder = StreamingDecoder::new(fields.payload).map_err(|_| flaw)?;
            let mut events = Vec::new();
            // No more than it says, whatever it says.
            let mut limited = decoder.take(fields.unpacked_bytes.saturating_add(1));
            limited.read_to_end(&mut events).map_err(|_| flaw)?;
            match events.len() as u64 == fields.unpacked_bytes {
                true => Ok(events),
                false => Err(Flaw::Size),
            }
        }
        _ => Err(flaw),
    }
}

struct Fields<'a> {
    payload: &'a [u8],
    compression: u64,
    unpacked_bytes: u64,
}

/// The fields before the payload: each its number, its length and its value, all as
/// length-encoded integers; 0 ends them.
fn fields(body: &[u8]) -> Option<Fields<'_>> {
    let mut cursor = Cursor(body);
    let (mut size, mut compression, mut unpacked_bytes) = (None, 255, None);
    loop {
        let kind = cursor.lenenc()?;
        if kind == 0 {
            break;
        }
        let mut value = Cursor(cursor.lenenc_bytes()?);
        let value = value.lenenc()?;
        match kind {
            1 => size = Some(value),
            2 => compression = value,
            3 => unpacked_bytes = Some(value),
            _ => {}
        }
    }
    let payload = cursor.take(usize::try_from(size?).ok()?)?;
    Some(Fields {
        payload,
        compression,
        unpacked_bytes: unpacked_bytes.unwrap_or(payload.len() as u64),
    })
}
