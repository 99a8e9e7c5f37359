//! The numbers of the protocol, under MySQL's names.

/// Flags both sides exchange in the handshake: what each can do.
pub mod capability {
    /// Affected rows count what was found, not what was changed.
    pub const FOUND_ROWS: u32 = 1 << 1;
    /// Column definitions carry longer flags.
    pub const LONG_FLAG: u32 = 1 << 2;
    /// The handshake response names a database.
    pub const CONNECT_WITH_DB: u32 = 1 << 3;
    /// The connection is compressed by zlib.
    pub const COMPRESS: u32 = 1 << 5;
    /// The client can be asked for files of its own: LOAD DATA LOCAL.
    pub const LOCAL_FILES: u32 = 1 << 7;
    /// Spaces are allowed before the parenthesis of a function; of no meaning to us.
    pub const IGNORE_SPACE: u32 = 1 << 8;
    /// Protocol 4.1: the only one we speak.
    pub const PROTOCOL_41: u32 = 1 << 9;
    /// `interactive_timeout` counts instead of `wait_timeout`.
    pub const INTERACTIVE: u32 = 1 << 10;
    /// The connection goes on with TLS.
    pub const SSL: u32 = 1 << 11;
    /// Status flags are sent in replies.
    pub const TRANSACTIONS: u32 = 1 << 13;
    /// Passwords are scrambled with 20 bytes.
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    /// Several statements in one COM_QUERY.
    pub const MULTI_STATEMENTS: u32 = 1 << 16;
    /// Several results in reply to COM_QUERY.
    pub const MULTI_RESULTS: u32 = 1 << 17;
    /// Several results in reply to COM_STMT_EXECUTE.
    pub const PS_MULTI_RESULTS: u32 = 1 << 18;
    /// Authentication methods have names.
    pub const PLUGIN_AUTH: u32 = 1 << 19;
    /// The handshake response carries attributes of the client.
    pub const CONNECT_ATTRS: u32 = 1 << 20;
    /// The authentication response is length-encoded.
    pub const PLUGIN_AUTH_LENENC_CLIENT_DATA: u32 = 1 << 21;
    /// Result sets end with an OK packet, and nothing stands between columns and rows.
    pub const DEPRECATE_EOF: u32 = 1 << 24;
    /// The client can say a new password in the place of one that has expired.
    pub const CAN_HANDLE_EXPIRED_PASSWORDS: u32 = 1 << 22;

    /// The connection is compressed by Zstandard; the response ends with the level.
    pub const ZSTD_COMPRESSION_ALGORITHM: u32 = 1 << 26;

    /// What this server offers.
    pub const SERVER: u32 = 1 // LONG_PASSWORD
        | FOUND_ROWS
        | LONG_FLAG
        | CONNECT_WITH_DB
        | LOCAL_FILES
        | IGNORE_SPACE
        | PROTOCOL_41
        | INTERACTIVE
        | TRANSACTIONS
        | SECURE_CONNECTION
        | MULTI_STATEMENTS
        | MULTI_RESULTS
        | PS_MULTI_RESULTS
        | PLUGIN_AUTH
        | CONNECT_ATTRS
        | PLUGIN_AUTH_LENENC_CLIENT_DATA
        | CAN_HANDLE_EXPIRED_PASSWORDS
        | DEPRECATE_EOF;
    /// What it offers besides, as protocol_compression_algorithms says.
    pub const COMPRESSION: u32 = COMPRESS | ZSTD_COMPRESSION_ALGORITHM;
}

/// The first byte of a command packet.
pub mod command {
    /// End of the connection.
    pub const QUIT: u8 = 0x01;
    /// Change of the default database.
    pub const INIT_DB: u8 = 0x02;
    /// Statements as text.
    pub const QUERY: u8 = 0x03;
    /// SHUTDOWN, as MariaDB's clients have it.
    pub const SHUTDOWN: u8 = 0x08;
    /// One line of statistics.
    pub const STATISTICS: u8 = 0x09;
    /// KILL.
    pub const PROCESS_KILL: u8 = 0x0c;
    /// Is the server alive?
    pub const PING: u8 = 0x0e;
    /// A new login on the same connection.
    pub const CHANGE_USER: u8 = 0x11;
    /// The log's events from a position on.
    pub const BINLOG_DUMP: u8 = 0x12;
    /// A replica tells who it is.
    pub const REGISTER_SLAVE: u8 = 0x15;
    /// Prepares a statement.
    pub const STMT_PREPARE: u8 = 0x16;
    /// Executes a prepared statement.
    pub const STMT_EXECUTE: u8 = 0x17;
    /// A piece of a long parameter.
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    /// Forgets a prepared statement.
    pub const STMT_CLOSE: u8 = 0x19;
    /// Forgets long parameters.
    pub const STMT_RESET: u8 = 0x1a;
    /// Multi-statements on or off.
    pub const SET_OPTION: u8 = 0x1b;
    /// The log's events but for those of some transactions.
    pub const BINLOG_DUMP_GTID: u8 = 0x1e;
    /// Makes the session new.
    pub const RESET_CONNECTION: u8 = 0x1f;
    /// Cohort's own: the files of a backup.
    pub const COHORT_BACKUP: u8 = 0xc0;
}

/// Column types on the wire.
pub mod column {
    #![allow(missing_docs)]
    pub const DECIMAL: u8 = 0x00;
    pub const TINY: u8 = 0x01;
    pub const SHORT: u8 = 0x02;
    pub const LONG: u8 = 0x03;
    pub const FLOAT: u8 = 0x04;
    pub const DOUBLE: u8 = 0x05;
    pub const NULL: u8 = 0x06;
    pub const TIMESTAMP: u8 = 0x07;
    pub const LONGLONG: u8 = 0x08;
    pub const INT24: u8 = 0x09;
    pub const DATE: u8 = 0x0a;
    pub const TIME: u8 = 0x0b;
    pub const DATETIME: u8 = 0x0c;
    pub const YEAR: u8 = 0x0d;
    pub const VARCHAR: u8 = 0x0f;
    pub const BIT: u8 = 0x10;
    pub const JSON: u8 = 0xf5;
    pub const NEWDECIMAL: u8 = 0xf6;
    pub const MEDIUM_BLOB: u8 = 0xfa;
    pub const LONG_BLOB: u8 = 0xfb;
    pub const BLOB: u8 = 0xfc;
    pub const VAR_STRING: u8 = 0xfd;
    pub const STRING: u8 = 0xfe;
}
