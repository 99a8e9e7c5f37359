//! A session that copies the database for `cohort backup`.

use super::Session;
use crate::{error::SqlError, privileges::needed, variables::persisted};
use cohort_engine::txn::{
    Engine, TableLocks, TxnError,
    backup::{Backup, BackupError, BackupSink, FileEnd, Have},
};
use std::sync::Arc;

/// No file of SET PERSIST is larger, in bytes.
const PERSISTED_MAX: usize = 1 << 20;

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
            BackupKind::Whole => {
                let done = self.engine.back_up(sink)?;
                self.persisted(sink)?;
                Ok(done)
            }
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

impl BackUp {
    /// The file of SET PERSIST, if there is one.
    fn persisted(&self, sink: &mut dyn BackupSink) -> Result<(), TxnError> {
        let path = self.engine.dir().join(persisted::FILE);
        let contents = match self.engine.env().read(&path, PERSISTED_MAX) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            read => {
                read.map_err(|error| TxnError::Storage(format!("{}: {error}", path.display())))?
            }
        };
        let length = contents.len() as u64;
        sink.begin(persisted::FILE, 0, Some(length))?;
        sink.bytes(&contents)?;
        sink.end(FileEnd {
            length,
            crc32: crc32fast::hash(&contents),
            is_whole: true,
        })
    }
}

impl Session {
    /// Begins a backup; `end_dump` ends it. 1227 without the privilege.
    pub fn begin_backup(&mut self, kind: BackupKind) -> Result<BackUp, SqlError> {
        self.begin_statement("Backup", None);
        let begun = self.prepare_backup(kind);
        let begun = self.audit_refusal("backup", "", begun);
        if begun.is_ok() {
            self.audit_connection("backup")?;
        }
        match begun {
            Ok(backup) => Ok(backup),
            Err(error) => self.end_statement(Err(error)),
        }
    }

    fn prepare_backup(&self, kind: BackupKind) -> Result<BackUp, SqlError> {
        self.state.need(needed::BACKUP_ADMIN)?;
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
