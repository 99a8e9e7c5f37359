//! COMPRESS and its counterparts. What COMPRESS makes is, as in MySQL, the length of the text in four
//! bytes, the least significant one first, and a zlib stream; a point follows where that ends with a space,
//! which a CHAR column would lose. Nothing is made of an empty text.

use super::{Args, Function, Typing, bytes, function};
use crate::{
    error::SqlError,
    expr::{EvalContext, ExprType},
};
use cohort_engine::types::Value;
use flate2::{Compression, FlushDecompress, Status, read::ZlibEncoder};
use std::io::Read;

pub(super) const FUNCTIONS: &[Function] = &[
    function("compress", (1, 1), compressed, compress),
    function(
        "uncompress",
        (1, 1),
        |_| ExprType::bytes(LENGTH_MAX).or_null(),
        uncompress,
    ),
    function(
        "uncompressed_length",
        (1, 1),
        |t| ExprType::int(10).nullable_if(t.nullable()),
        uncompressed_length,
    ),
];

/// The longest text that UNCOMPRESS is said to make.
const LENGTH_MAX: u32 = 16_777_216;
/// The bytes of the length.
const HEAD: usize = 4;
/// The bits of it that count.
const LENGTH_BITS: u32 = 0x3FFF_FFFF;

fn compressed(typing: &Typing<'_>) -> ExprType {
    let text = typing.ty(0).with_bytes();
    let bytes = text
        .length
        .saturating_mul(text.collation.charset().max_char_bytes());
    // The most that zlib makes of it, the length, and a point.
    let zlib = bytes.saturating_add((bytes >> 12) + (bytes >> 14) + (bytes >> 25) + 13);
    ExprType::bytes(zlib.saturating_add(5)).or_null()
}

fn compress(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(text) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    if text.is_empty() {
        return Ok(bytes(Vec::new()));
    }
    let mut out = (text.len() as u32).to_le_bytes().to_vec();
    let mut encoder = ZlibEncoder::new(text.as_ref(), Compression::default());
    if encoder.read_to_end(&mut out).is_err() {
        return Err(SqlError::internal("a text in memory cannot be read"));
    }
    if out.ends_with(b" ") {
        out.push(b'.');
    }
    Ok(bytes(out))
}

fn uncompress(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(text) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    if text.is_empty() {
        return Ok(bytes(Vec::new()));
    }
    let Some((length, stream)) = split(&text) else {
        context.warnings.warn(SqlError::zlib_data_error());
        return Ok(Value::Null);
    };
    let max = context.statement.max_allowed_packet;
    if u64::from(length) > max {
        context.warnings.warn(SqlError::too_big_for_uncompress(max));
        return Ok(Value::Null);
    }
    let mut out = Vec::with_capacity(length as usize);
    let mut zlib = flate2::Decompress::new(true);
    let lost = match zlib.decompress_vec(stream, &mut out, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) => return Ok(bytes(out)),
        Ok(_) if zlib.total_in() < stream.len() as u64 => SqlError::zlib_buffer_error(),
        Ok(_) | Err(_) => SqlError::zlib_data_error(),
    };
    context.warnings.warn(lost);
    Ok(Value::Null)
}

fn uncompressed_length(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(text) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    let length = match split(&text) {
        Some((length, _)) => length,
        None => {
            if !text.is_empty() {
                context.warnings.warn(SqlError::zlib_data_error());
            }
            0
        }
    };
    Ok(Value::Int(length.into()))
}

/// The length and the stream; `None` if there is no stream.
fn split(text: &[u8]) -> Option<(u32, &[u8])> {
    let (head, stream) = text.split_first_chunk::<HEAD>()?;
    (!stream.is_empty()).then(|| (u32::from_le_bytes(*head) & LENGTH_BITS, stream))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_head_without_a_stream_is_none() {
        assert_eq!(split(b"\x01\0\0\0"), None);
        assert_eq!(split(b"\x01\0\0\xC0x"), Some((1, &b"x"[..])));
    }
}
