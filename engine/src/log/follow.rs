//! Following the log: what is written is read again, event after event and file after file, by
//! replicas and whoever else wants to know of changes, and then waited for.
//!
//! A follower sees what [`Log::end`] counts: with sync_binlog=1 what is durable, and nothing else.
//! It reads blocks of whole events, which it shares with others who are near the end (see `recent`),
//! and is counted while it waits, so that a log that nobody follows wakes nobody.

use super::{
    FileInfo, Log, Position,
    block::{Block, Events},
    event::{self, MAGIC, kind, offset},
    file_name,
    files::file_number,
    group::Publish,
    read::Reader,
    recover::read_header,
    seal,
    shared::Shared,
};
use crate::{
    env::{File, Mode},
    types::{Gtid, GtidSet},
};
use std::{
    io,
    sync::{Arc, atomic::Ordering::SeqCst},
    time::{Duration, Instant},
};

/// A format description is not larger, in bytes.
const DESCRIPTION: usize = 512;
/// A file that the log has left gets its last event a moment later: so long it is waited for.
const CLOSING: Duration = Duration::from_secs(2);

/// Why a follower cannot begin, or go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowError {
    /// There is no file of this name.
    NoFile,
    /// No event of a file begins before byte 4.
    BeforeEvents,
    /// The position is behind the end of the file.
    BehindEnd,
    /// No event begins at this position of this file, or it is damaged.
    NoEvent(Position),
    /// The follower has commits of this server that it does not have itself: it has these.
    Ahead(GtidSet),
    /// Files with commits that the follower does not have are gone: with these.
    Purged(GtidSet),
    /// Reading a file has failed; where, and why.
    Failed(String),
}

/// Where a follower begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// At a byte of the file of this name; an empty name is the first file's.
    At(String, u64),
    /// In the first file that has others than these, without these.
    Without(GtidSet),
}

/// What a follower comes to.
#[derive(Debug)]
pub enum Step<'f> {
    /// An event that is in no file or, in the file, otherwise: it says which file the next events
    /// are of, and where they begin; or it is the file's format description.
    Made(Vec<u8>),
    /// Events, as they stand in the file, at least one.
    Events {
        /// The events.
        events: Events<'f>,
        /// For now there is no transaction behind them: the last one ends one.
        is_last: bool,
    },
    /// A transaction that it was not to see was passed over.
    Passed,
    /// There is nothing more for now.
    End,
}

/// A place in the log that moves on.
pub struct Follower {
    shared: Arc<Shared>,
    /// Where it is, in this file.
    here: Position,
    file: File,
    /// The end of the file, or of what is written of it, when it was last looked at.
    end: u64,
    /// The events that it is in, perhaps. It lets go of them before it waits.
    block: Arc<Block>,
    /// How long the last event of this file is, if the log goes on in another one.
    rotate_length: u64,
    without: GtidSet,
    /// See `Log::follow`.
    sums: bool,
    state: State,
    /// Since when the file is over but for its last event.
    over_since: Option<Instant>,
    /// Its number among the replicas that say what they have (see `semi_sync`).
    answers: Option<u64>,
}

/// What is read next.
#[derive(Clone, Copy)]
enum State {
    /// Which file it is, and that reading begins at this position, is to be told.
    Entering(u64),
    /// Its format description, and then what is at this position.
    Describing(u64),
    /// The next event.
    Reading,
    /// The next file: this one has had its last event.
    Leaving,
}

/// Where the first event of a file begins.
const FIRST: u64 = MAGIC.len() as u64;

impl Log {
    /// Follows the log from a place on. Files that are followed are not purged. `sums`: the first
    /// event has a checksum as all others have. Who has not read a format description does not
    /// know of checksums, if he was not told otherwise.
    ///
    /// # Errors
    /// There is no such place.
    pub fn follow(&self, start: Start, sums: bool) -> Result<Follower, FollowError> {
        loop {
            match self.follow_in(&self.files(), &start, sums) {
                // The file that was found has been purged meanwhile.
                Err(FollowError::NoFile) if matches!(start, Start::Without(_)) => {}
                begun => return begun,
            }
        }
    }

    /// The same, as these are the files.
    fn follow_in(
        &self,
        files: &[FileInfo],
        start: &Start,
        sums: bool,
    ) -> Result<Follower, FollowError> {
        let (file, position, without) = match start {
            Start::At(name, position) => {
                let (number, position) = (file_number(name), *position);
                let file = match name.is_empty() {
                    true => files.first(),
                    false => files.iter().find(|file| Some(file.number) == number),
                };
                let file = file.ok_or(FollowError::NoFile)?;
                if position < FIRST {
                    return Err(FollowError::BeforeEvents);
                }
                if position > file.size {
                    return Err(FollowError::BehindEnd);
                }
                (file, position, GtidSet::default())
            }
            Start::Without(commits) => {
                let file = self.file_without(files, commits)?;
                (file, FIRST, commits.clone())
            }
        };
        let shared = Arc::clone(&self.shared);
        let here = Position {
            file: file.number,
            offset: FIRST,
        };
        let file = open(&shared, here.file)?;
        shared.recent.come();
        Ok(Follower {
            shared,
            here,
            file,
            end: FIRST,
            block: Arc::new(Block::none(here)),
            rotate_length: rotate_length(here.file),
            without,
            sums,
            state: State::Entering(position),
            over_since: None,
            answers: None,
        })
    }

    /// The last file before which there are none but these commits.
    fn file_without<'f>(
        &self,
        files: &'f [FileInfo],
        commits: &GtidSet,
    ) -> Result<&'f FileInfo, FollowError> {
        let own = &self.shared.source;
        let here = self.exclusive_with_gtids(|_, kept| kept.executed.of(own));
        if !here.contains_all(&commits.of(own)) {
            return Err(FollowError::Ahead(here));
        }
        let mut before = self.elsewhere();
        if commits.contains_all(&before) {
            for file in files.iter().rev() {
                before = match self.executed_before(file) {
                    // This one and those before it have been purged meanwhile.
                    Err(FollowError::NoFile) => break,
                    known => known?,
                };
                if commits.contains_all(&before) {
                    return Ok(file);
                }
            }
        }
        before.remove_all(commits);
        Err(FollowError::Purged(before))
    }

    /// The GTIDs of all commits before a file; that there is none, if it has been purged.
    fn executed_before(&self, file: &FileInfo) -> Result<GtidSet, FollowError> {
        let failed = |error: &dyn std::fmt::Display| {
            FollowError::Failed(format!("cannot read {}: {error}", file.name()))
        };
        let directory = self.shared.keeper.directory();
        let opened = directory.open(file.number, Mode::Existing);
        let read = opened.and_then(|file| read_header(&file));
        let (_, header) = read.map_err(|error| match self.shared.files.has(file.number) {
            true => failed(&error),
            false => FollowError::NoFile,
        })?;
        let header = header.map_err(|_| failed(&"its head is damaged"))?;
        Ok(header.0.executed)
    }

    /// The GTIDs of all visible commits (gtid_executed): with sync_binlog=1 that is what is
    /// durable.
    #[must_use]
    pub fn executed(&self) -> GtidSet {
        let section = self.shared.section.lock();
        section.executed.as_of(self.visible())
    }

    /// Those of them that are in no file any more, or never were (gtid_purged).
    ///
    /// # Errors
    /// The first file cannot be read.
    pub fn purged(&self) -> Result<GtidSet, FollowError> {
        let mut purged = self.elsewhere();
        if let Some(first) = self.files().first() {
            purged.add_all(&self.executed_before(first)?);
        }
        Ok(purged)
    }

    /// Whether there is a commit of that name, be it durable or not.
    #[must_use]
    pub fn has(&self, gtid: Gtid) -> bool {
        let section = self.shared.section.lock();
        section.executed.contains(gtid, section.last)
    }

    /// How far another server's log is applied that has no GTIDs, in its own terms.
    #[must_use]
    pub fn source_position(&self) -> Option<Arc<str>> {
        let section = self.shared.section.lock();
        section.executed.kept(section.last).source
    }

    /// Notes that, after it was read from the log, or changed by whoever knows better.
    pub fn note_source_position(&self, position: &Arc<str>) {
        self.shared.section.lock().executed.note_source(position);
    }

    fn elsewhere(&self) -> GtidSet {
        self.shared.section.lock().executed.elsewhere()
    }

    /// Adds transactions that this server has, but not in its log: somebody has restored what they
    /// did. A checkpoint makes that durable.
    pub fn add_elsewhere(&self, set: &GtidSet) {
        let mut section = self.shared.section.lock();
        let (last, visible) = (section.last, self.visible());
        section.executed.add_elsewhere(set, last, visible);
    }
}

/// Opens a file, which is followed from now on.
fn open(shared: &Shared, number: u64) -> Result<File, FollowError> {
    if !shared.files.follow(number) {
        return Err(FollowError::NoFile);
    }
    let file = shared.keeper.directory().open(number, Mode::Existing);
    file.map_err(|error| {
        shared.files.cease(number);
        failed(number, &error)
    })
}

/// The length of a file's last event, if the log has left it. No transaction is as short.
fn rotate_length(number: u64) -> u64 {
    event::rotate(&file_name(number + 1)).len() as u64
}

fn failed(number: u64, error: &io::Error) -> FollowError {
    FollowError::Failed(format!("cannot read {}: {error}", file_name(number)))
}

impl Follower {
    /// Where it is.
    #[must_use]
    pub fn position(&self) -> Position {
        self.here
    }

    /// It says what it has, by [`Follower::has`]: commits may wait for that.
    pub fn answers(&mut self) {
        let shared = &self.shared;
        self.answers
            .get_or_insert_with(|| shared.semi_sync.replica_comes());
    }

    /// It has everything up to here, and safely.
    pub fn has(&self, position: Position) {
        if let Some(number) = self.answers {
            let shared = &self.shared;
            let end = shared.reached.lock().end;
            if shared.semi_sync.replica_has(number, position, end) {
                shared.publish();
            }
        }
    }

    /// Goes one step on.
    ///
    /// # Errors
    /// The log cannot be read there.
    pub fn step(&mut self) -> Result<Step<'_>, FollowError> {
        match self.state {
            State::Entering(position) => {
                let told = event::artificial_rotate(&file_name(self.here.file), position);
                self.state = State::Describing(position);
                return Ok(Step::Made(self.made(told, 0)));
            }
            State::Describing(position) => {
                let described = self.description(position)?;
                self.here.offset = match position {
                    FIRST => FIRST + described.len() as u64,
                    position => position,
                };
                self.state = State::Reading;
                self.sums = true;
                return Ok(Step::Made(described));
            }
            State::Leaving => {
                self.enter_next()?;
                return self.step();
            }
            State::Reading => {}
        }
        if self.here.offset >= self.block.end().offset && !self.next_block()? {
            return match self.state {
                State::Leaving => self.step(),
                _ => Ok(Step::End),
            };
        }
        let here = self.here;
        let event = self.block.event(here).ok_or(FollowError::NoEvent(here))?;
        if let Some(gtid) = event.gtid()
            && gtid.is_passed(&self.without)
        {
            self.here.offset += gtid.length;
            return Ok(Step::Passed);
        }
        let events = self.block.events(here, &self.without);
        self.here.offset += events.bytes().len() as u64;
        if self.block.ends_file(self.here) {
            self.state = State::Leaving;
        }
        let behind = self.end.saturating_sub(self.here.offset);
        let is_last = behind == 0 || behind == self.rotate_length;
        Ok(Step::Events {
            events,
            is_last: is_last && matches!(self.state, State::Reading),
        })
    }

    /// The format description of the file, for who reads on at a position: the file is not told to
    /// be in use, and in the middle of one nobody has just started.
    fn description(&mut self, position: u64) -> Result<Vec<u8>, FollowError> {
        self.find_end()?;
        let number = self.here.file;
        let mut reader = Reader::new(&self.file, FIRST, self.end).with_chunk(DESCRIPTION);
        let event = reader.event().map_err(|error| failed(number, &error))?;
        let size = match event {
            Ok(event) if event.kind == kind::FORMAT_DESCRIPTION => event.size,
            _ => return Err(FollowError::NoEvent(self.here)),
        };
        let mut described = reader.take(size).to_vec();
        let end = if position == FIRST {
            FIRST + size as u64
        } else {
            put(&mut described, event::CREATED, &[0; 4]);
            0
        };
        put(&mut described, offset::FLAGS, &[0; 2]);
        seal::made(&mut described, end, self.shared.server_id);
        Ok(described)
    }

    /// Goes on in the next block, if there is more in the file.
    fn next_block(&mut self) -> Result<bool, FollowError> {
        if self.here.offset >= self.end && !self.find_end()? {
            return Ok(false);
        }
        let (here, end, file) = (self.here, self.end, &self.file);
        self.block = self.shared.recent.block(here, || {
            let block = Block::read(file, here, end).map_err(|error| failed(here.file, &error))?;
            block.map_err(|_| FollowError::NoEvent(here))
        })?;
        self.end = end.max(self.block.end().offset);
        Ok(true)
    }

    /// Looks where the file ends now; whether there is more in it.
    fn find_end(&mut self) -> Result<bool, FollowError> {
        let end = self.shared.reached.lock().end;
        let is_over = end.file != self.here.file;
        let end = match is_over {
            true => self.shared.files.size(self.here.file),
            false => Some(end.offset),
        };
        // It is followed, and so it is not purged.
        self.end = end.ok_or(FollowError::NoFile)?;
        if self.here.offset < self.end {
            self.over_since = None;
            return Ok(true);
        }
        self.block = Arc::new(Block::none(self.here));
        if is_over {
            // Its last event is about to be written, or cannot be. Or it is there, and who follows
            // has begun behind it.
            let begins = self.over_since.is_none();
            let since = *self.over_since.get_or_insert_with(Instant::now);
            if since.elapsed() > CLOSING || begins && self.is_behind_last() {
                self.state = State::Leaving;
            }
        }
        Ok(false)
    }

    /// Whether the last event of the file ends here.
    fn is_behind_last(&self) -> bool {
        let Some(last) = self.here.offset.checked_sub(self.rotate_length) else {
            return false;
        };
        let mut reader = Reader::new(&self.file, last, self.end);
        matches!(reader.event(), Ok(Ok(event)) if event.kind == kind::ROTATE)
    }

    fn enter_next(&mut self) -> Result<(), FollowError> {
        let next = Position {
            file: self.here.file + 1,
            offset: FIRST,
        };
        // A server that was shut down, and started again, always goes on in another file.
        self.file = open(&self.shared, next.file)?;
        self.shared.files.cease(self.here.file);
        self.here = next;
        self.end = FIRST;
        self.block = Arc::new(Block::none(next));
        self.rotate_length = rotate_length(next.file);
        self.state = State::Entering(FIRST);
        self.over_since = None;
        Ok(())
    }

    /// Whether it has all there is, and is in the file in which the log goes on.
    #[must_use]
    pub fn has_all(&self) -> bool {
        self.shared.reached.lock().end == self.here
    }

    /// Whether it has the whole file but for its last event, for which it waits.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.over_since.is_some()
    }

    /// Waits until there may be more, but not for longer.
    pub fn wait(&self, time: Duration) {
        /// So long the last event of a file takes.
        const SOON: Duration = Duration::from_millis(10);
        let shared = &self.shared;
        shared.waiting.fetch_add(1, SeqCst);
        let mut reached = shared.reached.lock();
        let here = self.position();
        if reached.end.file != here.file {
            drop(reached);
            std::thread::sleep(time.min(SOON));
        } else if reached.end.offset <= here.offset {
            shared.progress.wait_for(&mut reached, time);
        }
        shared.waiting.fetch_sub(1, SeqCst);
    }

    /// An event that says that nothing has happened.
    #[must_use]
    pub fn heartbeat(&self, second_version: bool) -> Vec<u8> {
        let Position { file, offset } = self.position();
        let event = event::heartbeat(&file_name(file), offset, second_version);
        self.made(event, offset)
    }

    /// Completes an event that is in no file.
    fn made(&self, mut event: Vec<u8>, end: u64) -> Vec<u8> {
        seal::made(&mut event, end, self.shared.server_id);
        if !self.sums {
            seal::without_sum(&mut event);
        }
        event
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.shared.files.cease(self.here.file);
        self.shared.recent.go();
        if let Some(number) = self.answers {
            self.shared.semi_sync.replica_goes(number);
            self.shared.publish();
        }
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(field) = bytes.get_mut(at..at + value.len()) {
        field.copy_from_slice(value);
    }
}
