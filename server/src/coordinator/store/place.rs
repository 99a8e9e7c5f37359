//! Where the tables are, if they are in another server or cluster.

use super::schema;
use crate::mysql::client::{login::Account, url::decoded};
use std::str::FromStr;

const PORT: u16 = 3306;

/// `mysql://user[:password]@host[:port][,host[:port]…]/[schema]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `host:port` of each server; the first is the one to use if it works.
    pub hosts: Vec<String>,
    /// Who logs in. It names no database: that is entered later, and made if it is not there.
    pub account: Account,
    /// The schema with the tables.
    pub schema: String,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        const FORM: &str = "mysql://user[:password]@host[:port][,host[:port]…]/[schema] is wanted";
        let rest = text.strip_prefix("mysql://").ok_or(FORM)?;
        let (authority, schema) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, hosts) = authority.rsplit_once('@').ok_or(FORM)?;
        let (user, password) = who.split_once(':').unwrap_or((who, ""));
        let hosts = hosts.split(',').map(host).collect::<Option<Vec<_>>>();
        let hosts = hosts.ok_or(FORM)?;
        if user.is_empty() || schema.contains(['/', '?']) {
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
        for text in [
            "",
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
