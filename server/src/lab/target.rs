//! The servers that are measured, as the command line names them.

use cohort_mysql::{
    client::{login::Account, url::decoded},
    stream::Stream,
};
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with},
};
use std::{
    collections::HashSet,
    fmt, io,
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::PathBuf,
    str::FromStr,
};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => path.display().fmt(f),
        }
    }
}

impl Address {
    /// Connects, and waits until that is done.
    pub fn connect(&self) -> io::Result<Stream> {
        match self {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                Ok(Stream::from(stream))
            }
            Address::Unix(path) => UnixStream::connect(path).map(Stream::from),
        }
    }

    /// Begins to connect, with a stream that never blocks: the server's first bytes, or its
    /// refusal, tell when it is done. `WouldBlock` if a Unix socket's queue is full.
    pub fn begin_to_connect(&self) -> io::Result<Stream> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = |family| socket_with(family, SocketType::STREAM, flags, None);
        match self {
            Address::Tcp(address) => {
                let family = if address.is_ipv4() {
                    AddressFamily::INET
                } else {
                    AddressFamily::INET6
                };
                let socket: OwnedFd = socket(family)?;
                match connect(&socket, address) {
                    Ok(()) | Err(Errno::INPROGRESS) => {}
                    Err(error) => return Err(error.into()),
                }
                let stream = TcpStream::from(socket);
                stream.set_nodelay(true)?;
                Ok(Stream::from(stream))
            }
            Address::Unix(path) => {
                let socket = socket(AddressFamily::UNIX)?;
                connect(&socket, &SocketAddrUnix::new(path)?)?;
                Ok(Stream::from(UnixStream::from(socket)))
            }
        }
    }
}

/// A server, and how to log in there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Where it listens.
    pub address: Address,
    /// Who logs in.
    pub account: Account,
}

/// A server to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The server of this program, started for the purpose.
    Own,
    /// A server that does next to nothing, started for the purpose: what no server can reach.
    Limit,
    /// One that runs.
    Running {
        /// Its column in the report.
        name: String,
        /// Where it is.
        endpoint: Endpoint,
        /// Its process, if it runs on this machine: its processor time is then counted.
        pid: Option<u32>,
    },
}

/// The name of [`Target::Own`].
pub const OWN: &str = "cohort";
/// The name of [`Target::Limit`].
pub const LIMIT: &str = "limit";

/// Refuses targets that tables could not tell apart.
///
/// # Errors
/// Two have the same name.
pub fn check_names(targets: &[Target]) -> Result<(), String> {
    let names: HashSet<_> = targets.iter().map(Target::name).collect();
    if names.len() < targets.len() {
        return Err("two targets have the same name: give each its own, as in \
                    --target NAME=mysql://…"
            .into());
    }
    Ok(())
}

impl Target {
    /// Its column in the report.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Target::Own => OWN,
            Target::Limit => LIMIT,
            Target::Running { name, .. } => name,
        }
    }
}

const DATABASE: &str = "sbtest";
const FORM: &str = "a target is cohort (this program's own server), limit (a server that does next \
                    to nothing) or NAME=mysql://USER[:PASSWORD]@HOST[:PORT][/DATABASE][?socket=PATH][&pid=N]";

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        if text == OWN {
            return Ok(Target::Own);
        }
        if text == LIMIT {
            return Ok(Target::Limit);
        }
        let (name, url) = match text.split_once('=') {
            Some((name, url)) if !name.contains('/') => (Some(name), url),
            _ => (None, text),
        };
        let rest = url.strip_prefix("mysql://").ok_or(FORM)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, DATABASE));
        let (who, host) = authority.rsplit_once('@').unwrap_or(("root", authority));
        let (user, password) = who.split_once(':').unwrap_or((who, ""));
        let (mut socket, mut pid) = (None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("socket", path)) => socket = Some(PathBuf::from(decoded(path)?)),
                Some(("pid", n)) => pid = Some(n.parse().map_err(|_| format!("pid={n}? {FORM}"))?),
                _ => return Err(format!("{pair}? {FORM}")),
            }
        }
        let address = match socket {
            Some(path) => Address::Unix(path),
            None => Address::Tcp(resolved(host)?),
        };
        let database = if database.is_empty() {
            DATABASE
        } else {
            database
        };
        Ok(Target::Running {
            name: name.unwrap_or(host).to_owned(),
            endpoint: Endpoint {
                address,
                account: Account {
                    user: decoded(user)?,
                    password: decoded(password)?,
                    database: decoded(database)?,
                    ..Account::default()
                },
            },
            pid,
        })
    }
}

fn resolved(host: &str) -> Result<SocketAddr, String> {
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let full = if has_port {
        host.to_owned()
    } else {
        format!("{host}:3306")
    };
    let found = full.to_socket_addrs().map_err(|e| format!("{host}: {e}"))?;
    // `localhost` is often the IPv6 address first, where hardly a server listens.
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found
        .first()
        .copied()
        .ok_or_else(|| format!("{host}: no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(text: &str) -> (String, Endpoint, Option<u32>) {
        match text.parse() {
            Ok(Target::Running {
                name,
                endpoint,
                pid,
            }) => (name, endpoint, pid),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn urls() {
        assert_eq!("cohort".parse(), Ok(Target::Own));
        assert_eq!("limit".parse(), Ok(Target::Limit));
        let (name, endpoint, pid) = running("my=mysql://sb:p%40ss@127.0.0.1:3397/db?pid=7");
        assert_eq!((&*name, pid), ("my", Some(7)));
        assert_eq!(endpoint.address.to_string(), "127.0.0.1:3397");
        let account = endpoint.account;
        assert_eq!((&*account.user, &*account.password), ("sb", "p@ss"));
        assert_eq!(account.database, "db");

        let (name, endpoint, _) = running("mysql://[::1]");
        assert_eq!(name, "[::1]");
        assert_eq!(endpoint.address.to_string(), "[::1]:3306");
        assert_eq!(endpoint.account.user, "root");
        assert_eq!(endpoint.account.database, "sbtest");

        let (_, endpoint, _) = running("x=mysql://sb@localhost/?socket=/run/my%20sql.sock");
        assert_eq!(endpoint.address, Address::Unix("/run/my sql.sock".into()));
    }

    #[test]
    fn what_is_no_url() {
        for text in [
            "postgres://x",
            "a=b",
            "mysql://h/db?x=1",
            "mysql://u%4@127.0.0.1",
            "mysql://127.0.0.1?pid=x",
        ] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }
}
