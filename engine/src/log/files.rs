//! The log's files: names, the index, the list of what there is, purging.

use super::{FileInfo, Position, file_name};
use crate::env::{Env, File, Mode, is_full};
use parking_lot::Mutex;
use std::{
    io,
    path::{Path, PathBuf},
};

/// The name of the index: the names of all files, one a line, as MySQL's tools read it.
pub(super) const INDEX: &str = "binlog.index";
/// An index of a million files would be smaller.
pub(super) const INDEX_MAX: usize = 64 << 20;

/// The directory of the log.
pub(super) struct Directory {
    pub(super) env: Env,
    pub(super) path: PathBuf,
}

impl Directory {
    pub(super) fn path_of(&self, number: u64) -> PathBuf {
        self.path.join(file_name(number))
    }

    pub(super) fn open(&self, number: u64, mode: Mode) -> io::Result<File> {
        self.env.open(&self.path_of(number), mode)
    }

    /// Makes the index name exactly these files, durably.
    pub(super) fn write_index(&self, numbers: impl Iterator<Item = u64>) -> io::Result<()> {
        let lines: String = numbers.map(|n| format!("./{}\n", file_name(n))).collect();
        self.env.replace(&self.path.join(INDEX), lines.as_bytes())
    }

    /// The numbers of the files that are there, sorted.
    pub(super) fn present(&self) -> io::Result<Vec<u64>> {
        let names = self.env.list(&self.path)?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| file_number(name)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// The number of a file with this name (`binlog.000017`, perhaps after a directory).
#[must_use]
pub fn file_number(name: &str) -> Option<u64> {
    let name = Path::new(name).file_name()?.to_str()?;
    let digits = name.strip_prefix("binlog.")?;
    let number = digits.parse().ok().filter(|&number| number > 0)?;
    (file_name(number) == name).then_some(number)
}

/// The numbers an index names, if it is one: each one more than the one before.
pub(super) fn parse_index(contents: &[u8]) -> Option<Vec<u64>> {
    let text = std::str::from_utf8(contents).ok()?;
    let mut numbers: Vec<u64> = Vec::new();
    for line in text.lines() {
        let number = file_number(line)?;
        if numbers.last().is_some_and(|&last| number != last + 1) {
            return None;
        }
        numbers.push(number);
    }
    Some(numbers)
}

struct List {
    /// Files that were begun, oldest first; the last one is written to.
    begun: Vec<FileInfo>,
    /// A file that is prepared and named in the index, but not begun.
    prepared: Option<u64>,
    floor: Position,
    /// The files that are followed, each as often as by somebody.
    followed: Vec<u64>,
}

impl List {
    fn has(&self, number: u64) -> bool {
        self.begun.iter().any(|file| file.number == number)
    }

    /// Makes the index name the files there are, but for the first ones.
    fn write_index(&self, directory: &Directory, without: usize) -> io::Result<()> {
        let kept = self.begun.iter().skip(without).map(|file| file.number);
        directory.write_index(kept.chain(self.prepared))
    }

    /// Removes the first file, which somebody may have done already.
    fn remove_first(&mut self, directory: &Directory) -> io::Result<()> {
        let file = self.begun.remove(0);
        match directory.env.remove(&directory.path_of(file.number)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

/// What files there are. The lock is held while the index is written: whoever changes the list
/// changes the index first.
pub(super) struct Files(Mutex<List>);

impl Files {
    pub(super) fn new(begun: Vec<FileInfo>, floor: Position) -> Files {
        Files(Mutex::new(List {
            begun,
            prepared: None,
            floor,
            followed: Vec::new(),
        }))
    }

    pub(super) fn all(&self) -> Vec<FileInfo> {
        self.0.lock().begun.clone()
    }

    pub(super) fn set_floor(&self, floor: Position) {
        self.0.lock().floor = floor;
    }

    pub(super) fn set_size(&self, number: u64, size: u64) {
        let mut list = self.0.lock();
        if let Some(file) = list.begun.iter_mut().find(|f| f.number == number) {
            file.size = size;
        }
    }

    /// Names a file in the index that is about to be used.
    pub(super) fn prepare(&self, number: u64, directory: &Directory) -> io::Result<()> {
        let mut list = self.0.lock();
        let begun = list.begun.iter().map(|file| file.number);
        directory.write_index(begun.chain([number]))?;
        list.prepared = Some(number);
        Ok(())
    }

    /// Somebody follows a file; false if it is not there.
    pub(super) fn follow(&self, number: u64) -> bool {
        let mut list = self.0.lock();
        let is_there = list.has(number);
        if is_there {
            list.followed.push(number);
        }
        is_there
    }

    /// Whether a file is there; while files are being purged, that is awaited.
    pub(super) fn has(&self, number: u64) -> bool {
        self.0.lock().has(number)
    }

    /// Somebody has ceased to.
    pub(super) fn cease(&self, number: u64) {
        let followed = &mut self.0.lock().followed;
        let at = followed.iter().position(|followed| *followed == number);
        debug_assert!(at.is_some(), "who ceases has followed");
        at.map(|at| followed.swap_remove(at));
    }

    /// The length of a file that was begun.
    pub(super) fn size(&self, number: u64) -> Option<u64> {
        let list = self.0.lock();
        let file = list.begun.iter().find(|file| file.number == number)?;
        Some(file.size)
    }

    /// A prepared file is begun.
    pub(super) fn begin(&self, file: FileInfo) {
        let mut list = self.0.lock();
        list.prepared = None;
        list.begun.push(file);
    }

    /// Removes the files before the first one that `keep` wants or somebody follows, as far as
    /// recovery can do without them; returns how many. `keep` is told a file and when the next one
    /// was begun.
    pub(super) fn purge(
        &self,
        directory: &Directory,
        keep: impl Fn(&FileInfo, u64) -> bool,
    ) -> io::Result<usize> {
        let mut list = self.0.lock();
        let pairs = list.begun.iter().zip(list.begun.iter().skip(1));
        let first_followed = list.followed.iter().min().copied();
        let floor = list.floor.file.min(first_followed.unwrap_or(u64::MAX));
        let count = pairs
            .take_while(|(file, next)| file.number < floor && !keep(file, next.created))
            .count();
        if count == 0 {
            return Ok(0);
        }
        // First the index: a crash then leaves files that nobody names, which recovery removes,
        // and never names without files.
        let mut gone = 0;
        while let Err(error) = list.write_index(directory, count - gone) {
            if !is_full(&error) || gone == count {
                return Err(error);
            }
            // A full disk has no room for an index. The first file makes some; recovery, which
            // does not need it, does not miss it either.
            list.remove_first(directory)?;
            directory.env.sync_dir(&directory.path)?;
            gone += 1;
        }
        for _ in gone..count {
            list.remove_first(directory)?;
        }
        directory.env.sync_dir(&directory.path)?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(file_number("binlog.000017"), Some(17));
        assert_eq!(file_number("./binlog.000001"), Some(1));
        assert_eq!(file_number("binlog.1000000"), Some(1_000_000));
        for name in [
            "binlog.17",
            "binlog.000000",
            "binlog.index",
            "binlog.+00001",
            "",
        ] {
            assert_eq!(file_number(name), None, "{name}");
        }
        let index = b"./binlog.000009\n./binlog.000010\n";
        assert_eq!(parse_index(index), Some(vec![9, 10]));
        assert_eq!(parse_index(b""), Some(vec![]));
        assert_eq!(parse_index(b"./binlog.000009\n./binlog.000011\n"), None);
        assert_eq!(parse_index(b"./binlog.000009\nrubbish\n"), None);
        assert_eq!(parse_index(b"\xff\n"), None);
    }
}
