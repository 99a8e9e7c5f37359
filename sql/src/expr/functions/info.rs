//! Functions on the session, and those that hash, encode and wait.

use super::{Args, Function, Typing, bytes, function, volatile};
use crate::{
    error::SqlError,
    expr::{
        EvalContext, Expr, ExprType,
        convert::{self, Number},
        infer,
        types::coercibility,
    },
    user_locks::Holder,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use cohort_engine::types::{Collation, Value};
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "version",
        (0, 0),
        |t| system(t, 60),
        |_, context| Ok(text(context.statement.version)),
    ),
    function("database", (0, 0), |t| system(t, 64).or_null(), database),
    function("schema", (0, 0), |t| system(t, 64).or_null(), database),
    function(
        "user",
        (0, 0),
        |t| system(t, 288),
        |_, context| Ok(text(context.statement.user)),
    ),
    function(
        "session_user",
        (0, 0),
        |t| system(t, 288),
        |_, context| Ok(text(context.statement.user)),
    ),
    function(
        "system_user",
        (0, 0),
        |t| system(t, 288),
        |_, context| Ok(text(context.statement.user)),
    ),
    function(
        "current_user",
        (0, 0),
        |t| system(t, 288),
        |_, context| Ok(text(context.statement.current_user)),
    ),
    function(
        "current_role",
        (0, 0),
        |t| system(t, 8192),
        |_, context| Ok(text(context.statement.current_role)),
    ),
    function(
        "connection_id",
        (0, 0),
        |_| ExprType::bigint(true),
        |_, context| Ok(Value::UInt(context.statement.connection_id)),
    ),
    volatile(
        "last_insert_id",
        (0, 1),
        |t| ExprType::bigint(true).nullable_if(t.nullable()),
        last_insert_id,
    ),
    function(
        "row_count",
        (0, 0),
        |_| ExprType::bigint(false),
        |_, context| Ok(Value::Int(context.statement.row_count)),
    ),
    function(
        "found_rows",
        (0, 0),
        |_| ExprType::bigint(false),
        |_, context| Ok(Value::Int(context.statement.found_rows.cast_signed())),
    ),
    function(
        "charset",
        (1, 1),
        |t| system(t, 64).or_null(),
        |args, _| {
            Ok(text(
                string_collation(args).map_or("binary", |collation| collation.charset().name()),
            ))
        },
    ),
    function(
        "collation",
        (1, 1),
        |t| system(t, 64).or_null(),
        |args, _| {
            Ok(text(
                string_collation(args).map_or("binary", Collation::name),
            ))
        },
    ),
    function(
        "coercibility",
        (1, 1),
        |_| ExprType::int(10),
        |args, _| {
            let own = args.args.first().map_or(0, |arg| infer(arg).coercibility);
            let own = match is_unset(args) {
                true => coercibility::IMPLICIT,
                false => own,
            };
            Ok(Value::Int(own.into()))
        },
    ),
    volatile("uuid", (0, 0), |t| system(t, 36), uuid),
    volatile(
        "uuid_short",
        (0, 0),
        |_| ExprType::bigint(true),
        |_, context| Ok(Value::UInt(context.environment.next_short_uuid())),
    ),
    volatile(
        "random_bytes",
        (1, 1),
        |_| ExprType::bytes(1024).or_null(),
        random_bytes,
    ),
    volatile(
        "validate_password_strength",
        (1, 1),
        |t| ExprType::int(10).nullable_if(t.nullable()),
        |args, context| {
            let Some(password) = args.string(0, context)? else {
                return Ok(Value::Null);
            };
            let password = String::from_utf8_lossy(&password);
            Ok(Value::Int(context.environment.password_strength(&password)))
        },
    ),
    volatile("sleep", (1, 1), |_| ExprType::int(21), sleep),
    volatile(
        "get_lock",
        (2, 2),
        |_| ExprType::int(21).or_null(),
        get_lock,
    ),
    volatile(
        "release_lock",
        (1, 1),
        |_| ExprType::int(21).or_null(),
        release_lock,
    ),
    volatile(
        "is_free_lock",
        (1, 1),
        |_| ExprType::int(21).or_null(),
        is_free_lock,
    ),
    volatile(
        "is_used_lock",
        (1, 1),
        |_| ExprType::bigint(true).or_null(),
        is_used_lock,
    ),
    volatile(
        "release_all_locks",
        (0, 0),
        |_| ExprType::bigint(true),
        release_all_locks,
    ),
    function("md5", (1, 1), |t| t.string(32, &[]), digest::<Md5>),
    function("sha1", (1, 1), |t| t.string(40, &[]), digest::<Sha1>),
    function("sha", (1, 1), |t| t.string(40, &[]), digest::<Sha1>),
    function("sha2", (2, 2), |t| t.string(128, &[]).or_null(), sha2_),
    function(
        "to_base64",
        (1, 1),
        |t| t.string(base64_length(&t.ty(0)), &[]),
        to_base64,
    ),
    function(
        "from_base64",
        (1, 1),
        |t| ExprType::string(t.ty(0).length, Collation::Binary, coercibility::LITERAL).or_null(),
        from_base64,
    ),
];

/// A text that the system knows, of so many characters.
fn system(_: &Typing<'_>, length: u32) -> ExprType {
    ExprType::string(length, Collation::Utf8mb3GeneralCi, coercibility::SYSTEM)
}

fn text(text: &str) -> Value {
    bytes(text.as_bytes().to_vec())
}

fn database(_: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    Ok(context.statement.database.map_or(Value::Null, text))
}

/// The collation of the argument; `None` for numbers and dates, whose charset is binary.
/// Whether it is a user variable that was never set.
fn is_unset(args: &Args<'_>) -> bool {
    let ignorable = |ty: &ExprType| ty.coercibility == coercibility::IGNORABLE;
    matches!(args.args.first(), Some(Expr::UserVariable { ty, .. }) if ignorable(ty))
}

fn string_collation(args: &Args<'_>) -> Option<Collation> {
    args.args
        .first()
        .map(infer)
        .map(|ty| if ty.is_json() { ty.with_bytes() } else { ty })
        // One that was never set is a text beside others only.
        .filter(|_| !is_unset(args))
        .filter(|ty| ty.is_string() || ty.ty.is_none())
        .map(|ty| ty.collation)
}

fn last_insert_id(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    if args.len() == 0 {
        let before = context.statement.last_insert_id;
        let id = context.environment.last_insert_id().unwrap_or(before);
        return Ok(Value::UInt(id));
    }
    let value = args.whole(0, context)?;
    let id = match convert::integer(&value, context) {
        Some(Number::Int(n)) => n.cast_unsigned(),
        Some(Number::UInt(n)) => n,
        _ => {
            context.environment.set_last_insert_id(0);
            return Ok(Value::Null);
        }
    };
    context.environment.set_last_insert_id(id);
    Ok(Value::UInt(id))
}

/// A UUID of version 1: the time in units of 100 ns since 1582, and random bits for the node
/// (with the multicast bit, which marks it as no hardware address).
fn uuid(_: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    const GREGORIAN_OFFSET: u64 = 0x01B2_1DD2_1381_4000;
    let micros = context.environment.clock_micros().cast_unsigned();
    let random = context.environment.random();
    let time = micros
        .wrapping_mul(10)
        .wrapping_add(random >> 61)
        .wrapping_add(GREGORIAN_OFFSET);
    let node = (random & 0xFFFF_FFFF_FFFF) | 1 << 40;
    let sequence = (random >> 48) & 0x3FFF | 0x8000;
    Ok(text(&format!(
        "{:08x}-{:04x}-{:04x}-{sequence:04x}-{node:012x}",
        time & 0xFFFF_FFFF,
        time >> 32 & 0xFFFF,
        time >> 48 & 0x0FFF | 0x1000,
    )))
}

fn random_bytes(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    const BYTES_MAX: i64 = 1024;
    let Some(count) = args.int(0, context)? else {
        return Ok(Value::Null);
    };
    let count = usize::try_from(count)
        .ok()
        .filter(|_| (1..=BYTES_MAX).contains(&count));
    let count = count.ok_or_else(|| SqlError::value_out_of_range("length", "random_bytes"))?;
    let mut random = vec![0; count];
    match context.environment.secret(&mut random) {
        true => Ok(bytes(random)),
        false => Err(SqlError::not_supported("RANDOM_BYTES() here")),
    }
}

fn sleep(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let seconds = args.double(0, context)?;
    let Some(seconds) = seconds.filter(|seconds| *seconds >= 0.0) else {
        return Err(SqlError::wrong_arguments("sleep."));
    };
    // `as` clips.
    let killed = context.environment.sleep((seconds * 1e6) as u64);
    context.slept = true;
    Ok(Value::Int(killed.into()))
}

/// The name of a lock: 3057 for none, 4163 if it is too long.
fn lock_name(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<String, SqlError> {
    const CHARACTERS_MAX: usize = 64;
    let Some(name) = args.string(0, context)? else {
        return Err(SqlError::wrong_user_lock_name("NULL"));
    };
    let name = String::from_utf8_lossy(&name).into_owned();
    if name.is_empty() {
        return Err(SqlError::wrong_user_lock_name(name));
    }
    if name.chars().count() > CHARACTERS_MAX {
        return Err(SqlError::user_lock_name_too_long(name));
    }
    Ok(name)
}

fn locks<'a>(context: &'a EvalContext<'_>, what: &str) -> Result<Holder<'a>, SqlError> {
    let locks = context.environment.user_locks();
    locks.ok_or_else(|| SqlError::not_supported(what))
}

fn get_lock(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let name = lock_name(args, context)?;
    // A negative time is for ever, NULL is none.
    let seconds = u64::try_from(args.int(1, context)?.unwrap_or(0)).ok();
    let got = locks(context, "GET_LOCK")?.get(&name, seconds)?;
    Ok(Value::Int(got.into()))
}

fn release_lock(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let name = lock_name(args, context)?;
    let released = locks(context, "RELEASE_LOCK")?.release(&name);
    Ok(released.map_or(Value::Null, |released| Value::Int(released.into())))
}

fn is_free_lock(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let name = lock_name(args, context)?;
    let holder = locks(context, "IS_FREE_LOCK")?.locks.holder(&name);
    Ok(Value::Int(holder.is_none().into()))
}

fn is_used_lock(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let name = lock_name(args, context)?;
    let holder = locks(context, "IS_USED_LOCK")?.locks.holder(&name);
    Ok(holder.map_or(Value::Null, Value::UInt))
}

fn release_all_locks(_: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let released = locks(context, "RELEASE_ALL_LOCKS")?.release_all();
    Ok(Value::UInt(released))
}

fn hex_text(bytes: &[u8]) -> Value {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push_str(&format!("{byte:02x}"));
    }
    text(&out)
}

fn digest<D: Digest>(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    Ok(args
        .string(0, context)?
        .map_or(Value::Null, |text| hex_text(&D::digest(&text))))
}

fn sha2_(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    match args.int(1, context)? {
        Some(0 | 256) => digest::<Sha256>(args, context),
        Some(224) => digest::<Sha224>(args, context),
        Some(384) => digest::<Sha384>(args, context),
        Some(512) => digest::<Sha512>(args, context),
        None => Ok(Value::Null),
        Some(_) => {
            context
                .warnings
                .warn(SqlError::wrong_native_arguments("sha2"));
            Ok(Value::Null)
        }
    }
}

/// Lines of 76 characters, as MySQL breaks them.
/// Four characters for three bytes, and a line end behind each 76 of them.
fn base64_length(ty: &ExprType) -> u32 {
    let bytes = ty.length.saturating_mul(ty.collation.max_char_bytes());
    let length = bytes.div_ceil(3).saturating_mul(4);
    length.saturating_add(length / 76)
}

fn to_base64(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    Ok(args.string(0, context)?.map_or(Value::Null, |text| {
        let encoded = STANDARD.encode(&*text).into_bytes();
        bytes(encoded.chunks(76).collect::<Vec<_>>().join(&b'\n'))
    }))
}

fn from_base64(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(text) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    let packed: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    Ok(STANDARD.decode(packed).map_or(Value::Null, bytes))
}
