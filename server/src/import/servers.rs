//! The two servers of an import, and sessions on them.

use super::settings;
use cohort_mysql::client::{
    Client, Done, Error, Record, Row, TextRow,
    login::Account,
    tls::{Demand, Tls},
    url::{ServerUrl, connect, split},
    wire::ServerError,
};
use std::time::Duration;

/// How long a server may say nothing: a large ALTER TABLE takes its time.
const ANSWER: Duration = Duration::from_secs(3600);

/// ER_UNKNOWN_SYSTEM_VARIABLE.
pub const UNKNOWN_VARIABLE: u16 = 1193;

/// What kind of server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// MySQL, and what behaves as it does.
    MySql,
    /// MariaDB.
    MariaDb,
    /// Cohort.
    Cohort,
}

/// A server, and how to log in there.
pub struct Server {
    /// For people: "source" or "target", with its address.
    pub name: String,
    /// What it is.
    pub flavor: Flavor,
    /// What it says it is.
    pub version: String,
    /// What the URL says behind the host.
    pub path: String,
    /// What is asked of its TLS.
    pub demand: Option<Demand>,
    /// Who logs in.
    pub account: Account,
    host: String,
    tls: Option<Tls>,
    is_target: bool,
}

impl Server {
    /// Reads a URL, and asks the server what it is. `role` is for messages.
    ///
    /// # Errors
    /// The URL is wrong, or the server cannot be reached.
    pub fn find(role: &str, url: &str) -> Result<Server, String> {
        let url: ServerUrl = url.parse().map_err(|error| format!("{role}: {error}"))?;
        let [host] = &url.hosts[..] else {
            return Err(format!("{role}: one host is wanted"));
        };
        let tls = url.tls.as_ref().map(Tls::load).transpose()?;
        let mut server = Server {
            name: format!("{role} {host}"),
            flavor: Flavor::MySql,
            version: String::new(),
            path: url.path,
            demand: url.tls,
            account: url.account,
            host: host.clone(),
            tls,
            is_target: role == "target",
        };
        let mut session = server.connect()?;
        server.version = session.value("SELECT VERSION()")?.unwrap_or_default();
        let lower = server.version.to_ascii_lowercase();
        if lower.contains("cohort") {
            server.flavor = Flavor::Cohort;
        } else if lower.contains("mariadb") {
            server.flavor = Flavor::MariaDb;
        }
        Ok(server)
    }

    /// Its name and port.
    pub fn address(&self) -> (&str, u16) {
        split(&self.host)
    }

    /// Opens a session in which nothing that is read or written is changed on its way: texts are
    /// utf8mb4, and the rest is [`settings`].
    ///
    /// # Errors
    /// There is no connection, or no login.
    pub fn connect(&self) -> Result<Session, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", self.name);
        let client = connect(&self.host, &self.account, self.tls.as_ref());
        let client = client.map_err(|error| failed(&error))?;
        let limited = client.set_answer_timeout(Some(ANSWER));
        limited.map_err(|error| failed(&error))?;
        let mut session = Session {
            client,
            name: self.name.clone(),
        };
        settings::set(&mut session, self.is_target)?;
        Ok(session)
    }
}

/// A connection whose errors say which server they are of.
pub struct Session {
    client: Client,
    name: String,
}

impl Session {
    fn told(&self, error: &Error) -> String {
        format!("{}: {error}", self.name)
    }

    /// A statement that must succeed; its rows as text.
    ///
    /// # Errors
    /// The server's or the connection's, with the server's name before it.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, String> {
        let rows = self.client.query(sql);
        rows.map_err(|error| format!("{}, of: {}", self.told(&error), shortened(sql)))
    }

    /// The same; the first row with the names of its columns.
    pub fn record(&mut self, sql: &str) -> Result<Option<Record>, String> {
        let record = self.client.record(sql);
        record.map_err(|error| format!("{}, of: {}", self.told(&error), shortened(sql)))
    }

    /// The same; the first column of the first row.
    pub fn value(&mut self, sql: &str) -> Result<Option<String>, String> {
        let rows = self.query(sql)?;
        Ok(rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next().flatten()))
    }

    /// A statement that must succeed and has no result.
    pub fn execute(&mut self, sql: &str) -> Result<(), String> {
        let done = self.client.execute(sql);
        done.map_err(|error| format!("{}, of: {}", self.told(&error), shortened(sql)))?;
        Ok(())
    }

    /// A statement that the server may refuse.
    ///
    /// # Errors
    /// The connection's.
    pub fn attempt(&mut self, sql: &str) -> Result<Result<Vec<Row>, ServerError>, String> {
        match self.client.query(sql) {
            Ok(rows) => Ok(Ok(rows)),
            Err(Error::Server(error)) => Ok(Err(error)),
            Err(error) => Err(self.told(&error)),
        }
    }

    /// Hands out each row as it arrives, in bytes.
    pub fn each_row(
        &mut self,
        sql: &str,
        mut each: impl FnMut(TextRow<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut own = None;
        let result = self.client.each_row(sql, |row| {
            each(row).map_err(|text| {
                own = Some(text);
                Error::Broken(String::new())
            })
        });
        match (result, own) {
            (Ok(()), _) => Ok(()),
            (Err(_), Some(text)) => Err(text),
            (Err(error), None) => Err(format!("{}, of: {}", self.told(&error), shortened(sql))),
        }
    }

    /// Sends a statement; [`Session::done`] must come next.
    pub fn send(&mut self, sql: &[u8]) -> Result<(), String> {
        let sent = self.client.send_statement(sql);
        sent.map_err(|error| self.told(&error))
    }

    /// What became of it; the inner error is the server's.
    pub fn done(&mut self) -> Result<Result<Done, ServerError>, String> {
        match self.client.done() {
            Ok(done) => Ok(Ok(done)),
            Err(Error::Server(error)) => Ok(Err(error)),
            Err(error) => Err(self.told(&error)),
        }
    }

    /// The server's error as the message says it.
    pub fn refused(&self, error: &ServerError) -> String {
        format!("{}: {error}", self.name)
    }

    /// The server's name for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// That the account lacks a privilege.
    pub fn needs(&self, privilege: &str, why: &str, error: &ServerError) -> String {
        format!(
            "{}: the account needs the privilege {privilege} {why}: {error}",
            self.name
        )
    }

    /// A global variable; `None` if the server does not have it.
    pub fn variable(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.attempt(&format!("SELECT @@GLOBAL.{name}"))? {
            Ok(rows) => Ok(rows
                .into_iter()
                .next()
                .and_then(|mut row| row.pop().flatten())),
            Err(error) if error.code == UNKNOWN_VARIABLE => Ok(None),
            Err(error) => Err(self.refused(&error)),
        }
    }
}

/// Statements of a megabyte are no help in a message.
fn shortened(sql: &str) -> String {
    const MOST: usize = 160;
    match sql.char_indices().nth(MOST) {
        Some((at, _)) => format!("{} …", &sql[..at]),
        None => sql.to_owned(),
    }
}
