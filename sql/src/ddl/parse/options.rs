//! The parser of the options of databases and tables.

use crate::{
    command::{Cursor, Parsed},
    data_type::{CharsetSyntax, charset_clause},
    ddl::syntax::TableOptions,
    error::SqlError,
    lexer::Kind,
};

pub(super) fn database_options(c: &mut Cursor) -> Parsed<CharsetSyntax> {
    let mut charset = CharsetSyntax::default();
    while !c.at_end() {
        c.eat("DEFAULT");
        if c.eat("ENCRYPTION") {
            c.eat_symbol("=");
            encryption(c)?;
        } else if c.are(&["READ", "ONLY"]) {
            return Err(SqlError::not_supported("READ ONLY databases"));
        } else if !charset_clause(c, &mut charset)? {
            return Err(c.error());
        }
    }
    Ok(charset)
}

fn encryption(c: &mut Cursor) -> Parsed<()> {
    match c.string()?.as_str() {
        "N" | "n" => Ok(()),
        _ => Err(SqlError::not_supported("encryption of tables")),
    }
}

/// Options that change nothing but are shown again.
const SHOWN: [&str; 11] = [
    "AVG_ROW_LENGTH",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
    "KEY_BLOCK_SIZE",
    "MAX_ROWS",
    "MIN_ROWS",
    "PACK_KEYS",
    "ROW_FORMAT",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
];
const ROW_FORMATS: [&str; 6] = [
    "DEFAULT",
    "FIXED",
    "DYNAMIC",
    "COMPRESSED",
    "REDUNDANT",
    "COMPACT",
];
/// Options that promise something that is not there.
const REFUSED: [&str; 9] = [
    "AUTOEXTEND_SIZE",
    "COMPRESSION",
    "CONNECTION",
    "DATA",
    "ENGINE_ATTRIBUTE",
    "SECONDARY_ENGINE",
    "START",
    "TABLESPACE",
    "UNION",
];

/// One option of a table, if one is here.
pub(super) fn table_option(c: &mut Cursor, options: &mut TableOptions) -> Parsed<bool> {
    if c.eat("ENGINE") {
        c.eat_symbol("=");
        options.engine = Some(match c.is_string() {
            true => c.string()?,
            false => c.name()?,
        });
    } else if c.eat("AUTO_INCREMENT") {
        c.eat_symbol("=");
        options.auto_increment = Some(c.unsigned()?);
    } else if c.eat("COMMENT") {
        c.eat_symbol("=");
        options.comment = Some(c.string()?);
    } else if c.eat("ENCRYPTION") {
        c.eat_symbol("=");
        encryption(c)?;
    } else if let Some(which) = c.eat_any(&SHOWN) {
        c.eat_symbol("=");
        let token = c.peek();
        let value = String::from_utf8_lossy(c.text(token)).to_ascii_uppercase();
        let name = SHOWN.get(which).copied().unwrap_or_default();
        let words = match name {
            "ROW_FORMAT" => ROW_FORMATS.as_slice(),
            "PACK_KEYS" | "STATS_AUTO_RECALC" | "STATS_PERSISTENT" | "STATS_SAMPLE_PAGES" => {
                &["DEFAULT"]
            }
            _ => &[],
        };
        let is_number = token.kind == Kind::Integer && name != "ROW_FORMAT";
        if !is_number && !words.contains(&value.as_str()) {
            return Err(c.error());
        }
        c.next();
        options.others.push((name, value));
    } else if let Some(word) = REFUSED.iter().find(|word| c.is(word)) {
        return Err(SqlError::not_supported(format_args!("table option {word}")));
    } else if c.are(&["INDEX", "DIRECTORY"]) {
        return Err(SqlError::not_supported("table option INDEX DIRECTORY"));
    } else {
        c.eat("DEFAULT");
        return charset_clause(c, &mut options.charset);
    }
    Ok(true)
}
