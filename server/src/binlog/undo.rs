//! `cohort log undo`: the SQL that undoes one transaction.
//!
//! Its rows are changed back in reverse order, each only if it still is as the transaction left it.
//! At the end the rows that were changed back are counted: if it is not all of them, the last statement
//! but COMMIT fails, on purpose, and `mysql` stops: nothing is undone.

use super::{literal::literal, select::table_name, show::write_all};
use crate::backup::moment;
use cohort_engine::{
    env::Env,
    log::{LogFile, LoggedPart, LoggedRows, LoggedTransaction, RowsKind},
    types::{Value, quoted},
};
use std::{collections::HashSet, path::PathBuf};

/// Prints the SQL.
pub fn run(files: &[PathBuf], gtid: &str, generated: &[String]) -> Result<(), String> {
    let generated: HashSet<&str> = generated.iter().map(String::as_str).collect();
    let env = Env::real();
    for path in files {
        let mut file = LogFile::open(&env, path)?;
        while let Some(transaction) = file.next_transaction()? {
            let own = transaction.gtid.as_deref();
            if own.is_some_and(|own| own.eq_ignore_ascii_case(gtid)) {
                let sql = undo(&transaction, &generated)?;
                return write_all(&mut std::io::stdout(), &sql);
            }
        }
    }
    Err(format!("{gtid} is in none of the files"))
}

fn undo(transaction: &LoggedTransaction<'_>, generated: &HashSet<&str>) -> Result<String, String> {
    let gtid = transaction.gtid.clone().unwrap_or_default();
    let mut undone = Vec::new();
    for part in transaction.parts()? {
        match part {
            LoggedPart::Statement(_, text) => return Err(refused(&gtid, text)),
            LoggedPart::Unread(what) => {
                return Err(format!("{gtid} cannot be undone: {what}"));
            }
            // What became of it is another transaction's: it is undone if it was committed.
            LoggedPart::Prepared(_) => {}
            LoggedPart::Rows(rows) => {
                if !rows.table.is_named {
                    return Err(format!(
                        "{gtid} cannot be undone: the log has no names of the columns of {} \
                         (binlog_row_metadata is not FULL)",
                        table_name(&rows.table)
                    ));
                }
                for row in rows.rows() {
                    let statement = reversed(&rows, &row?, generated);
                    undone
                        .push(statement.map_err(|why| format!("{gtid} cannot be undone: {why}"))?);
                }
            }
        }
    }
    if undone.is_empty() {
        return Err(format!("{gtid} has changed no rows"));
    }
    let count = undone.len();
    let mut sql = format!(
        "-- Undoes {gtid}, committed {}: {count} rows.\n\
         -- Rows that were changed since stay as they are, and then nothing is undone: error 1242.\n\
         SET NAMES utf8mb4;\n\
         SET SESSION time_zone = '+00:00', \
         sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION';\n\
         SET @undone = 0;\n\
         START TRANSACTION;\n",
        moment::text(transaction.committed_micros)
    );
    for statement in undone.iter().rev() {
        sql.push_str(statement);
        sql.push_str(";\nSET @undone = @undone + ROW_COUNT();\n");
    }
    sql.push_str(&format!(
        "SELECT (SELECT 'all rows are as they were' UNION ALL SELECT 'rows were changed since' FROM \
         DUAL WHERE @undone <> {count}) AS undone;\nCOMMIT;\n"
    ));
    Ok(sql)
}

fn refused(gtid: &str, text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    if text.starts_with("XA ") {
        return format!("{gtid} is {text}: name the GTID of its XA PREPARE, which has the rows");
    }
    format!(
        "{gtid} cannot be undone, for it is a change of definitions: {text}; cohort restore \
         --before-gtid {gtid} makes a data directory of what was there before"
    )
}

struct Row<'r> {
    rows: &'r LoggedRows<'r>,
    generated: &'r HashSet<&'r str>,
}

impl Row<'_> {
    /// Names and literals of the columns that are to be written.
    fn written(&self, values: &[Value]) -> Result<Vec<(String, String)>, String> {
        self.columns(values, |name| !self.generated.contains(name))
    }
    fn columns(
        &self,
        values: &[Value],
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<(String, String)>, String> {
        let mapped = &self.rows.table;
        let table = table_name(mapped);
        let columns = mapped.table.columns.iter().zip(values).enumerate();
        let columns = columns.filter(|(_, (column, _))| {
            let name = format!("{table}.{}", column.name);
            wanted(&name)
        });
        let literals = columns.map(|(place, (column, value))| {
            if mapped.unknown_texts.contains(&place) && !value.is_null() {
                return Err(format!(
                    "the character set of {table}.{} is not known",
                    column.name
                ));
            }
            let literal = literal(column, value, false);
            let literal = literal.map_err(|what| format!("{table}: {what} has no literal"))?;
            Ok((quoted(&column.name), literal))
        });
        literals.collect()
    }
    /// That a row is exactly this one.
    fn is(&self, values: &[Value]) -> Result<String, String> {
        let columns = self.columns(values, |_| true)?;
        let equal = columns
            .into_iter()
            .map(|(name, literal)| match literal.as_str() {
                "NULL" => format!("{name} IS NULL"),
                _ => format!("{name} = {literal}"),
            });
        Ok(equal.collect::<Vec<_>>().join(" AND "))
    }
}

fn reversed(
    rows: &LoggedRows<'_>,
    (before, after): &(Option<Vec<Value>>, Option<Vec<Value>>),
    generated: &HashSet<&str>,
) -> Result<String, String> {
    let row = Row { rows, generated };
    let table = &rows.table.table;
    let table = format!("{}.{}", quoted(&table.database), quoted(&table.name));
    let missing = || "a row without its image".to_owned();
    let before = || before.as_deref().ok_or_else(missing);
    let after = || after.as_deref().ok_or_else(missing);
    Ok(match rows.kind {
        RowsKind::Write => format!("DELETE FROM {table} WHERE {} LIMIT 1", row.is(after()?)?),
        RowsKind::Delete => {
            let (names, values): (Vec<_>, Vec<_>) = row.written(before()?)?.into_iter().unzip();
            format!(
                "INSERT INTO {table} ({}) VALUES ({})",
                names.join(", "),
                values.join(", ")
            )
        }
        RowsKind::Update => {
            let (old, new) = (row.written(before()?)?, row.written(after()?)?);
            let differ = old.into_iter().zip(new).filter(|(old, new)| old != new);
            let set = differ.map(|((name, value), _)| format!("{name} = {value}"));
            format!(
                "UPDATE {table} SET {} WHERE {} LIMIT 1",
                set.collect::<Vec<_>>().join(", "),
                row.is(after()?)?
            )
        }
    })
}
