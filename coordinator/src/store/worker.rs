//! The threads that use the connections.
//!
//! A connection blocks, so each has a thread; who asks from tokio waits on a channel. Reads are
//! run one by one. Writes are gathered: all that have arrived while the last ones were written
//! share one transaction, and with it one commit, and the thread that has placed the commit turns
//! to the next ones while the log makes it durable. Tokio's thread hands over together what its
//! tasks ask for while there are any to run, so that it wakes the other thread once for them. Then tokio's thread is woken once for all of
//! them, and tells each who asked. A write that fails takes back what it shared
//! a transaction with, and then each of them has one of its own. What another transaction was in
//! the way of, or a lost connection, is tried again. What has waited in vain for a lock has failed
//! by itself, the others go on without it, and locked rows are asked for from then on; see `locked`.

use super::{
    connection::{Connection, LOST, UNREACHABLE},
    is_locked,
    locked::{AskedLocks, Locked},
};
use cohort_process::service;
use cohort_sql::SqlError;
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use tokio::{runtime::Handle, sync::oneshot};

/// Writes that share a transaction at most: their locks last as long as all of them.
const BATCH_MAX: usize = 128;
/// What something passing was in the way of is tried so often.
const TRIES: usize = 5;
/// Another coordinator's own locks are gone then.
const SHORTLY: Duration = Duration::from_millis(20);

/// Something to be read.
type Read = Box<dyn FnOnce(&mut dyn Connection) + Send>;

/// Something to be written, in a transaction that is there already.
trait Write: Send {
    /// Writes it; may be called again after a rollback.
    fn apply(&mut self, connection: &mut dyn Connection) -> Result<(), SqlError>;
    /// Tells who asked that it is durable, or not written.
    fn end(self: Box<Self>, result: Result<(), SqlError>);
    /// What it is about.
    fn about(&self) -> &About;
}

/// What is written.
#[derive(Clone, Debug, Default)]
pub(super) struct About {
    /// This transaction; empty: something else.
    gid: String,
    /// Rows that are not there yet, or are not its own or its branches' ones. Nobody can ask whether
    /// those are locked.
    makes_rows: bool,
}

impl About {
    /// The row of this transaction and those of its branches, as far as they are there.
    pub fn rows_of(gid: &str) -> About {
        About {
            gid: gid.to_owned(),
            makes_rows: false,
        }
    }
    /// More than that.
    pub fn more_than_rows_of(gid: &str) -> About {
        About {
            gid: gid.to_owned(),
            makes_rows: true,
        }
    }
}

/// A write, what it came to, and who wants to know.
struct Asked<T, W> {
    about: About,
    work: W,
    outcome: Option<T>,
    reply: oneshot::Sender<Result<T, SqlError>>,
}

impl<T, W> Write for Asked<T, W>
where
    T: Send,
    W: FnMut(&mut dyn Connection) -> Result<T, SqlError> + Send,
{
    fn apply(&mut self, connection: &mut dyn Connection) -> Result<(), SqlError> {
        self.outcome = Some((self.work)(connection)?);
        Ok(())
    }
    fn end(self: Box<Self>, result: Result<(), SqlError>) {
        let Asked { outcome, reply, .. } = *self;
        // Who asked may be gone.
        let _ = reply.send(result.and_then(|()| outcome.ok_or_else(closed)));
    }
    fn about(&self) -> &About {
        &self.about
    }
}

fn closed() -> SqlError {
    SqlError::shutdown_in_progress()
}

/// The threads, and the ways to them. Dropping it ends them when they have done what they were
/// asked.
pub(super) struct Workers {
    reads: Option<Sender<Read>>,
    large_reads: Option<Sender<Read>>,
    writes: Option<Sender<Vec<Box<dyn Write>>>>,
    /// Asked for, and not handed over.
    waiting: Mutex<Vec<Box<dyn Write>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts a thread for each connection. Who asks does so in `runtime`.
    pub fn start<C: Connection + 'static>(
        [readers, large_readers]: [Vec<C>; 2],
        writers: Vec<C>,
        runtime: &Handle,
    ) -> Result<Workers, SqlError> {
        let mut threads = Vec::new();
        let reads = start_readers(readers, &mut threads)?;
        let large_reads = start_readers(large_readers, &mut threads)?;
        let (writes, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        for mut connection in writers {
            let (queue, runtime) = (Arc::clone(&queue), runtime.clone());
            threads.push(spawn(move || {
                let mut known = Known::default();
                while let Some(mut batch) = gather(&queue, !known.later.is_empty()) {
                    while !batch.is_empty() {
                        let later = batch.split_off(batch.len().min(BATCH_MAX));
                        write(&mut connection, batch, &runtime, &mut known);
                        batch = later;
                    }
                    if let Some(one) = known.later.pop_front() {
                        write_doubtful(&mut connection, one, &runtime, &mut known);
                    }
                }
            })?);
        }
        Ok(Workers {
            reads: Some(reads),
            large_reads: Some(large_reads),
            writes: Some(writes),
            waiting: Mutex::default(),
            threads,
        })
    }

    /// Reads; what it returns is durable.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Connection) -> Result<T, SqlError> + Send + 'static,
    ) -> Result<T, SqlError> {
        ask(self.reads.as_ref(), work).await
    }

    /// Reads something large, which takes long.
    pub async fn read_large<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Connection) -> Result<T, SqlError> + Send + 'static,
    ) -> Result<T, SqlError> {
        ask(self.large_reads.as_ref(), work).await
    }

    /// Writes in a transaction that `work` neither begins nor ends; returns when it is durable.
    pub async fn write<T: Send + 'static>(
        &self,
        about: About,
        work: impl FnMut(&mut dyn Connection) -> Result<T, SqlError> + Send + 'static,
    ) -> Result<T, SqlError> {
        let (reply, receiver) = oneshot::channel();
        let outcome = None;
        let job = Box::new(Asked {
            about,
            work,
            outcome,
            reply,
        });
        if self.ask(job) {
            // Whatever becomes of this one, it hands the others over.
            let last = HandOver(self);
            // Those who can run now do so first, and may ask for something, too.
            tokio::task::yield_now().await;
            drop(last);
        }
        receiver.await.map_err(|_| closed())?
    }

    /// Whether it is the first to be handed over.
    fn ask(&self, job: Box<dyn Write>) -> bool {
        let mut waiting = lock(&self.waiting);
        waiting.push(job);
        waiting.len() == 1
    }
}

/// Dropped, it hands over what waits.
struct HandOver<'a>(&'a Workers);

impl Drop for HandOver<'_> {
    fn drop(&mut self) {
        let waiting = std::mem::take(&mut *lock(&self.0.waiting));
        if let Some(writes) = &self.0.writes {
            // If nobody takes them, those who asked learn it by their ends.
            let _ = writes.send(waiting);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.reads = None;
        self.large_reads = None;
        self.writes = None;
        for thread in self.threads.drain(..) {
            // A panic of the thread has been printed where it happened.
            let _ = thread.join();
        }
    }
}

/// Starts a thread for each connection, and returns the way to them.
fn start_readers<C: Connection + 'static>(
    connections: Vec<C>,
    threads: &mut Vec<JoinHandle<()>>,
) -> Result<Sender<Read>, SqlError> {
    let (reads, queue) = channel::<Read>();
    let queue = Arc::new(Mutex::new(queue));
    for mut connection in connections {
        let queue = Arc::clone(&queue);
        threads.push(spawn(move || {
            while let Some(read) = next(&queue) {
                read(&mut connection);
            }
        })?);
    }
    Ok(reads)
}

/// Has one of the readers at the other end read something, unless whoever asks goes away meanwhile.
async fn ask<T: Send + 'static>(
    readers: Option<&Sender<Read>>,
    work: impl FnOnce(&mut dyn Connection) -> Result<T, SqlError> + Send + 'static,
) -> Result<T, SqlError> {
    let (reply, receiver) = oneshot::channel();
    let job: Read = Box::new(move |connection| {
        if !reply.is_closed() {
            // Who asked may be gone now.
            let _ = reply.send(work(connection));
        }
    });
    let readers = readers.ok_or_else(closed)?;
    readers.send(job).map_err(|_| closed())?;
    receiver.await.map_err(|_| closed())?
}

fn spawn(work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, SqlError> {
    let lost = "and the coordinator cannot use its tables any more";
    service::start("coordinator", lost, work).map_err(SqlError::storage_failed)
}

fn lock<T>(queue: &Mutex<T>) -> MutexGuard<'_, T> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

fn next<T>(queue: &Mutex<Receiver<T>>) -> Option<T> {
    lock(queue).recv().ok()
}

/// Waits for some, unless there is something else to do, and takes with them what else is there.
/// `None`: none will come, and there is nothing else to do.
fn gather<T>(queue: &Mutex<Receiver<Vec<T>>>, is_busy: bool) -> Option<Vec<T>> {
    let queue = lock(queue);
    let mut batch = match is_busy {
        true => Vec::new(),
        false => queue.recv().ok()?,
    };
    while batch.len() < BATCH_MAX
        && let Ok(more) = queue.try_recv()
    {
        batch.extend(more);
    }
    Some(batch)
}

/// What the writer knows besides what it is to write.
#[derive(Default)]
struct Known {
    locked: Locked,
    /// To be written one by one; see `locked`.
    later: VecDeque<Box<dyn Write>>,
}

/// Writes that were not written.
struct Failed {
    batch: Vec<Box<dyn Write>>,
    /// Which of them failed, if it was one of them.
    which: Option<usize>,
    error: SqlError,
}

fn write(
    connection: &mut dyn Connection,
    mut batch: Vec<Box<dyn Write>>,
    runtime: &Handle,
    known: &mut Known,
) {
    while !batch.is_empty() {
        if known.locked.is_careful() {
            batch = without_locked(connection, batch, known);
        }
        let Err(failed) = persistently(connection, batch, runtime) else {
            return;
        };
        let Failed { error, which, .. } = failed;
        batch = failed.batch;
        match which {
            Some(which) if is_locked(&error) => {
                end_locked(connection, batch.remove(which), error, known);
            }
            // What nobody can write now, nobody can write one by one.
            None if is_locked(&error) => return end_all(batch, &Err(error)),
            _ if batch.len() == 1 || error.code == UNREACHABLE => {
                return end_all(batch, &Err(error));
            }
            _ => {
                for one in batch {
                    write(connection, vec![one], runtime, known);
                }
                return;
            }
        }
    }
}

/// Writes one by itself whose place may be locked.
fn write_doubtful(
    connection: &mut dyn Connection,
    one: Box<dyn Write>,
    runtime: &Handle,
    known: &mut Known,
) {
    let Err(Failed {
        mut batch, error, ..
    }) = persistently(connection, vec![one], runtime)
    else {
        return;
    };
    match batch.pop() {
        Some(one) if is_locked(&error) => end_locked(connection, one, error, known),
        Some(one) => one.end(Err(error)),
        None => {}
    }
}

/// Ends one that has waited for a lock in vain.
fn end_locked(
    connection: &mut dyn Connection,
    one: Box<dyn Write>,
    error: SqlError,
    known: &mut Known,
) {
    let About { gid, makes_rows } = one.about();
    if !gid.is_empty() {
        let asked = ask_locks(connection, &[gid], known).unwrap_or_default();
        if asked.new.contains(gid) {
            known.locked.doubt_new();
        } else if !asked.refused.contains_key(gid) {
            known.locked.send_away(gid, *makes_rows, &error);
        }
    }
    one.end(Err(error));
    // So others see that it lives, however many it waits for.
    let _ = connection.begin().and_then(|()| connection.commit());
}

fn ask_locks(
    connection: &mut dyn Connection,
    names: &[&str],
    known: &mut Known,
) -> Result<AskedLocks, SqlError> {
    let mut ask = || {
        connection.begin()?;
        let asked = known.locked.ask(names, connection);
        connection.rollback();
        asked
    };
    let asked = ask()?;
    if !asked.has_just_locked {
        return Ok(asked);
    }
    thread::sleep(SHORTLY);
    ask()
}

/// Ends those that cannot be written now, for they are locked, puts off those of which nobody can say
/// whether they are, and gives back the others.
fn without_locked(
    connection: &mut dyn Connection,
    batch: Vec<Box<dyn Write>>,
    known: &mut Known,
) -> Vec<Box<dyn Write>> {
    let names = batch.iter().map(|write| write.about().gid.as_str());
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    // If that cannot be asked, it is seen when they are written.
    let asked = ask_locks(connection, &names, known).unwrap_or_default();
    let mut others = Vec::with_capacity(batch.len());
    for write in batch {
        let About { gid, makes_rows } = write.about();
        let is_doubtful = match asked.new.contains(gid) {
            true => known.locked.doubts_new(),
            false => *makes_rows && known.locked.doubts_more(),
        };
        match asked.refused.get(gid) {
            Some(error) => write.end(Err(error.clone())),
            None if is_doubtful => known.later.push_back(write),
            None => others.push(write),
        }
    }
    others
}

fn end_all(batch: Vec<Box<dyn Write>>, result: &Result<(), SqlError>) {
    for write in batch {
        write.end(result.clone());
    }
}

/// Writes all of them in one transaction, however often something passing is in the way.
fn persistently(
    connection: &mut dyn Connection,
    mut batch: Vec<Box<dyn Write>>,
    runtime: &Handle,
) -> Result<(), Failed> {
    for _ in 1..TRIES {
        match together(connection, batch, runtime) {
            Err(failed) if is_passing(&failed) => batch = failed.batch,
            other => return other,
        }
    }
    together(connection, batch, runtime)
}

/// Whether it may work when it is tried again at once: another transaction was in the way (a
/// deadlock, a table that was just changed, at the beginning or the commit a lock), or a connection
/// was lost.
fn is_passing(failed: &Failed) -> bool {
    match failed.which {
        Some(_) if is_locked(&failed.error) => false,
        _ => is_locked(&failed.error) || matches!(failed.error.code, 1213 | 1412 | LOST),
    }
}

/// Writes all of them in one transaction, or gives them back with the error of one.
fn together(
    connection: &mut dyn Connection,
    mut batch: Vec<Box<dyn Write>>,
    runtime: &Handle,
) -> Result<(), Failed> {
    let mut which = None;
    let written = connection.begin().and_then(|()| {
        batch.iter_mut().enumerate().try_for_each(|(place, write)| {
            which = Some(place);
            write.apply(connection)
        })
    });
    if let Err(error) = written {
        connection.rollback();
        return Err(Failed {
            batch,
            which,
            error,
        });
    }
    match connection.commit() {
        Ok(committed) => {
            let runtime = runtime.clone();
            committed.when_known(move |result| {
                // Its thread wakes those who wait without a system call for each.
                runtime.spawn(async move { end_all(batch, &result) });
            });
            Ok(())
        }
        Err(error) => Err(Failed {
            batch,
            which: None,
            error,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            connection::{Answer, Committed},
            rows,
        },
        *,
    };
    use cohort_engine::types::Value;
    use futures_util::FutureExt;
    use tokio::runtime::Builder;

    /// Notes what is done; a statement `fail` fails.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<Vec<String>>>);

    impl Notes {
        fn note(&self, what: &str) {
            self.0.lock().unwrap().push(what.to_owned());
        }
    }

    impl Connection for Notes {
        fn owner(&self) -> u64 {
            0
        }
        fn run(&mut self, sql: &str, values: &[Value]) -> Result<Answer, SqlError> {
            if sql.starts_with("SELECT gid") {
                // All are there but "new", and "held" is locked.
                let is_there = |name: &&Value| **name != rows::text("new");
                let is_free =
                    |name: &&Value| !sql.ends_with("SKIP LOCKED") || **name != rows::text("held");
                let found = values.iter().filter(is_there).filter(is_free);
                let rows = found.map(|name| vec![name.clone()]).collect();
                return Ok(Answer { rows, affected: 0 });
            }
            self.note(sql);
            let times = |what: &str| {
                let notes = self.0.lock().unwrap();
                notes.iter().filter(|note| *note == what).count()
            };
            match sql {
                "held" | "locked" | "new" => Err(SqlError::lock_wait_timeout("")),
                "fail" => Err(SqlError::unknown_error("failed")),
                "duplicate" => Err(SqlError::duplicate_entry("g", "PRIMARY")),
                "deadlock" if times(sql) < 3 => Err(SqlError::deadlock()),
                "unreachable" => Err(SqlError {
                    code: UNREACHABLE,
                    ..SqlError::unknown_error("gone")
                }),
                _ => Ok(Answer::default()),
            }
        }
        fn begin(&mut self) -> Result<(), SqlError> {
            self.note("begin");
            Ok(())
        }
        fn commit(&mut self) -> Result<Committed, SqlError> {
            self.note("commit");
            Ok(Committed::Durable)
        }
        fn rollback(&mut self) {
            self.note("rollback");
        }
    }

    type Receive = oneshot::Receiver<Result<(), SqlError>>;

    fn asked_for(sql: &'static str) -> (Box<dyn Write>, Receive) {
        let (reply, receiver) = oneshot::channel();
        let work = move |connection: &mut dyn Connection| match sql {
            "duplicate" => rows::is_new(connection.run(sql, &[]).map(drop)).map(drop),
            _ => connection.run(sql, &[]).map(drop),
        };
        let outcome = None;
        (
            Box::new(Asked {
                about: About {
                    gid: sql.to_owned(),
                    makes_rows: matches!(sql, "new" | "more" | "locked"),
                },
                work,
                outcome,
                reply,
            }),
            receiver,
        )
    }

    fn written(statements: &[&'static str]) -> (String, Vec<bool>) {
        written_beside(statements, &mut Known::default())
    }

    fn written_beside(statements: &[&'static str], known: &mut Known) -> (String, Vec<bool>) {
        let mut notes = Notes::default();
        let (batch, receivers): (Vec<_>, Vec<_>) =
            statements.iter().map(|sql| asked_for(sql)).unzip();
        let runtime = Builder::new_current_thread().build().unwrap();
        write(&mut notes, batch, runtime.handle(), known);
        let succeeded = |receive: Receive| runtime.block_on(receive).unwrap().is_ok();
        let done = notes.0.lock().unwrap().join(" ");
        (done, receivers.into_iter().map(succeeded).collect())
    }

    #[test]
    fn those_that_arrive_together_share_a_transaction() {
        let (done, succeeded) = written(&["a", "b", "c"]);
        assert_eq!(done, "begin a b c commit");
        assert_eq!(succeeded, [true, true, true]);
    }

    #[test]
    fn what_tasks_ask_for_together_is_handed_over_together() {
        let notes = Notes::default();
        let runtime = Builder::new_current_thread().build().unwrap();
        let workers = Workers::start(
            [Vec::new(), Vec::new()],
            vec![notes.clone()],
            runtime.handle(),
        )
        .unwrap();
        let ask = |sql: &'static str| {
            workers.write(About::rows_of(sql), move |connection| {
                connection.run(sql, &[]).map(drop)
            })
        };
        let all = async { tokio::join!(ask("a"), ask("b"), ask("c")) };
        let (a, b, c) = runtime.block_on(all);
        assert!(a.and(b).and(c).is_ok());
        let done = || notes.0.lock().unwrap().join(" ");
        assert_eq!(done(), "begin a b c commit");
        // Who does not wait for it hands it over all the same.
        let asked = runtime.block_on(async { ask("d").now_or_never() });
        assert!(asked.is_none());
        runtime.block_on(ask("e")).unwrap();
        assert!(done().contains(" d "), "{}", done());
    }

    #[test]
    fn what_is_there_already_costs_the_others_nothing() {
        let (done, succeeded) = written(&["a", "duplicate", "c"]);
        assert_eq!(done, "begin a duplicate c commit");
        assert_eq!(succeeded, [true, true, true]);
    }

    #[test]
    fn one_that_fails_does_not_spoil_the_others() {
        let (done, succeeded) = written(&["a", "fail", "c"]);
        assert_eq!(
            done,
            "begin a fail rollback begin a commit begin fail rollback begin c commit"
        );
        assert_eq!(succeeded, [true, false, true]);
        let (done, succeeded) = written(&["fail"]);
        assert_eq!(
            (done.as_str(), succeeded),
            ("begin fail rollback", vec![false])
        );
    }

    #[test]
    fn what_passes_is_waited_for() {
        let (done, succeeded) = written(&["a", "deadlock"]);
        let again = "begin a deadlock rollback ";
        assert_eq!(done, format!("{again}{again}begin a deadlock commit"));
        assert_eq!(succeeded, [true, true]);
    }

    #[test]
    fn what_is_locked_is_waited_for_once_and_keeps_nobody_else() {
        let mut known = Known::default();
        // The others see that it lives, and who is locked is asked for.
        let (beat, asked) = ("begin commit", "begin rollback");
        let (done, succeeded) = written_beside(&["a", "held", "c"], &mut known);
        assert_eq!(
            done,
            format!("begin a held rollback {asked} {asked} {beat} {asked} begin a c commit")
        );
        assert_eq!(succeeded, [true, false, true]);
        let (done, succeeded) = written_beside(&["held", "a", "held"], &mut known);
        assert_eq!(done, format!("{asked} begin a commit"));
        assert_eq!(succeeded, [false, true, false]);
        // What cannot be asked for stays away for a while.
        let (done, _) = written_beside(&["a", "locked"], &mut known);
        let again = format!("begin a locked rollback {asked} {beat} {asked} begin a commit");
        assert_eq!(done, format!("{asked} {again}"));
        let (done, succeeded) = written_beside(&["a", "locked"], &mut known);
        assert_eq!(done, format!("{asked} begin a commit"));
        assert_eq!(succeeded, [true, false]);
        // Whatever else fails, fails by itself.
        let (done, succeeded) = written_beside(&["fail", "locked", "c"], &mut Known::default());
        assert_eq!(
            done,
            format!(
                "begin fail rollback begin fail rollback begin locked rollback {asked} {beat} \
                 {asked} begin c commit"
            )
        );
        assert_eq!(succeeded, [false, false, true]);
    }

    /// What is done with all of them, what is put off then, what is done with the first of those, and
    /// who succeeded.
    fn written_with_one_later(
        statements: &[&'static str],
    ) -> (String, Vec<String>, String, Vec<bool>) {
        let (mut known, mut notes) = (Known::default(), Notes::default());
        let (batch, receivers): (Vec<_>, Vec<_>) =
            statements.iter().map(|sql| asked_for(sql)).unzip();
        let runtime = Builder::new_current_thread().build().unwrap();
        write(&mut notes, batch, runtime.handle(), &mut known);
        let later = known.later.iter().map(|one| one.about().gid.clone());
        let later: Vec<_> = later.collect();
        let taken = || std::mem::take(&mut *notes.0.lock().unwrap()).join(" ");
        let done = taken();
        let one = known.later.pop_front().expect("one");
        write_doubtful(&mut notes.clone(), one, runtime.handle(), &mut known);
        let done_later = taken();
        known.later.clear();
        let succeeded = |receive: Receive| runtime.block_on(receive).is_ok_and(|done| done.is_ok());
        let succeeded = receivers.into_iter().map(succeeded).collect();
        (done, later, done_later, succeeded)
    }

    #[test]
    fn new_ones_are_written_one_by_one_once_a_place_was_locked() {
        let (beat, asked) = ("begin commit", "begin rollback");
        let (done, later, done_later, succeeded) =
            written_with_one_later(&["new", "a", "new", "new"]);
        assert_eq!(later, ["new", "new"]);
        let failed = format!("begin new rollback {asked} {beat}");
        assert_eq!(done, format!("{failed} {asked} begin a commit"));
        assert_eq!(done_later, failed);
        assert_eq!(succeeded, [false, true, false, false]);
    }

    #[test]
    fn what_may_meet_a_lock_that_nobody_can_ask_for_is_written_one_by_one_once_one_was_met() {
        let (beat, asked) = ("begin commit", "begin rollback");
        let (done, later, done_later, succeeded) =
            written_with_one_later(&["more", "locked", "a", "more", "new"]);
        // New transactions are not in doubt: one of them would have to meet a lock itself.
        let one_is_new = format!("begin a new rollback {asked} {beat} {asked} begin a commit");
        assert_eq!(
            done,
            format!("begin more locked rollback {asked} {beat} {asked} {one_is_new}")
        );
        assert_eq!(later, ["more", "more"]);
        assert_eq!(done_later, "begin more commit");
        assert_eq!(succeeded, [true, false, true, false, false]);
    }

    #[test]
    fn nobody_is_tried_alone_when_no_server_answers() {
        let (done, succeeded) = written(&["unreachable", "b"]);
        assert_eq!(done, "begin unreachable rollback");
        assert_eq!(succeeded, [false, false]);
    }
}
