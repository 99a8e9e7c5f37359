//! The commands of a client that has logged in.

use super::{
    Backend, BadParameters, Commands, Connection, Cursor, Done, Duration, End, Handler, Kind,
    Output, Reply, Slot, SqlError, Statement, command, dialect, handshake, reply, request,
};

/// The text of MySQL's error 1105 for a parameter that was sent in too many pieces.
const LONG_DATA_TOO_LONG: &str = "Parameter of prepared statement which is set through \
     mysql_send_long_data() is longer than 'max_allowed_packet' bytes";

type Outcome = Result<(), End>;

impl<B: Backend> Connection<'_, B> {
    /// Obeys one command after the other, until the session or the client ends.
    pub(super) fn obey(&mut self, commands: &mut Commands<B::Session>) -> Outcome {
        let mut timeout = Duration::ZERO;
        while !commands.session.is_over() && !self.shared.backend.is_stopping() {
            let wanted = commands.session.idle_timeout();
            if wanted != timeout {
                self.stream
                    .set_read_timeout(Some(wanted.max(Duration::from_secs(1))))?;
                timeout = wanted;
            }
            self.wire.reader.sequence = 0;
            let max = commands.session.max_allowed_packet();
            match self.wire.receive(self.stream, max) {
                Ok(_) => self.command(commands)?,
                Err(super::ReadError::Timeout) => {
                    return Err(End::Error(SqlError::inactive_client()));
                }
                Err(error) => return Err(error.into()),
            }
            self.wire.writer.flush(&mut &*self.stream)?;
            let (received, sent) = (&mut self.wire.reader.received, &mut self.wire.writer.sent);
            let (received, sent) = (std::mem::take(received), std::mem::take(sent));
            commands.session.count_bytes(received, sent);
        }
        Ok(())
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
            command::PING => self.ok(&commands.session),
            command::INIT_DB => {
                let name = String::from_utf8_lossy(rest).into_owned();
                let slot = Slot::take(&self.shared.backend);
                let used = commands.session.use_database(&name);
                drop(slot);
                match used {
                    Ok(()) => self.ok(&commands.session),
                    Err(error) => self.error(&error),
                }
            }
            command::QUIT => return Err(End::Quiet),
            command::STATISTICS => {
                let line = self.shared.backend.statistics();
                self.wire.writer.begin();
                self.wire.writer.buffer.extend_from_slice(line.as_bytes());
                self.wire.writer.end();
            }
            command::PROCESS_KILL => return self.kill(commands),
            command::SET_OPTION => self.set_option(commands),
            command::RESET_CONNECTION => {
                commands.reset(None, &self.shared.backend);
                self.ok(&commands.session);
            }
            command::CHANGE_USER => return self.change_user(commands),
            _ => self.error(&SqlError::unknown_command()),
        }
        Ok(())
    }

    fn error(&mut self, error: &SqlError) {
        reply::put_error(&mut self.wire.writer, error);
    }

    /// Has the session answer the packet in the read buffer, holding a slot.
    fn answer(
        &mut self,
        session: &mut B::Session,
        kinds: &mut Vec<Kind>,
        binary: bool,
        run: impl FnOnce(&mut B::Session, &[u8], &mut dyn Output) -> Result<(), SqlError>,
    ) -> Outcome {
        let mut out = Reply {
            writer: &mut self.wire.writer,
            stream: self.stream,
            backend: &self.shared.backend,
            dialect: self.dialect,
            kinds,
            binary,
            status: session.status(),
            in_rows: false,
            broken: false,
        };
        let slot = Slot::take(&self.shared.backend);
        let result = run(session, self.wire.reader.payload(), &mut out);
        drop(slot);
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
        let (session, kinds) = (&mut commands.session, &mut commands.kinds);
        self.answer(session, kinds, false, |session, payload, out| {
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
        let (session, kinds) = (&mut commands.session, &mut commands.kinds);
        self.answer(session, kinds, true, |session, _, out| {
            session.execute(id, &commands.parameters, out)
        })
    }

    fn prepare(&mut self, commands: &mut Commands<B::Session>) {
        let sql = self.wire.reader.payload().get(1..).unwrap_or_default();
        let slot = Slot::take(&self.shared.backend);
        let result = commands.session.prepare(sql);
        drop(slot);
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
        reply::put_parameters(writer, self.dialect, count, status);
        reply::put_columns(writer, self.dialect, &prepared.columns, status);
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
        let (session, kinds) = (&mut commands.session, &mut commands.kinds);
        self.answer(session, kinds, false, |session, _, out| {
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
    fn change_user(&mut self, commands: &mut Commands<B::Session>) -> Outcome {
        let payload = self.wire.reader.payload().get(1..).unwrap_or_default();
        let login = handshake::parse_change_user(payload, self.dialect.capabilities);
        let Some(login) = login else {
            return Err(End::Error(SqlError::unknown_command()));
        };
        let (dialect, request) = (dialect(&login), request(&login));
        let who = self.authenticate(&request)?;
        self.dialect = dialect;
        commands.reset(Some(who), &self.shared.backend);
        self.enter(&mut commands.session, &request.database)
    }
}

impl<S: Handler> Commands<S> {
    fn reset<B: Backend>(&mut self, who: Option<super::Identity>, backend: &B) {
        self.statements.clear();
        let _slot = Slot::take(backend);
        self.session.reset(who);
    }
}
