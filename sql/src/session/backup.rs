//! A session that copies the database for `cohort backup`.

use super::Session;
use crate::error::SqlError;
use cohort_engine::txn::{
    Engine, TableLocks,
    backup::{Backup, BackupError, BackupSink, Have},
};
use std::sync::Arc;

/// What is to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupKind {
    /// The base, and the log since.
    Whole,
    /// The log behind what there is.
    Log(Option<Have>),
}

/// A backup that is about to be made.
pub struct BackUp {
    engine: Arc<Engine>,
    kind: BackupKind,
    /// Nobody changes definitions meanwhile.
    _definitions: Option<TableLocks>,
}

impl BackUp {
    /// Gives the files to `sink`.
    ///
    /// # Errors
    /// The base or the log is damaged or cannot be read; what there is does not go on here; or the
    /// sink has ended it.
    pub fn run(&mut self, sink: &mut dyn BackupSink) -> Result<Backup, SqlError> {
        match self.kind {
            BackupKind::Whole => Ok(self.engine.back_up(sink)?),
            BackupKind::Log(have) => {
                let copied = self.engine.back_up_log(have, sink);
                copied.map_err(|error| match error {
                    BackupError::Txn(error) => error.into(),
                    BackupError::Refused(why) => SqlError::log_cannot_be_read(why),
                })
            }
        }
    }
}

impl Session {
    /// Begins a backup; `end_dump` ends it. 1227 without the privilege.
    pub fn begin_backup(&mut self, kind: BackupKind) -> Result<BackUp, SqlError> {
        self.begin_statement("Backup", None);
        let begun = self.prepare_backup(kind);
        match begun {
            Ok(backup) => Ok(backup),
            Err(error) => self.end_statement(Err(error)),
        }
    }

    fn prepare_backup(&self, kind: BackupKind) -> Result<BackUp, SqlError> {
        if !self.state.privileged {
            return Err(SqlError::privilege_needed("BACKUP_ADMIN"));
        }
        let definitions = match kind {
            BackupKind::Whole => Some(self.take_locks(Engine::lock_definitions)?),
            BackupKind::Log(_) => None,
        };
        Ok(BackUp {
            engine: Arc::clone(&self.state.instance.engine),
            kind,
            _definitions: definitions,
        })
    }
}
