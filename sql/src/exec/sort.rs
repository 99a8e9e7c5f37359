//! Sorting: in memory, or, beyond what a statement may keep there, in runs that are sorted in
//! memory, written to a temporary file, and merged.

use super::{
    ExecContext, Flow, Flowing, Stop,
    block::BlockRun,
    memory::{self, Memory},
    temporary::{RowFile, RowReader},
};
use crate::{
    expr::{Expr, eval, infer, order},
    plan::SortKey,
};
use cohort_engine::types::{Collation, Value};
use std::{cmp::Ordering, collections::BinaryHeap, ops::Range};

/// So many runs are merged at once.
const MERGED_MAX: usize = 32;

/// So many rows are sorted at least to forget those beyond the ones wanted.
const SORTED_MIN: usize = 64;

/// What rows are compared by: a place in them.
#[derive(Clone, Copy)]
pub(super) struct By {
    pub at: usize,
    pub collation: Collation,
    pub desc: bool,
}

/// A row, and the beginning of its first key as a number, for comparing quickly.
struct Headed {
    head: u64,
    row: Vec<Value>,
}

/// What the heads of rows are made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heads {
    /// Nothing yet: all first keys were NULL.
    Nulls,
    Ints,
    Texts,
    /// Other values, or several types: heads tell nothing.
    Useless,
}

/// Sorts rows; of many, keeps only as many as are wanted.
pub(super) struct Sorter<'q> {
    by: Vec<By>,
    /// How many values of a row are handed on; keys follow them that are not among them.
    width: usize,
    beyond: Vec<&'q SortKey>,
    rows: Vec<Headed>,
    heads: Heads,
    scratch: Vec<u8>,
    /// How many rows will be asked for.
    wanted: usize,
    /// So many rows are there, in order, in front of those that came since: what does not come before
    /// the last of them is not asked for.
    is_full: bool,
    memory: Memory,
    runs: Option<Runs>,
}

impl<'q> Sorter<'q> {
    /// A sorter of rows of `width` values, of which the first `wanted` rows will be asked for.
    /// `place` knows whether one of the values is a key's.
    pub fn new(
        keys: &'q [SortKey],
        width: usize,
        place: impl Fn(&Expr) -> Option<usize>,
        wanted: u64,
    ) -> Sorter<'q> {
        let mut beyond = Vec::new();
        let by = keys.iter().map(|key| By {
            at: place(&key.value.expr).unwrap_or_else(|| {
                beyond.push(key);
                width + beyond.len() - 1
            }),
            collation: infer(&key.value.expr).collation,
            desc: key.desc,
        });
        Sorter {
            by: by.collect(),
            width,
            beyond,
            rows: Vec::new(),
            heads: Heads::Nulls,
            scratch: Vec::new(),
            wanted: usize::try_from(wanted).unwrap_or(usize::MAX),
            is_full: false,
            memory: Memory::default(),
            runs: None,
        }
    }

    /// A sorter of rows of `width` values, by some of them.
    pub fn of_values(by: &[By], width: usize) -> Sorter<'q> {
        Sorter {
            by: by.to_vec(),
            ..Sorter::new(&[], width, |_| None, u64::MAX)
        }
    }

    /// How many values a row has with its keys.
    pub fn row_length(&self) -> usize {
        self.width + self.beyond.len()
    }

    /// Puts the keys of the block's row behind its values.
    pub fn put_keys(
        &self,
        run: &mut BlockRun,
        context: &mut ExecContext,
        values: &mut Vec<Value>,
    ) -> Result<(), Stop> {
        put_keys(self.beyond.iter().copied(), run, context, values)
    }

    /// Takes a row, its keys behind it.
    pub fn push(&mut self, row: Vec<Value>, context: &mut ExecContext) -> Result<(), Stop> {
        let head = self.head(&row);
        let row = Headed { head, row };
        if self.is_full && self.is_beyond(&row) {
            return Ok(());
        }
        self.memory.add(memory::size(&row.row));
        self.rows.push(row);
        if self.rows.len() >= self.wanted.saturating_mul(2).max(SORTED_MIN) {
            self.sort();
        }
        if self.memory.is_beyond(context.memory_bytes) {
            self.write(context)?;
        }
        Ok(())
    }

    /// If two rows' heads differ, they are in the order of the rows. (NULL, the least of all
    /// values, has the least head, which others may have too.)
    fn head(&mut self, row: &[Value]) -> u64 {
        let Some(by) = self.by.first() else {
            return 0;
        };
        let (kind, head) = match row.get(by.at) {
            None | Some(Value::Null) => (self.heads, 0),
            Some(Value::Int(n)) => (Heads::Ints, n.cast_unsigned() ^ 1 << 63),
            Some(Value::Bytes(text)) => {
                let head = by.collation.sort_key_head(text, &mut self.scratch);
                (Heads::Texts, head)
            }
            Some(_) => (Heads::Useless, 0),
        };
        if self.heads != kind {
            let first = self.heads == Heads::Nulls;
            self.heads = if first { kind } else { Heads::Useless };
        }
        if by.desc { !head } else { head }
    }

    /// Whether a row does not come before the last one that is wanted of those that came before it.
    fn is_beyond(&self, row: &Headed) -> bool {
        let last = self.wanted.checked_sub(1).and_then(|at| self.rows.get(at));
        last.is_none_or(|last| compare_headed(row, last, self.heads, &self.by).is_ge())
    }

    /// Sorts what is in memory, and forgets what is beyond the rows wanted.
    fn sort(&mut self) {
        let (by, heads) = (&self.by, self.heads);
        self.rows.sort_by(|a, b| compare_headed(a, b, heads, by));
        self.is_full = self.rows.len() >= self.wanted;
        for Headed { row, .. } in self.rows.drain(self.wanted.min(self.rows.len())..) {
            self.memory.give(memory::size(&row));
        }
    }

    /// Makes a run of what is in memory.
    fn write(&mut self, context: &mut ExecContext) -> Result<(), Stop> {
        self.sort();
        if self.runs.is_none() {
            self.runs = Some(Runs::new(context)?);
        }
        if let Some(runs) = &mut self.runs {
            let start = runs.file.end();
            for Headed { row, .. } in self.rows.drain(..) {
                context.tick()?;
                runs.file.push(&row)?;
            }
            runs.ranges.push(start..runs.file.end());
        }
        self.memory = Memory::default();
        self.is_full = false;
        Ok(())
    }

    /// Hands on the rows in order.
    pub fn finish(
        mut self,
        offset: u64,
        count: u64,
        context: &mut ExecContext,
        each: &mut dyn FnMut(&mut ExecContext, &mut Vec<Value>) -> Flowing,
    ) -> Flowing {
        if self.runs.is_some() {
            self.write(context)?;
        } else {
            self.sort();
        }
        let (mut skip, mut left) = (offset, count);
        let width = self.width;
        let mut hand_on = |context: &mut ExecContext, mut row: Vec<Value>| {
            context.handler.sort_rows += 1;
            if skip > 0 {
                skip -= 1;
                return Ok(Flow::Continue);
            }
            if left == 0 {
                return Ok(Flow::Stop);
            }
            left -= 1;
            row.truncate(width);
            each(context, &mut row)
        };
        let Some(runs) = self.runs else {
            for Headed { row, .. } in self.rows {
                if hand_on(context, row)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            return Ok(Flow::Continue);
        };
        let runs = runs.reduced(&self.by, context)?;
        context.handler.sort_merge_passes += 1;
        merge(&runs.file, &runs.ranges, &self.by, context, &mut hand_on)
    }
}

fn compare_headed(a: &Headed, b: &Headed, heads: Heads, by: &[By]) -> Ordering {
    if heads == Heads::Useless {
        return compare_rows(&a.row, &b.row, by);
    }
    let heads = a.head.cmp(&b.head);
    heads.then_with(|| compare_rows(&a.row, &b.row, by))
}

/// Sorted runs in one file.
struct Runs {
    file: RowFile,
    ranges: Vec<Range<u64>>,
}

impl Runs {
    fn new(context: &mut ExecContext) -> Result<Runs, Stop> {
        Ok(Runs {
            file: RowFile::create(context)?,
            ranges: Vec::new(),
        })
    }

    /// Merges runs until there are so few that they can all be merged at once.
    fn reduced(mut self, by: &[By], context: &mut ExecContext) -> Result<Runs, Stop> {
        self.file.finish()?;
        while self.ranges.len() > MERGED_MAX {
            let mut fewer = Runs::new(context)?;
            context.handler.sort_merge_passes += 1;
            for ranges in self.ranges.chunks(MERGED_MAX) {
                let start = fewer.file.end();
                merge(&self.file, ranges, by, context, &mut |_, row| {
                    fewer.file.push(&row)?;
                    Ok(Flow::Continue)
                })?;
                fewer.ranges.push(start..fewer.file.end());
            }
            fewer.file.finish()?;
            self = fewer;
        }
        Ok(self)
    }
}

/// The first row of a run that is left.
struct Head<'s> {
    row: Vec<Value>,
    run: usize,
    by: &'s [By],
}

impl Ord for Head<'_> {
    /// The heap gives the greatest first: that is the row that comes first, of equal ones the one
    /// of the earliest run.
    fn cmp(&self, other: &Head) -> Ordering {
        compare_rows(&other.row, &self.row, self.by).then(other.run.cmp(&self.run))
    }
}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head<'_> {}

/// Hands on the rows of sorted runs in order.
fn merge(
    file: &RowFile,
    ranges: &[Range<u64>],
    by: &[By],
    context: &mut ExecContext,
    each: &mut dyn FnMut(&mut ExecContext, Vec<Value>) -> Flowing,
) -> Flowing {
    let mut readers: Vec<RowReader<&RowFile>> =
        ranges.iter().map(|r| file.read(r.start, r.end)).collect();
    let mut heads = BinaryHeap::with_capacity(readers.len());
    for (run, reader) in readers.iter_mut().enumerate() {
        if let Some(row) = reader.next()? {
            heads.push(Head { row, run, by });
        }
    }
    while let Some(Head { row, run, by }) = heads.pop() {
        context.tick()?;
        if each(context, row)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        if let Some(reader) = readers.get_mut(run)
            && let Some(row) = reader.next()?
        {
            heads.push(Head { row, run, by });
        }
    }
    Ok(Flow::Continue)
}

/// Appends what the block's row is sorted by.
pub(super) fn put_keys<'k>(
    keys: impl Iterator<Item = &'k SortKey>,
    run: &mut BlockRun,
    context: &mut ExecContext,
    values: &mut Vec<Value>,
) -> Result<(), Stop> {
    for by in keys {
        run.prepare_for(&by.value, context)?;
        values.push(eval(&by.value.expr, &run.row, &mut context.eval)?);
    }
    Ok(())
}

/// Compares rows by some of their values.
pub(super) fn compare_rows(a: &[Value], b: &[Value], by: &[By]) -> Ordering {
    for by in by {
        if let (Some(a), Some(b)) = (a.get(by.at), b.get(by.at)) {
            let ordering = order(a, b, by.collation);
            if ordering != Ordering::Equal {
                return if by.desc {
                    ordering.reverse()
                } else {
                    ordering
                };
            }
        }
    }
    Ordering::Equal
}
