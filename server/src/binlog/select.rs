//! Which transactions and rows are wanted.

use super::literal::plain;
use crate::backup::moment;
use cohort_engine::{
    env::Env,
    log::{LogFile, LoggedPart, LoggedRow, LoggedRows, LoggedTransaction, Mapped},
};
use std::path::PathBuf;

/// Digits of a second, or of a number, that are all there are.
const ALL_DIGITS: u8 = 31;

/// Takes a transaction and its parts.
pub type Each<'e> = dyn FnMut(&LoggedTransaction<'_>, &[LoggedPart<'_>]) -> Result<(), String> + 'e;

/// Which transactions.
#[derive(clap::Args)]
pub struct Which {
    /// Only those that have changed this table, such as shop.orders
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,
    /// Only those that have changed the row of this primary key (values of several columns with commas
    /// between them; the first columns, if the log does not tell which ones are the key)
    #[arg(long, value_name = "KEY", requires = "table")]
    key: Option<String>,
    /// Only the one with this GTID
    #[arg(long)]
    gtid: Option<String>,
    /// Only those committed at this moment or later: '2026-11-26 14:05:00', in local time or with an
    /// offset (+02:00 or Z)
    #[arg(long, value_name = "TIME", value_parser = moment::parse)]
    from: Option<u64>,
    /// Only those committed at this moment or earlier
    #[arg(long, value_name = "TIME", value_parser = moment::parse)]
    to: Option<u64>,
}

impl Which {
    /// Gives each transaction of the files that is wanted to `each`, with its parts.
    pub fn each(&self, files: &[PathBuf], each: &mut Each<'_>) -> Result<(), String> {
        let env = Env::real();
        // What the shell makes of binlog.* has the index in it.
        let is_index = |path: &&PathBuf| path.extension().is_some_and(|end| end == "index");
        for path in files.iter().filter(|path| !is_index(path)) {
            let mut file = LogFile::open(&env, path)?;
            while let Some(transaction) = file.next_transaction()? {
                if !self.is_of_time(&transaction) || !self.has_gtid(&transaction) {
                    continue;
                }
                let position = transaction.position;
                let failed = |why| format!("{}: position {position}: {why}", path.display());
                let parts = transaction.parts().map_err(failed)?;
                if self.wants(&parts).map_err(failed)? {
                    each(&transaction, &parts).map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    fn is_of_time(&self, transaction: &LoggedTransaction<'_>) -> bool {
        let at = transaction.committed_micros;
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at <= to)
    }

    fn has_gtid(&self, transaction: &LoggedTransaction<'_>) -> bool {
        let own = transaction.gtid.as_deref();
        self.gtid
            .as_deref()
            .is_none_or(|gtid| own.is_some_and(|own| own.eq_ignore_ascii_case(gtid)))
    }

    fn wants(&self, parts: &[LoggedPart<'_>]) -> Result<bool, String> {
        if self.table.is_none() {
            return Ok(true);
        }
        for part in parts {
            if let LoggedPart::Rows(rows) = part
                && self.is_of_table(rows)
            {
                if self.key.is_none() {
                    return Ok(true);
                }
                for row in rows.rows() {
                    if self.wants_row(rows, &row?) {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Whether rows are of the table that is wanted.
    pub fn is_of_table(&self, rows: &LoggedRows<'_>) -> bool {
        let wanted = self.table.as_deref();
        wanted.is_none_or(|wanted| wanted == table_name(&rows.table))
    }

    /// Whether a row is wanted.
    pub fn wants_row(&self, rows: &LoggedRows<'_>, (before, after): &LoggedRow) -> bool {
        let Some(key) = &self.key else {
            return true;
        };
        let wanted: Vec<&str> = key.split(',').map(str::trim).collect();
        let table = &rows.table.table;
        let parts = table.primary.as_ref().map(|primary| primary.parts.iter());
        let columns: Vec<usize> = match parts {
            Some(parts) => parts.map(|part| usize::from(part.column)).collect(),
            None => (0..wanted.len()).collect(),
        };
        [before, after].into_iter().flatten().any(|row| {
            columns.len() == wanted.len()
                && columns.iter().zip(&wanted).all(|(column, wanted)| {
                    row.get(*column)
                        .is_some_and(|value| plain(value, ALL_DIGITS) == *wanted)
                })
        })
    }
}

/// Database and name.
pub fn table_name(mapped: &Mapped) -> String {
    format!("{}.{}", mapped.table.database, mapped.table.name)
}
