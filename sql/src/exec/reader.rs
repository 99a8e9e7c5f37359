//! Reading a stored table by its access path: points, ranges of an index, all of it, several keys
//! whose rows are merged, and entries that repeat and are passed over.

use super::{
    ExecContext, Flow, Flowing, Stop,
    block::BlockRun,
    key::{self, Ranges},
    key_set::KeySet,
    memory::Memory,
    search,
};
use crate::{
    error::SqlError,
    plan::{Access, Loose, Source, index_of},
    search::Answer,
    statements::Used,
};
use cohort_engine::{
    invariant::broken,
    txn::{Batch, KeyRange, LockMode, OnConflict, Read},
    types::{Index, Table, TreeId, Value, key as keys, row},
};
use std::{rc::Rc, sync::Arc};

/// Rows are read so many at a time, more each time.
const BATCH_MIN: usize = 16;
const BATCH_MAX: usize = 256;
/// Of a part of what is read about so many rows are read at once, and a batch more at most.
const PART_ROWS_MAX: usize = 4_000;

pub(super) fn read_mode(source: &Source, context: &ExecContext) -> Read {
    match (source.lock, context.plain_read) {
        (Some((mode, conflict)), _) => Read::Locking(mode, conflict),
        (None, Read::Plain) if source.shared => Read::Locking(LockMode::Shared, OnConflict::Wait),
        (None, read) => read,
    }
}

/// How a scan comes to the rows.
fn scan_mode(source: &Source, by_index: bool, context: &ExecContext) -> Read {
    if context.rereads && source.lock.is_some() && !by_index {
        return Read::Newest;
    }
    read_mode(source, context)
}

/// What becomes of a row: `None` if it was refused, else whether to go on.
type Passed<'p, 'b> =
    dyn FnMut(&mut BlockRun<'b>, &mut ExecContext) -> Result<Option<Flow>, Stop> + 'p;

/// Reads a stored table by its access path.
pub(super) struct Reader<'b> {
    source: &'b Source,
    table: &'b Arc<Table>,
    access: &'b Access,
    index: Option<&'b Index>,
    /// It is a secondary index.
    by_index: bool,
    at: usize,
    read: Read,
    /// If this is another one, the rows are read twice: see `ExecContext::rereads`.
    scan: Read,
    /// What MATCH finds in the table.
    answers: Vec<Rc<Answer>>,
    /// Entries that repeat are passed over.
    loose: Option<&'b Loose>,
    /// The keys of the rows that were handed on, where several entries lead to a row.
    seen: Option<Seen>,
    /// Of a part of what is read: how many rows may be read yet.
    rows_left: Option<usize>,
}

/// Rows that were met.
#[derive(Default)]
struct Seen {
    keys: KeySet,
    memory: Memory,
}

impl Seen {
    /// Whether a row was met before, which it was from now on.
    fn again(&mut self, key: &[u8]) -> Result<bool, Stop> {
        if self.keys.contains(key) {
            return Ok(true);
        }
        self.memory.take(KeySet::bytes_of(key))?;
        self.keys.insert(key);
        Ok(false)
    }
}

impl<'b> Reader<'b> {
    pub fn new(
        source: &'b Source,
        table: &'b Arc<Table>,
        access: &'b Access,
        at: usize,
        context: &ExecContext,
    ) -> Reader<'b> {
        let by_index = access.index.is_some();
        Reader {
            source,
            table,
            access,
            index: index_of(table, access.index),
            by_index,
            at,
            read: read_mode(source, context),
            scan: scan_mode(source, by_index, context),
            answers: Vec::new(),
            loose: access.loose.as_ref(),
            seen: None,
            rows_left: None,
        }
    }

    pub fn read_all(
        &mut self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        pass: &mut Passed<'_, 'b>,
    ) -> Flowing {
        self.answers = search::answers(self.source, self.table, context)?;
        if let Some(number) = self.access.search {
            return self.found(run, context, number, pass);
        }
        if !self.access.merged.is_empty() {
            return self.merged(run, context, pass);
        }
        let before = run.sources.get_mut(self.at).and_then(|s| s.ranges.take());
        let ranges = match (before, self.index) {
            (Some(ranges), _) => ranges,
            (None, Some(index)) if !self.access.alternatives.is_empty() => {
                key::ranges(self.table, index, &self.access.alternatives, run, context)?.ranges
            }
            _ => Ranges::All,
        };
        self.seen = None;
        self.read_ranges(ranges, run, context, pass)
    }

    /// The rows of several paths, each once. If the bounds of one cannot be used with the values they
    /// have, all rows are read.
    fn merged(
        &mut self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        pass: &mut Passed<'_, 'b>,
    ) -> Flowing {
        let mut paths = Vec::with_capacity(self.access.merged.len());
        for access in &self.access.merged {
            let index = index_of(self.table, access.index);
            let index = index.ok_or_else(|| broken("a path that is merged is by a key"))?;
            let found = key::ranges(self.table, index, &access.alternatives, run, context)?;
            if let Ranges::All = found.ranges {
                return self.whole(run, context, self.table.rows, pass);
            }
            paths.push((access, found.ranges));
        }
        let mut seen = Some(Seen::default());
        for (access, ranges) in paths {
            let mut reader = Reader {
                answers: self.answers.clone(),
                seen: seen.take(),
                ..Reader::new(self.source, self.table, access, self.at, context)
            };
            if reader.read_ranges(ranges, run, context, pass)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            seen = reader.seen;
        }
        Ok(Flow::Continue)
    }

    fn read_ranges(
        &mut self,
        ranges: Ranges,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        pass: &mut Passed<'_, 'b>,
    ) -> Flowing {
        let mut index = self.index.filter(|_| self.by_index);
        let is_array = index.is_some_and(|index| self.table.array_part(index).is_some());
        // Bounds that cannot be used with the values they have give no order, either: the rows
        // themselves are read then, rather than each by its entry. Nor has an array's index all rows.
        let is_useless = !self.access.covering && !self.access.alternatives.is_empty();
        match &ranges {
            Ranges::All if index.is_some() && (is_array || is_useless) => {
                (index, self.by_index) = (None, false);
                self.loose = None;
                self.index = self.table.primary.as_ref();
                self.scan = scan_mode(self.source, false, context);
            }
            Ranges::Some(several) if is_array && several.len() > 1 => {
                self.seen.get_or_insert_default();
            }
            Ranges::All | Ranges::Some(_) | Ranges::Point(_) | Ranges::Part(_) => {}
        }
        let tree = index.map_or(self.table.rows, |index| index.tree);
        match ranges {
            Ranges::All => self.whole(run, context, tree, pass),
            Ranges::Part(range) => self.part(run, context, tree, range, pass),
            Ranges::Point(point) if self.access.point && self.access.index.is_none() => {
                self.point(run, context, &point, pass)
            }
            Ranges::Point(point) => {
                let range = key::prefix_range(point);
                self.range(run, context, tree, range, pass)
            }
            Ranges::Some(mut ranges) => {
                if self.access.reverse {
                    ranges.reverse();
                }
                for range in ranges {
                    if self.range(run, context, tree, range, pass)? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
                Ok(Flow::Continue)
            }
        }
    }

    /// The rows that a search finds, the best first.
    fn found(
        &mut self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        number: usize,
        pass: &mut Passed<'_, 'b>,
    ) -> Flowing {
        let answer = self.answers.get(number).map(Rc::clone);
        let answer = answer.ok_or_else(|| broken("a path is by a search of its table"))?;
        context.handler.read_key += 1;
        let mut rows = 0;
        let mut flow = Some(Flow::Continue);
        for number in answer.best_first() {
            context.tick()?;
            context.handler.read_next += 1;
            context.handler.examined += 1;
            rows += 1;
            let key = answer.key(number);
            let key = key.ok_or_else(|| broken("a row that is found has a key"))?;
            if !search::may_be(self.source, &self.answers, &key) {
                continue;
            }
            flow = if self.access.covering && self.read == Read::Plain {
                if let Some(primary) = &self.table.primary {
                    self.decode_parts(run, primary, &key)?;
                }
                self.put_ranks(run, &key, false)?;
                pass(run, context)?
            } else {
                self.look_up(run, context, &key, pass)?
            };
            if flow == Some(Flow::Stop) {
                break;
            }
        }
        if rows > 0 {
            context
                .io
                .count(self.used(), |counts| counts.fetched += rows);
        }
        Ok(flow
            .filter(|flow| *flow == Flow::Stop)
            .unwrap_or(Flow::Continue))
    }

    /// Fills the ranks of a row. One that is locked is in the source's state.
    fn put_ranks(&self, run: &mut BlockRun<'b>, key: &[u8], locked: bool) -> Result<(), Stop> {
        if self.answers.is_empty() {
            return Ok(());
        }
        let image = match locked {
            true => Some(self.take_image(run)),
            false => None,
        };
        let source = (self.source, &**self.table);
        let put = run.put_ranks(source, &self.answers, key, image.as_deref());
        if let Some(image) = image {
            self.keep_image(run, image);
        }
        put
    }

    /// One row by its primary key.
    fn point(
        &mut self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        key: &[u8],
        pass: &mut Passed<'_, 'b>,
    ) -> Flowing {
        context.tick()?;
        context.handler.read_key += 1;
        if self.met(key, context)? {
            return Ok(Flow::Continue);
        }
        let mut image = self.take_image(run);
        let found = context.txn.get(self.table.rows, key, self.read, &mut image);
        let flow = match found {
            Ok(true) => {
                context.handler.examined += 1;
                let used = self.used();
                context.io.count(used, |counts| counts.fetched += 1);
                self.row(run, context, key, image, pass)?
            }
            Ok(false) => {
                self.keep_image(run, image);
                None
            }
            Err(error) => return Err(error.into()),
        };
        Ok(flow.unwrap_or(Flow::Continue))
    }

    fn take_image(&self, run: &mut BlockRun) -> Vec<u8> {
        let state = run.sources.get_mut(self.at);
        state
            .map(|s| std::mem::take(&mut s.image))
            .unwrap_or_default()
    }

    fn keep_image(&self, run: &mut BlockRun, image: Vec<u8>) {
        if let Some(state) = run.sources.get_mut(self.at) {
            state.image = image;
        }
    }

    /// Where the columns go.
    fn slots<'r>(&self, run: &'r mut BlockRun<'b>) -> &'r mut [Value] {
        let slots = self.source.first_slot..self.source.first_slot + self.source.columns;
        run.row.get_mut(slots).unwrap_or_default()
    }

    /// Hands a row on. A locked row that is refused is unlocked, where that is allowed.
    fn row(
        &self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        key: &[u8],
        image: Vec<u8>,
        pass: &mut Passed<'_, 'b>,
    ) -> Result<Option<Flow>, Stop> {
        row::decode_some(self.table, &image, &self.source.wanted, self.slots(run))?;
        let locking = self.read != Read::Plain;
        if let Some(state) = run.sources.get_mut(self.at) {
            state.image = image;
            if locking {
                state.key.clear();
                state.key.extend_from_slice(key);
            }
        }
        self.put_ranks(run, key, locking)?;
        let flow = pass(run, context)?;
        if flow.is_none() && locking && context.unlock {
            context.txn.unlock_row(self.table.rows, key);
        }
        Ok(flow)
    }

    fn whole(
        &mut self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        tree: TreeId,
        pass: &mut Passed<'_, 'b>,
    ) -> Flowing {
        let by_index = self.by_index;
        match (by_index, self.access.reverse) {
            (true, false) => context.handler.read_first += 1,
            (_, true) => context.handler.read_last += 1,
            (false, false) => context.handler.read_rnd_next += 1,
        }
        let all = KeyRange {
            low: Vec::new(),
            high: None,
        };
        self.batches(run, context, tree, all, pass, !by_index)
    }

    /// A part of what the path reads, forwards.
    fn part(
        &mut self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        tree: TreeId,
        range: KeyRange,
        pass: &mut Passed<'_, 'b>,
    ) -> Flowing {
        let is_scan = self.is_scan();
        self.rows_left = Some(PART_ROWS_MAX);
        let flow = self.batches(run, context, tree, range, pass, is_scan);
        self.rows_left = None;
        flow
    }

    /// Whether the rest of a part is left for others when so many rows more are read: it is larger than was thought, or the slot of this
    /// thread is wanted.
    fn leaves_rest(&mut self, read: usize, context: &ExecContext) -> bool {
        let Some(left) = &mut self.rows_left else {
            return false;
        };
        *left = left.saturating_sub(read);
        *left == 0 || context.lent.is_some_and(|lent| lent.is_wanted())
    }

    /// Whether the path goes through all rows, and not through entries of an index.
    fn is_scan(&self) -> bool {
        !self.by_index && self.access.is_whole()
    }

    fn range(
        &mut self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        tree: TreeId,
        range: KeyRange,
        pass: &mut Passed<'_, 'b>,
    ) -> Flowing {
        context.handler.read_key += 1;
        self.batches(run, context, tree, range, pass, false)
    }

    /// Reads a range; `is_scan`: for its counters it is rows of a whole table.
    fn batches(
        &mut self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        tree: TreeId,
        range: KeyRange,
        pass: &mut Passed<'_, 'b>,
        is_scan: bool,
    ) -> Flowing {
        let all = range.low.is_empty() && range.high.is_none();
        let whole = is_scan || !self.by_index && all;
        let mut rows = 0;
        let flow = self.each_of(run, context, tree, range, pass, |handler, reverse| {
            rows += 1;
            match (is_scan, reverse) {
                (_, true) => handler.read_prev += 1,
                (true, false) => handler.read_rnd_next += 1,
                (false, false) => handler.read_next += 1,
            }
        });
        if rows > 0 {
            context.io.count(self.used(), |counts| match whole {
                true => counts.scanned += rows,
                false => counts.fetched += rows,
            });
        }
        flow
    }

    /// The table and the index that it is read by.
    fn used(&self) -> Used {
        let index = self.access.index.and_then(|at| u16::try_from(at).ok());
        (self.table.id, index)
    }

    fn each_of(
        &mut self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        tree: TreeId,
        range: KeyRange,
        pass: &mut Passed<'_, 'b>,
        mut count: impl FnMut(&mut super::Handler, bool),
    ) -> Flowing {
        if let (Some(loose), Read::Plain) = (self.loose, self.scan) {
            return self.each_group_of(*loose, run, context, tree, range, pass, count);
        }
        let reverse = self.access.reverse;
        let high = self.rows_left.and(range.high.clone());
        let mut scan = context.txn.scan(tree, range, reverse, self.scan);
        let mut batch = Batch::default();
        // Rows are locked only as they are looked at, unless all will be.
        let (mut size, grows) = match self.scan {
            Read::Plain if run.first_only => (1, true),
            Read::Plain => (BATCH_MIN, true),
            Read::Newest | Read::Locking(..) => (1, context.locks_ahead),
        };
        loop {
            scan.next(context.txn, &mut batch, size)?;
            if batch.is_empty() {
                return Ok(Flow::Continue);
            }
            for i in 0..batch.len() {
                context.tick()?;
                count(&mut context.handler, reverse);
                context.handler.examined += 1;
                let (key, value) = batch.get(i);
                let flow = self.entry(run, context, key, value, pass);
                if flow.is_err() {
                    scan.release_after(context.txn, i);
                }
                if flow? == Some(Flow::Stop) {
                    return Ok(Flow::Stop);
                }
            }
            if self.leaves_rest(batch.len(), context)
                && let Some(state) = run.sources.get_mut(self.at)
            {
                // What comes behind the last key.
                let low = [batch.get(batch.len() - 1).0, &[0]].concat();
                state.rest = Some(KeyRange { low, high });
                return Ok(Flow::Continue);
            }
            if grows {
                size = (size * 2).min(BATCH_MAX);
            }
        }
    }

    /// Of the entries that begin alike the first, the first whose next part is not NULL, and the last,
    /// as far as they are wanted.
    #[allow(clippy::too_many_arguments)]
    fn each_group_of(
        &mut self,
        loose: Loose,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        tree: TreeId,
        range: KeyRange,
        pass: &mut Passed<'_, 'b>,
        mut count: impl FnMut(&mut super::Handler, bool),
    ) -> Flowing {
        let index = self
            .index
            .ok_or_else(|| broken("what repeats is passed over in an index"))?;
        let mut batch = Batch::default();
        let mut rest = Some(range);
        while let Some(range) = rest {
            let high = range.high.clone();
            let mut take = |reader: &mut Self,
                            run: &mut BlockRun<'b>,
                            context: &mut ExecContext,
                            range,
                            back| {
                context.tick()?;
                let mut scan = context.txn.scan(tree, range, back, Read::Plain);
                scan.next(context.txn, &mut batch, 1)?;
                if batch.is_empty() {
                    return Ok(None);
                }
                count(&mut context.handler, back);
                context.handler.read_key += 1;
                context.handler.examined += 1;
                let (key, value) = batch.get(0);
                let flow = reader.entry(run, context, key, value, pass)?;
                Ok::<_, Stop>(Some((key.to_vec(), flow)))
            };
            let Some((key, flow)) = take(self, run, context, range, false)? else {
                break;
            };
            let length = keys::parts_length(self.table, index, loose.parts, &key)?;
            let parts = key.split_at_checked(length);
            let (prefix, next) = parts.ok_or_else(|| broken("a key is as long as its parts"))?;
            let group = key::prefix_range(prefix.to_vec());
            let mut flows = vec![flow];
            // What was refused is for what all of them have.
            let ends = flow == Some(Flow::Continue);
            let part = index.parts.get(loose.parts).copied();
            let column = part.and_then(|part| self.table.columns.get(usize::from(part.column)));
            if let (true, true, Some(part), Some(column)) = (ends, loose.least, part, column)
                && keys::decode_part(column.key_column(), part, next) == Some(Value::Null)
            {
                let null = keys::part_length(column.key_column(), part, next);
                let nulls = null.and_then(|null| key.get(..length + null));
                // The sign of NULL is not the last that there is.
                let low = nulls.and_then(key::successor);
                let values = KeyRange {
                    low: low.ok_or_else(|| broken("values come after NULL"))?,
                    high: group.high.clone(),
                };
                flows.extend(take(self, run, context, values, false)?.map(|(_, flow)| flow));
            }
            if ends && loose.greatest {
                flows.extend(take(self, run, context, group.clone(), true)?.map(|(_, flow)| flow));
            }
            if flows.contains(&Some(Flow::Stop)) {
                return Ok(Flow::Stop);
            }
            rest = group.high.map(|low| KeyRange { low, high });
        }
        Ok(Flow::Continue)
    }

    /// A row, or an index entry with the row it belongs to.
    fn entry(
        &mut self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        key: &[u8],
        value: &[u8],
        pass: &mut Passed<'_, 'b>,
    ) -> Result<Option<Flow>, Stop> {
        if !self.by_index && self.met(key, context)? {
            return Ok(None);
        }
        let index = match self.index {
            Some(index) if self.by_index => index,
            _ if !search::may_be(self.source, &self.answers, key) => return Ok(None),
            _ if self.read == Read::Plain => {
                let slots = self.slots(run);
                row::decode_some(self.table, value, &self.source.wanted, slots)?;
                self.put_ranks(run, key, false)?;
                return pass(run, context);
            }
            _ if self.scan != self.read => return self.again(run, context, key, value, pass),
            _ => {
                let mut image = self.take_image(run);
                image.clear();
                image.extend_from_slice(value);
                return self.row(run, context, key, image, pass);
            }
        };
        let start = keys::parts_length(self.table, index, index.parts.len(), key)?;
        let row_key = key.get(start..).unwrap_or_default();
        // A row that must be found and is not need not be looked up.
        if !search::may_be(self.source, &self.answers, row_key) {
            return Ok(None);
        }
        if self.met(row_key, context)? {
            return Ok(None);
        }
        if self.access.covering && self.read == Read::Plain {
            self.decode_entry(run, index, key, row_key)?;
            self.put_ranks(run, row_key, false)?;
            return pass(run, context);
        }
        self.look_up(run, context, row_key, pass)
    }

    /// Whether a row was met before, where each is to be taken once.
    fn met(&mut self, row_key: &[u8], context: &mut ExecContext) -> Result<bool, Stop> {
        let Some(seen) = &mut self.seen else {
            return Ok(false);
        };
        let again = seen.again(row_key)?;
        // If it was refused before, its lock is not kept now.
        if again && self.read != Read::Plain && context.unlock {
            context.txn.unlock_row(self.table.rows, row_key);
        }
        Ok(again)
    }

    /// A row by its key, if it is there.
    fn look_up(
        &self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        key: &[u8],
        pass: &mut Passed<'_, 'b>,
    ) -> Result<Option<Flow>, Stop> {
        let mut image = self.take_image(run);
        let rows = self.table.rows;
        if !context.txn.get(rows, key, self.read, &mut image)? {
            self.keep_image(run, image);
            return Ok(None);
        }
        self.row(run, context, key, image, pass)
    }

    /// Locks a row whose committed version the condition wants, and hands on what it is then. Where
    /// the condition has anything to say but no, it says so of the locked version.
    fn again(
        &self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        key: &[u8],
        value: &[u8],
        pass: &mut Passed<'_, 'b>,
    ) -> Result<Option<Flow>, Stop> {
        row::decode_some(self.table, value, &self.source.wanted, self.slots(run))?;
        self.put_ranks(run, key, false)?;
        let filter = &self.source.filter;
        if context.on_trial(|context| run.all_hold(filter, context)) == Some(false) {
            return Ok(None);
        }
        self.look_up(run, context, key, pass)
    }

    /// Fills the slots from an index entry that holds all that is wanted.
    fn decode_entry(
        &self,
        run: &mut BlockRun,
        index: &Index,
        key: &[u8],
        row_key: &[u8],
    ) -> Result<(), Stop> {
        self.decode_parts(run, index, key)?;
        match &self.table.primary {
            Some(primary) => self.decode_parts(run, primary, row_key),
            None => Ok(()),
        }
    }

    /// Fills the slots of the columns that are parts of a key.
    fn decode_parts(&self, run: &mut BlockRun, index: &Index, mut rest: &[u8]) -> Result<(), Stop> {
        for part in &index.parts {
            let damaged = || SqlError::internal("a damaged index entry");
            let column = self.table.columns.get(usize::from(part.column));
            let column = column.ok_or_else(damaged)?;
            if self.source.wanted.contains(&part.column)
                && let Some(value) = keys::decode_part(column, *part, rest)
                && let Some(slot) = run
                    .row
                    .get_mut(self.source.first_slot + usize::from(part.column))
            {
                *slot = value;
            }
            let length = keys::part_length(column, *part, rest).ok_or_else(damaged)?;
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(())
    }
}
