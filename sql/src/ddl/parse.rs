//! The parser of schema changes.
//!
//! It is ours, on the lexer, because MySQL's DDL is full of forms that the SQL library takes for
//! something else or does not know (key prefixes, options in any order, several actions in one
//! ALTER), and because a schema change that is misread would destroy data.

use super::{
    column::{collation_clause, column, default_value},
    syntax::{Action, CreateTable, KeyKind, KeySyntax, PartSyntax, Place, Statement, TableOptions},
};
use crate::{
    command::{Cursor, Parsed},
    error::SqlError,
};
use cohort_engine::types::Collation;

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
    const OBJECTS: [&str; 16] = [
        "VIEW",
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
    let skipped: [&[&str]; 2] = [&["OR", "REPLACE"], &["DEFINER"]];
    if skipped.iter().any(|words| c.are(words)) || c.is("ALGORITHM") || c.is("SQL") {
        return SqlError::not_supported(format_args!("{verb} of views and routines"));
    }
    match OBJECTS.iter().find(|word| c.is(word)) {
        Some(word) => SqlError::not_supported(format_args!("{verb} {word}")),
        None => c.error(),
    }
}

fn create(c: &mut Cursor) -> Parsed<Statement> {
    if c.eat_any(&["DATABASE", "SCHEMA"]).is_some() {
        let if_not_exists = c.eat_all(&["IF", "NOT", "EXISTS"]);
        let name = c.name()?;
        return Ok(Statement::CreateDatabase {
            name,
            if_not_exists,
            collation: database_options(c)?,
        });
    }
    if c.is("TEMPORARY") {
        return Err(SqlError::not_supported("CREATE TEMPORARY TABLE"));
    }
    if c.eat("TABLE") {
        return create_table(c).map(|table| Statement::CreateTable(Box::new(table)));
    }
    let kind = match c.eat_any(&["UNIQUE", "FULLTEXT", "SPATIAL"]) {
        Some(0) => KeyKind::Unique,
        Some(_) => return Err(SqlError::not_supported("FULLTEXT and SPATIAL indexes")),
        None => KeyKind::Plain,
    };
    if !c.eat("INDEX") {
        return Err(unsupported(c, "CREATE"));
    }
    let name = c.name()?;
    index_type(c)?;
    c.expect("ON")?;
    let table = c.table()?;
    let key = key_definition(c, kind, Some(name))?;
    alter_options(c)?;
    Ok(Statement::AlterTable {
        table,
        actions: vec![Action::AddKey(key)],
        counter: "create_index",
    })
}

fn drop(c: &mut Cursor) -> Parsed<Statement> {
    if c.eat_any(&["DATABASE", "SCHEMA"]).is_some() {
        let if_exists = c.eat_all(&["IF", "EXISTS"]);
        return Ok(Statement::DropDatabase {
            name: c.name()?,
            if_exists,
        });
    }
    if c.is("TEMPORARY") {
        return Err(SqlError::not_supported("DROP TEMPORARY TABLE"));
    }
    if c.eat_any(&["TABLE", "TABLES"]).is_some() {
        let if_exists = c.eat_all(&["IF", "EXISTS"]);
        let tables = c.list(Cursor::table)?;
        c.eat_any(&["RESTRICT", "CASCADE"]);
        return Ok(Statement::DropTables { tables, if_exists });
    }
    if c.eat("INDEX") {
        let name = c.name()?;
        c.expect("ON")?;
        let table = c.table()?;
        alter_options(c)?;
        let action = if name.eq_ignore_ascii_case("PRIMARY") {
            Action::DropPrimary
        } else {
            Action::DropKey(name)
        };
        return Ok(Statement::AlterTable {
            table,
            actions: vec![action],
            counter: "drop_index",
        });
    }
    Err(unsupported(c, "DROP"))
}

fn database_options(c: &mut Cursor) -> Parsed<Option<Collation>> {
    let mut collation = None;
    while !c.at_end() {
        c.eat("DEFAULT");
        if c.eat("ENCRYPTION") {
            c.eat_symbol("=");
            encryption(c)?;
            continue;
        }
        if c.eat_all(&["READ", "ONLY"]) {
            return Err(SqlError::not_supported("READ ONLY databases"));
        }
        match collation_clause(c)? {
            Some((found, _)) => collation = Some(found),
            None => return Err(c.error()),
        }
    }
    Ok(collation)
}

fn encryption(c: &mut Cursor) -> Parsed<()> {
    match c.string()?.as_str() {
        "N" | "n" => Ok(()),
        _ => Err(SqlError::not_supported("encryption of tables")),
    }
}

fn create_table(c: &mut Cursor) -> Parsed<CreateTable> {
    let if_not_exists = c.eat_all(&["IF", "NOT", "EXISTS"]);
    let mut table = CreateTable {
        name: c.table()?,
        if_not_exists,
        like: None,
        columns: Vec::new(),
        keys: Vec::new(),
        options: TableOptions::default(),
    };
    if c.eat("LIKE") {
        table.like = Some(c.table()?);
        return Ok(table);
    }
    if !c.eat_symbol("(") {
        return Err(if c.is("AS") || c.is("SELECT") || c.is("WITH") {
            SqlError::not_supported("CREATE TABLE ... SELECT")
        } else {
            c.error()
        });
    }
    if c.eat("LIKE") {
        table.like = Some(c.table()?);
        c.expect_symbol(")")?;
        return Ok(table);
    }
    c.list(|c| {
        if let Some(key) = key(c)? {
            table.keys.push(key);
        } else {
            let (column, keys) = column(c)?;
            table.columns.push(column);
            table.keys.extend(keys);
        }
        Ok(())
    })?;
    c.expect_symbol(")")?;
    table.options = table_options(c)?;
    if c.is("PARTITION") {
        return Err(SqlError::not_supported("PARTITION BY"));
    }
    if ["AS", "SELECT", "WITH", "IGNORE", "REPLACE"]
        .iter()
        .any(|word| c.is(word))
    {
        return Err(SqlError::not_supported("CREATE TABLE ... SELECT"));
    }
    Ok(table)
}

/// A key or another constraint of CREATE TABLE or ADD, if one is here.
fn key(c: &mut Cursor) -> Parsed<Option<KeySyntax>> {
    let mut name = None;
    let constraint = c.eat("CONSTRAINT");
    if constraint
        && !["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"]
            .iter()
            .any(|word| c.is(word))
    {
        name = Some(c.name()?);
    }
    if c.eat_all(&["PRIMARY", "KEY"]) {
        index_type(c)?;
        return key_definition(c, KeyKind::Primary, None).map(Some);
    }
    if c.eat("UNIQUE") {
        c.eat_any(&["KEY", "INDEX"]);
        let name = key_name(c)?.or(name);
        index_type(c)?;
        return key_definition(c, KeyKind::Unique, name).map(Some);
    }
    if c.is("FOREIGN") {
        return Err(SqlError::not_supported("FOREIGN KEY"));
    }
    if c.is("CHECK") {
        return Err(SqlError::not_supported("CHECK constraints"));
    }
    if constraint {
        return Err(c.error());
    }
    if c.is("FULLTEXT") || c.is("SPATIAL") {
        return Err(SqlError::not_supported("FULLTEXT and SPATIAL indexes"));
    }
    if c.eat_any(&["KEY", "INDEX"]).is_none() {
        return Ok(None);
    }
    let name = key_name(c)?;
    index_type(c)?;
    key_definition(c, KeyKind::Plain, name).map(Some)
}

fn key_name(c: &mut Cursor) -> Parsed<Option<String>> {
    if c.is_symbol("(") || c.is("USING") || c.is("TYPE") {
        return Ok(None);
    }
    c.name().map(Some)
}

/// `USING BTREE`; HASH becomes BTREE, as in InnoDB.
fn index_type(c: &mut Cursor) -> Parsed<bool> {
    if c.eat("USING") {
        if c.eat_any(&["BTREE", "HASH"]).is_none() {
            return Err(c.error());
        }
        return Ok(true);
    }
    Ok(false)
}

/// `(parts) options`
fn key_definition(c: &mut Cursor, kind: KeyKind, name: Option<String>) -> Parsed<KeySyntax> {
    c.expect_symbol("(")?;
    let parts = c.list(|c| {
        if c.is_symbol("(") {
            return Err(SqlError::not_supported("indexes on expressions"));
        }
        let column = c.name()?;
        let mut prefix = None;
        if c.eat_symbol("(") {
            prefix = Some(c.unsigned()?);
            c.expect_symbol(")")?;
        }
        let desc = c.eat("DESC");
        if !desc {
            c.eat("ASC");
        }
        Ok(PartSyntax {
            column,
            prefix,
            desc,
        })
    })?;
    c.expect_symbol(")")?;
    let mut key = KeySyntax {
        kind,
        name,
        parts,
        comment: String::new(),
        visible: true,
    };
    loop {
        if index_type(c)? || c.eat("VISIBLE") {
        } else if c.eat("INVISIBLE") {
            key.visible = false;
        } else if c.eat("COMMENT") {
            key.comment = c.string()?;
        } else if c.eat("KEY_BLOCK_SIZE") {
            c.eat_symbol("=");
            c.unsigned()?;
        } else {
            return Ok(key);
        }
    }
}

/// Options of a table, with or without commas between them.
fn table_options(c: &mut Cursor) -> Parsed<TableOptions> {
    let mut options = TableOptions::default();
    while !c.at_end() {
        if !table_option(c, &mut options)? {
            break;
        }
        if c.is_symbol(",") {
            c.next();
        }
    }
    Ok(options)
}

/// One option, if one is here.
fn table_option(c: &mut Cursor, options: &mut TableOptions) -> Parsed<bool> {
    const NUMBERS: [&str; 9] = [
        "AVG_ROW_LENGTH",
        "CHECKSUM",
        "DELAY_KEY_WRITE",
        "KEY_BLOCK_SIZE",
        "MAX_ROWS",
        "MIN_ROWS",
        "STATS_SAMPLE_PAGES",
        "AUTOEXTEND_SIZE",
        "TABLE_CHECKSUM",
    ];
    const WORDS: [&str; 5] = [
        "ROW_FORMAT",
        "PACK_KEYS",
        "STATS_AUTO_RECALC",
        "STATS_PERSISTENT",
        "INSERT_METHOD",
    ];
    if c.eat("ENGINE") {
        c.eat_symbol("=");
        options.engine = Some(c.name_or_string()?);
    } else if c.eat("AUTO_INCREMENT") {
        c.eat_symbol("=");
        options.auto_increment = Some(c.unsigned()?);
    } else if c.eat("COMMENT") {
        c.eat_symbol("=");
        options.comment = Some(c.string()?);
    } else if c.eat("ENCRYPTION") {
        c.eat_symbol("=");
        encryption(c)?;
    } else if c.eat_any(&NUMBERS).is_some() || c.eat_any(&WORDS).is_some() {
        c.eat_symbol("=");
        c.next();
    } else if c.is("DATA")
        || c.is("TABLESPACE")
        || c.is("UNION")
        || c.is("COMPRESSION")
        || c.is("CONNECTION")
        || c.are(&["INDEX", "DIRECTORY"])
    {
        let what = String::from_utf8_lossy(c.text(c.peek())).to_ascii_uppercase();
        return Err(SqlError::not_supported(format_args!("table option {what}")));
    } else {
        if c.is("DEFAULT") {
            c.next();
        }
        let Some((collation, utf8mb3)) = collation_clause(c)? else {
            return Ok(false);
        };
        options.collation = Some(collation);
        options.utf8mb3 |= utf8mb3;
    }
    Ok(true)
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
        return Ok(Statement::AlterDatabase {
            name,
            collation: database_options(c)?,
        });
    }
    if !c.eat("TABLE") {
        return Err(unsupported(c, "ALTER"));
    }
    let table = c.table()?;
    let mut actions = Vec::new();
    if !c.at_end() {
        c.list(|c| action(c, &mut actions))?;
    }
    Ok(Statement::AlterTable {
        table,
        actions,
        counter: "alter_table",
    })
}

/// `ALGORITHM` and `LOCK` clauses: a schema change chooses its own way.
fn alter_options(c: &mut Cursor) -> Parsed<bool> {
    let mut any = false;
    while c.eat_any(&["ALGORITHM", "LOCK"]).is_some() {
        c.eat_symbol("=");
        c.any_name()?;
        any = true;
        if c.is_symbol(",") && (c.peek_at(1).kind == crate::lexer::Kind::Word) {
            let next = c.text(c.peek_at(1)).to_ascii_uppercase();
            if next == b"ALGORITHM" || next == b"LOCK" {
                c.next();
            }
        }
    }
    Ok(any)
}

fn action(c: &mut Cursor, actions: &mut Vec<Action>) -> Parsed<()> {
    if alter_options(c)?
        || c.eat_all(&["WITH", "VALIDATION"])
        || c.eat_all(&["WITHOUT", "VALIDATION"])
    {
        actions.push(Action::Nothing);
        return Ok(());
    }
    if c.eat("ADD") {
        return add(c, actions);
    }
    let action = if c.eat("DROP") {
        drop_action(c)?
    } else if c.eat("MODIFY") {
        c.eat("COLUMN");
        let (column, keys) = column(c)?;
        let place = place(c)?;
        actions.push(Action::ChangeColumn(
            column.name.clone(),
            Box::new(column),
            place,
        ));
        actions.extend(keys.into_iter().map(Action::AddKey));
        return Ok(());
    } else if c.eat("CHANGE") {
        c.eat("COLUMN");
        let old = c.name()?;
        let (column, keys) = column(c)?;
        let place = place(c)?;
        actions.push(Action::ChangeColumn(old, Box::new(column), place));
        actions.extend(keys.into_iter().map(Action::AddKey));
        return Ok(());
    } else if c.eat("RENAME") {
        rename(c)?
    } else if c.eat("ALTER") {
        alter_part(c)?
    } else if c.eat_all(&["CONVERT", "TO"]) {
        match collation_clause(c)? {
            Some((first, _)) => {
                Action::Convert(collation_clause(c)?.map_or(first, |(second, _)| second))
            }
            None => return Err(c.error()),
        }
    } else if c.eat("FORCE") {
        Action::Rebuild
    } else if c.eat_all(&["ENABLE", "KEYS"]) || c.eat_all(&["DISABLE", "KEYS"]) {
        Action::Nothing
    } else if c.eat_all(&["ORDER", "BY"]) {
        c.list(|c| {
            c.name()?;
            c.eat_any(&["ASC", "DESC"]);
            Ok(())
        })?;
        Action::Nothing
    } else {
        return options_action(c, actions);
    };
    actions.push(action);
    Ok(())
}

fn options_action(c: &mut Cursor, actions: &mut Vec<Action>) -> Parsed<()> {
    const PARTITIONS: [&str; 10] = [
        "PARTITION",
        "REMOVE",
        "TRUNCATE",
        "REORGANIZE",
        "EXCHANGE",
        "COALESCE",
        "REBUILD",
        "DISCARD",
        "IMPORT",
        "SECONDARY_LOAD",
    ];
    if PARTITIONS.iter().any(|word| c.is(word)) {
        return Err(SqlError::not_supported("partitions and tablespaces"));
    }
    let mut options = TableOptions::default();
    let mut any = false;
    while table_option(c, &mut options)? {
        any = true;
    }
    if !any {
        return Err(c.error());
    }
    if options.engine.is_some() {
        actions.push(Action::Rebuild);
    }
    actions.push(Action::Options(options));
    Ok(())
}

fn add(c: &mut Cursor, actions: &mut Vec<Action>) -> Parsed<()> {
    if c.is("PARTITION") {
        return Err(SqlError::not_supported("partitions and tablespaces"));
    }
    if let Some(key) = key(c)? {
        actions.push(Action::AddKey(key));
        return Ok(());
    }
    c.eat("COLUMN");
    if c.eat_symbol("(") {
        c.list(|c| {
            if let Some(key) = key(c)? {
                actions.push(Action::AddKey(key));
                return Ok(());
            }
            let (column, keys) = column(c)?;
            actions.push(Action::AddColumn(Box::new(column), Place::Same));
            actions.extend(keys.into_iter().map(Action::AddKey));
            Ok(())
        })?;
        return c.expect_symbol(")");
    }
    let (column, keys) = column(c)?;
    let place = place(c)?;
    actions.push(Action::AddColumn(Box::new(column), place));
    actions.extend(keys.into_iter().map(Action::AddKey));
    Ok(())
}

fn drop_action(c: &mut Cursor) -> Parsed<Action> {
    if c.eat_all(&["PRIMARY", "KEY"]) {
        return Ok(Action::DropPrimary);
    }
    if c.eat_any(&["KEY", "INDEX"]).is_some() {
        return Ok(Action::DropKey(c.name()?));
    }
    if c.eat_all(&["FOREIGN", "KEY"]) || c.eat_any(&["CHECK", "CONSTRAINT"]).is_some() {
        let name = c.name()?;
        return Err(SqlError::cannot_drop(name));
    }
    if c.is("PARTITION") {
        return Err(SqlError::not_supported("partitions and tablespaces"));
    }
    c.eat("COLUMN");
    let name = c.name()?;
    c.eat_any(&["RESTRICT", "CASCADE"]);
    Ok(Action::DropColumn(name))
}

fn rename(c: &mut Cursor) -> Parsed<Action> {
    if c.eat("COLUMN") {
        let from = c.name()?;
        c.expect("TO")?;
        return Ok(Action::RenameColumn(from, c.name()?));
    }
    if c.eat_any(&["KEY", "INDEX"]).is_some() {
        let from = c.name()?;
        c.expect("TO")?;
        return Ok(Action::RenameKey(from, c.name()?));
    }
    let _ = c.eat("TO") || c.eat("AS") || c.eat_symbol("=");
    Ok(Action::RenameTo(c.table()?))
}

/// ALTER of a column's default or of an index.
fn alter_part(c: &mut Cursor) -> Parsed<Action> {
    if c.eat("INDEX") {
        let name = c.name()?;
        return match c.eat_any(&["VISIBLE", "INVISIBLE"]) {
            Some(which) => Ok(Action::SetVisible(name, which == 0)),
            None => Err(c.error()),
        };
    }
    if c.is("CHECK") || c.is("CONSTRAINT") {
        return Err(SqlError::not_supported("CHECK constraints"));
    }
    c.eat("COLUMN");
    let name = c.name()?;
    if c.eat_all(&["DROP", "DEFAULT"]) {
        return Ok(Action::SetDefault(
            name,
            cohort_engine::types::schema::DefaultValue::None,
        ));
    }
    c.expect("SET")?;
    c.expect("DEFAULT")?;
    Ok(Action::SetDefault(name, default_value(c)?.0))
}

fn place(c: &mut Cursor) -> Parsed<Place> {
    if c.eat("FIRST") {
        return Ok(Place::First);
    }
    if c.eat("AFTER") {
        return Ok(Place::After(c.name()?));
    }
    Ok(Place::Same)
}
