//! The command line.

use crate::{
    backup, binlog, check, compact,
    config::{self, Settings},
    import, lab, security, serve,
};
use clap::Parser;
use cohort_coordinator as coordinator;
use cohort_process::companion::accompany;
use std::path::PathBuf;

/// `cohort`'s command line.
#[derive(clap::Parser)]
#[command(
    name = "cohort",
    version,
    about = "A MySQL-compatible transactional database"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Run the server.
    #[command(after_long_help = EXAMPLES, after_help = EXAMPLES)]
    Serve {
        /// TOML file of settings, under the names of the flags or of any system variable
        #[arg(long, value_name = "FILE", env = "COHORT_CONFIG")]
        config: Option<PathBuf>,
        /// Run in a session of its own, and end with the process that started this one
        #[arg(long, hide = true)]
        companion: bool,
        #[command(flatten)]
        settings: Box<Settings>,
    },
    /// Read a whole data directory and say what is damaged.
    Check(check::Check),
    /// Say what in a server's accounts and settings, and in a data directory, is not safe.
    CheckSecurity(Box<security::CheckSecurity>),
    /// Give the free space in a data directory back to the disk.
    Compact(compact::Compact),
    /// Copy all that a running server has, or what is new in its log.
    Backup(Box<backup::BackUp>),
    /// Read a backup and say whether it is what was written.
    Verify(backup::Verify),
    /// Make a data directory of a backup, as of any transaction or moment since.
    Restore(backup::Restore),
    /// Read files of the binary log: transactions, rows, counts, and the SQL that undoes one.
    Log(binlog::Log),
    /// Bring a running MySQL or MariaDB over: definitions, rows and accounts, then its changes.
    #[command(after_long_help = import::EXAMPLES, after_help = import::EXAMPLES)]
    Import(Box<import::Options>),
    /// Look at global transactions, and change them by hand.
    Tx(Box<coordinator::Tx>),
    /// Make measurements, of Cohort and of other servers.
    #[command(subcommand)]
    Lab(lab::Experiment),
}

const EXAMPLES: &str = "\
Every flag can also stand in the file (port = 3307) and in the environment (COHORT_PORT=3307);
so can every other system variable. Flags go before the environment, that before the file.

Examples:
  cohort serve
      127.0.0.1:3306, data in ./data; connect with: mysql -h127.0.0.1 -uroot
  cohort serve --port 3307 --datadir /srv/cohort --max-connections 2000
  cohort serve --config cohort.toml
      with lines such as: port = 3307
                          transaction_isolation = \"READ-COMMITTED\"
  COHORT_SYNC_BINLOG=0 cohort serve
      faster and not durable: the last transactions are lost if the machine stops";

/// Does what the command line says; what went wrong as text.
pub fn run() -> Result<(), String> {
    match Cli::parse().command {
        Command::Serve {
            config,
            companion,
            settings,
        } => {
            if companion {
                accompany().map_err(|error| format!("--companion: {error}"))?;
            }
            serve::run(&config::complete(*settings, config.as_deref())?)
        }
        Command::Check(check) => check::run(&check),
        // Its exit code says more than whether it went well.
        Command::CheckSecurity(options) => std::process::exit(security::run(&options)),
        Command::Compact(compact) => compact::run(&compact),
        Command::Backup(backup) => backup::back_up(&backup),
        Command::Verify(verify) => backup::verify(&verify),
        Command::Restore(restore) => backup::restore(&restore),
        Command::Log(log) => binlog::run(&log),
        Command::Import(options) => import::run(&options),
        Command::Tx(tx) => coordinator::run_tx(&tx),
        Command::Lab(experiment) => lab::run(&experiment),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
