//! A directory of a backup, which is made, or goes on where it ended.
//!
//! What counts is in the manifest, which is replaced when all that it names is on the disk. What lies
//! behind it is of a run that did not come to its end: the next one goes on in its place.

use super::{
    Teller,
    manifest::{self, File as Entry, LENGTH_MAX, Manifest, NAME},
};
use cohort_engine::{
    env::Env,
    log::file_number,
    txn::backup::{Backup, FileEnd, Have},
};
use cohort_mysql::client::backup::Files;
use std::{
    fmt::Display,
    fs::{DirBuilder, File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Backups are as secret as data directories.
const DIRECTORY_MODE: u32 = 0o750;
const FILE_MODE: u32 = 0o640;

/// The file that is written.
struct Current {
    file: File,
    name: String,
    from: u64,
    /// Of the bytes that came now.
    fresh: crc32fast::Hasher,
    /// Of all, if there were some before.
    all: Option<crc32fast::Hasher>,
}

/// A directory that is written to.
pub struct Archive {
    path: PathBuf,
    pub manifest: Manifest,
    current: Option<Current>,
    teller: Teller,
}

/// The manifest of a directory; `None`: there is none.
pub fn manifest_of(path: &Path) -> Result<Option<Manifest>, String> {
    let file = path.join(NAME);
    if !file.exists() {
        return Ok(None);
    }
    let bytes = Env::real().read(&file, LENGTH_MAX);
    let bytes = bytes.map_err(|error| format!("{}: {error}", file.display()))?;
    let manifest = Manifest::decode(&bytes).map_err(|error| wrong(path, &error))?;
    Ok(Some(manifest))
}

fn wrong(path: &Path, error: &dyn Display) -> String {
    format!("{}: {error}", path.display())
}

impl Archive {
    /// Begins a new one.
    pub fn create(path: &Path) -> Result<Archive, String> {
        let made = DirBuilder::new()
            .recursive(true)
            .mode(DIRECTORY_MODE)
            .create(path);
        let mut entries = made
            .and_then(|()| path.read_dir())
            .map_err(|error| wrong(path, &error))?;
        if entries.next().is_some() {
            return Err(format!(
                "{} is not empty: name another directory, one for each backup (--logs-only adds the \
                 log to one that is there)",
                path.display()
            ));
        }
        Ok(Archive {
            path: path.to_owned(),
            manifest: Manifest::new(Env::real().wall_micros()),
            current: None,
            teller: Teller::new("copied"),
        })
    }
    /// Goes on in one, or begins a new one.
    pub fn open(path: &Path) -> Result<Archive, String> {
        let manifest = if path.is_dir() {
            manifest_of(path)?
        } else {
            None
        };
        let Some(manifest) = manifest else {
            return Archive::create(path).or_else(|error| Archive::open_unfinished(path, error));
        };
        Ok(Archive {
            path: path.to_owned(),
            manifest,
            current: None,
            teller: Teller::new("copied"),
        })
    }
    /// One whose first run did not come to its end: if there are only files of the log in it, they
    /// are copied again.
    fn open_unfinished(path: &Path, error: String) -> Result<Archive, String> {
        let entries = path.read_dir().map_err(|error| wrong(path, &error))?;
        let names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        if !names.iter().all(|name| manifest::is_log(name)) {
            return Err(error);
        }
        Ok(Archive {
            path: path.to_owned(),
            manifest: Manifest::new(Env::real().wall_micros()),
            current: None,
            teller: Teller::new("copied"),
        })
    }
    /// Where the log goes on: in its first file that was not whole, or else behind its last one.
    pub fn have(&self) -> Option<Have> {
        let logs = || {
            let files = self.manifest.files.iter();
            files.filter(|file| manifest::is_log(&file.name))
        };
        let file = logs()
            .find(|file| !file.is_whole)
            .or_else(|| logs().next_back())?;
        Some(Have {
            file: file_number(&file.name)?,
            length: file.length,
            crc32: file.crc32,
        })
    }
    /// All that was sent is here: makes it count.
    pub fn finish(mut self, backup: Backup) -> Result<Manifest, String> {
        self.manifest.complete(backup);
        let bytes = self.manifest.encode()?;
        let env = Env::real();
        env.sync_dir(&self.path)
            .and_then(|()| env.replace(&self.path.join(NAME), &bytes))
            .map_err(|error| wrong(&self.path, &error))?;
        Ok(self.manifest)
    }
}

impl Files for Archive {
    fn begin(&mut self, name: &str, from: u64, _: Option<u64>) -> Result<(), String> {
        if !manifest::is_ours(name) {
            return Err(format!("the server sends a file of the name {name}"));
        }
        let failed = |error: std::io::Error| wrong(&self.path.join(name), &error);
        let known = self.manifest.files.iter().find(|file| file.name == name);
        let all = match known {
            _ if from == 0 => None,
            Some(known) if known.length == from => {
                Some(crc32fast::Hasher::new_with_initial_len(known.crc32, from))
            }
            _ => {
                return Err(format!(
                    "the server sends the rest of {name}, which is not here"
                ));
            }
        };
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE);
        let mut file = options.open(self.path.join(name)).map_err(failed)?;
        file.set_len(from).map_err(failed)?;
        file.seek(SeekFrom::Start(from)).map_err(failed)?;
        self.current = Some(Current {
            file,
            name: name.to_owned(),
            from,
            fresh: crc32fast::Hasher::new(),
            all,
        });
        Ok(())
    }
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        let current = self
            .current
            .as_mut()
            .ok_or("the server sends bytes of no file")?;
        let written = current.file.write_all(bytes);
        written.map_err(|error| wrong(&self.path.join(&current.name), &error))?;
        current.fresh.update(bytes);
        if let Some(all) = &mut current.all {
            all.update(bytes);
        }
        self.teller.more(bytes.len());
        Ok(())
    }
    fn end(&mut self, end: FileEnd) -> Result<(), String> {
        let current = self.current.take().ok_or("the server ends no file")?;
        current
            .file
            .sync_all()
            .map_err(|error| wrong(&self.path.join(&current.name), &error))?;
        let length = current.from + self.sent(&current)?;
        let fresh = current.fresh.finalize();
        if length != end.length || fresh != end.crc32 {
            return Err(format!("{} has not arrived as it was sent", current.name));
        }
        self.manifest.put(Entry {
            name: current.name,
            length,
            crc32: current.all.map_or(fresh, crc32fast::Hasher::finalize),
            is_whole: end.is_whole,
        });
        Ok(())
    }
}

impl Archive {
    fn sent(&self, current: &Current) -> Result<u64, String> {
        let length = current.file.metadata().map(|metadata| metadata.len());
        let length = length.map_err(|error| wrong(&self.path.join(&current.name), &error))?;
        Ok(length - current.from)
    }
}
