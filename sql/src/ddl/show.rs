//! SHOW CREATE TABLE and SHOW CREATE DATABASE, in MySQL 9.7's words.

use crate::{expr::SqlMode, foreign_key_text::clause_in};
use cohort_engine::types::{
    Charset, Check, Column, ColumnType, Index, Table,
    schema::{Database, DefaultValue},
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
}

impl Style {
    fn of(mode: SqlMode) -> Style {
        let ansi_quotes = mode.has(SqlMode::ANSI_QUOTES);
        Style {
            quote: if ansi_quotes { '"' } else { '`' },
            options: !mode.has(SqlMode::ANSI),
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

/// The statement that makes a table. `next` is its next AUTO_INCREMENT value.
#[must_use]
pub fn show_create_table(table: &Table, next: u64, mode: SqlMode) -> String {
    let style = Style::of(mode);
    let columns = table
        .columns
        .iter()
        .map(|column| self::column(column, table, style));
    let keys = table.primary.iter().chain(&table.indexes);
    let foreign_keys = table.foreign_keys_by_name().into_iter();
    let checks = table.checks_by_name().into_iter();
    let lines: Vec<String> = columns
        .chain(keys.map(|key| index(key, table, style)))
        .chain(foreign_keys.map(|key| clause_in(key, table, |name| style.name(name))))
        .chain(checks.map(|constraint| check(constraint, style)))
        .collect();
    let mut text = format!(
        "CREATE TABLE {} (\n  {}\n)",
        style.name(&table.name),
        lines.join(",\n  ")
    );
    if !style.options {
        return text;
    }
    text.push_str(" ENGINE=InnoDB");
    let has_counter = table.auto_increment_column().is_some();
    if has_counter && next > 1 {
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

fn column(column: &Column, table: &Table, style: Style) -> String {
    let mut text = format!("{} {}", style.name(&column.name), column.type_text());
    if column.has_charset() {
        charset(column, table, &mut text);
    }
    if !column.nullable {
        text.push_str(" NOT NULL");
    } else if matches!(column.ty, ColumnType::Timestamp(_)) {
        text.push_str(" NULL");
    }
    default(column, &mut text);
    if column.on_update_now {
        let _ = write!(text, " ON UPDATE {}", now(column.ty));
    }
    if column.auto_increment {
        text.push_str(" AUTO_INCREMENT");
    }
    if !column.comment.is_empty() {
        let _ = write!(text, " COMMENT {}", literal(&column.comment));
    }
    text
}

/// Character set and collation, as far as they are not the table's or were asked for.
fn charset(column: &Column, table: &Table, text: &mut String) {
    let differs = column.collation != table.collation;
    if differs || column.explicit_collation {
        let _ = write!(text, " CHARACTER SET {}", column.collation.charset().name());
    }
    if differs || column.explicit_collation || !column.collation.is_default() {
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

fn default(column: &Column, text: &mut String) {
    let is_text = matches!(column.ty, ColumnType::Text(_));
    match &column.default {
        DefaultValue::Null if !is_text => text.push_str(" DEFAULT NULL"),
        DefaultValue::None | DefaultValue::Null => {}
        DefaultValue::Literal(value) => {
            let _ = write!(text, " DEFAULT {}", literal(value));
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
        let mut text = style.name(column.map_or("", |column| &column.name));
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
        Style::of(mode).name(&database.name),
        charset.name(),
    )
}
