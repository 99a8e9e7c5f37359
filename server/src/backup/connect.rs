//! The way to a server that runs.

use cohort_mysql::{
    client::{
        Client,
        login::Account,
        tls::{Demand, Mode, Tls},
    },
    stream::Stream,
};
use std::{net::TcpStream, os::unix::net::UnixStream, path::PathBuf, time::Duration};

/// So long the server may say nothing: a DDL that runs is waited for, and for an hour.
const ANSWER: Duration = Duration::from_secs(3600);

/// Where a server is, and who logs in.
#[derive(clap::Args)]
pub struct Server {
    /// Host of the server
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Its port
    #[arg(long, default_value_t = 3306)]
    port: u16,
    /// Its Unix socket, instead of host and port
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Who logs in; needs all privileges
    #[arg(long, default_value = "root")]
    user: String,
    /// The password; MYSQL_PWD shows it to fewer people
    #[arg(long, env = "MYSQL_PWD", default_value = "", hide_env_values = true)]
    password: String,
    /// DISABLED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY, as mysql has it
    #[arg(long, value_name = "MODE", default_value = "DISABLED")]
    ssl_mode: String,
    /// Authorities that the server's certificate is to be of, in PEM
    #[arg(long, value_name = "PATH")]
    ssl_ca: Option<PathBuf>,
    /// Over TCP without TLS, send the password encrypted under the key that whoever answers sends,
    /// if the server wants it; loopback needs no such trust
    #[arg(long)]
    get_server_public_key: bool,
}

impl Server {
    /// Logs in.
    pub fn connect(&self) -> Result<Client, String> {
        let account = Account {
            user: self.user.clone(),
            password: self.password.clone(),
            trusts_key: self.get_server_public_key,
            ..Account::default()
        };
        let failed =
            |error: &dyn std::fmt::Display| format!("cannot connect to {}: {error}", self.place());
        let client = match &self.socket {
            Some(path) => {
                let stream = UnixStream::connect(path).map_err(|error| failed(&error))?;
                Client::log_in(Stream::from(stream), &account, 0)
            }
            None => {
                let stream = TcpStream::connect((self.host.as_str(), self.port));
                let stream = stream.map_err(|error| failed(&error))?;
                stream.set_nodelay(true).map_err(|error| failed(&error))?;
                match self.tls()? {
                    Some(tls) => Client::log_in_securely(stream, (&tls, &self.host), &account, 0),
                    None => Client::log_in(Stream::from(stream), &account, 0),
                }
            }
        };
        let client = client.map_err(|error| failed(&error))?;
        let limited = client.set_answer_timeout(Some(ANSWER));
        limited.map_err(|error| failed(&error))?;
        Ok(client)
    }
    fn tls(&self) -> Result<Option<Tls>, String> {
        if self.ssl_mode.eq_ignore_ascii_case("DISABLED") {
            return Ok(None);
        }
        let demand = Demand {
            mode: self.ssl_mode.parse::<Mode>()?,
            authority: self.ssl_ca.clone(),
        };
        Tls::load(&demand).map(Some)
    }
    /// For people.
    pub fn place(&self) -> String {
        match &self.socket {
            Some(path) => path.display().to_string(),
            None => format!("{}:{}", self.host, self.port),
        }
    }
}
