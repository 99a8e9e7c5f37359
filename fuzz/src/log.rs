//! Files of the log that were damaged: recovery refuses them or cuts a torn tail, and what it
//! accepts it can go on with.

use cohort_engine::{
    env::fake::Disk,
    log::{LogFile, LoggedPart},
    txn::{Engine, EngineOptions, Unattended},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, session::Identity};
use std::{io, path::Path, sync::Arc};

const FILE: &str = "/data/binlog.000001";
const OTHERS: [&str; 2] = ["/data/binlog.index", "/data/cohort.base"];

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

fn options() -> EngineOptions {
    EngineOptions {
        log_preallocate_bytes: 4096,
        ..EngineOptions::default()
    }
}

fn session(engine: Engine) -> Session {
    let who = Identity {
        user: "root".into(),
        host: "localhost".into(),
        account: None,
    };
    let instance = Instance::new(Arc::new(engine));
    Session::new(instance, 1, who, Arc::new(Unattended), false)
}

/// The files of a server that was killed: none of its commits is in the base.
fn template() -> Vec<(&'static str, Vec<u8>)> {
    let disk = Disk::new(1);
    let engine = Engine::open(&disk.env(), Path::new("/data"), options(), &mut |_| {})
        .expect("an empty disk is good for a new database");
    cohort_sql::users::make_first(&engine).expect("the first account");
    let mut session = session(engine);
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(20), c DECIMAL(10, 2), KEY (b))",
        "INSERT INTO d.t VALUES (1, 'one', 1.5), (2, NULL, -2.25)",
        "UPDATE d.t SET b = 'two' WHERE a = 2",
        "ALTER TABLE d.t ADD d DATETIME",
        "XA START 'x'",
        "INSERT INTO d.t (a, b) VALUES (3, 'three')",
        "XA END 'x'",
        "XA PREPARE 'x'",
        "XA START 'y'",
        "DELETE FROM d.t WHERE a = 1",
        "XA END 'y'",
        "XA PREPARE 'y'",
        "XA COMMIT 'y'",
    ] {
        let done = session.query(sql.as_bytes(), false, &mut Nowhere);
        done.unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    }
    let crashed = disk.crash(1);
    let files = OTHERS.into_iter().chain([FILE]);
    let files = files.filter_map(|name| Some((name, crashed.contents(Path::new(name))?)));
    files.collect()
}

thread_local! {
    static TEMPLATE: Vec<(&'static str, Vec<u8>)> = template();
}

/// The bytes are changes of the file: a place, two bytes, and what to XOR there; the first two cut
/// the file if they are not 0.
pub fn recovery(bytes: &[u8]) {
    let disk = Disk::new(2);
    TEMPLATE.with(|files| {
        for (name, contents) in files {
            let mut contents = contents.clone();
            if *name == FILE {
                damage(&mut contents, bytes);
            }
            disk.put(Path::new(name), contents);
        }
    });
    let Ok(engine) = Engine::open(&disk.env(), Path::new("/data"), options(), &mut |_| {}) else {
        return;
    };
    let mut session = session(engine);
    for sql in [
        "SELECT * FROM d.t",
        "XA RECOVER",
        "INSERT INTO d.t (a) VALUES (9)",
    ] {
        let _ = session.query(sql.as_bytes(), false, &mut Nowhere);
    }
}

/// The same changes, each event's checksum being right all the same: files of others, for `cohort log`.
pub fn reading(bytes: &[u8]) {
    let disk = Disk::new(3);
    let path = Path::new(FILE);
    TEMPLATE.with(|files| {
        let file = files.iter().find(|(name, _)| *name == FILE);
        let mut contents = file.map_or_else(Vec::new, |(_, contents)| contents.clone());
        damage(&mut contents, bytes);
        seal(&mut contents);
        disk.put(path, contents);
    });
    let Ok(mut file) = LogFile::open(&disk.env(), path) else {
        return;
    };
    while let Ok(Some(transaction)) = file.next_transaction() {
        for part in transaction.parts().into_iter().flatten() {
            if let LoggedPart::Rows(rows) = part {
                rows.rows().for_each(drop);
            }
        }
    }
}

/// Makes the checksums right.
fn seal(contents: &mut [u8]) {
    const SIZE: usize = 9;
    const SUM: usize = 4;
    let mut at = 4;
    while let Some(size) = contents.get(at + SIZE..at + SIZE + 4) {
        let size = size.try_into().map_or(0, u32::from_le_bytes) as usize;
        let Some(event) = contents.get_mut(at..at.saturating_add(size)) else {
            return;
        };
        let Some((summed, sum)) = event.split_last_chunk_mut::<SUM>() else {
            return;
        };
        *sum = crc32fast::hash(summed).to_le_bytes();
        at += size;
    }
}

fn damage(contents: &mut Vec<u8>, bytes: &[u8]) {
    let Some((length, changes)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let length = usize::from(u16::from_le_bytes(*length));
    if length > 0 {
        contents.truncate(length);
    }
    for change in changes.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]]));
        if let Some(byte) = contents.get_mut(at) {
            *byte ^= change[2];
        }
    }
}
