//! `cohort check-security`: what an auditor would say of a running server, and of a data directory.

mod directory;
mod server;

use crate::backup::connect::Server;
use serde::Serialize;
use std::path::PathBuf;

/// What `cohort check-security` is told.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct CheckSecurity {
    #[command(flatten)]
    server: Server,
    /// Look at this data directory, too: who may read and write it, and its keys
    #[arg(long, value_name = "PATH")]
    datadir: Option<PathBuf>,
    /// Look at the data directory only, and at no server
    #[arg(long, requires = "datadir")]
    offline: bool,
    /// Say it as JSON: a list of objects
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Says which accounts and settings of a server let in more people than they should, or give them more
than they need, and who else may look into a data directory. Nothing is changed.
Exits with 0 if there is nothing to say, with 1 if there is, and with 2 if it could not look.

Examples:
  MYSQL_PWD=secret cohort check-security --user root
      the server on 127.0.0.1:3306
  cohort check-security --socket /srv/cohort/mysql.sock --datadir /srv/cohort
  cohort check-security --offline --datadir /srv/cohort --json";

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    /// Which kind it is, for programs.
    finding: &'static str,
    /// Of what it is: an account, a variable, a file.
    subject: String,
    /// What it means.
    what: String,
    /// What to do.
    advice: String,
}

impl Finding {
    fn new(
        finding: &'static str,
        subject: impl Into<String>,
        what: impl Into<String>,
        advice: impl Into<String>,
    ) -> Finding {
        Finding {
            finding,
            subject: subject.into(),
            what: what.into(),
            advice: advice.into(),
        }
    }
}

/// Looks; the exit code.
pub fn run(options: &CheckSecurity) -> i32 {
    match look(options) {
        Ok(findings) => {
            tell(&findings, options.json);
            i32::from(!findings.is_empty())
        }
        Err(why) => {
            eprintln!("cohort check-security: {why}");
            2
        }
    }
}

fn look(options: &CheckSecurity) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    if !options.offline {
        let mut client = options.server.connect()?;
        findings = server::look(&mut client)?;
    }
    if let Some(path) = &options.datadir {
        findings.extend(directory::look(path)?);
    }
    Ok(findings)
}

fn tell(findings: &[Finding], json: bool) {
    if json {
        // Strings in a list: that cannot fail.
        let text = serde_json::to_string_pretty(findings).unwrap_or_default();
        return println!("{text}");
    }
    for one in findings {
        println!("{}: {}: {}", one.finding, one.subject, one.what);
        println!("    {}", one.advice);
    }
    match findings.len() {
        0 => println!("nothing was found"),
        1 => println!("1 finding"),
        count => println!("{count} findings"),
    }
}
