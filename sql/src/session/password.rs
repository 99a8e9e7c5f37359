//! How accounts prove who they are: what CREATE USER, ALTER USER and SET PASSWORD change of it.

use super::{
    Session,
    account::{Named, fail, identified, in_quotes},
};
use crate::{
    command::{Authentication, Before, UserName, UserSpec},
    error::SqlError,
    password,
    password_history::{History, Reuse},
    privileges::needed,
    users::{Account, CACHING_SHA2, NATIVE},
};

const RETAINED: &str = " RETAIN CURRENT PASSWORD";

impl Session {
    /// SET PASSWORD, for oneself or another.
    pub(super) fn set_password(
        &mut self,
        user: Option<&UserName>,
        password: Option<&str>,
        before: &Before,
    ) -> Result<(), SqlError> {
        let own = UserName {
            user: String::new(),
            host: String::new(),
            current: true,
        };
        let name = user.unwrap_or(&own);
        self.check_own([name].into_iter())?;
        if before.retained {
            self.may_retain(name)?;
        }
        let users = self.state.instance.users();
        let account = self.find_account(&users, name);
        let mut account = Account::clone(account.ok_or_else(SqlError::no_matching_user)?);
        let wanted = Authentication {
            password: password.map(str::to_owned),
            is_random: password.is_none(),
            before: before.clone(),
            ..Authentication::default()
        };
        let text = self.authenticate_anew(&mut account, &wanted, "SET PASSWORD")?;
        self.store_users(format!("ALTER USER {text}"), &[account], &[])
    }

    /// What one may do with one's own password, and what needs a privilege: 1227.
    pub(super) fn may_identify(&self, specs: &[UserSpec]) -> Result<(), SqlError> {
        for spec in specs {
            let wanted = spec.authentication.as_ref();
            // With another plugin, or what that stores, nobody could look at the password.
            if wanted.is_some_and(|wanted| wanted.plugin.is_some() || wanted.stored.is_some()) {
                self.may_alter()?;
            }
            if spec.discards_old || wanted.is_some_and(|wanted| wanted.before.retained) {
                self.may_retain(&spec.name)?;
            }
        }
        Ok(())
    }

    /// 1227 for whoever may not have two passwords at a time.
    fn may_retain(&self, name: &UserName) -> Result<(), SqlError> {
        match self.is_own(name) {
            true => self.state.need(needed::APPLICATION_PASSWORD_ADMIN),
            false => self.may_alter(),
        }
    }

    /// What ALTER USER says of one account's password. Returns that as the log has it.
    pub(super) fn identify_anew(
        &mut self,
        account: &mut Account,
        spec: &UserSpec,
    ) -> Result<String, SqlError> {
        if let Some(wanted) = &spec.authentication {
            return self.authenticate_anew(account, wanted, "ALTER USER");
        }
        let mut text = in_quotes(&account.user, &account.host);
        if spec.discards_old {
            account.second.clear();
            text.push_str(" DISCARD OLD PASSWORD");
        }
        Ok(text)
    }

    /// Gives an account another password. Returns the text of that, as the log has it.
    fn authenticate_anew(
        &mut self,
        account: &mut Account,
        wanted: &Authentication,
        operation: &str,
    ) -> Result<String, SqlError> {
        let was = account.clone();
        self.authenticate(account, wanted, operation)?;
        self.check_before(&was, account, &wanted.before)?;
        account.password_changed = self.seconds_now();
        account.password_expired = false;
        let retained = wanted.before.retained;
        if retained {
            account.second = was.authentication;
        } else if account.authentication.is_empty() || account.plugin != was.plugin {
            account.second.clear();
        }
        let text = identified(account);
        Ok(if retained { text + RETAINED } else { text })
    }

    /// 3891 to 3893 for what REPLACE says, or should; 3878, 3894 and 3895 for what cannot be retained.
    fn check_before(&self, was: &Account, now: &Account, before: &Before) -> Result<(), SqlError> {
        let own = &self.state.account;
        let is_own = was.is(&own.0, &own.1);
        match &before.replaced {
            Some(_) if !is_own => return Err(SqlError::current_password_of_other()),
            Some(current) if !password::matches(&was.authentication, current.as_bytes()) => {
                return Err(SqlError::wrong_current_password());
            }
            None if is_own && self.must_say_current(was) && self.may_alter().is_err() => {
                return Err(SqlError::current_password_needed());
            }
            Some(_) | None => {}
        }
        if !before.retained {
            return Ok(());
        }
        let Account { user, host, .. } = was;
        if was.plugin != now.plugin {
            return Err(SqlError::password_retained_with_plugin(user, host));
        }
        if was.authentication.is_empty() {
            return Err(SqlError::empty_password_retained(user, host));
        }
        match now.authentication.is_empty() {
            true => Err(SqlError::password_retained_with_empty(user, host)),
            false => Ok(()),
        }
    }

    /// Whether whoever changes this account's password has to say the one before.
    fn must_say_current(&self, account: &Account) -> bool {
        let usual = || {
            let values = self.state.instance.globals.values();
            values.flag("password_require_current")
        };
        account.policy.require_current.unwrap_or_else(usual)
    }

    /// When an account may have a password again.
    fn reuse_of(&self, account: &Account) -> Reuse {
        let values = self.state.instance.globals.values();
        let or_usual =
            |own: Option<u16>, usual| own.map_or_else(|| values.number(usual), u64::from);
        Reuse {
            passwords: or_usual(account.policy.history, "password_history"),
            days: or_usual(account.policy.reuse_days, "password_reuse_interval"),
        }
    }

    /// Sets how an account proves who it is: 3638 for a password that it had too short ago.
    pub(super) fn authenticate(
        &mut self,
        account: &mut Account,
        wanted: &Authentication,
        operation: &str,
    ) -> Result<(), SqlError> {
        if let Some(plugin) = &wanted.plugin {
            if plugin != CACHING_SHA2 && plugin != NATIVE {
                return Err(SqlError::plugin_not_loaded(plugin));
            }
            if account.plugin != *plugin {
                // Nothing could be compared with what another plugin has stored.
                account.past = History::default();
            }
            account.plugin.clone_from(plugin);
            account.authentication.clear();
        }
        let password = match (wanted.is_random, &wanted.stored) {
            (true, _) => Some(self.make_password(account)?),
            (false, None) => {
                let password = wanted.password.clone().unwrap_or_default();
                self.check_password(&password)?;
                Some(password)
            }
            (false, Some(stored)) => {
                account.authentication = checked(&account.plugin, stored)?;
                None
            }
        };
        let (reuse, now) = (self.reuse_of(account), self.micros_now());
        if let Some(password) = password {
            if account.past.forbids(&password, reuse, now) {
                return Err(SqlError::password_used_before(&account.user, &account.host));
            }
            account.authentication = self.stored(account, &password, operation)?;
        }
        account.past.note(&account.authentication, reuse, now);
        Ok(())
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
            let who = UserName {
                user: account.user.clone(),
                host: account.host.clone(),
                current: false,
            };
            fail(operation, &[Named::only(&who)])?;
        }
        let mut random = [0; 20];
        let env = self.state.instance.env();
        env.random(&mut random).map_err(SqlError::internal)?;
        Ok(password::caching_sha2(password.as_bytes(), random))
    }
}

/// What a plugin has stored elsewhere: 1827 for what it cannot have.
fn checked(plugin: &str, stored: &str) -> Result<String, SqlError> {
    let fits = match plugin == NATIVE {
        true => stored.is_empty() || stored.len() == 41 && stored.starts_with('*'),
        false => password::is_caching_sha2(stored),
    };
    match fits {
        true => Ok(stored.to_owned()),
        false => Err(SqlError::wrong_password_hash()),
    }
}
