//! Passwords that the server makes and tells: IDENTIFIED BY RANDOM PASSWORD.

use super::Session;
use crate::{
    catalog::{number, text},
    error::SqlError,
    show::Shown,
    users::Account,
};

/// What they are made of: MySQL's characters, none of which needs an escape in a string.
const CHARACTERS: &[u8] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789,.-;:_+*!%&/(){}[]<>@";

impl Session {
    /// Makes a password for an account, of generated_random_password_length characters, and notes it
    /// for the reply. It is nowhere else.
    pub(super) fn make_password(&mut self, account: &Account) -> Result<String, SqlError> {
        let values = self.state.variables.values();
        let length = values.number("generated_random_password_length");
        let mut password = String::new();
        while (password.len() as u64) < length {
            let mut random = [0; 64];
            let env = self.state.instance.env();
            env.random(&mut random).map_err(SqlError::internal)?;
            let left = usize::try_from(length).unwrap_or(0) - password.len();
            // Bytes beyond the last multiple would make the first characters more likely.
            let fair = 256 - 256 % CHARACTERS.len();
            let random = random.iter().map(|byte| usize::from(*byte));
            let random = random.filter(|byte| *byte < fair);
            let random = random.filter_map(|byte| CHARACTERS.get(byte % CHARACTERS.len()));
            password.extend(random.take(left).map(|byte| char::from(*byte)));
        }
        self.made_passwords.push(vec![
            text(&account.user),
            text(&account.host),
            text(&password),
            number(1),
        ]);
        Ok(password)
    }

    /// What the statement has made, if it has.
    pub(super) fn take_made_passwords(&mut self) -> Option<Shown> {
        let rows = std::mem::take(&mut self.made_passwords);
        (!rows.is_empty()).then(|| Shown::passwords(rows))
    }
}
