//! How a statement's text in the log is to be read.

/// The settings of the session that a text comes from, by which whoever repeats the statement is to
/// read it: with ANSI_QUOTES `"a"` is a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// sql_mode, in MySQL's bits.
    pub sql_mode: u64,
    /// The number of collation_connection: the collation of strings in the text. (The text itself
    /// is UTF-8.)
    pub connection: u16,
    /// The number of collation_server: that of new databases.
    pub server: u16,
    /// auto_increment_increment and auto_increment_offset, if they are not 1: rows may be numbered.
    pub auto_increment: Option<(u16, u16)>,
    /// time_zone, if it may matter: of TIMESTAMP values in the text.
    pub time_zone: Option<String>,
    /// When it began, in microseconds since 1970, if that may matter: it is when a password was set.
    /// Of others the log has the time of the commit.
    pub began: Option<u64>,
}

/// sql_mode as MySQL 9's default, in its bits: ONLY_FULL_GROUP_BY, STRICT_TRANS_TABLES,
/// NO_ZERO_IN_DATE, NO_ZERO_DATE, ERROR_FOR_DIVISION_BY_ZERO, NO_ENGINE_SUBSTITUTION.
const SQL_MODE: u64 = 0x45a0_0020;
/// The number of utf8mb4_0900_ai_ci.
pub(super) const UTF8MB4_0900_AI_CI: u16 = 255;
/// The number of utf8mb4_general_ci, which MariaDB knows, too.
const UTF8MB4_GENERAL_CI: u16 = 45;

impl Default for Reading {
    /// MySQL 9's defaults.
    fn default() -> Reading {
        Reading {
            connection: UTF8MB4_0900_AI_CI,
            server: UTF8MB4_0900_AI_CI,
            ..Reading::PLAIN
        }
    }
}

impl Reading {
    /// For texts that mean the same whatever the settings are, like BEGIN.
    pub const PLAIN: Reading = Reading {
        sql_mode: SQL_MODE,
        connection: UTF8MB4_GENERAL_CI,
        server: UTF8MB4_GENERAL_CI,
        auto_increment: None,
        time_zone: None,
        began: None,
    };
    /// The collation by which a client sends such texts.
    pub(super) fn client(&self) -> u16 {
        match self.connection == Reading::PLAIN.connection {
            true => UTF8MB4_GENERAL_CI,
            false => UTF8MB4_0900_AI_CI,
        }
    }
}
