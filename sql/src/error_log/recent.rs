//! The last lines, for `performance_schema.error_log`.

use super::{Level, text};
use cohort_engine::env::File;
use std::{collections::VecDeque, io};

/// What is kept takes at most so many bytes.
const BYTES_MAX: usize = 5 << 20;
/// So much of the end of an older file is read.
const READ_BACK_MAX: usize = 1 << 20;

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When, in microseconds since 1970.
    pub micros: u64,
    /// The number of the connection it is about; 0 for none.
    pub thread: u64,
    /// How much it matters.
    pub level: Level,
    /// Its code, `MY-010931`.
    pub code: String,
    /// Who says it.
    pub subsystem: String,
    /// What it says.
    pub text: String,
}

impl Line {
    fn bytes(&self) -> usize {
        size_of::<Line>() + self.code.len() + self.subsystem.len() + self.text.len()
    }
}

/// MySQL's status variables of that table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffered {
    /// Error_log_buffered_bytes.
    pub bytes: u64,
    /// Error_log_buffered_events.
    pub events: u64,
    /// Error_log_expired_events: how many were given up for newer ones.
    pub expired: u64,
    /// Error_log_latest_write, in microseconds since 1970.
    pub latest: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Recent {
    lines: VecDeque<Line>,
    bytes: usize,
    expired: u64,
}

impl Recent {
    /// Keeps a line. No two have one moment: it is the key of MySQL's table.
    pub fn add(&mut self, mut line: Line) {
        if let Some(last) = self.lines.back() {
            line.micros = line.micros.max(last.micros + 1);
        }
        self.bytes += line.bytes();
        self.lines.push_back(line);
        while self.bytes > BYTES_MAX
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= oldest.bytes();
            self.expired += 1;
        }
    }
    /// Keeps the lines at the end of a file of an earlier run.
    pub fn read_back(&mut self, file: &File) -> io::Result<()> {
        let len = file.len()?;
        let from = len.saturating_sub(READ_BACK_MAX as u64);
        let mut bytes = vec![0; usize::try_from(len - from).unwrap_or(READ_BACK_MAX)];
        let read = file.read_at(&mut bytes, from)?;
        let text = String::from_utf8_lossy(bytes.get(..read).unwrap_or_default());
        // What is no line of this log, such as the first half of one, is passed over.
        text.lines()
            .filter_map(text::parsed)
            .for_each(|line| self.add(line));
        Ok(())
    }
    pub fn lines(&self) -> Vec<Line> {
        self.lines.iter().cloned().collect()
    }
    pub fn buffered(&self) -> Buffered {
        Buffered {
            bytes: self.bytes as u64,
            events: self.lines.len() as u64,
            expired: self.expired,
            latest: self.lines.back().map_or(0, |line| line.micros),
        }
    }
}
