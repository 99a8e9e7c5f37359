//! Functions on sets of GTIDs.

use super::{Args, Function, bytes, function, volatile};
use crate::{
    error::SqlError,
    expr::{EvalContext, ExprType},
};
use cohort_engine::types::{GtidSet, GtidSetFlaw, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "gtid_subset",
        (2, 2),
        |t| ExprType::bigint(false).nullable_if(t.nullable()),
        |args, context| {
            let sets = both(args, context)?;
            Ok(sets.map_or(Value::Null, |(one, other)| {
                Value::Int(other.contains_all(&one).into())
            }))
        },
    ),
    function(
        "gtid_subtract",
        (2, 2),
        |t| t.string(1 << 28, &[0]).or_null(),
        |args, context| {
            let sets = both(args, context)?;
            Ok(sets.map_or(Value::Null, |(mut one, other)| {
                one.remove_all(&other);
                bytes(one.to_string().into_bytes())
            }))
        },
    ),
    volatile(
        "wait_for_executed_gtid_set",
        (1, 2),
        |_| ExprType::bigint(false).or_null(),
        wait,
    ),
];

/// Reads a set: 1772 if it is none, 1235 for tagged GTIDs.
pub(crate) fn parse(text: &str) -> Result<GtidSet, SqlError> {
    GtidSet::parse(text).map_err(|flaw| match flaw {
        GtidSetFlaw::Malformed => SqlError::malformed_gtid_set(text),
        GtidSetFlaw::Tagged => SqlError::not_supported("tagged GTIDs"),
    })
}

fn set(
    args: &Args<'_>,
    at: usize,
    context: &mut EvalContext<'_>,
) -> Result<Option<GtidSet>, SqlError> {
    let text = args.string(at, context)?;
    let set = text.map(|text| parse(&String::from_utf8_lossy(&text)));
    set.transpose()
}

fn both(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
) -> Result<Option<(GtidSet, GtidSet)>, SqlError> {
    let one = set(args, 0, context)?;
    Ok(one.zip(set(args, 1, context)?))
}

/// WAIT_FOR_EXECUTED_GTID_SET(set, seconds): 0 when all are executed, 1 if that took too long.
/// 0 seconds are for ever.
fn wait(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(set) = set(args, 0, context)? else {
        return Err(SqlError::malformed_gtid_set("NULL"));
    };
    let seconds = match args.len() {
        1 => 0.0,
        _ => args.double(1, context)?.unwrap_or(-1.0),
    };
    if seconds < 0.0 {
        return Err(SqlError::wrong_arguments("WAIT_FOR_EXECUTED_GTID_SET."));
    }
    let seconds = Some(seconds).filter(|seconds| *seconds > 0.0);
    // `as` clips.
    let micros = seconds.map(|seconds| (seconds * 1e6) as u64);
    let executed = context.environment.wait_for_gtids(&set, micros)?;
    context.slept = true;
    Ok(Value::Int((!executed).into()))
}
