//! A backup for `cohort backup`: what the engine copies goes to the client as it comes.
//!
//! The thread is the client's as long as it takes, and holds no slot. A client that takes nothing for
//! net_write_timeout ends it.

use super::{Backend, Commands, Connection, End, Handler, SqlError, reply};
use crate::backup::{Message, Request};
use cohort_engine::txn::{
    TxnError,
    backup::{BackupSink, FileEnd},
};
use cohort_sql::Done;

/// So much is collected before it is sent.
const CHUNK: usize = 256 << 10;

/// Sends a backup's files.
struct ToClient<'c, B: Backend> {
    connection: &'c mut Connection<B>,
    commands: &'c mut Commands<B::Session>,
    /// Why the connection is to end.
    over: Option<End>,
}

impl<B: Backend> ToClient<'_, B> {
    fn put(&mut self, message: &Message<'_>) -> Result<(), TxnError> {
        let writer = &mut self.connection.wire.writer;
        writer.begin();
        message.encode(&mut writer.buffer);
        writer.end();
        if writer.buffer.len() < CHUNK {
            return Ok(());
        }
        let sent = self.send();
        sent.map_err(|end| {
            self.over = Some(end);
            TxnError::Killed
        })
    }
    fn send(&mut self) -> Result<(), End> {
        let connection = &mut *self.connection;
        let writer = &mut connection.wire.writer;
        writer.flush(&mut &*connection.stream)?;
        writer.buffer.shrink_to(2 * CHUNK);
        connection.check_following(self.commands)
    }
}

impl<B: Backend> BackupSink for ToClient<'_, B> {
    fn begin(&mut self, name: &str, from: u64, length: Option<u64>) -> Result<(), TxnError> {
        self.put(&Message::Begin(name, from, length))
    }
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), TxnError> {
        bytes
            .chunks(CHUNK)
            .try_for_each(|piece| self.put(&Message::Bytes(piece)))
    }
    fn end(&mut self, end: FileEnd) -> Result<(), TxnError> {
        self.put(&Message::End(end))
    }
}

impl<B: Backend> Connection<B> {
    /// Sends a backup.
    pub(super) fn back_up(&mut self, commands: &mut Commands<B::Session>) -> Result<(), End> {
        let Some(Request(kind)) = Request::decode(self.wire.reader.payload()) else {
            self.error(&SqlError::unknown_command());
            return Ok(());
        };
        self.let_reply_go();
        self.take_slot(commands);
        let mut backup = match commands.session.begin_backup(kind) {
            Ok(backup) => backup,
            Err(error) => {
                self.error(&error);
                return Ok(());
            }
        };
        self.shared.backend.release_slot();
        commands.limit_writes(&self.stream)?;
        let mut sink = ToClient {
            connection: &mut *self,
            commands: &mut *commands,
            over: None,
        };
        let result = backup.run(&mut sink);
        let over = sink.over.take();
        drop(backup);
        commands.session.end_dump();
        if let Some(over) = over {
            return Err(over);
        }
        let writer = &mut self.wire.writer;
        match result {
            Ok(done) => {
                writer.begin();
                Message::Done(done).encode(&mut writer.buffer);
                writer.end();
                reply::put_end_of_rows(writer, self.dialect, &Done::default());
            }
            Err(error) => self.error(&error),
        }
        Ok(())
    }
}
