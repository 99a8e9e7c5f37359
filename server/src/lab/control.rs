//! One connection with blocking calls, for what is done before and between measurements.

use super::target::Endpoint;
pub use cohort_mysql::client::{Client as Control, Error};
use std::time::Duration;

/// A login that takes longer is given up. Statements may take as long as they like.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(60);

impl Endpoint {
    /// Connects and logs in.
    pub fn connect(&self) -> Result<Control, Error> {
        let stream = self
            .address
            .connect()
            .map_err(|error| Error::Broken(format!("{}: {error}", self.address)))?;
        stream.set_read_timeout(Some(LOGIN_TIMEOUT))?;
        let control = Control::log_in(stream, &self.account, 0)?;
        control.set_answer_timeout(None)?;
        Ok(control)
    }
}
