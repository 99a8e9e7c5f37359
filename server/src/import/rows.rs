//! Rows come over: several threads, each with a session of the snapshot and one of the target.
//!
//! A thread takes a table's next range, leaves the rest of the table to the others, and copies what
//! it took: statements of about a megabyte, of which one is on its way while the next one is
//! gathered. Memory is bounded by that, whatever the size of rows and tables.

use super::{
    compare,
    ranges::{self, Bound, Range, put_literal},
    schema::{Form, Table},
    servers::{Server, Session},
    stop::Stop,
    tables,
    text::name,
};
use crate::progress::{Progress, size};
use parking_lot::{Condvar, Mutex};
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// A statement is sent when it is so long.
const STATEMENT: usize = 1 << 20;
/// What the server adds to a statement, and some.
const ROOM: usize = 1024;

/// Errors after which a statement is tried again: lock wait timeout, deadlock.
const AGAIN: [u16; 2] = [1205, 1213];
const TRIES: u32 = 10;

/// What is to be done.
enum Work {
    /// The rows of a table behind a key.
    Rows(usize, Option<Bound>),
    /// The indexes of a table, whose rows are there.
    Indexes(usize),
}

/// What all threads share.
struct Shared<'a> {
    tables: &'a [Table],
    queue: Mutex<Queue>,
    changed: Condvar,
    progress: &'a Progress,
    stop: &'a Stop,
    /// How long a statement may be.
    packet_max: usize,
    rows: AtomicU64,
    bytes: AtomicU64,
}

struct Queue {
    work: VecDeque<Work>,
    /// How many parts of each table are under way or wait.
    parts: Vec<usize>,
    /// How many pieces of work are under way.
    busy: usize,
    failure: Option<String>,
}

/// What was copied.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copied {
    /// Rows.
    pub rows: u64,
    /// Bytes of statements.
    pub bytes: u64,
}

/// How long a statement may be for the target.
fn packet_max(target: &Server) -> Result<usize, String> {
    let most = target
        .connect()?
        .value("SELECT @@SESSION.max_allowed_packet")?;
    let most = most.and_then(|most| most.parse().ok());
    most.ok_or_else(|| format!("{}: it has no max_allowed_packet", target.name))
}

/// Copies all tables. `prepare` makes a session of the target ready.
///
/// # Errors
/// The first thing that went wrong.
pub fn copy(
    sessions: Vec<Session>,
    target: &Server,
    tables: &[Table],
    prepare: &(dyn Fn(&mut Session) -> Result<(), String> + Sync),
    stop: &Stop,
) -> Result<Copied, String> {
    let total = tables.iter().map(weight).sum();
    let progress = Progress::new("rows".into(), total);
    let shared = Shared {
        tables,
        queue: Mutex::new(Queue {
            work: (0..tables.len())
                .map(|table| Work::Rows(table, None))
                .collect(),
            parts: vec![1; tables.len()],
            busy: 0,
            failure: None,
        }),
        changed: Condvar::new(),
        progress: &progress,
        stop,
        packet_max: packet_max(target)?,
        rows: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
    };
    thread::scope(|scope| {
        for mut source in sessions {
            let shared = &shared;
            scope.spawn(move || {
                let made = target.connect().and_then(|mut session| {
                    prepare(&mut session)?;
                    Ok(session)
                });
                match made {
                    Ok(mut target) => shared.serve(&mut source, &mut target),
                    Err(error) => shared.fail(error),
                }
            });
        }
    });
    let copied = Copied {
        rows: shared.rows.into_inner(),
        bytes: shared.bytes.into_inner(),
    };
    match shared.queue.into_inner().failure {
        Some(failure) => Err(failure),
        None => Ok(copied),
    }
}

/// What a table counts for in the progress.
fn weight(table: &Table) -> u64 {
    table.bytes.max(1)
}

impl Shared<'_> {
    fn fail(&self, error: String) {
        let mut queue = self.queue.lock();
        queue.failure.get_or_insert(error);
        self.changed.notify_all();
    }

    /// The next piece of work; `None`: all is done, or something failed.
    fn take(&self) -> Option<Work> {
        let mut queue = self.queue.lock();
        loop {
            if queue.failure.is_some() {
                return None;
            }
            if let Some(work) = queue.work.pop_front() {
                queue.busy += 1;
                return Some(work);
            }
            if queue.busy == 0 {
                return None;
            }
            self.changed.wait(&mut queue);
        }
    }

    /// The thread.
    fn serve(&self, source: &mut Session, target: &mut Session) {
        while let Some(work) = self.take() {
            let (table, result) = match work {
                Work::Rows(table, after) => (table, self.rows(source, target, table, after)),
                Work::Indexes(table) => (table, tables::build_indexes(target, &self.tables[table])),
            };
            let named = |error| format!("{}: {error}", self.tables[table].full_name());
            let result = result.map_err(named);
            if let Err(error) = result.and_then(|()| self.stop.check()) {
                self.fail(error);
            }
            self.queue.lock().busy -= 1;
            self.changed.notify_all();
        }
    }

    fn rows(
        &self,
        source: &mut Session,
        target: &mut Session,
        number: usize,
        after: Option<Bound>,
    ) -> Result<(), String> {
        let table = &self.tables[number];
        let to = ranges::end(source, table, after.as_ref())?;
        let is_last = to.is_none();
        if !is_last {
            let mut queue = self.queue.lock();
            queue.parts[number] += 1;
            queue.work.push_back(Work::Rows(number, to.clone()));
            self.changed.notify_one();
        }
        let range = Range { after, to };
        self.copy_range(source, target, table, &range)?;
        let mut queue = self.queue.lock();
        queue.parts[number] -= 1;
        if queue.parts[number] == 0 {
            queue.work.push_back(Work::Indexes(number));
            self.changed.notify_one();
        }
        Ok(())
    }

    fn copy_range(
        &self,
        source: &mut Session,
        target: &mut Session,
        table: &Table,
        range: &Range,
    ) -> Result<(), String> {
        let columns: Vec<_> = table
            .columns
            .iter()
            .filter(|column| !column.generated)
            .collect();
        let written = columns.iter().map(|column| column.form.written());
        let forms: Vec<Form> = written.collect();
        let read: Vec<_> = columns.iter().map(|column| column.expression()).collect();
        let names: Vec<_> = columns.iter().map(|column| name(&column.name)).collect();
        let head = format!(
            "INSERT INTO {} ({}) VALUES ",
            table.full_name(),
            names.join(", ")
        );
        let full = table.full_name();
        // A table of generated columns only has rows, too.
        let read = if read.is_empty() {
            "1".to_owned()
        } else {
            read.join(", ")
        };
        let sql = format!("SELECT {read} FROM {full}{}", range.condition(table));
        let share = weight(table) as f64 / table.rows.max(1) as f64;
        let mut sink = Sink {
            target,
            head: head.into_bytes(),
            gathered: Vec::with_capacity(STATEMENT + STATEMENT / 4),
            sent: Vec::new(),
            is_under_way: false,
            warning: None,
            packet_max: self.packet_max,
        };
        let (mut rows, mut row) = (0_u64, Vec::new());
        source.each_row(&sql, |values| {
            row.clear();
            row.push(b'(');
            for (at, (value, form)) in values.zip(&forms).enumerate() {
                if at > 0 {
                    row.push(b',');
                }
                put_literal(value, *form, &mut row);
            }
            row.push(b')');
            rows += 1;
            if let Some(sent) = sink.add(&row)? {
                self.stop.check()?;
                self.note(sent as u64, std::mem::take(&mut rows), share);
            }
            Ok(())
        })?;
        let sent = sink.end()?;
        self.note(sent as u64, rows, share);
        self.check_range(source, &mut sink, table, range)
    }

    /// What a warning is about may be harmless, as the number 0 in an ENUM is, and another byte for the
    /// same letter gives none. The rows tell.
    fn check_range(
        &self,
        source: &mut Session,
        sink: &mut Sink<'_>,
        table: &Table,
        range: &Range,
    ) -> Result<(), String> {
        let warning = sink.warning.take();
        if warning.is_none() && !table.is_encoded() {
            return Ok(());
        }
        if warning.is_none() && compare::has_same_digest(source, sink.target, table, range)? {
            return Ok(());
        }
        match compare::differing(source, sink.target, table, range)? {
            None => Ok(()),
            Some(row) => Err(format!(
                "{row} is not what it is at the source: {}",
                warning.unwrap_or("its bytes become others, for the same letters".into())
            )),
        }
    }

    fn note(&self, bytes: u64, rows: u64, share: f64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
        let done = (rows as f64 * share) as u64;
        self.progress.done().fetch_add(done, Ordering::Relaxed);
        let copied = self.rows.load(Ordering::Relaxed);
        let size = self.bytes.load(Ordering::Relaxed);
        self.progress.count(copied, size);
    }
}

/// Gathers rows into statements, and sends them.
struct Sink<'a> {
    target: &'a mut Session,
    head: Vec<u8>,
    /// The next statement; empty: there are no rows for it.
    gathered: Vec<u8>,
    /// The one that is under way, to be sent again if it must.
    sent: Vec<u8>,
    is_under_way: bool,
    /// The first warning of the target.
    warning: Option<String>,
    packet_max: usize,
}

impl Sink<'_> {
    /// Adds a row; how many bytes were sent, if it was time to.
    fn add(&mut self, row: &[u8]) -> Result<Option<usize>, String> {
        let mut sent = None;
        let alone = self.head.len() + row.len() + ROOM;
        if alone > self.packet_max {
            return Err(format!(
                "a row is a statement of {}, and max_allowed_packet of the target is {}: SET GLOBAL \
                 max_allowed_packet = {} there, and start again",
                size(alone as u64),
                size(self.packet_max as u64),
                alone.next_power_of_two()
            ));
        }
        let most = STATEMENT.min(self.packet_max);
        if !self.gathered.is_empty() && self.gathered.len() + row.len() + ROOM > most {
            sent = Some(self.send()?);
        }
        if self.gathered.is_empty() {
            self.gathered.extend_from_slice(&self.head);
        } else {
            self.gathered.push(b',');
        }
        self.gathered.extend_from_slice(row);
        Ok(sent)
    }

    fn send(&mut self) -> Result<usize, String> {
        self.wait()?;
        self.target.send(&self.gathered)?;
        self.is_under_way = true;
        std::mem::swap(&mut self.sent, &mut self.gathered);
        self.gathered.clear();
        Ok(self.sent.len())
    }

    /// Waits for the statement that is under way.
    fn wait(&mut self) -> Result<(), String> {
        let mut tries = 0;
        while std::mem::take(&mut self.is_under_way) {
            match self.target.done()? {
                Ok(done) if done.warnings > 0 && self.warning.is_none() => {
                    let row = self
                        .target
                        .query("SHOW WARNINGS LIMIT 1")?
                        .into_iter()
                        .next();
                    let texts = row.unwrap_or_default().into_iter().flatten();
                    self.warning = Some(texts.collect::<Vec<_>>().join(" "));
                }
                Ok(_) => {}
                Err(error) if AGAIN.contains(&error.code) && tries < TRIES => {
                    tries += 1;
                    self.target.send(&self.sent)?;
                    self.is_under_way = true;
                }
                Err(error) => return Err(self.target.refused(&error)),
            }
        }
        Ok(())
    }

    /// Sends what is left, and waits until all is there.
    fn end(&mut self) -> Result<usize, String> {
        let sent = if self.gathered.is_empty() {
            0
        } else {
            self.send()?
        };
        self.wait()?;
        Ok(sent)
    }
}
