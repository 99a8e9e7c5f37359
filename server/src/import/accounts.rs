//! Accounts and roles: their names, hashes of passwords, and rights.
//!
//! None gets more rights than it had: what an account may only be with less of, such as a second way to
//! prove who it is, keeps it away.
//!
//! An account is made under another name and renamed when it has its rights, so that one with a name of
//! the source's is always whole. Roles are made before those that have them.

use super::{
    look::Refused,
    rights::{self, Right, is_on_nothing},
    servers::{Flavor, Session},
    text::{name, string, without_quoted},
};
use cohort_mysql::client::wire::ServerError;
use std::collections::BTreeSet;

/// The accounts that a server makes for itself.
const OWN: [&str; 4] = [
    "mysql.sys",
    "mysql.session",
    "mysql.infoschema",
    "mariadb.sys",
];

/// The host of accounts that may come from any.
const ANYWHERE: &str = "%";

/// The name that an account has until it is whole begins so.
const TRIAL: &str = "cohort_import_trial";

/// An account.
#[derive(Clone, Debug)]
pub struct Account {
    user: String,
    host: String,
    /// What CREATE USER says behind the name; `None`: it is a role.
    identity: Option<String>,
    rights: Vec<Right>,
    /// The default roles, as DEFAULT ROLE names them.
    default_roles: Option<String>,
}

impl Account {
    /// The statement that makes it.
    fn create(&self, name: &str) -> String {
        match &self.identity {
            Some(identity) => format!("CREATE USER {name} {identity}"),
            None => format!("CREATE ROLE {name}"),
        }
    }
}

/// 'user'@'host'.
fn full_name(user: &str, host: &str) -> String {
    format!("{}@{}", string(user), string(host))
}

/// What a source has.
#[derive(Debug, Default)]
pub struct Found {
    /// The accounts that may be made.
    pub accounts: Vec<Account>,
    /// Those that may not, and rights.
    pub refused: Vec<Refused>,
}

impl Found {
    fn refuse(&mut self, what: String, why: impl Into<String>) {
        let why = why.into();
        self.refused.push(Refused { what, why });
    }
}

/// Reads a source's accounts that the target does not have. Those that it has are left as they are
/// there.
///
/// # Errors
/// The connection's.
pub fn read(source: &mut Session, flavor: Flavor, target: &mut Session) -> Result<Found, String> {
    let present = present(target)?;
    let mut found = Found::default();
    let is_role = match flavor {
        Flavor::MariaDb => "is_role",
        // Roles are accounts.
        Flavor::MySql | Flavor::Cohort => "'N'",
    };
    let sql = format!(
        "SELECT user, host, plugin, HEX(authentication_string), {is_role} FROM mysql.user ORDER BY 1, 2"
    );
    let rows = match source.attempt(&sql)? {
        Ok(rows) => rows,
        Err(error) => {
            found.refuse(
                "accounts".into(),
                format!("mysql.user cannot be read: {error}"),
            );
            return Ok(found);
        }
    };
    let rows: Vec<Vec<_>> = rows
        .into_iter()
        .map(|row| row.into_iter().map(Option::unwrap_or_default).collect())
        .collect();
    let anywhere = rows.iter().filter(|row| row[1] == ANYWHERE);
    let anywhere: BTreeSet<_> = anywhere.map(|row| &row[0]).collect();
    for row in &rows {
        let [user, host, plugin, hash, is_role] = &row[..] else {
            continue;
        };
        if OWN.contains(&user.as_str()) || present.contains(&(user.clone(), host.clone())) {
            continue;
        }
        if is_role == "Y" {
            read_role(source, user, &mut found)?;
            continue;
        }
        let what = format!("account {}", full_name(user, host));
        if host.is_empty() && anywhere.contains(user) {
            found.refuse(what, "there is one of this name for any host, too");
            continue;
        }
        match read_account(source, (user, host), (plugin, hash))? {
            Ok((account, mut refused)) => {
                found.accounts.push(account);
                found.refused.append(&mut refused);
            }
            Err(why) => found.refuse(what, why),
        }
    }
    Ok(found)
}

/// A role of MariaDB. PUBLIC is always there, and of no matter without rights.
fn read_role(source: &mut Session, role: &str, found: &mut Found) -> Result<(), String> {
    let what = format!("role {role}");
    let quoted = match role {
        "PUBLIC" => role.to_owned(),
        role => string(role),
    };
    let lines: Vec<String> = match source.attempt(&format!("SHOW GRANTS FOR {quoted}"))? {
        Ok(rows) => rows.into_iter().flatten().flatten().collect(),
        Err(error) => {
            found.refuse(what, format!("its rights may not be read: {error}"));
            return Ok(());
        }
    };
    if role == "PUBLIC" {
        if !lines.is_empty() {
            found.refuse(what, "there is no role that everybody has");
        }
        return Ok(());
    }
    // What other roles have is shown, too.
    let own = format!(" TO {}", name(role));
    let lines = lines.into_iter().filter(|line| line.contains(&own));
    match rights::of_lines(lines.collect(), (role, ANYWHERE)) {
        Ok((rights, refused)) => {
            found.refused.extend(refused);
            found.accounts.push(Account {
                user: role.to_owned(),
                host: ANYWHERE.to_owned(),
                identity: None,
                rights,
                default_roles: None,
            });
        }
        Err(why) => found.refuse(what, why),
    }
    Ok(())
}

/// An account, and what of its rights is not given; the inner error: why it may not be made.
fn read_account(
    source: &mut Session,
    (user, host): (&str, &str),
    (plugin, hash): (&str, &str),
) -> Result<Result<(Account, Vec<Refused>), String>, String> {
    let name = full_name(user, host);
    let shown = match source.attempt(&format!("SHOW CREATE USER {name}"))? {
        Ok(rows) => rows.into_iter().flatten().flatten().next(),
        Err(error) => return Ok(Err(format!("its definition may not be read: {error}"))),
    };
    let (options, mut default_roles) = match options(&shown.unwrap_or_default()) {
        Ok(options) => options,
        Err(why) => return Ok(Err(why)),
    };
    let mut lines: Vec<String> = match source.attempt(&format!("SHOW GRANTS FOR {name}"))? {
        Ok(rows) => rows.into_iter().flatten().flatten().collect(),
        Err(error) => return Ok(Err(format!("its rights may not be read: {error}"))),
    };
    // MariaDB's oldest accounts name none.
    let plugin = match plugin {
        "" => "mysql_native_password",
        plugin => plugin,
    };
    let hash = match hash {
        "" => String::new(),
        hash => format!(" AS 0x{hash}"),
    };
    // MariaDB has the default role there.
    lines.retain(|line| {
        let role = line.strip_prefix("SET DEFAULT ROLE ");
        let role = role.and_then(|rest| rest.rsplit_once(" FOR "));
        if let Some((role, _)) = role {
            default_roles = Some(role.to_owned());
        }
        role.is_none()
    });
    let rights = rights::of_lines(lines, (user, host));
    Ok(rights.map(|(rights, refused)| {
        let account = Account {
            user: user.to_owned(),
            // MySQL lets an account without a host in from anywhere.
            host: if host.is_empty() { ANYWHERE } else { host }.to_owned(),
            identity: Some(format!("IDENTIFIED WITH {}{hash}{options}", string(plugin))),
            rights,
            default_roles,
        };
        (account, refused)
    }))
}

/// What a definition says behind the way to log in, if it is not what all have; and the default
/// roles, if there are any.
///
/// # Errors
/// There are several ways, or it says nothing at all.
fn options(shown: &str) -> Result<(String, Option<String>), String> {
    const BEGINS: [&str; 5] = [
        " REQUIRE ",
        " WITH MAX_",
        " PASSWORD EXPIRE",
        " ACCOUNT ",
        " DEFAULT ROLE",
    ];
    /// What MySQL says of every account.
    const USUAL: [&str; 7] = [
        " REQUIRE NONE",
        " PASSWORD EXPIRE DEFAULT",
        " ACCOUNT UNLOCK",
        " PASSWORD HISTORY DEFAULT",
        " PASSWORD REUSE INTERVAL DEFAULT",
        " PASSWORD REQUIRE CURRENT DEFAULT",
        " DEFAULT ROLE NONE",
    ];
    let bare = without_quoted(shown);
    if !bare.starts_with("CREATE USER ") {
        return Err("its definition may not be read".into());
    }
    if bare.contains(" AND IDENTIFIED ") || bare.contains(" OR ") {
        return Err("it has several ways to log in".into());
    }
    let at = BEGINS.iter().filter_map(|begin| bare.find(begin)).min();
    let mut text = at.map_or(String::new(), |at| shown[at..].to_owned());
    for usual in USUAL {
        if let Some(at) = without_quoted(&text).find(usual) {
            text.replace_range(at..at + usual.len(), "");
        }
    }
    const ROLES: &str = " DEFAULT ROLE ";
    let bare = without_quoted(&text);
    let Some(begin) = bare.find(ROLES) else {
        return Ok((text, None));
    };
    // Names and commas.
    let list = &bare[begin + ROLES.len()..];
    let end = list
        .find(' ')
        .map_or(bare.len(), |at| begin + ROLES.len() + at);
    let roles = text[begin + ROLES.len()..end].to_owned();
    text.replace_range(begin..end, "");
    Ok((text, Some(roles)))
}

/// Those that the target has.
fn present(target: &mut Session) -> Result<BTreeSet<(String, String)>, String> {
    let rows = target.query("SELECT user, host FROM mysql.user")?;
    let pair = |row: Vec<Option<String>>| {
        let mut row = row.into_iter().map(Option::unwrap_or_default);
        Some((row.next()?, row.next()?))
    };
    Ok(rows.into_iter().filter_map(pair).collect())
}

/// Drops what an import that was killed was about to make.
pub fn drop_trials(target: &mut Session) -> Result<(), String> {
    for (user, host) in present(target)? {
        if user.starts_with(TRIAL) {
            target.execute(&format!("DROP USER {}", full_name(&user, &host)))?;
        }
    }
    Ok(())
}

/// The accounts, each behind the roles that it has.
fn behind_their_roles(accounts: &[Account]) -> Vec<&Account> {
    let mut left: Vec<&Account> = accounts.iter().collect();
    let mut sorted = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waits = |account: &&Account| {
            let rights = account.rights.iter();
            let mut roles = rights.flat_map(Right::roles);
            roles.any(|(user, host)| left.iter().any(|one| one.user == user && one.host == host))
        };
        let (waiting, ready): (Vec<&Account>, Vec<&Account>) =
            left.iter().copied().partition(waits);
        sorted.extend(&ready);
        // Servers let no roles have each other: if it is so all the same, the target will say so.
        if ready.is_empty() {
            sorted.extend(&waiting);
            break;
        }
        left = waiting;
    }
    sorted
}

/// Makes accounts, if the target takes them; what it refuses. `is_trial`: they are dropped again, and
/// neither what their rights are on nor their roles need be there.
pub fn make(
    target: &mut Session,
    accounts: &[Account],
    is_trial: bool,
) -> Result<Vec<Refused>, String> {
    let mut refused = Vec::new();
    for account in behind_their_roles(accounts) {
        let Account { user, host, .. } = account;
        // A name as long, for one may be too long.
        let trial = format!("{TRIAL:_<length$}", length = user.chars().count());
        let (trial_name, name) = (full_name(&trial, host), full_name(user, host));
        let mut refuse = |what: String, error: ServerError| {
            let why = error.to_string();
            refused.push(Refused { what, why });
        };
        if let Err(error) = target.attempt(&account.create(&trial_name))? {
            refuse(format!("account {name}"), error);
            continue;
        }
        let rights = account.rights.iter();
        for right in rights.filter(|right| !(is_trial && right.is_of_roles())) {
            for (right, error) in right.give(target, (&trial, host))? {
                if !(is_trial && is_on_nothing(&error)) {
                    refuse(right.grant((user, host)), error);
                }
            }
        }
        if let (Some(roles), false) = (&account.default_roles, is_trial) {
            let statement = |name| format!("SET DEFAULT ROLE {roles} TO {name}");
            if let Err(error) = target.attempt(&statement(&trial_name))? {
                refuse(statement(&name), error);
            }
        }
        if !is_trial {
            let renamed = target.attempt(&format!("RENAME USER {trial_name} TO {name}"))?;
            let Err(error) = renamed else { continue };
            refuse(format!("account {name}"), error);
        }
        target.execute(&format!("DROP USER {trial_name}"))?;
    }
    Ok(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_accounts() {
        let options = |shown: &str| {
            let (options, roles) = options(shown).unwrap();
            options + &roles.map_or(String::new(), |roles| format!(" roles {roles}"))
        };
        let usual = "CREATE USER `a`@`%` IDENTIFIED WITH 'x' AS ' ACCOUNT LOCK' REQUIRE NONE PASSWORD EXPIRE \
                     DEFAULT ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT \
                     PASSWORD REQUIRE CURRENT DEFAULT";
        assert_eq!(options(usual), "");
        assert_eq!(
            options(&usual.replace("REQUIRE NONE", "REQUIRE SSL")),
            " REQUIRE SSL"
        );
        assert_eq!(options(&usual.replace("UNLOCK", "LOCK")), " ACCOUNT LOCK");
        let roles = " DEFAULT ROLE `b`@`%`,`c d`@`%` REQUIRE SSL";
        assert_eq!(
            options(&usual.replace(" REQUIRE NONE", roles)),
            " REQUIRE SSL roles `b`@`%`,`c d`@`%`"
        );
        assert_eq!(
            options("CREATE USER `a`@`%` IDENTIFIED BY PASSWORD '*1'"),
            ""
        );
    }

    #[test]
    fn several_ways_to_log_in() {
        for shown in [
            "",
            "CREATE USER `a`@`%` IDENTIFIED WITH 'x' AS '1' AND IDENTIFIED WITH 'y' AS '2' REQUIRE NONE",
            "CREATE USER `a`@`%` IDENTIFIED VIA unix_socket OR mysql_native_password USING '*1'",
        ] {
            assert!(options(shown).is_err(), "{shown}");
        }
    }
}
