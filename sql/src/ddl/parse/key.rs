//! The parser of keys.

use crate::{
    command::{Cursor, Parsed},
    ddl::syntax::{IndexType, KeyKind, KeySyntax, PartSyntax},
    error::SqlError,
};

/// A key or another constraint of CREATE TABLE or ADD, if one is here.
pub(super) fn key(c: &mut Cursor) -> Parsed<Option<KeySyntax>> {
    let mut name = None;
    let constraint = c.eat("CONSTRAINT");
    let kinds = ["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"];
    if constraint && !kinds.iter().any(|word| c.is(word)) {
        name = Some(c.name()?);
    }
    if c.eat_all(&["PRIMARY", "KEY"]) {
        // MySQL takes a name here, too, and forgets it.
        key_name(c)?;
        return typed(c, KeyKind::Primary, None).map(Some);
    }
    if c.eat("UNIQUE") {
        c.eat_any(&["KEY", "INDEX"]);
        let name = key_name(c)?.or(name);
        return typed(c, KeyKind::Unique, name).map(Some);
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
    typed(c, KeyKind::Plain, name).map(Some)
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
    };
    loop {
        if let Some(using) = index_type(c)? {
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
    if c.is_symbol("(") {
        return Err(SqlError::not_supported("indexes on expressions"));
    }
    let column = c.name()?;
    let mut prefix = None;
    if c.eat_symbol("(") {
        prefix = Some(c.unsigned()?);
        c.expect_symbol(")")?;
    }
    let desc = c.eat_any(&["ASC", "DESC"]) == Some(1);
    Ok(PartSyntax {
        column,
        prefix,
        desc,
    })
}
