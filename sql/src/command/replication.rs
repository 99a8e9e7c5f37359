//! Statements of a replica, and BINLOG.

use super::{Command, Cursor, Parsed};
use crate::error::SqlError;

/// What a replica is told to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replication {
    /// CHANGE REPLICATION SOURCE TO: options in upper case without `SOURCE_`, and their values.
    Change(Vec<(String, String)>),
    /// START REPLICA.
    Start,
    /// STOP REPLICA.
    Stop,
    /// RESET REPLICA.
    Reset {
        /// ALL: the source is forgotten, too.
        all: bool,
    },
}

/// What a BINLOG statement has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoded {
    /// Events in base64.
    Text(String),
    /// User variables that have them.
    Variables(Vec<String>),
}

/// The options of CHANGE REPLICATION SOURCE TO that are obeyed, without `SOURCE_`.
const OPTIONS: [&str; 14] = [
    "HOST",
    "PORT",
    "USER",
    "PASSWORD",
    "LOG_FILE",
    "LOG_POS",
    "AUTO_POSITION",
    "CONNECT_RETRY",
    "RETRY_COUNT",
    "DELAY",
    "HEARTBEAT_PERIOD",
    "SSL",
    "SSL_CA",
    "SSL_VERIFY_SERVER_CERT",
];

/// One of these statements, if it is one.
pub(super) fn replication(c: &mut Cursor) -> Parsed<Option<Command>> {
    let what = if c.eat_all(&["CHANGE", "REPLICATION", "SOURCE", "TO"])
        || c.eat_all(&["CHANGE", "MASTER", "TO"])
    {
        Replication::Change(c.list(option)?)
    } else if c.are(&["CHANGE", "REPLICATION", "FILTER"]) {
        return Err(SqlError::not_supported("CHANGE REPLICATION FILTER"));
    } else if c.are(&["START", "GROUP_REPLICATION"]) || c.are(&["STOP", "GROUP_REPLICATION"]) {
        return Err(SqlError::not_supported("group replication"));
    } else if eat_verb(c, "START") {
        one_thread(c, "START REPLICA")?;
        if c.is("UNTIL") {
            return Err(SqlError::not_supported("START REPLICA UNTIL"));
        }
        Replication::Start
    } else if eat_verb(c, "STOP") {
        one_thread(c, "STOP REPLICA")?;
        Replication::Stop
    } else if eat_verb(c, "RESET") {
        Replication::Reset { all: c.eat("ALL") }
    } else if c.eat("BINLOG") {
        let encoded = match c.is_string() {
            true => Encoded::Text(c.string()?),
            false => Encoded::Variables(c.list(Cursor::user_variable)?),
        };
        return Ok(Some(Command::Binlog(encoded)));
    } else {
        return Ok(None);
    };
    if c.eat_all(&["FOR", "CHANNEL"]) {
        let channel = c.string()?;
        if !channel.is_empty() {
            return Err(SqlError::not_supported("more than one replication channel"));
        }
    }
    Ok(Some(Command::Replication(what)))
}

fn eat_verb(c: &mut Cursor, verb: &str) -> bool {
    c.eat_all(&[verb, "REPLICA"]) || c.eat_all(&[verb, "SLAVE"])
}

/// There is one thread, which receives and applies.
fn one_thread(c: &mut Cursor, what: &str) -> Parsed<()> {
    for thread in ["IO_THREAD", "SQL_THREAD", "RELAY_THREAD"] {
        if c.is(thread) {
            return Err(SqlError::not_supported(format_args!("{what} {thread}")));
        }
    }
    Ok(())
}

/// `SOURCE_HOST = 'name'`; MASTER_… is the older name.
fn option(c: &mut Cursor) -> Parsed<(String, String)> {
    let error = c.error();
    let written = c.any_name()?.to_ascii_uppercase();
    let name = written
        .strip_prefix("SOURCE_")
        .or_else(|| written.strip_prefix("MASTER_"));
    let name = match (name, written.as_str()) {
        // Passwords are encrypted with whatever key the source sends: there is nothing to set.
        (None, "GET_SOURCE_PUBLIC_KEY" | "GET_MASTER_PUBLIC_KEY") => "PUBLIC_KEY",
        (Some(name), _) => name,
        (None, _) => return Err(error),
    };
    if name != "PUBLIC_KEY" && !OPTIONS.contains(&name) {
        return Err(SqlError::not_supported(format_args!(
            "{written} in CHANGE REPLICATION SOURCE TO"
        )));
    }
    c.expect_symbol("=")?;
    let value = match c.is_string() {
        true => c.string()?,
        false => {
            let token = c.next();
            String::from_utf8_lossy(c.text(token)).into_owned()
        }
    };
    Ok((name.to_owned(), value))
}
