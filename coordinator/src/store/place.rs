//! Where the tables are, if they are in another server or cluster.

use super::schema;
use cohort_mysql::client::{
    login::Account,
    tls::Demand,
    url::{ServerUrl, decoded},
};
use std::str::FromStr;

/// A [`ServerUrl`] whose path is the schema.
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
        let url: ServerUrl = text.parse()?;
        let schema = match &*url.path {
            "" => schema::OWN.to_owned(),
            schema => decoded(schema)?,
        };
        Ok(Place {
            hosts: url.hosts,
            account: url.account,
            schema,
            tls: url.tls,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_mysql::client::tls::Mode;

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
