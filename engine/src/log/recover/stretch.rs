//! A file in stretches: so much is read at once, and then checked on all processors.
//!
//! Where a transaction ends is in its GTID event. So one pass over those, whose checksums it
//! trusts, cuts a stretch into whole transactions; whether their other events are sound, and what
//! they mean, can be found out for many of them at once. What follows one that turns out unsound
//! is not looked at, however sound it is.

use crate::{
    Seq,
    env::File,
    log::{
        Position, Replay, Replayed,
        event::{Event, Flaw, GtidEvent},
        read::{Stop, torn, transaction_begins, whole},
    },
    types::GtidSet,
};
use std::io;

/// How much is read at once, in bytes. In tests so little that their short logs have several.
const STRETCH: usize = if cfg!(test) { 16 << 10 } else { 16 << 20 };
/// How much a processor takes of it at a time, in bytes: so much that taking costs nothing, and so
/// little that all end at about the same time.
const RUN: usize = STRETCH / 64;

/// Reads a file, stretch after stretch.
pub(super) struct Stretches<'a> {
    pub(super) file: &'a File,
    pub(super) number: u64,
    /// Where the next stretch begins, and the file ends.
    pub(super) at: u64,
    pub(super) end: u64,
    /// The commit before the file.
    pub(super) after: Seq,
    /// The commit before, if it is known.
    pub(super) last: Option<Seq>,
    /// What the base has.
    pub(super) applied: Seq,
    /// The sources that the GTIDs may have; none: any.
    pub(super) sources: &'a [[u8; 16]],
    /// The first transaction of which nothing later says that it is durable.
    pub(super) doubtful: u64,
    /// Where and why no more transactions follow.
    pub(super) stopped: Option<(u64, Stop)>,
    /// A buffer that is no longer needed: memory that was used before is quicker than fresh one.
    pub(super) spare: Vec<u8>,
}

/// Transactions by what their GTID events say: the others are not yet checked.
pub(super) struct Stretch {
    number: u64,
    /// So many of the buffer's bytes were read.
    length: usize,
    buffer: Vec<u8>,
    /// Where the bytes are in the file.
    at: u64,
    /// The transactions, and where each begins in `bytes`.
    transactions: Vec<(usize, GtidEvent)>,
    /// The last commit before the file.
    after: Seq,
}

impl Stretches<'_> {
    /// The next stretch, or where and why no more transactions follow.
    pub(super) fn next(&mut self) -> io::Result<Result<Stretch, (u64, Stop)>> {
        if let Some(stopped) = self.stopped {
            return Ok(Err(stopped));
        }
        let mut stretch = Stretch {
            number: self.number,
            length: 0,
            buffer: std::mem::take(&mut self.spare),
            at: self.at,
            transactions: Vec::new(),
            after: self.after,
        };
        let (mut offset, mut wanted) = (0, STRETCH);
        loop {
            self.fill(&mut stretch, wanted)?;
            let place = stretch.at + offset as u64;
            let rest = stretch.bytes().get(offset..).unwrap_or_default();
            let missing = match self.look(rest, place) {
                Ok(Ok(gtid)) => {
                    self.last = Some(gtid.seq(self.after));
                    stretch.transactions.push((offset, gtid));
                    // It is in `rest`, so its length is no more than that.
                    offset += usize::try_from(gtid.length).unwrap_or(usize::MAX);
                    continue;
                }
                Ok(Err(stop)) if offset == 0 => return Ok(Err((place, stop))),
                Ok(Err(stop)) => {
                    self.stopped = Some((place, stop));
                    break;
                }
                Err(missing) => missing,
            };
            if offset > 0 {
                break;
            }
            wanted = missing;
        }
        self.at = stretch.at + offset as u64;
        Ok(Ok(stretch))
    }

    /// Reads on until the stretch has so many bytes, or the file ends.
    fn fill(&mut self, stretch: &mut Stretch, wanted: usize) -> io::Result<()> {
        let have = stretch.length;
        let left = usize::try_from(self.end.saturating_sub(stretch.at)).unwrap_or(usize::MAX);
        let wanted = wanted.min(left);
        if wanted > have {
            let size = stretch.buffer.len().max(wanted);
            stretch.buffer.resize(size, 0);
            let fresh = stretch.buffer.get_mut(have..wanted).unwrap_or_default();
            let got = self.file.read_at(fresh, stretch.at + have as u64)?;
            stretch.length += got;
            if have + got < wanted {
                self.end = stretch.at + (have + got) as u64;
            }
        }
        Ok(())
    }

    /// The transaction that `bytes` begin with, or why there is none. An error: that takes so
    /// many bytes to say.
    fn look(&mut self, bytes: &[u8], position: u64) -> Result<Result<GtidEvent, Stop>, usize> {
        let left = usize::try_from(self.end.saturating_sub(position)).unwrap_or(usize::MAX);
        let event = Event::parse(bytes, position);
        if let Err(Flaw::Short(size)) = event
            && bytes.len() < left
        {
            return Err(size.max(bytes.len() + 1));
        }
        let gtid = match transaction_begins(event, position) {
            Ok(gtid) => gtid,
            Err(stop) => return Ok(Err(stop)),
        };
        let length = usize::try_from(gtid.length).unwrap_or(usize::MAX).min(left);
        if bytes.len() < length {
            return Err(length);
        }
        if gtid.length > left as u64 {
            return Ok(Err(torn(bytes, position)));
        }
        // Of those that come from elsewhere the head of the file tells whose file it is.
        let known = |source| self.sources.is_empty() || self.sources.contains(source);
        if !gtid.is_apart && !known(&gtid.gtid.source) {
            let why = "it is of another server than the base belongs to: the base or the binary \
                       logs are from another data directory";
            return Ok(Err(Stop::Foreign(position, why)));
        }
        // Its group was begun when all before it was durable.
        if gtid.is_clear && gtid.last_committed + 1 == gtid.sequence_number {
            self.doubtful = position;
        }
        let seq = gtid.seq(self.after);
        let is_next = match self.last {
            None => seq <= self.applied + 1,
            Some(last) => seq == last + 1,
        };
        Ok(if is_next {
            Ok(gtid)
        } else {
            Err(Stop::Gap(position, seq))
        })
    }
}

/// Transactions that one processor takes.
pub(super) struct Run<'a> {
    stretch: &'a Stretch,
    transactions: &'a [(usize, GtidEvent)],
}

/// A run whose transactions were checked.
pub(super) struct Checked<'a, D> {
    /// The whole ones that the base does not have.
    pub(super) replayed: Vec<Replayed<'a>>,
    /// The GTIDs of those and the ones before.
    pub(super) executed: GtidSet,
    pub(super) decoded: D,
    /// The last whole one.
    pub(super) last: Option<Seq>,
    /// Where and why the run ends early.
    pub(super) end: Option<(u64, Stop)>,
}

impl Stretch {
    /// Where the bytes that were read for it end.
    pub(super) fn end(&self) -> u64 {
        self.at + self.length as u64
    }

    fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or_default()
    }

    /// Its buffer, for another one.
    pub(super) fn into_buffer(mut self) -> Vec<u8> {
        // One huge transaction is no reason to keep so much.
        self.buffer.truncate(STRETCH);
        self.buffer.shrink_to_fit();
        self.buffer
    }

    /// Its transactions, in shares.
    pub(super) fn runs(&self) -> Vec<Run<'_>> {
        let share = |(offset, _): &(usize, GtidEvent)| offset / RUN;
        let runs = self.transactions.chunk_by(|a, b| share(a) == share(b));
        runs.map(|transactions| Run {
            stretch: self,
            transactions,
        })
        .collect()
    }
}

impl<'a> Run<'a> {
    /// Checks the transactions and decodes those after `applied`.
    pub(super) fn check<R: Replay>(&self, replay: &R, applied: Seq) -> Checked<'a, R::Decoded> {
        let mut replayed = Vec::with_capacity(self.transactions.len());
        let (mut last, mut end) = (None, None);
        let mut executed = GtidSet::default();
        for (offset, gtid) in self.transactions {
            let place = self.stretch.at + *offset as u64;
            let length = usize::try_from(gtid.length).unwrap_or(usize::MAX);
            let bytes = self.stretch.bytes().get(*offset..).unwrap_or_default();
            let events = bytes.get(..length).unwrap_or_default();
            let only_rows = match whole(events, place) {
                Ok(only_rows) => only_rows,
                Err(stop) => {
                    end = Some((place, stop));
                    break;
                }
            };
            let seq = gtid.seq(self.stretch.after);
            last = Some(seq);
            if !gtid.is_unlisted {
                executed.add(gtid.gtid);
            }
            if seq > applied {
                replayed.push(Replayed {
                    seq,
                    committed_micros: gtid.committed_micros,
                    position: Position {
                        file: self.stretch.number,
                        offset: place,
                    },
                    events,
                    only_rows,
                });
            }
        }
        Checked {
            decoded: replay.decode(&replayed),
            replayed,
            executed,
            last,
            end,
        }
    }
}
