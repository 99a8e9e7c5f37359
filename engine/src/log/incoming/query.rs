//! QUERY events: statements, and what their session was like.

use crate::log::event::Cursor;

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    /// The session's default database.
    pub database: &'a [u8],
    /// The statement, in the client's character set.
    pub text: &'a [u8],
    /// The number of the error that it ended with at the source; 0 for none.
    pub error: u16,
    /// What else it needs to mean the same.
    pub values: Vec<SessionValue<'a>>,
}

/// One of the values that the session had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionValue<'a> {
    /// OPTION_NO_FOREIGN_KEY_CHECKS and its like, as bits.
    Flags2(u32),
    /// sql_mode, as bits.
    SqlMode(u64),
    /// auto_increment_increment and auto_increment_offset.
    AutoIncrement(u16, u16),
    /// The numbers of character_set_client's collation, of collation_connection and
    /// collation_server.
    Charset(u16, u16, u16),
    /// time_zone.
    TimeZone(&'a [u8]),
    /// collation_database, by its number.
    DatabaseCollation(u16),
    /// lc_time_names, by its number.
    TimeNames(u16),
    /// Microseconds of the time it began.
    Micros(u32),
    /// explicit_defaults_for_timestamp.
    ExplicitTimestamps(bool),
    /// default_collation_for_utf8mb4, by its number.
    DefaultCollation(u16),
    /// sql_require_primary_key.
    RequirePrimaryKey(bool),
}

impl<'a> Query<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Option<Query<'a>> {
        let mut cursor = Cursor(body);
        cursor.take(8)?;
        let database_length = usize::from(cursor.u8()?);
        let error = cursor.u16()?;
        let values_length = usize::from(cursor.u16()?);
        let values = values(cursor.take(values_length)?);
        let database = cursor.take(database_length)?;
        cursor.u8()?;
        Some(Query {
            database,
            text: cursor.0,
            error,
            values,
        })
    }
}

/// The values that are known. They have no lengths: what follows an unknown one cannot be read,
/// and MySQL puts those that a statement needs first.
fn values(bytes: &[u8]) -> Vec<SessionValue<'_>> {
    let mut cursor = Cursor(bytes);
    let mut values = Vec::new();
    while let Some(value) = value(&mut cursor) {
        values.extend(value);
    }
    values
}

fn value<'a>(cursor: &mut Cursor<'a>) -> Option<Option<SessionValue<'a>>> {
    use SessionValue as V;
    let counted = |cursor: &mut Cursor<'a>| {
        let length = usize::from(cursor.u8()?);
        cursor.take(length)
    };
    Some(match cursor.u8()? {
        0 => Some(V::Flags2(cursor.integer(4)? as u32)),
        1 => Some(V::SqlMode(cursor.u64()?)),
        // Q_CATALOG, with its end.
        2 => {
            counted(cursor)?;
            cursor.u8()?;
            None
        }
        3 => Some(V::AutoIncrement(cursor.u16()?, cursor.u16()?)),
        4 => Some(V::Charset(cursor.u16()?, cursor.u16()?, cursor.u16()?)),
        5 => Some(V::TimeZone(counted(cursor)?)),
        6 => {
            counted(cursor)?;
            None
        }
        7 => Some(V::TimeNames(cursor.u16()?)),
        8 => Some(V::DatabaseCollation(cursor.u16()?)),
        // Q_TABLE_MAP_FOR_UPDATE
        9 => {
            cursor.u64()?;
            None
        }
        // Q_MASTER_DATA_WRITTEN
        10 => {
            cursor.take(4)?;
            None
        }
        // Q_INVOKER: user and host.
        11 => {
            counted(cursor)?;
            counted(cursor)?;
            None
        }
        // Q_UPDATED_DB_NAMES
        12 => {
            const TOO_MANY: u8 = 254;
            let count = cursor.u8()?;
            if count < TOO_MANY {
                for _ in 0..count {
                    let end = cursor.0.iter().position(|byte| *byte == 0)?;
                    cursor.take(end + 1)?;
                }
            }
            None
        }
        13 => Some(V::Micros(cursor.integer(3)? as u32)),
        // Q_COMMIT_TS and Q_COMMIT_TS2
        14 | 15 => {
            cursor.u64()?;
            None
        }
        16 => Some(V::ExplicitTimestamps(cursor.u8()? != 0)),
        // Q_DDL_LOGGED_WITH_XID
        17 => {
            cursor.u64()?;
            None
        }
        18 => Some(V::DefaultCollation(cursor.u16()?)),
        19 => Some(V::RequirePrimaryKey(cursor.u8()? != 0)),
        // Q_DEFAULT_TABLE_ENCRYPTION
        20 => {
            cursor.u8()?;
            None
        }
        // MariaDB's Q_HRNOW: the microseconds of the time it began.
        128 => Some(V::Micros(cursor.integer(3)? as u32)),
        // MariaDB's Q_XID
        129 => {
            cursor.u64()?;
            None
        }
        _ => return None,
    })
}
