//! Cutting a copy of the log at a transaction, so that what is left is a whole log.
//!
//! The files lie in a directory of nobody's: those that were copied, one after another. All that
//! remains of them is read and checked; what comes behind the cut goes.

use super::{
    copy::{CopiedCommit, commit_of},
    event::{FileHeader, FileHeaderFlaw, GtidEvent, IN_USE, MAGIC, offset},
    file_name,
    files::Directory,
    keeper,
    read::{Reader, Stop},
    recover::{later_group, read_header},
};
use crate::{
    Seq,
    env::{Env, File, Mode},
    types::{Gtid, GtidSet, ServerUuid, gtid::format_uuid},
};
use std::{fmt, io, path::Path};

/// The last transaction that is to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The last one there is.
    End,
    /// The one with this GTID.
    Through(Gtid),
    /// The one before this GTID.
    Before(Gtid),
    /// The last one before the first that was committed after this moment, in microseconds since
    /// 1970.
    Until(u64),
}

/// Why a log cannot be cut there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutError {
    /// The base has later commits: up to this one, which was made at this moment, if it is known,
    /// in microseconds since 1970.
    TooEarly(CopiedCommit),
    /// The transaction is not in the files; this is their last commit.
    NotThere(CopiedCommit),
    /// The file of this number is missing.
    Missing(u64),
    /// A file is not what it was; where, and why.
    Damaged(String),
    /// Reading or writing failed.
    Failed(String),
}

impl fmt::Display for CutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CutError::TooEarly(base) => write!(f, "the base has commit {} already", base.seq),
            CutError::NotThere(last) => write!(f, "the last commit in the logs is {}", last.seq),
            CutError::Missing(number) => write!(f, "{} is missing", file_name(*number)),
            CutError::Damaged(text) | CutError::Failed(text) => f.write_str(text),
        }
    }
}

/// What is left of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remains {
    /// The last commit.
    pub last: CopiedCommit,
    /// The source of the last file's GTIDs, as text; `None`: there is no commit.
    pub source: Option<String>,
    /// Nothing came behind it.
    pub is_all: bool,
}

/// The files that a log is to be made of.
#[derive(Clone, Copy, Debug)]
pub struct Files {
    /// The number of the first one.
    pub first: u64,
    /// The base has the commits up to this one.
    pub applied: Seq,
}

/// How a file of the log begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begins {
    /// The GTIDs of all commits before it.
    pub executed: GtidSet,
    /// The last commit before it.
    pub after: Seq,
    /// When it was begun, in seconds since 1970.
    pub created: u32,
    /// It was not closed by its server.
    pub in_use: bool,
}

/// How a file begins; as text, why it is no file of a log.
///
/// # Errors
/// It cannot be read, or is none.
pub fn begins(env: &Env, path: &Path) -> Result<Begins, String> {
    let failed = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
    let file = env
        .open(path, Mode::Existing)
        .map_err(|error| failed(&error))?;
    let head = Head::of(&file).map_err(|error| failed(&error))?;
    let head = head.map_err(|flaw| failed(&format!("{flaw}")))?;
    Ok(Begins {
        executed: head.header.executed,
        after: head.header.after,
        created: head.header.created,
        in_use: head.in_use,
    })
}

/// The beginning of a file.
struct Head {
    header: FileHeader,
    length: u64,
    in_use: bool,
}

impl Head {
    fn of(file: &File) -> io::Result<Result<Head, FileHeaderFlaw>> {
        let (bytes, header) = read_header(file)?;
        let flags = bytes.get(MAGIC.len() + offset::FLAGS);
        let in_use = flags.is_some_and(|flags| flags & IN_USE as u8 != 0);
        Ok(header.map(|(header, length)| Head {
            header,
            length: length as u64,
            in_use,
        }))
    }
}

struct Walk<'a> {
    directory: Directory,
    files: Files,
    target: Target,
    /// The last commit that stays.
    last: CopiedCommit,
    /// The server that wrote what was read last.
    source: Option<ServerUuid>,
    /// The GTIDs of the commits that stay.
    executed: GtidSet,
    /// The target is the last one that stays.
    is_there: bool,
    /// Nothing was cut.
    is_all: bool,
    progress: &'a mut dyn FnMut(u64),
    done: u64,
}

/// What a file says about where to cut.
enum Found {
    /// It goes on in the next one.
    Goes,
    /// Here.
    Cut,
}

/// Cuts the files of a directory at the target, and makes their index. `progress` hears how many
/// bytes were read.
///
/// # Errors
/// The target is not there, or the files are not a whole log up to there.
pub fn cut(
    env: &Env,
    dir: &Path,
    files: Files,
    target: Target,
    progress: &mut dyn FnMut(u64),
) -> Result<Remains, CutError> {
    let walk = Walk {
        directory: Directory {
            env: env.clone(),
            path: dir.to_owned(),
        },
        files,
        target,
        last: CopiedCommit::default(),
        source: None,
        executed: GtidSet::default(),
        is_there: false,
        is_all: true,
        progress,
        done: 0,
    };
    walk.run()
}

impl Walk<'_> {
    fn run(mut self) -> Result<Remains, CutError> {
        let present = self.directory.present().map_err(|error| io_error(&error))?;
        let mut number = self.files.first;
        let mut left = Vec::new();
        loop {
            if !present.contains(&number) {
                let is_over = !left.is_empty() && present.iter().all(|other| *other < number);
                if !is_over {
                    return Err(CutError::Missing(number));
                }
                return match self.target {
                    Target::End | Target::Until(_) => self.finish(&present, &left),
                    Target::Through(_) if self.is_there => self.finish(&present, &left),
                    // The one that would have come next.
                    Target::Before(gtid)
                        if self.executed.first_missing(&gtid.source) == gtid.number
                            && gtid.number > 1 =>
                    {
                        self.finish(&present, &left)
                    }
                    // It was there before the first of them.
                    Target::Through(gtid) | Target::Before(gtid)
                        if self.executed.contains(gtid) =>
                    {
                        Err(self.too_early())
                    }
                    Target::Through(_) | Target::Before(_) => Err(CutError::NotThere(self.last)),
                };
            }
            left.push(number);
            match self.file(number)? {
                Found::Goes => number += 1,
                Found::Cut => {
                    self.is_all = false;
                    return self.finish(&present, &left);
                }
            }
        }
    }

    /// Reads a file up to where it is to be cut, if it is.
    fn file(&mut self, number: u64) -> Result<Found, CutError> {
        let failed = |error: io::Error| io_error(&error);
        let damaged = |at: u64, why: &str| {
            let name = file_name(number);
            CutError::Damaged(format!(
                "binary log {name} is damaged at position {at}: {why}"
            ))
        };
        let file = self.directory.open(number, Mode::Existing);
        let file = file.map_err(failed)?;
        let length = file.len().map_err(failed)?;
        let head = Head::of(&file).map_err(failed)?;
        let head = head.map_err(|flaw| damaged(0, &format!("{flaw}")))?;
        let Head {
            header,
            length: start,
            in_use,
        } = head;
        if number == self.files.first {
            self.executed = header.executed.clone();
        }
        if self.last.seq == 0 && number == self.files.first {
            // What was committed before it was committed before it was begun.
            self.last = CopiedCommit {
                seq: header.after,
                committed_micros: (u64::from(header.created) + 1) * 1_000_000,
            };
        }
        if header.after != self.last.seq {
            let why = format!(
                "it follows commit {}, and the file before ends with {}",
                header.after, self.last.seq
            );
            return Err(damaged(0, &why));
        }
        if header.after > 0 {
            self.source = Some(header.source);
        }
        let mut reader = Reader::new(&file, start, length);
        loop {
            let position = reader.position();
            let stop = match reader.next().map_err(failed)? {
                Ok(gtid) => {
                    if gtid.seq(header.after) != self.last.seq + 1 {
                        return Err(damaged(position, "its commit is not the next one"));
                    }
                    if self.is_cut_before(&gtid)? {
                        close(
                            &self.directory.env,
                            &file,
                            number,
                            position,
                            header.server_id,
                        )?;
                        return Ok(Found::Cut);
                    }
                    self.last = commit_of(&gtid, header.after);
                    self.executed.add(gtid.gtid);
                    self.source = Some(match gtid.is_apart {
                        true => header.source,
                        false => gtid.gtid.source,
                    });
                    reader.skip(usize::try_from(gtid.length).unwrap_or(usize::MAX));
                    self.done += gtid.length;
                    (self.progress)(self.done);
                    continue;
                }
                Err(stop) => stop,
            };
            return match stop {
                Stop::End(end) if end == length => Ok(Found::Goes),
                // A copy of a file that was in use.
                Stop::Flaw(_) if position == length => {
                    close(&self.directory.env, &file, number, length, header.server_id)?;
                    Ok(Found::Goes)
                }
                // The file of a server that is gone: what follows was never acknowledged.
                Stop::Flaw(at) if in_use && self.is_torn(&file, at, (header.after, length))? => {
                    close(
                        &self.directory.env,
                        &file,
                        number,
                        position,
                        header.server_id,
                    )?;
                    Ok(Found::Goes)
                }
                Stop::End(at) => Err(damaged(at, "something follows its last event")),
                Stop::Flaw(at) => Err(damaged(at, "there is no whole event")),
                Stop::Foreign(at, why) => Err(damaged(at, why)),
                Stop::Gap(at, _) => Err(damaged(at, "its commit is not the next one")),
            };
        }
    }

    /// Whether what is not whole at a place is of the last group, which its server was writing; the
    /// file begins behind that commit, and is so long.
    fn is_torn(&self, file: &File, at: u64, (after, length): (Seq, u64)) -> Result<bool, CutError> {
        let sequence_number = self.last.seq - after + 1;
        let later = later_group(file, at, length, sequence_number);
        later
            .map(|later| later.is_none())
            .map_err(|error| io_error(&error))
    }

    /// Whether this transaction is the first that goes.
    fn is_cut_before(&mut self, next: &GtidEvent) -> Result<bool, CutError> {
        let applied = self.files.applied;
        let seq = self.last.seq + 1;
        match self.target {
            Target::End => Ok(false),
            Target::Through(_) if self.is_there => Ok(true),
            Target::Through(gtid) if next.gtid == gtid => {
                self.is_there = true;
                match seq < applied {
                    true => Err(self.too_early()),
                    false => Ok(false),
                }
            }
            Target::Before(gtid) if next.gtid == gtid => match seq <= applied {
                true => Err(self.too_early()),
                false => Ok(true),
            },
            Target::Through(_) | Target::Before(_) => Ok(false),
            Target::Until(_) if self.last.seq < applied => Ok(false),
            Target::Until(moment) => Ok(next.committed_micros > moment),
        }
    }

    fn too_early(&self) -> CutError {
        CutError::TooEarly(CopiedCommit {
            seq: self.files.applied,
            committed_micros: 0,
        })
    }

    /// Removes the other files, and names these in the index.
    fn finish(self, present: &[u64], left: &[u64]) -> Result<Remains, CutError> {
        if self.last.seq < self.files.applied {
            return Err(CutError::NotThere(self.last));
        }
        if let Target::Until(moment) = self.target
            && self.last.seq == self.files.applied
            && self.last.committed_micros > moment
        {
            return Err(CutError::TooEarly(self.last));
        }
        let failed = |error: io::Error| io_error(&error);
        let directory = &self.directory;
        for number in present.iter().filter(|number| !left.contains(number)) {
            let path = directory.path_of(*number);
            directory.env.remove(&path).map_err(failed)?;
        }
        directory
            .write_index(left.iter().copied())
            .map_err(failed)?;
        directory.env.sync_dir(&directory.path).map_err(failed)?;
        Ok(Remains {
            last: self.last,
            source: self.source.as_ref().map(format_uuid),
            is_all: self.is_all,
        })
    }
}

fn close(env: &Env, file: &File, number: u64, end: u64, server_id: u32) -> Result<(), CutError> {
    let closed = keeper::rotate(env, file, number, end, server_id);
    closed.map(|_| ()).map_err(|error| io_error(&error))
}

fn io_error(error: &io::Error) -> CutError {
    CutError::Failed(format!("the binary logs: {error}"))
}
