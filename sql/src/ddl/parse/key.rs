//! The parser of keys.

use crate::{
    command::{Cursor, Parsed},
    ddl::syntax::{
        CheckSyntax, Constraint, ForeignKeySyntax, IndexType, KeyKind, KeySyntax, PartSyntax,
    },
    error::SqlError,
    lexer::is_proper,
};
use cohort_engine::types::ReferentialAction;

/// A key or another constraint of CREATE TABLE or ADD, if one is here.
pub(super) fn constraint(c: &mut Cursor) -> Parsed<Option<Constraint>> {
    let mut name = None;
    let constraint = c.eat("CONSTRAINT");
    let kinds = ["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"];
    if constraint && !kinds.iter().any(|word| c.is(word)) {
        name = Some(c.name()?);
    }
    if c.eat_all(&["PRIMARY", "KEY"]) {
        // MySQL takes a name here, too, and forgets it.
        key_name(c)?;
        return typed(c, KeyKind::Primary, None).map(some_key);
    }
    if c.eat("UNIQUE") {
        c.eat_any(&["KEY", "INDEX"]);
        let name = key_name(c)?.or(name);
        return typed(c, KeyKind::Unique, name).map(some_key);
    }
    if c.eat_all(&["FOREIGN", "KEY"]) {
        return foreign_key(c, name).map(|key| Some(Constraint::ForeignKey(key)));
    }
    if c.eat("CHECK") {
        return check(c, name, None).map(|check| Some(Constraint::Check(check)));
    }
    if constraint {
        return Err(c.error());
    }
    if c.eat("FULLTEXT") {
        c.eat_any(&["KEY", "INDEX"]);
        let name = match c.is_symbol("(") {
            true => None,
            false => Some(c.name()?),
        };
        return definition(c, KeyKind::FullText, name).map(some_key);
    }
    if c.is("SPATIAL") {
        return Err(SqlError::not_supported("SPATIAL indexes"));
    }
    if c.eat_any(&["KEY", "INDEX"]).is_none() {
        return Ok(None);
    }
    let name = key_name(c)?;
    typed(c, KeyKind::Plain, name).map(some_key)
}

fn some_key(key: KeySyntax) -> Option<Constraint> {
    Some(Constraint::Key(key))
}

/// `(condition) [[NOT] ENFORCED]`, behind CHECK.
pub(super) fn check(
    c: &mut Cursor,
    name: Option<String>,
    column: Option<&str>,
) -> Parsed<CheckSyntax> {
    c.expect_symbol("(")?;
    let condition = c.take_expression(&[])?;
    c.expect_symbol(")")?;
    Ok(CheckSyntax {
        name,
        condition,
        enforced: enforcement(c).unwrap_or(true),
        column: column.map(str::to_string),
    })
}

/// ENFORCED or NOT ENFORCED, if it is here.
pub(super) fn enforcement(c: &mut Cursor) -> Option<bool> {
    if c.eat_all(&["NOT", "ENFORCED"]) {
        return Some(false);
    }
    c.eat("ENFORCED").then_some(true)
}

/// `[index] (columns) REFERENCES …`
fn foreign_key(c: &mut Cursor, name: Option<String>) -> Parsed<ForeignKeySyntax> {
    let index_name = key_name(c)?;
    c.expect_symbol("(")?;
    let columns = c.list(Cursor::name)?;
    c.expect_symbol(")")?;
    if !c.is("REFERENCES") {
        return Err(c.error());
    }
    let mut key = references(c, columns)?;
    key.name = name;
    key.index_name = index_name;
    Ok(key)
}

/// `REFERENCES parent [(columns)] [MATCH …] [ON DELETE …] [ON UPDATE …]`, here at its first word.
pub(super) fn references(c: &mut Cursor, columns: Vec<String>) -> Parsed<ForeignKeySyntax> {
    c.expect("REFERENCES")?;
    let parent = c.table()?;
    let mut parent_columns = Vec::new();
    if c.eat_symbol("(") {
        parent_columns = c.list(Cursor::name)?;
        if let Some(wrong) = parent_columns.iter().find(|name| !is_proper(name)) {
            return Err(SqlError::wrong_column_name(wrong));
        }
        c.expect_symbol(")")?;
    }
    // Whatever is said, a NULL in one column is enough: MySQL, too, takes these words only.
    if c.eat("MATCH") && c.eat_any(&["FULL", "PARTIAL", "SIMPLE"]).is_none() {
        return Err(c.error());
    }
    let (mut on_delete, mut on_update) = (None, None);
    while c.is("ON") {
        let of = if c.are(&["ON", "DELETE"]) {
            &mut on_delete
        } else if c.are(&["ON", "UPDATE"]) {
            &mut on_update
        } else {
            break;
        };
        c.eat("ON");
        if of.is_some() {
            return Err(c.error());
        }
        c.eat_any(&["DELETE", "UPDATE"]);
        *of = Some(action(c)?);
    }
    Ok(ForeignKeySyntax {
        name: None,
        index_name: None,
        columns,
        parent,
        parent_columns,
        on_delete: on_delete.unwrap_or_default(),
        on_update: on_update.unwrap_or_default(),
    })
}

fn action(c: &mut Cursor) -> Parsed<ReferentialAction> {
    if c.eat_all(&["NO", "ACTION"]) {
        return Ok(ReferentialAction::NoAction);
    }
    if c.eat_all(&["SET", "NULL"]) {
        return Ok(ReferentialAction::SetNull);
    }
    if c.eat_all(&["SET", "DEFAULT"]) {
        return Ok(ReferentialAction::SetDefault);
    }
    match c.eat_any(&["RESTRICT", "CASCADE"]) {
        Some(0) => Ok(ReferentialAction::Restrict),
        Some(_) => Ok(ReferentialAction::Cascade),
        None => Err(c.error()),
    }
}

fn key_name(c: &mut Cursor) -> Parsed<Option<String>> {
    if c.is_symbol("(") || c.is("USING") || c.are(&["TYPE", "BTREE"]) {
        return Ok(None);
    }
    c.name().map(Some)
}

fn typed(c: &mut Cursor, kind: KeyKind, name: Option<String>) -> Parsed<KeySyntax> {
    let using = index_type(c)?;
    let mut key = definition(c, kind, name)?;
    key.using = key.using.or(using);
    Ok(key)
}

/// `USING BTREE` or `USING HASH`, if it is here.
pub(super) fn index_type(c: &mut Cursor) -> Parsed<Option<IndexType>> {
    if !(c.eat("USING") || c.are(&["TYPE", "BTREE"]) && c.eat("TYPE")) {
        return Ok(None);
    }
    match c.eat_any(&["BTREE", "HASH"]) {
        Some(0) => Ok(Some(IndexType::Btree)),
        Some(_) => Ok(Some(IndexType::Hash)),
        None => Err(c.error()),
    }
}

/// `(parts) options`
pub(super) fn definition(c: &mut Cursor, kind: KeyKind, name: Option<String>) -> Parsed<KeySyntax> {
    c.expect_symbol("(")?;
    let parts = c.list(part)?;
    c.expect_symbol(")")?;
    let mut key = KeySyntax {
        kind,
        name,
        parts,
        comment: String::new(),
        visible: true,
        using: None,
        parser: None,
        generated: false,
    };
    loop {
        if kind == KeyKind::FullText && c.eat_all(&["WITH", "PARSER"]) {
            key.parser = Some(c.name()?);
        } else if kind != KeyKind::FullText
            && let Some(using) = index_type(c)?
        {
            key.using = Some(using);
        } else if c.eat("VISIBLE") {
            key.visible = true;
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

fn part(c: &mut Cursor) -> Parsed<PartSyntax> {
    let mut part = PartSyntax {
        column: String::new(),
        expression: None,
        array: None,
        prefix: None,
        desc: false,
    };
    if c.eat_symbol("(") {
        match array_cast(c) {
            Some((expression, ty)) => {
                part.expression = Some(expression);
                part.array = Some(ty);
            }
            None => part.expression = Some(c.take_expression(&[])?),
        }
        c.expect_symbol(")")?;
    } else {
        part.column = c.name()?;
        if c.eat_symbol("(") {
            part.prefix = Some(c.unsigned()?);
            c.expect_symbol(")")?;
        }
    }
    let order = c.eat_any(&["ASC", "DESC"]);
    if order.is_some() && part.array.is_some() {
        let (index, order) = ("multi-valued index", "explicit index order");
        return Err(SqlError::wrong_usage(index, order));
    }
    part.desc = order == Some(1);
    Ok(part)
}

/// `CAST(expression AS type ARRAY)`, if that is all that is here before a parenthesis is closed: the
/// expression and the type.
fn array_cast(c: &mut Cursor) -> Option<(String, String)> {
    let start = c.place();
    let found = whole_array_cast(c).filter(|_| c.is_symbol(")"));
    if found.is_none() {
        c.go_back(start);
    }
    found
}

fn whole_array_cast(c: &mut Cursor) -> Option<(String, String)> {
    if c.eat_symbol("(") {
        let inside = whole_array_cast(c)?;
        return c.eat_symbol(")").then_some(inside);
    }
    if !(c.eat("CAST") && c.eat_symbol("(")) {
        return None;
    }
    let expression = c.take_expression(&["AS"]).ok()?;
    c.expect("AS").ok()?;
    let ty = c.take_expression(&["ARRAY"]).ok()?;
    c.expect("ARRAY").ok()?;
    c.eat_symbol(")").then_some((expression, ty))
}
