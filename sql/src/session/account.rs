//! Statements about users: each does all that it says, or nothing.

use super::Session;
use crate::{
    command::{AccountOptions, AccountStatement, Attributes, DefaultRoles, UserName, UserSpec},
    error::SqlError,
    password_history::{or_default, required_text},
    privileges::{Privilege, Right, needed, quoted_account},
    state::Instance,
    users::{self, Account, Users},
};
use cohort_engine::{
    log::Reading,
    txn::{DdlStatement, Related},
};
use parking_lot::MutexGuard;
use std::{collections::BTreeSet, fmt::Write, sync::Arc, time::Duration};

/// An account that a statement could not deal with, and why, as error 1396 lists it.
pub(super) struct Named(String);

impl Named {
    pub fn exists(who: &UserName) -> Named {
        Named(format!("{} (User account already exists)", name(who)))
    }
    pub fn is_missing(who: &UserName) -> Named {
        Named(format!("{} (User account does not exist)", name(who)))
    }
    pub fn only(who: &UserName) -> Named {
        Named(name(who))
    }
}

impl Session {
    /// Runs a statement about accounts, privileges or roles.
    pub(super) fn account_statement(
        &mut self,
        statement: &AccountStatement,
    ) -> Result<(), SqlError> {
        if let Some(locked) = &self.locked.tables
            && !matches!(statement, AccountStatement::SetRole(_))
        {
            locked.check_named(("mysql", "user"))?;
        }
        // What it changes must be what it has looked at.
        let instance = Arc::clone(&self.state.instance);
        let _alone = self.alone_with_accounts(&instance)?;
        self.made_passwords.clear();
        self.state.find_rights();
        match statement {
            AccountStatement::CreateUser {
                if_not_exists,
                users,
                options,
            } => self.create_users(users, options, *if_not_exists),
            AccountStatement::AlterUser {
                if_exists,
                users,
                options,
            } => self.alter_users(users, options, *if_exists),
            AccountStatement::DropUser { if_exists, users } => {
                self.drop_users("DROP USER", users, *if_exists)
            }
            AccountStatement::DropRole { if_exists, roles } => {
                self.drop_users("DROP ROLE", roles, *if_exists)
            }
            AccountStatement::CreateRole {
                if_not_exists,
                roles,
            } => self.create_roles(roles, *if_not_exists),
            AccountStatement::SetRole(roles) => self.set_role(roles),
            AccountStatement::SetDefaultRole { roles, users } => {
                self.set_default_role(roles, users)
            }
            AccountStatement::RenameUser(pairs) => self.rename_users(pairs),
            AccountStatement::SetPassword {
                user,
                password,
                before,
            } => self.set_password(user.as_ref(), password.as_deref(), before),
            AccountStatement::Grant {
                what,
                level,
                users,
                grant_option,
                by,
            } => self.grant(what, level, users, *grant_option, by.as_ref()),
            AccountStatement::Revoke {
                what,
                level,
                users,
                lenience,
            } => self.revoke(what, level, users, *lenience),
            AccountStatement::RevokeAll { users, lenience } => self.revoke_all(users, *lenience),
            AccountStatement::GrantRoles {
                roles,
                users,
                admin,
            } => self.grant_roles(roles, users, *admin),
            AccountStatement::RevokeRoles {
                roles,
                users,
                lenience,
            } => self.revoke_roles(roles, users, *lenience),
        }
    }

    /// Waits until no other session changes accounts; 1205 if that takes too long.
    pub(super) fn alone_with_accounts<'i>(
        &self,
        instance: &'i Instance,
    ) -> Result<MutexGuard<'i, ()>, SqlError> {
        const MOMENT: Duration = Duration::from_millis(50);
        let most = Duration::from_millis(self.state.settings().table_lock_wait_ms);
        let mut waited = Duration::ZERO;
        loop {
            if let Some(alone) = instance.changing_accounts.try_lock_for(MOMENT) {
                return Ok(alone);
            }
            if self.state.owner.is_killed() {
                return Err(SqlError::query_interrupted());
            }
            waited += MOMENT;
            if waited >= most {
                return Err(SqlError::lock_wait_timeout(""));
            }
        }
    }

    /// 1227 if these are not all the session's own account and it lacks the privilege.
    pub(super) fn check_own<'n>(
        &self,
        mut names: impl Iterator<Item = &'n UserName>,
    ) -> Result<(), SqlError> {
        if names.all(|name| self.is_own(name)) {
            return Ok(());
        }
        self.may_alter()
    }

    /// 1227 for whoever may not change accounts.
    pub(super) fn may_alter(&self) -> Result<(), SqlError> {
        match self.state.writes_accounts(Privilege::Update) {
            true => Ok(()),
            false => self.state.need(needed::CREATE_USER),
        }
    }

    pub(super) fn is_own(&self, name: &UserName) -> bool {
        let (user, host) = &self.state.account;
        name.current || (&name.user, &name.host) == (user, host)
    }

    /// With the name that CURRENT_USER() stands for.
    pub(super) fn resolved(&self, name: &UserName) -> UserName {
        let (user, host) = &self.state.account;
        match name.current {
            true => UserName {
                user: user.clone(),
                host: host.clone(),
                current: false,
            },
            false => name.clone(),
        }
    }

    /// The names of accounts, as the log has them.
    pub(super) fn names(&self, users: &[UserName]) -> String {
        let users = users.iter().map(|user| {
            let UserName { user, host, .. } = self.resolved(user);
            in_quotes(&user, &host)
        });
        users.collect::<Vec<_>>().join(",")
    }

    pub(super) fn find_account<'u>(
        &self,
        users: &'u Users,
        name: &UserName,
    ) -> Option<&'u Arc<Account>> {
        let UserName { user, host, .. } = self.resolved(name);
        users.get(&user, &host)
    }

    /// When the statement has begun, here or at the server whose log is repeated: in microseconds since
    /// 1970.
    pub(super) fn micros_now(&self) -> u64 {
        u64::try_from(self.state.now_micros).unwrap_or(0)
    }

    /// The same, in seconds.
    pub(super) fn seconds_now(&self) -> u64 {
        self.micros_now() / 1_000_000
    }

    pub(super) fn create_users(
        &mut self,
        specs: &[UserSpec],
        options: &AccountOptions,
        if_not_exists: bool,
    ) -> Result<(), SqlError> {
        let users = self.state.instance.users();
        let mut created = Vec::new();
        let mut failed = Vec::new();
        for spec in specs {
            let who = self.resolved(&spec.name);
            let is_it = |account: &Account| account.is(&who.user, &who.host);
            if self.find_account(&users, &who).is_some() || created.iter().any(is_it) {
                if if_not_exists {
                    let note = SqlError::user_already_exists(name(&who));
                    self.state.warnings.note(note);
                } else {
                    failed.push(Named::exists(&who));
                }
                continue;
            }
            let mut account = Account::new(&who.user, &who.host);
            set_policy(&mut account, options);
            account.password_changed = self.seconds_now();
            match &spec.authentication {
                Some(wanted) => self.authenticate(&mut account, wanted, "CREATE USER")?,
                None => self.check_password("")?,
            }
            if let Some(DefaultRoles::These(roles)) = &options.default_roles {
                self.give_roles(&mut account, roles)?;
            }
            self.set_options(&mut account, options)?;
            created.push(account);
        }
        fail("CREATE USER", &failed)?;
        let text = format!(
            "CREATE USER {}{}",
            created.iter().map(identified).collect::<Vec<_>>().join(","),
            self.options_text(options)
        );
        self.store_users(text, &created, &[])
    }

    pub(super) fn alter_users(
        &mut self,
        specs: &[UserSpec],
        options: &AccountOptions,
        if_exists: bool,
    ) -> Result<(), SqlError> {
        // As SET DEFAULT ROLE: of oneself everybody may.
        let more = AccountOptions {
            default_roles: None,
            ..options.clone()
        };
        if more != AccountOptions::default() {
            self.may_alter()?;
        }
        self.check_own(specs.iter().map(|spec| &spec.name))?;
        self.may_identify(specs)?;
        let users = self.state.instance.users();
        let (mut changed, mut texts) = (Vec::new(), Vec::new());
        let mut failed = Vec::new();
        for spec in specs {
            match self.find_account(&users, &spec.name) {
                Some(account) => {
                    // It may have been named before.
                    let is_it = |other: &Account| other.is(&account.user, &account.host);
                    let named = changed.iter().position(is_it);
                    let mut account =
                        named.map_or_else(|| Account::clone(account), |at| changed.remove(at));
                    set_policy(&mut account, options);
                    texts.push(self.identify_anew(&mut account, spec)?);
                    self.set_options(&mut account, options)?;
                    changed.push(account);
                }
                None => match &options.default_roles {
                    Some(roles) => self.default_of_nobody(roles, &spec.name)?,
                    None if if_exists => {
                        let note = SqlError::user_does_not_exist(name(&spec.name));
                        self.state.warnings.note(note);
                    }
                    None => failed.push(Named::is_missing(&spec.name)),
                },
            }
        }
        fail("ALTER USER", &failed)?;
        let text = format!(
            "ALTER USER {}{}",
            texts.join(","),
            self.options_text(options)
        );
        self.store_users(text, &changed, &[])?;
        if !options.limits.is_empty() {
            let usages = &self.state.instance.usages;
            for account in &changed {
                usages.forget(&account.user, &account.host);
            }
        }
        Ok(())
    }

    /// CREATE USER … DEFAULT ROLE grants the roles, too: 3162 for those that are not there.
    fn give_roles(&self, account: &mut Account, roles: &[UserName]) -> Result<(), SqlError> {
        self.may_grant_roles(roles)?;
        let users = self.state.instance.users();
        for role in roles {
            let role = self.resolved(role);
            if users.get(&role.user, &role.host).is_none() {
                let id = quoted_account(&role.user, &role.host);
                return Err(SqlError::user_does_not_exist(id));
            }
            account.grants.grant_role(&role.user, &role.host, false);
        }
        Ok(())
    }

    fn set_options(&self, account: &mut Account, options: &AccountOptions) -> Result<(), SqlError> {
        if let Some(requirement) = &options.requirement {
            account.requirement.clone_from(requirement);
        }
        if let Some(locked) = options.locked {
            account.locked = locked;
        }
        account.password_expired |= options.expired;
        if let Some(lifetime) = options.lifetime {
            account.lifetime = lifetime;
        }
        if let Some(attempts) = options.failed_logins {
            account.lockout.attempts = attempts;
        }
        if let Some(days) = options.lock_time {
            account.lockout.days = days;
        }
        for (keyword, limit) in &options.limits {
            if let Some(place) = account.limits.named(keyword) {
                *place = *limit;
            }
        }
        if let Some(attributes) = &options.attributes {
            set_attributes(account, attributes)?;
        }
        if let Some(roles) = &options.default_roles {
            account.default_roles = self.default_roles(account, roles)?;
        }
        Ok(())
    }

    /// As the log has them.
    fn options_text(&self, options: &AccountOptions) -> String {
        let AccountOptions {
            requirement,
            locked,
            attributes,
            default_roles,
            expired,
            lifetime,
            failed_logins,
            lock_time,
            history,
            reuse_days,
            require_current,
            limits,
        } = options;
        let mut text = String::new();
        // Writing to a string cannot fail.
        if let Some(roles) = default_roles {
            let _ = write!(text, " DEFAULT ROLE {}", self.default_roles_text(roles));
        }
        if let Some(requirement) = requirement {
            let _ = write!(text, " REQUIRE {requirement}");
        }
        if !limits.is_empty() {
            text.push_str(" WITH");
        }
        for (keyword, limit) in limits {
            let _ = write!(text, " {keyword} {limit}");
        }
        if *expired {
            text.push_str(" PASSWORD EXPIRE");
        }
        if let Some(lifetime) = lifetime {
            let _ = write!(text, " PASSWORD EXPIRE {lifetime}");
        }
        if let Some(history) = history {
            let _ = write!(text, " PASSWORD HISTORY {}", or_default(*history));
        }
        if let Some(days) = reuse_days {
            let days = days.map(|days| format!("{days} DAY"));
            let _ = write!(text, " PASSWORD REUSE INTERVAL {}", or_default(days));
        }
        if let Some(required) = require_current {
            let _ = write!(
                text,
                " PASSWORD REQUIRE CURRENT{}",
                required_text(*required)
            );
        }
        if let Some(attempts) = failed_logins {
            let _ = write!(text, " FAILED_LOGIN_ATTEMPTS {attempts}");
        }
        if let Some(time) = lock_time {
            let _ = write!(text, " PASSWORD_LOCK_TIME {time}");
        }
        match locked {
            Some(true) => text.push_str(" ACCOUNT LOCK"),
            Some(false) => text.push_str(" ACCOUNT UNLOCK"),
            None => {}
        }
        match attributes {
            Some(Attributes::Comment(comment)) => {
                let _ = write!(text, " COMMENT {}", string(comment));
            }
            Some(Attributes::Object(object)) => {
                let _ = write!(text, " ATTRIBUTE {}", string(object));
            }
            None => {}
        }
        text
    }

    /// DROP USER and DROP ROLE: nobody has them as a role any more.
    pub(super) fn drop_users(
        &mut self,
        operation: &str,
        who: &[UserName],
        if_exists: bool,
    ) -> Result<(), SqlError> {
        let users = self.state.instance.users();
        let mut dropped: Vec<Account> = Vec::new();
        let mut failed = Vec::new();
        for user in who {
            let found = self.find_account(&users, user);
            let is_new = |account: &&Arc<Account>| !dropped.contains(account);
            match found.filter(is_new) {
                Some(account) => dropped.push(Account::clone(account)),
                None if if_exists => {
                    let note = SqlError::user_does_not_exist(name(user));
                    self.state.warnings.note(note);
                }
                None => failed.push(Named::is_missing(user)),
            }
        }
        fail(operation, &failed)?;
        self.check_not_mandatory(who)?;
        self.check_views(operation, &dropped)?;
        let stays = |user: &str, host: &str| !dropped.iter().any(|gone| gone.is(user, host));
        let mut changed = Vec::new();
        for account in users.list() {
            let mut left = Account::clone(account);
            left.grants
                .roles
                .retain(|role| stays(&role.user, &role.host));
            left.default_roles.retain(|(user, host)| stays(user, host));
            if left != **account && stays(&left.user, &left.host) {
                changed.push(left);
            }
        }
        let text = format!("{operation} {}", names(&dropped));
        self.store_users(text, &changed, &dropped)
    }

    pub(super) fn rename_users(&mut self, pairs: &[(UserName, UserName)]) -> Result<(), SqlError> {
        let users = self.state.instance.users();
        let (mut removed, mut failed) = (Vec::new(), Vec::new());
        let mut accounts: Vec<Account> = users.list().iter().map(|a| Account::clone(a)).collect();
        for (from, to) in pairs {
            let (from, is_self) = (self.resolved(from), to.current);
            let is_role = |id: &UserName| {
                let mut all = accounts.iter();
                all.any(|account| account.grants.role(&id.user, &id.host).is_some())
            };
            if is_role(&from) || is_role(to) {
                return Err(SqlError::rename_role());
            }
            let taken = accounts
                .iter()
                .any(|account| account.is(&to.user, &to.host));
            let found = accounts.iter().position(|a| a.is(&from.user, &from.host));
            let (Some(found), false, false) = (found, taken, is_self) else {
                failed.push(Named::only(&from));
                continue;
            };
            removed.push(accounts[found].clone());
            (accounts[found].user, accounts[found].host) = (to.user.clone(), to.host.clone());
        }
        fail("RENAME USER", &failed)?;
        self.check_views("RENAME USER", &removed)?;
        let is_new = |account: &Account| {
            let before = users.get(&account.user, &account.host);
            before.is_none_or(|before| **before != *account)
        };
        // Names that were there before and are not any more.
        removed.retain(|gone| {
            let stays = accounts
                .iter()
                .any(|account| account.is(&gone.user, &gone.host));
            !stays && users.get(&gone.user, &gone.host).is_some()
        });
        accounts.retain(is_new);
        let pairs = pairs.iter().map(|(from, to)| {
            let from = self.resolved(from);
            let from = in_quotes(&from.user, &from.host);
            format!("{from} TO {}", in_quotes(&to.user, &to.host))
        });
        let text = format!("RENAME USER {}", pairs.collect::<Vec<_>>().join(","));
        self.store_users(text, &accounts, &removed)
    }

    /// 4006 if views have these as definers, who would be gone; a warning for whoever may have such
    /// views.
    fn check_views(&mut self, operation: &str, gone: &[Account]) -> Result<(), SqlError> {
        let dictionary = self.state.instance.engine.dictionary();
        let databases = dictionary.databases();
        let views = databases.flat_map(|database| dictionary.views(&database.name));
        let definers: BTreeSet<_> = views.map(|view| &view.definer).collect();
        for account in gone {
            if !definers.contains(&(account.user.clone(), account.host.clone())) {
                continue;
            }
            let who = account.quoted();
            if !self
                .state
                .rights
                .has(Right::Dynamic("ALLOW_NONEXISTENT_DEFINER"))
            {
                return Err(SqlError::user_is_definer(operation, who));
            }
            let warning = SqlError::user_referenced_as_definer(who);
            self.state.warnings.warn(warning);
        }
        Ok(())
    }

    /// Makes accounts durable. The log gets the statement with what is stored of passwords in the
    /// place of them, so that a MySQL or Cohort that repeats it has the same accounts. 1227 for accounts with
    /// SYSTEM_USER, which only such accounts may change.
    pub(super) fn store_users(
        &mut self,
        text: String,
        put: &[Account],
        remove: &[Account],
    ) -> Result<(), SqlError> {
        if put.is_empty() && remove.is_empty() {
            return Ok(());
        }
        for account in put.iter().chain(remove) {
            self.check_protected(&(account.user.clone(), account.host.clone()))?;
        }
        let statement = DdlStatement {
            database: self.state.database.to_string(),
            // MariaDB has other accounts, and reads no comments of MySQL 8.
            text: format!("/*!80000 {text} */"),
            reading: Reading {
                began: Some(self.micros_now()),
                ..Reading::PLAIN
            },
            foreign_key_checks: true,
            threads: 1,
        };
        let related = Related::default();
        let wait = self.state.settings().table_lock_wait_ms;
        let change = users::change(put, remove)?;
        let engine = &self.state.instance.engine;
        engine.change_schema(&self.state.owner, change, &related, &statement, wait, None)?;
        for account in remove {
            let usages = &self.state.instance.usages;
            usages.remove(&account.user, &account.host);
        }
        for account in put {
            self.state.instance.logins.forget(account);
            let (user, host) = &self.state.account;
            if account.is(user, host) && self.state.must_change_password {
                let now = self.seconds_now();
                self.state.must_change_password = self.state.instance.has_expired(account, now);
            }
        }
        self.state.find_rights();
        Ok(())
    }
}

/// `'name'@'host'`, as errors have it.
pub(super) fn name(who: &UserName) -> String {
    format!("'{}'@'{}'", who.user, who.host)
}

/// A string in quotes, whatever is in it.
fn string(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// `'name'@'host'`, whatever is in it.
pub(super) fn in_quotes(user: &str, host: &str) -> String {
    format!("{}@{}", string(user), string(host))
}

/// The names of accounts, as the log has them.
pub(super) fn names(accounts: &[Account]) -> String {
    let names = accounts
        .iter()
        .map(|account| in_quotes(&account.user, &account.host));
    names.collect::<Vec<_>>().join(",")
}

/// What the options say of passwords that may come again holds of the one that they are about, too.
fn set_policy(account: &mut Account, options: &AccountOptions) {
    let policy = &mut account.policy;
    policy.history = options.history.unwrap_or(policy.history);
    policy.reuse_days = options.reuse_days.unwrap_or(policy.reuse_days);
    policy.require_current = options.require_current.unwrap_or(policy.require_current);
}

/// An account and how it proves who it is, as the log has it.
pub(super) fn identified(account: &Account) -> String {
    let who = in_quotes(&account.user, &account.host);
    let stored = match account.authentication.is_empty() {
        true => String::new(),
        // For MariaDB the comment in which all this stands would end there.
        false if account.authentication.contains("*/") => {
            let bytes = account.authentication.bytes();
            let digits: String = bytes.map(|byte| format!("{byte:02X}")).collect();
            format!(" AS 0x{digits}")
        }
        false => format!(" AS {}", string(&account.authentication)),
    };
    format!("{who} IDENTIFIED WITH '{}'{stored}", account.plugin)
}

/// COMMENT is an attribute of that name; ATTRIBUTE adds to those that are there, and takes away
/// those that are null. Who had some has an empty object then.
fn set_attributes(account: &mut Account, wanted: &Attributes) -> Result<(), SqlError> {
    let mut attributes = account.attributes.take().unwrap_or_default();
    match wanted {
        Attributes::Comment(comment) => {
            attributes.insert("comment".to_owned(), comment.clone().into());
        }
        Attributes::Object(text) => {
            let Ok(serde_json::Value::Object(object)) = serde_json::from_str(text) else {
                return Err(SqlError::invalid_user_attribute());
            };
            for (name, value) in object {
                match value.is_null() {
                    true => attributes.remove(&name),
                    false => attributes.insert(name, value),
                };
            }
        }
    }
    account.attributes = Some(attributes);
    Ok(())
}

/// 1396 for those that could not be done.
pub(super) fn fail(operation: &str, users: &[Named]) -> Result<(), SqlError> {
    if users.is_empty() {
        return Ok(());
    }
    let users: Vec<&str> = users.iter().map(|user| user.0.as_str()).collect();
    Err(SqlError::user_operation_failed(operation, users.join(",")))
}
