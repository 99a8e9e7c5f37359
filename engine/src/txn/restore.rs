//! Making a data directory of a backup, and of logs from after it.
//!
//! 1. [`begin`] takes an empty directory and leaves a note in it, by which a start knows that the
//!    directory is not whole;
//! 2. [`load`] makes the Base;
//! 3. the caller puts the files of the log beside it;
//! 4. [`finish`] cuts them at the wanted transaction, replays them as a start does after a crash,
//!    makes a checkpoint, and removes the note.
//!
//! The transactions keep their GTIDs. The first start makes another UUID, unless this one is to keep
//! the one it had: what the other server has committed, or will commit, behind the cut has other GTIDs
//! then than what is committed here.

use super::{
    TxnError,
    dictionary::Dictionary,
    engine::{Engine, EngineOptions},
    error::OpenError,
    meta,
    recover::{self, BASE_FILE, UNFINISHED, UUID_FILE},
};
use crate::{
    Seq,
    env::{Env, fake::Disk},
    log::{CopiedCommit, CutError, CutFiles, Progress, Remains, Target, cut},
    store::{
        base::Base,
        dump::{Load, LoadError},
    },
};
use std::path::Path;

pub use super::recover::{Converted, Rebuild};

/// Why nothing was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreError {
    /// The directory is not empty.
    NotEmpty,
    /// The next part of the Base could not be had.
    Source(String),
    /// A part of the Base is none.
    Part(String),
    /// The logs could not be cut there. The Base has the commits up to this one.
    Cut(CutError, Seq),
    /// The rest; the text says what.
    Failed(String),
}

impl From<OpenError> for RestoreError {
    fn from(error: OpenError) -> RestoreError {
        RestoreError::Failed(error.0)
    }
}

fn failed(error: &dyn std::fmt::Display) -> RestoreError {
    RestoreError::Failed(error.to_string())
}

/// Begins a directory, which must be empty or not be there.
///
/// # Errors
/// It is not empty, or cannot be written to.
pub fn begin(env: &Env, dir: &Path) -> Result<(), RestoreError> {
    env.create_dir(dir).map_err(|error| failed(&error))?;
    if !env.list(dir).map_err(|error| failed(&error))?.is_empty() {
        return Err(RestoreError::NotEmpty);
    }
    let note = b"An unfinished restore: remove the directory and restore again.\n";
    env.replace(&dir.join(UNFINISHED), note)
        .map_err(|error| failed(&error))
}

/// Makes the Base of its parts; `next` gives one after another, and then `None`.
///
/// # Errors
/// The parts are not those of a Base, or it cannot be written.
pub fn load(
    env: &Env,
    dir: &Path,
    next: &mut dyn FnMut() -> Result<Option<Vec<u8>>, String>,
) -> Result<(), RestoreError> {
    let mut refused = None;
    let made = recover::new_base(env, dir, |base| {
        let mut load = Load::begin(base)?;
        loop {
            let part = match next() {
                Ok(Some(part)) => part,
                Ok(None) => break,
                Err(why) => {
                    refused = Some(RestoreError::Source(why));
                    return Err(TxnError::Killed);
                }
            };
            match load.part(&part) {
                Ok(()) => {}
                Err(LoadError::Part(bad)) => {
                    refused = Some(RestoreError::Part(bad.0));
                    return Err(TxnError::Killed);
                }
                Err(LoadError::Store(error)) => return Err(error.into()),
            }
        }
        Ok(load.commit()?)
    });
    match refused {
        Some(refused) => Err(refused),
        None => Ok(made?),
    }
}

/// What was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The last commit.
    pub last: CopiedCommit,
    /// The logs have no later ones.
    pub is_all: bool,
    /// How many prepared transactions (XA) wait for their end.
    pub prepared: usize,
}

/// What a directory is to become.
pub struct Plan<'a> {
    /// The last transaction that is to be there.
    pub target: Target,
    /// The server's UUID; `None`: a new one, which its first start makes.
    pub server_uuid: Option<&'a str>,
    /// How the engine is opened.
    pub options: EngineOptions,
    /// Who knows what statements make of rows.
    pub rebuild: &'a mut dyn Rebuild,
}

/// Cuts the log, replays it, and makes the directory one that a server can start on.
///
/// # Errors
/// The target is not there, or something is damaged or missing.
pub fn finish(
    env: &Env,
    dir: &Path,
    plan: Plan<'_>,
    read: &mut dyn FnMut(u64),
    progress: &mut dyn FnMut(Progress),
) -> Result<Restored, RestoreError> {
    let header = {
        let path = dir.join(BASE_FILE);
        let base = Base::open(env, &path, plan.options.base_cache_bytes);
        let snapshot = base.and_then(|base| base.snapshot());
        let snapshot = snapshot.map_err(|error| failed(&error))?;
        meta::read(&snapshot)
            .map_err(|error| failed(&error))?
            .header
    };
    let files = CutFiles {
        first: header.position.file.max(1),
        applied: header.applied,
    };
    let remains = cut(env, dir, files, plan.target, read);
    let Remains {
        last,
        source,
        is_all,
    } = remains.map_err(|error| RestoreError::Cut(error, header.applied))?;
    // The log is replayed as that of its last server. Another one has a file of its own in it.
    let source = source.unwrap_or(header.log_source);
    recover::write_uuid(env, dir, plan.server_uuid.unwrap_or(&source))?;
    let engine = Engine::open_with(env, dir, plan.options, Some(plan.rebuild), progress)?;
    if engine.log().visible() != last.seq {
        let replayed = engine.log().visible();
        return Err(RestoreError::Failed(format!(
            "commit {replayed} was replayed last, not {}",
            last.seq
        )));
    }
    let prepared = engine.prepared().len();
    engine.close().map_err(|error| failed(&error))?;
    if plan.server_uuid.is_none() {
        env.remove(&dir.join(UUID_FILE))
            .map_err(|error| failed(&error))?;
    }
    env.remove(&dir.join(UNFINISHED))
        .map_err(|error| failed(&error))?;
    env.sync_dir(dir).map_err(|error| failed(&error))?;
    Ok(Restored {
        last,
        is_all,
        prepared,
    })
}

/// An engine in memory that has these definitions, and no rows: to work out on it what a statement
/// makes of them.
///
/// # Errors
/// It cannot be made.
pub fn definitions_only(definitions: &Dictionary) -> Result<Engine, TxnError> {
    let env = Disk::new(0).env();
    let dir = Path::new("/definitions");
    let failed = |error: OpenError| TxnError::Storage(error.0);
    env.create_dir(dir)
        .map_err(|error| TxnError::Storage(error.to_string()))?;
    let made = recover::new_base(&env, dir, |base| {
        let write = base.write()?;
        let header = meta::Header {
            format: meta::FORMAT,
            next_id: definitions.next_id(),
            ..meta::Header::default()
        };
        meta::write_header(&write, &header)?;
        meta::write_dictionary(&write, definitions)?;
        Ok(write.commit()?)
    });
    made.map_err(failed)?;
    let options = EngineOptions {
        inline: true,
        base_cache_bytes: 1 << 20,
        log_preallocate_bytes: 1 << 12,
        ..EngineOptions::default()
    };
    Engine::open(&env, dir, options, &mut |_| {}).map_err(failed)
}
