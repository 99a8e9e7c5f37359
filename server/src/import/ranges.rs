//! Ranges of a table's key: what is copied, and compared, at a time.
//!
//! A table is walked in the order of its key. The end of a range is the key so many rows behind its
//! begin, which an index answers quickly; whoever takes a range leaves the rest of the table to
//! others. So nothing is planned ahead, and gaps in the keys do no harm.
//!
//! `(a, b) > (x, y)` is written as `a > x OR (a = x AND b > y)`, which all servers find by the index.

use super::{
    schema::{Form, Table},
    servers::Session,
    text::{name, put_bytes, put_string},
};

/// About as many bytes are in a range, and at least and at most so many rows.
const BYTES: u64 = 8 << 20;
const ROWS: std::ops::RangeInclusive<u64> = 500..=100_000;

/// A key as literals.
pub type Bound = Vec<String>;

/// The rows behind one key, up to another one, which is in it; `None`: the table's begin or end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Behind this key.
    pub after: Option<Bound>,
    /// Up to this key.
    pub to: Option<Bound>,
}

impl Range {
    /// `WHERE …`, or nothing for a whole table.
    pub fn condition(&self, table: &Table) -> String {
        let columns: Vec<_> = table
            .key
            .iter()
            .map(|at| name(&table.columns[*at].name))
            .collect();
        let after = self
            .after
            .as_ref()
            .map(|bound| beyond(&columns, bound, ">", ">"));
        let to = self
            .to
            .as_ref()
            .map(|bound| beyond(&columns, bound, "<", "<="));
        match (after, to) {
            (None, None) => String::new(),
            (Some(one), None) | (None, Some(one)) => format!(" WHERE {one}"),
            (Some(after), Some(to)) => format!(" WHERE ({after}) AND ({to})"),
        }
    }
}

/// Whether a key is on one side of another one.
fn beyond(columns: &[String], bound: &[String], strict: &str, last: &str) -> String {
    let mut parts = Vec::new();
    for at in 0..columns.len() {
        let equal = columns
            .iter()
            .zip(bound)
            .take(at)
            .map(|(c, b)| format!("{c} = {b}"));
        let operator = if at + 1 == columns.len() {
            last
        } else {
            strict
        };
        let all: Vec<_> = equal
            .chain([format!("{} {operator} {}", columns[at], bound[at])])
            .collect();
        parts.push(match all.len() {
            1 => all.concat(),
            _ => format!("({})", all.join(" AND ")),
        });
    }
    // The first column alone bounds the range of the index that is read.
    match parts.len() {
        1 => parts.concat(),
        _ => format!(
            "{} {strict}= {} AND ({})",
            columns[0],
            bound[0],
            parts.join(" OR ")
        ),
    }
}

/// How many rows a range of this table has.
pub fn rows_of(table: &Table) -> u64 {
    let row = (table.bytes / table.rows.max(1)).max(1);
    (BYTES / row).clamp(*ROWS.start(), *ROWS.end())
}

/// Where a range ends that begins behind this key; `None`: with the table.
pub fn end(
    session: &mut Session,
    table: &Table,
    after: Option<&Bound>,
) -> Result<Option<Bound>, String> {
    if table.key.is_empty() {
        return Ok(None);
    }
    let key = table.key.iter().map(|at| &table.columns[*at]);
    let begin = Range {
        after: after.cloned(),
        to: None,
    };
    let columns: Vec<_> = key.clone().map(|column| name(&column.name)).collect();
    let read: Vec<_> = key.clone().map(super::schema::Column::expression).collect();
    let sql = format!(
        "SELECT {} FROM {}{} ORDER BY {} LIMIT 1 OFFSET {}",
        read.join(", "),
        table.full_name(),
        begin.condition(table),
        columns.join(", "),
        rows_of(table) - 1
    );
    let forms: Vec<_> = key.map(|column| column.form).collect();
    let mut bound = None;
    session.each_row(&sql, |row| {
        let literals = row.zip(&forms).map(|(value, form)| {
            let mut out = Vec::new();
            put_literal(value, *form, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        });
        bound = Some(literals.collect());
        Ok(())
    })?;
    Ok(bound)
}

/// Appends a value, as it was read, as a literal.
pub fn put_literal(value: Option<&[u8]>, form: Form, out: &mut Vec<u8>) {
    let Some(value) = value else {
        out.extend_from_slice(b"NULL");
        return;
    };
    match form {
        Form::Number | Form::Code => out.extend_from_slice(value),
        Form::Float | Form::Double | Form::Time => {
            out.push(b'\'');
            out.extend_from_slice(value);
            out.push(b'\'');
        }
        Form::Text | Form::Json => put_string(value, out),
        // Bytes alone would be compared as bytes, in another order than the column's.
        Form::Encoded(character_set) => {
            out.extend_from_slice(format!("_{character_set} ").as_bytes());
            put_bytes(value, out);
        }
        Form::Bytes => put_bytes(value, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_a_key_of_two_columns() {
        let of = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let found = beyond(&of(&["`a`"]), &of(&["7"]), "<", "<=");
        assert_eq!(found, "`a` <= 7");
        let found = beyond(&of(&["`a`", "`b`"]), &of(&["7", "'x'"]), ">", ">");
        assert_eq!(found, "`a` >= 7 AND (`a` > 7 OR (`a` = 7 AND `b` > 'x'))");
        let found = beyond(&of(&["`a`", "`b`"]), &of(&["7", "'x'"]), "<", "<=");
        assert_eq!(found, "`a` <= 7 AND (`a` < 7 OR (`a` = 7 AND `b` <= 'x'))");
    }

    #[test]
    fn literals() {
        let literal = |value, form| {
            let mut out = Vec::new();
            put_literal(value, form, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(literal(None, Form::Text), "NULL");
        assert_eq!(literal(Some(b"-1.50"), Form::Number), "-1.50");
        assert_eq!(literal(Some(b"-0"), Form::Double), "'-0'");
        assert_eq!(literal(Some(b"it's"), Form::Text), "'it\\'s'");
        assert_eq!(literal(Some(&[0, 255]), Form::Bytes), "X'00FF'");
        let encoded = literal(Some(&[0xd0, 0x98]), Form::Encoded("cp1251"));
        assert_eq!(encoded, "_cp1251 X'D098'");
    }
}
