//! A digest of a range of rows that MySQL, MariaDB and Cohort compute alike.
//!
//! A row is the text of its values: strings as their SHA-256, so that no separator can be in them
//! and no text is too long; then which values are NULL. The row counts as the first 64 bits of the
//! text's SHA-256; a range as the sum of its rows, and their number.
//!
//! Where servers write the same value as different texts (`0.00001` and `1e-5`, for some FLOATs), the
//! digests differ and the values do not. So digests only tell which ranges need a look at the values.

use super::{
    ranges::Range,
    schema::{Column, Form, Table},
    servers::Session,
    text::name,
};

/// The number of rows and their sum, as the servers tell them.
pub type Digest = (String, String);

/// The SELECT of a range's digest.
pub fn sql(table: &Table, range: &Range) -> String {
    let values: Vec<_> = table.columns.iter().map(term).collect();
    let nullable = table.columns.iter().filter(|column| column.nullable);
    let nulls: Vec<_> = nullable
        .map(|column| format!("ISNULL({})", name(&column.name)))
        .collect();
    let nulls = match nulls.is_empty() {
        true => String::new(),
        false => format!(", CONCAT({})", nulls.join(", ")),
    };
    format!(
        "SELECT COUNT(*), SUM(CAST(CONV(LEFT(SHA2(CONCAT_WS('#', {}{nulls}), 256), 16), 16, 10) \
         AS UNSIGNED)) FROM {}{}",
        values.join(", "),
        table.full_name(),
        range.condition(table)
    )
}

/// The text of a column's value.
fn term(column: &Column) -> String {
    let name = name(&column.name);
    match column.form {
        Form::Number | Form::Time | Form::Double | Form::Float | Form::Code => column.expression(),
        // Whatever the column's character set, the same letters are the same bytes.
        Form::Text => format!("SHA2(CONVERT({name} USING utf8mb4), 256)"),
        Form::Bytes | Form::Encoded(_) => format!("SHA2({}, 256)", column.expression()),
        Form::Json => format!("SHA2(CAST(CAST({name} AS CHAR) AS JSON), 256)"),
    }
}

/// Reads it.
pub fn read(session: &mut Session, sql: &str) -> Result<Digest, String> {
    let row = session.query(sql)?.into_iter().next().unwrap_or_default();
    let mut values = row.into_iter().map(Option::unwrap_or_default);
    let count = values.next().unwrap_or_default();
    // Without rows the sum is NULL.
    Ok((count, values.next().unwrap_or_default()))
}
