//! Giving the Base's free space back to the disk.
//!
//! Rows that are deleted, and old versions that a long snapshot has kept, leave free pages in the
//! Base. They are used again, but the file never becomes shorter. So all that is in it is written
//! to a new file, which then takes its name.

use super::{
    engine::EngineOptions,
    error::OpenError,
    meta,
    recover::{BASE_FILE, lock_directory, new_base},
    reshaping::copied_trees,
};
use crate::{
    env::{Env, Mode},
    store::base::Base,
};
use std::path::Path;

/// The length of the Base in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Compacted {
    /// Before.
    pub before: u64,
    /// Now.
    pub after: u64,
}

/// Makes the Base of a data directory, which no server may be using, as short as it can be. What
/// is only in the log stays there. `progress` hears how many trees are done, and how many there
/// are. After a crash or an error the directory is as it was.
pub fn compact(
    env: &Env,
    dir: &Path,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Compacted, OpenError> {
    let _lock = lock_directory(env, dir)?;
    let path = dir.join(BASE_FILE);
    let failed = |error: &dyn std::fmt::Display| OpenError(format!("{}: {error}", path.display()));
    let length = || {
        let length = env.open(&path, Mode::Existing).and_then(|file| file.len());
        length.map_err(|error| failed(&error))
    };
    let before = length()?;
    let cache_bytes = EngineOptions::default().base_cache_bytes;
    let old = Base::open(env, &path, cache_bytes).map_err(|error| failed(&error))?;
    new_base(env, dir, |new| {
        let source = old.snapshot()?;
        let trees = copied_trees(&source, &meta::read(&source)?.dictionary)?;
        let count = trees.len();
        Ok(new.fill(&source, &trees, &mut |done| progress(done, count))?)
    })?;
    drop(old);
    Ok(Compacted {
        before,
        after: length()?,
    })
}
