//! The parser of SHOW and DESCRIBE.

use super::{Command, Cursor, Filter, Parsed, Show, TableName, account};
use crate::error::SqlError;

/// What follows SHOW.
pub(super) fn show(c: &mut Cursor) -> Parsed<Command> {
    if let Some(command) = limited(c)? {
        return Ok(command);
    }
    c.eat("EXTENDED");
    let full = c.eat("FULL");
    let what = if c.eat("TABLES") {
        Show::Tables {
            full,
            database: database(c)?,
        }
    } else if c.eat_any(&["COLUMNS", "FIELDS"]).is_some() {
        Show::Columns {
            full,
            table: table(c)?,
        }
    } else if c.eat("PROCESSLIST") {
        Show::ProcessList { full }
    } else if full {
        return Err(c.error());
    } else {
        match named(c)? {
            Some(what) => what,
            None => listed(c)?,
        }
    };
    let filter = filter(c)?;
    Ok(Command::Show(what, filter))
}

/// What follows DESCRIBE: a table and perhaps a column or a pattern of columns.
pub(super) fn describe(c: &mut Cursor) -> Parsed<Command> {
    let table = c.table()?;
    let filter = if c.at_end() {
        Filter::None
    } else {
        Filter::Like(c.name_or_string()?)
    };
    Ok(Command::Show(Show::Columns { full: false, table }, filter))
}

/// Those that end with a LIMIT.
fn limited(c: &mut Cursor) -> Parsed<Option<Command>> {
    for errors in [false, true] {
        let word = if errors { "ERRORS" } else { "WARNINGS" };
        if c.is("COUNT") && c.peek_at(4).kind == crate::lexer::Kind::Word {
            let is_this = c.text(c.peek_at(4)).eq_ignore_ascii_case(word.as_bytes());
            if is_this {
                c.next();
                for symbol in ["(", "*", ")"] {
                    c.expect_symbol(symbol)?;
                }
                c.next();
                return Ok(Some(Command::Show(
                    Show::CountWarnings { errors },
                    Filter::None,
                )));
            }
        }
        if c.eat(word) {
            let (offset, limit) = limit(c)?;
            return Ok(Some(Command::Show(
                Show::Warnings {
                    errors,
                    offset,
                    limit,
                },
                Filter::None,
            )));
        }
    }
    if !c.eat_all(&["BINLOG", "EVENTS"]) {
        return Ok(None);
    }
    let file = if c.eat("IN") { Some(c.string()?) } else { None };
    let position = if c.eat("FROM") { c.unsigned()? } else { 4 };
    let (offset, limit) = limit(c)?;
    let what = Show::BinlogEvents {
        file,
        position,
        offset,
        limit,
    };
    Ok(Some(Command::Show(what, Filter::None)))
}

fn limit(c: &mut Cursor) -> Parsed<(u64, u64)> {
    if !c.eat("LIMIT") {
        return Ok((0, u64::MAX));
    }
    let first = c.unsigned()?;
    if c.eat_symbol(",") {
        return Ok((first, c.unsigned()?));
    }
    let offset = if c.eat("OFFSET") { c.unsigned()? } else { 0 };
    Ok((offset, first))
}

/// Those that name what they show.
fn named(c: &mut Cursor) -> Parsed<Option<Show>> {
    if c.eat("CREATE") {
        return create(c).map(Some);
    }
    if c.eat_any(&["INDEX", "INDEXES", "KEYS"]).is_some() {
        return Ok(Some(Show::Index(table(c)?)));
    }
    if c.eat("GRANTS") {
        let user = if c.eat("FOR") {
            Some(account::user(c)?)
        } else {
            None
        };
        let using = match user.is_some() && c.eat("USING") {
            true => c.list(account::user)?,
            false => Vec::new(),
        };
        return Ok(Some(Show::Grants { of: user, using }));
    }
    if c.eat("ENGINE") {
        let engine = c.name_or_string()?;
        if !engine.eq_ignore_ascii_case("InnoDB") {
            return Err(SqlError::unknown_storage_engine(engine));
        }
        if c.eat("STATUS") {
            return Ok(Some(Show::EngineStatus));
        }
        return Err(SqlError::not_supported("SHOW ENGINE ... LOGS or MUTEX"));
    }
    Ok(None)
}

fn create(c: &mut Cursor) -> Parsed<Show> {
    if c.eat("TABLE") {
        return Ok(Show::CreateTable(c.table()?));
    }
    if c.eat_any(&["DATABASE", "SCHEMA"]).is_some() {
        let if_not_exists = c.eat_all(&["IF", "NOT", "EXISTS"]);
        return Ok(Show::CreateDatabase {
            name: c.database()?,
            if_not_exists,
        });
    }
    if c.eat("USER") {
        return Ok(Show::CreateUser(account::user(c)?));
    }
    if c.eat("VIEW") {
        return Ok(Show::CreateView(c.table()?));
    }
    let words = ["TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"];
    if words.iter().any(|word| c.is(word)) {
        let what = format!("SHOW CREATE {}", String::from_utf8_lossy(c.text(c.peek())));
        return Err(SqlError::not_supported(what.to_ascii_uppercase()));
    }
    Err(c.error())
}

/// Those that list all there is.
fn listed(c: &mut Cursor) -> Parsed<Show> {
    let global = c
        .eat_any(&["GLOBAL", "SESSION", "LOCAL"])
        .map(|which| which == 0);
    if c.eat("VARIABLES") {
        return Ok(Show::Variables {
            global: global.unwrap_or(false),
        });
    }
    if c.eat("STATUS") {
        return Ok(Show::Status {
            global: global.unwrap_or(false),
        });
    }
    if global.is_some() {
        return Err(c.error());
    }
    if c.eat_all(&["TABLE", "STATUS"]) {
        return Ok(Show::TableStatus {
            database: database(c)?,
        });
    }
    if c.eat_all(&["OPEN", "TABLES"]) {
        if c.eat_any(&["FROM", "IN"]).is_some() {
            c.name()?;
        }
        return Ok(Show::Nothing(&[
            "Database",
            "Table",
            "In_use",
            "Name_locked",
        ]));
    }
    if c.eat("TRIGGERS") {
        database(c)?;
        return Ok(Show::Nothing(&TRIGGERS));
    }
    if c.eat("EVENTS") {
        database(c)?;
        return Ok(Show::Nothing(&EVENTS));
    }
    if c.eat_all(&["PROCEDURE", "STATUS"]) || c.eat_all(&["FUNCTION", "STATUS"]) {
        return Ok(Show::Nothing(&ROUTINES));
    }
    let fixed: [(&[&str], Show); 17] = [
        (&["DATABASES"], Show::Databases),
        (&["SCHEMAS"], Show::Databases),
        (&["ENGINES"], Show::Engines),
        (&["STORAGE", "ENGINES"], Show::Engines),
        (&["PLUGINS"], Show::Plugins),
        (&["PRIVILEGES"], Show::Privileges),
        (&["COLLATION"], Show::Collations),
        (&["CHARACTER", "SET"], Show::CharacterSets),
        (&["CHARSET"], Show::CharacterSets),
        (&["BINARY", "LOGS"], Show::BinaryLogs),
        (&["MASTER", "LOGS"], Show::BinaryLogs),
        (&["BINARY", "LOG", "STATUS"], Show::BinaryLogStatus),
        (&["MASTER", "STATUS"], Show::BinaryLogStatus),
        (&["REPLICAS"], Show::Replicas),
        (&["SLAVE", "HOSTS"], Show::Replicas),
        (&["REPLICA", "STATUS"], Show::ReplicaStatus),
        (&["SLAVE", "STATUS"], Show::ReplicaStatus),
    ];
    match fixed.into_iter().find(|(words, _)| c.eat_all(words)) {
        Some((_, what)) => Ok(what),
        None if c.is("PROFILES") || c.is("PROFILE") || c.is("PARSE_TREE") || c.is("RELAYLOG") => {
            Err(SqlError::not_supported(format_args!(
                "SHOW {}",
                String::from_utf8_lossy(c.text(c.peek())).to_ascii_uppercase()
            )))
        }
        None => Err(c.error()),
    }
}

const TRIGGERS: [&str; 11] = [
    "Trigger",
    "Event",
    "Table",
    "Statement",
    "Timing",
    "Created",
    "sql_mode",
    "Definer",
    "character_set_client",
    "collation_connection",
    "Database Collation",
];
const EVENTS: [&str; 15] = [
    "Db",
    "Name",
    "Definer",
    "Time zone",
    "Type",
    "Execute at",
    "Interval value",
    "Interval field",
    "Starts",
    "Ends",
    "Status",
    "Originator",
    "character_set_client",
    "collation_connection",
    "Database Collation",
];
const ROUTINES: [&str; 12] = [
    "Db",
    "Name",
    "Type",
    "Language",
    "Definer",
    "Modified",
    "Created",
    "Security_type",
    "Comment",
    "character_set_client",
    "collation_connection",
    "Database Collation",
];

/// `[FROM | IN database]`
fn database(c: &mut Cursor) -> Parsed<Option<String>> {
    if c.eat_any(&["FROM", "IN"]).is_some() {
        Ok(Some(c.database()?))
    } else {
        Ok(None)
    }
}

/// `FROM table [FROM database]`
fn table(c: &mut Cursor) -> Parsed<TableName> {
    if c.eat_any(&["FROM", "IN"]).is_none() {
        return Err(c.error());
    }
    let mut table = c.table()?;
    if let Some(database) = database(c)? {
        table.database = Some(database);
    }
    Ok(table)
}

fn filter(c: &mut Cursor) -> Parsed<Filter> {
    if c.eat("LIKE") {
        return Ok(Filter::Like(c.string()?));
    }
    if c.eat("WHERE") {
        return Ok(Filter::Where(c.take_rest()));
    }
    Ok(Filter::None)
}
