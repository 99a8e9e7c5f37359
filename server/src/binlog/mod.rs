//! `cohort log`: what is in files of the binary log, without a server.
//!
//! | file | what is inside |
//! |---|---|
//! | `literal` | values as SQL, exactly |
//! | `select` | which transactions, by table, key, GTID and time |
//! | `show`, `stat`, `undo` | what is printed |

mod literal;
mod select;
mod show;
mod stat;
mod undo;

use select::Which;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Reads files of Cohort, also those of a backup, and of MySQL (with checksums; columns have names if
binlog_row_metadata is FULL, and rows are read if binlog_row_image is FULL).

Examples:
  cohort log show data/binlog.000007
  cohort log show --rows data/binlog.000007
  cohort log grep --table shop.orders --key 4711 data/binlog.*
      who changed that order, and when
  cohort log grep --table shop.orders --from '2026-11-26 14:00' --to '2026-11-26 14:10' \\
      data/binlog.*
  cohort log stat data/binlog.*
  cohort log undo --gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 data/binlog.000007 > undo.sql
  mysql < undo.sql";

/// What `cohort log` is told.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Log {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List transactions: time, GTID, size, group, tables and statements.
    Show {
        #[command(flatten)]
        which: Which,
        /// Each row, too, before and after
        #[arg(long)]
        rows: bool,
        /// The files, oldest first
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// List transactions, and the rows in them that are wanted.
    Grep {
        #[command(flatten)]
        which: Which,
        /// The files, oldest first
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Count transactions, rows and bytes, of each table and of groups.
    Stat {
        #[command(flatten)]
        which: Which,
        /// The files, oldest first
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the SQL that undoes one transaction, for mysql to execute: all of it or nothing.
    Undo {
        /// The transaction's GTID
        #[arg(long)]
        gtid: String,
        /// A generated column, such as shop.orders.total, that must not be written; may be given
        /// several times (the log does not tell which ones are generated)
        #[arg(long, value_name = "COLUMN")]
        generated: Vec<String>,
        /// The files to look for it in
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

/// Does what is asked; what went wrong as text.
pub fn run(log: &Log) -> Result<(), String> {
    match &log.command {
        Command::Show { which, rows, files } => show::run(files, which, *rows),
        Command::Grep { which, files } => show::run(files, which, true),
        Command::Stat { which, files } => stat::run(files, which),
        Command::Undo {
            gtid,
            generated,
            files,
        } => undo::run(files, gtid, generated),
    }
}
