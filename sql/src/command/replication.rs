//! Statements of a replica, and BINLOG.

use super::{Command, Cursor, Parsed};
use crate::{
    error::SqlError,
    replication::{FilterEntry, FilterRule, Until, source_file_number},
};
use cohort_engine::types::{GtidSet, GtidSetFlaw};

/// What a replica is told to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replication {
    /// CHANGE REPLICATION SOURCE TO: options in upper case without `SOURCE_`, and their values.
    Change(Vec<(String, String)>),
    /// CHANGE REPLICATION FILTER.
    Filter(Vec<(FilterRule, Vec<FilterEntry>)>),
    /// START REPLICA, and UNTIL.
    Start(Option<Until>),
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
    } else if c.eat_all(&["CHANGE", "REPLICATION", "FILTER"]) {
        Replication::Filter(c.list(filter)?)
    } else if c.are(&["START", "GROUP_REPLICATION"]) || c.are(&["STOP", "GROUP_REPLICATION"]) {
        return Err(SqlError::not_supported("group replication"));
    } else if eat_verb(c, "START") {
        one_thread(c, "START REPLICA")?;
        let until = c.eat("UNTIL").then(|| until(c)).transpose()?;
        Replication::Start(until)
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

/// `REPLICATE_DO_TABLE = (shop.orders, shop.items)`.
fn filter(c: &mut Cursor) -> Parsed<(FilterRule, Vec<FilterEntry>)> {
    let error = c.error();
    let name = c.any_name()?.to_ascii_uppercase();
    let mut rules = FilterRule::ALL.into_iter();
    let rule = rules.find(|rule| rule.name() == name).ok_or(error)?;
    c.expect_symbol("=")?;
    c.expect_symbol("(")?;
    if c.eat_symbol(")") {
        return Ok((rule, Vec::new()));
    }
    let entries = c.list(|c| filter_entry(rule, c))?;
    c.expect_symbol(")")?;
    Ok((rule, entries))
}

fn filter_entry(rule: FilterRule, c: &mut Cursor) -> Parsed<FilterEntry> {
    Ok(match rule {
        FilterRule::DoDb | FilterRule::IgnoreDb => (c.name()?, None),
        FilterRule::DoTable | FilterRule::IgnoreTable => {
            let database = c.name()?;
            c.expect_symbol(".")?;
            (database, Some(c.any_name()?))
        }
        FilterRule::WildDoTable | FilterRule::WildIgnoreTable => {
            let error = c.error();
            let pattern = c.string()?;
            match pattern.contains('.') {
                true => (pattern, None),
                false => return Err(error),
            }
        }
        FilterRule::RewriteDb => {
            c.expect_symbol("(")?;
            let from = c.name()?;
            c.expect_symbol(",")?;
            let to = c.name()?;
            c.expect_symbol(")")?;
            (from, Some(to))
        }
    })
}

/// `SQL_AFTER_GTIDS = '…'`, `SOURCE_LOG_FILE = 'binlog.000007', SOURCE_LOG_POS = 157`.
fn until(c: &mut Cursor) -> Parsed<Until> {
    if c.is("SQL_AFTER_MTS_GAPS") {
        // One thread applies: there are no gaps.
        return Err(SqlError::not_supported("SQL_AFTER_MTS_GAPS"));
    }
    if let Some(which) = c.eat_any(&["SQL_BEFORE_GTIDS", "SQL_AFTER_GTIDS"]) {
        c.expect_symbol("=")?;
        let text = c.string()?;
        let set = GtidSet::parse(&text).map_err(|flaw| match flaw {
            GtidSetFlaw::Malformed => SqlError::malformed_gtid_set(&text),
            GtidSetFlaw::Tagged => SqlError::not_supported("tagged GTIDs"),
        })?;
        return Ok(match which {
            0 => Until::BeforeGtids(set),
            _ => Until::AfterGtids(set),
        });
    }
    let (mut file, mut position) = (None, None);
    for (name, value) in c.list(option)? {
        match name.as_str() {
            "LOG_FILE" => file = Some(value),
            "LOG_POS" => position = value.parse().ok(),
            _ => return Err(SqlError::bad_until()),
        }
    }
    match (file, position) {
        (Some(file), Some(position)) if source_file_number(&file).is_some() => {
            Ok(Until::Position(file, position))
        }
        _ => Err(SqlError::bad_until()),
    }
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
