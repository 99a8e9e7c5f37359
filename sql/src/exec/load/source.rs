//! Where the bytes of a LOAD DATA come from: a file of the server, or one that the client sends.

use super::super::{ExecContext, Stop};
use crate::{files, output::Output};
use cohort_engine::env::File;
use std::path::PathBuf;

/// So many bytes of a file are read at once.
const CHUNK: usize = 256 << 10;

/// See above. Whatever it is, only a part of it is in memory.
pub enum Source<'o> {
    /// A file of the server, and how much of it was read.
    Server {
        /// Where it is.
        path: PathBuf,
        /// The file.
        file: File,
        /// How much of it was read.
        read: u64,
    },
    /// The client sends it.
    Client {
        /// The way to the client.
        out: &'o mut dyn Output,
        /// Its last piece has come.
        over: bool,
    },
}

impl<'o> Source<'o> {
    /// Opens a file of the server, 13, 29, 1085 or 1290 if that cannot be, or asks the client for
    /// one of its own.
    pub fn open(
        name: &str,
        local: bool,
        context: &ExecContext,
        out: &'o mut dyn Output,
    ) -> Result<Source<'o>, Stop> {
        if local {
            out.ask_for_file(name).map_err(Stop::Gone)?;
            return Ok(Source::Client { out, over: false });
        }
        let (path, file) = context.files().open(name)?;
        Ok(Source::Server {
            path,
            file,
            read: 0,
        })
    }

    /// Appends the next bytes; false at the end.
    pub fn append(&mut self, to: &mut Vec<u8>, context: &mut ExecContext) -> Result<bool, Stop> {
        context.look()?;
        match self {
            Source::Server { path, file, read } => {
                let start = to.len();
                to.resize(start + CHUNK, 0);
                let space = to.get_mut(start..).unwrap_or_default();
                let count = match file.read_at(space, *read) {
                    Ok(count) => count,
                    Err(error) => return Err(files::failed_to_read(path, &error).into()),
                };
                to.truncate(start + count);
                *read += count as u64;
                Ok(count > 0)
            }
            Source::Client { over: true, .. } => Ok(false),
            Source::Client { out, over } => {
                let piece = out.take_piece().map_err(Stop::Gone)?;
                *over = piece.is_empty();
                to.extend_from_slice(piece);
                Ok(!*over)
            }
        }
    }

    /// What the client still sends is nobody's: it hears of the statement's end only behind it.
    pub fn finish(self) -> Result<(), Stop> {
        match self {
            Source::Client { out, over: false } => out.skip_file().map_err(Stop::Gone),
            Source::Client { .. } | Source::Server { .. } => Ok(()),
        }
    }
}
