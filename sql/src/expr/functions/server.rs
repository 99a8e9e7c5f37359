//! Functions on the server: its files and its threads; BENCHMARK.

use super::{Args, Function, bytes, function, may_make, volatile};
use crate::{
    error::SqlError,
    expr::{EvalContext, ExprType},
};
use cohort_engine::types::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    volatile(
        "benchmark",
        (2, 2),
        |_| ExprType::int(1).or_null(),
        benchmark,
    ),
    volatile(
        "load_file",
        (1, 1),
        |_| ExprType::bytes(16_777_216).or_null(),
        load_file,
    ),
    function(
        "ps_current_thread_id",
        (0, 0),
        |_| ExprType::bigint(true).or_null(),
        |_, context| Ok(thread(context.statement.connection_id, context)),
    ),
    volatile(
        "ps_thread_id",
        (1, 1),
        |_| ExprType::bigint(true).or_null(),
        |args, context| {
            let connection = args.int(0, context)?;
            let connection = connection.and_then(|id| u64::try_from(id).ok());
            Ok(connection.map_or(Value::Null, |id| thread(id, context)))
        },
    ),
];

/// An evaluation counts as the look at so many bytes.
const EACH: usize = 256;

/// Evaluates the second argument as often as the first one says.
fn benchmark(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(count) = args.int(0, context)? else {
        return Ok(Value::Null);
    };
    if count < 0 {
        let wrong = SqlError::incorrect_value_for_function("count", count, "benchmark");
        context.warnings.warn(wrong);
        return Ok(Value::Null);
    }
    for _ in 0..count {
        args.value(1, context)?;
        context.strive(EACH)?;
    }
    Ok(Value::Int(0))
}

/// What a file of the server has; NULL if it is not there or may not be read.
fn load_file(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(name) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    let name = String::from_utf8_lossy(&name);
    let Some(file) = context.environment.load_file(&name) else {
        return Ok(Value::Null);
    };
    Ok(match may_make(file.len() as u64, "load_file", context) {
        true => bytes(file),
        false => Value::Null,
    })
}

/// The number in performance_schema.threads of a connection.
fn thread(connection: u64, context: &EvalContext<'_>) -> Value {
    let thread = context.environment.thread_of(connection);
    thread.map_or(Value::Null, Value::UInt)
}
