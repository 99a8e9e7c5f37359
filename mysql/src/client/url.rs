//! URLs of servers.

use super::{
    Client,
    login::Account,
    tls::{Demand, Mode, Tls},
};
use crate::stream::Stream;
use std::{net::TcpStream, str::FromStr};

const PORT: u16 = 3306;

/// `mysql://user[:password]@host[:port][,host[:port]…]/[path][?option=value[&option=value]…]`
///
/// The options have MySQL's names: `ssl-mode` (DISABLED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY) and
/// `ssl-ca`, a file with certificates, and `get-server-public-key` (see [`Account::trusts_key`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl {
    /// `host:port` of each server.
    pub hosts: Vec<String>,
    /// Who logs in. It names no database.
    pub account: Account,
    /// What stands between the host and the options, with its %XX.
    pub path: String,
    /// Whether connections are encrypted, and with whom.
    pub tls: Option<Demand>,
}

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<ServerUrl, String> {
        const FORM: &str = "mysql://user[:password]@host[:port][,host[:port]…]/[path][?ssl-mode=…&ssl-ca=…] \
             is wanted";
        let rest = text.strip_prefix("mysql://").ok_or(FORM)?;
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, hosts) = authority.rsplit_once('@').ok_or(FORM)?;
        let (user, password) = who.split_once(':').unwrap_or((who, ""));
        let hosts = hosts.split(',').map(host).collect::<Option<Vec<_>>>();
        let hosts = hosts.ok_or(FORM)?;
        if user.is_empty() || path.contains('/') {
            return Err(FORM.into());
        }
        let options = Options::parse(options)?;
        Ok(ServerUrl {
            hosts,
            account: Account {
                user: decoded(user)?,
                password: decoded(password)?,
                trusts_key: options.trusts_key,
                ..Account::default()
            },
            path: path.to_owned(),
            tls: options.tls,
        })
    }
}

/// Connects to a server and logs in; over TLS if that is given.
///
/// # Errors
/// What went wrong, as text.
pub fn connect(host: &str, account: &Account, tls: Option<&Tls>) -> Result<Client, super::Error> {
    let stream = TcpStream::connect(host)?;
    stream.set_nodelay(true)?;
    match tls {
        Some(tls) => {
            let (name, _) = split(host);
            Client::log_in_securely(stream, (tls, name), account, 0)
        }
        None => Client::log_in(Stream::from(stream), account, 0),
    }
}

/// The name and the port of a `host:port`; an IPv6 address loses its brackets.
#[must_use]
pub fn split(host: &str) -> (&str, u16) {
    let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
    let name = name.trim_start_matches('[').trim_end_matches(']');
    (name, port.parse().unwrap_or(PORT))
}

/// What a URL's options ask for.
struct Options {
    tls: Option<Demand>,
    trusts_key: bool,
}

impl Options {
    fn parse(options: &str) -> Result<Options, String> {
        let (mut mode, mut authority, mut trusts_key) = (None, None, false);
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("ssl-mode", value)) => mode = Some(value),
                Some(("ssl-ca", path)) => authority = Some(decoded(path)?.into()),
                Some(("get-server-public-key", value @ ("0" | "1"))) => trusts_key = value == "1",
                _ => {
                    return Err(format!(
                        "{option}: ssl-mode=…, ssl-ca=… and get-server-public-key=1 are known"
                    ));
                }
            }
        }
        let mode = match mode {
            // Who names an authority wants it to be asked.
            None => authority.as_ref().map(|_| Mode::VerifyCa),
            Some(mode) if mode.eq_ignore_ascii_case("DISABLED") => None,
            Some(mode) => Some(mode.parse()?),
        };
        Ok(Options {
            tls: mode.map(|mode| Demand { mode, authority }),
            trusts_key,
        })
    }
}

/// A host with its port; an IPv6 address stands in brackets.
fn host(text: &str) -> Option<String> {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()?),
        _ => (text, PORT),
    };
    let is_bare = name.starts_with('[') || !name.contains(':');
    (!name.is_empty() && is_bare).then(|| format!("{name}:{port}"))
}

/// Undoes the %XX of a URL.
pub fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or("").as_bytes());
    for part in parts {
        let code = part
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let code = code.ok_or_else(|| format!("{text}: two hexadecimal digits belong after %"))?;
        bytes.push(code);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).map_err(|_| format!("{text}: not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_hosts() {
        let url: ServerUrl = "mysql://a%40b:c@h:7,[::1]/x%2C,y?ssl-mode=REQUIRED"
            .parse()
            .unwrap();
        assert_eq!((&*url.account.user, &*url.account.password), ("a@b", "c"));
        assert_eq!(url.hosts, ["h:7", "[::1]:3306"]);
        assert_eq!(url.path, "x%2C,y");
        assert_eq!(url.tls.map(|demand| demand.mode), Some(Mode::Required));
        assert_eq!(split("[::1]:3306"), ("::1", 3306));
        assert_eq!(split("h:7"), ("h", 7));
    }
}
