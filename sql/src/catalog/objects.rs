//! Databases, tables, columns and keys as information_schema shows them.

use super::{Rows, VIRTUAL_DATABASES, number, text, yes_no};
use crate::{defaults::moment, foreign_key_text::action_words, state::State};
use cohort_engine::{
    txn::{Dictionary, Engine},
    types::{
        Collation, Column, ColumnType, DateTime, Index, IndexPart, Table, Value,
        schema::{DefaultValue, Visibility},
    },
};
use std::sync::Arc;

/// What a table is for those who list all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TableKind {
    /// It is computed when it is read.
    System,
    /// It is stored.
    Base,
    /// It is a view, as a table of its columns.
    View,
}

impl TableKind {
    /// As TABLE_TYPE shows it.
    pub fn name(self) -> &'static str {
        match self {
            TableKind::System => "SYSTEM VIEW",
            TableKind::Base => "BASE TABLE",
            TableKind::View => "VIEW",
        }
    }
}

/// All tables that the session may see, virtual ones first, by database and name.
pub(crate) fn visible_tables(session: &State) -> Vec<(Arc<Table>, TableKind)> {
    let virtual_tables = super::tables()
        .iter()
        .filter(|table| session.rights.enters(&table.definition.database))
        .map(|table| (Arc::clone(&table.definition), TableKind::System));
    let mut tables: Vec<(Arc<Table>, TableKind)> = virtual_tables.collect();
    let dictionary = session.instance.engine.dictionary();
    for database in dictionary.databases() {
        let stored = dictionary
            .tables(&database.name)
            .filter(|table| session.rights.sees_table(&table.database, &table.name))
            .map(|table| (Arc::clone(table), TableKind::Base));
        tables.extend(stored);
    }
    tables
}

/// The same with the views, in some databases.
pub(crate) fn tables_and_views(
    session: &State,
    mut wanted: impl FnMut(&str) -> bool,
) -> Vec<(Arc<Table>, TableKind)> {
    let mut all = visible_tables(session);
    let dictionary = session.instance.engine.dictionary();
    for view in super::visible_views(session, &dictionary) {
        if wanted(&view.database) {
            let known = super::sys::table_of(session, view);
            let table =
                known.unwrap_or_else(|| Arc::new(super::views::table_or_error(session, view)));
            all.push((table, TableKind::View));
        }
    }
    all.retain(|(table, _)| wanted(&table.database));
    all.sort_by(|(a, _), (b, _)| a.full_name().cmp(&b.full_name()));
    all
}

/// The names of all databases that the session may see, in order.
pub(crate) fn databases(session: &State, dictionary: &Dictionary) -> Vec<(String, Collation)> {
    let fixed = VIRTUAL_DATABASES
        .iter()
        .map(|name| ((*name).into(), super::collation_of(name)));
    let stored = dictionary
        .databases()
        .map(|d| (d.name.clone(), d.collation));
    let mut databases: Vec<(String, Collation)> = fixed.chain(stored).collect();
    databases.retain(|(name, _)| session.rights.sees_database(name));
    databases.sort_by(|a, b| a.0.cmp(&b.0));
    databases
}

pub(super) fn schemata(session: &State) -> Rows {
    let dictionary = session.instance.engine.dictionary();
    let databases = databases(session, &dictionary).into_iter();
    let row = |(name, collation): (String, Collation)| {
        vec![
            text("def"),
            text(name),
            text(collation.charset().name()),
            text(collation.name()),
            Value::Null,
            text("NO"),
        ]
    };
    databases.map(row).collect()
}

/// A time in seconds since 1970 as a DATETIME of the session.
fn local_time(session: &State, seconds: u64) -> Value {
    let utc = i64::try_from(seconds.saturating_mul(1_000_000)).ok();
    let utc = utc.and_then(DateTime::from_unix_micros);
    utc.map_or(Value::Null, |utc| {
        Value::DateTime(session.settings().time_zone.to_local(utc))
    })
}

pub(super) fn tables(session: &State) -> Rows {
    tables_and_views(session, |_| true)
        .iter()
        .map(|(table, kind)| table_row(session, table, *kind))
        .collect()
}

/// The next AUTO_INCREMENT value of a table that counts, as it is shown: behind the last one that there is
/// space for, this one.
pub(crate) fn next_value(engine: &Engine, table: &Table) -> Option<u64> {
    let column = table.columns.get(table.auto_increment_column()?)?;
    let next = engine.auto_increment_peek(table);
    Some(next.min(column.largest_integer()))
}

/// A row of information_schema.TABLES.
pub(crate) fn table_row(session: &State, table: &Table, kind: TableKind) -> Vec<Value> {
    if kind == TableKind::View {
        return view_row(session, table);
    }
    let system = kind == TableKind::System;
    let engine = &session.instance.engine;
    let next = next_value(engine, table);
    let estimate = |value: u64| if system { Value::Null } else { number(value) };
    let rows = if system {
        0
    } else {
        engine.row_estimate(table)
    };
    let (row_bytes, index_bytes) = match system {
        true => (0.0, 0.0),
        false => bytes_of(engine, table, rows),
    };
    vec![
        text("def"),
        text(&table.database),
        text(&table.name),
        text(kind.name()),
        if system { Value::Null } else { text("InnoDB") },
        Value::UInt(10),
        if system { Value::Null } else { text("Dynamic") },
        number(rows),
        estimate(row_bytes.round() as u64),
        estimate((row_bytes * rows as f64) as u64),
        estimate(0),
        estimate(index_bytes as u64),
        estimate(0),
        // MySQL shows it once a value was generated.
        next.filter(|next| *next > 1).map_or(Value::Null, number),
        local_time(session, table.created),
        Value::Null,
        Value::Null,
        if system {
            Value::Null
        } else {
            text(table.collation.name())
        },
        Value::Null,
        text(&table.options),
        text(&table.comment),
    ]
}

/// The mean length of a table's rows, with their keys, and the length of all entries of its other
/// indexes, in bytes: what they hold, without what pages leave free.
pub(super) fn bytes_of(engine: &Engine, table: &Table, rows: u64) -> (f64, f64) {
    let known = |index: &Index| {
        let known = engine.known_statistics(table, index);
        known.or_else(|| engine.index_statistics(table, index))
    };
    let of_rows = match &table.primary {
        Some(primary) => known(primary).map(|of| of.entry_bytes),
        None => {
            let drawn = engine.drawn_rows(table);
            let bytes = |at: usize| drawn.get(at).0.len() + drawn.get(at).1.len();
            let all: usize = (0..drawn.len()).map(bytes).sum();
            Some(all as f64 / drawn.len().max(1) as f64)
        }
    };
    let others = table.indexes.iter().filter_map(known);
    let of_others = others.map(|of| of.entry_bytes * of.entries as f64).sum();
    match rows {
        0 => (0.0, 0.0),
        _ => (of_rows.unwrap_or(0.0), of_others),
    }
}

/// A view's row of information_schema.TABLES.
fn view_row(session: &State, view: &Table) -> Vec<Value> {
    let mut row = vec![Value::Null; 21];
    let told = [
        (0, text("def")),
        (1, text(&view.database)),
        (2, text(&view.name)),
        (3, text(TableKind::View.name())),
        (14, local_time(session, view.created)),
        (20, text(&view.comment)),
    ];
    for (at, value) in told {
        if let Some(place) = row.get_mut(at) {
            *place = value;
        }
    }
    row
}

pub(super) fn columns(session: &State) -> Rows {
    let mut rows = Rows::new();
    for (table, _) in tables_and_views(session, |_| true) {
        for position in 0..table.named_columns().len() {
            rows.extend(column_row(session, &table, position));
        }
    }
    rows
}

/// The histograms of columns.
pub(super) fn column_statistics(session: &State) -> Rows {
    let mut rows = Rows::new();
    for (table, _) in visible_tables(session) {
        for column in table.named_columns() {
            if let Some(histogram) = &column.histogram
                && super::accounts::on_column(session, &table, &column.name).is_some()
            {
                rows.push(vec![
                    text(&table.database),
                    text(&table.name),
                    text(&column.name),
                    text(&**histogram),
                ]);
            }
        }
    }
    rows
}

/// PRI, UNI, MUL or nothing.
fn column_key(table: &Table, position: usize) -> &'static str {
    let is = |part: &IndexPart| usize::from(part.column) == position;
    let primary = table.shown_primary();
    if primary.is_some_and(|key| key.parts.iter().any(is)) {
        return "PRI";
    }
    let first = |index: &&Index| index.parts.first().is_some_and(is);
    let texts = table.fulltext.iter().map(|text| &text.index);
    let mut leading = table.indexes.iter().chain(texts).filter(first).peekable();
    if leading.peek().is_none() {
        return "";
    }
    match leading.any(|index| index.unique && index.parts.len() == 1) {
        true => "UNI",
        false => "MUL",
    }
}

/// The digits of a second that a type has.
fn time_digits(ty: ColumnType) -> Option<u8> {
    match ty {
        ColumnType::Time(digits) | ColumnType::DateTime(digits) | ColumnType::Timestamp(digits) => {
            Some(digits)
        }
        _ => None,
    }
}

fn now_text(ty: ColumnType) -> String {
    match time_digits(ty) {
        Some(digits) if digits > 0 => format!("CURRENT_TIMESTAMP({digits})"),
        _ => "CURRENT_TIMESTAMP".into(),
    }
}

/// What SHOW COLUMNS has in Extra.
fn column_extra(column: &Column) -> String {
    let mut words = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".to_string());
    }
    if let Some(generated) = &column.generated {
        let kind = if generated.stored {
            "STORED"
        } else {
            "VIRTUAL"
        };
        words.push(format!("{kind} GENERATED"));
    }
    if matches!(column.default, DefaultValue::CurrentTimestamp) || column.default.is_computed() {
        words.push("DEFAULT_GENERATED".into());
    }
    if column.on_update_now {
        words.push(format!("on update {}", now_text(column.ty)));
    }
    if column.visibility == Visibility::Invisible {
        words.push("INVISIBLE".into());
    }
    words.join(" ")
}

/// A column's default as COLUMN_DEFAULT shows it: bytes in hexadecimal digits.
fn default_text(column: &Column) -> Value {
    let has_bytes = column.ty.has_collation() && column.collation.is_binary();
    match &column.default {
        DefaultValue::Literal(literal) if has_bytes && !literal.is_empty() => {
            let digits = literal.bytes().map(|byte| format!("{byte:02X}"));
            text(until_zero(&digits.collect::<String>()))
        }
        DefaultValue::Expression(kept) if has_bytes && !column.default.is_computed() => {
            text(until_zero(kept.trim_start_matches("0x")))
        }
        DefaultValue::None | DefaultValue::Null => Value::Null,
        DefaultValue::Literal(literal) if matches!(column.ty, ColumnType::Timestamp(_)) => {
            text(moment::as_written(literal))
        }
        DefaultValue::Literal(literal) => text(literal),
        DefaultValue::CurrentTimestamp => text(now_text(column.ty)),
        DefaultValue::Expression(kept) if column.default.is_computed() => text(expression(kept)),
        DefaultValue::Expression(kept) => text(kept),
    }
}

/// A hexadecimal literal, without what follows a byte of zero: MySQL shows these bytes so.
fn until_zero(digits: &str) -> String {
    let pairs = digits
        .as_bytes()
        .chunks(2)
        .take_while(|pair| *pair != b"00");
    format!("0x{}", digits.get(..pairs.count() * 2).unwrap_or(digits))
}

/// The text of an expression, quotes and backslashes escaped as MySQL does it once more.
fn expression(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

/// Characters and bytes at most, for strings.
fn lengths(column: &Column) -> Option<(u64, u64)> {
    let char_bytes = u64::from(column.collation.max_char_bytes());
    Some(match column.ty {
        ColumnType::Char(n) => (u64::from(n), u64::from(n) * char_bytes),
        ColumnType::VarChar(n) => (u64::from(n), u64::from(n) * char_bytes),
        ColumnType::Text(bytes) => {
            let max = (1_u64 << (8 * u32::from(bytes))) - 1;
            (
                max / u64::from(column.collation.charset().min_char_bytes()),
                max,
            )
        }
        ColumnType::Enum(_) | ColumnType::Set(_) => {
            let bytes = u64::from(column.max_bytes());
            (bytes / char_bytes, bytes)
        }
        ColumnType::TinyInt
        | ColumnType::SmallInt
        | ColumnType::MediumInt
        | ColumnType::Int
        | ColumnType::BigInt
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Date
        | ColumnType::Time(_)
        | ColumnType::DateTime(_)
        | ColumnType::Timestamp(_)
        | ColumnType::Year
        | ColumnType::Bit(_)
        | ColumnType::Json => return None,
    })
}

/// Digits and scale, for numbers.
fn digits(column: &Column) -> (Value, Value) {
    let precision = match column.ty {
        ColumnType::TinyInt => 3,
        ColumnType::SmallInt => 5,
        ColumnType::MediumInt => 7,
        ColumnType::Int => 10,
        ColumnType::BigInt => 19 + u64::from(column.unsigned),
        ColumnType::Bit(bits) => return (number(bits.into()), Value::Null),
        ColumnType::Float | ColumnType::Double if column.real_digits.is_some() => {
            let (digits, scale) = column.real_digits.unwrap_or_default();
            return (number(digits.into()), number(scale.into()));
        }
        ColumnType::Float => return (number(12), Value::Null),
        ColumnType::Double => return (number(22), Value::Null),
        ColumnType::Decimal { precision, scale } => {
            return (number(precision.into()), number(scale.into()));
        }
        ColumnType::Char(_)
        | ColumnType::VarChar(_)
        | ColumnType::Text(_)
        | ColumnType::Date
        | ColumnType::Time(_)
        | ColumnType::DateTime(_)
        | ColumnType::Timestamp(_)
        | ColumnType::Year
        | ColumnType::Enum(_)
        | ColumnType::Set(_)
        | ColumnType::Json => return (Value::Null, Value::Null),
    };
    (number(precision), number(0))
}

/// The type's name alone: `varchar`.
fn data_type(column: &Column) -> String {
    let whole = column.type_text();
    whole
        .split(['(', ' '])
        .next()
        .unwrap_or_default()
        .to_string()
}

/// A row of information_schema.COLUMNS; none of a column on which the session has no privilege.
pub(crate) fn column_row(session: &State, table: &Table, position: usize) -> Option<Vec<Value>> {
    let column = table.columns.get(position)?;
    let privileges = super::accounts::on_column(session, table, &column.name)?;
    let lengths = lengths(column);
    let (precision, scale) = digits(column);
    let has_charset = column.has_charset() && !column.collation.is_binary();
    let charset = |name: &str| if has_charset { text(name) } else { Value::Null };
    Some(vec![
        text("def"),
        text(&table.database),
        text(&table.name),
        text(&column.name),
        number(position as u64 + 1),
        default_text(column),
        yes_no(column.nullable),
        text(data_type(column)),
        lengths.map_or(Value::Null, |l| {
            Value::Int(i64::try_from(l.0).unwrap_or(i64::MAX))
        }),
        lengths.map_or(Value::Null, |l| {
            Value::Int(i64::try_from(l.1).unwrap_or(i64::MAX))
        }),
        precision,
        scale,
        time_digits(column.ty).map_or(Value::Null, |digits| number(digits.into())),
        charset(column.collation.charset().name()),
        charset(column.collation.name()),
        text(column.type_text()),
        text(column_key(table, position)),
        text(column_extra(column)),
        privileges,
        text(&column.comment),
        text(
            column
                .generated
                .as_ref()
                .map_or(String::new(), |generated| expression(&generated.expression)),
        ),
        Value::Null,
    ])
}

/// All keys of a table: the primary key, unique keys, the others, FULLTEXT ones.
pub(super) fn keys(table: &Table) -> impl Iterator<Item = &Index> {
    table
        .keys()
        .chain(table.fulltext.iter().map(|text| &text.index))
}

/// Each part of each key, with its position from 1.
fn key_parts(table: &Table) -> impl Iterator<Item = (&Index, u64, IndexPart, &Column)> {
    keys(table).flat_map(move |index| {
        index
            .parts
            .iter()
            .zip(1..)
            .filter_map(move |(part, position)| {
                let column = table.columns.get(usize::from(part.column))?;
                Some((index, position, *part, column))
            })
    })
}

pub(super) fn statistics(session: &State) -> Rows {
    let tables = visible_tables(session);
    tables
        .iter()
        .flat_map(|(table, _)| statistics_rows(session, table))
        .collect()
}

/// Rows of information_schema.STATISTICS.
pub(crate) fn statistics_rows(session: &State, table: &Table) -> Rows {
    let engine = &session.instance.engine;
    let rows = engine.row_estimate(table);
    let row = |(index, position, part, column): (&Index, u64, IndexPart, &Column)| {
        let is_text = table
            .fulltext
            .iter()
            .any(|text| text.index.tree == index.tree);
        let known = engine.known_statistics(table, index).filter(|_| !is_text);
        let parts = usize::try_from(position).unwrap_or(usize::MAX);
        let distinct = known.and_then(|known| known.distinct.get(parts - 1).copied());
        // Nobody has asked for it yet: as many as there are rows.
        let distinct = distinct.map_or(rows, |distinct| (distinct.round() as u64).min(rows));
        vec![
            text("def"),
            text(&table.database),
            text(&table.name),
            Value::Int(i64::from(!index.unique)),
            text(&table.database),
            text(&index.name),
            number(position),
            match column.is_hidden() {
                true => Value::Null,
                false => text(&column.name),
            },
            match (is_text, part.desc) {
                (true, _) => Value::Null,
                (false, false) => text("A"),
                (false, true) => text("D"),
            },
            Value::Int(i64::try_from(distinct).unwrap_or(i64::MAX)),
            part.prefix
                .map_or(Value::Null, |prefix| Value::Int(prefix.into())),
            Value::Null,
            text(if column.nullable { "YES" } else { "" }),
            text(if is_text { "FULLTEXT" } else { "BTREE" }),
            text(""),
            text(&index.comment),
            yes_no(index.visible),
            column
                .functional()
                .map_or(Value::Null, |own| text(expression(&own))),
        ]
    };
    key_parts(table).map(row).collect()
}

pub(super) fn table_constraints(session: &State) -> Rows {
    let mut rows = Rows::new();
    for (table, _) in visible_tables(session) {
        for index in keys(&table).filter(|index| index.unique) {
            let is_primary = table
                .primary
                .as_ref()
                .is_some_and(|key| key.name == index.name);
            rows.push(vec![
                text("def"),
                text(&table.database),
                text(&index.name),
                text(&table.database),
                text(&table.name),
                text(if is_primary { "PRIMARY KEY" } else { "UNIQUE" }),
                text("YES"),
            ]);
        }
        for key in table.foreign_keys_by_name() {
            rows.push(vec![
                text("def"),
                text(&table.database),
                text(&key.name),
                text(&table.database),
                text(&table.name),
                text("FOREIGN KEY"),
                text("YES"),
            ]);
        }
        for check in table.checks_by_name() {
            rows.push(vec![
                text("def"),
                text(&table.database),
                text(&check.name),
                text(&table.database),
                text(&table.name),
                text("CHECK"),
                yes_no(check.enforced),
            ]);
        }
    }
    rows
}

pub(super) fn check_constraints(session: &State) -> Rows {
    let mut rows = Rows::new();
    for (table, _) in visible_tables(session) {
        for check in &table.checks {
            rows.push(vec![
                text("def"),
                text(&table.database),
                text(&check.name),
                text(expression(&check.condition)),
            ]);
        }
    }
    rows
}

pub(super) fn referential_constraints(session: &State) -> Rows {
    let dictionary = session.instance.engine.dictionary();
    let mut rows = Rows::new();
    for (table, _) in visible_tables(session) {
        for key in table.foreign_keys_by_name() {
            let parent = dictionary.table(&key.parent_database, &key.parent);
            let index = parent.and_then(|parent| key.parent_index(parent));
            let unique = index.filter(|index| index.unique);
            rows.push(vec![
                text("def"),
                text(&table.database),
                text(&key.name),
                text("def"),
                text(&key.parent_database),
                unique.map_or(Value::Null, |index| text(&index.name)),
                text("NONE"),
                text(action_words(key.on_update)),
                text(action_words(key.on_delete)),
                text(&table.name),
                text(&key.parent),
            ]);
        }
    }
    rows
}

pub(super) fn key_column_usage(session: &State) -> Rows {
    let mut rows = Rows::new();
    for (table, _) in visible_tables(session) {
        for (index, position, _, column) in key_parts(&table) {
            if !index.unique || column.is_hidden() {
                continue;
            }
            let mut row = vec![
                text("def"),
                text(&table.database),
                text(&index.name),
                text("def"),
                text(&table.database),
                text(&table.name),
                text(&column.name),
                number(position),
            ];
            row.resize(12, Value::Null);
            rows.push(row);
        }
        for key in table.foreign_keys_by_name() {
            let pairs = key.columns.iter().zip(&key.parent_columns);
            for (at, (own, of_parent)) in pairs.enumerate() {
                let column = table.columns.get(usize::from(*own));
                rows.push(vec![
                    text("def"),
                    text(&table.database),
                    text(&key.name),
                    text("def"),
                    text(&table.database),
                    text(&table.name),
                    text(column.map_or("", |column| &column.name)),
                    number(at as u64 + 1),
                    number(at as u64 + 1),
                    text(&key.parent_database),
                    text(&key.parent),
                    text(of_parent),
                ]);
            }
        }
    }
    rows
}
