//! The order in which a block's tables are joined.
//!
//! Each table is read once for every row of those before it, by a path that looks up what matches, or it is
//! read once into a hash table. What an order costs is the sum over its tables of how often each is
//! read times what that takes; how often follows from how many rows those before it leave: the product
//! of their sizes, of the shares that conditions leave of each (`figures`), and of the shares that the
//! equalities between them leave (one over the number of different values). Costs are in units of what
//! it takes to read the next row of a scan. Example, with 25 nations and 1,000 suppliers, of which
//! `s_nationkey` has 25 values:
//!
//! ```text
//! nation (n_name = 'PERU'), then supplier by s_nationkey
//!     25 + 1 * (LOOKUP + 40 * INDEXED)            reads 25 and 40 rows
//! supplier, then nation by its primary key
//!     1000 + 1000 * (LOOKUP + 1)                  reads 1,000 and 1,000 rows
//! ```
//!
//! For up to `SEARCHED_MAX` tables the best order of every set of them is found from those of the sets
//! with one table less; of more, or if that takes too long, the table is always added next that costs least. Inner tables of outer
//! joins come last, as written: what their ON refers to is there then, and conditions on them can
//! wait.

use super::{
    Planner,
    access::{self, Choice, Goal},
    from::{From, Leaf},
    place::{Outlook, hash_keys, leaf_of},
    scope::Names,
    walk,
};
use crate::{error::SqlError, expr::Expr, interrupt};
use cohort_engine::{
    txn::Engine,
    types::{Index, Table, row},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// So many tables are put in order by looking at every set of them, ...
const SEARCHED_MAX: usize = 10;
/// ... if what it means to read a table after others need not be found out oftener: where each table
/// has conditions with each other that takes long.
const STEPS_MAX: usize = 256;

/// What it costs to come to the first row that is looked up.
const LOOKUP: f64 = 4.0;
/// What it costs to put a row into a hash table, ...
pub(super) const HASHED: f64 = 2.0;
/// ... and to look for those that match one.
const PROBED: f64 = 1.5;
/// What it costs to keep a row without a hash table, ...
const KEPT: f64 = 1.0;
/// ... and to try whether it matches.
const TRIED: f64 = 0.3;
/// What a row costs that comes out.
pub(super) const JOINED: f64 = 0.3;
/// No more rows than these are kept if there is another way: they take memory.
pub(super) const KEPT_ROWS_MAX: f64 = 200_000.0;
/// What finds more rows than these each time is no other way: by a range, say, of which nothing is known.
const FOUND_MAX: f64 = 1_000.0;
/// The share that an equality with a column leaves of which nothing is known.
const EQUAL_SHARE: f64 = 0.1;

/// Tables as bits, by their positions in FROM.
type Set = u64;

/// What it means to read a table after some others.
#[derive(Clone, Copy)]
struct Step {
    /// How many rows it makes of each that is there.
    factor: f64,
    /// What it costs to read it for one row.
    each: f64,
    /// What it costs to read it once and keep its rows, and then for each row, if that can be done.
    kept: Option<(f64, f64)>,
}

/// How a table is read after those before it.
#[derive(Clone, Copy, Default)]
pub(super) struct Turn {
    /// It is read once and kept, although it could be read for each row.
    pub kept: bool,
    /// What it costs to read it for all rows before it.
    pub cost: f64,
}

/// An order, or the beginning of one.
#[derive(Clone)]
struct Order {
    leaves: Vec<usize>,
    cost: f64,
    rows: f64,
}

impl Step {
    /// What it costs to read the table for so many rows, and whether its rows are kept.
    fn cost(&self, rows: f64) -> (f64, bool) {
        let times = rows.max(1.0);
        let each = times * self.each;
        let kept = self.kept.map(|(once, each)| once + times * each);
        match kept {
            Some(kept) if kept < each => (kept, true),
            _ => (each, false),
        }
    }
}

impl Order {
    fn then(&self, leaf: usize, step: Step) -> Order {
        let rows = self.rows * step.factor;
        let mut leaves = self.leaves.clone();
        leaves.push(leaf);
        Order {
            leaves,
            cost: self.cost + step.cost(self.rows).0 + rows * JOINED,
            rows,
        }
    }
}

impl Planner<'_> {
    /// The leaves in the order they are read: as written if the user insists, else the cheapest.
    pub(super) fn join_order(
        &mut self,
        from: &From,
        outlook: &Outlook,
    ) -> Result<Vec<usize>, SqlError> {
        let count = from.leaves.len();
        if count < 2 || from.straight {
            return Ok((0..count).collect());
        }
        let is_inner = |leaf: &usize| from.groups.iter().any(|g| g.leaves.contains(leaf));
        let (inner, free): (Vec<usize>, Vec<usize>) = (0..count).partition(is_inner);
        let mut search = Search {
            before: before(from, &free),
            neighbours: (0..count)
                .map(|leaf| self.neighbours(leaf, outlook))
                .collect(),
            known: FxHashMap::default(),
        };
        let mut order = match free.len() {
            0 | 1 => free,
            n => {
                let best = match n <= SEARCHED_MAX {
                    true => self.best_order(from, outlook, &free, &mut search)?,
                    false => None,
                };
                match best {
                    Some(best) => best,
                    None => self.quick_order(from, outlook, &free, &mut search)?,
                }
            }
        };
        order.extend(inner);
        Ok(order)
    }

    /// How each table is read in an order.
    pub(super) fn turns(
        &mut self,
        from: &From,
        outlook: &Outlook,
        order: &[usize],
    ) -> Result<Vec<Turn>, SqlError> {
        let mut rows = 1.0;
        let mut turns = Vec::with_capacity(order.len());
        for (position, &leaf) in order.iter().enumerate() {
            let before = order.get(..position).unwrap_or_default();
            if order.len() < 2 {
                let figure = outlook.figures.of(leaf);
                turns.push(Turn {
                    kept: false,
                    cost: figure.map_or(0.0, |figure| figure.rows as f64),
                });
                continue;
            }
            let step = self.step(from, outlook, leaf, before)?;
            let (cost, kept) = step.cost(rows);
            turns.push(Turn { kept, cost });
            rows *= step.factor;
        }
        Ok(turns)
    }

    /// The leaves that stand with one in a condition.
    fn neighbours(&mut self, leaf: usize, outlook: &Outlook) -> Set {
        let names = self.names();
        let mut neighbours = 0;
        for condition in outlook.top.iter().chain(&outlook.implied) {
            let leaves = leaves_in(condition, names);
            if leaves & (1 << leaf) != 0 {
                neighbours |= leaves;
            }
        }
        neighbours & !(1 << leaf)
    }

    /// `None`: that takes too long.
    fn best_order(
        &mut self,
        from: &From,
        outlook: &Outlook,
        free: &[usize],
        search: &mut Search,
    ) -> Result<Option<Vec<usize>>, SqlError> {
        let sets = 1_usize << free.len();
        let mut best: Vec<Option<Order>> = vec![None; sets];
        best[0] = Some(Order::nothing());
        for set in 0..sets {
            let Some(here) = best.get_mut(set).and_then(Option::take) else {
                continue;
            };
            for (at, &leaf) in free.iter().enumerate() {
                let with = set | 1 << at;
                if with == set || !search.may_follow(leaf, &here.leaves) {
                    continue;
                }
                let step = search.step(self, from, outlook, leaf, &here.leaves)?;
                if search.known.len() > STEPS_MAX {
                    return Ok(None);
                }
                let longer = here.then(leaf, step);
                let known = best.get(with).and_then(Option::as_ref);
                if known.is_none_or(|known| longer.cost < known.cost)
                    && let Some(place) = best.get_mut(with)
                {
                    *place = Some(longer);
                }
            }
            if set + 1 == sets {
                return Ok(Some(here.leaves));
            }
        }
        Ok(None)
    }

    fn quick_order(
        &mut self,
        from: &From,
        outlook: &Outlook,
        free: &[usize],
        search: &mut Search,
    ) -> Result<Vec<usize>, SqlError> {
        let mut order = Order::nothing();
        while order.leaves.len() < free.len() {
            let mut cheapest: Option<Order> = None;
            for &leaf in free.iter().filter(|leaf| !order.leaves.contains(leaf)) {
                if !search.may_follow(leaf, &order.leaves) {
                    continue;
                }
                let step = search.step(self, from, outlook, leaf, &order.leaves)?;
                let longer = order.then(leaf, step);
                if cheapest
                    .as_ref()
                    .is_none_or(|least| longer.cost < least.cost)
                {
                    cheapest = Some(longer);
                }
            }
            match cheapest {
                Some(cheapest) => order = cheapest,
                None => break,
            }
        }
        Ok(order.leaves)
    }

    /// What it means to read a leaf after these.
    fn step(
        &mut self,
        from: &From,
        outlook: &Outlook,
        leaf: usize,
        before: &[usize],
    ) -> Result<Step, SqlError> {
        interrupt::look()?;
        let Some(figure) = outlook.figures.of(leaf) else {
            return Ok(Step::NOTHING);
        };
        let rows = figure.rows.max(1) as f64;
        let conditions = outlook.conditions(leaf);
        let names = self.names();
        let linked = linked_columns(conditions, names, leaf, before);
        let hashes = !linked.is_empty() && !hash_keys(conditions, names, leaf, before).is_empty();
        let searches = self.searches(leaf);
        let choice = self.choose(from, leaf, before, conditions, outlook, Goal::default());
        let alone = self.choose(from, leaf, &[], conditions, outlook, Goal::default());
        let (Some(choice), Some(alone)) = (choice, alone) else {
            // It is computed once.
            return Ok(Step {
                factor: rows * figure.share * EQUAL_SHARE.powi(linked.len().min(4) as i32),
                each: rows,
                kept: hashes.then_some((rows * (1.0 + HASHED), PROBED)),
            });
        };
        let engine = self.context.engine;
        let at = from.leaves.get(leaf);
        let share = at.and_then(Leaf::stored).map_or(EQUAL_SHARE, |table| {
            equal_share(engine, table, rows, &linked)
        });
        let kept = rows.max(access::ROWS_MIN as f64) * figure.share;
        let locks = at.is_some_and(|leaf| leaf.lock.is_some());
        let fits = kept <= KEPT_ROWS_MAX && !locks && !outlook.in_haste;
        // It takes no more memory than it should, or there is no other way.
        let is_found = choice.access.bounds().next().is_some() && choice.thought <= FOUND_MAX;
        let no_hash = at.is_some_and(|leaf| leaf.no_hash);
        let may_hash = hashes && !no_hash && (fits || !is_found);
        let once = reading(&alone);
        let (each_kept, each_tried) = match may_hash {
            true => (HASHED, PROBED),
            false => (KEPT, kept * TRIED),
        };
        let may = !searches && (may_hash || fits && !hashes);
        Ok(Step {
            factor: rows * figure.share * share,
            each: reading(&choice),
            kept: may.then_some((once + kept * each_kept, each_tried)),
        })
    }
}

/// What hints say of the order of these leaves: pairs of those of which the first is read before the second. None
/// if that is no order.
fn before(from: &From, free: &[usize]) -> Vec<(usize, usize)> {
    let both = |(one, other): &&(usize, usize)| free.contains(one) && free.contains(other);
    let before: Vec<(usize, usize)> = from.before.iter().filter(both).copied().collect();
    let mut left: Vec<usize> = free.to_vec();
    while !left.is_empty() {
        let waits = |leaf: &usize| {
            let mut pairs = before.iter();
            pairs.any(|(one, other)| other == leaf && left.contains(one))
        };
        match left.iter().position(|leaf| !waits(leaf)) {
            Some(at) => left.remove(at),
            None => return Vec::new(),
        };
    }
    before
}

/// What it costs to read a table by a path. A very small table counts as a larger one, for the plan
/// serves until it has become one.
pub(super) fn reading(choice: &Choice) -> f64 {
    let access = &choice.access;
    let is_entry = access.index.is_some() || access.search.is_some() || !access.merged.is_empty();
    let row = if is_entry && !access.covering {
        access::INDEXED
    } else {
        1.0
    };
    let lookup = if access.is_whole() { 0.0 } else { LOOKUP };
    lookup + choice.thought * row
}

/// The columns of a leaf that must equal something of the rows before.
fn linked_columns(conditions: &[Expr], names: &Names, leaf: usize, before: &[usize]) -> Vec<usize> {
    let Some(first) = names.tables.get(leaf).map(|table| table.first_slot) else {
        return Vec::new();
    };
    let there = before.iter().fold(0, |set: Set, leaf| set | 1 << leaf);
    let mut columns = Vec::new();
    for (left, right, _) in conditions.iter().filter_map(walk::equality) {
        for (own, other) in [(left, right), (right, left)] {
            let slot = walk::slot(own).filter(|slot| leaf_of(*slot, names) == Some(leaf));
            // A constant is tried on drawn rows; the value of an enclosing query is not.
            let is_there = !walk::is_constant(other) && leaves_in(other, names) & !there == 0;
            if let Some(slot) = slot.filter(|_| is_there) {
                columns.extend(slot.checked_sub(first));
            }
        }
    }
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The share of a table's rows that have given values in some columns.
fn equal_share(engine: &Engine, table: &Table, rows: f64, columns: &[usize]) -> f64 {
    let leading = |index: &Index| {
        let parts = index.parts.iter();
        let known = parts.take_while(|part| {
            part.prefix.is_none() && columns.contains(&usize::from(part.column))
        });
        known.count()
    };
    let longest = table.keys().max_by_key(|index| leading(index));
    let longest = longest.map(|index| (index, leading(index)));
    let (mut share, mut left) = (1.0, columns.to_vec());
    if let Some((index, parts)) = longest.filter(|(_, parts)| *parts > 0) {
        let statistics = engine.index_statistics(table, index);
        let distinct = statistics.and_then(|s| s.distinct.get(parts - 1).copied());
        share = 1.0 / distinct.unwrap_or(rows * access::RARE_SHARE).max(1.0);
        let counted = index.parts.iter().take(parts);
        let counted: Vec<usize> = counted.map(|part| usize::from(part.column)).collect();
        left.retain(|column| !counted.contains(column));
    }
    for column in left {
        let index = table.keys().find(|index| {
            let first = index.parts.first();
            first.is_some_and(|part| usize::from(part.column) == column && part.prefix.is_none())
        });
        let statistics = index.and_then(|index| engine.index_statistics(table, index));
        let distinct = statistics.and_then(|s| s.distinct.first().copied());
        let distinct = distinct.or_else(|| different(engine, table, rows, column));
        share *= distinct.map_or(EQUAL_SHARE, |distinct| 1.0 / distinct.max(1.0));
    }
    share
}

/// About how many different values a column has that no index begins with: as many as the rows that are
/// drawn have, or, if these nearly all differ, in the same measure of all rows.
fn different(engine: &Engine, table: &Table, rows: f64, column: usize) -> Option<f64> {
    let drawn = engine.drawn_rows(table);
    let position = u16::try_from(column).ok()?;
    let mut values = FxHashSet::default();
    for at in 0..drawn.len() {
        let raw = row::raw_values(table, drawn.get(at).1, std::iter::once(position)).ok()?;
        values.insert(raw.first()?.map(<[u8]>::to_vec));
    }
    let (count, all) = (values.len() as f64, drawn.len() as f64);
    match count * 2.0 > all {
        true => Some(rows * count / all),
        false => (count > 0.0).then_some(count),
    }
}

fn leaves_in(expr: &Expr, names: &Names) -> Set {
    let mut leaves = 0;
    walk::slots(expr, &mut |slot| {
        leaves |= leaf_of(slot, names).map_or(0, |leaf| 1 << leaf);
    });
    leaves
}

/// What is known of steps so far. What a table costs depends only on those before it that it has
/// conditions with.
struct Search {
    /// See `before`.
    before: Vec<(usize, usize)>,
    neighbours: Vec<Set>,
    known: FxHashMap<(usize, Set), Step>,
}

impl Search {
    /// Whether a leaf may be read after these.
    fn may_follow(&self, leaf: usize, there: &[usize]) -> bool {
        let mut pairs = self.before.iter().filter(|(_, other)| *other == leaf);
        pairs.all(|(one, _)| there.contains(one))
    }

    fn step(
        &mut self,
        planner: &mut Planner<'_>,
        from: &From,
        outlook: &Outlook,
        leaf: usize,
        before: &[usize],
    ) -> Result<Step, SqlError> {
        let neighbours = self.neighbours.get(leaf).copied().unwrap_or(0);
        let met = |leaf: &&usize| neighbours & (1 << **leaf) != 0;
        let met: Vec<usize> = before.iter().filter(met).copied().collect();
        let set = met.iter().fold(0, |set: Set, leaf| set | 1 << leaf);
        if let Some(step) = self.known.get(&(leaf, set)) {
            return Ok(*step);
        }
        let step = planner.step(from, outlook, leaf, &met)?;
        self.known.insert((leaf, set), step);
        Ok(step)
    }
}

impl Step {
    const NOTHING: Step = Step {
        factor: 1.0,
        each: 0.0,
        kept: None,
    };
}

impl Order {
    fn nothing() -> Order {
        Order {
            leaves: Vec::new(),
            cost: 0.0,
            rows: 1.0,
        }
    }
}
