//! Reading a backup: a directory or an archive, file after file, each checked.

use super::{
    Teller,
    archive::manifest_of,
    manifest::{self, File as Entry, LENGTH_MAX, Manifest, NAME},
    tar,
};
use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

/// So much is read at once.
const PIECE: usize = 1 << 20;
/// A part of the base is no longer: what is in it but the last entry, and that.
const PART_MAX: u64 = 6 << 30;

/// Where a backup's bytes come from.
enum From {
    Directory(PathBuf, Manifest, std::vec::IntoIter<Entry>),
    Archive(Box<dyn Read>),
}

/// A backup that is read, in the order in which it was written.
pub struct Source {
    from: From,
    /// What was read, with the sums that it really has.
    seen: Vec<Entry>,
    /// The manifest, once it is known.
    manifest: Option<Manifest>,
    /// The file that is about to be read, and how long it is.
    next: Option<(String, u64)>,
    teller: Teller,
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

impl Source {
    /// Opens one; `-` is the standard input.
    pub fn open(path: &Path, what: &'static str) -> Result<Source, String> {
        let from = if path.is_dir() {
            let manifest = manifest_of(path)?.ok_or_else(|| {
                failed(
                    path,
                    &format!("there is no {NAME}: this is no backup, or one that was not finished"),
                )
            })?;
            let files = manifest.files.clone().into_iter();
            From::Directory(path.to_owned(), manifest, files)
        } else if path == Path::new("-") {
            From::Archive(Box::new(BufReader::with_capacity(PIECE, io::stdin())))
        } else {
            let file = File::open(path).map_err(|error| failed(path, &error))?;
            From::Archive(Box::new(BufReader::with_capacity(PIECE, file)))
        };
        Ok(Source {
            from,
            seen: Vec::new(),
            manifest: None,
            next: None,
            teller: Teller::new(what),
        })
    }

    /// The name of the next file, which is then to be read; `None`: that was all.
    pub fn peek(&mut self) -> Result<Option<&str>, String> {
        if self.next.is_none() && self.manifest.is_none() {
            self.next = self.advance()?;
        }
        Ok(self.next.as_ref().map(|(name, _)| name.as_str()))
    }

    fn advance(&mut self) -> Result<Option<(String, u64)>, String> {
        match &mut self.from {
            From::Directory(_, manifest, files) => {
                let Some(file) = files.next() else {
                    self.manifest = Some(manifest.clone());
                    return Ok(None);
                };
                Ok(Some((file.name, file.length)))
            }
            From::Archive(input) => match tar::next(input)? {
                None => Err(format!("the archive has no {NAME}: it is of no backup")),
                Some((name, length)) if name == NAME => {
                    if length > LENGTH_MAX as u64 {
                        return Err(format!("{NAME} is damaged"));
                    }
                    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
                    let read = input.read_exact(&mut bytes);
                    read.map_err(|error| format!("cannot read the archive: {error}"))?;
                    tar::skip_padding(input, length)?;
                    if tar::next(input)?.is_some() {
                        return Err(format!("something follows {NAME} in the archive"));
                    }
                    self.manifest = Some(Manifest::decode(&bytes)?);
                    Ok(None)
                }
                Some((name, length)) if manifest::is_ours(&name) => Ok(Some((name, length))),
                Some((name, _)) => Err(format!("the archive has a file {name}")),
            },
        }
    }

    /// Reads the file that was looked at.
    pub fn read(
        &mut self,
        take: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let Some((name, length)) = self.next.take() else {
            return Err("no file was looked at".to_owned());
        };
        let sum = match &mut self.from {
            From::Directory(path, ..) => {
                let path = path.join(&name);
                let mut file = File::open(&path).map_err(|error| failed(&path, &error))?;
                let sum = copy(&mut file, length, &name, take, &mut self.teller)?;
                let is_part = manifest::is_part(&name);
                if is_part && file.read(&mut [0]).map_err(|error| failed(&path, &error))? > 0 {
                    return Err(format!("{name} is longer than it was"));
                }
                sum
            }
            From::Archive(input) => {
                let sum = copy(input, length, &name, take, &mut self.teller)?;
                tar::skip_padding(input, length)?;
                sum
            }
        };
        self.seen.push(Entry {
            name,
            length,
            crc32: sum,
            is_whole: true,
        });
        // Of a directory it is known what it should be: nothing else is used.
        self.check_last()
    }

    /// The same, at once: a part of the base.
    pub fn part(&mut self) -> Result<Vec<u8>, String> {
        let length = self.next.as_ref().map_or(0, |(_, length)| *length);
        if length > PART_MAX {
            return Err("a part of the base is too long".to_owned());
        }
        let mut part = Vec::new();
        self.read(&mut |bytes| {
            part.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(part)
    }

    fn check_last(&self) -> Result<(), String> {
        let (From::Directory(_, manifest, _), Some(seen)) = (&self.from, self.seen.last()) else {
            return Ok(());
        };
        let wanted = manifest.files.get(self.seen.len() - 1);
        match wanted.is_some_and(|wanted| wanted.crc32 == seen.crc32) {
            true => Ok(()),
            false => Err(format!("{} is damaged: its checksum differs", seen.name)),
        }
    }

    /// Everything was read: whether it is what was written.
    pub fn finish(self) -> Result<Manifest, String> {
        let manifest = self.manifest.ok_or("the backup was not read to its end")?;
        if manifest.files.len() != self.seen.len() {
            return Err(format!(
                "files of the backup are missing: {NAME} names others"
            ));
        }
        for (wanted, seen) in manifest.files.iter().zip(&self.seen) {
            if (&wanted.name, wanted.length) != (&seen.name, seen.length) {
                return Err(format!("{} is not what {NAME} says", seen.name));
            }
            if wanted.crc32 != seen.crc32 {
                return Err(format!("{} is damaged: its checksum differs", seen.name));
            }
        }
        Ok(manifest)
    }
}

/// Reads so many bytes; their CRC32.
fn copy(
    input: &mut dyn Read,
    length: u64,
    name: &str,
    take: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    teller: &mut Teller,
) -> Result<u32, String> {
    let mut sum = crc32fast::Hasher::new();
    let mut buffer = vec![0; PIECE];
    let mut left = length;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let piece = &mut buffer[..wanted];
        input
            .read_exact(piece)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => format!("{name} is shorter than it was"),
                _ => format!("{name}: {error}"),
            })?;
        sum.update(piece);
        take(piece)?;
        teller.more(wanted);
        left -= wanted as u64;
    }
    Ok(sum.finalize())
}
