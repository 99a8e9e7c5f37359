//! The statement of a transaction that changes definitions, with all that it takes to repeat it.

use super::{
    Reading,
    event::{self, Cursor, Event, FLAGS2_NO_FOREIGN_KEY_CHECKS, kind},
};

/// A statement as it was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedStatement {
    /// The session's default database.
    pub database: String,
    /// Its text.
    pub text: String,
    /// How it is to be read.
    pub reading: Reading,
    /// Whether foreign keys were looked at.
    pub foreign_key_checks: bool,
    /// What it takes for now, in microseconds since 1970: by its event, when it was committed, in whole
    /// seconds.
    pub micros: i64,
    /// Settings that its event does not have, as SET takes them; empty: there are none.
    pub settings: String,
}

/// The statement in a transaction's events; `None`: there is none, or it is not as Cohort writes it.
#[must_use]
pub fn statement(mut events: &[u8]) -> Option<LoggedStatement> {
    while let Some((event, rest)) = Event::split_first(events) {
        events = rest;
        if event.kind != kind::QUERY {
            continue;
        }
        let (database, text) = event::query(event.body)?;
        if text == b"BEGIN" || event::xa_statement(text).is_some() {
            continue;
        }
        let (flags2, mut reading) = settings(event.body)?;
        let second = u64::from(event.timestamp) * 1_000_000;
        reading.began = reading.began.map(|micros| second + micros);
        return Some(LoggedStatement {
            database: String::from_utf8(database.to_vec()).ok()?,
            text: String::from_utf8(text.to_vec()).ok()?,
            reading,
            foreign_key_checks: flags2 & FLAGS2_NO_FOREIGN_KEY_CHECKS == 0,
            micros: i64::from(event.timestamp) * 1_000_000,
            settings: String::new(),
        });
    }
    None
}

/// `flags2`, and how the text is to be read, of a QUERY event's body; when it began is within the second
/// that the event's header has.
fn settings(body: &[u8]) -> Option<(u32, Reading)> {
    let mut cursor = Cursor(body);
    cursor.take(11)?;
    let length = usize::from(cursor.u16()?);
    let mut variables = Cursor(cursor.take(length)?);
    let (mut flags2, mut reading) = (0, Reading::default());
    while !variables.0.is_empty() {
        match variables.u8()? {
            0 => flags2 = u32::try_from(variables.integer(4)?).ok()?,
            1 => reading.sql_mode = variables.u64()?,
            3 => reading.auto_increment = Some((variables.u16()?, variables.u16()?)),
            4 => {
                variables.u16()?;
                reading.connection = variables.u16()?;
                reading.server = variables.u16()?;
            }
            5 => {
                let length = usize::from(variables.u8()?);
                let name = variables.take(length)?;
                reading.time_zone = Some(String::from_utf8(name.to_vec()).ok()?);
            }
            6 => {
                let length = usize::from(variables.u8()?);
                variables.take(length)?;
            }
            13 => reading.began = Some(variables.integer(3)?),
            17 => {
                variables.u64()?;
            }
            18 => {
                variables.u16()?;
            }
            19 | 20 => {
                variables.u8()?;
            }
            _ => return None,
        }
    }
    Some((flags2, reading))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::event::ddl_event;

    #[test]
    fn what_is_written_is_read_again() {
        for (auto_increment, time_zone, began) in [
            (None, None, None),
            (
                Some((5, 30)),
                Some("Europe/Berlin".to_owned()),
                Some(1_234_567_890_999_999),
            ),
        ] {
            let reading = Reading {
                sql_mode: 4,
                connection: 46,
                server: 8,
                auto_increment,
                time_zone,
                began,
            };
            let mut events = Vec::new();
            let flags2 = FLAGS2_NO_FOREIGN_KEY_CHECKS;
            ddl_event(
                &mut events,
                7,
                "d",
                ("ALTER TABLE t ADD b INT", &reading),
                flags2,
            );
            let end = u32::try_from(events.len()).unwrap();
            events[13..17].copy_from_slice(&end.to_le_bytes());
            let found = statement(&events).unwrap();
            assert_eq!(found.reading, reading);
            assert_eq!(
                (&*found.database, &*found.text),
                ("d", "ALTER TABLE t ADD b INT")
            );
            assert!(!found.foreign_key_checks);
        }
    }
}
