//! What a session may do: the grants of its account and of its active roles.

use crate::{
    privileges::{AnyOf, Privilege, Privileges, Restrictions, Right},
    users::Account,
};
use cohort_engine::types::{Collation, collation};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// On what a privilege is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Object<'a> {
    /// A database.
    Database(&'a str),
    /// A table or view of a database.
    Table(&'a str, &'a str),
    /// A column of one.
    Column(&'a str, &'a str, &'a str),
}

/// See the module. They never change: when grants do, there are others.
#[derive(Debug)]
pub struct Rights {
    /// No others have the same.
    number: u64,
    /// Those of the server itself, which may do everything.
    unlimited: bool,
    /// The account, and its active roles with those that were granted to them.
    members: Vec<Arc<Account>>,
    /// On everything, of all of them.
    global: Privileges,
    /// Some of that does not hold in some databases.
    restricted: bool,
    /// Grants on databases name each a database, and are no patterns (partial_revokes).
    literal: bool,
}

/// Tables of performance_schema that everybody may read, as in MySQL. What they show is about the
/// reader, or no secret.
const WORLD_READABLE: [&str; 7] = [
    "global_status",
    "global_variables",
    "processlist",
    "session_account_connect_attrs",
    "session_status",
    "session_variables",
    "persisted_variables",
];

impl Rights {
    /// Those of an account with these roles; of none: nothing. `literal`: partial_revokes.
    #[must_use]
    pub fn new(members: Vec<Arc<Account>>, literal: bool) -> Rights {
        let global = members.iter().map(|member| member.grants.global);
        let mut all = members.iter();
        Rights {
            number: next_number(),
            unlimited: false,
            restricted: all.any(|member| !member.grants.restrictions.is_empty()),
            literal,
            global: global.fold(Privileges::NONE, Privileges::with),
            members,
        }
    }

    /// Those of the server itself.
    #[must_use]
    pub fn unlimited() -> Rights {
        Rights {
            number: next_number(),
            unlimited: true,
            restricted: false,
            literal: false,
            members: Vec::new(),
            global: Privileges::GLOBAL.with(Privilege::GrantOption.into()),
        }
    }

    /// A number that no others have: who was found to be allowed something under it still is.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether they are the server's own.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.unlimited
    }

    /// The privileges on everything.
    #[must_use]
    pub fn global(&self) -> Privileges {
        self.global
    }

    /// As far as they hold in a database.
    fn global_in(&self, database: &str) -> Privileges {
        if !self.restricted {
            return self.global;
        }
        let members = self.members.iter();
        let global = members.map(|member| member.grants.global_in(database));
        global.fold(Privileges::NONE, Privileges::with)
    }

    /// In which databases which of them do not hold.
    #[must_use]
    pub fn restrictions(&self) -> Restrictions {
        let members = self.members.iter();
        let names = members.flat_map(|member| member.grants.restrictions.keys());
        let all = names.map(|name| (name.clone(), self.global.without(self.global_in(name))));
        all.filter(|(_, restricted)| !restricted.is_empty())
            .collect()
    }

    /// Whether there is one on everything.
    #[must_use]
    pub fn has(&self, right: Right) -> bool {
        match right {
            Right::Static(privilege) => self.global.has(privilege),
            Right::Dynamic(name) => {
                let mut members = self.members.iter();
                self.unlimited || members.any(|member| member.grants.dynamic.contains_key(name))
            }
        }
    }

    /// Whether a dynamic one may be granted to others.
    #[must_use]
    pub fn may_grant(&self, dynamic: &str) -> bool {
        let granted = |member: &Arc<Account>| member.grants.dynamic.get(dynamic) == Some(&true);
        self.unlimited || self.members.iter().any(granted)
    }

    /// Whether there is one of these.
    #[must_use]
    pub fn has_any(&self, of: AnyOf) -> bool {
        of.0.iter().any(|right| self.has(*right))
    }

    /// Whether a role may be granted and revoked.
    #[must_use]
    pub fn administers(&self, user: &str, host: &str) -> bool {
        let is_admin = |member: &Arc<Account>| {
            let role = member.grants.role(user, host);
            role.is_some_and(|role| role.admin)
        };
        self.members.iter().any(is_admin)
    }

    /// The privileges on the whole of something, with those on what it is part of.
    #[must_use]
    pub fn on(&self, object: Object<'_>) -> Privileges {
        let (Object::Database(database)
        | Object::Table(database, _)
        | Object::Column(database, ..)) = object;
        let mut all = self.global_in(database);
        for member in &self.members {
            all = all.with(self.of_database(&member.grants.databases, database));
            all = all.with(match object {
                Object::Database(_) => Privileges::NONE,
                Object::Table(_, table) => {
                    let table = member.grants.table(database, table);
                    table.map_or(Privileges::NONE, |table| table.privileges)
                }
                Object::Column(_, table, column) => {
                    let table = member.grants.table(database, table);
                    table.map_or(Privileges::NONE, |table| {
                        table.privileges.with(table.of_column(column))
                    })
                }
            });
        }
        all.with(given_to_everybody(object))
    }

    /// What the grants on databases say of one.
    fn of_database(&self, databases: &BTreeMap<String, Privileges>, database: &str) -> Privileges {
        match self.literal {
            true => databases.get(database).copied().unwrap_or_default(),
            false => of_database(databases, database),
        }
    }

    /// The privileges on all databases that a pattern fits: those on everything, and those that were
    /// granted on this very pattern, or on one that fits whatever it fits.
    #[must_use]
    pub fn on_pattern(&self, pattern: &str) -> Privileges {
        if self.literal {
            return self.on(Object::Database(pattern));
        }
        if let (name, true) = literal(pattern) {
            return self.on(Object::Database(&name));
        }
        let covers = |granted: &str| {
            // What ends with the only wildcard, %, fits all that begins with what is before it.
            let begin = granted.strip_suffix('%').and_then(|begin| {
                let begin = literal(begin);
                (begin.1).then_some(begin.0)
            });
            granted == pattern || begin.is_some_and(|begin| literal(pattern).0.starts_with(&begin))
        };
        let mut all = self.global;
        for member in &self.members {
            let databases = &member.grants.databases;
            let own = databases.get(pattern).copied();
            let fitting = databases.iter().filter(|(granted, _)| covers(granted));
            let best = fitting.max_by_key(|(granted, _)| (specificity(granted), granted.len()));
            all = all.with(own.or(best.map(|(_, had)| *had)).unwrap_or_default());
        }
        all
    }

    /// The privileges on a table or on any of its columns.
    #[must_use]
    pub fn within_table(&self, database: &str, table: &str) -> Privileges {
        let mut all = self.on(Object::Table(database, table));
        for member in &self.members {
            if let Some(table) = member.grants.table(database, table) {
                all = all.with(table.of_columns());
            }
        }
        all
    }

    /// Whether a table or view is seen: there is some privilege on it, or on a column of it.
    #[must_use]
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        let seen = Privileges::TABLE;
        !self.within_table(database, table).both(seen).is_empty()
    }

    /// Whether a table or view may be described: it may be read, or there is some privilege on it or
    /// on a column of it. What was granted on its database does not count, as in MySQL.
    #[must_use]
    pub fn describes_table(&self, database: &str, table: &str) -> bool {
        let mut members = self.members.iter();
        self.on(Object::Table(database, table))
            .has(Privilege::Select)
            || members.any(|member| member.grants.table(database, table).is_some())
    }

    /// Whether a database is seen: there is some privilege on it or in it.
    #[must_use]
    pub fn sees_database(&self, database: &str) -> bool {
        self.global.has(Privilege::ShowDatabases) || self.enters(database)
    }

    /// Whether a database may be the default one: there is some privilege on it or in it.
    #[must_use]
    pub fn enters(&self, database: &str) -> bool {
        let on = self.on(Object::Database(database));
        let mut members = self.members.iter();
        !on.both(Privileges::DATABASE.with(Privilege::GrantOption.into()))
            .is_empty()
            || members.any(|member| member.grants.tables.contains_key(database))
    }
}

/// What everybody may.
fn given_to_everybody(object: Object<'_>) -> Privileges {
    let readable = match object {
        Object::Database(database) => {
            let open = ["information_schema", "performance_schema", "sys"];
            open.iter().any(|name| name.eq_ignore_ascii_case(database))
        }
        Object::Table(database, table) | Object::Column(database, table, _) => {
            let is = |name: &str| database.eq_ignore_ascii_case(name);
            is("information_schema")
                || is("sys")
                || is("performance_schema")
                    && WORLD_READABLE
                        .iter()
                        .any(|name| name.eq_ignore_ascii_case(table))
        }
    };
    match readable {
        true => Privilege::Select.into(),
        false => Privileges::NONE,
    }
}

/// What the grants on databases say of one: of all patterns that fit the most specific one counts.
fn of_database(databases: &BTreeMap<String, Privileges>, database: &str) -> Privileges {
    if databases.is_empty() {
        return Privileges::NONE;
    }
    if let Some(privileges) = databases.get(database)
        && !has_wildcard(database)
    {
        return *privileges;
    }
    let fits = |pattern: &str| {
        let (text, pattern) = (database.as_bytes(), pattern.as_bytes());
        collation::like(Collation::Binary, text, pattern, Some('\\'))
    };
    let fitting = databases.iter().filter(|(pattern, _)| fits(pattern));
    let best = fitting.max_by_key(|(pattern, _)| (specificity(pattern), pattern.len()));
    best.map_or(Privileges::NONE, |(_, privileges)| *privileges)
}

/// What stands in a pattern before its first wildcard, without escapes, and whether there is none.
fn literal(pattern: &str) -> (String, bool) {
    let mut text = String::new();
    let mut escaped = false;
    for character in pattern.chars() {
        match character {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            '%' | '_' if !escaped => return (text, false),
            _ => text.push(character),
        }
        escaped = false;
    }
    (text, true)
}

fn has_wildcard(pattern: &str) -> bool {
    specificity(pattern) != usize::MAX
}

/// How many characters stand before the first wildcard.
fn specificity(pattern: &str) -> usize {
    let mut escaped = false;
    for (at, character) in pattern.chars().enumerate() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '%' | '_' => return at,
            _ => {}
        }
    }
    usize::MAX
}

fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privileges::{Granted, Level, NamedPrivilege};

    fn rights(given: &[(Level, Privilege)]) -> Rights {
        let mut account = Account::new("u", "%");
        for (level, privilege) in given {
            let named = NamedPrivilege {
                right: Right::Static(*privilege),
                columns: Vec::new(),
            };
            let granted = Granted::These(vec![named]);
            account.grants.grant(&granted, level, false, ("", 0));
        }
        Rights::new(vec![Arc::new(account)], false)
    }

    #[test]
    fn the_most_specific_pattern_counts_alone() {
        let on = |pattern: &str, privilege| (Level::Database(pattern.into()), privilege);
        let rights = rights(&[
            on("a%", Privilege::Select),
            on("ab%", Privilege::Insert),
            on("ab_c", Privilege::Update),
            on(r"ab\_c", Privilege::Delete),
        ]);
        let of = |database| rights.on(Object::Database(database));
        assert_eq!(of("ax"), Privilege::Select.into());
        assert_eq!(of("abx"), Privilege::Insert.into());
        assert_eq!(of("abxc"), Privilege::Update.into());
        assert_eq!(of("ab_c"), Privilege::Delete.into());
        assert_eq!(of("b"), Privileges::NONE);
        assert!(rights.enters("ax") && !rights.enters("b"));
    }

    #[test]
    fn a_pattern_is_covered_by_wider_ones_only() {
        let covers = |granted: &str, pattern: &str| {
            let rights = rights(&[(Level::Database(granted.into()), Privilege::Select)]);
            !rights.on_pattern(pattern).is_empty()
        };
        for (granted, pattern) in [
            ("a_b", "a_b"),
            ("a%", "ab%"),
            ("a%", "a_"),
            (r"a\_%", r"a\_b%"),
            ("%", "_"),
            (r"a\_b", r"a\_b"),
            ("a_b", r"a\_b"),
            ("ab", "ab"),
        ] {
            assert!(covers(granted, pattern), "{granted} {pattern}");
        }
        for (granted, pattern) in [
            ("_", "%"),
            ("at__", "at%%"),
            ("at__", "at%_"),
            ("at_p", "at%p"),
            (r"at\_p", "at_p"),
            ("a%b", "a%"),
            ("ab%", "a%"),
            (r"a\_%", "a_%"),
        ] {
            assert!(!covers(granted, pattern), "{granted} {pattern}");
        }
    }

    #[test]
    fn a_level_includes_those_below_it() {
        let rights = rights(&[
            (Level::Database("d".into()), Privilege::Select),
            (Level::Table("e".into(), "t".into()), Privilege::Insert),
        ]);
        let select: Privileges = Privilege::Select.into();
        assert_eq!(rights.on(Object::Column("d", "x", "c")), select);
        assert_eq!(rights.on(Object::Table("e", "x")), Privileges::NONE);
        assert!(rights.sees_table("e", "t") && rights.enters("e") && !rights.enters("f"));
        assert_eq!(rights.on(Object::Table("Information_Schema", "x")), select);
        assert_eq!(rights.on(Object::Table("mysql", "user")), Privileges::NONE);
    }

    #[test]
    fn the_server_itself_may_do_everything() {
        let rights = Rights::unlimited();
        assert!(rights.has(Right::Dynamic("BACKUP_ADMIN")) && rights.enters("d"));
        assert!(
            rights
                .on(Object::Table("d", "t"))
                .has_all(Privileges::TABLE)
        );
    }
}
