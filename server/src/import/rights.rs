//! The rights of an account, as the target may take them.

use super::{
    look::Refused,
    servers::Session,
    text::{name, string, without_quoted},
};

/// What `SHOW GRANTS` of MySQL begins with for who has all privileges.
const ALL_OF_MYSQL: &str = "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, RELOAD, SHUTDOWN, \
    PROCESS, FILE, REFERENCES, INDEX, ALTER, SHOW DATABASES, SUPER, CREATE TEMPORARY TABLES, \
    LOCK TABLES, EXECUTE, REPLICATION SLAVE, REPLICATION CLIENT, CREATE VIEW, SHOW VIEW, \
    CREATE ROUTINE, ALTER ROUTINE, CREATE USER, EVENT, TRIGGER, CREATE TABLESPACE, CREATE ROLE, \
    DROP ROLE ON *.*";
const ALL: &str = "GRANT ALL PRIVILEGES ON *.*";
const NOTHING: &str = "GRANT USAGE ON *.*";
const GRANT_OPTION: &str = " WITH GRANT OPTION";

/// A line of SHOW GRANTS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
    /// GRANT … ON …
    what: String,
    has_grant_option: bool,
}

impl Right {
    /// The line of an account, `(user, host)`; `None`: it is none that gives a right to that account.
    fn of(line: &str, account: (&str, &str)) -> Option<Right> {
        let quoted = format!(" TO {}@{}", string(account.0), string(account.1));
        let (what, tail) = line
            .rsplit_once(&as_names(account))
            .or_else(|| line.rsplit_once(&quoted))?;
        // MariaDB says the password again, and what the account must be like.
        let tail = without_quoted(tail);
        let has_grant_option = tail
            .find(" WITH ")
            .is_some_and(|at| tail[at..].contains(" GRANT OPTION"));
        what.starts_with("GRANT ").then(|| Right {
            what: what.to_owned(),
            has_grant_option,
        })
    }

    /// The statement that gives it to an account.
    pub fn grant(&self, account: (&str, &str)) -> String {
        let option = if self.has_grant_option {
            GRANT_OPTION
        } else {
            ""
        };
        format!("{}{}{option}", self.what, as_names(account))
    }

    /// The privileges that it gives for all databases; `None`: it is of another kind.
    fn everywhere(&self) -> Option<Vec<&str>> {
        let list = self.what.strip_prefix("GRANT ")?.strip_suffix(" ON *.*")?;
        Some(list.split(',').map(str::trim).collect())
    }

    /// Whether it is PROXY or a role, which are no privileges.
    fn is_other(&self) -> bool {
        let bare = without_quoted(&self.what);
        bare.starts_with("GRANT PROXY ON ") || !bare.contains(" ON ")
    }

    /// Whether it is what servers give to each root besides all privileges.
    fn is_of_root(&self) -> bool {
        ["``@``", "``@`%`", "''@''", "''@'%'"]
            .iter()
            .any(|all| self.what == format!("GRANT PROXY ON {all}"))
    }
}

fn as_names((user, host): (&str, &str)) -> String {
    format!(" TO {}@{}", name(user), name(host))
}

/// The privileges that are part of all at the target, and for which MySQL has another line.
pub fn beyond_mysql(target: &mut Session) -> Result<Vec<String>, String> {
    let rows = target.query("SHOW PRIVILEGES")?;
    let names = rows.into_iter().filter_map(|row| row.into_iter().next()?);
    let old = ALL_OF_MYSQL
        .trim_start_matches("GRANT ")
        .trim_end_matches(" ON *.*");
    let is_old = |name: &str| old.split(", ").any(|old| old.eq_ignore_ascii_case(name));
    let beyond = names.filter(|name| !is_old(name) && name != "USAGE" && name != "GRANT OPTION");
    Ok(beyond.collect())
}

/// The rights by the lines of SHOW GRANTS, and those that are not given. `beyond`: what belongs to all
/// besides MySQL's first line.
///
/// # Errors
/// Why the account may not be made at all: it would have more rights than it has.
pub fn of_lines(
    lines: Vec<String>,
    account: (&str, &str),
    beyond: &[String],
) -> Result<(Vec<Right>, Vec<Refused>), String> {
    let (mut rights, mut refused) = (Vec::new(), Vec::new());
    for line in lines {
        if line.starts_with("REVOKE ") {
            return Err(format!("a right is taken from it in part: {line}"));
        }
        match Right::of(&line, account) {
            Some(right) => rights.push(right),
            None => refused.push(Refused {
                what: line,
                why: "this is no right of an account".into(),
            }),
        }
    }
    let lists = rights.iter().filter_map(Right::everywhere);
    let named: Vec<_> = lists.flatten().map(str::to_owned).collect();
    let lacking = beyond.iter().find(|name| !named.contains(name));
    for right in &mut rights {
        if right.what == ALL_OF_MYSQL && lacking.is_none() {
            right.what = ALL.to_owned();
        }
    }
    if let Some(lacking) = lacking
        && let Some(at) = rights.iter().position(|right| right.what == ALL_OF_MYSQL)
    {
        refused.push(Refused {
            what: rights.remove(at).grant(account),
            why: format!("the nearest here is ALL, which has {lacking}, too"),
        });
    }
    // Who has all needs no other, such as MySQL's list of what plugins have named.
    if let Some(all) = rights.iter().find(|right| right.what == ALL).cloned() {
        let is_beside = |right: &Right| {
            right.is_other() && !right.is_of_root()
                || right.has_grant_option && !all.has_grant_option && !right.is_of_root()
                || *right == all
        };
        rights.retain(is_beside);
    }
    rights.retain(|right| right.what != NOTHING || right.has_grant_option);
    Ok((rights, refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: (&str, &str) = ("a", "%");

    fn grants(lines: &[&str]) -> Vec<String> {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        let (rights, refused) = of_lines(lines, A, &["XA_RECOVER_ADMIN".into()]).unwrap();
        let refused = refused
            .into_iter()
            .map(|refused| format!("! {}", refused.what));
        rights
            .iter()
            .map(|right| right.grant(A))
            .chain(refused)
            .collect()
    }

    #[test]
    fn all_and_what_is_beside_it() {
        let all = format!("{ALL_OF_MYSQL} TO `a`@`%`");
        let dynamic = "GRANT CLONE_ADMIN,XA_RECOVER_ADMIN ON *.* TO `a`@`%`";
        assert_eq!(
            grants(&[&all, dynamic]),
            ["GRANT ALL PRIVILEGES ON *.* TO `a`@`%`"]
        );
        let role = "GRANT `r`@`%` TO `a`@`%`";
        let proxy = "GRANT PROXY ON `b`@`%` TO `a`@`%` WITH GRANT OPTION";
        assert_eq!(grants(&[&all, dynamic, role, proxy])[1..], [role, proxy]);
        // ALL would give it what it does not have.
        let lacking = grants(&[&all, "GRANT CLONE_ADMIN ON *.* TO `a`@`%`"]);
        assert_eq!(lacking[1], format!("! {all}"));
    }

    #[test]
    fn what_is_taken_in_part() {
        let lines = [
            "GRANT ALL PRIVILEGES ON *.* TO `a`@`%`",
            "REVOKE SELECT ON `d`.* FROM `a`@`%`",
        ];
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        assert!(
            of_lines(lines, A, &[])
                .unwrap_err()
                .contains("REVOKE SELECT")
        );
    }

    #[test]
    fn lines_of_mariadb() {
        let own = "GRANT USAGE ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*1'";
        let some = grants(&[own, "GRANT SELECT ON `d`.* TO `a`@`%`"]);
        assert_eq!(some, ["GRANT SELECT ON `d`.* TO `a`@`%`"]);
        let all = "GRANT ALL PRIVILEGES ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*1' REQUIRE SSL \
                   WITH GRANT OPTION MAX_USER_CONNECTIONS 3";
        let default = "SET DEFAULT ROLE `r` FOR `a`@`%`";
        assert_eq!(
            grants(&[all, default]),
            [
                "GRANT ALL PRIVILEGES ON *.* TO `a`@`%` WITH GRANT OPTION",
                "! SET DEFAULT ROLE `r` FOR `a`@`%`"
            ]
        );
    }
}
