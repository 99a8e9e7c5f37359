//! The command line.

use crate::{
    backup, binlog, check, compact,
    config::{self, Settings},
    import, lab, manual, security, serve, top,
};
use clap::{CommandFactory, Parser};
use cohort_coordinator as coordinator;
use cohort_process::companion::accompany;
use std::path::PathBuf;

/// `cohort`'s command line.
#[derive(clap::Parser)]
#[command(
    name = "cohort",
    version,
    about = "A MySQL-compatible transactional database",
    long_about = ABOUT,
    after_help = FIRST_STEPS,
    after_long_help = FIRST_STEPS
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Run the server, until SIGTERM or Ctrl-C.
    ///
    /// The data directory is made if it is not there, with one account, root@localhost, which has no
    /// password. Clients connect over TCP and a Unix socket. The log for operators goes to standard
    /// error; its line "ready on …" says that clients are let in, and systemd is told at the same time
    /// (Type=notify). SIGTERM lets statements that run go on for ten seconds, ends the others, and
    /// writes a checkpoint; a second one does not wait.
    #[command(
        mut_args(config::under_heading),
        after_long_help = EXAMPLES,
        after_help = EXAMPLES
    )]
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
    /// Show what a running server does, in the terminal: Cohort, MySQL or MariaDB.
    Top(Box<top::Top>),
    /// Look at global transactions, and change them by hand.
    Tx(Box<coordinator::Tx>),
    /// Make measurements, of Cohort and of other servers.
    #[command(subcommand)]
    Lab(lab::Experiment),
    /// Print the script with which a shell completes this command line.
    Completions(manual::Completions),
    /// Write the manual pages of this program.
    Man(manual::Pages),
}

const ABOUT: &str = "\
A MySQL-compatible transactional database. Any MySQL client connects to the server, \"cohort serve\".
The other commands look after its data, copy it, or bring data from MySQL and MariaDB.";

const FIRST_STEPS: &str = "\
Examples:
  cohort serve                            run the server, with its data in ./data
  mysql -h127.0.0.1 -uroot                connect to it
  cohort backup /backup/monday            copy all it has, while it runs
  cohort import mysql://u@old:3306/ --to mysql://root@127.0.0.1:3306
                                          bring another server's data over
  cohort help serve                       all its settings; so for each command";

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
        Command::Top(options) => top::run(&options),
        Command::Tx(tx) => coordinator::run_tx(&tx),
        Command::Lab(experiment) => lab::run(&experiment),
        Command::Completions(shell) => manual::print_completions(Cli::command(), &shell),
        Command::Man(pages) => manual::write_pages(Cli::command(), &pages),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap_complete::Shell;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    /// A command and all below it that people are told of.
    fn told(command: &clap::Command) -> Vec<&clap::Command> {
        let below = command.get_subcommands().filter(|c| !c.is_hide_set());
        std::iter::once(command)
            .chain(below.flat_map(told))
            .collect()
    }

    #[test]
    fn every_command_and_flag_says_what_it_does() {
        let program = Cli::command();
        for command in told(&program) {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name}");
            for flag in command.get_arguments().filter(|flag| !flag.is_hide_set()) {
                let is_there = flag.get_help().is_some() || flag.get_long_help().is_some();
                assert!(is_there, "{name}: {}", flag.get_id());
            }
        }
    }

    #[test]
    fn every_command_has_a_page_and_is_completed() {
        let directory = std::env::temp_dir().join(format!("cohort-man-{}", std::process::id()));
        manual::write_pages(Cli::command(), &manual::Pages::to(&directory)).unwrap();
        let mut program = Cli::command().disable_help_subcommand(true);
        program.build();
        let commands = told(&program);
        assert!(commands.len() > 25, "{}", commands.len());
        for command in &commands {
            let name = command.get_display_name().unwrap_or("cohort");
            let page = std::fs::read_to_string(directory.join(format!("{name}.1"))).unwrap();
            for part in [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION"] {
                assert!(page.contains(part), "{name}: {part}");
            }
        }
        assert_eq!(
            std::fs::read_dir(&directory).unwrap().count(),
            commands.len()
        );
        std::fs::remove_dir_all(directory).unwrap();
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8(manual::script(Cli::command(), shell)).unwrap();
            for command in &commands {
                assert!(script.contains(command.get_name()), "{shell}: {command}");
            }
        }
    }
}
