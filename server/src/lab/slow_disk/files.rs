//! The file system: everything is done to files of a directory, and syncs are answered later.
//!
//! A number of an inode stands for a path below the directory. The numbers are this module's own, for
//! the kernel wants to ask for what it has been told of, whatever became of its name. A file that
//! is open stays reachable by its handle when its name is gone.

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use parking_lot::Mutex;
use rustix::fs::{CWD, FileType as NodeType, Mode, mknodat, statvfs};
use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::{self, File, Metadata, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant, SystemTime},
};

/// How long the kernel may believe what it was told: nobody else changes the files.
const BELIEVED: Duration = Duration::from_secs(1);
/// The directory itself.
const ROOT: u64 = 1;
/// In `mode`: which kind of node is to be made, and a socket.
const KIND: u32 = 0o170_000;
const SOCKET: u32 = 0o140_000;

/// The files of a directory.
pub struct Files {
    root: PathBuf,
    delay: Duration,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Paths below the directory, by number.
    paths: HashMap<u64, PathBuf>,
    numbers: HashMap<PathBuf, u64>,
    /// Open files, with their inode's number.
    open: HashMap<u64, (u64, Arc<File>)>,
    last: u64,
}

impl Known {
    fn number(&mut self, path: &Path) -> u64 {
        if let Some(number) = self.numbers.get(path) {
            return *number;
        }
        self.last += 1;
        self.paths.insert(self.last, path.to_owned());
        self.numbers.insert(path.to_owned(), self.last);
        self.last
    }

    /// A name is gone; who has its number may still have it open.
    fn forget(&mut self, path: &Path) {
        if let Some(number) = self.numbers.remove(path) {
            self.paths.remove(&number);
        }
    }

    /// A name, and all below it, is another one.
    fn rename(&mut self, from: &Path, to: &Path) {
        self.forget(to);
        let moved: Vec<(PathBuf, u64)> = self
            .numbers
            .iter()
            .filter(|(path, _)| path.starts_with(from))
            .map(|(path, number)| (path.clone(), *number))
            .collect();
        for (path, number) in moved {
            let below = path.strip_prefix(from).unwrap_or(Path::new(""));
            let new = match below.as_os_str().is_empty() {
                true => to.to_owned(),
                false => to.join(below),
            };
            self.numbers.remove(&path);
            self.paths.insert(number, new.clone());
            self.numbers.insert(new, number);
        }
    }

    fn open(&mut self, number: u64, file: File) -> u64 {
        self.last += 1;
        self.open.insert(self.last, (number, Arc::new(file)));
        self.last
    }
}

impl Files {
    /// Those of a directory, with syncs that take so much longer.
    pub fn of(directory: &Path, delay: Duration) -> Files {
        let mut known = Known::default();
        known.number(directory);
        Files {
            root: directory.to_owned(),
            delay,
            known: Mutex::new(known),
        }
    }

    fn path(&self, number: INodeNo) -> io::Result<PathBuf> {
        let known = self.known.lock();
        let path = known.paths.get(&number.0).cloned();
        path.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn child(&self, parent: INodeNo, name: &OsStr) -> io::Result<PathBuf> {
        Ok(self.path(parent)?.join(name))
    }

    fn file(&self, handle: FileHandle) -> io::Result<Arc<File>> {
        let known = self.known.lock();
        let found = known.open.get(&handle.0).map(|(_, file)| Arc::clone(file));
        found.ok_or_else(|| io::Error::from(rustix::io::Errno::BADF))
    }

    /// By its name, or by a handle if that is gone.
    fn attributes(&self, number: INodeNo) -> io::Result<FileAttr> {
        let by_name = self.path(number).and_then(fs::symlink_metadata);
        let found = by_name.or_else(|error| {
            let known = self.known.lock();
            let mut open = known.open.values();
            let file = open
                .find(|(of, _)| *of == number.0)
                .map(|(_, file)| Arc::clone(file));
            drop(known);
            file.map_or(Err(error), |file| file.metadata())
        })?;
        attributes(number.0, &found)
    }

    fn entry(&self, path: &Path) -> io::Result<FileAttr> {
        let metadata = fs::symlink_metadata(path)?;
        attributes(self.known.lock().number(path), &metadata)
    }
}

fn attributes(number: u64, of: &Metadata) -> io::Result<FileAttr> {
    let time = |seconds: i64, nanos: i64| {
        let whole = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        SystemTime::UNIX_EPOCH + whole + Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
    };
    let kind = FileType::from_std(of.file_type()).ok_or(io::ErrorKind::Unsupported)?;
    Ok(FileAttr {
        ino: INodeNo(number),
        size: of.size(),
        blocks: of.blocks(),
        atime: time(of.atime(), of.atime_nsec()),
        mtime: time(of.mtime(), of.mtime_nsec()),
        ctime: time(of.ctime(), of.ctime_nsec()),
        crtime: time(of.ctime(), of.ctime_nsec()),
        kind,
        perm: (of.mode() & 0o7777) as u16,
        nlink: u32::try_from(of.nlink()).unwrap_or(u32::MAX),
        uid: of.uid(),
        gid: of.gid(),
        rdev: u32::try_from(of.rdev()).unwrap_or(0),
        blksize: 4096,
        flags: 0,
    })
}

/// How a file is opened here: the kernel has checked what may be done, and gives offsets with each
/// write, so that only what becomes of the contents matters.
fn how(flags: i32) -> OpenOptions {
    let flags = rustix::fs::OFlags::from_bits_retain(flags.cast_unsigned());
    let mut options = OpenOptions::new();
    let writes = flags.intersects(rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::RDWR);
    options.read(true).write(writes);
    options.truncate(writes && flags.contains(rustix::fs::OFlags::TRUNC));
    options
}

fn answer(done: io::Result<()>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error.into()),
    }
}

fn answer_entry(found: io::Result<FileAttr>, reply: ReplyEntry) {
    match found {
        Ok(attributes) => reply.entry(&BELIEVED, &attributes, Generation(0)),
        Err(error) => reply.error(error.into()),
    }
}

impl Filesystem for Files {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.child(parent, name).and_then(|path| self.entry(&path));
        answer_entry(found, reply);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number) {
            Ok(attributes) => reply.attr(&BELIEVED, &attributes),
            Err(error) => reply.error(error.into()),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = || -> io::Result<FileAttr> {
            if let Some(mode) = mode {
                let permissions = fs::Permissions::from_mode(mode & 0o7777);
                fs::set_permissions(self.path(number)?, permissions)?;
            }
            if let Some(size) = size {
                match handle {
                    Some(handle) => self.file(handle)?.set_len(size)?,
                    None => File::options()
                        .write(true)
                        .open(self.path(number)?)?
                        .set_len(size)?,
                }
            }
            self.attributes(number)
        };
        match change() {
            Ok(attributes) => reply.attr(&BELIEVED, &attributes),
            Err(error) => reply.error(error.into()),
        }
    }

    /// Sockets; files are made by `create`.
    fn mknod(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        if mode & KIND != SOCKET {
            reply.error(Errno::EPERM);
            return;
        }
        let made = self.child(parent, name).and_then(|path| {
            let mode = Mode::from_raw_mode(mode & !umask & 0o7777);
            mknodat(CWD, &path, NodeType::Socket, mode, 0)?;
            self.entry(&path)
        });
        answer_entry(made, reply);
    }

    fn mkdir(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let made = self.child(parent, name).and_then(|path| {
            fs::DirBuilder::new()
                .mode(mode & !umask & 0o7777)
                .create(&path)?;
            self.entry(&path)
        });
        answer_entry(made, reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.child(parent, name).and_then(|path| {
            fs::remove_file(&path)?;
            self.known.lock().forget(&path);
            Ok(())
        });
        answer(done, reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.child(parent, name).and_then(|path| {
            fs::remove_dir(&path)?;
            self.known.lock().forget(&path);
            Ok(())
        });
        answer(done, reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if !flags.is_empty() {
            reply.error(Errno::EINVAL);
            return;
        }
        let rename = || -> io::Result<()> {
            let (from, to) = (self.child(parent, name)?, self.child(new_parent, new_name)?);
            fs::rename(&from, &to)?;
            self.known.lock().rename(&from, &to);
            Ok(())
        };
        answer(rename(), reply);
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let opened = self.path(number).and_then(|path| how(flags.0).open(path));
        match opened {
            Ok(file) => {
                let handle = self.known.lock().open(number.0, file);
                reply.opened(FileHandle(handle), FopenFlags::empty());
            }
            Err(error) => reply.error(error.into()),
        }
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let create = || -> io::Result<(FileAttr, File)> {
            let path = self.child(parent, name)?;
            let mut options = how(flags);
            // The kernel has looked that it is not there.
            options
                .write(true)
                .create(true)
                .mode(mode & !umask & 0o7777);
            let file = options.open(&path)?;
            Ok((self.entry(&path)?, file))
        };
        match create() {
            Ok((attributes, file)) => {
                let handle = self.known.lock().open(attributes.ino.0, file);
                let (handle, flags) = (FileHandle(handle), FopenFlags::empty());
                reply.created(&BELIEVED, &attributes, Generation(0), handle, flags);
            }
            Err(error) => reply.error(error.into()),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut buffer = vec![0; size as usize];
        let read = self.file(handle).and_then(|file| {
            let mut done = 0;
            while done < buffer.len() {
                match file.read_at(&mut buffer[done..], offset + done as u64)? {
                    0 => break,
                    n => done += n,
                }
            }
            Ok(done)
        });
        match read {
            Ok(n) => reply.data(&buffer[..n]),
            Err(error) => reply.error(error.into()),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let written = self
            .file(handle)
            .and_then(|file| file.write_all_at(data, offset));
        match (written, u32::try_from(data.len())) {
            (Ok(()), Ok(length)) => reply.written(length),
            (Ok(()), Err(_)) => reply.error(Errno::EINVAL),
            (Err(error), _) => reply.error(error.into()),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.known.lock().open.remove(&handle.0);
        reply.ok();
    }

    /// On a thread of its own: a slow disk takes other requests meanwhile.
    fn fsync(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        let (file, delay) = (self.file(handle), self.delay);
        thread::spawn(move || {
            let synced = file.and_then(|file| match data_only {
                true => file.sync_data(),
                false => file.sync_all(),
            });
            wait(delay);
            answer(synced, reply);
        });
    }

    fn fsyncdir(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let (path, delay) = (self.path(number), self.delay);
        thread::spawn(move || {
            let synced = path.and_then(File::open).and_then(|file| file.sync_all());
            wait(delay);
            answer(synced, reply);
        });
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let list = || -> io::Result<Vec<(u64, FileType, std::ffi::OsString)>> {
            let path = self.path(number)?;
            let mut found = vec![
                (number.0, FileType::Directory, ".".into()),
                (ROOT, FileType::Directory, "..".into()),
            ];
            for entry in fs::read_dir(&path)? {
                let entry = entry?;
                let kind =
                    FileType::from_std(entry.file_type()?).ok_or(io::ErrorKind::Unsupported)?;
                let child = self.known.lock().number(&entry.path());
                found.push((child, kind, entry.file_name()));
            }
            // Each piece of the answer is asked for by its place: they must stay where they are.
            found[2..].sort_by(|a, b| a.2.cmp(&b.2));
            Ok(found)
        };
        match list() {
            Ok(found) => {
                let rest = found
                    .into_iter()
                    .zip(1..)
                    .skip(usize::try_from(offset).unwrap_or(usize::MAX));
                for ((child, kind, name), next) in rest {
                    if reply.add(INodeNo(child), next, kind, name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(error.into()),
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        match statvfs(&self.root) {
            Ok(of) => {
                let short = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
                let (size, name) = (short(of.f_bsize), short(of.f_namemax));
                let blocks = (of.f_blocks, of.f_bfree, of.f_bavail);
                let (all, free, available) = blocks;
                reply.statfs(
                    all,
                    free,
                    available,
                    of.f_files,
                    of.f_ffree,
                    size,
                    name,
                    short(of.f_frsize),
                );
            }
            Err(error) => reply.error(io::Error::from(error).into()),
        }
    }
}

/// Sleeping alone takes longer than it should, by the kernel's slack and, where processors are busy,
/// more: what is left at the end is waited for awake.
fn wait(delay: Duration) {
    /// What a sleep may take too long.
    const SLACK: Duration = Duration::from_micros(100);
    let until = Instant::now() + delay;
    thread::sleep(delay.saturating_sub(SLACK));
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_with_names() {
        let mut known = Known::default();
        let root = known.number(Path::new("/d"));
        assert_eq!(root, ROOT);
        let a = known.number(Path::new("/d/a"));
        let below = known.number(Path::new("/d/a/x"));
        assert_eq!(known.number(Path::new("/d/a")), a);
        let b = known.number(Path::new("/d/b"));
        known.rename(Path::new("/d/a"), Path::new("/d/b"));
        assert_eq!(known.paths.get(&a), Some(&PathBuf::from("/d/b")));
        assert_eq!(known.paths.get(&below), Some(&PathBuf::from("/d/b/x")));
        assert_eq!(known.paths.get(&b), None, "it was replaced");
        known.forget(Path::new("/d/b/x"));
        assert_ne!(known.number(Path::new("/d/b/x")), below);
    }

    #[test]
    fn a_wait_is_as_long_as_it_should_be() {
        let begun = Instant::now();
        wait(Duration::from_millis(2));
        assert!(begun.elapsed() >= Duration::from_millis(2));
    }
}
