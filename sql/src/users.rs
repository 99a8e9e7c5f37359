//! Accounts: who may log in, how they prove it, and whether they may do everything.
//!
//! An account is an internal record of the data dictionary, so that it is as durable as a table
//! and arrives with its commit. Privileges are all (`GRANT ALL ON *.*`) or nothing.
//!
//! Record: key `user/` name `\0` host; value: plugin, authentication string, and one byte of
//! flags (1: all privileges, 2: grant option, 4: REQUIRE SSL, 8: X509, 16: of a certificate). Then,
//! for the last, of subject, issuer and cipher each whether there is one (1 byte), and it. All
//! strings are behind their lengths (2 bytes, little endian).

use crate::error::SqlError;
use cohort_engine::{
    txn::{DdlStatement, Dictionary, Engine, Owner, Related, SchemaChange, Unattended},
    types::{Collation, collation},
};
use std::{fmt, net::Ipv4Addr, sync::Arc};

/// The plugin of MySQL 9's clients.
pub const CACHING_SHA2: &str = "caching_sha2_password";
/// The plugin of older ones.
pub const NATIVE: &str = "mysql_native_password";

/// The privileges that ALL stands for, as GRANT's result and USER_PRIVILEGES name them.
pub const PRIVILEGES: [&str; 31] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "RELOAD",
    "SHUTDOWN",
    "PROCESS",
    "FILE",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "SHOW DATABASES",
    "SUPER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "CREATE USER",
    "EVENT",
    "TRIGGER",
    "CREATE TABLESPACE",
    "CREATE ROLE",
    "DROP ROLE",
    "XA_RECOVER_ADMIN",
];

const PREFIX: &[u8] = b"user/";
/// Says that the first account was made once, so that it does not come back after DROP USER.
const MADE: &[u8] = b"users-made";

const ALL: u8 = 1;
const GRANT_OPTION: u8 = 2;
const SSL: u8 = 4;
const X509: u8 = 8;
const SPECIFIED: u8 = 16;

/// REQUIRE: what an account's connections must be like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Requirement {
    /// As they like.
    #[default]
    None,
    /// With TLS.
    Ssl,
    /// With TLS, and a certificate of the client's.
    X509,
    /// The same, and with these.
    Specified(Box<Specified>),
}

/// What REQUIRE names; `None` for what it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Specified {
    /// Whose the certificate is.
    pub subject: Option<String>,
    /// Who has signed it.
    pub issuer: Option<String>,
    /// The cipher.
    pub cipher: Option<String>,
}

impl Specified {
    /// With the keywords, in the order in which they are shown.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, &Option<String>); 3] {
        [
            ("SUBJECT", &self.subject),
            ("ISSUER", &self.issuer),
            ("CIPHER", &self.cipher),
        ]
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let specified = match self {
            Requirement::None => return f.write_str("NONE"),
            Requirement::Ssl => return f.write_str("SSL"),
            Requirement::X509 => return f.write_str("X509"),
            Requirement::Specified(specified) => specified,
        };
        let mut space = "";
        for (keyword, text) in specified.parts() {
            if let Some(text) = text {
                let text = text.replace('\\', "\\\\").replace('\'', "''");
                write!(f, "{space}{keyword} '{text}'")?;
                space = " ";
            }
        }
        Ok(())
    }
}

impl Requirement {
    fn flag(&self) -> u8 {
        match self {
            Requirement::None => 0,
            Requirement::Ssl => SSL,
            Requirement::X509 => X509,
            Requirement::Specified(_) => SPECIFIED,
        }
    }
    fn encode(&self, value: &mut Vec<u8>) {
        if let Requirement::Specified(specified) = self {
            for (_, text) in specified.parts() {
                value.push(u8::from(text.is_some()));
                put_string(value, text.as_deref().unwrap_or_default());
            }
        }
    }
    fn decode(flags: u8, mut rest: &[u8]) -> Option<Requirement> {
        let mut take = || {
            let (is_some, after) = rest.split_first()?;
            let (text, after) = take_string(after)?;
            rest = after;
            Some((*is_some != 0).then_some(text))
        };
        Some(match flags & (SSL | X509 | SPECIFIED) {
            0 => Requirement::None,
            SSL => Requirement::Ssl,
            X509 => Requirement::X509,
            SPECIFIED => Requirement::Specified(Box::new(Specified {
                subject: take()?,
                issuer: take()?,
                cipher: take()?,
            })),
            _ => return None,
        })
    }
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's name; empty for anyone.
    pub user: String,
    /// The pattern of hosts it may come from.
    pub host: String,
    /// How it proves who it is.
    pub plugin: String,
    /// What the plugin stores of the password; empty for none.
    pub authentication: String,
    /// REQUIRE.
    pub requirement: Requirement,
    /// GRANT ALL ON *.*.
    pub all: bool,
    /// WITH GRANT OPTION.
    pub grant_option: bool,
}

impl Account {
    /// `'name'@'host'`, as messages and GRANT write it.
    #[must_use]
    pub fn quoted(&self) -> String {
        format!("'{}'@'{}'", self.user, self.host)
    }

    fn key(user: &str, host: &str) -> Vec<u8> {
        [PREFIX, user.as_bytes(), &[0], host.as_bytes()].concat()
    }

    fn encode(&self) -> Vec<u8> {
        let mut value = Vec::new();
        put_string(&mut value, &self.plugin);
        put_string(&mut value, &self.authentication);
        let all = if self.all { ALL } else { 0 };
        let grant_option = if self.grant_option { GRANT_OPTION } else { 0 };
        value.push(all | grant_option | self.requirement.flag());
        self.requirement.encode(&mut value);
        value
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<Account> {
        let name = key.strip_prefix(PREFIX)?;
        let zero = name.iter().position(|&byte| byte == 0)?;
        let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let (plugin, rest) = take_string(value)?;
        let (authentication, rest) = take_string(rest)?;
        let (&flags, rest) = rest.split_first()?;
        Some(Account {
            user: string(name.get(..zero)?)?,
            host: string(name.get(zero + 1..)?)?,
            plugin,
            authentication,
            requirement: Requirement::decode(flags, rest)?,
            all: flags & ALL != 0,
            grant_option: flags & GRANT_OPTION != 0,
        })
    }

    /// Whether a client from a place with this name or address is meant.
    fn takes(&self, host: &str) -> bool {
        if let Some((network, mask)) = self.host.split_once('/') {
            let parse = |text: &str| text.parse::<Ipv4Addr>().ok().map(u32::from);
            return match (parse(network), parse(mask), parse(host)) {
                (Some(network), Some(mask), Some(host)) => host & mask == network,
                _ => false,
            };
        }
        let (pattern, host) = (self.host.to_lowercase(), host.to_lowercase());
        let escape = Some('\\');
        collation::like(
            Collation::Binary,
            host.as_bytes(),
            pattern.as_bytes(),
            escape,
        )
    }

    /// How specific the pattern of hosts is; the most specific account that fits is taken.
    fn rank(&self) -> (bool, usize, bool) {
        let wildcard = self.host.find(['%', '_']);
        (
            wildcard.is_none(),
            wildcard.unwrap_or(usize::MAX),
            !self.user.is_empty(),
        )
    }
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    // All are far shorter: the parser bounds them.
    let length = u16::try_from(text.len()).unwrap_or(0);
    out.extend_from_slice(&length.to_le_bytes());
    let text = text.as_bytes().get(..usize::from(length));
    out.extend_from_slice(text.unwrap_or_default());
}

fn take_string(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let (text, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    Some((String::from_utf8(text.to_vec()).ok()?, rest))
}

/// All accounts, as of now.
pub struct Users(Arc<Dictionary>);

impl Users {
    /// Those in a dictionary.
    #[must_use]
    pub fn new(dictionary: Arc<Dictionary>) -> Users {
        Users(dictionary)
    }
    /// All of them, by name and host.
    #[must_use]
    pub fn list(&self) -> Vec<Account> {
        let records = self.0.records(PREFIX);
        records
            .filter_map(|(key, value)| Account::decode(key, value))
            .collect()
    }
    /// The account of this very name and host pattern.
    #[must_use]
    pub fn get(&self, user: &str, host: &str) -> Option<Account> {
        let key = Account::key(user, host);
        self.0
            .record(&key)
            .and_then(|value| Account::decode(&key, value))
    }
    /// The account that a client logs in as, by the user name it gives and the names and
    /// addresses of where it comes from.
    #[must_use]
    pub fn find(&self, user: &str, hosts: &[&str]) -> Option<Account> {
        let fits = |account: &Account| {
            (account.user == user || account.user.is_empty())
                && hosts.iter().any(|host| account.takes(host))
        };
        self.list()
            .into_iter()
            .filter(fits)
            .max_by_key(Account::rank)
    }
}

/// A schema change that stores and removes accounts.
#[must_use]
pub fn change(put: &[Account], remove: &[Account]) -> SchemaChange<'static> {
    let removed = remove
        .iter()
        .map(|account| (Account::key(&account.user, &account.host), None));
    let stored = put.iter().map(|account| {
        (
            Account::key(&account.user, &account.host),
            Some(account.encode()),
        )
    });
    SchemaChange::Records(removed.chain(stored).collect())
}

/// Gives a new data directory its first account, root@localhost without a password. Returns
/// whether it did.
pub fn make_first(engine: &Engine) -> Result<bool, SqlError> {
    if engine.dictionary().record(MADE).is_some() {
        return Ok(false);
    }
    let root = Account {
        user: "root".into(),
        host: "localhost".into(),
        plugin: CACHING_SHA2.into(),
        authentication: String::new(),
        requirement: Requirement::None,
        all: true,
        grant_option: true,
    };
    let records = vec![
        (Account::key(&root.user, &root.host), Some(root.encode())),
        (MADE.to_vec(), Some(Vec::new())),
    ];
    let statement = DdlStatement {
        database: String::new(),
        text: "CREATE USER IF NOT EXISTS 'root'@'localhost'".into(),
        reading: cohort_engine::log::Reading::PLAIN,
        foreign_key_checks: true,
    };
    let owner = Owner::new(0, Arc::new(Unattended));
    engine.change_schema(
        &owner,
        SchemaChange::Records(records),
        &Related::default(),
        &statement,
        1000,
        None,
    )?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(user: &str, host: &str) -> Account {
        Account {
            user: user.into(),
            host: host.into(),
            plugin: NATIVE.into(),
            authentication: "*AB".into(),
            requirement: Requirement::None,
            all: true,
            grant_option: false,
        }
    }

    #[test]
    fn records_round_trip() {
        let specified = Specified {
            subject: Some("/CN=it's".into()),
            issuer: None,
            cipher: Some(String::new()),
        };
        let specified = Requirement::Specified(Box::new(specified));
        assert_eq!(specified.to_string(), "SUBJECT '/CN=it''s' CIPHER ''");
        for requirement in [
            Requirement::None,
            Requirement::Ssl,
            Requirement::X509,
            specified,
        ] {
            let one = Account {
                requirement,
                ..account("a", "%")
            };
            assert_eq!(
                Account::decode(&Account::key("a", "%"), &one.encode()),
                Some(one)
            );
        }
        assert_eq!(Account::decode(b"user/a\0%", b"\x05\x00ab"), None);
    }

    #[test]
    fn host_patterns() {
        assert!(account("a", "%").takes("10.0.0.1"));
        assert!(account("a", "10.0.%").takes("10.0.3.4"));
        assert!(!account("a", "localhost").takes("10.0.0.1"));
        assert!(account("a", "LOCALHOST").takes("localhost"));
        assert!(account("a", "10.0.0.0/255.0.0.0").takes("10.9.8.7"));
    }

    #[test]
    fn the_most_specific_account_wins() {
        let ranks = ["%", "10.%", "10.0.0.1"].map(|host| account("a", host).rank());
        assert!(ranks.is_sorted());
        assert!(account("", "%").rank() < account("a", "%").rank());
    }
}
