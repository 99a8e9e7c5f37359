//! One connection with blocking calls, for what is done before and between measurements.

use super::target::Endpoint;
pub use crate::mysql::client::{Client as Control, Error};
use std::time::Duration;

/// A login that takes longer is given up. Statements may take as long as they like.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(60);

impl Control {
    /// Connects and logs in.
    pub fn connect(endpoint: &Endpoint) -> Result<Control, Error> {
        let stream = endpoint
            .address
            .connect()
            .map_err(|error| Error::Broken(format!("{}: {error}", endpoint.address)))?;
        stream.set_read_timeout(Some(LOGIN_TIMEOUT))?;
        let control = Control::log_in(stream, &endpoint.account, 0)?;
        control.set_answer_timeout(None)?;
        Ok(control)
    }

    /// The first column of a result's first row.
    pub fn value(&mut self, sql: &str) -> Result<Option<String>, Error> {
        Ok(self
            .query(sql)?
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next().flatten()))
    }

    /// A global variable; `None` if the server does not have it.
    pub fn variable(&mut self, name: &str) -> Result<Option<String>, Error> {
        let rows = self.query(&format!("SHOW GLOBAL VARIABLES LIKE '{name}'"))?;
        let row = rows.into_iter().find(|row| row.len() == 2);
        Ok(row.and_then(|mut row| row.pop().flatten()))
    }
}
