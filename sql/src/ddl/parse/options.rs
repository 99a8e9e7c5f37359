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
        let name = SHOWN.get(which).copied().unwrap_or_default();
        let value = shown_value(c, name)?;
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

/// The value of an option that is shown again.
fn shown_value(c: &mut Cursor, name: &str) -> Parsed<String> {
    let token = c.peek();
    let text = String::from_utf8_lossy(c.text(token)).to_ascii_uppercase();
    let words = match name {
        "ROW_FORMAT" => ROW_FORMATS.as_slice(),
        "PACK_KEYS" | "STATS_AUTO_RECALC" | "STATS_PERSISTENT" | "STATS_SAMPLE_PAGES" => {
            &["DEFAULT"]
        }
        _ => &[],
    };
    if words.contains(&text.as_str()) {
        c.next();
        return Ok(text);
    }
    let Some(number) = whole(token.kind, &text).filter(|_| name != "ROW_FORMAT") else {
        return Err(c.error());
    };
    let number = match name {
        "PACK_KEYS" | "STATS_AUTO_RECALC" | "STATS_PERSISTENT" if number > 1 => {
            return Err(c.error());
        }
        "CHECKSUM" | "DELAY_KEY_WRITE" => number.min(1),
        "MAX_ROWS" | "MIN_ROWS" => number.min(u32::MAX.into()),
        "AVG_ROW_LENGTH" if number > u32::MAX.into() => {
            return Err(c.error_of_option("avg_row_length", "[0,4294967295]"));
        }
        "KEY_BLOCK_SIZE" if number > u16::MAX.into() => {
            return Err(c.error_of_option("key_block_size", "[0,65535]"));
        }
        "STATS_SAMPLE_PAGES" if !(1..=u64::from(u16::MAX)).contains(&number) => {
            return Err(c.error_of_option("stats_sample_pages", "[1, 65535]"));
        }
        _ => number,
    };
    c.next();
    Ok(number.to_string())
}

/// The whole number that a number begins with.
fn whole(kind: Kind, text: &str) -> Option<u64> {
    match kind {
        Kind::Hex => u64::from_str_radix(text.strip_prefix("0X")?, 16).ok(),
        Kind::Integer | Kind::Decimal | Kind::Float => {
            let end = text.find(|c: char| !c.is_ascii_digit());
            let digits = text.get(..end.unwrap_or(text.len()))?;
            match digits.is_empty() {
                true => Some(0),
                false => Some(digits.parse().unwrap_or(u64::MAX)),
            }
        }
        _ => None,
    }
}
