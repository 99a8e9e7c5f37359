//! Large tables that are read by several threads.
//!
//! What is read of the first table is cut into parts of some thousand rows. The statement's thread and
//! its helpers take one part after the other, and read it as the statement alone would, with the tables
//! that are looked up for each row. Where rows are grouped, each thread has groups of its own, which are
//! put together when all parts are read ([`groups`]); else helpers keep the rows that conditions leave,
//! until the statement's thread comes to their part ([`rows`]), and whole groups likewise that come one after
//! the other. Each helper has a slot that nobody needed
//! (`Waiting::lend`), and looks after each row whether somebody does now; then it leaves the rest of its part
//! to others.
//!
//! Nobody can tell that there were helpers but by the time it took:
//!
//! - Rows and groups come in the order in which one thread meets them.
//! - Only aggregates whose result does not depend on the order of rows are computed so. A sum of DOUBLEs
//!   does, in its last digits.
//! - Only expressions that know nothing but the row and constants are evaluated by helpers.
//! - Where anything is out of the ordinary, a warning, an error, what does not fit into memory, all of it
//!   is forgotten, and the statement's thread reads these rows as if it were alone.
//!
//! Tried and rejected: parts of equal size for each thread, decided at the start. Whoever has a part
//! with many matching rows is waited for, and a helper that is wanted elsewhere has nothing to give back.

mod groups;
mod known;
mod rows;
mod team;

pub(super) use groups::groups;
pub(super) use rows::{groups_in_turn, rows};

use super::{ExecContext, Stop, block::BlockRun, key::Ranges};
use crate::plan::{Access, Block, Computed, Input, index_of};
use cohort_engine::{
    env::processors,
    invariant::broken,
    txn::{KeyRange, Read},
    types::{Index, Table, TreeId, key as keys},
};
use known::Known;
use std::collections::BTreeMap;
use team::Team;

/// What takes less is read by one thread: about 4 milliseconds. 1 is the next row of a scan, ...
const WORK_MIN: f64 = 10_000.0;
/// ... and this a row of a table that is looked up.
const LOOKED_UP: f64 = 4.0;
/// What it costs to try a row that is kept.
const TRIED: f64 = 0.3;
/// What it costs to ask a subquery for each row; other conditions come first.
const ASKED: f64 = 1.0;
/// A part is so much work, about: a helper that is wanted elsewhere is so in a millisecond or two.
const PART_WORK: f64 = 2_000.0;
const PARTS_MAX: f64 = 4_096.0;
/// What is left of a part that is larger than was thought is cut into so many.
const REST_PARTS: usize = 16;

/// Parts of what is read, by their first keys, in whose order they are read.
type Parts = BTreeMap<Vec<u8>, KeyRange>;

/// Cuts a range of a tree into so many parts, about.
fn cut(
    range: &KeyRange,
    (tree, count): (TreeId, usize),
    parts: &mut Parts,
    context: &mut ExecContext,
) -> Result<(), Stop> {
    let cut = context.txn.parts(tree, range, count)?;
    parts.extend(cut.into_iter().map(|part| (part.low.clone(), part)));
    Ok(())
}

/// What is read of the first table.
struct First<'b> {
    table: &'b Table,
    access: &'b Access,
    index: Option<&'b Index>,
    tree: TreeId,
    ranges: Vec<KeyRange>,
    /// So many parts are to be made of it.
    parts: usize,
}

impl First<'_> {
    /// Counts that reading has begun, once.
    fn count_start(&self, context: &mut ExecContext) {
        let handler = &mut context.handler;
        match (self.access.is_whole(), self.access.index.is_some()) {
            (true, true) => handler.read_first += 1,
            (true, false) => handler.read_rnd_next += 1,
            (false, _) => handler.read_key += self.ranges.len() as u64,
        }
    }

    /// Has each group in one part, where the rows of each come one after the other, and so many first parts
    /// of a key tell groups apart.
    fn whole_groups(
        &self,
        parts: Parts,
        parts_of_key: usize,
        context: &mut ExecContext,
    ) -> Result<Parts, Stop> {
        let mut whole = Parts::new();
        let mut before: Option<KeyRange> = None;
        for part in parts.into_values() {
            let Some(last) = &mut before else {
                before = Some(part);
                continue;
            };
            let first = context.txn.end_key(self.tree, &part, false)?;
            let begin = first.map(|key| self.begin_of_group(&key, parts_of_key));
            match begin.transpose()?.filter(|begin| *begin > last.low) {
                // All of it belongs to the group before, or there is nothing in it.
                None => last.high = part.high,
                Some(begin) => {
                    last.high = Some(begin.clone());
                    whole.insert(last.low.clone(), last.clone());
                    before = Some(KeyRange { low: begin, ..part });
                }
            }
        }
        whole.extend(before.map(|last| (last.low.clone(), last)));
        Ok(whole)
    }

    /// How the keys of a group begin that one of them is in.
    fn begin_of_group(&self, key: &[u8], parts_of_key: usize) -> Result<Vec<u8>, Stop> {
        let index = self
            .index
            .ok_or_else(|| broken("groups come in turn by a key"))?;
        let length = keys::parts_length(self.table, index, parts_of_key, key)?;
        let begin = key.get(..length);
        Ok(begin
            .ok_or_else(|| broken("a key is as long as its parts"))?
            .to_vec())
    }

    /// Its parts.
    fn parts(&self, context: &mut ExecContext) -> Result<Parts, Stop> {
        let count = self.parts.div_ceil(self.ranges.len().max(1));
        let mut parts = Parts::new();
        for range in &self.ranges {
            cut(range, (self.tree, count), &mut parts, context)?;
        }
        Ok(parts)
    }
}

/// Who reads a block, and what.
struct Plan<'b> {
    first: First<'b>,
    parts: Parts,
    team: Team,
    /// The subqueries that are needed for it.
    subqueries: Vec<usize>,
}

/// How several threads read a block, and evaluate these expressions of each row. If groups come in turn:
/// so many first parts of a key tell them apart, and none is cut. `None`: one thread is to read it.
fn plan<'b>(
    run: &mut BlockRun<'b>,
    others: impl Iterator<Item = &'b Computed>,
    in_turn: Option<usize>,
    context: &mut ExecContext,
) -> Result<Option<Plan<'b>>, Stop> {
    let block = run.block;
    let most = context.threads.min(processors());
    let is_fit = context.plain_read == Read::Plain
        && context.measures.is_none()
        && block.outer.is_empty()
        && block.early.is_empty()
        // Each thread would choose by the rows it meets.
        && block.sources.iter().skip(1).all(|source| source.ways.is_empty());
    if most < 2 || !is_fit {
        return Ok(None);
    }
    let Some(subqueries) = known::needed(block, others) else {
        return Ok(None);
    };
    let Some(first) = first(run, context)? else {
        return Ok(None);
    };
    let mut parts = match in_turn {
        // A group could have rows in several of them.
        Some(_) if first.ranges.len() > 1 => return Ok(None),
        _ => first.parts(context)?,
    };
    if let Some(parts_of_key) = in_turn {
        parts = first.whole_groups(parts, parts_of_key, context)?;
    }
    if parts.len() < 2 {
        return Ok(None);
    }
    let Some(team) = Team::new(most - 1, context) else {
        return Ok(None);
    };
    if Known::of(run, &subqueries).is_none() {
        team.give_back();
    }
    Ok(Some(Plan {
        first,
        parts,
        team,
        subqueries,
    }))
}

/// What is read of the first table, if it is some of a tree, each entry once.
fn first<'b>(run: &mut BlockRun<'b>, context: &mut ExecContext) -> Result<Option<First<'b>>, Stop> {
    let source = run.block.sources.first();
    let Some((source, Input::Table(table, access))) = source.map(|source| (source, &source.input))
    else {
        return Ok(None);
    };
    let rows = match access.is_whole() {
        true => context.engine.row_estimate(table),
        false => source.estimate,
    };
    let looks_up = access.index.is_some() && !access.covering;
    let work = work(run.block, rows as f64, looks_up);
    let parts = (work / PART_WORK).min(PARTS_MAX);
    let index = index_of(table, access.index);
    let is_array = index.is_some_and(|index| table.array_part(index).is_some());
    let is_usual = access.loose.is_none() && access.merged.is_empty() && !access.reverse;
    // Another way than the plan's was taken since it has few rows.
    let is_first = source.outer_join.is_none() && source.kept.is_none();
    let is_usual = is_usual && is_first && !is_array && !run.other_way();
    if work < WORK_MIN || (rows as f64) < parts || !is_usual {
        return Ok(None);
    }
    let all = || KeyRange {
        low: Vec::new(),
        high: None,
    };
    let ranges = match access.is_whole() {
        true => Some(vec![all()]),
        false if !run.first_bounds_usable(context)? => None,
        // If one thread is to read them, they are known.
        false => {
            let state = run.sources.first();
            let ranges = state.and_then(|state| state.ranges.clone());
            ranges.and_then(Ranges::into_list)
        }
    };
    let by_index = index.filter(|_| access.index.is_some());
    Ok(ranges.map(|ranges| First {
        table,
        access,
        index,
        tree: by_index.map_or(table.rows, |index| index.tree),
        ranges,
        parts: parts as usize, // at most PARTS_MAX
    }))
}

/// How much work it is, about, to read a block whose first table has so many rows to be read, each of
/// which is perhaps looked up.
fn work(block: &Block, rows: f64, looks_up: bool) -> f64 {
    let mut left = rows;
    let mut work = rows * if looks_up { LOOKED_UP } else { 1.0 };
    let is_asked_for_each = |n: &usize| {
        let subquery = block.subqueries.get(*n);
        subquery.is_some_and(|subquery| subquery.query.correlated)
    };
    if let Some(first) = block.sources.first() {
        let needed = first.filter.iter().flat_map(|one| &one.subqueries);
        work += rows * ASKED * needed.filter(|n| is_asked_for_each(n)).count() as f64;
    }
    for pair in block.sources.windows(2) {
        let [before, source] = pair else {
            continue;
        };
        left *= before.share;
        match &source.kept {
            None => {
                left *= source.estimate as f64;
                work += left * LOOKED_UP;
            }
            // How many rows have the same key is not known.
            Some(keys) if !keys.is_empty() => work += left * LOOKED_UP,
            Some(_) => work += left * source.estimate as f64 * TRIED,
        }
    }
    work
}
