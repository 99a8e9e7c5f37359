//! The order of a block's tables, how each is read, and where each condition is checked.
//!
//! A condition is checked as soon as all it needs is there. Inner tables of an outer join are
//! special: their own ON decides what matches, and conditions of WHERE on them wait until the
//! row is matched or filled with NULL. Where WHERE cannot hold for such a row of NULLs, the outer
//! join is an inner one.

use super::{
    Access, Aggregate, AggregateFunction, Block, Bound, Computed, Condition, Input, Planner,
    SizeSeen, SortKey, Source, Subquery, Usage,
    access::{self, Choice, Goal, Request},
    apart, disjunction,
    figures::{Figures, computed_rows},
    from::{From, Group, Leaf, LeafInput},
    implied::implied,
    join_order, known,
    named::NamedTable,
    scope::{Names, slot_expr},
    search::{self, Rank, Search},
    selective::is_selective,
    walk, window,
};
use crate::{
    error::SqlError,
    expr::{BinaryOp, Expr, ExprType, infer},
};
use cohort_engine::types::{Collation, ColumnType, Date, DateTime, Value};
use std::collections::BTreeSet;

/// What the choice of access paths and of the join order depends on, beside the tables.
pub(super) struct Outlook {
    /// All slots that anything in the block reads.
    pub wanted: BTreeSet<usize>,
    /// The conditions of WHERE and of inner joins.
    pub top: Vec<Expr>,
    /// What follows from those.
    pub implied: Vec<Expr>,
    /// The conditions that may restrict how each leaf is read.
    of_leaves: Vec<Vec<Expr>>,
    /// What is known of the tables.
    pub figures: Figures,
    /// The first rows are wanted soon, or the block runs once for each row of another: no hash table is
    /// made where rows can be looked up.
    pub in_haste: bool,
}

impl Outlook {
    fn new(from: &From, top: Vec<Expr>, names: &Names) -> Outlook {
        let implied = implied(&top);
        let of_leaf = |leaf: usize| {
            let is_inner = from.groups.iter().any(|g| g.leaves.contains(&leaf));
            let implied = implied.iter().filter(|_| !is_inner);
            let conditions = usable(from, &top, leaf).iter().chain(implied);
            let on_it = |condition: &&Expr| leaves_of(condition, names) & (1 << leaf) != 0;
            conditions.filter(on_it).cloned().collect()
        };
        Outlook {
            of_leaves: (0..from.leaves.len()).map(of_leaf).collect(),
            wanted: BTreeSet::new(),
            figures: Figures::default(),
            in_haste: false,
            top,
            implied,
        }
    }

    /// The conditions that may restrict how a leaf is read.
    pub fn conditions(&self, leaf: usize) -> &[Expr] {
        self.of_leaves.get(leaf).map_or(&[], Vec::as_slice)
    }
}

/// Where a condition is checked.
enum Place {
    /// Once.
    Constant,
    /// With the row of the source at this position.
    Filter(usize),
    /// After the outer join whose inner tables begin at this position.
    After(usize),
}

/// Tables as bits.
type Set = u64;

struct Placer<'a> {
    names: &'a Names,
    /// The leaf at each position.
    order: Vec<usize>,
    groups: &'a [Group],
}

impl Planner<'_> {
    /// Completes a block: sources, conditions, slots. Takes what the names have gathered.
    pub(super) fn place(
        &mut self,
        block: &mut Block,
        mut from: From,
        conditions: Vec<Expr>,
    ) -> Result<(), SqlError> {
        block.keeps_variables = !self.text.assigns();
        let mut top = std::mem::take(&mut from.conditions);
        let of_where = top.len()..top.len() + conditions.len();
        top.extend(conditions);
        {
            let names = self.names();
            simplify_outer_joins(&mut from, &mut top, names);
            for condition in top.get_mut(of_where).unwrap_or_default() {
                find_zero_dates(condition, &from, names);
            }
        }
        self.know_bounds(&mut top);
        let mut top = disjunction::factored(top);
        self.substitute(block, &mut from, &mut top);
        top.extend(disjunction::of_single_tables(&top, &from, self.names()));
        let wanted = self.wanted(block, &from, &top);
        let in_haste = ends_early(block)
            || !self.names().outer.is_empty()
            || self.exists_at == Some(self.stack.len());
        let mut outlook = Outlook {
            figures: self.sizes(&from),
            wanted,
            in_haste,
            ..Outlook::new(&from, top, self.names())
        };
        if self.must_choose(&from, &outlook) {
            outlook.figures = self.figures(&from, &outlook.top);
        }
        let order = self.join_order(&from, &outlook)?;
        self.sources(block, from, &outlook, &order)?;
        block.counted = counted(block);
        let names = self.names();
        window::keep_slots(block, names);
        block.slots = names.slots;
        block.outer = names
            .outer
            .iter()
            .map(|&(from, to, _)| (from, to))
            .collect();
        block.early = early(block, names);
        block.subqueries = std::mem::take(&mut names.subqueries);
        names.searches.clear();
        // What comes from outside is the same for all rows.
        let inside = |slot: &usize| !block.outer.iter().any(|(_, to)| to == slot);
        block.row_slots = outlook.wanted.into_iter().filter(inside).collect();
        Ok(())
    }

    /// Whether there are several ways to read the tables. One row of a single table is looked up by
    /// its key, whatever else is known.
    fn must_choose(&mut self, from: &From, outlook: &Outlook) -> bool {
        if from.leaves.len() != 1 {
            return true;
        }
        let conditions = outlook.conditions(0);
        let choice = self.choose(from, 0, &[], conditions, outlook, Goal::default());
        choice.is_some_and(|choice| !choice.access.point)
    }

    /// All slots that anything in the block reads.
    fn wanted(&mut self, block: &Block, from: &From, top: &[Expr]) -> BTreeSet<usize> {
        self.wanted_but(block, from, top, &|_| false)
    }

    /// The same, but for what only some aggregates read.
    pub(super) fn wanted_but(
        &mut self,
        block: &Block,
        from: &From,
        top: &[Expr],
        but: &dyn Fn(&Aggregate) -> bool,
    ) -> BTreeSet<usize> {
        let mut slots = BTreeSet::new();
        let names = self.names();
        let mut add = |expr: &Expr| add_slots(expr, names, &mut slots);
        top.iter().for_each(&mut add);
        from.groups.iter().flat_map(|g| &g.on).for_each(&mut add);
        block.output.iter().for_each(|o| add(&o.expr));
        block.order.iter().for_each(|o| add(&o.value.expr));
        let windowing = block.windowing.iter().flat_map(|w| &w.inputs);
        windowing.for_each(|input| add(&input.value.expr));
        block.having.iter().for_each(|h| add(&h.expr));
        if let Some(grouping) = &block.grouping {
            grouping.keys.iter().for_each(|k| add(&k.expr));
            for aggregate in grouping.aggregates.iter().filter(|a| !but(a)) {
                aggregate.args.iter().for_each(|a| add(&a.expr));
                aggregate.order.iter().for_each(|o| add(&o.value.expr));
            }
        }
        slots.extend(from.leaves.iter().flat_map(Leaf::given));
        if let Some(windowing) = &block.windowing {
            windowing.slots(&mut |slot| {
                slots.insert(slot);
            });
        }
        slots
    }

    /// The access path of a leaf, given those before it; `None` for a computed table.
    pub(super) fn choose(
        &mut self,
        from: &From,
        leaf: usize,
        before: &[usize],
        conditions: &[Expr],
        outlook: &Outlook,
        goal: Goal<'_>,
    ) -> Option<Choice> {
        let engine = self.context.engine;
        let names = self.names();
        let at = from.leaves.get(leaf)?;
        let LeafInput::Stored(table) = &at.input else {
            return None;
        };
        let first = names.tables.get(leaf)?.first_slot;
        let available = |expr: &Expr| is_available(expr, names, before);
        let rows_of = |condition: &Expr| in_rows(condition, names);
        let known = known::known(conditions, table, first, &available, &rows_of);
        let columns = access::columns_of(&outlook.wanted, first, table.columns.len());
        let mut found = conditions.iter().filter_map(search::required);
        let found = found.find_map(|slot| slot.checked_sub(first + table.columns.len()));
        let figure = outlook.figures.of(leaf)?;
        Some(access::choose(&Request {
            table,
            rows: figure.rows,
            statistics: &|index| engine.index_statistics(table, index),
            shares: &figure.columns,
            known: &known,
            wanted: &columns,
            goal,
            rows_needed: at.lock.is_some(),
            hints: &at.hints,
            search: found.and_then(|rank| Some((rank, names.searched(leaf, rank)?))),
        }))
    }

    fn sources(
        &mut self,
        block: &mut Block,
        mut from: From,
        outlook: &Outlook,
        order: &[usize],
    ) -> Result<(), SqlError> {
        let turns = self.turns(&from, outlook, order)?;
        let sort = sort_columns(block, order, self.names());
        let first = order.first().copied();
        let in_turn = first.and_then(|leaf| self.in_turn(block, &from, leaf, outlook));
        let repeats = self.repeats(block, &from, outlook);
        let mut choices = Vec::with_capacity(order.len());
        for (position, &leaf) in order.iter().enumerate() {
            let all_before = order.get(..position).unwrap_or_default();
            let turn = turns.get(position).copied().unwrap_or_default();
            // What is kept is read once, whatever the rows before are.
            let before = if turn.kept { &[] } else { all_before };
            let conditions = outlook.conditions(leaf);
            let goal = Goal {
                order: sort.as_deref().filter(|_| position == 0),
                limit: block.limit.is_some() && block.windowing.is_none() && order.len() == 1,
                in_turn: in_turn.as_ref(),
                repeats: repeats.as_ref(),
            };
            let choice = self.choose(&from, leaf, before, conditions, outlook, goal);
            if let (Some(choice), 0) = (&choice, position) {
                block.presorted = choice.ordered;
                block.grouped_in_turn = in_turn.as_ref().and_then(|groups| {
                    let table = from.leaves.get(leaf).and_then(Leaf::stored)?;
                    groups.come_by(table, &choice.access)
                });
            }
            if let (Some(choice), 1) = (&choice, order.len()) {
                let in_turn = self.partitions_in_turn(block, &from, leaf, &choice.access);
                if let Some(windowing) = &mut block.windowing {
                    windowing.in_turn = in_turn;
                }
                block.ends = self.ends(block, &from, leaf, conditions, outlook, choice.cost);
            }
            let bounded = choice.as_ref().is_some_and(|c| !c.access.is_whole());
            let read = from.leaves.get(leaf);
            let lateral = read.is_some_and(|l| l.is_lateral(self.names()));
            let stored = read.and_then(Leaf::stored).is_some();
            let anew = position == 0 || lateral || self.searches(leaf);
            let looked_up = bounded && !turn.kept;
            let no_hash = stored && read.is_some_and(|leaf| leaf.no_hash);
            let kept = (!anew && !looked_up)
                .then(|| hash_keys(conditions, self.names(), leaf, all_before))
                .filter(|keys| turn.kept || !stored || !keys.is_empty())
                .filter(|keys| keys.is_empty() || !no_hash);
            // The first one may be read in another way than for its rows alone: in order, say.
            let first = choice.as_ref().filter(|_| position == 0);
            let cost = first.map_or(turn.cost, join_order::reading);
            choices.push((choice, kept, cost));
        }
        let is_looked_up =
            matches!(choices.first(), Some((Some(choice), ..)) if !choice.access.is_whole());
        let apart = first.and_then(|leaf| self.apart(block, &from, leaf, is_looked_up, outlook));
        let is_point = |choice: &Option<Choice>| choice.as_ref().is_some_and(|c| c.access.point);
        if !choices.iter().all(|(choice, ..)| is_point(choice)) {
            self.note_sizes(&from);
        }
        let read = self.slots_read(block, &from, outlook);
        let mut leaves: Vec<Option<Leaf>> = from.leaves.drain(..).map(Some).collect();
        for (&leaf, (choice, kept, cost)) in order.iter().zip(choices) {
            let taken = leaves.get_mut(leaf).and_then(Option::take);
            let names = self.names();
            if let (Some(taken), Some(table)) = (taken, names.tables.get(leaf)) {
                let lateral = taken.is_lateral(names);
                let share = outlook.figures.left(leaf, choice.as_ref());
                let conditions = outlook.conditions(leaf);
                let ranks = search::ranks_of(leaf, names, conditions, &read);
                let source = source(taken, table, choice, kept, ranks, (&outlook.wanted, share));
                block.sources.push(Source {
                    keyed: from.keyed && matches!(source.input, Input::Table(..)),
                    lateral,
                    merged: table.within != 0,
                    cost,
                    ..source
                });
            }
        }
        if let (Some(source), Some(apart)) = (block.sources.first_mut(), apart) {
            source.apart = Some(apart);
        }
        // From here on by position: the tables of a group stay together.
        for group in &mut from.groups {
            let start = order.iter().position(|leaf| *leaf == group.leaves.start);
            let start = start.unwrap_or(group.leaves.start);
            group.leaves = start..start + group.leaves.len();
        }
        let placer = Placer {
            names: self.names(),
            order: order.to_vec(),
            groups: &from.groups,
        };
        placer.put_conditions(block, &from.groups, outlook.top.clone());
        Ok(())
    }

    /// The slots that anything reads but the conditions that a search must find a row. The order in
    /// which rows come is read, too, where nothing else says it.
    fn slots_read(&mut self, block: &Block, from: &From, outlook: &Outlook) -> BTreeSet<usize> {
        if self.names().searches.is_empty() {
            return BTreeSet::new();
        }
        let is_other = |condition: &&Expr| walk::slot(condition).is_none();
        let others: Vec<Expr> = outlook.top.iter().filter(is_other).cloned().collect();
        let mut read = self.wanted(block, from, &others);
        let in_turn = block.order.is_empty() && block.grouping.is_none();
        if in_turn && from.leaves.len() == 1 {
            read.extend(self.names().searches.iter().map(Search::slot));
        }
        read
    }

    /// Whether a search is made in a leaf.
    pub(super) fn searches(&mut self, leaf: usize) -> bool {
        let mut searches = self.names().searches.iter();
        searches.any(|search| search.is_in(leaf))
    }

    /// Remembers how large the tables are that paths were chosen by. (Unique keys find one row
    /// whatever the size: a plan of nothing else is never made anew.)
    fn note_sizes(&mut self, from: &From) {
        for leaf in &from.leaves {
            if let LeafInput::Stored(table) = &leaf.input
                && !self.sizes.iter().any(|seen| seen.table.id == table.id)
            {
                self.sizes.push(SizeSeen::now(table, self.context.engine));
            }
        }
    }
}

/// See `Block::counted`.
fn counted(block: &Block) -> Option<usize> {
    let grouping = block
        .grouping
        .as_ref()
        .filter(|g| g.keys.is_empty() && g.rollup.is_none())?;
    let [source] = block.sources.as_slice() else {
        return None;
    };
    let Input::Table(_, access) = &source.input else {
        return None;
    };
    let number = access
        .search
        .filter(|_| !source.locks() && source.outer_join.is_none())?;
    let rank = source.ranks.get(number)?;
    let only = matches!(source.filter.as_slice(), [condition] if walk::slot(&condition.expr) == Some(rank.slot));
    let counts = |aggregate: &Aggregate| aggregate.function == AggregateFunction::CountRows;
    (only && source.ranks.len() == 1 && grouping.aggregates.iter().all(counts)).then_some(number)
}

/// Whether a LIMIT may end the reading, as far as is known before there are access paths: rows are not
/// gathered, and come as they are read or in the order of columns.
fn ends_early(block: &Block) -> bool {
    let gathered = block.grouping.is_some() || block.windowing.is_some();
    let by_columns = |key: &SortKey| walk::slot(&key.value.expr).is_some();
    block.limit.is_some() && !gathered && block.order.iter().all(by_columns)
}

/// The value that a condition looks for in the rows of a subquery, which are the same whenever it is
/// run, with the collation that it is compared with.
fn in_rows(condition: &Expr, names: &Names) -> Option<(Expr, Collation, Bound)> {
    // A block that sees another's row runs its subqueries anew for each of these.
    let slot = walk::slot(condition).filter(|_| names.outer.is_empty())?;
    let number = names.subquery_of(slot)?;
    let subquery = names.subqueries.get(number)?;
    let bound = Bound::InRows {
        subquery: number,
        slot,
    };
    match &subquery.usage {
        Usage::In(left) => {
            let [pair] = left.as_slice() else {
                return None;
            };
            let value = pair.left.expr.clone();
            (!subquery.query.correlated).then_some((value, pair.collation, bound))
        }
        Usage::Exists => {
            let (value, collation) = apart::key_of_exists(&subquery.query)?;
            Some((value, collation, bound))
        }
        Usage::Scalar | Usage::Any(..) | Usage::All(..) => None,
    }
}

/// What access paths and hash tables need of subqueries.
fn early(block: &Block, names: &Names) -> Vec<Computed> {
    let mut early: Vec<Computed> = Vec::new();
    let mut add = |expr: &Expr| {
        let computed = names.wrap(expr.clone());
        if !computed.subqueries.is_empty() && !early.contains(&computed) {
            early.push(computed);
        }
    };
    for source in &block.sources {
        let apart = source.apart.iter().flat_map(|apart| &apart.keys);
        for (probe, own) in source.kept.iter().flatten().chain(apart) {
            add(probe);
            add(own);
        }
        if let Input::Table(_, access) = &source.input {
            let ways = std::iter::once(access).chain(&source.ways);
            for bound in ways.flat_map(Access::bounds) {
                match bound {
                    Bound::InRows { slot, .. } => add(&slot_expr(*slot, ExprType::boolean())),
                    bound => bound_exprs(bound, &mut add),
                }
            }
        }
    }
    early
}

fn bound_exprs(bound: &Bound, visit: &mut dyn FnMut(&Expr)) {
    match bound {
        Bound::Equal(e) | Bound::NullSafe(e) => visit(e),
        Bound::IsNull | Bound::InRows { .. } => {}
        Bound::In(list) => list.iter().for_each(visit),
        Bound::Range { low, high } => {
            low.iter().chain(high).for_each(|(e, _)| visit(e));
        }
        Bound::Like(pattern, escape) => {
            visit(pattern);
            escape.iter().for_each(visit);
        }
        Bound::Array(test) => visit(&test.wanted),
    }
}

fn source(
    leaf: Leaf,
    table: &NamedTable,
    choice: Option<Choice>,
    kept: Option<Vec<(Expr, Expr)>>,
    ranks: Vec<Rank>,
    (wanted, share): (&BTreeSet<usize>, f64),
) -> Source {
    let computed = computed_rows(&leaf);
    let estimate = choice.as_ref().map_or(computed, |c| c.estimate as u64);
    let (access, ways) = choice.map_or_else(Default::default, |c| (c.access, c.ways));
    Source {
        input: match leaf.input {
            LeafInput::Stored(table) => Input::Table(table, access),
            LeafInput::Virtual(table) => Input::Virtual(table),
            LeafInput::Derived(derived, given) => Input::Derived(derived, given),
            LeafInput::Working(number) => Input::Working(number),
            LeafInput::Json(table) => Input::Json(table),
        },
        alias: table.alias.clone(),
        first_slot: table.first_slot,
        columns: table.columns.len(),
        ranks,
        names: match table.table {
            Some(_) => Vec::new(),
            None => table.columns.iter().map(|c| c.name.clone()).collect(),
        },
        wanted: access::columns_of(wanted, table.first_slot, table.stored_columns()),
        filter: Vec::new(),
        outer_join: None,
        kept,
        keyed: false,
        apart: None,
        alone: Vec::new(),
        ways,
        lateral: false,
        merged: false,
        lock: leaf.lock,
        shared: leaf.shared,
        estimate,
        share,
        cost: 0.0,
    }
}

impl Placer<'_> {
    fn put_conditions(&self, block: &mut Block, groups: &[Group], top: Vec<Expr>) {
        for group in groups {
            if let Some(source) = block.sources.get_mut(group.leaves.start) {
                source.outer_join = Some((group.leaves.end, Vec::new()));
            }
        }
        let mut put = |condition: Expr, place: Place| {
            let condition = self.names.wrap(condition);
            match place {
                Place::Constant => block.constant.push(condition),
                Place::Filter(at) => {
                    if let Some(source) = block.sources.get_mut(at) {
                        source.filter.push(condition);
                    }
                }
                Place::After(at) => {
                    if let Some((_, after)) = block
                        .sources
                        .get_mut(at)
                        .and_then(|s| s.outer_join.as_mut())
                    {
                        after.push(condition);
                    }
                }
            }
        };
        for condition in top {
            let place = self.place_of(&condition, None);
            put(condition, place);
        }
        for group in groups {
            for condition in &group.on {
                let place = self.place_of(condition, Some(group));
                put(condition.clone(), place);
            }
        }
        // Those that run subqueries come last.
        for source in &mut block.sources {
            source.filter.sort_by_key(|c| !c.subqueries.is_empty());
        }
        for (source, leaf) in block.sources.iter_mut().zip(&self.order) {
            if !matches!(source.input, Input::Table(..)) {
                continue;
            }
            let alone = |c: &Condition| apart::is_alone(&c.expr, self.names, *leaf);
            if source.kept.is_some() {
                source.alone = source.filter.extract_if(.., |c| alone(c)).collect();
            } else if source.apart.is_some() {
                source.alone = source.filter.iter().filter(|c| alone(c)).cloned().collect();
            }
        }
    }

    /// Where a condition of WHERE (`within` nothing) or of an outer join's ON is checked.
    fn place_of(&self, condition: &Expr, within: Option<&Group>) -> Place {
        let set = leaves_of(condition, self.names);
        let last = self.order.len().saturating_sub(1);
        if set == 0 && within.is_none() {
            let volatile = crate::expr::is_volatile(condition);
            if volatile && !self.order.is_empty() {
                return self.ready(last, None);
            }
            return Place::Constant;
        }
        let start = within.map_or(0, |g| g.leaves.start);
        let mut place = Place::Filter(start);
        let mut reached = start;
        for (position, leaf) in self.order.iter().enumerate() {
            if set & (1 << leaf) == 0 || position < start {
                continue;
            }
            let ready = self.ready(position, within);
            let at = match ready {
                Place::After(first) => self.end_of(first),
                _ => position,
            };
            if at >= reached {
                reached = at;
                place = ready;
            }
        }
        place
    }

    /// When the row of the source at a position may be looked at by a condition that stands
    /// outside all outer joins, or in the ON of `within`.
    fn ready(&self, position: usize, within: Option<&Group>) -> Place {
        let outermost = self
            .groups
            .iter()
            .filter(|g| g.leaves.contains(&position))
            .filter(|g| {
                within.is_none_or(|w| {
                    g.leaves != w.leaves
                        && w.leaves.contains(&g.leaves.start)
                        && g.leaves.end <= w.leaves.end
                })
            })
            .max_by_key(|g| g.leaves.len());
        match outermost {
            Some(group) => Place::After(group.leaves.start),
            None => Place::Filter(position),
        }
    }

    fn end_of(&self, first: usize) -> usize {
        let group = self.groups.iter().find(|g| g.leaves.start == first);
        group.map_or(first, |g| g.leaves.end.saturating_sub(1))
    }
}

/// The conditions that may restrict how a leaf is read: those of its innermost outer join's ON,
/// else those of WHERE.
pub(super) fn usable<'a>(from: &'a From, top: &'a [Expr], leaf: usize) -> &'a [Expr] {
    from.groups
        .iter()
        .filter(|g| g.leaves.contains(&leaf))
        .min_by_key(|g| g.leaves.len())
        .map_or(top, |g| &g.on)
}

/// The leaf that a slot belongs to.
pub(super) fn leaf_of(slot: usize, names: &Names) -> Option<usize> {
    names.table_of_slot(slot)
}

/// All slots that an expression reads, with those that its subqueries read.
pub(super) fn add_slots(expr: &Expr, names: &Names, slots: &mut BTreeSet<usize>) {
    walk::slots(expr, &mut |slot| add_slot(slot, names, slots));
}

fn add_slot(slot: usize, names: &Names, slots: &mut BTreeSet<usize>) {
    slots.insert(slot);
    let subquery = names
        .subquery_of(slot)
        .and_then(|n| names.subqueries.get(n));
    if let Some(subquery) = subquery {
        subquery_slots(subquery, names, slots);
    }
}

/// What a subquery needs of the row of its block.
fn subquery_slots(subquery: &Subquery, names: &Names, slots: &mut BTreeSet<usize>) {
    let outer = subquery.query.blocks.iter().flat_map(|block| &block.outer);
    for (from, _) in outer {
        add_slot(*from, names, slots);
    }
    for pair in subquery.usage.pairs() {
        add_slots(&pair.left.expr, names, slots);
    }
}

pub(super) fn leaves_of(expr: &Expr, names: &Names) -> Set {
    let mut slots = BTreeSet::new();
    add_slots(expr, names, &mut slots);
    slots
        .into_iter()
        .filter_map(|slot| leaf_of(slot, names))
        .fold(0, |set, leaf| set | 1 << leaf)
}

/// Whether an expression can be computed once the rows of `before` are there, and gives the same
/// value whenever it is.
fn is_available(expr: &Expr, names: &Names, before: &[usize]) -> bool {
    let mut stable = !crate::expr::is_volatile(expr);
    walk::slots(expr, &mut |slot| {
        stable &= match leaf_of(slot, names) {
            Some(leaf) => before.contains(&leaf),
            None => match names.subqueries.iter().find(|s| s.slots.contains(&slot)) {
                Some(subquery) => {
                    !subquery.query.correlated && matches!(subquery.usage, Usage::Scalar)
                }
                None => names.outer.iter().any(|(_, to, _)| *to == slot),
            },
        };
    });
    // Subqueries run before the tables are read: there must be no row yet that says which of them.
    let is_subquery = |slot: usize| names.subquery_of(slot).is_some();
    stable && (leaves_of(expr, names) == 0 || !is_selective(expr, &is_subquery))
}

/// ORDER BY as columns of the first table, if it is nothing else and rows or groups come out as read.
fn sort_columns(block: &Block, order: &[usize], names: &Names) -> Option<Vec<(usize, bool)>> {
    let first = names.tables.get(*order.first()?)?;
    let rolls_up = block.grouping.as_ref().is_some_and(|g| g.rollup.is_some());
    if block.order.is_empty() || rolls_up || block.windowing.is_some() {
        return None;
    }
    block
        .order
        .iter()
        .map(|key| {
            let position = walk::slot(&key.value.expr)?.checked_sub(first.first_slot)?;
            (position < first.columns.len()).then_some((position, key.desc))
        })
        .collect()
}

/// Equalities between a leaf and those before it, for a hash table.
pub(super) fn hash_keys(
    conditions: &[Expr],
    names: &Names,
    leaf: usize,
    before: &[usize],
) -> Vec<(Expr, Expr)> {
    let is_probe = |expr: &Expr| leaves_of(expr, names) != 0 && is_available(expr, names, before);
    let is_own =
        |expr: &Expr| leaves_of(expr, names) == 1 << leaf && is_available(expr, names, &[leaf]);
    hashable_pairs(conditions, &is_probe, &is_own)
}

/// Equalities between a leaf and outer rows, for a hash table.
pub(super) fn hash_keys_of_outer(
    conditions: &[Expr],
    names: &Names,
    leaf: usize,
) -> Vec<(Expr, Expr)> {
    let is_outer = |expr: &Expr| {
        let mut outer = false;
        walk::slots(expr, &mut |slot| {
            outer |= names.outer.iter().any(|(_, to, _)| *to == slot);
        });
        outer && leaves_of(expr, names) == 0 && is_available(expr, names, &[])
    };
    hashable_pairs(conditions, &is_outer, &|own| {
        apart::is_alone(own, names, leaf)
    })
}

/// Equalities of which one side can be looked up in a hash table of the other.
fn hashable_pairs(
    conditions: &[Expr],
    is_probe: &dyn Fn(&Expr) -> bool,
    is_own: &dyn Fn(&Expr) -> bool,
) -> Vec<(Expr, Expr)> {
    let mut keys = Vec::new();
    for (left, right, ty) in conditions.iter().filter_map(walk::equality) {
        for (probe, own) in [(left, right), (right, left)] {
            if is_own(own)
                && is_probe(probe)
                && let Some(pair) = hashable(probe, own, ty.collation)
            {
                keys.push(pair);
                break;
            }
        }
    }
    keys
}

/// Two sides of an equality as keys of a hash table: values that compare as equal have equal keys.
fn hashable(a: &Expr, b: &Expr, collation: Collation) -> Option<(Expr, Expr)> {
    let types = [infer(a), infer(b)];
    let all = |is: fn(&ExprType) -> bool| types.iter().all(is);
    let exact =
        |ty: &ExprType| ty.is_integer() || matches!(ty.ty, Some(ColumnType::Decimal { .. }));
    let date = |ty: &ExprType| {
        use ColumnType::{Date, DateTime, Timestamp};
        matches!(ty.ty, Some(Date | DateTime(_) | Timestamp(_)))
    };
    let same = if all(ExprType::is_string) {
        types.iter().all(|ty| ty.collation == collation)
    } else {
        all(exact) || all(date)
    };
    if same {
        return Some((a.clone(), b.clone()));
    }
    if types.iter().any(ExprType::is_json) {
        return all(ExprType::is_json).then(|| (a.clone(), b.clone()));
    }
    // Floating point numbers, and texts with numbers, are compared as such.
    let as_double = |ty: &ExprType| ty.ty.is_some() && !ty.is_temporal();
    if all(ExprType::is_string) || !all(as_double) {
        return None;
    }
    Some((a.clone().into_double(), b.clone().into_double()))
}

/// Turns outer joins into inner ones where a condition cannot hold for a row of NULLs.
fn simplify_outer_joins(from: &mut From, top: &mut Vec<Expr>, names: &Names) {
    loop {
        let rejected = top.iter().fold(0, |set, c| set | rejects_null(c, names));
        let found = from.groups.iter().position(|group| {
            group.leaves.clone().any(|leaf| rejected & (1 << leaf) != 0)
                && !from.groups.iter().any(|outer| {
                    outer.leaves != group.leaves
                        && outer.leaves.start <= group.leaves.start
                        && group.leaves.end <= outer.leaves.end
                })
        });
        let Some(found) = found else { return };
        top.extend(from.groups.remove(found).on);
    }
}

/// MySQL's way, for ODBC: `IS NULL` as a condition of WHERE finds the zero date of a column that
/// cannot be NULL; the row of NULLs that an outer join has made it finds, too.
/// It is a column of the very text that tests it: a view or derived table hides what its columns are.
pub(super) fn find_zero_dates(condition: &mut Expr, from: &From, names: &Names) {
    let tested = match &*condition {
        Expr::IsNull {
            expr,
            negated: false,
        } => expr.as_ref(),
        Expr::Function { function, args, .. } if function.name == "isnull" => match args.first() {
            Some(argument) => argument,
            None => return,
        },
        _ => return,
    };
    let Some((table, column)) = names.column_of_table(tested) else {
        return;
    };
    if table.within != names.within {
        return;
    }
    let zero = match column.ty.ty {
        Some(ColumnType::Date) => Value::Date(Date::default()),
        Some(ColumnType::DateTime(_)) => Value::DateTime(DateTime::default()),
        _ => return,
    };
    let mut columns = table.table.iter().flat_map(|stored| &stored.columns);
    let stored = columns.find(|stored| stored.name == column.name);
    if stored.is_none_or(|stored| stored.nullable) {
        return;
    }
    let leaf = leaf_of(table.first_slot, names);
    let is_inner = |leaf| from.groups.iter().any(|g| g.leaves.contains(&leaf));
    let is_zero = binary(BinaryOp::Eq, tested.clone(), Expr::Literal(zero, column.ty));
    *condition = match leaf.is_some_and(is_inner) {
        true => binary(BinaryOp::Or, is_zero, condition.clone()),
        false => is_zero,
    };
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary {
        op,
        left: Box::new(left),
        right: Box::new(right),
        ty: ExprType::boolean(),
    }
}

/// The leaves for whose row of NULLs a condition is not true.
pub(super) fn rejects_null(condition: &Expr, names: &Names) -> Set {
    let column = |e: &Expr| {
        // The rank of a row that is not there is 0, and no NULL.
        let slot = walk::slot(e).filter(|slot| !names.is_rank(*slot));
        let leaf = slot.and_then(|slot| leaf_of(slot, names));
        leaf.map_or(0, |leaf| 1 << leaf)
    };
    match condition {
        Expr::Column { slot, .. } if names.is_rank(*slot as usize) => {
            leaf_of(*slot as usize, names).map_or(0, |leaf| 1 << leaf)
        }
        Expr::Binary {
            op, left, right, ..
        } if op.is_comparison() && *op != BinaryOp::NullSafeEq => column(left) | column(right),
        Expr::Between { expr, .. } | Expr::In { expr, .. } | Expr::Like { expr, .. } => {
            column(expr)
        }
        Expr::IsNull {
            expr,
            negated: true,
        } => column(expr),
        Expr::Column { .. } => column(condition),
        _ => 0,
    }
}
