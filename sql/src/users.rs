//! Accounts and roles: who may log in, how they prove it, and what they were granted.
//!
//! An account is an internal record of the data dictionary, so that it is as durable as a table
//! and arrives with its commit. A role is an account that is locked and has no password.
//!
//! Record: key `user/` name `\0` host; value: a JSON object, the fields of [`Account`] but these
//! two. What is missing in it is as it was in a new account, so that later versions can have more.
//!
//! Version 0.1 wrote other values, which are read as well: plugin, authentication string, and one
//! byte of flags (1: all privileges, 2: grant option, 4: REQUIRE SSL, 8: X509, 16: of a
//! certificate). Then, for the last, of subject, issuer and cipher each whether there is one (1
//! byte), and it. All strings are behind their lengths (2 bytes, little endian).

use crate::{
    account_limits::Limits,
    error::SqlError,
    password_history::{History, Policy},
    privileges::{Grants, quoted_account},
};
use cohort_engine::{
    invariant::broken,
    txn::{DdlStatement, Dictionary, Engine, Owner, Related, SchemaChange, Unattended},
    types::{Collation, collation},
};
use serde::{Deserialize, Serialize};
use std::{fmt, net::Ipv4Addr, sync::Arc};

/// The plugin of MySQL 9's clients.
pub const CACHING_SHA2: &str = "caching_sha2_password";
/// The plugin of older ones.
pub const NATIVE: &str = "mysql_native_password";

const PREFIX: &[u8] = b"user/";
/// Says that the first account was made once, so that it does not come back after DROP USER.
const MADE: &[u8] = b"users-made";

const ALL: u8 = 1;
const GRANT_OPTION: u8 = 2;
const SSL: u8 = 4;
const X509: u8 = 8;
const SPECIFIED: u8 = 16;

/// REQUIRE: what an account's connections must be like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// As version 0.1 wrote it.
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

/// A day, in seconds.
pub const DAY: u64 = 86_400;

/// PASSWORD EXPIRE: how long a password holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lifetime {
    /// DEFAULT: as default_password_lifetime says.
    #[default]
    Default,
    /// NEVER: it does not end.
    Never,
    /// INTERVAL: so many days.
    Days(u16),
}

impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lifetime::Default => f.write_str("DEFAULT"),
            Lifetime::Never => f.write_str("NEVER"),
            Lifetime::Days(days) => write!(f, "INTERVAL {days} DAY"),
        }
    }
}

/// After how many wrong passwords in a row nobody gets in, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lockout {
    /// FAILED_LOGIN_ATTEMPTS; 0: never.
    #[serde(default)]
    pub attempts: u16,
    /// PASSWORD_LOCK_TIME, in days; 0: never.
    #[serde(default)]
    pub days: LockTime,
}

/// PASSWORD_LOCK_TIME.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LockTime {
    /// So many days.
    Days(u16),
    /// UNBOUNDED: until somebody unlocks it.
    Unbounded,
}

impl Default for LockTime {
    fn default() -> LockTime {
        LockTime::Days(0)
    }
}

impl fmt::Display for LockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockTime::Days(days) => days.fmt(f),
            LockTime::Unbounded => f.write_str("UNBOUNDED"),
        }
    }
}

impl Lockout {
    /// Whether wrong passwords count at all.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.attempts > 0 && self.days != LockTime::Days(0)
    }
}

/// An account or a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The user's name; empty for anyone.
    #[serde(skip)]
    pub user: String,
    /// The pattern of hosts it may come from.
    #[serde(skip)]
    pub host: String,
    /// How it proves who it is.
    pub plugin: String,
    /// What the plugin stores of the password; empty for none.
    #[serde(default)]
    pub authentication: String,
    /// RETAIN CURRENT PASSWORD: the same of the password before, which is right as well; empty for
    /// none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub second: String,
    /// REQUIRE.
    #[serde(default)]
    pub requirement: Requirement,
    /// ACCOUNT LOCK: nobody logs in.
    #[serde(default)]
    pub locked: bool,
    /// COMMENT and ATTRIBUTE.
    #[serde(default)]
    pub attributes: Option<serde_json::Map<String, serde_json::Value>>,
    /// When the password was set, in seconds since 1970; 0: not known.
    #[serde(default)]
    pub password_changed: u64,
    /// PASSWORD EXPIRE: a new password must be set before anything else.
    #[serde(default)]
    pub password_expired: bool,
    /// How long a password holds.
    #[serde(default)]
    pub lifetime: Lifetime,
    /// FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME.
    #[serde(default)]
    pub lockout: Lockout,
    /// PASSWORD HISTORY and its kin.
    #[serde(default)]
    pub policy: Policy,
    /// The passwords that it must not have again yet, the last one first.
    #[serde(default, skip_serializing_if = "History::is_empty")]
    pub past: History,
    /// WITH MAX_QUERIES_PER_HOUR and its kin.
    #[serde(default)]
    pub limits: Limits,
    /// What it was granted.
    #[serde(default)]
    pub grants: Grants,
    /// The roles that are active when it logs in: their names and hosts.
    #[serde(default)]
    pub default_roles: Vec<(String, String)>,
}

impl Account {
    /// A new one, which may do nothing.
    #[must_use]
    pub fn new(user: &str, host: &str) -> Account {
        Account {
            user: user.to_owned(),
            host: host.to_owned(),
            plugin: CACHING_SHA2.to_owned(),
            authentication: String::new(),
            second: String::new(),
            requirement: Requirement::None,
            locked: false,
            attributes: None,
            password_changed: 0,
            password_expired: false,
            lifetime: Lifetime::default(),
            lockout: Lockout::default(),
            policy: Policy::default(),
            past: History::default(),
            limits: Limits::default(),
            grants: Grants::default(),
            default_roles: Vec::new(),
        }
    }

    /// Whether the password has to be changed, at a time in seconds since 1970; `usual_days`:
    /// default_password_lifetime, 0 for none.
    #[must_use]
    pub fn has_expired(&self, now: u64, usual_days: u64) -> bool {
        let days = match self.lifetime {
            Lifetime::Default => usual_days,
            Lifetime::Never => 0,
            Lifetime::Days(days) => days.into(),
        };
        let end = self
            .password_changed
            .saturating_add(days.saturating_mul(DAY));
        // Without a password there is none that gets old.
        let is_old = days > 0 && !self.authentication.is_empty() && end <= now;
        self.password_expired || is_old
    }

    /// `'name'@'host'`, as messages and GRANT write it.
    #[must_use]
    pub fn quoted(&self) -> String {
        format!("'{}'@'{}'", self.user, self.host)
    }

    /// `` `name`@`host` ``, as SHOW GRANTS writes it.
    #[must_use]
    pub fn backticked(&self) -> String {
        quoted_account(&self.user, &self.host)
    }

    /// COMMENT and ATTRIBUTE as the text of a JSON object, as MySQL writes it.
    #[must_use]
    pub fn attributes_text(&self) -> Option<String> {
        let attributes = self.attributes.clone()?;
        Some(spaced(&serde_json::Value::Object(attributes)))
    }

    /// Whether it is of this name and host.
    #[must_use]
    pub fn is(&self, user: &str, host: &str) -> bool {
        self.user == user && self.host == host
    }

    fn key(user: &str, host: &str) -> Vec<u8> {
        [PREFIX, user.as_bytes(), &[0], host.as_bytes()].concat()
    }

    fn encode(&self) -> Result<Vec<u8>, SqlError> {
        serde_json::to_vec(self).map_err(SqlError::internal)
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<Account> {
        let name = key.strip_prefix(PREFIX)?;
        let zero = name.iter().position(|&byte| byte == 0)?;
        let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let (user, host) = (string(name.get(..zero)?)?, string(name.get(zero + 1..)?)?);
        let account = match value.first() {
            // No name of a plugin is that long.
            Some(b'{') => serde_json::from_slice(value).ok()?,
            _ => Account::of_first_version(value)?,
        };
        Some(Account {
            user,
            host,
            ..account
        })
    }

    /// As version 0.1 wrote it.
    fn of_first_version(value: &[u8]) -> Option<Account> {
        let (plugin, rest) = take_string(value)?;
        let (authentication, rest) = take_string(rest)?;
        let (&flags, rest) = rest.split_first()?;
        Some(Account {
            plugin,
            authentication,
            requirement: Requirement::decode(flags, rest)?,
            grants: match flags & ALL != 0 {
                true => Grants::everything(flags & GRANT_OPTION != 0),
                false => Grants::default(),
            },
            ..Account::new("", "")
        })
    }

    /// Whether a client from a place with this name or address is meant.
    fn takes(&self, host: &str) -> bool {
        if let Some((network, mask)) = self.host.split_once('/') {
            let parse = |text: &str| text.parse::<Ipv4Addr>().ok().map(u32::from);
            let prefix = |text: &str| {
                let bits: u32 = text.parse().ok().filter(|bits| *bits <= 32)?;
                Some(u32::MAX.checked_shl(32 - bits).unwrap_or(0))
            };
            let mask_of = |text: &str| parse(text).or_else(|| prefix(text));
            return match (parse(network), mask_of(mask), parse(host)) {
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

fn take_string(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let (text, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    Some((String::from_utf8(text.to_vec()).ok()?, rest))
}

/// What a record is called in messages, even if nothing of it can be read.
fn record_name(key: &[u8]) -> String {
    let name = key.strip_prefix(PREFIX).unwrap_or(key);
    let name = String::from_utf8_lossy(name).replace('\0', "@");
    format!("the record of account {name:?}")
}

/// JSON with spaces, as MySQL writes it: of two members the one with the shorter name comes first.
fn spaced(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_by_key(|(name, _)| (name.len(), *name));
            let texts = members.into_iter();
            let texts = texts
                .map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), spaced(value)));
            format!("{{{}}}", texts.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(spaced).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// All accounts and roles, as of one version of the dictionary. They never change: an account
/// statement makes others.
#[derive(Debug, Default)]
pub struct Users {
    /// By name and host.
    accounts: Vec<Arc<Account>>,
    /// What they were made of.
    records: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Users {
    /// Those in a dictionary, all of whose records can be read: a server asks
    /// [`Users::unreadable`] before it starts, and writes only what it can read.
    #[must_use]
    pub fn new(dictionary: &Dictionary) -> Users {
        let records = dictionary.records(PREFIX);
        let records = records.map(|(key, value)| (key.to_vec(), value.to_vec()));
        let records: Vec<_> = records.collect();
        let accounts = records.iter();
        let accounts = accounts.filter_map(|(key, value)| {
            let account = Account::decode(key, value);
            if account.is_none() {
                broken(format_args!("{} can be read", record_name(key)));
            }
            account
        });
        Users {
            accounts: accounts.map(Arc::new).collect(),
            records,
        }
    }
    /// The first record of an account in a dictionary that cannot be read: it is damaged, or of a
    /// later version. Without it somebody could do more, or less, than was granted.
    #[must_use]
    pub fn unreadable(dictionary: &Dictionary) -> Option<String> {
        let mut records = dictionary.records(PREFIX);
        let record = records.find(|(key, value)| Account::decode(key, value).is_none());
        record.map(|(key, _)| record_name(key))
    }
    /// Whether a dictionary has the same.
    #[must_use]
    pub fn are_those_of(&self, dictionary: &Dictionary) -> bool {
        let own = self.records.iter();
        let own = own.map(|(key, value)| (key.as_slice(), value.as_slice()));
        own.eq(dictionary.records(PREFIX))
    }
    /// All of them, by name and host.
    #[must_use]
    pub fn list(&self) -> &[Arc<Account>] {
        &self.accounts
    }
    /// The account of this very name and host pattern.
    #[must_use]
    pub fn get(&self, user: &str, host: &str) -> Option<&Arc<Account>> {
        self.accounts.iter().find(|account| account.is(user, host))
    }
    /// The account that a client logs in as, by the user name it gives and the names and
    /// addresses of where it comes from.
    #[must_use]
    pub fn find(&self, user: &str, hosts: &[&str]) -> Option<&Arc<Account>> {
        let fits = |account: &&Arc<Account>| {
            (account.user == user || account.user.is_empty())
                && hosts.iter().any(|host| account.takes(host))
        };
        let fitting = self.accounts.iter().filter(fits);
        fitting.max_by_key(|account| account.rank())
    }
    /// An account with roles, and the roles that were granted to these.
    #[must_use]
    pub fn with_roles(
        &self,
        account: &Arc<Account>,
        roles: &[(String, String)],
    ) -> Vec<Arc<Account>> {
        let mut members = vec![Arc::clone(account)];
        let mut todo = roles.to_vec();
        while let Some((user, host)) = todo.pop() {
            let is_new = !members.iter().any(|member| member.is(&user, &host));
            if is_new && let Some(role) = self.get(&user, &host) {
                let further = role.grants.roles.iter();
                todo.extend(further.map(|role| (role.user.clone(), role.host.clone())));
                members.push(Arc::clone(role));
            }
        }
        members
    }
}

/// A schema change that stores and removes accounts.
///
/// # Errors
/// An account cannot be written as JSON.
pub fn change(put: &[Account], remove: &[Account]) -> Result<SchemaChange<'static>, SqlError> {
    let removed = remove.iter();
    let removed = removed.map(|account| Ok((Account::key(&account.user, &account.host), None)));
    let stored = put.iter().map(|account| {
        let key = Account::key(&account.user, &account.host);
        Ok((key, Some(account.encode()?)))
    });
    let records: Result<_, SqlError> = removed.chain(stored).collect();
    Ok(SchemaChange::Records(records?))
}

/// Gives a new data directory its first account, root@localhost without a password. Returns
/// whether it did.
pub fn make_first(engine: &Engine) -> Result<bool, SqlError> {
    if engine.dictionary().record(MADE).is_some() {
        return Ok(false);
    }
    let root = Account {
        grants: Grants::everything(true),
        ..Account::new("root", "localhost")
    };
    let records = vec![
        (Account::key(&root.user, &root.host), Some(root.encode()?)),
        (MADE.to_vec(), Some(Vec::new())),
    ];
    let statement = DdlStatement {
        database: String::new(),
        text: "CREATE USER IF NOT EXISTS 'root'@'localhost'".into(),
        reading: cohort_engine::log::Reading::PLAIN,
        foreign_key_checks: true,
        threads: 1,
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
        Account::new(user, host)
    }

    #[test]
    fn records_that_cannot_be_read_are_named() {
        let key = Account::key("a", "%");
        for record in [&b"{\"plugin\": 1}"[..], b"{", b"", b"\xff\xff"] {
            assert_eq!(Account::decode(&key, record), None, "{record:?}");
        }
        assert_eq!(record_name(&key), "the record of account \"a@%\"");
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
                locked: true,
                grants: Grants::everything(false),
                ..account("a", "%")
            };
            assert_eq!(
                Account::decode(&Account::key("a", "%"), &one.encode().unwrap()),
                Some(one)
            );
        }
        assert_eq!(Account::decode(b"user/a\0%", b"\x05\x00ab"), None);
    }

    #[test]
    fn records_of_the_first_version_are_read() {
        let key = Account::key("a", "%");
        let mut value = b"\x15\0mysql_native_password\x03\0*AB".to_vec();
        value.push(ALL | SPECIFIED);
        value.extend_from_slice(b"\x01\x02\0/C\0\0\0\x01\0\0");
        let read = Account::decode(&key, &value).unwrap();
        assert_eq!(read.plugin, NATIVE);
        assert_eq!(read.authentication, "*AB");
        assert_eq!(read.requirement.to_string(), "SUBJECT '/C' CIPHER ''");
        assert_eq!(read.grants, Grants::everything(false));
        let length = value.len() - 11;
        value.truncate(length);
        *value.last_mut().unwrap() = SSL;
        let read = Account::decode(&key, &value).unwrap();
        assert_eq!(read.requirement, Requirement::Ssl);
        assert_eq!(read.grants, Grants::default());
    }

    #[test]
    fn host_patterns() {
        assert!(account("a", "%").takes("10.0.0.1"));
        assert!(account("a", "10.0.%").takes("10.0.3.4"));
        assert!(!account("a", "localhost").takes("10.0.0.1"));
        assert!(account("a", "LOCALHOST").takes("localhost"));
        assert!(account("a", "10.0.0.0/255.0.0.0").takes("10.9.8.7"));
        assert!(account("a", "10.0.0.0/8").takes("10.9.8.7"));
        assert!(!account("a", "10.0.0.0/16").takes("10.9.8.7"));
        assert!(account("a", "0.0.0.0/0").takes("10.9.8.7"));
    }

    #[test]
    fn the_most_specific_account_wins() {
        let ranks = ["%", "10.%", "10.0.0.1"].map(|host| account("a", host).rank());
        assert!(ranks.is_sorted());
        assert!(account("", "%").rank() < account("a", "%").rank());
    }
}
