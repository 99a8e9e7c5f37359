//! This program's own server, and the null server, started to be measured.

use super::{
    server::Limit,
    target::{Address, Endpoint},
    temporary::Temporary,
};
use cohort_mysql::client::login::Account;
use std::{
    fs::File,
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long it may take until the server lets clients in; recovery of a used data directory
/// counts.
const START: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(50);

/// A running server; it ends, and its temporary data directory goes, when this is dropped.
pub struct Own {
    child: Child,
    /// Where to log in.
    pub endpoint: Endpoint,
    /// Its data, if that is wanted only for as long as it runs.
    _temporary: Option<Temporary>,
}

impl Own {
    /// Starts the server on a free port, for so many connections. `directory` keeps its data; if
    /// none is given, a temporary one does.
    pub fn start(connections: usize, directory: Option<&Path>) -> Result<Own, String> {
        Own::start_with(connections, directory, &["--coordinator=off".to_owned()])
    }

    /// Starts the null server ([`super::null_server`]).
    pub fn start_null(limit: Limit<'_>) -> Result<Own, String> {
        let made = Temporary::make("null").map_err(|error| error.to_string())?;
        let port = free_port().map_err(|error| format!("no free port: {error}"))?;
        let mut arguments = ["lab", "null-server", "--companion"]
            .map(String::from)
            .to_vec();
        arguments.push(format!("--port={port}"));
        if let Limit::Durable(directory) = limit {
            let log = directory.unwrap_or(made.path()).join("null");
            arguments.push(format!("--datadir={}", log.display()));
        }
        let output = made.path().join("null.log");
        let child = spawn(&arguments, &output)?;
        Own::reached(child, port, Some(made), &output)
    }

    /// The same with flags of `cohort serve`.
    pub fn start_with(
        connections: usize,
        directory: Option<&Path>,
        flags: &[String],
    ) -> Result<Own, String> {
        let port = free_port().map_err(|error| format!("no free port: {error}"))?;
        let made = match directory {
            Some(_) => None,
            None => Some(Temporary::make("server").map_err(|error| error.to_string())?),
        };
        let kept = directory.or_else(|| made.as_ref().map(Temporary::path));
        let root = kept.expect("given or made");
        std::fs::create_dir_all(root).map_err(|e| format!("{}: {e}", root.display()))?;
        let log = root.join("cohort.log");
        let mut arguments = ["serve", "--companion"].map(String::from).to_vec();
        arguments.push(format!("--port={port}"));
        arguments.push(format!("--max-connections={connections}"));
        arguments.push(format!("--datadir={}", root.join("data").display()));
        arguments.extend_from_slice(flags);
        let child = spawn(&arguments, &log)?;
        Own::reached(child, port, made, &log)
    }

    /// A server that was started, when it lets clients in.
    fn reached(
        child: Child,
        port: u16,
        temporary: Option<Temporary>,
        log: &Path,
    ) -> Result<Own, String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut server = Own {
            child,
            endpoint: Endpoint {
                address: Address::Tcp(address),
                account: Account {
                    user: "root".into(),
                    ..Account::default()
                },
            },
            _temporary: temporary,
        };
        server.wait(log)?;
        Ok(server)
    }

    /// Starts the server with its coordinator on free ports; where that takes global transactions
    /// over HTTP.
    pub fn start_coordinating(
        connections: usize,
        directory: Option<&Path>,
    ) -> Result<(Own, SocketAddr), String> {
        let port = || free_port().map_err(|error| format!("no free port: {error}"));
        let http = port()?;
        let flags = [
            "--coordinator=on".to_owned(),
            format!("--coordinator-port={http}"),
            format!("--coordinator-grpc-port={}", port()?),
        ];
        let own = Own::start_with(connections, directory, &flags)?;
        Ok((own, SocketAddr::from((Ipv4Addr::LOCALHOST, http))))
    }

    /// The server's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it lets clients in.
    fn wait(&mut self, log: &Path) -> Result<(), String> {
        let until = Instant::now() + START;
        loop {
            let error = match self.endpoint.connect() {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            let ended = self.child.try_wait().ok().flatten().is_some();
            if ended || Instant::now() > until {
                let said = std::fs::read_to_string(log).unwrap_or_default();
                return Err(format!(
                    "the server does not start ({error}); it says:\n{said}"
                ));
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // It may have ended by itself; its data is not wanted any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port nobody listens on; somebody may come before the server, which then says so.
pub(super) fn free_port() -> io::Result<u16> {
    let probe = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(probe.local_addr()?.port())
}

/// Starts this program once more. `--companion` gives it a session of its own: some kernels share
/// processors fairly between sessions, and a server in ours would get what the load generator leaves
/// of our share.
fn spawn(arguments: &[String], log: &Path) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = File::create(log).map_err(|e| format!("{}: {e}", log.display()))?;
    let errors = output.try_clone().map_err(|error| error.to_string())?;
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|error| format!("starting the server: {error}"))
}
