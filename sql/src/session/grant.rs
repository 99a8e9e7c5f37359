//! GRANT, REVOKE and roles: each statement does all that it says, or nothing.

use super::{
    Session,
    account::{Named, in_quotes, name, names},
};
use crate::{
    command::{ActiveRoles, DefaultRoles, GrantLevel, Lenience, UserName},
    error::SqlError,
    privileges::{
        Granted, Level, Privilege, Privileges, Restrictions, Right, needed, quoted_account,
    },
    rights::{Object, Rights},
    users::{Account, Users},
};
use std::sync::Arc;

/// The first version of MySQL whose REVOKE must find all that it names.
const WHOLE_REVOKES: u64 = 80_300;

impl Session {
    /// GRANT of privileges.
    pub(super) fn grant(
        &mut self,
        what: &Granted,
        level: &GrantLevel,
        users: &[UserName],
        grant_option: bool,
        by: Option<&(UserName, ActiveRoles)>,
    ) -> Result<(), SqlError> {
        if by.is_some() && *level != GrantLevel::Everything {
            return Err(SqlError::grant_as_not_global());
        }
        let level = self.level_to_grant_on(what, level)?;
        self.check_object(what, &level)?;
        let known = self.state.instance.users();
        let mut granted = what.privileges(&level);
        if grant_option {
            granted = granted.with(Privilege::GrantOption.into());
        }
        let (restrictions, by) = match level {
            Level::Everything => self.restrictions_of_grantor(granted, by)?,
            Level::Database(_) | Level::Table(..) => Default::default(),
        };
        let (grantor, now) = self.grantor();
        let mut changed = Vec::new();
        for user in users {
            let account = self.find_account(&known, user);
            let account = account.ok_or_else(SqlError::cannot_create_user_with_grant)?;
            let mut account = Account::clone(account);
            account
                .grants
                .grant_by(what, &level, grant_option, (&grantor, now), &restrictions);
            changed.push(account);
        }
        let option = if grant_option {
            " WITH GRANT OPTION"
        } else {
            ""
        };
        let text = format!(
            "GRANT {} TO {}{option}{by}",
            what.text(&level),
            self.names(users)
        );
        self.store_users(text, &changed, &[])
    }

    /// In which databases whoever grants privileges on everything has not all of them, and gives not all
    /// of them; and AS, as the log has it then.
    fn restrictions_of_grantor(
        &self,
        granted: Privileges,
        by: Option<&(UserName, ActiveRoles)>,
    ) -> Result<(Restrictions, String), SqlError> {
        let state = &self.state;
        let own = state.rights.restrictions();
        let (name, roles, restrictions) = match by {
            None => (state.account.clone(), state.roles.clone(), own),
            Some((name, roles)) => {
                let known = state.instance.users();
                let account = self.find_account(&known, name);
                let account = account.ok_or_else(SqlError::invalid_as_clause)?;
                let roles = self.active_roles(account, roles);
                let roles = roles.map_err(|_| SqlError::invalid_as_clause())?;
                let rights = state.instance.rights_of(&known, account, &roles);
                let theirs = rights.restrictions();
                // Nobody gives more in another's name.
                let mut own = own.into_iter();
                let is_more = own.any(|(database, restricted)| {
                    let theirs = theirs.get(&database).copied().unwrap_or_default();
                    !theirs.has_all(restricted.both(granted))
                });
                if is_more {
                    return Err(SqlError::invalid_as_clause());
                }
                ((account.user.clone(), account.host.clone()), roles, theirs)
            }
        };
        if restrictions.is_empty() {
            return Ok((restrictions, String::new()));
        }
        let roles: Vec<String> = roles
            .iter()
            .map(|(user, host)| in_quotes(user, host))
            .collect();
        let roles = match roles.is_empty() {
            true => "NONE".to_owned(),
            false => roles.join(","),
        };
        let name = in_quotes(&name.0, &name.1);
        Ok((restrictions, format!(" AS {name} WITH ROLE {roles}")))
    }

    /// REVOKE of privileges.
    pub(super) fn revoke(
        &mut self,
        what: &Granted,
        level: &GrantLevel,
        users: &[UserName],
        lenience: Lenience,
    ) -> Result<(), SqlError> {
        let level = self.level_to_grant_on(what, level)?;
        let known = self.state.instance.users();
        let (grantor, now) = self.grantor();
        let partial = self.state.instance.has_partial_revokes();
        // What a source took that was older than that rule is taken from it.
        let origin = self
            .state
            .variables
            .values()
            .number("original_server_version");
        let leniently = origin < WHOLE_REVOKES;
        let mut changed = Vec::new();
        for user in users {
            let Some(account) = self.find_account(&known, user) else {
                self.unknown(user, lenience, no_such_grant(user, &level))?;
                continue;
            };
            let is_it = |other: &Account| other.is(&account.user, &account.host);
            let before = changed.iter().position(is_it);
            let mut account = match before {
                Some(at) => changed.remove(at),
                None => Account::clone(account),
            };
            let missing = account.grants.missing(what, &level, partial, leniently);
            for _ in 0..missing {
                let error = no_such_grant(&self.resolved(user), &level);
                self.pass(lenience.if_exists, error)?;
            }
            let had = account.grants.clone();
            let by = (grantor.as_str(), now);
            account.grants.revoke(what, &level, by, partial);
            if missing == 0 || account.grants != had {
                changed.push(account);
            }
        }
        // Whoever repeats it takes what there is, too.
        let verb = match lenience.if_exists || leniently {
            true => "REVOKE IF EXISTS",
            false => "REVOKE",
        };
        let text = format!("{verb} {} FROM {}", what.text(&level), names(&changed));
        self.store_users(text, &changed, &[])
    }

    /// The level of a GRANT or REVOKE of these privileges, which can be granted on it, and by this
    /// session.
    fn level_to_grant_on(&mut self, what: &Granted, level: &GrantLevel) -> Result<Level, SqlError> {
        let level = self.level(level)?;
        check_level(what, &level)?;
        if what.names(Right::Static(Privilege::Super)) {
            let warning = SqlError::deprecated_super();
            self.state.warnings.warn(warning);
        }
        self.may_grant(what, &level)?;
        Ok(level)
    }

    /// REVOKE ALL PRIVILEGES, GRANT OPTION.
    pub(super) fn revoke_all(
        &mut self,
        users: &[UserName],
        lenience: Lenience,
    ) -> Result<(), SqlError> {
        let known = self.state.instance.users();
        let mut changed = Vec::new();
        for user in users {
            let Some(account) = self.find_account(&known, user) else {
                self.unknown(user, lenience, SqlError::revoke_all_failed())?;
                continue;
            };
            let mut account = Account::clone(account);
            account.grants.revoke_everything();
            changed.push(account);
        }
        let text = format!(
            "REVOKE ALL PRIVILEGES, GRANT OPTION FROM {}",
            names(&changed)
        );
        self.store_users(text, &changed, &[])
    }

    /// GRANT of roles.
    pub(super) fn grant_roles(
        &mut self,
        roles: &[UserName],
        users: &[UserName],
        admin: bool,
    ) -> Result<(), SqlError> {
        self.may_grant_roles(roles)?;
        let known = self.state.instance.users();
        let mut granted = Vec::new();
        for role in roles {
            let found = self.find_account(&known, role);
            granted.push(Arc::clone(found.ok_or_else(|| self.unknown_id(role))?));
        }
        let mut changed = Vec::new();
        for user in users {
            let account = self.find_account(&known, user);
            let account = account.ok_or_else(|| self.unknown_id(user))?;
            let mut account = Account::clone(account);
            for role in &granted {
                if leads_to(&known, role, &account) {
                    let (to, role) = (account.backticked(), role.backticked());
                    return Err(SqlError::role_grant_loop(to, role));
                }
                account.grants.grant_role(&role.user, &role.host, admin);
            }
            changed.push(account);
        }
        let option = if admin { " WITH ADMIN OPTION" } else { "" };
        let (roles, to) = (self.names(roles), self.names(users));
        self.store_users(format!("GRANT {roles} TO {to}{option}"), &changed, &[])
    }

    /// REVOKE of roles.
    pub(super) fn revoke_roles(
        &mut self,
        roles: &[UserName],
        users: &[UserName],
        lenience: Lenience,
    ) -> Result<(), SqlError> {
        self.may_grant_roles(roles)?;
        let known = self.state.instance.users();
        self.check_not_mandatory(roles)?;
        let mut revoked = Vec::new();
        for role in roles {
            match self.find_account(&known, role) {
                Some(_) => revoked.push(self.resolved(role)),
                None => self.pass(lenience.if_exists, self.unknown_id(role))?,
            }
        }
        let mut changed = Vec::new();
        for user in users {
            let Some(account) = self.find_account(&known, user) else {
                self.unknown(user, lenience, self.unknown_id(user))?;
                continue;
            };
            let mut account = Account::clone(account);
            let stays = |user: &str, host: &str| {
                !revoked
                    .iter()
                    .any(|role| role.user == user && role.host == host)
            };
            account
                .grants
                .roles
                .retain(|role| stays(&role.user, &role.host));
            account
                .default_roles
                .retain(|(user, host)| stays(user, host));
            changed.push(account);
        }
        if revoked.is_empty() {
            return Ok(());
        }
        let text = format!("REVOKE {} FROM {}", self.names(&revoked), names(&changed));
        self.store_users(text, &changed, &[])
    }

    /// CREATE ROLE.
    pub(super) fn create_roles(
        &mut self,
        roles: &[UserName],
        if_not_exists: bool,
    ) -> Result<(), SqlError> {
        let known = self.state.instance.users();
        let (mut created, mut failed) = (Vec::new(), Vec::new());
        for role in roles {
            match self.find_account(&known, role) {
                None if created
                    .iter()
                    .any(|a: &Account| a.is(&role.user, &role.host)) =>
                {
                    failed.push(Named::exists(role));
                }
                None => created.push(Account {
                    locked: true,
                    password_expired: true,
                    ..Account::new(&role.user, &role.host)
                }),
                Some(_) if if_not_exists => {
                    let note = SqlError::user_already_exists(name(role));
                    self.state.warnings.note(note);
                }
                Some(_) => failed.push(Named::exists(role)),
            }
        }
        super::account::fail("CREATE ROLE", &failed)?;
        self.store_users(format!("CREATE ROLE {}", names(&created)), &created, &[])
    }

    /// SET ROLE.
    pub(super) fn set_role(&mut self, wanted: &ActiveRoles) -> Result<(), SqlError> {
        let instance = Arc::clone(&self.state.instance);
        let users = instance.users();
        let (user, host) = &self.state.account;
        let account = users
            .get(user, host)
            .ok_or_else(SqlError::no_matching_user)?;
        self.state.roles = self.active_roles(account, wanted)?;
        self.state.weigh();
        Ok(())
    }

    /// The roles that SET ROLE makes active: 3530 for one that the account was not granted.
    fn active_roles(
        &self,
        account: &Account,
        wanted: &ActiveRoles,
    ) -> Result<Vec<(String, String)>, SqlError> {
        let instance = &self.state.instance;
        let granted = instance.roles_of(account);
        Ok(match wanted {
            ActiveRoles::None => Vec::new(),
            ActiveRoles::Default => instance.default_roles(account),
            ActiveRoles::AllBut(others) => {
                let is_other = |role: &(String, String)| {
                    others
                        .iter()
                        .any(|other| (&other.user, &other.host) == (&role.0, &role.1))
                };
                granted.into_iter().filter(|role| !is_other(role)).collect()
            }
            ActiveRoles::These(roles) => chosen(roles, &granted, (&account.user, &account.host))?,
        })
    }

    /// SET DEFAULT ROLE.
    pub(super) fn set_default_role(
        &mut self,
        roles: &DefaultRoles,
        users: &[UserName],
    ) -> Result<(), SqlError> {
        self.check_own(users.iter())?;
        let known = self.state.instance.users();
        let mut changed = Vec::new();
        for user in users {
            let Some(account) = self.find_account(&known, user) else {
                self.default_of_nobody(roles, user)?;
                continue;
            };
            let mut account = Account::clone(account);
            account.default_roles = self.default_roles(&account, roles)?;
            changed.push(account);
        }
        let roles = self.default_roles_text(roles);
        let text = format!("SET DEFAULT ROLE {roles} TO {}", names(&changed));
        self.store_users(text, &changed, &[])
    }

    /// What is told of default roles for an account that is not there: nothing of none.
    pub(super) fn default_of_nobody(
        &self,
        roles: &DefaultRoles,
        user: &UserName,
    ) -> Result<(), SqlError> {
        let user = self.resolved(user);
        match roles {
            DefaultRoles::None => Ok(()),
            DefaultRoles::These(roles) => match roles.first() {
                Some(role) => Err(not_granted(&pair(role), (&user.user, &user.host))),
                None => Ok(()),
            },
            DefaultRoles::All => Err(self.unknown_id(&user)),
        }
    }

    /// The default roles that an account is to have: 3530 for one that it was not granted.
    pub(super) fn default_roles(
        &self,
        account: &Account,
        roles: &DefaultRoles,
    ) -> Result<Vec<(String, String)>, SqlError> {
        let granted = self.state.instance.roles_of(account);
        match roles {
            DefaultRoles::None => Ok(Vec::new()),
            DefaultRoles::All => Ok(granted),
            DefaultRoles::These(roles) => chosen(roles, &granted, (&account.user, &account.host)),
        }
    }

    /// As the log has them.
    pub(super) fn default_roles_text(&self, roles: &DefaultRoles) -> String {
        match roles {
            DefaultRoles::None => "NONE".to_owned(),
            DefaultRoles::All => "ALL".to_owned(),
            DefaultRoles::These(roles) => self.names(roles),
        }
    }

    /// On what: 1046 without a database, 1044 for information_schema.
    fn level(&self, level: &GrantLevel) -> Result<Level, SqlError> {
        let current = || {
            let database = &*self.state.database;
            match database.is_empty() {
                true => Err(SqlError::no_database()),
                false => Ok(database.to_owned()),
            }
        };
        let level = match level {
            GrantLevel::Everything => Level::Everything,
            GrantLevel::Current => Level::Database(current()?),
            GrantLevel::Database(pattern) => Level::Database(pattern.clone()),
            GrantLevel::Table(table) => {
                let database = table.database.clone().map_or_else(current, Ok)?;
                Level::Table(database, table.name.clone())
            }
        };
        if let Level::Database(database) | Level::Table(database, _) = &level {
            check_name(database, |name| SqlError::wrong_database_name(name))?;
        }
        if let Level::Table(_, table) = &level {
            check_name(table, |name| SqlError::wrong_table_name(name))?;
        }
        if let Level::Database(database) | Level::Table(database, _) = &level
            && database.eq_ignore_ascii_case("information_schema")
        {
            return Err(self.state.refused_database(database));
        }
        Ok(level)
    }

    /// Nobody gives or takes what they have not, with GRANT OPTION.
    fn may_grant(&self, what: &Granted, level: &Level) -> Result<(), SqlError> {
        let state = &self.state;
        let rights = &state.rights;
        let mut privileges = what.privileges(level);
        let mut has = has_on(rights, level);
        let has_option = has.has(Privilege::GrantOption);
        for (column, privilege) in what.columns() {
            privileges = privileges.with(privilege.into());
            let Level::Table(database, table) = level else {
                continue;
            };
            // Of a column it is enough to have it there.
            if rights
                .on(Object::Column(database, table, column))
                .has(privilege)
            {
                if !what.privileges(level).has(privilege) {
                    has = has.with(privilege.into());
                }
            } else if has_option && rights.within_table(database, table).has(privilege) {
                return Err(state.refused_column(privilege.name(), column, table));
            }
        }
        let dynamic = what.dynamic(level);
        let only_dynamic = privileges.is_empty() && !dynamic.is_empty();
        let wanted = privileges.with(Privilege::GrantOption.into());
        if only_dynamic || has.has_all(wanted) {
            return match dynamic.iter().all(|name| rights.may_grant(name)) {
                true => Ok(()),
                false => Err(SqlError::privilege_needed("GRANT OPTION")),
            };
        }
        Err(match level {
            Level::Everything => state.refused_access(),
            Level::Database(database) => state.refused_database(database),
            Level::Table(database, table) => {
                // What is had of a column is not named, unless nothing else is lacking.
                let within = rights.within_table(database, table);
                let lacking = match wanted.without(within) {
                    Privileges::NONE => wanted.without(has),
                    lacking => lacking,
                };
                let mut lacking: Vec<Privilege> = lacking.iter().collect();
                // As MySQL's privileges follow one another.
                lacking.sort_by_key(|privilege| match privilege {
                    Privilege::GrantOption => (Privilege::File, true),
                    other => (*other, false),
                });
                let lacking = lacking.iter().map(|privilege| match privilege {
                    Privilege::GrantOption => "GRANT",
                    other => other.name(),
                });
                let lacking: Vec<&str> = lacking.collect();
                state.refused(&lacking.join(", "), table)
            }
        })
    }

    /// 1146 and 1054 for what is not there, unless CREATE is granted.
    fn check_object(&self, what: &Granted, level: &Level) -> Result<(), SqlError> {
        let Level::Table(database, table) = level else {
            return Ok(());
        };
        let dictionary = self.state.instance.engine.dictionary();
        let stored = dictionary.table(database, table);
        let view = dictionary.view(database, table);
        let computed = crate::catalog::virtual_table(database, table);
        let is_there = stored.is_some() || view.is_some() || computed.is_some();
        if !is_there && !what.privileges(level).has(Privilege::Create) {
            return Err(SqlError::no_such_table(database, table));
        }
        for (column, _) in what.columns() {
            let is = |name: &String| name.eq_ignore_ascii_case(column);
            let definition = stored.or(computed.map(|table| &table.definition));
            let in_table = definition.is_some_and(|table| table.column_position(column).is_some());
            let in_view = view.is_some_and(|view| view.columns.iter().any(is));
            if !in_table && !in_view {
                return Err(SqlError::unknown_column(column, table));
            }
        }
        Ok(())
    }

    /// 1227 for roles that the session may not give and take.
    pub(super) fn may_grant_roles(&self, roles: &[UserName]) -> Result<(), SqlError> {
        let rights = &self.state.rights;
        let administers = |role: &UserName| {
            let role = self.resolved(role);
            rights.administers(&role.user, &role.host)
        };
        if !rights.has_any(needed::ROLE_ADMIN) && !roles.iter().all(administers) {
            return Err(SqlError::privilege_needed("WITH ADMIN, ROLE_ADMIN, SUPER"));
        }
        roles.iter().try_for_each(|role| {
            let role = self.resolved(role);
            self.check_protected(&(role.user, role.host))
        })
    }

    /// 3628 for a role that everybody has.
    pub(super) fn check_not_mandatory(&self, roles: &[UserName]) -> Result<(), SqlError> {
        let mandatory = self.state.instance.mandatory_roles();
        for role in roles {
            let role = self.resolved(role);
            if mandatory
                .iter()
                .any(|(user, host)| (user, host) == (&role.user, &role.host))
            {
                let id = quoted_account(&role.user, &role.host);
                return Err(SqlError::mandatory_role(id));
            }
        }
        Ok(())
    }

    /// Who grants, and when.
    fn grantor(&self) -> (String, u64) {
        let (user, host) = &self.state.account;
        (format!("{user}@{host}"), self.seconds_now())
    }

    fn unknown_id(&self, who: &UserName) -> SqlError {
        let who = self.resolved(who);
        SqlError::unknown_authorization_id(quoted_account(&who.user, &who.host))
    }

    /// An account that is not there is a warning with IGNORE UNKNOWN USER.
    fn unknown(
        &mut self,
        who: &UserName,
        lenience: Lenience,
        error: SqlError,
    ) -> Result<(), SqlError> {
        if !lenience.ignore_unknown {
            return Err(error);
        }
        let warning = SqlError::user_does_not_exist(&who.user);
        self.state.warnings.warn(warning);
        Ok(())
    }

    /// What is not there is a warning with IF EXISTS.
    fn pass(&mut self, if_exists: bool, error: SqlError) -> Result<(), SqlError> {
        if !if_exists {
            return Err(error);
        }
        self.state.warnings.warn(error);
        Ok(())
    }
}

/// Whether an account is a role, or one of those that were granted to the role: granting it to the
/// account would make a loop.
fn leads_to(users: &Users, role: &Arc<Account>, account: &Account) -> bool {
    let granted = role.grants.roles.iter();
    let granted: Vec<_> = granted
        .map(|role| (role.user.clone(), role.host.clone()))
        .collect();
    let mut members = users.with_roles(role, &granted).into_iter();
    members.any(|member| member.is(&account.user, &account.host))
}

/// What a level's object allows, GRANT OPTION included.
fn has_on(rights: &Rights, level: &Level) -> Privileges {
    match level {
        Level::Everything => rights.global(),
        Level::Database(pattern) => rights.on_pattern(pattern),
        Level::Table(database, table) => rights.on(Object::Table(database, table)),
    }
}

/// 1221, 1144 and 3619 for privileges that cannot be granted on this level.
fn check_level(what: &Granted, level: &Level) -> Result<(), SqlError> {
    let option = Privilege::GrantOption.into();
    let Granted::These(named) = what else {
        return Ok(());
    };
    let allowed = match level {
        Level::Everything => Privileges::GLOBAL,
        Level::Database(_) => Privileges::DATABASE,
        Level::Table(..) => Privileges::TABLE,
    };
    for one in named {
        let has_columns = !one.columns.is_empty();
        match (one.right, level) {
            (Right::Dynamic(_), Level::Everything) => {}
            (Right::Dynamic(name), _) => return Err(SqlError::illegal_privilege_level(name)),
            (Right::Static(_), Level::Everything | Level::Database(_)) if has_columns => {
                return Err(SqlError::illegal_grant());
            }
            (Right::Static(privilege), _) if allowed.with(option).has(privilege) => {}
            (Right::Static(_), Level::Database(_)) => {
                return Err(SqlError::wrong_usage("DB GRANT", "GLOBAL PRIVILEGES"));
            }
            (Right::Static(_), _) => return Err(SqlError::illegal_grant()),
        }
    }
    Ok(())
}

/// 1059 for a name that is too long, and the error for one that nothing can have.
fn check_name(name: &str, wrong: impl FnOnce(&str) -> SqlError) -> Result<(), SqlError> {
    const CHARACTERS_MAX: usize = 64;
    if name.is_empty() || name.ends_with(' ') {
        return Err(wrong(name));
    }
    match name.chars().count() > CHARACTERS_MAX {
        true => Err(SqlError::identifier_too_long(name)),
        false => Ok(()),
    }
}

fn no_such_grant(who: &UserName, level: &Level) -> SqlError {
    let UserName { user, host, .. } = who;
    match level {
        Level::Everything | Level::Database(_) => SqlError::no_such_grant(user, host),
        Level::Table(_, table) => SqlError::no_such_table_grant(user, host, table),
    }
}

fn pair(role: &UserName) -> (String, String) {
    (role.user.clone(), role.host.clone())
}

/// Roles that are named, each once, in order; 3530 for one that the account was not granted.
fn chosen(
    named: &[UserName],
    granted: &[(String, String)],
    account: (&str, &str),
) -> Result<Vec<(String, String)>, SqlError> {
    let mut roles: Vec<_> = named.iter().map(pair).collect();
    if let Some(role) = roles.iter().find(|role| !granted.contains(role)) {
        return Err(not_granted(role, account));
    }
    roles.sort();
    roles.dedup();
    Ok(roles)
}

fn not_granted(role: &(String, String), (user, host): (&str, &str)) -> SqlError {
    let role = quoted_account(&role.0, &role.1);
    SqlError::role_not_granted(role, quoted_account(user, host))
}
