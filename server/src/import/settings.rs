//! What every session of an import sets for itself, whatever a server's global variables say: that all
//! rows come, each value is what it is, and nothing is given up early.

use super::servers::{Session, UNKNOWN_VARIABLE};

/// Which servers a setting is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Both,
    /// Both, before anything is read: the answer may be cut off, or take too long.
    BothFirst,
    /// A source may want a privilege for it.
    Target,
}

/// Settings by name. What a server does not have is left out.
const SETTINGS: [(On, &str, &str); 36] = [
    // All that is read comes, and all that is written stays.
    (On::Both, "autocommit", "1"),
    (On::BothFirst, "sql_select_limit", "18446744073709551615"),
    (On::Both, "max_join_size", "18446744073709551615"),
    (On::Both, "sql_big_selects", "1"),
    (On::Both, "sql_safe_updates", "0"),
    (On::Both, "sql_auto_is_null", "0"),
    (On::Both, "completion_type", "'NO_CHAIN'"),
    // Of each two, MariaDB has the second.
    (On::Both, "transaction_isolation", "'REPEATABLE-READ'"),
    (On::Both, "tx_isolation", "'REPEATABLE-READ'"),
    (On::Both, "transaction_read_only", "0"),
    (On::Both, "tx_read_only", "0"),
    // No statement and no pause is too long.
    (On::BothFirst, "max_execution_time", "0"),
    (On::BothFirst, "max_statement_time", "0"),
    (On::Both, "lock_wait_timeout", "3600"),
    (On::Both, "innodb_lock_wait_timeout", "60"),
    // Sessions that wait for a copy to end do nothing for days.
    (On::Both, "wait_timeout", "2000000"),
    (On::Both, "net_read_timeout", "3600"),
    (On::Both, "net_write_timeout", "3600"),
    (On::Both, "idle_transaction_timeout", "0"),
    (On::Both, "idle_readonly_transaction_timeout", "0"),
    (On::Both, "idle_write_transaction_timeout", "0"),
    // Values are what they are: times are UTC, and nothing is refused that the other side has.
    (On::Both, "time_zone", "'+00:00'"),
    (
        On::Both,
        "sql_mode",
        "'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'",
    ),
    (On::Both, "foreign_key_checks", "0"),
    (On::Both, "unique_checks", "0"),
    // Generated columns are computed alike on both sides.
    (On::Both, "lc_time_names", "'en_US'"),
    (On::Both, "default_week_format", "0"),
    (On::Both, "div_precision_increment", "4"),
    (On::Both, "block_encryption_mode", "'aes-128-ecb'"),
    // Definitions are whole, and mean the same.
    (On::Both, "sql_quote_show_create", "1"),
    (
        On::Both,
        "show_gipk_in_create_table_and_information_schema",
        "1",
    ),
    // The sizes of tables as they are now; servers before 8.0 do not keep old ones.
    (On::Both, "information_schema_stats_expiry", "0"),
    (On::Target, "sql_generate_invisible_primary_key", "0"),
    (On::Target, "explicit_defaults_for_timestamp", "1"),
    // What a warning says is read.
    (On::Both, "sql_notes", "1"),
    (On::Target, "max_error_count", "64"),
];

/// Sets them.
///
/// # Errors
/// The server refuses one that it has.
pub fn set(session: &mut Session, is_target: bool) -> Result<(), String> {
    for (_, name, value) in SETTINGS.iter().filter(|(on, ..)| *on == On::BothFirst) {
        match session.attempt(&format!("SET SESSION {name} = {value}"))? {
            Err(error) if error.code != UNKNOWN_VARIABLE => return Err(session.refused(&error)),
            _ => {}
        }
    }
    let wanted = || {
        let all = SETTINGS.iter();
        all.filter(|(on, ..)| is_target || *on != On::Target)
    };
    let names: Vec<_> = wanted().map(|(_, name, _)| format!("'{name}'")).collect();
    let shown = session.query(&format!(
        "SHOW SESSION VARIABLES WHERE Variable_name IN ({})",
        names.join(", ")
    ))?;
    let has = |name: &str| {
        let mut names = shown.iter().filter_map(|row| row.first()?.as_deref());
        names.any(|shown| shown.eq_ignore_ascii_case(name))
    };
    session.execute("SET NAMES utf8mb4")?;
    let parts: Vec<_> = wanted()
        .filter(|(_, name, _)| has(name))
        .map(|(_, name, value)| format!("{name} = {value}"))
        .collect();
    session.execute(&format!("SET SESSION {}", parts.join(", ")))
}
