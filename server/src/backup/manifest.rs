//! `backup.json`: what a backup is of, and what belongs to it.

use cohort_engine::{
    log::{CopiedCommit, file_name, file_number},
    txn::backup::{Backup, PART_PREFIX},
};
use serde::{Deserialize, Serialize};

/// Its name. As it is written last, a backup without it has not come to its end.
pub const NAME: &str = "backup.json";
/// No larger one is read, in bytes.
pub const LENGTH_MAX: usize = 64 << 20;
const FORMAT: u32 = 1;
/// What SET PERSIST keeps.
const PERSISTED: &str = "mysqld-auto.cnf";

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub length: u64,
    /// Of its bytes.
    pub crc32: u32,
    /// Nothing more comes behind it: not so of a file of the log that was still written to.
    pub is_whole: bool,
}

/// What a backup is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    format: u32,
    /// server_uuid: the source of the GTIDs.
    pub server_uuid: String,
    /// The server's version.
    pub server_version: String,
    /// The base's last commit; none: there is no base, only the log.
    pub base_commit: Option<u64>,
    /// The last commit.
    pub last_commit: u64,
    /// When that was made, in microseconds since 1970.
    pub last_commit_micros: u64,
    /// When the backup was begun, in microseconds since 1970.
    pub begun_micros: u64,
    /// The files, in the order in which they are read.
    pub files: Vec<File>,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    /// Of the JSON of what follows, without white space.
    crc32: u32,
    backup: Manifest,
}

impl Manifest {
    /// Of a backup that has no files yet.
    pub fn new(begun_micros: u64) -> Manifest {
        Manifest {
            format: FORMAT,
            server_uuid: String::new(),
            server_version: String::new(),
            base_commit: None,
            last_commit: 0,
            last_commit_micros: 0,
            begun_micros,
            files: Vec::new(),
        }
    }
    /// Adds a file, or notes how it is now.
    pub fn put(&mut self, file: File) {
        match self.files.iter_mut().find(|other| other.name == file.name) {
            Some(other) => *other = file,
            None => self.files.push(file),
        }
    }
    /// All files of this backup are here.
    pub fn complete(&mut self, backup: Backup) {
        self.server_uuid = backup.server_uuid;
        self.server_version = backup.server_version;
        self.base_commit = backup.applied.or(self.base_commit);
        if let Some(last) = backup.last {
            self.last_commit = last.seq;
            self.last_commit_micros = last.committed_micros;
        }
        // A base may have all commits there are, and the log none behind it.
        self.last_commit = self.last_commit.max(self.base_commit.unwrap_or(0));
    }
    /// The last commit.
    pub fn last(&self) -> CopiedCommit {
        CopiedCommit {
            seq: self.last_commit,
            committed_micros: self.last_commit_micros,
        }
    }
    /// The file's bytes.
    pub fn encode(&self) -> Result<Vec<u8>, String> {
        let failed = |error: serde_json::Error| format!("{NAME}: {error}");
        let sealed = Sealed {
            crc32: crc32fast::hash(&serde_json::to_vec(self).map_err(failed)?),
            backup: self.clone(),
        };
        let mut bytes = serde_json::to_vec_pretty(&sealed).map_err(failed)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
    /// What the file's bytes say, if each of them is as it was written.
    pub fn decode(bytes: &[u8]) -> Result<Manifest, String> {
        let damaged = || format!("{NAME} is damaged");
        let Sealed { backup, .. } = serde_json::from_slice(bytes).map_err(|_| damaged())?;
        if backup.format != FORMAT {
            return Err(format!(
                "{NAME} has format {}, this program knows {FORMAT}: use the program that wrote it",
                backup.format
            ));
        }
        let is_as_written = backup.encode().is_ok_and(|written| written == bytes);
        let names = backup.files.iter().all(|file| is_ours(&file.name));
        (is_as_written && names)
            .then_some(backup)
            .ok_or_else(damaged)
    }
}

/// Whether a file of a backup may have this name.
pub fn is_ours(name: &str) -> bool {
    is_part(name) || is_log(name) || name == PERSISTED
}

/// Whether it is the name of a file of the log.
pub fn is_log(name: &str) -> bool {
    file_number(name).is_some_and(|number| file_name(number) == name)
}

/// Whether it is the name of a part of the base.
pub fn is_part(name: &str) -> bool {
    let digits = name.strip_prefix(PART_PREFIX).unwrap_or_default();
    digits.len() >= 6 && digits.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_again_and_any_other_byte_is_found() {
        let mut manifest = Manifest::new(7);
        for name in ["base.000001", "binlog.000009"] {
            manifest.files.push(File {
                name: name.to_owned(),
                length: 5,
                crc32: 6,
                is_whole: true,
            });
        }
        let bytes = manifest.encode().unwrap();
        assert_eq!(Manifest::decode(&bytes), Ok(manifest));
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[at] ^= 1 << bit;
                assert!(Manifest::decode(&other).is_err(), "{at}, {bit}");
            }
            assert!(Manifest::decode(&bytes[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn names() {
        for name in [
            "base.000001",
            "base.1000000",
            "binlog.000017",
            "mysqld-auto.cnf",
        ] {
            assert!(is_ours(name), "{name}");
        }
        for name in [
            "../binlog.000017",
            "base.",
            "base.00000x",
            "binlog./binlog.000017",
            "binlog.index",
        ] {
            assert!(!is_ours(name), "{name}");
        }
    }
}
