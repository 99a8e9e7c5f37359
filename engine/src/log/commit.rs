//! The open log: placing commits and waiting for them.

use super::{
    Batch, Kept, Known, LogError, OpenError, Options, Position, Progress, Replay,
    executed::Executed,
    files::{Directory, Files},
    group::{Group, Publish},
    keeper::Filled,
    recover,
    seal::Clock,
    shared::Shared,
    times::GroupTimes,
    writer::Writer,
};
use crate::{Seq, env::Env};
use parking_lot::Mutex;
use std::{
    path::Path,
    sync::{Arc, atomic::Ordering::SeqCst},
    thread::{self, JoinHandle},
};

/// A commit's place in the log.
pub struct Ticket {
    seq: Seq,
    group: Arc<Group>,
    applied: bool,
}

impl Ticket {
    /// Its number.
    #[must_use]
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Says that the commit's changes are where readers find them. Call it soon: no later commit
    /// becomes visible before. Dropping the ticket does it too.
    pub fn applied(&mut self) {
        if !std::mem::replace(&mut self.applied, true) {
            self.group.applied();
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.applied();
    }
}

/// The open log.
pub struct Log {
    pub(super) shared: Arc<Shared>,
    workers: Workers,
}

/// Who does the log's work.
enum Workers {
    Threads {
        writer: JoinHandle<()>,
        keeper: JoinHandle<()>,
        /// Gives up waiting for replicas.
        watcher: JoinHandle<()>,
    },
    /// Whoever waits for it.
    Inline(Box<Mutex<Writer>>),
    /// Nobody any more.
    Ended,
}

/// One of the log's threads that write. In a log without threads somebody says when each is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStep {
    /// The log thread: writes what is placed.
    Write,
    /// The keeper: does one thing that there is to do or, if there is none, looks for expired
    /// files.
    Keep,
}

impl Log {
    /// Opens the log in `dir`, gives every whole transaction that the base does not have to
    /// `replay`, cuts a torn tail and begins a new file.
    pub fn open<R: Replay>(
        env: &Env,
        dir: &Path,
        options: Options,
        known: Known,
        replay: &mut R,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Log, OpenError> {
        let directory = Directory {
            env: env.clone(),
            path: dir.to_owned(),
        };
        let found = recover::recover(&directory, &known, options.server_uuid, replay, progress)?;
        let number = found.number + 1;
        let executed = Executed::new(options.server_uuid, found.last, found.kept);
        let before = (found.last, executed.as_of(found.last));
        let begun = recover::begin(&directory, &options, number, before, &found.files)?;
        let mut files = found.files;
        files.push(begun.info);
        let start = Position {
            file: number,
            offset: begun.position,
        };
        let files = Files::new(files, known.position);
        let shared = Shared::new(directory, options, files, (found.last, executed), start);
        let writer = Writer {
            shared: Arc::clone(&shared),
            number,
            file: begun.file,
            filled: Filled::new(begun.position, begun.length),
            position: begun.position,
            clock: Clock::new(found.last),
            dirty: false,
            unsynced_groups: 0,
            written: found.last,
            ask_at: 0,
        };
        if shared.inline {
            let workers = Workers::Inline(Box::new(Mutex::new(writer)));
            return Ok(Log { shared, workers });
        }
        Log::start(shared, writer).map_err(|error| {
            OpenError(format!("cannot start a thread for the binary log: {error}"))
        })
    }

    fn start(shared: Arc<Shared>, writer: Writer) -> std::io::Result<Log> {
        let start = |name: &str| thread::Builder::new().name(name.into());
        let keeper = Arc::clone(&shared);
        let watched = Arc::clone(&shared);
        let watch = move || watched.semi_sync.watch(|| watched.publish());
        let workers = Workers::Threads {
            keeper: start("log-keeper").spawn(move || keeper.keeper.run(&keeper.files))?,
            writer: start("log").spawn(move || writer.run())?,
            watcher: start("log-watcher").spawn(watch)?,
        };
        Ok(Log { shared, workers })
    }

    /// In a log without threads: does what one of them would do next. Otherwise nothing.
    pub fn step(&self, step: LogStep) {
        let Workers::Inline(writer) = &self.workers else {
            return;
        };
        match step {
            LogStep::Write => writer.lock().work_off(),
            LogStep::Keep => {
                if !self.shared.keeper.work(&self.shared.files) {
                    self.shared.keeper.expire(&self.shared.files);
                }
            }
        }
    }

    /// Gives a transaction its number and its place. `placed` runs inside the short critical
    /// section: whatever it does happens in the order of the numbers.
    pub fn commit<R>(
        &self,
        mut batch: Batch,
        placed: impl FnOnce(Seq) -> R,
    ) -> Result<(Ticket, R), LogError> {
        let shared = &self.shared;
        batch.complete(shared.keeper.env().wall_micros())?;
        let mut section = shared.section.lock();
        if let Some(error) = &section.failed {
            return Err(error.clone());
        }
        if let Some(full) = &section.full {
            return Err(LogError::Full(full.clone()));
        }
        if section.closing {
            drop(section);
            return Err(shared.failure());
        }
        let seq = section.last + 1;
        let visible = shared.visible.0.load(SeqCst);
        let gtid = section.executed.place(seq, batch.name(), visible);
        let gtid = gtid.map_err(LogError::Executed)?;
        section.last = seq;
        if let Some(position) = batch.source() {
            section.executed.note_source(position);
        }
        batch.number(seq, gtid, section.executed.is_apart(gtid, seq));
        section.open.push(batch);
        let ticket = Ticket {
            seq,
            group: Arc::clone(&section.open.group),
            applied: false,
        };
        let result = placed(seq);
        let rouse = shared.rouse(&section);
        drop(section);
        if rouse {
            atomic_wait::wake_one(&shared.asleep);
        }
        Ok((ticket, result))
    }

    /// Waits until the commit, and all before it, are durable and applied: visible.
    pub fn wait(&self, ticket: Ticket) -> Result<GroupTimes, LogError> {
        let group = Arc::clone(&ticket.group);
        drop(ticket);
        self.step(LogStep::Write);
        if group.wait() {
            Ok(group.times())
        } else {
            Err(self.shared.failure())
        }
    }

    /// Waits until the commit is written, and durable if each group is to be (sync_binlog is 1).
    /// Replicas may not have it yet, so that nobody sees it.
    pub fn wait_written(&self, ticket: &Ticket) -> Result<(), LogError> {
        /// Only guards against a wake-up that came too early.
        const MOMENT: std::time::Duration = std::time::Duration::from_millis(10);
        let shared = &self.shared;
        self.step(LogStep::Write);
        shared.waiting.fetch_add(1, SeqCst);
        let mut reached = shared.reached.lock();
        let written = loop {
            match ticket.group.is_written() {
                Some(false) => shared.progress.wait_for(&mut reached, MOMENT),
                written => break written,
            };
        };
        drop(reached);
        shared.waiting.fetch_sub(1, SeqCst);
        match written {
            Some(_) => Ok(()),
            None => Err(shared.failure()),
        }
    }

    /// Calls `tell`, mostly by the log thread, when it is known what became of the commit. It must
    /// be short and not block: others are told after it, and the next group waits.
    pub fn when_known(
        &self,
        ticket: Ticket,
        tell: impl FnOnce(Result<(), LogError>, GroupTimes) + Send + 'static,
    ) {
        let group = Arc::clone(&ticket.group);
        drop(ticket);
        let shared = Arc::downgrade(&self.shared);
        group.when_known(Box::new(move |visible, times| {
            let failure = || {
                let shared = shared.upgrade();
                shared.map_or_else(
                    || LogError::Failed("the binary log is closed".into()),
                    |s| s.failure(),
                )
            };
            let known = if visible { Ok(()) } else { Err(failure()) };
            tell(known, times);
        }));
    }

    /// The newest commit that readers may see.
    #[must_use]
    pub fn visible(&self) -> Seq {
        self.shared.visible.0.load(SeqCst)
    }

    /// Waits until `seq`, which must have been placed, is visible. While the disk is full, be it that it
    /// has become so meanwhile, it does not wait: whoever has placed `seq` does, but others need not.
    pub fn wait_visible(&self, seq: Seq) -> Result<(), LogError> {
        let shared = &self.shared;
        if self.visible() >= seq {
            return Ok(());
        }
        let section = shared.section.lock();
        if let Some(full) = &section.full {
            return Err(LogError::Full(full.clone()));
        }
        // Under the section's lock a commit is either in flight, or in the open group.
        let group = shared.in_flight.find(seq).or_else(|| {
            let open = &section.open;
            (self.visible() < seq && open.commits > 0).then(|| Arc::clone(&open.group))
        });
        let failed = section.failed.clone();
        drop(section);
        self.step(LogStep::Write);
        let has_room = || shared.section.lock().full.is_none();
        let visible = loop {
            let known = group
                .as_ref()
                .map_or(Some(false), |group| group.wait_while(has_room));
            match (known, &shared.section.lock().full) {
                (Some(visible), _) => break visible,
                (None, Some(full)) => return Err(LogError::Full(full.clone())),
                // There is room again.
                (None, None) => {}
            }
        };
        if visible || self.visible() >= seq {
            return Ok(());
        }
        Err(failed.unwrap_or_else(|| shared.failure()))
    }

    /// Waits, for a moment only, until `seq` is visible, of which the caller has seen what was done
    /// just before that.
    pub fn wait_published(&self, seq: Seq) {
        if self.visible() < seq {
            self.shared.in_flight.pass();
            debug_assert!(self.visible() >= seq, "it is published: {seq}");
        }
    }

    /// Makes everything up to `seq` durable even if sync_binlog is not 1; to be called before a
    /// checkpoint with these commits is made durable.
    pub fn wait_durable(&self, seq: Seq) -> Result<(), LogError> {
        let shared = &self.shared;
        if self.durable() >= seq {
            return Ok(());
        }
        self.wait_visible(seq)?;
        while self.durable() < seq {
            shared.ask(|section| section.sync = true);
            self.step(LogStep::Write);
            let mut reached = shared.reached.lock();
            if self.durable() < seq {
                // The timeout only guards against sync_binlog having changed to 1 meanwhile.
                let moment = std::time::Duration::from_millis(10);
                shared.progress.wait_for(&mut reached, moment);
            }
            drop(reached);
            self.check()?;
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), LogError> {
        match &self.shared.section.lock().failed {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// The newest durable commit.
    #[must_use]
    pub fn durable(&self) -> Seq {
        self.shared.durable.load(SeqCst)
    }

    /// Runs `f` with the newest commit's number while no commit can take its place.
    pub fn exclusive<R>(&self, f: impl FnOnce(Seq) -> R) -> R {
        f(self.shared.section.lock().last)
    }

    /// As `exclusive`, with the GTIDs of the commits up to there.
    pub fn exclusive_with_gtids<R>(&self, f: impl FnOnce(Seq, Kept) -> R) -> R {
        let section = self.shared.section.lock();
        f(section.last, section.executed.kept(section.last))
    }

    /// Where a recovery can begin that needs only commits after `durable()` as of now.
    #[must_use]
    pub fn position(&self) -> Position {
        self.shared.reached.lock().durable
    }

    /// The end of the last written group: SHOW BINARY LOG STATUS.
    #[must_use]
    pub fn end(&self) -> Position {
        self.shared.reached.lock().end
    }

    /// Files from this position on are not purged.
    pub fn set_recovery_floor(&self, floor: Position) {
        self.shared.files.set_floor(floor);
    }

    /// Writes what is placed, marks the file as closed (STOP) and ends the log's threads.
    /// Dropping does the same, without telling errors.
    pub fn close(mut self) -> Result<(), LogError> {
        self.shut();
        self.check()
    }

    fn shut(&mut self) {
        // The keeper first: it may be writing zeros where the writer will cut.
        match std::mem::replace(&mut self.workers, Workers::Ended) {
            Workers::Ended => {}
            Workers::Threads {
                writer,
                keeper,
                watcher,
            } => {
                self.shared.keeper.stop();
                let kept = keeper.join().is_ok();
                self.shared.ask(|section| section.closing = true);
                let written = writer.join().is_ok();
                self.end_semi_sync();
                let watched = watcher.join().is_ok();
                if !(kept && written && watched) {
                    let error = LogError::Failed("a thread of the binary log has panicked".into());
                    self.shared.fail(&error);
                }
            }
            Workers::Inline(writer) => {
                self.shared.keeper.stop();
                while self.shared.keeper.work(&self.shared.files) {}
                self.shared.ask(|section| section.closing = true);
                let mut writer = writer.into_inner();
                writer.work_off();
                if self.check().is_ok() {
                    writer.end();
                }
            }
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.shut();
    }
}
