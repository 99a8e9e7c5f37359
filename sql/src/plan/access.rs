//! How a table is read: which index, and what is known of its key.
//!
//! How many rows a path reads is estimated from what the index is like (how many different values its
//! parts have) and from the shares that ranges leave with the values that parameters have while the
//! plan is made. Of a small table, which may grow, and where neither is known, there are rules of thumb:
//! each known part of an index finds a hundredth of the rest, or a thousandth if it is another row's
//! column, a range a twentieth or a sixth, a list of values or ranges never more than a sixth: who lists
//! them means few. A plan serves all values of its parameters: where these matter, other ways are left
//! for execution to choose from, see `exec/ways.rs`.

use super::{
    Access, Bound, Loose,
    in_turn::InTurn,
    known::{Facts, Known},
    walk,
};
use crate::expr::ArrayTest;
use cohort_engine::{
    txn::IndexStatistics,
    types::{Index, IndexPart, Table, key},
};
use rustc_hash::FxHashMap;
use std::{collections::BTreeSet, sync::Arc};

/// The order that is wanted: columns and whether descending.
pub(super) type Order = [(usize, bool)];

/// What the rows of a table are wanted for.
#[derive(Clone, Copy, Default)]
pub(super) struct Goal<'a> {
    /// ORDER BY, if this table alone can give it.
    pub order: Option<&'a Order>,
    /// There is a LIMIT: rows in the right order may end early.
    pub limit: bool,
    /// They are gathered into groups, of which all rows must come one after the other if groups are to
    /// come in the order of the path.
    pub in_turn: Option<&'a InTurn>,
    /// What of rows that repeat is enough.
    pub repeats: Option<&'a Repeats>,
}

/// Of rows that have the same values in some columns one is enough, besides the least and the greatest
/// value of another.
#[derive(Default)]
pub(super) struct Repeats {
    /// The columns.
    pub columns: Vec<u16>,
    /// The other.
    pub end: Option<u16>,
    /// Whether its least value is wanted, and its greatest.
    pub least: bool,
    /// See there.
    pub greatest: bool,
}

/// What the choice depends on.
pub(super) struct Request<'a> {
    pub table: &'a Table,
    pub rows: u64,
    /// What the entries of its indexes are like, if that can be told.
    pub statistics: &'a dyn Fn(&Index) -> Option<Arc<IndexStatistics>>,
    /// The shares of rows that conditions on single columns leave, with the values they have now.
    pub shares: &'a FxHashMap<usize, f64>,
    /// What the conditions say: every row that is wanted meets one of these.
    pub known: &'a [Facts],
    /// The columns that are needed, ascending.
    pub wanted: &'a [u16],
    /// What for.
    pub goal: Goal<'a>,
    /// Rows are locked or written: the row itself is needed.
    pub rows_needed: bool,
    /// A search that must find the rows: its number, and the name of its index.
    pub search: Option<(usize, &'a str)>,
    /// USE, FORCE and IGNORE INDEX.
    pub hints: &'a [(bool, Vec<String>)],
}

/// A choice: the access path, how many rows it reads, whether it gives the wanted order.
pub(super) struct Choice {
    pub access: Access,
    pub estimate: f64,
    /// How many rows it would read if the table were not very small.
    pub thought: f64,
    pub cost: f64,
    pub ordered: bool,
    /// Other paths, which may be better with the values that conditions have: see `Source::ways`.
    pub ways: Vec<Access>,
}

/// Chooses how to read a table.
pub(super) fn choose(request: &Request) -> Choice {
    let table = request.table;
    let indexes = std::iter::once(None).chain((0..table.indexes.len()).map(Some));
    // The whole of a multi-valued index are not all rows.
    let is_whole = |choice: &Choice| {
        let index = choice.access.index.and_then(|at| table.indexes.get(at));
        let has_array = index.is_some_and(|index| table.array_part(index).is_some());
        !has_array || !choice.access.alternatives.is_empty()
    };
    let mut candidates: Vec<Choice> = Vec::new();
    for index in indexes.filter(|index| allowed(request, *index)) {
        let choice = candidate(request, index);
        if choice.access.point {
            return choice;
        }
        candidates.extend(Some(choice).filter(is_whole));
    }
    candidates.extend(searching(request));
    candidates.extend(merging(request));
    candidates.extend(passing_over(request));
    candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    in_order_before_search(&mut candidates, request);
    let mut candidates = candidates.into_iter();
    let Some(mut best) = candidates.next() else {
        return candidate(request, None);
    };
    if best.access.loose.is_some() {
        return best;
    }
    let hopes = best.ordered && request.goal.limit;
    let forced = is_forced(request);
    let is_way = |other: &Choice| {
        let in_order = hopes && other.ordered;
        let unnamed = forced && other.access.index.is_none();
        // These are weighed by what is known of the index alone.
        let special = !other.access.merged.is_empty() || other.access.loose.is_some();
        !(in_order || unnamed || special || other.access.is_whole())
    };
    // With other values an index may be better than to read everything.
    let is_large = request.rows >= ROWS_MIN && best.access.is_whole();
    if hopes || is_large || is_open(table, &best.access) {
        let ways = candidates.filter(is_way).map(|other| other.access);
        best.ways = ways.take(WAYS_MAX).collect();
    }
    best
}

/// What a row costs that is looked up by an entry of an index; the next row of a scan costs 1. Measured:
/// 3.8 µs beside 0.65 µs, where a row has 16 columns.
pub(super) const INDEXED: f64 = 5.0;
/// So many other ways are weighed at most.
const WAYS_MAX: usize = 3;

/// Whether it depends on the values how many rows a path reads, of those that conditions bound.
fn is_open(table: &Table, access: &Access) -> bool {
    let Some(index) = index_of(table, access.index) else {
        return false;
    };
    let counted = |bounds: &Vec<Bound>| {
        finds_one(index, bounds)
            || index.unique && index.parts.len() == 1 && matches!(bounds.as_slice(), [Bound::In(_)])
    };
    !access.alternatives.is_empty() && !access.alternatives.iter().all(counted)
}

fn allowed(request: &Request, index: Option<usize>) -> bool {
    let name = match index {
        None => "PRIMARY",
        Some(i) => match request.table.indexes.get(i) {
            Some(index) if index.visible => index.name.as_str(),
            _ => return false,
        },
    };
    match index {
        // The table itself can always be read, unless that is ruled out.
        None => request
            .hints
            .iter()
            .all(|(wanted, names)| *wanted || !has_name(names, name)),
        Some(_) => may_use(request.hints, name),
    }
}

fn has_name(names: &[String], name: &str) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

/// Whether hints admit the index of this name. USE INDEX () uses none.
pub(super) fn may_use(hints: &[(bool, Vec<String>)], name: &str) -> bool {
    let admits = |(wanted, names): &(bool, Vec<String>)| has_name(names, name) == *wanted;
    hints.iter().all(admits)
}

/// The rows that a search finds are thought to be this share of all.
const FOUND_SHARE: f64 = 0.01;

/// How many rows a search finds is known when it is made. So if they are wanted in an order that an
/// index has, up to a LIMIT, the index is the plan and the search another way: execution chooses.
fn in_order_before_search(candidates: &mut Vec<Choice>, request: &Request) {
    let searches = |choice: &Choice| choice.access.search.is_some();
    let is_first = candidates
        .first()
        .is_some_and(|best| searches(best) && !best.ordered);
    let in_order = |choice: &Choice| choice.ordered && !searches(choice);
    if is_first
        && request.goal.limit
        && let Some(at) = candidates.iter().position(in_order)
    {
        let ordered = candidates.remove(at);
        candidates.insert(0, ordered);
    }
}

/// The path by a search that must find the rows.
fn searching(request: &Request) -> Option<Choice> {
    let (search, name) = request.search?;
    if !may_use(request.hints, name) {
        return None;
    }
    let table = request.table;
    // The key of a row is all that is known of it.
    let in_key = match &table.primary {
        Some(primary) => covers(table, primary, request.wanted),
        None => request.wanted.is_empty(),
    };
    let covering = !request.rows_needed && in_key;
    // The best comes first.
    let rank = table.columns.len() + search;
    let ordered = request
        .goal
        .order
        .is_some_and(|order| *order == [(rank, true)]);
    let thought = (request.rows.max(ROWS_MIN) as f64 * FOUND_SHARE).max(1.0);
    let per_row = if covering { 1.0 } else { INDEXED };
    let sorted = match request.goal.order {
        Some(_) if !ordered => sorting(thought),
        _ => 0.0,
    };
    Some(Choice {
        access: Access {
            search: Some(search),
            covering,
            ..Access::default()
        },
        estimate: (request.rows as f64 * FOUND_SHARE).max(1.0),
        thought,
        cost: thought * per_row + sorted,
        ordered,
        ways: Vec::new(),
    })
}

/// What it costs to find the next entry that begins otherwise, beside that of the next entry.
const PASSED_OVER: f64 = 12.0;

/// The path that passes over entries of an index which repeat, where not all of them are needed.
fn passing_over(request: &Request) -> Option<Choice> {
    let repeats = request.goal.repeats?;
    let parts = repeats.columns.len();
    if parts == 0 || request.rows < ROWS_MIN {
        return None;
    }
    let table = request.table;
    let by = |at: Option<usize>| {
        let index = index_of(table, at)?;
        let own = index.parts.get(..parts)?;
        let same =
            |part: &IndexPart| part.prefix.is_none() && repeats.columns.contains(&part.column);
        let end = table.entry_parts(index).nth(parts);
        let fits = match repeats.end {
            None => true,
            Some(wanted) => {
                end.is_some_and(|end| end.column == wanted && end.prefix.is_none() && !end.desc)
            }
        };
        if !fits || !own.iter().all(same) || table.array_part(index).is_some() {
            return None;
        }
        let statistics = (request.statistics)(index)?;
        let mut choice = candidate(request, at);
        let share = choice.estimate / statistics.entries.max(1) as f64;
        let groups = (statistics.distinct.get(parts - 1)? * share.min(1.0)).max(1.0);
        let covering = choice.access.covering || at.is_none();
        let reads =
            1.0 + f64::from(u8::from(repeats.least)) * 0.1 + f64::from(u8::from(repeats.greatest));
        let each = if covering {
            PASSED_OVER
        } else {
            PASSED_OVER + INDEXED
        };
        choice.ordered &= !choice.access.reverse;
        choice.access.reverse = false;
        choice.access.loose = Some(Loose {
            parts,
            least: repeats.least,
            greatest: repeats.greatest,
        });
        choice.estimate = groups * reads;
        choice.thought = choice.estimate;
        choice.cost = choice.estimate * each;
        if request.goal.order.is_some() && !choice.ordered {
            choice.cost += sorting(groups);
        }
        Some(choice)
    };
    let indexes = std::iter::once(None).chain((0..table.indexes.len()).map(Some));
    let choices = indexes.filter(|at| allowed(request, *at)).filter_map(by);
    choices.min_by(|a, b| a.cost.total_cmp(&b.cost))
}

/// The columns that slots are of, of a table whose first slot is this one, ascending.
pub(super) fn columns_of(slots: &BTreeSet<usize>, first: usize, columns: usize) -> Vec<u16> {
    slots
        .range(first..first + columns)
        .filter_map(|slot| u16::try_from(slot - first).ok())
        .collect()
}

/// What it costs to sort so many rows.
fn sorting(rows: f64) -> f64 {
    rows * 0.5 * (rows + 2.0).log2()
}

/// No more alternatives are looked at one by one.
const MERGED_MAX: usize = 100;

/// The path by several keys: for each alternative the one that finds the fewest rows by it. `None` if
/// there is one that none is good for, or if one key is the best for all. (MySQL: index merge, union
/// and sort-union.)
fn merging(request: &Request) -> Option<Choice> {
    let table = request.table;
    if request.known.len() < 2 || request.known.len() > MERGED_MAX {
        return None;
    }
    let rows = request.rows.max(1) as f64;
    let indexes: Vec<_> = std::iter::once(None)
        .chain((0..table.indexes.len()).map(Some))
        .filter(|at| allowed(request, *at))
        .filter_map(|at| Some((at, index_of(table, at)?)))
        .collect();
    let mut merged: Vec<Access> = Vec::new();
    let (mut estimate, mut thought, mut cost) = (0.0, 0.0, 0.0);
    for facts in request.known.chunks(1) {
        let by = |&(at, index): &(Option<usize>, &Index)| {
            let bounds = alternatives(table, index, facts);
            (!bounds.is_empty()).then(|| {
                let found = estimate_by(rows, request, Some(index), &bounds);
                let per_row = if at.is_some() { INDEXED } else { 1.0 };
                (at, bounds, found, found.1 * per_row)
            })
        };
        let ways = indexes.iter().filter_map(by);
        let (at, bounds, found, takes) = ways.min_by(|a, b| a.3.total_cmp(&b.3))?;
        estimate += found.0;
        thought += found.1;
        cost += takes;
        match merged.iter_mut().find(|path| path.index == at) {
            Some(path) if path.alternatives == bounds => {}
            Some(path) => path.alternatives.extend(bounds),
            None => merged.push(Access {
                index: at,
                alternatives: bounds,
                ..Access::default()
            }),
        }
    }
    if merged.len() < 2 {
        return None;
    }
    for path in &mut merged {
        path.point = is_point(index_of(table, path.index), &path.alternatives);
    }
    if request.goal.order.is_some() {
        cost += sorting(thought);
    }
    Some(Choice {
        access: Access {
            merged,
            ..Access::default()
        },
        estimate: f64::min(estimate, rows),
        thought,
        cost,
        ordered: false,
        ways: Vec::new(),
    })
}

/// Whether hints say which indexes to use.
fn is_forced(request: &Request) -> bool {
    request.hints.iter().any(|(wanted, _)| *wanted)
}

/// The index of an access path; `None` for a table without a primary key.
pub(crate) fn index_of(table: &Table, index: Option<usize>) -> Option<&Index> {
    match index {
        None => table.primary.as_ref(),
        Some(i) => table.indexes.get(i),
    }
}

/// A table is thought to have so many rows at least when a path is chosen: it may grow, and an
/// index of a small table costs next to nothing.
pub(super) const ROWS_MIN: u64 = 1000;

/// How many times larger or smaller a table must become for plans to be made anew.
const GROWTH: u64 = 10;

/// Whether a table of so many rows is to be read otherwise, perhaps, than when it had `planned`.
pub(super) fn outgrown(planned: u64, rows: u64) -> bool {
    let (planned, rows) = (planned.max(ROWS_MIN), rows.max(ROWS_MIN));
    rows / GROWTH >= planned || planned / GROWTH >= rows
}

fn candidate(request: &Request, at: Option<usize>) -> Choice {
    let table = request.table;
    let index = index_of(table, at);
    let alternatives =
        index.map_or_else(Vec::new, |index| alternatives(table, index, request.known));
    let point = is_point(index, &alternatives);
    let rows = request.rows.max(1) as f64;
    let (estimate, thought) = estimate_by(rows, request, index, &alternatives);
    let is_array = index.is_some_and(|index| table.array_part(index).is_some());
    let covering = at.is_some()
        && !request.rows_needed
        && !is_array
        && index.is_some_and(|i| covers(table, i, request.wanted));
    let mut access = Access {
        index: at,
        alternatives,
        reverse: false,
        covering,
        point,
        ..Access::default()
    };
    let mut ordered = false;
    let in_turn = request.goal.in_turn;
    if let Some(order) = request.goal.order
        && !is_array
        && let Some(reverse) = gives_order(table, index, &access, order)
        && in_turn.is_none_or(|groups| groups.come_by(table, &access).is_some())
    {
        ordered = true;
        access.reverse = reverse;
    }
    let per_row = match (at, covering) {
        (None, _) => 1.0,
        (Some(_), true) => 0.9,
        (Some(_), false) => INDEXED,
    };
    let mut cost = thought * per_row;
    if request.goal.order.is_some() {
        // Groups are sorted, not their rows.
        if !ordered && in_turn.is_none() {
            cost += sorting(thought);
        } else if ordered && request.goal.limit {
            let first = in_turn.zip(index).map(|(groups, index)| {
                let statistics = (request.statistics)(index);
                groups.rows_of_first(table, index, statistics.as_deref())
            });
            let first = first.unwrap_or(FIRST_ROWS) * per_row;
            cost = cost.min(first + cost * 0.01);
        }
    }
    // A forced index is used even if the table would be cheaper.
    if is_forced(request) && at.is_none() && !point {
        cost *= 1e6;
    }
    Choice {
        access,
        estimate,
        thought,
        cost,
        ordered,
        ways: Vec::new(),
    }
}

/// So many rows are thought to be read until enough of them are found that a LIMIT asks for.
const FIRST_ROWS: f64 = 30.0;

fn is_equal(bound: &Bound) -> bool {
    matches!(bound, Bound::Equal(_) | Bound::NullSafe(_) | Bound::IsNull)
}

/// Whether all parts of a unique key are known.
fn finds_one(index: &Index, bounds: &[Bound]) -> bool {
    let equal = bounds.iter().take_while(|b| is_equal(b)).count();
    index.unique && equal == index.parts.len() && index.parts.iter().all(|p| p.prefix.is_none())
}

/// Whether at most one row is found, by a key of which all is known.
fn is_point(index: Option<&Index>, alternatives: &[Vec<Bound>]) -> bool {
    match (index, alternatives) {
        (Some(index), [bounds]) => {
            finds_one(index, bounds) && bounds.iter().all(|b| matches!(b, Bound::Equal(_)))
        }
        _ => false,
    }
}

/// How many rows a path reads, and how many it would read if the table were not very small: then it
/// costs as much as if it had grown.
fn estimate_by(
    rows: f64,
    request: &Request,
    index: Option<&Index>,
    alternatives: &[Vec<Bound>],
) -> (f64, f64) {
    let estimate = estimate(rows, request, index, alternatives);
    let thought = match request.rows < ROWS_MIN {
        true => estimate_by_rules(ROWS_MIN as f64, index, alternatives),
        false => estimate,
    };
    (estimate, thought)
}

/// The most that lists of values or ranges are thought to find.
const LISTED_SHARE_MAX: f64 = 1.0 / 6.0;

/// How many rows a path reads.
fn estimate(
    rows: f64,
    request: &Request,
    index: Option<&Index>,
    alternatives: &[Vec<Bound>],
) -> f64 {
    let Some(index) = index.filter(|_| !alternatives.is_empty()) else {
        return rows;
    };
    let counted = |bounds: &Vec<Bound>| counted_by_key(rows, index, bounds);
    if let [bounds] = alternatives
        && let Some(counted) = counted(bounds)
    {
        return counted;
    }
    let Some(statistics) = (request.statistics)(index) else {
        return estimate_by_rules(rows, Some(index), alternatives);
    };
    let of_one = |bounds: &Vec<Bound>| {
        let by_statistics = || estimate_of_one(rows, request, index, &statistics, bounds);
        counted(bounds).unwrap_or_else(by_statistics)
    };
    alternatives
        .iter()
        .map(of_one)
        .sum::<f64>()
        .min(rows.max(statistics.entries as f64))
}

/// How many rows bounds find that are values of a unique key.
fn counted_by_key(rows: f64, index: &Index, bounds: &[Bound]) -> Option<f64> {
    if finds_one(index, bounds) {
        return Some(1.0);
    }
    match (bounds, index.parts.as_slice()) {
        ([Bound::In(list)], [_]) if index.unique => Some((list.len() as f64).min(rows)),
        _ => None,
    }
}

/// How many entries of an index are within bounds.
fn estimate_of_one(
    rows: f64,
    request: &Request,
    index: &Index,
    statistics: &IndexStatistics,
    bounds: &[Bound],
) -> f64 {
    let mut found = statistics.entries.max(1) as f64;
    let mut before = 1.0;
    for ((at, bound), part) in bounds
        .iter()
        .enumerate()
        .zip(request.table.entry_parts(index))
    {
        let distinct = statistics.distinct.get(at).copied().unwrap_or(found);
        // One of the values that go with those of the parts before.
        let one = before / distinct.max(before);
        before = distinct.max(before);
        let known = request.shares.get(&usize::from(part.column)).copied();
        // How rare a value is that few of the drawn rows have, they do not say.
        let drawn = |usual: f64| match known {
            Some(share) if share > FREQUENT_SHARE => share,
            Some(_) => usual.min(FREQUENT_SHARE),
            None => usual,
        };
        found *= match bound {
            Bound::Equal(e) | Bound::NullSafe(e) if !walk::is_constant(e) => one,
            Bound::Equal(_) | Bound::NullSafe(_) | Bound::IsNull => drawn(one),
            Bound::In(list) => drawn((one * list.len() as f64).min(1.0)),
            Bound::InRows { .. } => (one * ROWS_OF_SUBQUERY).min(1.0),
            Bound::Array(test) => match test.test {
                ArrayTest::Member | ArrayTest::Contains => one,
                // Of a few values.
                ArrayTest::Overlaps => (5.0 * one).min(1.0),
            },
            Bound::Range { .. } | Bound::Like(..) => known.unwrap_or_else(|| share_by_rule(bound)),
        };
    }
    found.max(1.0).min(rows.max(statistics.entries as f64))
}

/// A share that some of the drawn rows stand for, and not one or two by chance.
const FREQUENT_SHARE: f64 = 0.02;

/// How many rows a path reads of which nothing is known but how many there are in all.
fn estimate_by_rules(rows: f64, index: Option<&Index>, alternatives: &[Vec<Bound>]) -> f64 {
    let Some(index) = index.filter(|_| !alternatives.is_empty()) else {
        return rows;
    };
    let of_one = |bounds: &Vec<Bound>| {
        let by_rules = || {
            let shares = bounds.iter().map(share_by_rule);
            shares.fold(rows, |n, share| n * share).max(1.0)
        };
        counted_by_key(rows, index, bounds).unwrap_or_else(by_rules)
    };
    let found: f64 = alternatives.iter().map(of_one).sum();
    match alternatives {
        [_] => found,
        _ => found.min((rows * LISTED_SHARE_MAX).max(1.0)),
    }
}

/// So many different values a subquery is thought to have, if a table is to be read by them. How many it
/// has is known when it has run: see `exec/ways.rs`.
const ROWS_OF_SUBQUERY: f64 = 100.0;

/// What rows are joined by has many values, mostly.
pub(super) const RARE_SHARE: f64 = 0.001;

/// The share of entries that a bound leaves, if nothing is known.
fn share_by_rule(bound: &Bound) -> f64 {
    match bound {
        Bound::Equal(e) | Bound::NullSafe(e) if !walk::is_constant(e) => RARE_SHARE,
        Bound::Equal(_) | Bound::NullSafe(_) | Bound::IsNull => 0.01,
        Bound::In(list) => (0.01 * list.len() as f64).min(LISTED_SHARE_MAX),
        Bound::InRows { .. } => LISTED_SHARE_MAX,
        Bound::Array(test) => match test.test {
            ArrayTest::Member | ArrayTest::Contains => 0.01,
            // Of a few values.
            ArrayTest::Overlaps => 0.05,
        },
        Bound::Range {
            low: Some(_),
            high: Some(_),
        }
        | Bound::Like(..) => 0.05,
        Bound::Range { .. } => LISTED_SHARE_MAX,
    }
}

/// What is known of an index in each alternative; empty if nothing is known in one of them.
fn alternatives(table: &Table, index: &Index, known: &[Facts]) -> Vec<Vec<Bound>> {
    let mut found = Vec::with_capacity(known.len());
    for facts in known {
        let bounds = bounds(table, index, facts);
        // A row whose array is empty has no entry: all that are in it are found, and no others.
        let array = table.array_part(index);
        let in_array = |at| matches!(bounds.get(at), Some(Bound::Array(_)));
        if bounds.is_empty() || array.is_some_and(|at| !in_array(at)) {
            return Vec::new();
        }
        found.push(bounds);
    }
    // Alternatives on other columns say the same about these.
    found.dedup();
    found
}

/// What is known of the first parts of an index's entries: equalities as long as there are any, then
/// one range.
fn bounds(table: &Table, index: &Index, known: &[Known]) -> Vec<Bound> {
    let mut bounds = Vec::new();
    // A unique key needs no more than its own parts.
    let own = if index.unique {
        index.parts.len()
    } else {
        usize::MAX
    };
    for part in table.entry_parts(index).take(own) {
        let column = usize::from(part.column);
        let of = |wanted: fn(&Bound) -> bool| {
            known
                .iter()
                .find(|k| k.column == column && wanted(&k.bound))
                .map(|k| k.bound.clone())
        };
        let listed = |b: &Bound| matches!(b, Bound::In(_) | Bound::InRows { .. } | Bound::Array(_));
        if let Some(bound) = of(is_equal).or_else(|| of(listed)) {
            bounds.push(bound);
            continue;
        }
        if let Some(range) = range(column, known) {
            bounds.push(range);
        } else if let Some(like) = of(|b| matches!(b, Bound::Like(..)))
            && like_usable(table, *part)
        {
            bounds.push(like);
        }
        break;
    }
    bounds
}

fn like_usable(table: &Table, part: IndexPart) -> bool {
    let column = table.columns.get(usize::from(part.column));
    column.is_some_and(|c| c.ty.is_string()) && !part.desc
}

fn range(column: usize, known: &[Known]) -> Option<Bound> {
    let (mut least, mut greatest) = (None, None);
    for k in known.iter().filter(|k| k.column == column) {
        if let Bound::Range { low, high } = &k.bound {
            least = least.or_else(|| low.clone());
            greatest = greatest.or_else(|| high.clone());
        }
    }
    (least.is_some() || greatest.is_some()).then_some(Bound::Range {
        low: least,
        high: greatest,
    })
}

/// Whether the entries of an index hold all the wanted columns, decodable.
fn covers(table: &Table, index: &Index, wanted: &[u16]) -> bool {
    let Some(primary) = &table.primary else {
        return wanted.iter().all(|w| holds(table, index, *w));
    };
    wanted
        .iter()
        .all(|w| holds(table, index, *w) || holds(table, primary, *w))
}

fn holds(table: &Table, index: &Index, column: u16) -> bool {
    index.parts.iter().any(|part| {
        part.column == column
            && table
                .columns
                .get(usize::from(column))
                .is_some_and(|c| key::is_decodable(c, *part))
    })
}

/// The columns that have one value in all rows that a path reads.
pub(super) fn fixed(table: &Table, index: &Index, access: &Access) -> Vec<usize> {
    let bounds = match access.alternatives.as_slice() {
        [bounds] => bounds.as_slice(),
        _ => &[],
    };
    let parts = table.entry_parts(index).zip(bounds);
    let equal = parts.filter(|(_, bound)| is_equal(bound));
    equal.map(|(part, _)| usize::from(part.column)).collect()
}

/// Whether reading by this index gives rows in the wanted order; then whether backwards.
pub(super) fn gives_order(
    table: &Table,
    index: Option<&Index>,
    access: &Access,
    order: &Order,
) -> Option<bool> {
    let index = index?;
    let equal = fixed(table, index, access);
    let mut reverse = None;
    let mut order = order.iter().filter(|(column, _)| !equal.contains(column));
    let mut next = order.next();
    for part in table.entry_parts(index) {
        let Some(&(column, desc)) = next else { break };
        if equal.contains(&usize::from(part.column)) {
            let column = table.columns.get(usize::from(part.column));
            let one_key = column.is_some_and(|column| column.collation.has_one_beginning());
            if part.prefix.is_some() && !one_key {
                return None;
            }
            continue;
        }
        if usize::from(part.column) != column || part.prefix.is_some() {
            return None;
        }
        let backwards = desc != part.desc;
        if *reverse.get_or_insert(backwards) != backwards {
            return None;
        }
        next = order.next();
    }
    match next {
        None => Some(reverse.unwrap_or(false)),
        Some(_) => None,
    }
}
