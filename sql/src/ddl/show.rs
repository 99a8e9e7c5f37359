//! SHOW CREATE TABLE and SHOW CREATE DATABASE, in MySQL 9.7's words.

use super::fulltext::parser_name;
use crate::{
    catalog::is_virtual,
    defaults::moment,
    expr::{SqlMode, TimeZone},
    foreign_key_text::clause_in,
};
use cohort_engine::{
    txn::Engine,
    types::{
        Charset, Check, Column, ColumnType, FullText, Index, Table,
        schema::{Database, DefaultValue, Visibility},
    },
};
use std::fmt::Write;

fn quoted_by(name: &str, quote: char) -> String {
    let doubled = format!("{quote}{quote}");
    format!("{quote}{}{quote}", name.replace(quote, &doubled))
}

/// How SHOW CREATE writes in a mode.
#[derive(Clone, Copy)]
struct Style {
    /// ANSI_QUOTES quotes names as standard SQL does.
    quote: char,
    /// ANSI leaves out what is MySQL's own.
    options: bool,
    /// Moments are shown in it.
    zone: TimeZone,
}

impl Style {
    fn of(mode: SqlMode, zone: TimeZone) -> Style {
        let ansi_quotes = mode.has(SqlMode::ANSI_QUOTES);
        Style {
            quote: if ansi_quotes { '"' } else { '`' },
            options: !mode.has(SqlMode::ANSI),
            zone,
        }
    }
    fn name(self, name: &str) -> String {
        quoted_by(name, self.quote)
    }
}

/// A string literal, as SHOW CREATE TABLE writes it.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for character in text.chars() {
        match character {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}

/// The next AUTO_INCREMENT value of a table that counts, as it is shown: behind the last one that there is
/// space for, this one.
pub(crate) fn next_value(engine: &Engine, table: &Table) -> Option<u64> {
    let column = table.columns.get(table.auto_increment_column()?)?;
    let next = engine.auto_increment_peek(table);
    Some(next.min(column.largest_integer()))
}

/// The statement that makes a table. `next` is its next AUTO_INCREMENT value, if it counts.
#[must_use]
pub fn show_create_table(
    table: &Table,
    next: Option<u64>,
    mode: SqlMode,
    zone: TimeZone,
) -> String {
    let style = Style::of(mode, zone);
    let columns = table
        .named_columns()
        .iter()
        .map(|column| self::column(column, table, style));
    let keys = table.primary.iter().chain(&table.indexes);
    let foreign_keys = table.foreign_keys_by_name().into_iter();
    let checks = table.checks_by_name().into_iter();
    let lines: Vec<String> = columns
        .chain(keys.map(|key| index(key, table, style)))
        .chain(table.fulltext.iter().map(|key| fulltext(key, table, style)))
        .chain(foreign_keys.map(|key| clause_in(key, table, |name| style.name(name))))
        .chain(checks.map(|constraint| check(constraint, style)))
        .collect();
    let mut text = format!(
        "CREATE {}TABLE {} (\n  {}\n)",
        match is_shown_temporary(table) {
            true => "TEMPORARY ",
            false => "",
        },
        style.name(&table.name),
        lines.join(",\n  ")
    );
    if !style.options {
        return text;
    }
    text.push_str(" ENGINE=InnoDB");
    if let Some(next) = next.filter(|next| *next > 1) {
        let _ = write!(text, " AUTO_INCREMENT={next}");
    }
    let charset = table.collation.charset();
    let _ = write!(text, " DEFAULT CHARSET={}", charset.name());
    if charset == Charset::Utf8mb4 || !table.collation.is_default() {
        let _ = write!(text, " COLLATE={}", table.collation.name());
    }
    if !table.options.is_empty() {
        let _ = write!(text, " {}", table.options);
    }
    if !table.comment.is_empty() {
        let _ = write!(text, " COMMENT={}", literal(&table.comment));
    }
    text
}

/// Of tables that are computed MySQL says it of those of information_schema.
fn is_shown_temporary(table: &Table) -> bool {
    let database = &*table.database;
    let is_elsewhere = is_virtual(database) && !database.eq_ignore_ascii_case("information_schema");
    table.is_temporary() && !is_elsewhere
}

/// The statement that makes a table, whatever the default database is.
#[must_use]
pub(super) fn logged_definition(table: &Table, zone: TimeZone) -> String {
    let text = show_create_table(table, None, SqlMode::default(), zone);
    let database = quoted_by(&table.database, '`');
    text.replacen("CREATE TABLE ", &format!("CREATE TABLE {database}."), 1)
}

/// The statement that drops tables, as MySQL logs it where it is not the client's own.
#[must_use]
pub(super) fn logged_drop(tables: &[&Table]) -> String {
    let name = |table: &&Table| {
        let (database, name) = table.full_name();
        format!("{}.{}", quoted_by(database, '`'), quoted_by(name, '`'))
    };
    let names: Vec<String> = tables.iter().map(name).collect();
    format!("DROP TABLE {} /* generated by server */", names.join(","))
}

/// The statement that makes a table whose rows follow, as MySQL logs it.
#[must_use]
pub fn logged_creation(table: &Table, zone: TimeZone) -> String {
    let next = table.auto_increment_column();
    let next = next.map(|_| table.auto_increment_min);
    let text = show_create_table(table, next, SqlMode::default(), zone);
    format!("{text} START TRANSACTION")
}

fn column(column: &Column, table: &Table, style: Style) -> String {
    let mut text = format!("{} {}", style.name(&column.name), column.type_text());
    if column.has_charset() {
        charset(column, table, &mut text);
    }
    if let Some(generated) = &column.generated {
        let kind = if generated.stored {
            "STORED"
        } else {
            "VIRTUAL"
        };
        let expression = &generated.expression;
        let _ = write!(text, " GENERATED ALWAYS AS ({expression}) {kind}");
    }
    if !column.nullable {
        text.push_str(" NOT NULL");
    } else if matches!(column.ty, ColumnType::Timestamp(_)) {
        text.push_str(" NULL");
    }
    default(column, style, &mut text);
    if column.on_update_now {
        let _ = write!(text, " ON UPDATE {}", now(column.ty));
    }
    if column.auto_increment {
        text.push_str(" AUTO_INCREMENT");
    }
    if column.visibility == Visibility::Invisible {
        text.push_str(" /*!80023 INVISIBLE */");
    }
    if !column.comment.is_empty() {
        let _ = write!(text, " COMMENT {}", literal(&column.comment));
    }
    text
}

/// Character set and collation, as far as they are not the table's or were asked for. The default
/// collation of a character set goes without saying; that of utf8mb4 has not always been the same.
fn charset(column: &Column, table: &Table, text: &mut String) {
    let differs = column.collation != table.collation;
    if differs || column.explicit_collation {
        let _ = write!(text, " CHARACTER SET {}", column.collation.charset().name());
    }
    let is_known = column.collation.is_default()
        && !(differs && column.collation.charset() == Charset::Utf8mb4);
    if column.explicit_collation || !is_known {
        let _ = write!(text, " COLLATE {}", column.collation.name());
    }
}

fn now(ty: ColumnType) -> String {
    match ty {
        ColumnType::DateTime(digits) | ColumnType::Timestamp(digits) if digits > 0 => {
            format!("CURRENT_TIMESTAMP({digits})")
        }
        _ => "CURRENT_TIMESTAMP".into(),
    }
}

fn default(column: &Column, style: Style, text: &mut String) {
    let is_text = matches!(column.ty, ColumnType::Text(_));
    match &column.default {
        DefaultValue::Null if !is_text => text.push_str(" DEFAULT NULL"),
        DefaultValue::None | DefaultValue::Null => {}
        DefaultValue::Literal(value) => {
            let shown = match column.ty {
                ColumnType::Timestamp(digits) => moment::in_zone(value, digits, style.zone),
                _ => value.clone(),
            };
            let _ = write!(text, " DEFAULT {}", literal(&shown));
        }
        DefaultValue::CurrentTimestamp => {
            let _ = write!(text, " DEFAULT {}", now(column.ty));
        }
        DefaultValue::Expression(value) if column.default.is_computed() => {
            let _ = write!(text, " DEFAULT ({value})");
        }
        DefaultValue::Expression(value) => {
            let _ = write!(text, " DEFAULT {value}");
        }
    }
}

fn index(index: &Index, table: &Table, style: Style) -> String {
    let parts = index.parts.iter().map(|part| {
        let column = table.columns.get(usize::from(part.column));
        let mut text = match column.and_then(Column::functional) {
            Some(expression) => format!("({expression})"),
            None => style.name(column.map_or("", |column| &column.name)),
        };
        if let Some(prefix) = part.prefix {
            let _ = write!(text, "({prefix})");
        }
        if part.desc {
            text.push_str(" DESC");
        }
        text
    });
    let parts: Vec<String> = parts.collect();
    let parts = parts.join(",");
    let mut text = match (index.name.as_str(), index.unique) {
        ("PRIMARY", _) => format!("PRIMARY KEY ({parts})"),
        (name, true) => format!("UNIQUE KEY {} ({parts})", style.name(name)),
        (name, false) => format!("KEY {} ({parts})", style.name(name)),
    };
    if index.using_btree && style.options {
        text.push_str(" USING BTREE");
    }
    if !index.comment.is_empty() {
        let _ = write!(text, " COMMENT {}", literal(&index.comment));
    }
    if !index.visible {
        text.push_str(" /*!80000 INVISIBLE */");
    }
    text
}

fn fulltext(text: &FullText, table: &Table, style: Style) -> String {
    let shown = index(&text.index, table, style);
    let parser = match parser_name(text.parser) {
        Some(name) => format!(" /*!50100 WITH PARSER {} */ ", style.name(name)),
        None => String::new(),
    };
    format!("FULLTEXT {shown}{parser}")
}

fn check(check: &Check, style: Style) -> String {
    let enforced = match check.enforced {
        true => "",
        false => " /*!80016 NOT ENFORCED */",
    };
    format!(
        "CONSTRAINT {} CHECK ({}){enforced}",
        style.name(&check.name),
        check.condition
    )
}

/// The statement that makes a database. `if_not_exists`: SHOW CREATE DATABASE IF NOT EXISTS.
#[must_use]
pub fn show_create_database(database: &Database, if_not_exists: bool, mode: SqlMode) -> String {
    let condition = if if_not_exists {
        "/*!32312 IF NOT EXISTS*/ "
    } else {
        ""
    };
    let collation = database.collation;
    let charset = collation.charset();
    let collate = if charset == Charset::Utf8mb4 || !collation.is_default() {
        format!(" COLLATE {}", collation.name())
    } else {
        String::new()
    };
    format!(
        "CREATE DATABASE {condition}{} /*!40100 DEFAULT CHARACTER SET {}{collate} */ \
         /*!80016 DEFAULT ENCRYPTION='N' */",
        Style::of(mode, TimeZone::default()).name(&database.name),
        charset.name(),
    )
}
