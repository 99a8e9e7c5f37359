//! What waits for a later time is done now.

use super::{super::model::Micros, connection::Connection, rows::text};
use cohort_engine::types::Value;
use cohort_sql::SqlError;

/// Lets all that an unfinished transaction waits for be done now, but no branch be called before
/// `pause` has gone by since its last call. Only times are written: whoever drives it may know of
/// more than was read; and no time of change, by which clocks that differ are known.
pub(crate) fn hasten(
    connection: &mut dyn Connection,
    gid: &str,
    pause: Micros,
    now: Micros,
) -> Result<(), SqlError> {
    const GLOBAL: &str = "UPDATE global_transactions SET next_run_us = LEAST(next_run_us, ?) \
         WHERE gid = ? AND status NOT IN ('succeed', 'failed')";
    // A branch that waits was last written when its call came to nothing.
    const BRANCHES: &str = "UPDATE branches SET not_before_us = GREATEST(?, LEAST(not_before_us, \
         TIMESTAMPDIFF(MICROSECOND, '1970-01-01', update_time) + ?)) \
         WHERE gid = ? AND not_before_us > ?";
    let at = Value::UInt(now);
    connection.run(GLOBAL, &[at.clone(), text(gid)])?;
    connection.run(BRANCHES, &[at.clone(), Value::UInt(pause), text(gid), at])?;
    Ok(())
}
