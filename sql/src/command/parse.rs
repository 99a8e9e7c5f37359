//! The parser of commands, except SHOW and those about users.

use super::{
    Assignment, Command, Completion, Cursor, FlushedLog, HistogramChange, Parsed, PrepareSource,
    Purge, SetScope, TableAdmin, account, grant, instance, lock, replication,
    reserved::EXPLAIN_CLAUSES, show, xa,
};
use crate::{
    error::SqlError,
    lexer::{Kind, is_proper},
};
use cohort_engine::txn::Isolation;

/// Parses a statement. `None`: it is not a command but a query, DML or DDL.
pub fn parse(cursor: &mut Cursor) -> Parsed<Option<Command>> {
    let Some(command) = command(cursor)? else {
        return Ok(None);
    };
    cursor.expect_end()?;
    Ok(Some(command))
}

fn command(c: &mut Cursor) -> Parsed<Option<Command>> {
    if c.eat("BEGIN") {
        c.eat("WORK");
        return Ok(Some(Command::Begin {
            read_only: None,
            snapshot: false,
        }));
    }
    if c.eat("COMMIT") {
        return Ok(Some(Command::Commit(completion(c)?)));
    }
    if c.eat("ROLLBACK") {
        return rollback(c).map(Some);
    }
    if c.eat("SET") {
        return set(c).map(Some);
    }
    if let Some(command) = replication::replication(c)? {
        return Ok(Some(command));
    }
    if c.eat("START") {
        return start(c).map(Some);
    }
    if c.eat("SAVEPOINT") {
        return Ok(Some(Command::Savepoint(c.name()?)));
    }
    if c.eat("RELEASE") {
        c.expect("SAVEPOINT")?;
        return Ok(Some(Command::ReleaseSavepoint(c.name()?)));
    }
    if c.eat("USE") {
        return Ok(Some(Command::Use(c.any_name()?)));
    }
    if c.eat("SHOW") {
        return show::show(c).map(Some);
    }
    if c.eat("XA") {
        return xa::xa(c).map(|xa| Some(Command::Xa(xa)));
    }
    if c.eat("DO") {
        return Ok(Some(Command::Do(c.take_rest())));
    }
    match describe(c)? {
        Some(command) => Ok(Some(command)),
        None => administration(c),
    }
}

/// DESCRIBE, DESC and EXPLAIN of a table; of a statement they are the planner's.
fn describe(c: &mut Cursor) -> Parsed<Option<Command>> {
    let is_describe = c.is("DESCRIBE") || c.is("DESC") || c.is("EXPLAIN");
    if !is_describe || !matches!(c.peek_at(1).kind, Kind::Word | Kind::QuotedName) {
        return Ok(None);
    }
    const STATEMENTS: [&str; 13] = [
        "SELECT",
        "INSERT",
        "UPDATE",
        "DELETE",
        "REPLACE",
        "TABLE",
        "WITH",
        "VALUES",
        "ANALYZE",
        "EXTENDED",
        "PARTITIONS",
        "FORMAT",
        "FOR",
    ];
    let next = c.text(c.peek_at(1));
    if STATEMENTS
        .iter()
        .any(|word| next.eq_ignore_ascii_case(word.as_bytes()))
    {
        if let Some(command) = explain_connection(c)? {
            return Ok(Some(command));
        }
        refuse_of_explain(c)?;
        return Ok(None);
    }
    c.next();
    show::describe(c).map(Some)
}

/// EXPLAIN [FORMAT = …] FOR CONNECTION; nothing is taken of anything else.
fn explain_connection(c: &mut Cursor) -> Parsed<Option<Command>> {
    let place = c.place();
    c.next();
    let mut format = None;
    if c.eat("FORMAT") && c.eat_symbol("=") {
        format = Some(c.name_or_string()?);
    }
    if !c.eat_all(&["FOR", "CONNECTION"]) {
        c.go_back(place);
        return Ok(None);
    }
    let id = c.unsigned()?;
    c.expect_end()?;
    Ok(Some(Command::ExplainConnection { format, id }))
}

/// 1235 for the clauses of EXPLAIN that there are not, by their names.
fn refuse_of_explain(c: &Cursor) -> Parsed<()> {
    /// Behind EXPLAIN ANALYZE FORMAT = JSON.
    const PLACES: std::ops::RangeInclusive<usize> = 1..=5;
    for at in PLACES {
        let word = c.text(c.peek_at(at));
        let is = |word: &[u8], name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        if is(word, "FOR") {
            let next = c.text(c.peek_at(at + 1));
            let what = match is(next, "CONNECTION") {
                // Alone it has been taken before.
                true => "EXPLAIN ANALYZE FOR CONNECTION",
                false => "EXPLAIN FOR SCHEMA",
            };
            return Err(SqlError::not_supported(what));
        }
        if is(word, "INTO") {
            return Err(SqlError::not_supported("EXPLAIN INTO"));
        }
        if !EXPLAIN_CLAUSES.iter().any(|clause| is(word, clause)) {
            return Ok(());
        }
    }
    Ok(())
}

fn administration(c: &mut Cursor) -> Parsed<Option<Command>> {
    let command = if c.eat("KILL") {
        let connection = !c.eat("QUERY");
        if connection {
            c.eat("CONNECTION");
        }
        Command::Kill {
            connection,
            id: c.take_rest(),
        }
    } else if c.eat("SHUTDOWN") {
        Command::Shutdown
    } else if c.eat("RESTART") {
        Command::Restart
    } else if c.eat("FLUSH") {
        flush(c)?
    } else if c.eat("PURGE") {
        purge(c)?
    } else if c.eat("PREPARE") {
        prepare(c)?
    } else if c.eat("EXECUTE") {
        let name = c.name()?;
        let parameters = if c.eat("USING") {
            c.list(Cursor::user_variable)?
        } else {
            Vec::new()
        };
        Command::Execute { name, parameters }
    } else if c.eat_all(&["DEALLOCATE", "PREPARE"]) || c.eat_all(&["DROP", "PREPARE"]) {
        Command::Deallocate(c.name()?)
    } else if c.eat("LOCK") {
        lock::lock(c)?
    } else if c.eat_all(&["ALTER", "INSTANCE"]) {
        instance::alter(c)?
    } else if c.eat("UNLOCK") {
        lock::unlock(c)?
    } else if c.eat("CHECKSUM") {
        if !c.eat("TABLES") {
            c.expect("TABLE")?;
        }
        let tables = c.list(Cursor::table)?;
        let quick = c.eat("QUICK");
        if !quick {
            c.eat("EXTENDED");
        }
        Command::ChecksumTables { tables, quick }
    } else if let Some(what) = table_admin(c) {
        let tables = c.list(Cursor::table)?;
        let change = match what {
            TableAdmin::Analyze => histograms(c)?,
            TableAdmin::Check | TableAdmin::Optimize | TableAdmin::Repair => None,
        };
        match change {
            Some(change) => Command::Histograms(tables, change),
            None => {
                admin_options(what, c);
                Command::TableAdmin(what, tables)
            }
        }
    } else if c.eat_all(&["INSTALL", "COMPONENT"]) {
        let components = c.list(Cursor::string)?;
        if c.is("SET") {
            return Err(SqlError::not_supported("INSTALL COMPONENT … SET"));
        }
        Command::Install(components)
    } else if c.eat_all(&["UNINSTALL", "COMPONENT"]) {
        Command::Uninstall(c.list(Cursor::string)?)
    } else if c.eat_all(&["RESET", "PERSIST"]) {
        reset_persist(c)?
    } else if let Some(statement) = account::account(c)? {
        Command::Account(statement)
    } else {
        return refused(c);
    };
    Ok(Some(command))
}

/// Statements of MySQL that are not there at all: 1235 says so instead of a syntax error.
fn refused(c: &mut Cursor) -> Parsed<Option<Command>> {
    const REFUSED: [&str; 15] = [
        "CALL",
        "HANDLER",
        "LOAD",
        "CHANGE",
        "STOP",
        "RESET",
        "INSTALL",
        "UNINSTALL",
        "CACHE",
        "CLONE",
        "HELP",
        "IMPORT",
        "SIGNAL",
        "RESIGNAL",
        "GET",
    ];
    // What loads rows is the planner's.
    if c.are(&["LOAD", "DATA"]) || c.are(&["LOAD", "XML"]) {
        return Ok(None);
    }
    let word = String::from_utf8_lossy(c.text(c.peek())).to_ascii_uppercase();
    if c.peek().kind == Kind::Word && REFUSED.contains(&word.as_str()) {
        c.next();
        // Alone they mean nothing, but for this one.
        return Err(match c.peek().kind {
            Kind::End if word != "RESIGNAL" => c.error(),
            _ => SqlError::not_supported(word),
        });
    }
    Ok(None)
}

/// `[WORK] [AND [NO] CHAIN] [[NO] RELEASE]`
fn completion(c: &mut Cursor) -> Parsed<Completion> {
    c.eat("WORK");
    let mut completion = Completion::default();
    if c.eat("AND") {
        let no = c.eat("NO");
        c.expect("CHAIN")?;
        completion.chain = Some(!no);
    }
    if c.eat_all(&["NO", "RELEASE"]) {
        completion.release = Some(false);
    } else if completion.chain != Some(true) && c.eat("RELEASE") {
        completion.release = Some(true);
    }
    Ok(completion)
}

fn rollback(c: &mut Cursor) -> Parsed<Command> {
    if c.are(&["WORK", "TO"]) {
        c.next();
    }
    if c.eat("TO") {
        c.eat("SAVEPOINT");
        return Ok(Command::RollbackTo(c.name()?));
    }
    Ok(Command::Rollback(completion(c)?))
}

fn start(c: &mut Cursor) -> Parsed<Command> {
    c.expect("TRANSACTION")?;
    let (mut read_only, mut snapshot, mut contradiction) = (None, false, false);
    if !c.at_end() {
        c.list(|c| {
            if c.eat_all(&["WITH", "CONSISTENT", "SNAPSHOT"]) {
                snapshot = true;
                return Ok(());
            }
            let mode = access_mode(c)?;
            contradiction |= read_only.is_some_and(|other| other != mode);
            read_only = Some(mode);
            Ok(())
        })?;
        if contradiction {
            return Err(c.error());
        }
    }
    Ok(Command::Begin {
        read_only,
        snapshot,
    })
}

/// READ ONLY or READ WRITE.
fn access_mode(c: &mut Cursor) -> Parsed<bool> {
    c.expect("READ")?;
    match c.eat_any(&["ONLY", "WRITE"]) {
        Some(which) => Ok(which == 0),
        None => Err(c.error()),
    }
}

fn set(c: &mut Cursor) -> Parsed<Command> {
    if c.eat("PASSWORD") {
        return account::set_password(c).map(Command::Account);
    }
    if c.eat("ROLE") {
        return grant::set_role(c).map(Command::Account);
    }
    if c.eat_all(&["DEFAULT", "ROLE"]) {
        return grant::set_default_role(c).map(Command::Account);
    }
    let scope = whose(c);
    if c.eat("TRANSACTION") {
        if matches!(scope, Some(SetScope::Persist | SetScope::PersistOnly)) {
            return Err(SqlError::cannot_persist_isolation());
        }
        return set_transaction(c, scope.unwrap_or(SetScope::Next));
    }
    // The last such word holds for what follows without one.
    let mut last = scope.unwrap_or(SetScope::Session);
    let mut assignments = vec![assignment(c, scope, last)?];
    while c.eat_symbol(",") {
        let scope = whose(c);
        last = scope.unwrap_or(last);
        assignments.push(assignment(c, scope, last)?);
    }
    Ok(Command::Set(assignments))
}

/// Whose value is set, if it is said.
fn whose(c: &mut Cursor) -> Option<SetScope> {
    const WORDS: [&str; 5] = ["GLOBAL", "PERSIST", "PERSIST_ONLY", "SESSION", "LOCAL"];
    c.eat_any(&WORDS).map(|which| match which {
        0 => SetScope::Global,
        1 => SetScope::Persist,
        2 => SetScope::PersistOnly,
        _ => SetScope::Session,
    })
}

/// RESET PERSIST [[IF EXISTS] name], behind RESET.
fn reset_persist(c: &mut Cursor) -> Parsed<Command> {
    let if_exists = c.eat_all(&["IF", "EXISTS"]);
    let name = match c.peek().kind == Kind::End && !if_exists {
        true => None,
        false => Some(c.any_name()?),
    };
    let name = match name {
        Some(name) if c.eat_symbol(".") => Some(format!("{name}.{}", c.any_name()?)),
        name => name,
    };
    Ok(Command::ResetPersist { name, if_exists })
}

fn set_transaction(c: &mut Cursor, scope: SetScope) -> Parsed<Command> {
    let (mut isolation, mut read_only) = (None, None);
    c.list(|c| {
        if isolation.is_none() && c.eat("ISOLATION") {
            c.expect("LEVEL")?;
            isolation = Some(level(c)?);
        } else if read_only.is_none() {
            read_only = Some(access_mode(c)?);
        } else {
            return Err(c.error());
        }
        Ok(())
    })?;
    Ok(Command::SetTransaction {
        scope,
        isolation,
        read_only,
    })
}

fn level(c: &mut Cursor) -> Parsed<Isolation> {
    if c.eat_all(&["READ", "UNCOMMITTED"]) {
        Ok(Isolation::ReadUncommitted)
    } else if c.eat_all(&["READ", "COMMITTED"]) {
        Ok(Isolation::ReadCommitted)
    } else if c.eat_all(&["REPEATABLE", "READ"]) {
        Ok(Isolation::RepeatableRead)
    } else if c.eat("SERIALIZABLE") {
        Ok(Isolation::Serializable)
    } else {
        Err(c.error())
    }
}

/// One assignment, whose word for the scope, if it has one, is read; `last` is that of the one before.
fn assignment(c: &mut Cursor, scope: Option<SetScope>, last: SetScope) -> Parsed<Assignment> {
    let kind = c.peek().kind;
    if scope.is_none() && kind == Kind::UserVariable {
        let name = c.user_variable()?;
        if !is_proper(&name) {
            return Err(SqlError::illegal_user_variable(name));
        }
        assign_sign(c)?;
        return Ok(Assignment::User {
            name,
            value: c.take_expression(&[])?,
        });
    }
    if scope.is_none() && c.eat("NAMES") {
        return names(c);
    }
    if scope.is_none() && (c.eat_all(&["CHARACTER", "SET"]) || c.eat("CHARSET")) {
        let charset = if c.eat("DEFAULT") {
            None
        } else {
            Some(c.name_or_string()?)
        };
        return Ok(Assignment::CharacterSet(charset));
    }
    let (scope, name) = variable(c, last)?;
    assign_sign(c)?;
    let is_default =
        c.is("DEFAULT") && (c.peek_at(1).kind == Kind::End || c.text(c.peek_at(1)) == b",");
    if is_default {
        c.next();
        return Ok(Assignment::System {
            scope,
            name,
            value: None,
        });
    }
    Ok(Assignment::System {
        scope,
        name,
        value: Some(c.take_expression(&[])?),
    })
}

/// `name`, `@@name`, `@@scope.name`.
fn variable(c: &mut Cursor, scope: SetScope) -> Parsed<(SetScope, String)> {
    if c.peek().kind != Kind::SystemVariable {
        let name = c.any_name()?;
        if c.eat_symbol(".") {
            // Of a component.
            return Ok((scope, format!("{name}.{}", c.any_name()?)));
        }
        return Ok((scope, name));
    }
    let token = c.next();
    let first = crate::lexer::name(c.text(token)).into_owned();
    if !c.eat_symbol(".") {
        return Ok((SetScope::Next, first));
    }
    let scope = match first.to_ascii_uppercase().as_str() {
        "GLOBAL" => SetScope::Global,
        "SESSION" | "LOCAL" => SetScope::Session,
        "PERSIST" => SetScope::Persist,
        "PERSIST_ONLY" => SetScope::PersistOnly,
        _ => return Ok((SetScope::Next, format!("{first}.{}", c.any_name()?))),
    };
    let name = c.any_name()?;
    Ok(match c.eat_symbol(".") {
        true => (scope, format!("{name}.{}", c.any_name()?)),
        false => (scope, name),
    })
}

fn assign_sign(c: &mut Cursor) -> Parsed<()> {
    if c.eat_symbol("=") {
        Ok(())
    } else {
        c.expect_symbol(":=")
    }
}

fn names(c: &mut Cursor) -> Parsed<Assignment> {
    if c.eat("DEFAULT") {
        return Ok(Assignment::Names {
            charset: None,
            collation: None,
        });
    }
    let charset = Some(c.name_or_string()?);
    let collation = if c.eat("COLLATE") {
        Some(c.name_or_string()?)
    } else {
        None
    };
    Ok(Assignment::Names { charset, collation })
}

fn flush(c: &mut Cursor) -> Parsed<Command> {
    let _ = c.eat("NO_WRITE_TO_BINLOG") || c.eat("LOCAL");
    if c.eat_any(&["TABLES", "TABLE"]).is_some() {
        return lock::flush_tables(c);
    }
    let (mut logs, mut status) = (false, false);
    let (mut privileges, mut engine, mut hosts) = (false, false, false);
    let (mut error_log, mut resources) = (false, false);
    let mut query_logs = Vec::new();
    c.list(|c| {
        if c.eat_all(&["BINARY", "LOGS"]) {
            logs = true;
        } else if c.eat("LOGS") {
            logs = true;
            error_log = true;
            query_logs.extend([FlushedLog::Slow, FlushedLog::General, FlushedLog::Audit]);
        } else if c.eat_all(&["SLOW", "LOGS"]) {
            query_logs.push(FlushedLog::Slow);
        } else if c.eat_all(&["GENERAL", "LOGS"]) {
            query_logs.push(FlushedLog::General);
        } else if c.eat_all(&["ERROR", "LOGS"]) {
            error_log = true;
        } else if c.eat("STATUS") {
            status = true;
        } else if c.eat("PRIVILEGES") {
            privileges = true;
        } else if c.eat_all(&["ENGINE", "LOGS"]) {
            engine = true;
        } else if c.eat("HOSTS") {
            hosts = true;
        } else if c.eat("USER_RESOURCES") {
            resources = true;
        } else {
            let others: [&[&str]; 2] = [&["RELAY", "LOGS"], &["OPTIMIZER_COSTS"]];
            if !others.iter().any(|words| c.eat_all(words)) {
                return Err(c.error());
            }
        }
        Ok(())
    })?;
    Ok(Command::Flush {
        logs,
        query_logs,
        error_log,
        engine,
        status,
        privileges,
        hosts,
        resources,
    })
}

fn purge(c: &mut Cursor) -> Parsed<Command> {
    if !c.eat("BINARY") {
        c.expect("MASTER")?;
    }
    c.expect("LOGS")?;
    if c.eat("TO") {
        return Ok(Command::Purge(Purge::To(c.string()?)));
    }
    c.expect("BEFORE")?;
    Ok(Command::Purge(Purge::Before(c.take_rest())))
}

fn prepare(c: &mut Cursor) -> Parsed<Command> {
    let name = c.name()?;
    c.expect("FROM")?;
    let source = if c.is_string() {
        PrepareSource::Text(c.string()?)
    } else {
        PrepareSource::Variable(c.user_variable()?)
    };
    Ok(Command::Prepare { name, source })
}

fn table_admin(c: &mut Cursor) -> Option<TableAdmin> {
    const KINDS: [(&str, TableAdmin); 4] = [
        ("ANALYZE", TableAdmin::Analyze),
        ("CHECK", TableAdmin::Check),
        ("OPTIMIZE", TableAdmin::Optimize),
        ("REPAIR", TableAdmin::Repair),
    ];
    for (word, kind) in KINDS {
        for option in [None, Some("NO_WRITE_TO_BINLOG"), Some("LOCAL")] {
            for table in ["TABLE", "TABLES"] {
                let words: Vec<&str> = [Some(word), option, Some(table)]
                    .into_iter()
                    .flatten()
                    .collect();
                if c.eat_all(&words) {
                    return Some(kind);
                }
            }
        }
    }
    None
}

/// How many buckets a histogram has at most if nobody says.
const HISTOGRAM_BUCKETS: u64 = 100;

/// What ANALYZE TABLE does with histograms.
fn histograms(c: &mut Cursor) -> Parsed<Option<HistogramChange>> {
    if c.eat_all(&["DROP", "HISTOGRAM", "ON"]) {
        let columns = c.list(Cursor::name)?;
        return Ok(Some(HistogramChange::Drop { columns }));
    }
    if !c.eat_all(&["UPDATE", "HISTOGRAM", "ON"]) {
        return Ok(None);
    }
    let columns = c.list(Cursor::name)?;
    if c.eat_all(&["USING", "DATA"]) {
        let document = c.string()?;
        return Ok(Some(HistogramChange::Set { columns, document }));
    }
    let mut buckets = HISTOGRAM_BUCKETS;
    if c.eat("WITH") {
        buckets = c.unsigned()?;
        c.expect("BUCKETS")?;
    }
    let automatic = c.eat_all(&["AUTO", "UPDATE"]);
    if !automatic {
        c.eat_all(&["MANUAL", "UPDATE"]);
    }
    Ok(Some(HistogramChange::Update {
        columns,
        buckets,
        automatic,
    }))
}

/// FOR UPGRADE, QUICK and the like, which change nothing.
fn admin_options(kind: TableAdmin, c: &mut Cursor) {
    let words: &[&str] = match kind {
        TableAdmin::Check => &["QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED"],
        TableAdmin::Repair => &["QUICK", "EXTENDED", "USE_FRM"],
        TableAdmin::Analyze | TableAdmin::Optimize => &[],
    };
    while kind == TableAdmin::Check && c.eat_all(&["FOR", "UPGRADE"]) || c.eat_any(words).is_some()
    {
    }
}
