//! Grants as statements.

use super::{DYNAMIC, Granted, Grants, Level, Privilege, Privileges, Right};
use cohort_engine::types::quoted;
use std::fmt::Write;

/// `` `user`@`host` ``
#[must_use]
pub fn account(user: &str, host: &str) -> String {
    format!("{}@{}", quoted(user), quoted(host))
}

/// Privileges with commas between them: ALL PRIVILEGES for all of a level, USAGE for none.
fn listed(privileges: Privileges, all: Privileges) -> String {
    let privileges = privileges.without(Privilege::GrantOption.into());
    if privileges.is_empty() {
        return "USAGE".to_owned();
    }
    if privileges == all {
        return "ALL PRIVILEGES".to_owned();
    }
    let names: Vec<&str> = privileges.iter().map(Privilege::name).collect();
    names.join(", ")
}

fn with_grant_option(has: bool) -> &'static str {
    match has {
        true => " WITH GRANT OPTION",
        false => "",
    }
}

impl Grants {
    /// The statements of SHOW GRANTS for `` `user`@`host` ``.
    #[must_use]
    pub fn statements(&self, to: &str) -> Vec<String> {
        let option =
            |privileges: Privileges| with_grant_option(privileges.has(Privilege::GrantOption));
        // Here MySQL never says ALL PRIVILEGES.
        let global = listed(self.global, Privileges::NONE);
        let mut all = vec![format!(
            "GRANT {global} ON *.* TO {to}{}",
            option(self.global)
        )];
        for with_option in [false, true] {
            let names = DYNAMIC.iter().copied();
            let names = names.filter(|name| self.dynamic.get(*name) == Some(&with_option));
            let names: Vec<&str> = names.collect();
            if !names.is_empty() {
                let option = with_grant_option(with_option);
                all.push(format!("GRANT {} ON *.* TO {to}{option}", names.join(",")));
            }
        }
        // In MySQL's order: those with wildcards, escaped ones too, come last.
        let mut databases: Vec<_> = self.databases.iter().collect();
        databases.sort_by_key(|(pattern, _)| (pattern.contains(['%', '_']), *pattern));
        for (pattern, privileges) in databases {
            all.push(format!(
                "GRANT {} ON {}.* TO {to}{}",
                listed(*privileges, Privileges::DATABASE),
                quoted(pattern),
                option(*privileges)
            ));
        }
        for (database, privileges) in &self.restrictions {
            // Unlike privileges that are granted, GRANT OPTION is among them.
            let names: Vec<&str> = privileges.iter().map(Privilege::name).collect();
            let (names, database) = (names.join(", "), quoted(database));
            all.push(format!("REVOKE {names} ON {database}.* FROM {to}"));
        }
        for (database, tables) in &self.tables {
            for (name, table) in tables {
                let mut parts = Vec::new();
                let whole = table.privileges.without(Privilege::GrantOption.into());
                for privilege in Privilege::all() {
                    if whole.has(privilege) {
                        parts.push(privilege.name().to_owned());
                    }
                    let columns = table.columns.iter().filter(|(_, had)| had.has(privilege));
                    let columns: Vec<String> = columns.map(|(name, _)| quoted(name)).collect();
                    if !columns.is_empty() {
                        parts.push(format!("{} ({})", privilege.name(), columns.join(", ")));
                    }
                }
                let what = match table.columns.is_empty() {
                    true => listed(table.privileges, Privileges::TABLE),
                    false => parts.join(", "),
                };
                all.push(format!(
                    "GRANT {what} ON {}.{} TO {to}{}",
                    quoted(database),
                    quoted(name),
                    option(table.privileges)
                ));
            }
        }
        for admin in [false, true] {
            let roles = self.roles.iter().filter(|role| role.admin == admin);
            let roles = roles.map(|role| account(&role.user, &role.host));
            let roles: Vec<String> = roles.collect();
            if !roles.is_empty() {
                let option = if admin { " WITH ADMIN OPTION" } else { "" };
                all.push(format!("GRANT {} TO {to}{option}", roles.join(",")));
            }
        }
        all
    }
}

impl Granted {
    /// With its level, as the log has it: `` SELECT (`a`) ON `d`.`t` ``.
    #[must_use]
    pub fn text(&self, level: &Level) -> String {
        let mut out = String::new();
        match self {
            Granted::All => out.push_str("ALL PRIVILEGES"),
            Granted::These(named) if named.is_empty() => out.push_str("USAGE"),
            Granted::These(named) => {
                for (at, one) in named.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    out.push_str(one.right.name());
                    if !one.columns.is_empty() {
                        let columns: Vec<String> = one.columns.iter().map(|c| quoted(c)).collect();
                        // Writing to a string cannot fail.
                        let _ = write!(out, " ({})", columns.join(", "));
                    }
                }
            }
        }
        out.push_str(" ON ");
        out.push_str(&match level {
            Level::Everything => "*.*".to_owned(),
            Level::Database(pattern) => format!("{}.*", quoted(pattern)),
            Level::Table(database, table) => format!("{}.{}", quoted(database), quoted(table)),
        });
        out
    }
    /// Whether a privilege is among those that are named.
    #[must_use]
    pub fn names(&self, right: Right) -> bool {
        match self {
            Granted::All => false,
            Granted::These(named) => named.iter().any(|one| one.right == right),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::NamedPrivilege, *};

    #[test]
    fn statements_are_as_mysqls() {
        let named = |privilege, columns: &[&str]| NamedPrivilege {
            right: Right::Static(privilege),
            columns: columns.iter().map(ToString::to_string).collect(),
        };
        let mut grants = Grants::default();
        let mut give = |what: Granted, level: Level, option| {
            grants.grant(&what, &level, option, ("", 0));
        };
        let everything = || Level::Everything;
        let table = || Level::Table("d".into(), "t".into());
        let these = Granted::These;
        give(
            these(vec![named(Privilege::Process, &[])]),
            everything(),
            true,
        );
        let dynamic = |name| NamedPrivilege {
            right: Right::Dynamic(name),
            columns: Vec::new(),
        };
        let two = vec![dynamic("SYSTEM_VARIABLES_ADMIN"), dynamic("BACKUP_ADMIN")];
        give(these(two), everything(), false);
        give(these(vec![dynamic("BINLOG_ADMIN")]), everything(), true);
        give(Granted::All, Level::Database("d".into()), true);
        let columns = named(Privilege::Select, &["a", "b"]);
        give(
            these(vec![columns, named(Privilege::Insert, &[])]),
            table(),
            false,
        );
        give(Granted::All, Level::Table("d".into(), "u".into()), false);
        grants.grant_role("r1", "%", true);
        grants.grant_role("r0", "%", true);
        let expected = [
            "GRANT PROCESS ON *.* TO x WITH GRANT OPTION",
            "GRANT BACKUP_ADMIN,SYSTEM_VARIABLES_ADMIN ON *.* TO x",
            "GRANT BINLOG_ADMIN ON *.* TO x WITH GRANT OPTION",
            "GRANT ALL PRIVILEGES ON `d`.* TO x WITH GRANT OPTION",
            "GRANT SELECT (`a`, `b`), INSERT ON `d`.`t` TO x",
            "GRANT ALL PRIVILEGES ON `d`.`u` TO x",
            "GRANT `r0`@`%`,`r1`@`%` TO x WITH ADMIN OPTION",
        ];
        assert_eq!(grants.statements("x"), expected);
        assert_eq!(
            Grants::default().statements("x"),
            ["GRANT USAGE ON *.* TO x"]
        );
    }
}
