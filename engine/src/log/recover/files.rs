//! Which files there are, what a crash left beside them, and the new one.

use super::{
    candidate::{Candidate, Found, later_group, look_at, tell_cut},
    refusal::{damage, io_error, missing},
};
use crate::{
    Seq,
    env::{File, Mode},
    log::{
        FileInfo, OpenError, Options, Position,
        event::{FileHeader, UNWRITTEN},
        file_name,
        files::{Directory, INDEX, INDEX_MAX, parse_index},
        keeper::MARGIN,
        read::Reader,
    },
    types::GtidSet,
};
use std::io;

/// The files there are, by the index; removes what a crash left beside them.
fn list(directory: &Directory, from: Position) -> Result<Vec<u64>, OpenError> {
    let env = &directory.env;
    let reading = io_error(format!("cannot read {}", directory.path.display()));
    env.create_dir(&directory.path).map_err(&reading)?;
    let present = directory.present().map_err(&reading)?;
    let index = match env.read(&directory.path.join(INDEX), INDEX_MAX) {
        Ok(contents) => contents,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(reading(error)),
    };
    let Some(mut numbers) = parse_index(&index) else {
        return Err(OpenError(format!(
            "{INDEX} is damaged; nothing was changed: write it anew with one line for each \
             binary log that is there, oldest first, like ./binlog.000001"
        )));
    };
    // Files that were removed by hand are no loss, if recovery does not need them.
    numbers.retain(|n| *n >= from.file || present.binary_search(n).is_ok());
    for &number in &numbers {
        if present.binary_search(&number).is_err() {
            return Err(missing(number));
        }
    }
    let mut removed = false;
    for &number in &present {
        if numbers.contains(&number) {
            continue;
        }
        // A purge removes names from the index first; a new file gets its name there before its
        // first commit. Anything else that is not in the index was not left by a crash.
        let purged = number < from.file && numbers.first().is_some_and(|&first| number < first);
        if !purged && has_commits(directory, number)? {
            return Err(OpenError(format!(
                "{INDEX} does not name {}, which has commits; nothing was changed: add the line \
                 ./{0} in its place, or move the file away",
                file_name(number)
            )));
        }
        let removing = io_error(format!("cannot remove {}", file_name(number)));
        env.remove(&directory.path_of(number)).map_err(removing)?;
        removed = true;
    }
    if removed {
        env.sync_dir(&directory.path).map_err(&reading)?;
    }
    Ok(numbers)
}

/// Whether a file may have durable commits.
fn has_commits(directory: &Directory, number: u64) -> Result<bool, OpenError> {
    let reading = io_error(format!("cannot read {}", file_name(number)));
    match look_at(directory, number)? {
        // The first group is written with the header: if it was torn with it, no later one is
        // there.
        Found::Unbegun(file, length) => {
            let later = later_group(&file, 0, length, 1).map_err(reading)?;
            Ok(later.is_some())
        }
        Found::Begun(found) => {
            let mut reader = Reader::new(&found.file, found.header_length, found.length);
            let next = reader.next().map_err(reading)?;
            Ok(next.is_ok())
        }
    }
}

/// The files that were begun, oldest first, one after another.
pub(super) fn candidates(
    directory: &Directory,
    from: Position,
) -> Result<Vec<Candidate>, OpenError> {
    let numbers = list(directory, from)?;
    let mut candidates: Vec<Candidate> = Vec::with_capacity(numbers.len());
    for (i, &number) in numbers.iter().enumerate() {
        if candidates
            .last()
            .is_some_and(|last| last.number + 1 != number)
        {
            return Err(missing(number - 1));
        }
        match look_at(directory, number)? {
            Found::Begun(candidate) => candidates.push(candidate),
            Found::Unbegun(_, length) if length < MARGIN => {
                let why = "the file is shorter than it was made";
                return Err(damage(number, length, why));
            }
            Found::Unbegun(..) => {
                let unbegun = numbers.get(i..).unwrap_or_default();
                let earlier = candidates.iter().map(|candidate| candidate.number);
                drop_unbegun(directory, unbegun, earlier)?;
                break;
            }
        }
    }
    Ok(candidates)
}

/// Removes the last files, which have no commits. The last one may have been prepared and not
/// begun. The one before it may have been begun without a commit, and its header lost: that
/// becomes durable with its first commit, or before the next file is begun.
fn drop_unbegun(
    directory: &Directory,
    unbegun: &[u64],
    earlier: impl Iterator<Item = u64>,
) -> Result<(), OpenError> {
    for &number in unbegun {
        let found = look_at(directory, number)?;
        if matches!(found, Found::Begun(_)) || has_commits(directory, number)? {
            let first = unbegun.first().copied().unwrap_or(number);
            let why = "its header is not whole, but there are later commits";
            return Err(damage(first, 0, why));
        }
        if let Found::Unbegun(file, length) = found {
            tell_cut(&directory.env, &file, number, 0, length)?;
        }
    }
    let removing = io_error("cannot remove a file that was not begun");
    directory.write_index(earlier).map_err(&removing)?;
    for &number in unbegun {
        let path = directory.path_of(number);
        directory.env.remove(&path).map_err(&removing)?;
    }
    directory.env.sync_dir(&directory.path).map_err(&removing)
}

/// The file a log goes on with.
pub(in crate::log) struct Begun {
    pub(in crate::log) info: FileInfo,
    pub(in crate::log) file: File,
    pub(in crate::log) position: u64,
    pub(in crate::log) length: u64,
}

/// Begins a file, durably, and names it in the index.
pub(in crate::log) fn begin(
    directory: &Directory,
    options: &Options,
    number: u64,
    (after, executed): (Seq, GtidSet),
    before: &[FileInfo],
) -> Result<Begun, OpenError> {
    let beginning = io_error(format!("cannot begin {}", file_name(number)));
    let created = (directory.env.wall_micros() / 1_000_000) as u32;
    let mut header = FileHeader {
        server_version: options.server_version.clone(),
        server_id: options.server_id,
        created,
        startup: true,
        source: options.server_uuid,
        after,
        executed,
    }
    .encode();
    let position = header.len() as u64;
    header.extend_from_slice(&UNWRITTEN);
    let file = directory
        .open(number, Mode::CreateNew)
        .map_err(&beginning)?;
    file.write_at(&header, 0).map_err(&beginning)?;
    let length = position + MARGIN;
    file.set_len(length).map_err(&beginning)?;
    file.sync_data().map_err(&beginning)?;
    directory
        .env
        .sync_dir(&directory.path)
        .map_err(&beginning)?;
    let numbers = before.iter().map(|file| file.number).chain([number]);
    directory.write_index(numbers).map_err(&beginning)?;
    let info = FileInfo {
        number,
        size: position,
        after,
        created: u64::from(created),
    };
    Ok(Begun {
        info,
        file,
        position,
        length,
    })
}
