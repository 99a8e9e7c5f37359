//! Wrong passwords in a row, of accounts with FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME.
//!
//! As in MySQL they are counted in memory: a restart forgets them.

use crate::{
    error::SqlError,
    users::{Account, DAY, LockTime},
};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// What came of an account's last logins.
#[derive(Clone, Copy, Default)]
struct Failures {
    in_a_row: u16,
    /// When it was blocked, in seconds since 1970.
    blocked: Option<u64>,
}

/// See the module.
#[derive(Default)]
pub struct Logins(Mutex<FxHashMap<(String, String), Failures>>);

fn key(account: &Account) -> (String, String) {
    (account.user.clone(), account.host.clone())
}

impl Logins {
    /// Counts a login with a right or a wrong password, at a time in seconds since 1970. 3955 if the
    /// account is blocked by now, whatever the password is.
    pub fn note(&self, account: &Account, is_right: bool, now: u64) -> Result<(), SqlError> {
        let lockout = account.lockout;
        if !lockout.is_on() {
            return Ok(());
        }
        let mut all = self.0.lock();
        let failures = all.entry(key(account)).or_default();
        if let (Some(since), LockTime::Days(days)) = (failures.blocked, lockout.days)
            && since.saturating_add(u64::from(days) * DAY) <= now
        {
            *failures = Failures::default();
        }
        if failures.blocked.is_none() && is_right {
            all.remove(&key(account));
            return Ok(());
        }
        if failures.blocked.is_none() {
            failures.in_a_row = failures.in_a_row.saturating_add(1);
            if failures.in_a_row < lockout.attempts {
                return Ok(());
            }
            failures.blocked = Some(now);
        }
        let since = failures.blocked.unwrap_or(now);
        let (whole, left) = match lockout.days {
            LockTime::Unbounded => ("unlimited".to_owned(), "unlimited".to_owned()),
            LockTime::Days(days) => {
                let end = since.saturating_add(u64::from(days) * DAY);
                let left = end.saturating_sub(now).div_ceil(DAY);
                (days.to_string(), left.to_string())
            }
        };
        let (user, host) = (&account.user, &account.host);
        Err(SqlError::account_blocked(
            user,
            host,
            whole,
            left,
            lockout.attempts,
        ))
    }

    /// An account statement lets it in again.
    pub fn forget(&self, account: &Account) {
        self.0.lock().remove(&key(account));
    }

    /// FLUSH PRIVILEGES lets all in again.
    pub fn forget_all(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::users::Lockout;

    #[test]
    fn wrong_passwords_in_a_row_block_for_some_days() {
        let logins = Logins::default();
        let lockout = Lockout {
            attempts: 2,
            days: LockTime::Days(1),
        };
        let account = Account {
            lockout,
            ..Account::new("u", "%")
        };
        let note = |is_right, now| logins.note(&account, is_right, now).is_ok();
        // The last one before them was right.
        assert!(note(false, 0) && note(true, 0) && note(false, 0));
        assert!(!note(false, 10));
        assert!(!note(true, 20) && !note(true, DAY + 9));
        assert!(note(true, DAY + 10) && note(false, DAY + 11));
        assert!(!note(false, DAY + 12));
        logins.forget(&account);
        assert!(note(true, DAY + 13));
    }
}
