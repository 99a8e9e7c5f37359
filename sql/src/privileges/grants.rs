//! What an account or a role was granted.

use super::{DYNAMIC, Privilege, Privileges, Restrictions, Right};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What GRANT and REVOKE name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Granted {
    /// ALL PRIVILEGES.
    All,
    /// These; USAGE is none.
    These(Vec<NamedPrivilege>),
}

/// One privilege that GRANT or REVOKE names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPrivilege {
    /// Which.
    pub right: Right,
    /// On which columns; none: on the whole.
    pub columns: Vec<String>,
}

/// On what something is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// `*.*`
    Everything,
    /// `database.*`: a pattern.
    Database(String),
    /// `database.table`
    Table(String, String),
}

/// The grants on one table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableGrants {
    /// On all of it.
    #[serde(default)]
    pub privileges: Privileges,
    /// On its columns, by their names.
    #[serde(default)]
    pub columns: BTreeMap<String, Privileges>,
    /// Who has granted something last, as `user@host`.
    #[serde(default)]
    pub grantor: String,
    /// When, in seconds since 1970.
    #[serde(default)]
    pub changed: u64,
}

/// A role that was granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleGrant {
    /// Its name.
    pub user: String,
    /// Its host.
    pub host: String,
    /// WITH ADMIN OPTION.
    #[serde(default)]
    pub admin: bool,
}

/// All that an account or a role was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grants {
    /// On everything.
    #[serde(default)]
    pub global: Privileges,
    /// In which databases some of that does not hold.
    #[serde(default, skip_serializing_if = "Restrictions::is_empty")]
    pub restrictions: Restrictions,
    /// The dynamic ones, and which of them with GRANT OPTION.
    #[serde(default)]
    pub dynamic: BTreeMap<String, bool>,
    /// On databases, by patterns of names.
    #[serde(default)]
    pub databases: BTreeMap<String, Privileges>,
    /// On tables, by database and name.
    #[serde(default)]
    pub tables: BTreeMap<String, BTreeMap<String, TableGrants>>,
    /// Roles, in the order of their names.
    #[serde(default)]
    pub roles: Vec<RoleGrant>,
}

impl Granted {
    /// The static privileges on the whole of a level.
    #[must_use]
    pub fn privileges(&self, level: &Level) -> Privileges {
        match (self, level) {
            (Granted::All, Level::Everything) => Privileges::GLOBAL,
            (Granted::All, Level::Database(_)) => Privileges::DATABASE,
            (Granted::All, Level::Table(..)) => Privileges::TABLE,
            (Granted::These(named), _) => {
                let whole = named.iter().filter(|one| one.columns.is_empty());
                let mut all = Privileges::NONE;
                for one in whole {
                    if let Right::Static(privilege) = one.right {
                        all = all.with(privilege.into());
                    }
                }
                all
            }
        }
    }
    /// The dynamic ones. ALL on everything is all of them.
    #[must_use]
    pub fn dynamic(&self, level: &Level) -> Vec<&'static str> {
        match self {
            Granted::All if *level == Level::Everything => DYNAMIC.to_vec(),
            Granted::All => Vec::new(),
            Granted::These(named) => {
                let dynamic = named.iter().filter_map(|one| match one.right {
                    Right::Dynamic(name) => Some(name),
                    Right::Static(_) => None,
                });
                dynamic.collect()
            }
        }
    }
    /// The columns that are named, and the privilege on each.
    pub fn columns(&self) -> impl Iterator<Item = (&str, Privilege)> {
        let named = match self {
            Granted::All => &[],
            Granted::These(named) => named.as_slice(),
        };
        named.iter().flat_map(|one| {
            let columns = one.columns.iter();
            columns.filter_map(|column| match one.right {
                Right::Static(privilege) => Some((column.as_str(), privilege)),
                Right::Dynamic(_) => None,
            })
        })
    }
}

impl TableGrants {
    /// Those on all of it, and those on some column.
    fn privileges_or_columns(&self) -> Privileges {
        let columns = self.columns.values();
        columns.fold(self.privileges, |all, column| all.with(*column))
    }

    /// How many of the columns that REVOKE names have less than it names.
    fn missing_on_columns(&self, granted: &Granted, leniently: bool) -> usize {
        let mut wanted: BTreeMap<String, Privileges> = BTreeMap::new();
        for (column, privilege) in granted.columns() {
            let known = wanted.entry(column.to_lowercase()).or_default();
            *known = known.with(privilege.into());
        }
        let is_missing = |(column, privileges): &(&String, &Privileges)| {
            let mut known = self.columns.iter();
            let known = known.find(|(name, _)| name.to_lowercase() == **column);
            !known.is_some_and(|(_, has)| leniently || has.has_all(**privileges))
        };
        wanted.iter().filter(is_missing).count()
    }

    fn revoke(&mut self, granted: &Granted, privileges: Privileges) {
        self.privileges = self.privileges.without(privileges);
        // What is revoked of a table is revoked of its columns.
        for column in self.columns.values_mut() {
            *column = column.without(privileges);
        }
        for (name, privilege) in granted.columns() {
            for (column, known) in &mut self.columns {
                if column.eq_ignore_ascii_case(name) {
                    *known = known.without(privilege.into());
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.privileges.is_empty() && self.columns.is_empty()
    }
    /// What any of its columns was granted.
    #[must_use]
    pub fn of_columns(&self) -> Privileges {
        let columns = self.columns.values();
        columns.fold(Privileges::NONE, |all, one| all.with(*one))
    }
    /// What a column was granted.
    #[must_use]
    pub fn of_column(&self, column: &str) -> Privileges {
        // They may have been granted with the name in different cases.
        let columns = self.columns.iter();
        let is = columns.filter(|(name, _)| name.eq_ignore_ascii_case(column));
        is.fold(Privileges::NONE, |all, (_, privileges)| {
            all.with(*privileges)
        })
    }
}

impl Grants {
    /// Everything, with GRANT OPTION or without.
    #[must_use]
    pub fn everything(grant_option: bool) -> Grants {
        let mut grants = Grants::default();
        grants.grant(&Granted::All, &Level::Everything, grant_option, ("", 0));
        grants
    }

    /// GRANT, by whom and when (in seconds since 1970).
    pub fn grant(&mut self, granted: &Granted, level: &Level, grant_option: bool, by: (&str, u64)) {
        self.grant_by(granted, level, grant_option, by, &Restrictions::new());
    }

    /// The same by somebody who has what they grant on everything only so far.
    pub fn grant_by(
        &mut self,
        granted: &Granted,
        level: &Level,
        grant_option: bool,
        (grantor, now): (&str, u64),
        restrictions: &Restrictions,
    ) {
        let mut privileges = granted.privileges(level);
        let dynamic = granted.dynamic(level);
        // Of dynamic ones each has its own.
        let only_dynamic = privileges.is_empty() && !dynamic.is_empty();
        if grant_option && !only_dynamic {
            privileges = privileges.with(Privilege::GrantOption.into());
        }
        for name in dynamic {
            *self.dynamic.entry(name.to_owned()).or_default() |= grant_option;
        }
        match level {
            Level::Everything => {
                let before = self.clone();
                self.global = self.global.with(privileges);
                self.restrict_granted(&before, privileges, restrictions);
            }
            Level::Database(pattern) => {
                let privileges = self.lift(pattern, privileges);
                if privileges.is_empty() {
                    return;
                }
                let known = self.databases.entry(pattern.clone()).or_default();
                *known = known.with(privileges);
            }
            Level::Table(database, table) => {
                let tables = self.tables.entry(database.clone()).or_default();
                let known = tables.entry(table.clone()).or_default();
                known.privileges = known.privileges.with(privileges);
                for (column, privilege) in granted.columns() {
                    let known = known.columns.entry(column.to_owned()).or_default();
                    *known = known.with(privilege.into());
                }
                grantor.clone_into(&mut known.grantor);
                known.changed = now;
                self.forget_empty();
            }
        }
    }

    /// How many things are missing of what REVOKE names: privileges on the whole count as one, as do
    /// those on a column. `partial`: of a database can be revoked what was granted on everything.
    /// `leniently`: it is enough that something is granted there.
    #[must_use]
    pub fn missing(
        &self,
        granted: &Granted,
        level: &Level,
        partial: bool,
        leniently: bool,
    ) -> usize {
        let privileges = granted.privileges(level);
        let takes_what_there_is = leniently || *granted == Granted::All;
        match level {
            _ if is_nothing(granted) => 0,
            Level::Everything => 0,
            Level::Database(pattern) => {
                let own = self.databases.get(pattern).copied();
                let has = self.in_database(pattern, partial);
                let is_there = takes_what_there_is && own.is_some() || has.has_all(privileges);
                usize::from(!is_there)
            }
            Level::Table(database, table) => match self.table(database, table) {
                None => 1,
                Some(known) => {
                    let has = known.privileges_or_columns().has_all(privileges);
                    let on_columns = known.missing_on_columns(granted, leniently);
                    usize::from(!has && !takes_what_there_is) + on_columns
                }
            },
        }
    }

    /// REVOKE: takes what there is of it.
    pub fn revoke(
        &mut self,
        granted: &Granted,
        level: &Level,
        (grantor, now): (&str, u64),
        partial: bool,
    ) {
        let privileges = granted.privileges(level);
        for name in granted.dynamic(level) {
            self.dynamic.remove(name);
        }
        match level {
            Level::Everything => {
                // Dynamic ones keep the GRANT OPTION that each has of its own.
                self.global = self.global.without(privileges);
                self.revoke_restrictions(privileges);
            }
            Level::Database(pattern) => {
                let own = self.databases.get(pattern).copied().unwrap_or_default();
                let here = privileges.both(self.in_database(pattern, partial));
                if let Some(known) = self.databases.get_mut(pattern) {
                    *known = known.without(privileges);
                }
                if partial {
                    self.restrict(pattern, here.without(own));
                }
            }
            Level::Table(database, table) => {
                let known = self.tables.get_mut(database);
                if let Some(known) = known.and_then(|tables| tables.get_mut(table)) {
                    known.revoke(granted, privileges);
                    grantor.clone_into(&mut known.grantor);
                    known.changed = now;
                }
            }
        }
        self.forget_empty();
    }

    /// The privileges that can be revoked of a database.
    fn in_database(&self, pattern: &str, partial: bool) -> Privileges {
        let own = self.databases.get(pattern).copied().unwrap_or_default();
        match partial {
            true => own.with(self.global),
            false => own,
        }
    }

    /// REVOKE ALL PRIVILEGES, GRANT OPTION: roles stay.
    pub fn revoke_everything(&mut self) {
        *self = Grants {
            roles: std::mem::take(&mut self.roles),
            ..Grants::default()
        };
    }

    fn forget_empty(&mut self) {
        self.databases.retain(|_, known| !known.is_empty());
        for tables in self.tables.values_mut() {
            for table in tables.values_mut() {
                table.columns.retain(|_, known| !known.is_empty());
            }
            tables.retain(|_, table| !table.is_empty());
        }
        self.tables.retain(|_, tables| !tables.is_empty());
    }

    /// Grants a role.
    pub fn grant_role(&mut self, user: &str, host: &str, admin: bool) {
        let mut known = self.roles.iter_mut();
        match known.find(|role| role.user == user && role.host == host) {
            Some(role) => role.admin |= admin,
            None => {
                self.roles.push(RoleGrant {
                    user: user.to_owned(),
                    host: host.to_owned(),
                    admin,
                });
                let name = |role: &RoleGrant| (role.user.clone(), role.host.clone());
                self.roles.sort_by_key(name);
            }
        }
    }

    /// The grant of a role.
    #[must_use]
    pub fn role(&self, user: &str, host: &str) -> Option<&RoleGrant> {
        let mut roles = self.roles.iter();
        roles.find(|role| role.user == user && role.host == host)
    }

    /// With those of another account or role, without its roles.
    pub fn add(&mut self, other: &Grants) {
        self.add_global(other);
        for (name, option) in &other.dynamic {
            *self.dynamic.entry(name.clone()).or_default() |= option;
        }
        for (pattern, privileges) in &other.databases {
            let known = self.databases.entry(pattern.clone()).or_default();
            *known = known.with(*privileges);
        }
        for (database, tables) in &other.tables {
            for (name, table) in tables {
                let known = self.tables.entry(database.clone()).or_default();
                let known = known.entry(name.clone()).or_default();
                known.privileges = known.privileges.with(table.privileges);
                for (column, privileges) in &table.columns {
                    let known = known.columns.entry(column.clone()).or_default();
                    *known = known.with(*privileges);
                }
            }
        }
    }

    /// The grants on a table, if there are any on this level.
    #[must_use]
    pub fn table(&self, database: &str, table: &str) -> Option<&TableGrants> {
        self.tables.get(database)?.get(table)
    }
}

/// USAGE.
fn is_nothing(granted: &Granted) -> bool {
    matches!(granted, Granted::These(named) if named.is_empty())
}

/// REVOKE, unless something of it is missing.
#[cfg(test)]
pub(super) fn revoked(
    grants: &mut Grants,
    granted: &Granted,
    level: &Level,
    partial: bool,
) -> bool {
    let is_there = grants.missing(granted, level, partial, false) == 0;
    if is_there {
        grants.revoke(granted, level, ("", 0), partial);
    }
    is_there
}

#[cfg(test)]
mod tests {
    use super::{Privilege as P, *};

    fn these(named: &[(P, &[&str])]) -> Granted {
        let named = named.iter().map(|(privilege, columns)| NamedPrivilege {
            right: Right::Static(*privilege),
            columns: columns.iter().map(ToString::to_string).collect(),
        });
        Granted::These(named.collect())
    }

    fn table() -> Level {
        Level::Table("d".into(), "t".into())
    }

    #[test]
    fn what_is_revoked_of_a_table_is_revoked_of_its_columns() {
        let mut grants = Grants::default();
        let given = these(&[(P::Select, &[]), (P::Update, &["a"]), (P::Select, &["b"])]);
        grants.grant(&given, &table(), false, ("", 0));
        assert!(!revoked(
            &mut grants,
            &these(&[(P::Delete, &[])]),
            &table(),
            false
        ));
        assert!(revoked(
            &mut grants,
            &these(&[(P::Update, &[])]),
            &table(),
            false
        ));
        assert_eq!(
            grants.table("d", "t").unwrap().of_column("A"),
            Privileges::NONE
        );
        assert!(revoked(
            &mut grants,
            &these(&[(P::Select, &["B"])]),
            &table(),
            false
        ));
        assert!(!revoked(
            &mut grants,
            &these(&[(P::Select, &["B"])]),
            &table(),
            false
        ));
        assert!(revoked(&mut grants, &Granted::All, &table(), false));
        assert_eq!(grants, Grants::default());
    }

    #[test]
    fn all_on_everything_is_all_dynamic_ones_too() {
        let mut grants = Grants::everything(true);
        assert!(grants.dynamic.values().all(|option| *option));
        assert_eq!(grants.dynamic.len(), DYNAMIC.len());
        let option = these(&[(P::GrantOption, &[])]);
        assert!(revoked(&mut grants, &option, &Level::Everything, false));
        assert!(!grants.global.has(P::GrantOption));
        assert!(grants.dynamic.values().all(|option| *option));
        assert!(revoked(
            &mut grants,
            &Granted::All,
            &Level::Everything,
            false
        ));
        assert_eq!(grants, Grants::default());
    }

    #[test]
    fn grants_are_kept_as_json() {
        let mut grants = Grants::everything(false);
        grants.grant(&these(&[(P::Insert, &["a"])]), &table(), true, ("r@h", 7));
        grants.grant_role("r", "%", true);
        let text = serde_json::to_string(&grants).unwrap();
        assert_eq!(serde_json::from_str::<Grants>(&text).unwrap(), grants);
        assert_eq!(
            serde_json::from_str::<Grants>("{}").unwrap(),
            Grants::default()
        );
    }
}
