//! The commands of a client that has logged in.

use super::{
    Backend, BadParameters, Commands, Connection, Cursor, Done, End, Handler, Instant, Login,
    Ordering, Output, Prompt, ReadError, Reply, SqlError, Statement, Stream, command, dialect,
    handshake, reply,
};
use cohort_process::{Notice, notice, service};
use cohort_sql::{session::Identity, statements::Who};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// The text of MySQL's error 1105 for a parameter that was sent in too many pieces.
const LONG_DATA_TOO_LONG: &str = "Parameter of prepared statement which is set through \
     mysql_send_long_data() is longer than 'max_allowed_packet' bytes";

type Outcome = Result<(), End>;

/// How to receive a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Receive {
    /// Only what is there.
    Promptly,
    /// Waiting a little while.
    Patiently,
}

impl<B: Backend> Connection<B> {
    /// Obeys one command after the other, until the client would have to be waited for.
    pub(super) fn obey(&mut self, commands: &mut Commands<B::Session>) -> Outcome {
        let mut how = if self.admin {
            Receive::Patiently
        } else {
            Receive::Promptly
        };
        if commands.begins {
            self.safely(commands, Connection::begin)?;
            self.shared.backend.release_slot();
        }
        if let Some(compression) = self.compression.take() {
            self.wire.compress(compression);
        }
        while !commands.session.is_over() && !self.shared.backend.is_stopping() {
            if !self.receive(commands, how)? {
                return Ok(());
            }
            self.safely(commands, Connection::command)?;
            self.reply(commands)?;
            self.count_bytes(commands, 0);
            commands.session.replied();
            if !self.admin && self.shared.backend.is_crowded() {
                if !self.has_sent_more() {
                    return Ok(());
                }
                // The client sends ahead: it takes its turn with the others.
                how = Receive::Promptly;
            } else {
                how = Receive::Patiently;
            }
            self.shared.backend.release_slot();
        }
        Err(End::Quiet)
    }

    /// Receives the next command; false if it is not there yet.
    fn receive(&mut self, commands: &Commands<B::Session>, how: Receive) -> Result<bool, End> {
        let (reader, stream) = (&mut self.wire.reader, &*self.stream);
        reader.begin();
        let max = commands.session.max_allowed_packet();
        let received = match how {
            Receive::Promptly => reader.next(&mut Prompt(stream), max),
            Receive::Patiently => {
                let since = Instant::now();
                let received = reader.next(&mut &*stream, max);
                self.shared.backend.note_client_wait(since.elapsed());
                received
            }
        };
        self.wire.writer.sequence = self.wire.reader.sequence;
        match received {
            Ok(()) => {
                let ahead = !self.wire.reader.is_empty();
                if ahead != self.ahead.load(Ordering::Relaxed) {
                    self.ahead.store(ahead, Ordering::Relaxed);
                }
                self.wait_for_reply();
                Ok(true)
            }
            Err(ReadError::Pending) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Counts what has come and gone, and so many bytes that will go.
    fn count_bytes(&mut self, commands: &Commands<B::Session>, more: u64) {
        let received = self.wire.reader.take_count();
        let sent = std::mem::take(&mut self.wire.writer.sent);
        commands.session.count_bytes(received, sent + more);
    }

    /// Sends the reply, or leaves it with the commit that it has to wait for.
    fn reply(&mut self, commands: &mut Commands<B::Session>) -> Outcome {
        let Some(placed) = commands.session.take_placed() else {
            return self.send(commands);
        };
        self.let_reply_go();
        let late = self.late.get_or_insert_default();
        let late = Arc::clone(late);
        let (packet, length) = self.wire.writer.take();
        self.count_bytes(commands, length);
        let note = commands.session.take_note();
        late.send(&self.shared, &self.stream, packet, (placed, note));
        Ok(())
    }

    /// Sends the reply; a client that does not take it at once is waited for without a slot.
    fn send(&mut self, commands: &mut Commands<B::Session>) -> Outcome {
        self.let_reply_go();
        let writer = &mut self.wire.writer;
        if writer.flush_promptly(&mut Prompt(&self.stream))? {
            return Ok(());
        }
        commands.limit_writes(&self.stream)?;
        self.shared.backend.release_slot();
        let since = Instant::now();
        writer.flush(&mut &*self.stream)?;
        self.shared.backend.note_client_wait(since.elapsed());
        Ok(())
    }

    /// Takes a slot for what follows, unless the thread has one.
    pub(super) fn take_slot(&mut self, commands: &mut Commands<B::Session>) {
        if self.admin {
            return;
        }
        let backend = &self.shared.backend;
        let queued = backend.acquire_slot(self.id, || commands.class());
        let queued = std::mem::take(&mut self.queued) + queued;
        if !queued.is_zero() {
            commands.owner.note_queued(queued);
        }
    }

    /// Does something for a session. A bug in it ends the connection and what belongs to it, and
    /// nothing else.
    fn safely(
        &mut self,
        commands: &mut Commands<B::Session>,
        what: fn(&mut Self, &mut Commands<B::Session>) -> Outcome,
    ) -> Outcome {
        let obeying = AssertUnwindSafe(|| what(self, commands));
        catch_unwind(obeying).unwrap_or_else(|panic| {
            let why = service::reason(&*panic);
            notice!(
                Notice::StatementFailed,
                for self.id,
                "connection {}: a statement has failed: {why}",
                self.id
            );
            self.wire.writer.abandon();
            Err(End::Error(SqlError::internal(why)))
        })
    }

    /// Obeys the command that is in the read buffer.
    fn command(&mut self, commands: &mut Commands<B::Session>) -> Outcome {
        let (code, rest) = match self.wire.reader.payload() {
            [code, rest @ ..] => (*code, rest),
            [] => (0, &[][..]),
        };
        match code {
            command::QUERY => return self.query(commands),
            command::STMT_EXECUTE => return self.execute(commands),
            command::STMT_PREPARE => self.prepare(commands),
            command::STMT_SEND_LONG_DATA => {
                // This one and STMT_CLOSE have no reply, not even an error.
                let mut cursor = Cursor(rest);
                if let (Some(id), Some(parameter)) = (cursor.u32(), cursor.u16())
                    && let Some(statement) = commands.statements.get_mut(&id)
                {
                    let max = commands.session.max_allowed_packet();
                    statement.add_long_data(parameter, cursor.rest(), max);
                }
            }
            command::STMT_CLOSE => {
                if let Some(id) = Cursor(rest).u32() {
                    commands.statements.remove(&id);
                    commands.session.close(id);
                }
            }
            command::STMT_RESET => self.reset_statement(commands),
            command::PING => {
                commands.session.log_command("Ping", "");
                self.ok(&commands.session);
            }
            command::INIT_DB => {
                let name = String::from_utf8_lossy(rest).into_owned();
                self.take_slot(commands);
                commands.session.log_command("Init DB", &Who::plain(&name));
                match commands.session.use_database(&name) {
                    Ok(()) => self.ok(&commands.session),
                    Err(error) => self.error(&error),
                }
            }
            command::QUIT => {
                commands.session.log_command("Quit", "");
                return Err(End::Goodbye);
            }
            command::STATISTICS => {
                commands.session.log_command("Statistics", "");
                let line = self.shared.backend.statistics();
                self.wire.writer.begin();
                self.wire.writer.buffer.extend_from_slice(line.as_bytes());
                self.wire.writer.end();
            }
            command::SHUTDOWN => {
                return self.answer(commands, false, |session, _, out| {
                    session.query(b"SHUTDOWN", false, out)
                });
            }
            command::PROCESS_KILL => return self.kill(commands),
            command::SET_OPTION => self.set_option(commands),
            command::RESET_CONNECTION => {
                self.take_slot(commands);
                commands.session.log_command("Reset Connection", "");
                commands.reset(None);
                self.ok(&commands.session);
            }
            command::CHANGE_USER => return self.change_user(),
            command::REGISTER_SLAVE => self.register_replica(commands),
            command::BINLOG_DUMP | command::BINLOG_DUMP_GTID => return self.dump(commands),
            command::COHORT_BACKUP => return self.back_up(commands),
            _ => self.error(&SqlError::unknown_command()),
        }
        Ok(())
    }

    pub(super) fn error(&mut self, error: &SqlError) {
        reply::put_error(&mut self.wire.writer, error);
    }

    /// Has the session answer the packet in the read buffer, holding a slot.
    fn answer(
        &mut self,
        commands: &mut Commands<B::Session>,
        binary: bool,
        run: impl FnOnce(&mut B::Session, &[u8], &mut dyn Output) -> Result<(), SqlError>,
    ) -> Outcome {
        self.take_slot(commands);
        let session = &mut commands.session;
        let lent = self.wire.reader.lend();
        let mut out = Reply {
            writer: &mut self.wire.writer,
            stream: &self.stream,
            reader: &mut self.wire.reader,
            packet_max: session.max_allowed_packet(),
            read_patience: session.read_timeout(),
            late: self.late.as_deref(),
            owner: &commands.owner,
            patience: session.write_timeout(),
            dialect: self.dialect.with_results(session.results_collation()),
            kinds: &mut commands.kinds,
            binary,
            status: session.status(),
            in_rows: false,
            broken: false,
        };
        let result = run(session, lent.payload(), &mut out);
        out.reader.take_back(lent);
        if out.broken {
            return Err(End::Quiet);
        }
        match result {
            Err(error) => reply::put_error(out.writer, &error),
            // A killed statement may have ended early: its reply would pass for the whole one.
            Ok(()) if session.is_killed() => return Err(End::Quiet),
            Ok(()) => {}
        }
        Ok(())
    }

    fn query(&mut self, commands: &mut Commands<B::Session>) -> Outcome {
        let multi = self.multi;
        self.answer(commands, false, |session, payload, out| {
            session.query(payload.get(1..).unwrap_or_default(), multi, out)
        })
    }

    fn execute(&mut self, commands: &mut Commands<B::Session>) -> Outcome {
        const WHO: &str = "mysqld_stmt_execute";
        let mut cursor = Cursor(self.wire.reader.payload().get(1..).unwrap_or_default());
        let id = cursor.u32().unwrap_or(0);
        let Some(statement) = commands.statements.get_mut(&id) else {
            self.error(&SqlError::unknown_statement(id, WHO));
            return Ok(());
        };
        let decoded = statement.decode(cursor.rest(), &mut commands.parameters);
        statement.forget_long_data();
        if let Err(bad) = decoded {
            self.error(&match bad {
                BadParameters::Malformed => SqlError::wrong_arguments(WHO),
                BadParameters::TooLong => SqlError::unknown_error(LONG_DATA_TOO_LONG),
            });
            return Ok(());
        }
        let parameters = std::mem::take(&mut commands.parameters);
        let outcome = self.answer(commands, true, |session, _, out| {
            session.execute(id, &parameters, out)
        });
        commands.parameters = parameters;
        outcome
    }

    fn prepare(&mut self, commands: &mut Commands<B::Session>) {
        self.take_slot(commands);
        let sql = self.wire.reader.payload().get(1..).unwrap_or_default();
        let result = commands.session.prepare(sql);
        let prepared = match result {
            Ok(prepared) => prepared,
            Err(error) => return self.error(&error),
        };
        let (count, status) = (prepared.parameters, commands.session.status());
        commands
            .statements
            .insert(prepared.id, Statement::new(count));
        let writer = &mut self.wire.writer;
        writer.begin();
        writer.buffer.push(0);
        writer.buffer.extend_from_slice(&prepared.id.to_le_bytes());
        let columns = prepared.columns.len() as u16; // a table has 4,096 at most
        writer.buffer.extend_from_slice(&columns.to_le_bytes());
        writer.buffer.extend_from_slice(&count.to_le_bytes());
        writer.buffer.extend_from_slice(&[0, 0, 0]); // filler, warnings
        writer.end();
        let dialect = self
            .dialect
            .with_results(commands.session.results_collation());
        reply::put_parameters(writer, dialect, count, status);
        reply::put_columns(writer, dialect, &prepared.columns, status);
    }

    fn reset_statement(&mut self, commands: &mut Commands<B::Session>) {
        let mut cursor = Cursor(self.wire.reader.payload().get(1..).unwrap_or_default());
        let id = cursor.u32().unwrap_or(0);
        match commands.statements.get_mut(&id) {
            Some(statement) => {
                statement.forget_long_data();
                self.ok(&commands.session);
            }
            None => self.error(&SqlError::unknown_statement(id, "mysqld_stmt_reset")),
        }
    }

    /// COM_PROCESS_KILL is KILL by another name.
    fn kill(&mut self, commands: &mut Commands<B::Session>) -> Outcome {
        let mut cursor = Cursor(self.wire.reader.payload().get(1..).unwrap_or_default());
        let Some(id) = cursor.u32() else {
            self.error(&SqlError::unknown_command());
            return Ok(());
        };
        self.answer(commands, false, |session, _, out| {
            session.query(format!("KILL {id}").as_bytes(), false, out)
        })
    }

    fn set_option(&mut self, commands: &mut Commands<B::Session>) {
        let mut cursor = Cursor(self.wire.reader.payload().get(1..).unwrap_or_default());
        match cursor.u16() {
            Some(option @ (0 | 1)) => {
                self.multi = option == 0;
                let done = Done {
                    status: commands.session.status(),
                    ..Done::default()
                };
                reply::put_end_of_rows(&mut self.wire.writer, self.dialect, &done);
            }
            _ => self.error(&SqlError::unknown_command()),
        }
    }

    /// Logs another user in; if that fails, the connection ends.
    fn change_user(&mut self) -> Outcome {
        let payload = self.wire.reader.payload().get(1..).unwrap_or_default();
        let payload = payload.to_vec();
        let Some(response) = handshake::parse_change_user(&payload, self.dialect.capabilities)
        else {
            return Err(End::Error(SqlError::unknown_command()));
        };
        let dialect = dialect(&response);
        let until = Instant::now() + self.shared.backend.connect_timeout();
        let mut login = Login::new(until, None);
        let progress = self.change_login(&response, &mut login)?;
        Err(End::Change(Box::new((login, progress, dialect))))
    }
}

impl<S: Handler> Commands<S> {
    pub(super) fn reset(&mut self, who: Option<Identity>) {
        self.statements.clear();
        self.session.reset(who);
    }

    /// Tells the socket of net_write_timeout, if it has changed.
    pub(super) fn limit_writes(&mut self, stream: &Stream) -> Outcome {
        let wanted = self.session.write_timeout();
        if wanted != self.write_timeout {
            stream.set_write_timeout(Some(wanted))?;
            self.write_timeout = wanted;
        }
        Ok(())
    }
}
