//! The parser of ALTER TABLE's actions.

use super::{column, key, options};
use crate::{
    command::{Cursor, Parsed},
    data_type::{CharsetSyntax, charset_clause},
    ddl::syntax::{Action, Algorithm, Constraint, Lock, Place, TableOptions},
    error::SqlError,
    lexer::Kind,
};

/// All actions of an ALTER TABLE, to the end of the statement.
pub(super) fn actions(c: &mut Cursor) -> Parsed<Vec<Action>> {
    let mut actions = Vec::new();
    if !c.at_end() {
        c.list(|c| action(c, &mut actions))?;
    }
    Ok(actions)
}

/// What ALGORITHM may be.
pub(in crate::ddl) const ALGORITHMS: [&str; 4] = ["DEFAULT", "INPLACE", "COPY", "INSTANT"];
/// What LOCK may be.
pub(in crate::ddl) const LOCKS: [&str; 4] = ["DEFAULT", "NONE", "SHARED", "EXCLUSIVE"];

/// ALGORITHM or LOCK, if it follows: 1800 or 1801 for what it may not be.
pub(super) fn algorithm_or_lock(c: &mut Cursor) -> Parsed<Option<Action>> {
    let Some(which) = c.eat_any(&["ALGORITHM", "LOCK"]) else {
        return Ok(None);
    };
    c.eat_symbol("=");
    let values = if which == 0 { ALGORITHMS } else { LOCKS };
    let Some(value) = c.eat_any(&values) else {
        let token = c.peek();
        let name = String::from_utf8_lossy(c.text(token)).into_owned();
        return Err(match (token.kind, which) {
            (Kind::Word, 0) => SqlError::unknown_algorithm(name),
            (Kind::Word, _) => SqlError::unknown_lock(name),
            _ => c.error(),
        });
    };
    Ok(Some(match (which, value) {
        (0, 0) => Action::Algorithm(Algorithm::Default),
        (0, 1) => Action::Algorithm(Algorithm::InPlace),
        (0, 2) => Action::Algorithm(Algorithm::Copy),
        (0, _) => Action::Algorithm(Algorithm::Instant),
        (_, 0) => Action::Lock(Lock::Default),
        (_, 1) => Action::Lock(Lock::None),
        (_, 2) => Action::Lock(Lock::Shared),
        (_, _) => Action::Lock(Lock::Exclusive),
    }))
}

/// Those behind CREATE INDEX and DROP INDEX: each once.
pub(super) fn algorithm_and_lock(c: &mut Cursor, actions: &mut Vec<Action>) -> Parsed<()> {
    while let Some(word) = ["ALGORITHM", "LOCK"].iter().find(|word| c.is(word)) {
        let is_it = |action: &Action| match action {
            Action::Algorithm(_) => *word == "ALGORITHM",
            Action::Lock(_) => *word == "LOCK",
            _ => false,
        };
        if actions.iter().any(is_it) {
            return Err(c.error());
        }
        actions.extend(algorithm_or_lock(c)?);
    }
    Ok(())
}

fn action(c: &mut Cursor, actions: &mut Vec<Action>) -> Parsed<()> {
    if let Some(way) = algorithm_or_lock(c)? {
        actions.push(way);
        return Ok(());
    }
    if c.eat_all(&["WITH", "VALIDATION"]) || c.eat_all(&["WITHOUT", "VALIDATION"]) {
        return Ok(());
    }
    let action = if c.eat("ADD") {
        return add(c, actions);
    } else if c.eat("MODIFY") {
        c.eat("COLUMN");
        return change(c, None, actions);
    } else if c.eat("CHANGE") {
        c.eat("COLUMN");
        let old = c.name()?;
        return change(c, Some(old), actions);
    } else if c.eat("DROP") {
        drop(c)?
    } else if c.eat("RENAME") {
        rename(c)?
    } else if c.eat("ALTER") {
        alter_part(c)?
    } else if c.eat_all(&["CONVERT", "TO"]) {
        convert(c)?
    } else if c.eat("FORCE") {
        Action::Rebuild
    } else if c.eat_all(&["ENABLE", "KEYS"]) || c.eat_all(&["DISABLE", "KEYS"]) {
        Action::Keys
    } else if c.is("ORDER") {
        return Err(SqlError::not_supported("ALTER TABLE ... ORDER BY"));
    } else {
        return options_action(c, actions);
    };
    actions.push(action);
    Ok(())
}

/// What follows MODIFY, or CHANGE and the old name.
fn change(c: &mut Cursor, old: Option<String>, actions: &mut Vec<Action>) -> Parsed<()> {
    let (column, constraints) = column::column(c)?;
    let old = old.unwrap_or_else(|| column.name.clone());
    actions.push(Action::ChangeColumn(old, Box::new(column), place(c)?));
    actions.extend(constraints.into_iter().map(added));
    Ok(())
}

fn add(c: &mut Cursor, actions: &mut Vec<Action>) -> Parsed<()> {
    if c.is("PARTITION") {
        return Err(partitions());
    }
    if let Some(constraint) = key::constraint(c)? {
        actions.push(added(constraint));
        return Ok(());
    }
    c.eat("COLUMN");
    if !c.eat_symbol("(") {
        let (column, constraints) = column::column(c)?;
        actions.push(Action::AddColumn(Box::new(column), place(c)?));
        actions.extend(constraints.into_iter().map(added));
        return Ok(());
    }
    c.list(|c| {
        if let Some(constraint) = key::constraint(c)? {
            actions.push(added(constraint));
            return Ok(());
        }
        let (column, constraints) = column::column(c)?;
        actions.push(Action::AddColumn(Box::new(column), Place::Same));
        actions.extend(constraints.into_iter().map(added));
        Ok(())
    })?;
    c.expect_symbol(")")
}

fn added(constraint: Constraint) -> Action {
    match constraint {
        Constraint::Key(key) => Action::AddKey(key),
        Constraint::ForeignKey(key) => Action::AddForeignKey(key),
        Constraint::Check(check) => Action::AddCheck(check),
    }
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

fn drop(c: &mut Cursor) -> Parsed<Action> {
    if c.eat_all(&["PRIMARY", "KEY"]) {
        return Ok(Action::DropKey("PRIMARY".into()));
    }
    if c.eat_any(&["INDEX", "KEY"]).is_some() {
        return Ok(Action::DropKey(c.name()?));
    }
    if c.is("PARTITION") {
        return Err(partitions());
    }
    if c.eat_all(&["FOREIGN", "KEY"]) {
        return Ok(Action::DropForeignKey(c.name()?));
    }
    if c.eat("CHECK") {
        return Ok(Action::DropCheck(c.name()?));
    }
    if c.eat("CONSTRAINT") {
        return Ok(Action::DropConstraint(c.name()?));
    }
    c.eat("COLUMN");
    let name = c.name()?;
    c.eat_any(&["RESTRICT", "CASCADE"]);
    Ok(Action::DropColumn(name))
}

fn rename(c: &mut Cursor) -> Parsed<Action> {
    if c.eat("COLUMN") {
        let old = c.name()?;
        c.expect("TO")?;
        return Ok(Action::RenameColumn(old, c.name()?));
    }
    if c.eat_any(&["INDEX", "KEY"]).is_some() {
        let old = c.name()?;
        c.expect("TO")?;
        return Ok(Action::RenameKey(old, c.name()?));
    }
    if c.eat_any(&["TO", "AS"]).is_none() {
        c.eat_symbol("=");
    }
    c.table().map(Action::RenameTo)
}

fn alter_part(c: &mut Cursor) -> Parsed<Action> {
    if c.eat("INDEX") {
        let name = c.name()?;
        return match c.eat_any(&["VISIBLE", "INVISIBLE"]) {
            Some(which) => Ok(Action::SetVisible(name, which == 0)),
            None => Err(c.error()),
        };
    }
    if let Some(which) = c.eat_any(&["CHECK", "CONSTRAINT"]) {
        let name = c.name()?;
        let Some(enforced) = key::enforcement(c) else {
            return Err(c.error());
        };
        return Ok(Action::Enforce {
            name,
            enforced,
            any: which == 1,
        });
    }
    c.eat("COLUMN");
    let name = c.name()?;
    if c.eat_all(&["SET", "DEFAULT"]) {
        return Ok(Action::SetDefault(name, Some(column::default_value(c)?)));
    }
    if c.eat_all(&["DROP", "DEFAULT"]) {
        return Ok(Action::SetDefault(name, None));
    }
    c.expect("SET")?;
    match c.eat_any(&["VISIBLE", "INVISIBLE"]) {
        Some(which) => Ok(Action::SetColumnVisible(name, which == 0)),
        None => Err(c.error()),
    }
}

fn convert(c: &mut Cursor) -> Parsed<Action> {
    let mut charset = CharsetSyntax::default();
    if !charset_clause(c, &mut charset)? || charset.charset.is_none() {
        return Err(c.error());
    }
    if c.is("COLLATE") {
        charset_clause(c, &mut charset)?;
    }
    Ok(Action::Convert(charset))
}

fn partitions() -> SqlError {
    SqlError::not_supported("partitions")
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
        "ANALYZE",
        "CHECK",
        "OPTIMIZE",
    ];
    if PARTITIONS.iter().any(|word| c.is(word)) {
        return Err(partitions());
    }
    if c.is("DISCARD") || c.is("IMPORT") {
        return Err(SqlError::not_supported("tablespaces"));
    }
    let mut options = TableOptions::default();
    if !options::table_option(c, &mut options)? {
        return Err(c.error());
    }
    // Options need no commas between them; after a comma another action may follow.
    while c.peek().kind == Kind::Word && options::table_option(c, &mut options)? {}
    if options.engine.is_some() {
        actions.push(Action::Rebuild);
    }
    actions.push(Action::Options(options));
    Ok(())
}
