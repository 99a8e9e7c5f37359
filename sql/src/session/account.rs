//! Statements about users: each does all that it says, or nothing.

use super::Session;
use crate::{
    command::{AccountOptions, Authentication, UserName, UserSpec},
    error::SqlError,
    password,
    users::{self, Account, CACHING_SHA2, NATIVE, Users},
};
use cohort_engine::txn::{DdlStatement, Related};

impl Session {
    /// SET PASSWORD, for oneself or another.
    pub(super) fn set_password(
        &mut self,
        user: Option<&UserName>,
        password: &str,
    ) -> Result<(), SqlError> {
        let own = UserName {
            user: String::new(),
            host: String::new(),
            current: true,
        };
        let name = user.unwrap_or(&own);
        self.check_own([name].into_iter())?;
        let mut account = self
            .find_account(&self.state.instance.users(), name)
            .ok_or_else(SqlError::no_matching_user)?;
        account.authentication = self.stored(&account, password, "SET PASSWORD")?;
        self.store_users("SET PASSWORD", &[account], &[])
    }

    /// 1227 if these are not all the session's own account and it lacks the privilege.
    fn check_own<'n>(&self, mut names: impl Iterator<Item = &'n UserName>) -> Result<(), SqlError> {
        if names.all(|name| self.is_own(name)) {
            return Ok(());
        }
        self.need_privileges("CREATE USER")
    }

    fn is_own(&self, name: &UserName) -> bool {
        let (user, host) = &self.state.account;
        name.current || (&name.user, &name.host) == (user, host)
    }

    fn find_account(&self, users: &Users, name: &UserName) -> Option<Account> {
        if name.current {
            return users.get(&self.state.account.0, &self.state.account.1);
        }
        users.get(&name.user, &name.host)
    }

    /// What an account's plugin keeps of a password; 1396 for one that is too long for it.
    fn stored(
        &self,
        account: &Account,
        password: &str,
        operation: &str,
    ) -> Result<String, SqlError> {
        if account.plugin == NATIVE {
            return Ok(password::native(password.as_bytes()));
        }
        if password.len() > password::BYTES_MAX {
            fail(operation, &[account.quoted()])?;
        }
        let mut random = [0; 20];
        let env = self.state.instance.env();
        env.random(&mut random).map_err(SqlError::internal)?;
        Ok(password::caching_sha2(password.as_bytes(), random))
    }

    /// Sets how an account proves who it is.
    fn authenticate(
        &self,
        account: &mut Account,
        wanted: &Authentication,
        operation: &str,
    ) -> Result<(), SqlError> {
        if let Some(plugin) = &wanted.plugin {
            if plugin != CACHING_SHA2 && plugin != NATIVE {
                return Err(SqlError::plugin_not_loaded(plugin));
            }
            account.plugin.clone_from(plugin);
            account.authentication.clear();
        }
        if let Some(password) = &wanted.password {
            account.authentication = self.stored(account, password, operation)?;
        }
        if let Some(stored) = &wanted.stored {
            let fits = if account.plugin == NATIVE {
                stored.is_empty() || stored.len() == 41 && stored.starts_with('*')
            } else {
                password::is_caching_sha2(stored)
            };
            if !fits {
                return Err(SqlError::wrong_password_hash());
            }
            account.authentication.clone_from(stored);
        }
        Ok(())
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
            let mut account = Account {
                user: spec.name.user.clone(),
                host: spec.name.host.clone(),
                plugin: CACHING_SHA2.into(),
                authentication: String::new(),
                requirement: options.requirement.clone().unwrap_or_default(),
                all: false,
                grant_option: false,
            };
            if self.find_account(&users, &spec.name).is_some() || spec.name.current {
                if if_not_exists {
                    let note = SqlError::user_already_exists(account.quoted());
                    self.state.warnings.note(note);
                } else {
                    failed.push(account.quoted());
                }
                continue;
            }
            if let Some(wanted) = &spec.authentication {
                self.authenticate(&mut account, wanted, "CREATE USER")?;
            }
            created.push(account);
        }
        fail("CREATE USER", &failed)?;
        self.store_users("CREATE USER", &created, &[])
    }

    pub(super) fn alter_users(
        &mut self,
        specs: &[UserSpec],
        options: &AccountOptions,
        if_exists: bool,
    ) -> Result<(), SqlError> {
        if options.requirement.is_some() {
            self.need_privileges("CREATE USER")?;
        }
        self.check_own(specs.iter().map(|spec| &spec.name))?;
        let users = self.state.instance.users();
        let mut changed = Vec::new();
        let mut failed = Vec::new();
        for spec in specs {
            match self.find_account(&users, &spec.name) {
                Some(mut account) => {
                    if let Some(wanted) = &spec.authentication {
                        self.authenticate(&mut account, wanted, "ALTER USER")?;
                    }
                    if let Some(requirement) = &options.requirement {
                        account.requirement.clone_from(requirement);
                    }
                    changed.push(account);
                }
                None if if_exists => {
                    self.state
                        .warnings
                        .note(SqlError::user_does_not_exist(quoted(&spec.name)));
                }
                None => failed.push(quoted(&spec.name)),
            }
        }
        fail("ALTER USER", &failed)?;
        self.store_users("ALTER USER", &changed, &[])
    }

    pub(super) fn drop_users(
        &mut self,
        names: &[UserName],
        if_exists: bool,
    ) -> Result<(), SqlError> {
        let users = self.state.instance.users();
        let mut dropped = Vec::new();
        let mut failed = Vec::new();
        for name in names {
            match self.find_account(&users, name) {
                Some(account) => dropped.push(account),
                None if if_exists => {
                    self.state
                        .warnings
                        .note(SqlError::user_does_not_exist(quoted(name)));
                }
                None => failed.push(quoted(name)),
            }
        }
        fail("DROP USER", &failed)?;
        self.store_users("DROP USER", &[], &dropped)
    }

    pub(super) fn rename_users(&mut self, pairs: &[(UserName, UserName)]) -> Result<(), SqlError> {
        let users = self.state.instance.users();
        let (mut stored, mut removed, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for (from, to) in pairs {
            match (
                self.find_account(&users, from),
                self.find_account(&users, to),
            ) {
                (Some(account), None) if !to.current => {
                    let (user, host) = (to.user.clone(), to.host.clone());
                    stored.push(Account {
                        user,
                        host,
                        ..account.clone()
                    });
                    removed.push(account);
                }
                _ => failed.push(quoted(from)),
            }
        }
        fail("RENAME USER", &failed)?;
        self.store_users("RENAME USER", &stored, &removed)
    }

    pub(super) fn grant(
        &mut self,
        names: &[UserName],
        grant_option: bool,
        usage: bool,
    ) -> Result<(), SqlError> {
        let users = self.state.instance.users();
        let mut changed = Vec::new();
        for name in names {
            let account = self.find_account(&users, name);
            let mut account = account.ok_or_else(SqlError::cannot_create_user_with_grant)?;
            account.all |= !usage;
            account.grant_option |= grant_option;
            changed.push(account);
        }
        self.store_users("GRANT", &changed, &[])
    }

    pub(super) fn revoke(&mut self, names: &[UserName]) -> Result<(), SqlError> {
        let users = self.state.instance.users();
        let mut changed = Vec::new();
        for name in names {
            let account = self.find_account(&users, name);
            let mut account =
                account.ok_or_else(|| SqlError::no_such_grant(&name.user, &name.host))?;
            account.all = false;
            account.grant_option = false;
            changed.push(account);
        }
        self.store_users("REVOKE", &changed, &[])
    }

    /// Makes accounts durable. The log gets a statement without passwords, as MySQL's has only
    /// their stored forms.
    fn store_users(
        &mut self,
        what: &str,
        put: &[Account],
        remove: &[Account],
    ) -> Result<(), SqlError> {
        if put.is_empty() && remove.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = put.iter().chain(remove).map(Account::quoted).collect();
        let statement = DdlStatement {
            database: self.state.database.to_string(),
            text: format!("/* {what} {} */", names.join(", ")),
            reading: cohort_engine::log::Reading::PLAIN,
            foreign_key_checks: true,
        };
        let related = Related::default();
        let wait = self.state.settings().table_lock_wait_ms;
        let change = users::change(put, remove);
        let engine = &self.state.instance.engine;
        engine.change_schema(&self.state.owner, change, &related, &statement, wait, None)?;
        Ok(())
    }
}

fn quoted(name: &UserName) -> String {
    format!("'{}'@'{}'", name.user, name.host)
}

/// 1396 for those that could not be done.
fn fail(operation: &str, users: &[String]) -> Result<(), SqlError> {
    if users.is_empty() {
        return Ok(());
    }
    Err(SqlError::user_operation_failed(operation, users.join(",")))
}
