//! Accounts: their names, hashes of passwords, and rights.

use super::{
    look::Refused,
    servers::{Flavor, Session},
    text::string,
};
use std::collections::BTreeSet;

/// The accounts that a server makes for itself.
const OWN: [&str; 5] = [
    "mysql.sys",
    "mysql.session",
    "mysql.infoschema",
    "mariadb.sys",
    "PUBLIC",
];

/// What `SHOW GRANTS` of MySQL begins with for who has all privileges.
const ALL_OF_MYSQL: &str = "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, RELOAD, SHUTDOWN, \
    PROCESS, FILE, REFERENCES, INDEX, ALTER, SHOW DATABASES, SUPER, CREATE TEMPORARY TABLES, \
    LOCK TABLES, EXECUTE, REPLICATION SLAVE, REPLICATION CLIENT, CREATE VIEW, SHOW VIEW, \
    CREATE ROUTINE, ALTER ROUTINE, CREATE USER, EVENT, TRIGGER, CREATE TABLESPACE, CREATE ROLE, \
    DROP ROLE ON *.*";
const ALL: &str = "GRANT ALL PRIVILEGES ON *.*";

/// An account.
#[derive(Clone, Debug)]
pub struct Account {
    /// 'user'@'host'.
    pub name: String,
    create: String,
    grants: Vec<String>,
}

/// Reads a source's accounts; `Err` inside: why they cannot be read.
pub fn read(source: &mut Session, flavor: Flavor) -> Result<Result<Vec<Account>, Refused>, String> {
    let sql = "SELECT user, host, plugin, HEX(authentication_string) FROM mysql.user ORDER BY 1, 2";
    let rows = match source.attempt(sql)? {
        Ok(rows) => rows,
        Err(error) => {
            return Ok(Err(Refused {
                what: "accounts".into(),
                why: format!("mysql.user cannot be read: {error}"),
            }));
        }
    };
    let mut accounts = Vec::new();
    for row in rows {
        let [user, host, plugin, hash] = &row.into_iter().flatten().collect::<Vec<_>>()[..] else {
            continue;
        };
        if OWN.contains(&user.as_str()) || host.is_empty() {
            continue;
        }
        let name = format!("{}@{}", string(user), string(host));
        let shown = source.attempt(&format!("SHOW CREATE USER {name}"))?;
        let shown = shown
            .ok()
            .and_then(|rows| rows.into_iter().next()?.into_iter().next()?);
        let options = options(&shown.unwrap_or_default());
        // MariaDB's oldest accounts name none.
        let plugin = match &**plugin {
            "" => "mysql_native_password",
            plugin => plugin,
        };
        let hash = match &**hash {
            "" => String::new(),
            hash => format!(" AS 0x{hash}"),
        };
        let create = format!(
            "CREATE USER {name} IDENTIFIED WITH {}{hash}{options}",
            string(plugin)
        );
        let mut grants = Vec::new();
        match source.attempt(&format!("SHOW GRANTS FOR {name}"))? {
            Ok(rows) => grants.extend(rows.into_iter().flatten().flatten()),
            Err(error) => {
                return Ok(Err(Refused {
                    what: format!("rights of {name}"),
                    why: error.to_string(),
                }));
            }
        }
        accounts.push(Account {
            create,
            grants: rights(grants, flavor),
            name,
        });
    }
    Ok(Ok(accounts))
}

/// What a definition says behind the way to log in, if it is not what all have.
fn options(shown: &str) -> String {
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
    let at = BEGINS.iter().filter_map(|begin| shown.find(begin)).min();
    let mut text = at.map_or(String::new(), |at| shown[at..].to_owned());
    for usual in USUAL {
        text = text.replacen(usual, "", 1);
    }
    text
}

/// The rights as the target may take them.
fn rights(grants: Vec<String>, flavor: Flavor) -> Vec<String> {
    let mut rights = Vec::new();
    for grant in grants {
        let mut grant = grant;
        // MariaDB says the password again.
        if flavor == Flavor::MariaDb
            && let Some(at) = grant.find(" IDENTIFIED ")
        {
            let tail = if grant.ends_with(" WITH GRANT OPTION") {
                " WITH GRANT OPTION"
            } else {
                ""
            };
            grant = format!("{}{tail}", &grant[..at]);
        }
        if let Some(rest) = grant.strip_prefix(ALL_OF_MYSQL) {
            grant = format!("{ALL}{rest}");
        }
        if !grant.starts_with("GRANT USAGE ON *.*") {
            rights.push(grant);
        }
    }
    // Who has all needs no other, such as MySQL's list of what plugins have named.
    if let Some(all) = rights.iter().position(|grant| grant.starts_with(ALL)) {
        rights = vec![rights.swap_remove(all)];
    }
    rights
}

/// Those of them that the target has already, and which are left as they are there.
fn present(target: &mut Session) -> Result<BTreeSet<String>, String> {
    let rows = target.query("SELECT user, host FROM mysql.user")?;
    let name = |row: Vec<Option<String>>| {
        let row: Vec<_> = row.into_iter().flatten().collect();
        (row.len() == 2).then(|| format!("{}@{}", string(&row[0]), string(&row[1])))
    };
    Ok(rows.into_iter().filter_map(name).collect())
}

/// Makes the accounts that the target does not have, if it takes them; what it refuses. `trial`:
/// they are dropped again.
pub fn make(
    target: &mut Session,
    accounts: &[Account],
    trial: bool,
) -> Result<Vec<Refused>, String> {
    let present = present(target)?;
    let mut refused = Vec::new();
    for account in accounts
        .iter()
        .filter(|account| !present.contains(&account.name))
    {
        if let Err(error) = target.attempt(&account.create)? {
            refused.push(Refused {
                what: format!("account {}", account.name),
                why: error.to_string(),
            });
            continue;
        }
        for grant in &account.grants {
            if let Err(error) = target.attempt(grant)? {
                refused.push(Refused {
                    what: grant.clone(),
                    why: error.to_string(),
                });
            }
        }
        if trial {
            target.execute(&format!("DROP USER {}", account.name))?;
        }
    }
    Ok(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_rights() {
        let usual = "CREATE USER `a`@`%` IDENTIFIED WITH 'x' AS 0x41 REQUIRE NONE PASSWORD EXPIRE DEFAULT \
                     ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT \
                     PASSWORD REQUIRE CURRENT DEFAULT";
        assert_eq!(options(usual), "");
        assert_eq!(
            options(&usual.replace("REQUIRE NONE", "REQUIRE SSL")),
            " REQUIRE SSL"
        );
        assert_eq!(options(&usual.replace("UNLOCK", "LOCK")), " ACCOUNT LOCK");
        assert_eq!(
            options("CREATE USER `a`@`%` IDENTIFIED BY PASSWORD '*1'"),
            ""
        );
        let all = rights(
            vec![
                format!("{ALL_OF_MYSQL} TO `a`@`%`"),
                "GRANT CLONE_ADMIN ON *.* TO `a`@`%`".into(),
            ],
            Flavor::MySql,
        );
        assert_eq!(all, ["GRANT ALL PRIVILEGES ON *.* TO `a`@`%`"]);
        let own = "GRANT USAGE ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*1'";
        let some = rights(
            vec![own.into(), "GRANT SELECT ON `d`.* TO `a`@`%`".into()],
            Flavor::MariaDb,
        );
        assert_eq!(some, ["GRANT SELECT ON `d`.* TO `a`@`%`"]);
    }
}
