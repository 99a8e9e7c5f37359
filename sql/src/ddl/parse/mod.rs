//! The parser of schema changes.
//!
//! It is ours, on the lexer, because MySQL's DDL is full of forms that the SQL library takes for
//! something else or does not know (options of keys and tables, several actions in one ALTER:
//! see docs/decisions), and because a schema change that is misread would destroy data.

mod alter;
mod column;
mod key;
mod options;
mod view;

use super::syntax::{
    Absent, Action, Constraint, CreateQuery, CreateTable, Duplicates, KeyKind, Statement,
    TableOptions,
};
use crate::{
    command::{Cursor, Parsed},
    error::SqlError,
    lexer::is_proper,
};
pub(super) use alter::{ALGORITHMS, LOCKS};

/// Parses a statement. `None`: it is not a schema change.
pub fn parse(c: &mut Cursor) -> Parsed<Option<Statement>> {
    let statement = if c.eat("CREATE") {
        create(c)?
    } else if c.eat("DROP") {
        drop(c)?
    } else if c.eat("ALTER") {
        alter(c)?
    } else if c.eat("TRUNCATE") {
        c.eat("TABLE");
        Statement::Truncate(c.table()?)
    } else if c.eat("RENAME") {
        if c.eat_any(&["TABLE", "TABLES"]).is_none() {
            return Err(c.error());
        }
        Statement::RenameTables(c.list(|c| {
            let from = c.table()?;
            c.expect("TO")?;
            Ok((from, c.table()?))
        })?)
    } else {
        return Ok(None);
    };
    c.expect_end()?;
    Ok(Some(statement))
}

/// Objects of MySQL that are not there: 1235 names them.
fn unsupported(c: &Cursor, verb: &str) -> SqlError {
    const OBJECTS: [&str; 15] = [
        "TRIGGER",
        "PROCEDURE",
        "FUNCTION",
        "EVENT",
        "ROLE",
        "SERVER",
        "TABLESPACE",
        "LOGFILE",
        "SPATIAL",
        "RESOURCE",
        "UNDO",
        "LIBRARY",
        "INSTANCE",
        "AGGREGATE",
        "MATERIALIZED",
    ];
    if c.are(&["OR", "REPLACE"]) || c.is("DEFINER") {
        return SqlError::not_supported(format_args!("{verb} of routines"));
    }
    match OBJECTS.iter().find(|word| c.is(word)) {
        Some(word) => SqlError::not_supported(format_args!("{verb} {word}")),
        None => c.error(),
    }
}

fn create(c: &mut Cursor) -> Parsed<Statement> {
    if c.eat_any(&["DATABASE", "SCHEMA"]).is_some() {
        let if_not_exists = c.eat_all(&["IF", "NOT", "EXISTS"]);
        let name = c.database()?;
        return Ok(Statement::CreateDatabase {
            name,
            if_not_exists,
            charset: options::database_options(c)?,
        });
    }
    if c.eat("TEMPORARY") {
        c.expect("TABLE")?;
        return create_table(c, true);
    }
    if c.eat("TABLE") {
        return create_table(c, false);
    }
    let kind = match c.eat_any(&["UNIQUE", "FULLTEXT", "SPATIAL"]) {
        Some(0) => KeyKind::Unique,
        Some(1) => KeyKind::FullText,
        Some(_) => return Err(SqlError::not_supported("SPATIAL indexes")),
        None => KeyKind::Plain,
    };
    if !c.eat("INDEX") {
        if kind == KeyKind::Plain
            && let Some(view) = view::view(c, false)?
        {
            return Ok(view);
        }
        return Err(unsupported(c, "CREATE"));
    }
    let name = c.name()?;
    let using = match kind {
        KeyKind::FullText => None,
        _ => key::index_type(c)?,
    };
    c.expect("ON")?;
    let table = c.table()?;
    let mut key = key::definition(c, kind, Some(name))?;
    key.using = key.using.or(using);
    let mut actions = vec![Action::AddKey(key)];
    alter::algorithm_and_lock(c, &mut actions)?;
    Ok(Statement::AlterTable {
        table,
        actions,
        counter: "create_index",
    })
}

fn drop(c: &mut Cursor) -> Parsed<Statement> {
    if c.eat_any(&["DATABASE", "SCHEMA"]).is_some() {
        let if_exists = c.eat_all(&["IF", "EXISTS"]);
        return Ok(Statement::DropDatabase {
            name: c.database()?,
            if_exists,
        });
    }
    let temporary = c.eat("TEMPORARY");
    let is_table = c.eat_any(&["TABLE", "TABLES"]).is_some();
    if temporary && !is_table {
        return Err(c.error());
    }
    if is_table {
        let if_exists = c.eat_all(&["IF", "EXISTS"]);
        let tables = c.list(Cursor::table)?;
        c.eat_any(&["RESTRICT", "CASCADE"]);
        return Ok(Statement::DropTables {
            tables,
            temporary,
            if_exists,
        });
    }
    if c.eat("VIEW") {
        let if_exists = c.eat_all(&["IF", "EXISTS"]);
        let views = c.list(Cursor::table)?;
        c.eat_any(&["RESTRICT", "CASCADE"]);
        return Ok(Statement::DropViews { views, if_exists });
    }
    if c.eat("INDEX") {
        let name = c.name()?;
        c.expect("ON")?;
        let table = c.table()?;
        let mut actions = vec![Action::DropKey(name)];
        alter::algorithm_and_lock(c, &mut actions)?;
        return Ok(Statement::AlterTable {
            table,
            actions,
            counter: "drop_index",
        });
    }
    let word = String::from_utf8_lossy(c.text(c.peek())).to_ascii_uppercase();
    let Some(kind) = Absent::named(&word).filter(|_| c.eat(&word)) else {
        return Err(unsupported(c, "DROP"));
    };
    let if_exists = c.eat_all(&["IF", "EXISTS"]);
    let names = vec![c.routine()?];
    Ok(Statement::DropAbsent {
        kind,
        names,
        if_exists,
    })
}

fn create_table(c: &mut Cursor, temporary: bool) -> Parsed<Statement> {
    let if_not_exists = c.eat_all(&["IF", "NOT", "EXISTS"]);
    let name = c.table()?;
    let before = c.place();
    let parenthesis = c.eat_symbol("(");
    if c.eat("LIKE") {
        let like = c.table()?;
        if parenthesis {
            c.expect_symbol(")")?;
        }
        return Ok(Statement::CreateTableLike {
            name,
            like,
            if_not_exists,
            temporary,
        });
    }
    let mut table = CreateTable {
        name,
        if_not_exists,
        temporary,
        columns: Vec::new(),
        keys: Vec::new(),
        foreign_keys: Vec::new(),
        checks: Vec::new(),
        options: TableOptions::default(),
        query: None,
    };
    if parenthesis && begins_query(c) {
        c.go_back(before);
    } else if parenthesis {
        columns_and_keys(c, &mut table)?;
    }
    while options::table_option(c, &mut table.options)? {
        c.eat_symbol(",");
    }
    if c.is("PARTITION") {
        return Err(SqlError::not_supported("PARTITION BY"));
    }
    table.query = query(c)?;
    if table.query.is_none() && !parenthesis {
        return Err(match c.at_end() {
            true => SqlError::table_without_columns(),
            false => c.error(),
        });
    }
    Ok(Statement::CreateTable(Box::new(table)))
}

/// The columns and keys of a table, up to the parenthesis behind them.
fn columns_and_keys(c: &mut Cursor, table: &mut CreateTable) -> Parsed<()> {
    c.list(|c| {
        let constraints = if let Some(constraint) = key::constraint(c)? {
            vec![constraint]
        } else {
            let (column, constraints) = column::column(c)?;
            table.columns.push(column);
            constraints
        };
        for constraint in constraints {
            match constraint {
                Constraint::Key(key) => table.keys.push(key),
                Constraint::ForeignKey(key) => table.foreign_keys.push(key),
                Constraint::Check(check) => table.checks.push(check),
            }
        }
        Ok(())
    })?;
    c.expect_symbol(")")
}

/// [IGNORE | REPLACE] [AS] and a query, if they are here.
fn query(c: &mut Cursor) -> Parsed<Option<CreateQuery>> {
    let duplicates = match c.eat_any(&["IGNORE", "REPLACE"]) {
        Some(0) => Duplicates::Ignore,
        Some(_) => Duplicates::Replace,
        None => Duplicates::Refuse,
    };
    let announced = c.eat("AS") || duplicates != Duplicates::Refuse;
    if !begins_query(c) {
        return if announced { Err(c.error()) } else { Ok(None) };
    }
    let text = c.take_rest_as_written().into();
    Ok(Some(CreateQuery { duplicates, text }))
}

fn begins_query(c: &Cursor) -> bool {
    let words = ["SELECT", "WITH", "VALUES", "TABLE"];
    c.is_symbol("(") || words.iter().any(|word| c.is(word))
}

fn alter(c: &mut Cursor) -> Parsed<Statement> {
    if c.eat_any(&["DATABASE", "SCHEMA"]).is_some() {
        let options = [
            "CHARACTER",
            "CHARSET",
            "COLLATE",
            "DEFAULT",
            "ENCRYPTION",
            "READ",
        ];
        let name = if options.iter().any(|word| c.is(word)) {
            None
        } else {
            Some(c.name()?)
        };
        if c.at_end() {
            return Err(c.error());
        }
        let charset = options::database_options(c)?;
        return match name {
            Some(name) if !is_proper(&name) => Err(SqlError::wrong_database_name(name)),
            name => Ok(Statement::AlterDatabase { name, charset }),
        };
    }
    if !c.eat("TABLE") {
        if let Some(view) = view::view(c, true)? {
            return Ok(view);
        }
        return Err(unsupported(c, "ALTER"));
    }
    let table = c.table()?;
    Ok(Statement::AlterTable {
        table,
        actions: alter::actions(c)?,
        counter: "alter_table",
    })
}
