//! init_connect: statements that each session begins with, but for those of operators.

use super::{Session, repeat::Unseen};
use crate::{error::SqlError, privileges::needed};

impl Session {
    /// Whether there are some for this session. Operators are let in without, to repair them; whose
    /// password has expired could run none.
    #[must_use]
    pub fn has_init_connect(&self) -> bool {
        let globals = self.state.instance.globals.values();
        !globals.text("init_connect").is_empty()
            && !self.state.must_change_password
            && !self.state.rights.has_any(needed::CONNECTION_ADMIN)
    }

    /// Runs them, with what the session's account may do; nobody sees their rows. 1184, and what has
    /// failed, if the session cannot begin.
    ///
    /// # Errors
    /// What the client is told, and the error of the statement.
    pub fn run_init_connect(&mut self) -> Result<(), (SqlError, SqlError)> {
        let globals = self.state.instance.globals.values();
        let statements = globals.text("init_connect").to_owned();
        let run = self.query(statements.as_bytes(), true, &mut Unseen);
        let run = run.and_then(|()| self.settle());
        let max = self.state.settings().error_count_max;
        self.state.warnings.clear(max, self.state.settings().notes);
        run.map_err(|why| {
            let told = self.aborted("init_connect command failed");
            (told, why)
        })
    }

    /// 1184: this session ends for such a reason.
    fn aborted(&self, why: &str) -> SqlError {
        let activity = self.state.entry.activity.lock();
        let database = match &*self.state.database {
            "" => "unconnected",
            database => database,
        };
        let host = activity.host.rsplit_once(':');
        let host = host.map_or(&*activity.host, |(host, _)| host);
        SqlError::aborted_connection(self.state.id, database, &activity.user, host, why)
    }
}
