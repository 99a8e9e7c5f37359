//! What the audit log hears of a session.

use super::Session;
use crate::{
    error::SqlError,
    state::Instance,
    statements::{Class, Ended, Event, LogKind, Who},
};
use std::sync::Arc;

impl Session {
    /// A statement of this command is about to be done. A strict log that cannot record it refuses
    /// it: 3164.
    pub(super) fn audit_before(&self, command: &str) -> Result<(), SqlError> {
        let state = &self.state;
        let audit = &state.instance.audit;
        if !audit.is_on() || !audit.is_strict() || state.internal {
            return Ok(());
        }
        let class = Class::of_command(command);
        let statement = self.text_now();
        let event = Event {
            database: &state.database,
            command,
            statement: &statement,
            error: None,
            before: true,
        };
        audit.record(class, &state.logged, self.audit_time(), &event)
    }

    /// A variable of the audit log is about to be set. A strict log that cannot record that lets itself
    /// be turned off all the same: how else could it be mended?
    pub(super) fn audit_setting(&self) {
        let state = &self.state;
        let statement = self.text_now();
        let event = Event {
            database: &state.database,
            command: "set_option",
            statement: &statement,
            error: None,
            before: true,
        };
        let audit = &state.instance.audit;
        let _told = audit.record_setting(&state.logged, self.audit_time(), &event);
    }

    /// The text of the statement that runs; of EXECUTE, what it executes.
    fn text_now(&self) -> Arc<str> {
        let own = self.state.entry.activity.lock().statement.clone();
        self.measured_text().cloned().or(own).unwrap_or_default()
    }

    /// A statement has ended. If a strict log cannot record that, the server's log has it; the
    /// statement is done.
    pub(super) fn audit_after(&self, ended: &Ended) {
        let state = &self.state;
        let audit = &state.instance.audit;
        let refused = ended
            .error
            .as_ref()
            .filter(|error| Class::is_refusal(error));
        let own = Class::of_command(ended.command);
        let class = match refused {
            Some(_) if !audit.records(own) => Class::Refusals,
            _ => own,
        };
        if !audit.records(class) {
            return;
        }
        let event = Event {
            database: &ended.database,
            command: ended.command,
            statement: &ended.text,
            error: ended.error.as_ref(),
            before: false,
        };
        let _told = audit.record(class, &state.logged, ended.begun_us, &event);
    }

    /// Something that is no statement was done, or refused: a refusal is recorded.
    pub fn audit_refusal<T>(
        &self,
        command: &str,
        argument: &str,
        result: Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let state = &self.state;
        let audit = &state.instance.audit;
        if let Err(error) = &result
            && audit.is_on()
            && Class::is_refusal(error)
        {
            let event = Event {
                database: &state.database,
                command,
                statement: argument,
                error: Some(error),
                before: false,
            };
            // It is refused in any case.
            let _told = audit.record(Class::Refusals, &state.logged, self.audit_time(), &event);
        }
        result
    }

    /// The client has come, or goes: 3164 if that cannot be recorded and must be.
    pub fn audit_connection(&self, command: &str) -> Result<(), SqlError> {
        let state = &self.state;
        if state.internal {
            return Ok(());
        }
        let event = Event {
            database: &state.database,
            command,
            ..Event::default()
        };
        let audit = &state.instance.audit;
        audit.record(Class::Connections, &state.logged, self.audit_time(), &event)
    }

    fn audit_time(&self) -> u64 {
        self.state.instance.env().wall_micros()
    }
}

impl Instance {
    /// A client that calls itself so was not let in: for the general log and the audit log.
    pub fn tell_refused(&self, user: &str, host: &str, error: &SqlError) {
        let who = Who {
            user: user.to_owned(),
            host: host.to_owned(),
            ..Who::default()
        };
        let now = self.env().wall_micros();
        if self.query_logs.is_on(LogKind::General) {
            let line = Who::plain(&error.message);
            self.query_logs.general(&who, now, "Connect", &line);
        }
        let event = Event {
            command: "connect",
            error: Some(error),
            ..Event::default()
        };
        let class = match self.audit.records(Class::Connections) {
            true => Class::Connections,
            false => Class::Refusals,
        };
        // It is refused in any case.
        let _told = self.audit.record(class, &who, now, &event);
    }
}
