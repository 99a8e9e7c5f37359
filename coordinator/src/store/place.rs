//! Where the tables are, if they are in another server or cluster.

use super::schema;
use cohort_mysql::client::{
    login::Account,
    tls::{Demand, Mode},
    url::decoded,
};
use std::str::FromStr;

const PORT: u16 = 3306;

/// `mysql://user[:password]@host[:port][,host[:port]…]/[schema][?option=value[&option=value]…]`
///
/// The options have MySQL's names: `ssl-mode` (DISABLED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY) and
/// `ssl-ca`, a file with certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `host:port` of each server; the first is the one to use if it works.
    pub hosts: Vec<String>,
    /// Who logs in. It names no database: that is entered later, and made if it is not there.
    pub account: Account,
    /// The schema with the tables.
    pub schema: String,
    /// Whether connections are encrypted, and with whom.
    pub tls: Option<Demand>,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        const FORM: &str = "mysql://user[:password]@host[:port][,host[:port]…]/[schema][?ssl-mode=…&ssl-ca=…] \
             is wanted";
        let rest = text.strip_prefix("mysql://").ok_or(FORM)?;
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, schema) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, hosts) = authority.rsplit_once('@').ok_or(FORM)?;
        let (user, password) = who.split_once(':').unwrap_or((who, ""));
        let hosts = hosts.split(',').map(host).collect::<Option<Vec<_>>>();
        let hosts = hosts.ok_or(FORM)?;
        if user.is_empty() || schema.contains('/') {
            return Err(FORM.into());
        }
        let schema = match schema {
            "" => schema::OWN.to_owned(),
            schema => decoded(schema)?,
        };
        Ok(Place {
            hosts,
            account: Account {
                user: decoded(user)?,
                password: decoded(password)?,
                database: String::new(),
            },
            schema,
            tls: demand(options)?,
        })
    }
}

/// What a URL's options ask of TLS.
fn demand(options: &str) -> Result<Option<Demand>, String> {
    let (mut mode, mut authority) = (None, None);
    for option in options.split('&').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("ssl-mode", value)) => mode = Some(value),
            Some(("ssl-ca", path)) => authority = Some(decoded(path)?.into()),
            _ => return Err(format!("{option}: ssl-mode=… and ssl-ca=… are known")),
        }
    }
    let mode = match mode {
        None if authority.is_none() => return Ok(None),
        // Who names an authority wants it to be asked.
        None => Mode::VerifyCa,
        Some(mode) if mode.eq_ignore_ascii_case("DISABLED") => return Ok(None),
        Some(mode) => mode.parse()?,
    };
    Ok(Some(Demand { mode, authority }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let place: Place = "mysql://co:p%40s@db1,db2:3307,[::1]:1/tx".parse().unwrap();
        assert_eq!(place.hosts, ["db1:3306", "db2:3307", "[::1]:1"]);
        assert_eq!(
            (&*place.account.user, &*place.account.password),
            ("co", "p@s")
        );
        assert_eq!((&*place.schema, &*place.account.database), ("tx", ""));
        for text in ["mysql://u@h", "mysql://u@h/"] {
            let place: Place = text.parse().unwrap();
            assert_eq!((&*place.schema, &*place.hosts[0]), ("cohort", "h:3306"));
        }
        let tls = |options: &str| {
            let place: Place = format!("mysql://u@h/x{options}").parse().unwrap();
            place.tls.map(|demand| (demand.mode, demand.authority))
        };
        let ca = Some("/a b.pem".into());
        assert_eq!(tls(""), None);
        assert_eq!(tls("?ssl-mode=disabled"), None);
        assert_eq!(tls("?ssl-mode=REQUIRED"), Some((Mode::Required, None)));
        assert_eq!(
            tls("?ssl-ca=/a%20b.pem"),
            Some((Mode::VerifyCa, ca.clone()))
        );
        let all = "?ssl-ca=/a%20b.pem&ssl-mode=VERIFY_IDENTITY";
        assert_eq!(tls(all), Some((Mode::VerifyIdentity, ca)));
        for text in [
            "",
            "mysql://u@h/x?ssl-mode=PERHAPS",
            "mysql://u@h/x?ssl-mode",
            "mysql://",
            "mysql://h/x",
            "mysql://@h/x",
            "mysql://u@/x",
            "mysql://u@h,/x",
            "mysql://u@h:port/x",
            "mysql://u@::1/x",
            "mysql://u@h/x?y=1",
            "postgres://u@h/x",
        ] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }
}
