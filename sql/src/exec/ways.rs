//! Choosing between several ways to the rows of a table, when the values are known.
//!
//! A plan serves all values of its parameters, so it cannot tell which of two conditions leaves
//! fewer rows, nor whether a condition leaves so few that to sort them is quicker than to read in
//! the order of ORDER BY until LIMIT is reached. What the values leave is counted here, on all
//! ways in turn and a little farther each time, until one comes to its end: that one is taken.
//! So counting takes no longer than a multiple of reading by the best way. If all are long, the
//! plan's choice stands.

use super::{
    ExecContext, Stop,
    block::BlockRun,
    key::{self, Ranges},
    reader::read_mode,
    scan::Way,
    search,
    tail::limit_values,
};
use crate::plan::{Access, Input, Source, index_of};
use cohort_engine::{
    txn::{Batch, KeyRange, Read, Scan},
    types::{Table, TreeId},
};

/// Every way is followed so far first, ...
const COUNTED_FIRST: usize = 64;
/// ... then so many times farther each time, ...
const FARTHER: usize = 4;
/// ... at most so far: that takes a millisecond or two.
const COUNTED_MAX: usize = 4096;
/// To count is to cost no more than this part of reading the whole table.
const WORTH: usize = 16;
/// What an entry of an index costs that is passed, beside one ...
const PASSED: f64 = 1.0;
/// ... whose row is looked up.
const LOOKED_UP: f64 = 5.0;
/// Rows are counted so many at a time.
const BATCH: usize = 256;

/// A way that is being followed.
struct Contender {
    /// `None`: the plan's choice.
    way: Option<Way>,
    ranges: Ranges,
    tree: TreeId,
    /// The ranges to count yet, the first one last.
    left: Vec<KeyRange>,
    scan: Option<Scan>,
    counted: usize,
}

impl Contender {
    /// `None` if the way is no use with the values there are.
    fn new(
        way: Option<Way>,
        table: &Table,
        access: &Access,
        run: &BlockRun,
        context: &mut ExecContext,
    ) -> Result<Option<Contender>, Stop> {
        let Some(index) = index_of(table, access.index) else {
            return Ok(None);
        };
        let found = key::ranges(table, index, &access.alternatives, run, context)?;
        let Some(mut left) = found.ranges.clone().into_list() else {
            return Ok(None);
        };
        left.reverse();
        Ok(Some(Contender {
            way,
            ranges: found.ranges,
            tree: index.tree,
            left,
            scan: None,
            counted: 0,
        }))
    }

    /// Counts on, up to `most`: whether it has come to its end.
    fn ends_within(
        &mut self,
        most: usize,
        read: Read,
        batch: &mut Batch,
        context: &mut ExecContext,
    ) -> Result<bool, Stop> {
        while self.counted <= most {
            context.tick()?;
            let Some(scan) = &mut self.scan else {
                let Some(range) = self.left.pop() else {
                    return Ok(true);
                };
                self.scan = Some(context.txn.scan(self.tree, range, false, read));
                continue;
            };
            scan.next(context.txn, batch, BATCH.min(most + 1 - self.counted))?;
            if batch.is_empty() {
                self.scan = None;
            }
            self.counted += batch.len();
        }
        Ok(false)
    }
}

impl BlockRun<'_> {
    /// Chooses the way to the rows of the source at `at`, if the plan leaves a choice. It is kept
    /// then, although the rows of the tables before will give it other values.
    pub(super) fn choose_way(&mut self, at: usize, context: &mut ExecContext) -> Result<(), Stop> {
        let (Some(source), Some(state)) = (self.block.sources.get(at), self.sources.get_mut(at))
        else {
            return Ok(());
        };
        let Input::Table(table, planned) = &source.input else {
            return Ok(());
        };
        // A correlated subquery runs too often, and often needs its first row only.
        if source.ways.is_empty()
            || !self.block.outer.is_empty()
            || std::mem::replace(&mut state.chosen, true)
        {
            return Ok(());
        }
        let block = self.block;
        let ends_early = block.limit.is_some()
            && block.grouping.is_none()
            && block.windowing.is_none()
            && (block.presorted || block.order.is_empty());
        let ordered = ends_early && block.presorted && at == 0;
        if ordered && let Some(way) = self.found_sooner(source, table, context)? {
            if let Some(state) = self.sources.get_mut(at) {
                state.way = Some(way);
            }
            return Ok(());
        }
        // What a search finds is known, and is what was planned for.
        if planned.search.is_some() {
            return Ok(());
        }
        // The planned path has no bounds: it is not counted, and stands unless another is short.
        let reads_all = planned.is_whole();
        let mut contenders = Vec::with_capacity(1 + source.ways.len());
        if !ordered && !reads_all {
            contenders.extend(Contender::new(None, table, planned, self, context)?);
        }
        let ways = source.ways.iter().enumerate();
        for (i, way) in ways.filter(|(_, way)| way.search.is_none()) {
            contenders.extend(Contender::new(
                Some(Way::Other(i)),
                table,
                way,
                self,
                context,
            )?);
        }
        if let [Contender { way: None, .. }] = contenders.as_slice() {
            return Ok(());
        }
        let most = match (ends_early, reads_all) {
            (true, _) => self.most_with_limit(source, context)?,
            (false, true) => COUNTED_MAX.min(source.estimate as usize / WORTH),
            (false, false) => COUNTED_MAX,
        };
        // To count takes no locks.
        let read = match read_mode(source, context) {
            Read::Plain => Read::Plain,
            Read::Newest | Read::Locking(..) => Read::Newest,
        };
        let mut batch = Batch::default();
        let mut far = COUNTED_FIRST.min(most);
        loop {
            for contender in &mut contenders {
                if contender.ends_within(far, read, &mut batch, context)? {
                    self.take_way(at, contender);
                    return Ok(());
                }
            }
            if far >= most {
                break;
            }
            far = far.saturating_mul(FARTHER).min(most);
        }
        // All are long. The first is the planned one, unless that is no use.
        if !ordered
            && !reads_all
            && let Some(first) = contenders.first()
        {
            self.take_way(at, first);
        }
        Ok(())
    }

    /// The way by a search, if to read and sort what it finds takes less than to go by the planned
    /// way, in order, until it has met enough of that.
    fn found_sooner(
        &self,
        source: &Source,
        table: &Table,
        context: &mut ExecContext,
    ) -> Result<Option<Way>, Stop> {
        let by_search = |way: &Access| way.search;
        let mut ways = source.ways.iter().map(by_search).enumerate();
        let Some((number, Some(search))) = ways.find(|(_, search)| search.is_some()) else {
            return Ok(None);
        };
        let answers = search::answers(source, table, context)?;
        let found = answers.get(search).map_or(0, |answer| answer.len()) as f64;
        let (count, offset) = limit_values(self.block.limit.as_ref(), context)?;
        let wanted = count.saturating_add(offset) as f64;
        let rows = context.engine.row_estimate(table) as f64;
        // A row that is not found is passed without being looked up.
        let met = wanted.min(found);
        let in_order = met * rows / found.max(1.0) * PASSED + met * LOOKED_UP;
        let sorted = found * LOOKED_UP;
        Ok((sorted <= in_order || found <= wanted).then_some(Way::Other(number)))
    }

    fn take_way(&mut self, at: usize, contender: &Contender) {
        if let Some(state) = self.sources.get_mut(at) {
            state.way = contender.way;
            state.ranges = Some(contender.ranges.clone());
        }
    }

    /// How many rows it is worth to read all of, rather than to go by the planned way until there
    /// are enough. If `n` of its `all` rows meet the conditions, that takes `all * limit / n` rows:
    /// as many if n² = all * limit.
    fn most_with_limit(&self, source: &Source, context: &mut ExecContext) -> Result<usize, Stop> {
        let (count, offset) = limit_values(self.block.limit.as_ref(), context)?;
        let limit = count.saturating_add(offset);
        let equal = (limit as f64 * source.estimate as f64).sqrt() as usize;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(equal.clamp(COUNTED_FIRST, COUNTED_MAX.max(limit)))
    }
}
