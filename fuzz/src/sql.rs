//! Texts of statements: the lexer, the fingerprint, the parsers and the planner on a fixed schema.

use crate::Kept;
use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions, Unattended},
    types::{Table, Value},
};
use cohort_sql::{
    ColumnMeta, Done, Instance, Output, Session,
    lexer::{Kind, Lexer, Lifted, Mode},
    session::Identity,
};
use std::{io, path::Path, sync::Arc};

/// A table with every type, and others to join it with.
const SCHEMA: [&str; 5] = [
    "CREATE DATABASE d",
    "USE d",
    "CREATE TABLE every (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, ti TINYINT, \
     si SMALLINT UNSIGNED, mi MEDIUMINT, i INT, b BIGINT, f FLOAT, x DOUBLE, \
     n DECIMAL(20, 5), c CHAR(20), v VARCHAR(100) COLLATE utf8mb4_bin, vb VARBINARY(40), \
     t TEXT, l LONGBLOB, da DATE, tm TIME(3), dt DATETIME(6), ts TIMESTAMP NULL, y YEAR, \
     en ENUM('a', 'b', 'c'), se SET('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'), b1 BIT, b9 BIT(9), fd FLOAT(7, 3), \
     j JSON, \
     KEY (i, c), UNIQUE KEY (v(10)), KEY (dt DESC, n), KEY (tm, y, vb, x), \
     KEY (en, se DESC, b9))",
    "CREATE TABLE t (a INT PRIMARY KEY, b INT NOT NULL, KEY (b))",
    "CREATE TABLE u (a INT, b INT, c VARCHAR(10) DEFAULT 'x', PRIMARY KEY (b, a))",
];

struct Nowhere;

impl Output for Nowhere {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &[Value]) -> io::Result<()> {
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

fn session() -> Session {
    let disk = Disk::new(1);
    let options = EngineOptions::default();
    let engine = Engine::open(&disk.env(), Path::new("/data"), options, &mut |_| {})
        .expect("an empty disk is good for a new database");
    cohort_sql::users::make_first(&engine).expect("the first account");
    let who = Identity {
        user: "root".into(),
        host: "localhost".into(),
        account: None,
    };
    let instance = Instance::new(Arc::new(engine));
    let mut session = Session::new(instance, 1, who, Arc::new(Unattended), false);
    for sql in SCHEMA {
        let made = session.query(sql.as_bytes(), false, &mut Nowhere);
        made.unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    }
    session
}

thread_local! {
    static SESSION: Kept<Session> = const { Kept::new(session, 100_000) };
}

/// The table with every type.
pub fn every_type() -> Arc<Table> {
    let session = session();
    let dictionary = session.state().instance.engine.dictionary();
    let table = dictionary.table("d", "every").cloned();
    table.expect("it was just made")
}

/// Any text. The first byte chooses the lexical mode.
pub fn text(bytes: &[u8]) {
    let Some((&modes, sql)) = bytes.split_first() else {
        return;
    };
    let mode = Mode {
        ansi_quotes: modes & 1 != 0,
        no_backslash_escapes: modes & 2 != 0,
        pipes_as_concat: modes & 4 != 0,
        high_not_precedence: modes & 8 != 0,
        real_as_float: modes & 16 != 0,
    };
    tokens(sql, mode);
    Lifted::default().lift(sql, mode);
    SESSION.with(|session| {
        session.with(|session| {
            if let Ok(prepared) = session.prepare(sql) {
                session.close(prepared.id);
            }
        });
    });
}

/// Tokens follow one another, and each has a text, but for one at the end of the text: a `/*!`
/// that has no end.
fn tokens(sql: &[u8], mode: Mode) {
    let mut at = 0;
    for token in Lexer::tokens(sql, mode) {
        assert!(token.kind != Kind::End && at <= token.start);
        let is_missing_end = token.kind == Kind::Invalid && token.start == sql.len();
        assert!(token.start < token.end || is_missing_end && token.end == sql.len());
        at = token.end;
    }
    assert!(at <= sql.len());
}
