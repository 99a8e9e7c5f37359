//! Functions on addresses of the Internet, and on UUIDs.

use super::{Args, Function, Typing, bytes, function};
use crate::{
    error::SqlError,
    expr::{EvalContext, ExprType, convert, describe::describe, infer},
};
use cohort_engine::types::{Collation, ColumnType, Value};
use std::net::{Ipv4Addr, Ipv6Addr};

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "inet_aton",
        (1, 1),
        |_| ExprType::bigint(true).or_null(),
        inet_aton,
    ),
    function(
        "inet_ntoa",
        (1, 1),
        |t| t.string(31, &[]).or_null(),
        inet_ntoa,
    ),
    function("inet6_aton", (1, 1), address_type, inet6_aton),
    function("inet6_ntoa", (1, 1), |t| t.string(39, &[]), inet6_ntoa),
    function("is_ipv4", (1, 1), truth_type, |args, context| {
        of_address(args, context, |text| ipv4(text).is_some())
    }),
    function("is_ipv6", (1, 1), truth_type, |args, context| {
        of_address(args, context, |text| ipv6(text).is_some())
    }),
    function("is_ipv4_compat", (1, 1), truth_type, |args, context| {
        of_address(args, context, |address| {
            // ::0.0.0.0 and ::0.0.0.1 are addresses of IPv6 itself.
            ends_in_ipv4(address, [0; 12]).is_some_and(|low| low > 1)
        })
    }),
    function("is_ipv4_mapped", (1, 1), truth_type, |args, context| {
        const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF];
        of_address(args, context, |address| {
            ends_in_ipv4(address, MAPPED).is_some()
        })
    }),
    function("uuid_to_bin", (1, 2), address_type, uuid_to_bin),
    function("bin_to_uuid", (1, 2), |t| t.string(36, &[]), bin_to_uuid),
    function(
        "is_uuid",
        (1, 1),
        |_| ExprType::boolean().or_null(),
        |args, context| of_text(args, context, |text| uuid(text).is_some()),
    ),
];

/// Sixteen bytes.
fn address_type(_: &Typing<'_>) -> ExprType {
    ExprType::bytes(16).or_null()
}

fn truth_type(typing: &Typing<'_>) -> ExprType {
    ExprType::boolean().nullable_if(typing.nullable())
}

/// Whether something holds of an address, which no number is, nor NULL among numbers.
fn of_address(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
    holds: impl FnOnce(&[u8]) -> bool,
) -> Result<Value, SqlError> {
    let is_number = args.args.first().map(infer).is_some_and(|ty| {
        ty.ty.is_some() && (!ty.is_string() && !ty.is_temporal() || ty.ty == Some(ColumnType::Year))
    });
    match is_number {
        true => Ok(Value::Int(0)),
        false => of_text(args, context, holds),
    }
}

/// Whether something holds of a text; NULL of none.
fn of_text(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
    holds: impl FnOnce(&[u8]) -> bool,
) -> Result<Value, SqlError> {
    let text = args.string(0, context)?;
    Ok(text.map_or(Value::Null, |text| Value::Int(holds(&text).into())))
}

fn text(text: &str) -> Value {
    bytes(text.as_bytes().to_vec())
}

/// NULL, with a warning that shows the argument.
fn refuse(args: &Args<'_>, function: &str, kind: &str, context: &mut EvalContext<'_>) -> Value {
    let shown = args.args.first().map(|arg| describe(arg, context.params));
    let shown = shown.unwrap_or_default();
    let error = SqlError::incorrect_value_for_function(kind, shown, function);
    context.warnings.warn(error);
    Value::Null
}

fn inet_aton(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(text) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    let parts: Option<Vec<u64>> = text
        .split(|&byte| byte == b'.')
        .map(|part| {
            std::str::from_utf8(part)
                .ok()?
                .parse()
                .ok()
                .filter(|n| *n < 256)
        })
        .collect();
    // With fewer than four parts the last ones are the lowest: 127.1 is 127.0.0.1.
    match parts.as_deref() {
        Some([only]) => Ok(Value::UInt(*only)),
        Some([head @ .., last]) if head.len() < 4 => {
            let high = head
                .iter()
                .enumerate()
                .fold(0, |n, (i, part)| n | part << (24 - 8 * i));
            Ok(Value::UInt(high | last))
        }
        _ => {
            let shown = format!("'{}'", convert::shown(&text));
            let error = SqlError::incorrect_value_for_function("string", shown, "inet_aton");
            context.warnings.warn(error);
            Ok(Value::Null)
        }
    }
}

fn inet_ntoa(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(number) = args.int(0, context)? else {
        return Ok(Value::Null);
    };
    if let Ok(number) = u32::try_from(number) {
        return Ok(text(&std::net::Ipv4Addr::from(number).to_string()));
    }
    Ok(refuse(args, "inet_ntoa", "integer", context))
}

/// An IPv4 address: four numbers of at most three digits.
fn ipv4(text: &[u8]) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = text.split(|&byte| byte == b'.');
    for octet in &mut octets {
        let part = parts.next().filter(|part| (1..=3).contains(&part.len()))?;
        if !part.iter().all(u8::is_ascii_digit) {
            return None;
        }
        *octet = std::str::from_utf8(part).ok()?.parse().ok()?;
    }
    parts.next().is_none().then(|| octets.into())
}

/// An IPv6 address. Its last four bytes may be written as an IPv4 address is.
fn ipv6(text: &[u8]) -> Option<Ipv6Addr> {
    let mut text = std::str::from_utf8(text).ok()?.to_string();
    if let Some(dot) = text.find('.') {
        let from = text[..dot].rfind(':')? + 1;
        let [a, b, c, d] = ipv4(text.as_bytes().get(from..)?)?.octets();
        text.replace_range(from.., &format!("{a:02x}{b:02x}:{c:02x}{d:02x}"));
    }
    text.parse().ok()
}

fn inet6_aton(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(text) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    if let Some(address) = ipv4(&text) {
        return Ok(bytes(address.octets().to_vec()));
    }
    match ipv6(&text) {
        Some(address) => Ok(bytes(address.octets().to_vec())),
        None => Ok(refuse(args, "inet6_aton", "string", context)),
    }
}

fn inet6_ntoa(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let is_binary = args.args.first().is_some_and(|arg| {
        let ty = infer(arg);
        ty.is_string() && ty.collation == Collation::Binary
    });
    let Some(address) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    if is_binary {
        if let Ok(octets) = <[u8; 4]>::try_from(&*address) {
            return Ok(text(&Ipv4Addr::from(octets).to_string()));
        }
        if let Ok(octets) = <[u8; 16]>::try_from(&*address) {
            return Ok(text(&shown_ipv6(octets.into())));
        }
    }
    Ok(refuse(args, "inet6_ntoa", "string", context))
}

/// An IPv6 address as MySQL writes it: the first longest run of zeros left out, even of one, and
/// what stands for an IPv4 address as that.
fn shown_ipv6(address: Ipv6Addr) -> String {
    let groups = address.segments();
    let (mut gap, mut length) = (0, 0);
    for from in 0..groups.len() {
        let run = groups[from..].iter().take_while(|&&group| group == 0);
        let run = run.count();
        if run > length {
            (gap, length) = (from, run);
        }
    }
    let [.., a, b, c, d] = address.octets();
    let is_ipv4 = gap == 0 && (length == 6 || length == 5 && groups[5] == 0xFFFF);
    let mut shown = String::new();
    for (i, group) in groups.iter().enumerate() {
        if length > 0 && i == gap {
            shown.push_str(if i == 0 { "::" } else { ":" });
        }
        if (gap..gap + length).contains(&i) {
            continue;
        }
        if i == 6 && is_ipv4 {
            return shown + &Ipv4Addr::new(a, b, c, d).to_string();
        }
        shown.push_str(&format!("{group:x}"));
        if i < 7 {
            shown.push(':');
        }
    }
    shown
}

/// The number in the last four of sixteen bytes, if the others are these.
fn ends_in_ipv4(address: &[u8], head: [u8; 12]) -> Option<u32> {
    let low = address.strip_prefix(&head)?;
    Some(u32::from_be_bytes(low.try_into().ok()?))
}

/// A UUID: 32 digits, in groups or not; groups may stand in braces.
fn uuid(text: &[u8]) -> Option<[u8; 16]> {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    let grouped = |text: &[u8]| HYPHENS.iter().all(|&at| text[at] == b'-');
    let digits: Vec<u8> = match text {
        [b'{', inner @ .., b'}'] if inner.len() == 36 && grouped(inner) => without(inner, &HYPHENS),
        text if text.len() == 36 && grouped(text) => without(text, &HYPHENS),
        text if text.len() == 32 => text.to_vec(),
        _ => return None,
    };
    let mut uuid = [0; 16];
    for (byte, pair) in uuid.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |c: u8| char::from(c).to_digit(16).map(|digit| digit as u8);
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(uuid)
}

/// A text without the bytes at these places.
fn without(text: &[u8], places: &[usize]) -> Vec<u8> {
    let kept = text.iter().enumerate().filter(|(i, _)| !places.contains(i));
    kept.map(|(_, &byte)| byte).collect()
}

/// Whether the second argument says that the parts of the time are swapped.
fn swapped(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<bool, SqlError> {
    Ok(args.len() > 1 && args.double(1, context)?.is_some_and(|swap| swap != 0.0))
}

fn uuid_to_bin(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(text) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    let Some(uuid) = uuid(&text) else {
        let shown = convert::shown(&text);
        return Err(SqlError::incorrect_value_for_function(
            "string",
            shown,
            "uuid_to_bin",
        ));
    };
    let [a, b, c, d, e, f, g, h, ..] = uuid;
    let mut out = uuid.to_vec();
    if swapped(args, context)? {
        out[..8].copy_from_slice(&[g, h, e, f, a, b, c, d]);
    }
    Ok(bytes(out))
}

fn bin_to_uuid(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(value) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    let Ok(mut uuid) = <[u8; 16]>::try_from(&*value) else {
        let shown = convert::shown(&value);
        return Err(SqlError::incorrect_value_for_function(
            "string",
            shown,
            "bin_to_uuid",
        ));
    };
    if swapped(args, context)? {
        let [a, b, c, d, e, f, g, h, ..] = uuid;
        uuid[..8].copy_from_slice(&[e, f, g, h, c, d, a, b]);
    }
    let mut shown = String::with_capacity(36);
    for (i, byte) in uuid.iter().enumerate() {
        if [4, 6, 8, 10].contains(&i) {
            shown.push('-');
        }
        shown.push_str(&format!("{byte:02x}"));
    }
    Ok(text(&shown))
}
