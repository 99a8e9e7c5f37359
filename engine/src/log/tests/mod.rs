//! The log on the fake disk: what is written is read back, whatever happens to the disk.

mod crash;
mod damage;
mod elsewhere;
mod files;
mod follow;
mod followers;
mod format;
mod semi_sync;
mod together;

use super::{
    Batch, Change, InOrder, Known, Log, LogError, OpenError, Options, Position, Reading, Replayed,
    RowsKind,
};
use crate::{
    Seq,
    env::{Env, fake::Disk},
    types::{Collation, Column, ColumnType, Index, IndexPart, Table},
};
use std::path::Path;

/// Commits and their changes, as `tell` tells them.
type Replay = Vec<(Seq, Vec<String>)>;

const DIR: &str = "/data";
const SOURCE: [u8; 16] = [0xab; 16];

fn options() -> Options {
    Options {
        preallocate: 4096,
        ..Options::new("9.7.0-cohort-test", SOURCE)
    }
}

/// A table of an INT primary key and a BLOB.
fn table(id: u32) -> Table {
    let part = IndexPart {
        column: 0,
        prefix: None,
        desc: false,
        trimmed: false,
    };
    Table {
        id,
        database: "test".into(),
        name: format!("t{id}"),
        columns: vec![
            Column::new("id", ColumnType::Int),
            Column::new("data", ColumnType::Text(2)),
        ],
        rows: id,
        primary: Some(Index {
            tree: id,
            name: "PRIMARY".into(),
            unique: true,
            parts: vec![part],
            comment: String::new(),
            visible: true,
            using_btree: false,
            generated: false,
        }),
        indexes: Vec::new(),
        since: 0,
        built: Vec::new(),
        collation: Collation::Binary,
        comment: String::new(),
        auto_increment_min: 0,
        map: Default::default(),
        foreign_keys: Vec::new(),
        checks: Vec::new(),
        fulltext: Vec::new(),
        options: String::new(),
        created: 0,
    }
}

/// A row image of `table`.
fn image(id: u32, data: &[u8]) -> Vec<u8> {
    let mut image = vec![0];
    image.extend_from_slice(&id.to_le_bytes());
    image.extend_from_slice(&(data.len() as u16).to_le_bytes());
    image.extend_from_slice(data);
    image
}

/// A transaction that inserts one row that tells its number.
fn insert(id: u32, size: usize) -> Batch {
    let mut batch = Batch::new("test", 7);
    batch.insert(&table(1), &image(id, &vec![id as u8; size]));
    batch.end_statement();
    batch
}

fn commit(log: &Log, batch: Batch) -> Result<Seq, LogError> {
    let (mut ticket, ()) = log.commit(batch, |_| ())?;
    ticket.applied();
    let seq = ticket.seq();
    log.wait(ticket)?;
    Ok(seq)
}

/// Opens the log and says what it replayed: each commit's number and changes, as text.
fn open_from(
    env: &Env,
    options: Options,
    from: Position,
    applied: Seq,
) -> Result<(Log, Replay), OpenError> {
    let mut replayed = Vec::new();
    let mut replay = InOrder(|transaction: &Replayed<'_>| {
        let changes = transaction.changes().map(|change| tell(&change)).collect();
        replayed.push((transaction.seq, changes));
    });
    let dir = Path::new(DIR);
    let known = Known {
        position: from,
        applied,
        source: None,
        kept: None,
    };
    let log = Log::open(env, dir, options, known, &mut replay, &mut |_| ())?;
    Ok((log, replayed))
}

fn open(env: &Env) -> Result<(Log, Replay), OpenError> {
    open_from(env, options(), Position::default(), 0)
}

fn tell(change: &Change<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match *change {
        Change::Rows {
            table,
            kind,
            images,
        } => {
            let mut rows = Vec::new();
            let mut rest = images;
            while rest.len() >= 7 {
                let id = u32::from_le_bytes(rest[1..5].try_into().unwrap());
                let length = usize::from(u16::from_le_bytes(rest[5..7].try_into().unwrap()));
                rows.push(format!("{id}*{length}"));
                rest = &rest[7 + length..];
            }
            assert!(rest.is_empty());
            let kind = match kind {
                RowsKind::Write => "insert",
                RowsKind::Update => "update",
                RowsKind::Delete => "delete",
            };
            format!("{kind} {table}: {}", rows.join(" "))
        }
        Change::Internal { key, value } => {
            format!("{} = {:?}", text(key), value.map(text))
        }
        Change::Query { database, text: t } => format!("{}: {}", text(database), text(t)),
    }
}

fn disk() -> Disk {
    Disk::new(1)
}
