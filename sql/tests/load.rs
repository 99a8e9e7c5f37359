//! LOAD DATA and SELECT … INTO OUTFILE on the fake disk, and with a client that sends its file in
//! pieces of any length.

use cohort_engine::{
    env::{Env, Mode, fake::Disk},
    txn::{Engine, EngineOptions, Unattended},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, SqlError, session::Identity};
use std::{io, path::Path, sync::Arc};

/// A client: what it sends, in which pieces, and what it is told.
#[derive(Default)]
struct Client {
    file: Vec<u8>,
    piece: usize,
    sent: usize,
    /// It was asked for this file.
    asked: Option<String>,
    /// It has sent its last piece.
    ended: bool,
    rows: Vec<String>,
    told: String,
}

impl Output for Client {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let shown = row.iter().map(|value| match value {
            Value::Null => "NULL".to_owned(),
            Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
            Value::Int(number) => number.to_string(),
            other => format!("{other:?}"),
        });
        self.rows.push(shown.collect::<Vec<_>>().join("|"));
        Ok(())
    }
    fn end(&mut self, done: &Done) -> io::Result<()> {
        self.told.clone_from(&done.info);
        Ok(())
    }
    fn ask_for_file(&mut self, name: &str) -> io::Result<()> {
        self.asked = Some(name.to_owned());
        Ok(())
    }
    fn take_piece(&mut self) -> io::Result<&[u8]> {
        let end = (self.sent + self.piece).min(self.file.len());
        let piece = &self.file[self.sent..end];
        self.sent = end;
        self.ended = piece.is_empty();
        Ok(piece)
    }
    fn skip_file(&mut self) -> io::Result<()> {
        self.sent = self.file.len();
        self.ended = true;
        Ok(())
    }
}

struct Server {
    env: Env,
    session: Session,
}

impl Server {
    fn new() -> Server {
        let disk = Disk::new(1);
        let options = EngineOptions::default();
        let engine = Engine::open(&disk.env(), Path::new("/data"), options, &mut |_| {}).unwrap();
        cohort_sql::users::make_first(&engine).unwrap();
        let instance = Instance::new(Arc::new(engine));
        let set = |name: &str, value: Value| {
            let variable = cohort_sql::variables::find(name).unwrap();
            instance.globals.set(variable.id, value);
        };
        set("secure_file_priv", Value::Bytes(b"/files".to_vec()));
        set("local_infile", Value::Int(1));
        let who = Identity {
            user: "root".into(),
            host: "localhost".into(),
            account: None,
        };
        let mut session = Session::new(instance, 1, who, Arc::new(Unattended), false);
        session.set_local_files();
        let mut server = Server {
            env: disk.env(),
            session,
        };
        server.run("CREATE DATABASE d").unwrap();
        server.run("USE d").unwrap();
        server
    }
    fn run(&mut self, sql: &str) -> Result<Client, SqlError> {
        self.run_for(sql, Client::default()).1
    }
    fn run_for(&mut self, sql: &str, mut client: Client) -> (Client, Result<Client, SqlError>) {
        let result = self.session.query(sql.as_bytes(), false, &mut client);
        let seen = Client {
            file: Vec::new(),
            rows: client.rows.clone(),
            told: client.told.clone(),
            ..Client::default()
        };
        (client, result.map(|()| seen))
    }
    fn write(&self, name: &str, bytes: &[u8]) {
        let file = self.env.open(Path::new(name), Mode::Create).unwrap();
        file.set_len(0).unwrap();
        file.write_at(bytes, 0).unwrap();
    }
    fn rows(&mut self, sql: &str) -> Vec<String> {
        self.run(sql).unwrap().rows
    }
}

#[test]
fn a_file_is_read_and_written_again() {
    let mut server = Server::new();
    server
        .run("CREATE TABLE t (a INT, b VARCHAR(20), c VARCHAR(20))")
        .unwrap();
    let file = b"1\tx\\ty\t\\N\n2\t\xc3\xa4\\\\\t\n3\t\\0\\n\tz\n";
    server.write("/files/in", file);
    let told = server
        .run("LOAD DATA INFILE '/files/in' INTO TABLE t")
        .unwrap()
        .told;
    assert_eq!(told, "Records: 3  Deleted: 0  Skipped: 0  Warnings: 0");
    assert_eq!(
        server.rows("SELECT * FROM t ORDER BY a"),
        ["1|x\ty|NULL", "2|ä\\|", "3|\0\n|z"]
    );
    server
        .run("SELECT * FROM t ORDER BY a INTO OUTFILE '/files/out'")
        .unwrap();
    let written = server.env.read(Path::new("/files/out"), 1000).unwrap();
    assert_eq!(
        written,
        b"1\tx\\\ty\t\\N\n2\t\xc3\xa4\\\\\t\n3\t\\0\\\n\tz\n"
    );
    server.run("CREATE TABLE u LIKE t").unwrap();
    server
        .run("LOAD DATA INFILE '/files/out' INTO TABLE u")
        .unwrap();
    let differ = "SELECT COUNT(*) FROM t JOIN u USING (a) WHERE NOT (t.b = u.b AND t.c <=> u.c)";
    assert_eq!(server.rows(differ), ["0"]);
}

#[test]
fn pieces_may_end_anywhere() {
    let mut server = Server::new();
    server
        .run("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(40))")
        .unwrap();
    let sql = "LOAD DATA LOCAL INFILE 'mine' REPLACE INTO TABLE t FIELDS TERMINATED BY ', ' \
               ENCLOSED BY '\"' LINES STARTING BY '>>' TERMINATED BY ';\\r\\n' IGNORE 1 LINES";
    let file = ">>head, line;\r\nx>>1, \"say \"\"hi\"\", ;\"\";\";\r\n>>2, \"日本\\\"\";\r\njunk>>3, NULL;\r\n";
    for piece in 1..20 {
        let client = Client {
            file: file.into(),
            piece,
            ..Client::default()
        };
        let (client, done) = server.run_for(sql, client);
        assert_eq!(
            done.unwrap().told,
            "Records: 3  Deleted: 0  Skipped: 0  Warnings: 0"
        );
        assert_eq!(client.asked.as_deref(), Some("mine"));
        assert!(client.ended, "all of it was received");
        assert_eq!(
            server.rows("SELECT * FROM t"),
            ["1|say \"hi\", ;\";", "2|日本\"", "3|NULL"]
        );
    }
}

#[test]
fn a_client_is_heard_to_its_end_whatever_is_wrong() {
    let mut server = Server::new();
    server.run("CREATE TABLE t (a INT PRIMARY KEY)").unwrap();
    let client = Client {
        file: b"1\nx\n2\n".repeat(1000),
        piece: 10,
        ..Client::default()
    };
    let sql = "LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE t";
    let (client, failed) = server.run_for(sql, client);
    assert_eq!(failed.err().map(|error| error.code), Some(1366));
    assert!(client.ended);
    assert!(server.rows("SELECT * FROM t").is_empty());
    // Without REPLACE it is as if it said IGNORE.
    let client = Client {
        file: b"1\nx\n1\n5\n".to_vec(),
        piece: 3,
        ..Client::default()
    };
    let (_, done) = server.run_for("LOAD DATA LOCAL INFILE 'x' INTO TABLE t", client);
    assert_eq!(
        done.unwrap().told,
        "Records: 4  Deleted: 0  Skipped: 1  Warnings: 2"
    );
    assert_eq!(server.rows("SELECT * FROM t"), ["0", "1", "5"]);
}

#[test]
fn variables_are_no_columns() {
    let mut server = Server::new();
    server.run("CREATE TABLE t (a INT)").unwrap();
    let failed = server.run("LOAD DATA INFILE '/files/x' INTO TABLE t SET @y = 1");
    let failed = failed.err().map(|error| error.message).unwrap_or_default();
    assert!(failed.contains("near '@y = 1' at line 1"), "{failed}");
}

#[test]
fn nothing_is_left_of_a_file_whose_statement_fails() {
    let mut server = Server::new();
    for (sql, code) in [
        (
            "SELECT (SELECT 1 UNION SELECT 2) INTO OUTFILE '/files/x'",
            1242,
        ),
        ("SELECT 1 UNION SELECT 2 INTO DUMPFILE '/files/x'", 1172),
        ("SELECT 1 INTO OUTFILE '/elsewhere/x'", 1290),
        (
            "SELECT 1 INTO OUTFILE '/files/x' FIELDS ENCLOSED BY 'ab'",
            1083,
        ),
    ] {
        let failed = server.run(sql).err().map(|error| error.code);
        assert_eq!(failed, Some(code), "{sql}");
        assert!(!server.env.exists(Path::new("/files/x")).unwrap(), "{sql}");
    }
    server.run("SELECT 1 INTO OUTFILE '/files/x'").unwrap();
    let again = server.run("SELECT 2 INTO OUTFILE '/files/x'").err();
    assert_eq!(again.map(|error| error.code), Some(1086));
    let kept = server.env.read(Path::new("/files/x"), 10).unwrap();
    assert_eq!(kept, b"1\n");
}
