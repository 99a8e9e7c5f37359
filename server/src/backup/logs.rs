//! Files of the log from after a backup, for a restore: from directories that `--logs-only` has filled,
//! and from data directories whose server is gone.

use super::{
    Teller,
    archive::manifest_of,
    manifest::{self, Manifest},
};
use cohort_engine::{
    env::Env,
    log::{Begins, Target, begins, file_name, file_number},
};
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

const PIECE: usize = 1 << 20;
const FILE_MODE: u32 = 0o640;

/// How much of a file there is. What is more comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    /// A copy of its first bytes, so many.
    Begun(u64),
    /// The file itself, with all that its server has written before it stopped.
    Own,
    /// All of it.
    Whole,
}

struct Candidate {
    path: PathBuf,
    extent: Extent,
    /// How much of the file counts, and its CRC32, if it is of a backup.
    copied: Option<(u64, u32)>,
}

/// Adds the files that are needed for the target, and that the backup does not have, or not all of, to
/// the directory that is being restored.
pub fn add(
    datadir: &Path,
    backup: &Manifest,
    directories: &[PathBuf],
    target: Target,
) -> Result<(), String> {
    let of_backup = |file: &manifest::File| Some((file_number(&file.name)?, extent_of(file)));
    let there: BTreeMap<u64, Extent> = backup.files.iter().filter_map(of_backup).collect();
    let Some(first) = there.keys().next().copied() else {
        return Err("there is no file of the log in the backup".to_owned());
    };
    let mut found: BTreeMap<u64, Candidate> = BTreeMap::new();
    for directory in directories {
        for (number, candidate) in candidates(directory)? {
            let best = found.get(&number).map(|other| other.extent);
            if best.or(there.get(&number).copied()) < Some(candidate.extent) {
                found.insert(number, candidate);
            }
        }
    }
    let env = Env::real();
    let mut teller = Teller::new("added of the logs");
    for (number, candidate) in found.range(first..) {
        let begins = begins(&env, &candidate.path)?;
        if is_wanted(&begins, target) {
            take(candidate, &datadir.join(file_name(*number)), &mut teller)?;
        }
    }
    Ok(())
}

fn extent_of(file: &manifest::File) -> Extent {
    match file.is_whole {
        true => Extent::Whole,
        false => Extent::Begun(file.length),
    }
}

/// Whether a file may have anything before the target.
fn is_wanted(begins: &Begins, target: Target) -> bool {
    match target {
        Target::End => true,
        Target::Through(gtid) | Target::Before(gtid) => !begins.executed.contains(gtid),
        Target::Until(moment) => u64::from(begins.created) * 1_000_000 <= moment,
    }
}

/// The files of the log in a directory.
fn candidates(directory: &Path) -> Result<Vec<(u64, Candidate)>, String> {
    if let Some(manifest) = manifest_of(directory)? {
        let candidate = |file: manifest::File| {
            let number = file_number(&file.name)?;
            let candidate = Candidate {
                path: directory.join(&file.name),
                extent: extent_of(&file),
                copied: Some((file.length, file.crc32)),
            };
            Some((number, candidate))
        };
        return Ok(manifest.files.into_iter().filter_map(candidate).collect());
    }
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut found = Vec::new();
    for entry in directory.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(number) = name.and_then(file_number) else {
            continue;
        };
        // One that was made ready and never begun has no header.
        let Ok(begins) = begins(&Env::real(), &path) else {
            continue;
        };
        let candidate = Candidate {
            path,
            extent: if begins.in_use {
                Extent::Own
            } else {
                Extent::Whole
            },
            copied: None,
        };
        found.push((number, candidate));
    }
    if found.is_empty() {
        return Err(format!(
            "{}: there are no binary logs, and no backup",
            directory.display()
        ));
    }
    Ok(found)
}

fn take(candidate: &Candidate, to: &Path, teller: &mut Teller) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", candidate.path.display());
    let mut file = File::open(&candidate.path).map_err(failed)?;
    let length = match candidate.copied {
        Some((length, _)) => length,
        None => file.metadata().map_err(failed)?.len(),
    };
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(FILE_MODE);
    let mut out = options.open(to).map_err(failed)?;
    let mut sum = crc32fast::Hasher::new();
    let mut buffer = vec![0; PIECE];
    let mut left = length;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let piece = &mut buffer[..wanted];
        file.read_exact(piece).map_err(failed)?;
        sum.update(piece);
        out.write_all(piece).map_err(failed)?;
        teller.more(wanted);
        left -= wanted as u64;
    }
    out.sync_all().map_err(failed)?;
    match candidate.copied {
        Some((_, crc32)) if sum.finalize() != crc32 => Err(format!(
            "{} is damaged: its checksum differs; name a directory that has a sound copy",
            candidate.path.display()
        )),
        _ => Ok(()),
    }
}
