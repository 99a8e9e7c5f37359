//! Expressions of a plan as text, with the names of the columns that its slots hold.

use crate::{
    expr::{BinaryOp, Expr, described},
    plan::{
        Aggregate, AggregateFunction, Block, Grouping, Input, Rank, Rollup, SortKey, Source, Usage,
        WindowFunction,
    },
};
use cohort_engine::types::{Table, Value, quoted};
use rustc_hash::FxHashMap;

/// What the slots of a block's row are called.
pub struct Naming<'p> {
    names: FxHashMap<usize, String>,
    params: &'p [Value],
    form: Form,
}

/// How columns are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `t.a`, as EXPLAIN does.
    Plain,
    /// `` `d`.`t`.`a` ``, as errors do.
    Full,
}

impl<'p> Naming<'p> {
    /// For a block within another one. `subqueries`: the numbers that EXPLAIN gives its subqueries.
    pub(super) fn new(
        block: &Block,
        outer: Option<&Naming<'_>>,
        subqueries: &[u64],
        params: &'p [Value],
    ) -> Naming<'p> {
        let mut naming = Naming {
            names: FxHashMap::default(),
            params,
            form: Form::Plain,
        };
        for (from, to) in &block.outer {
            if let Some(name) = outer.and_then(|outer| outer.names.get(from)) {
                naming.names.insert(*to, name.clone());
            }
        }
        naming.add(block, subqueries);
        naming
    }

    /// For an error in a block. What it has from the row of an enclosing block gets the slot there for a
    /// name, and that block's names are put in later.
    #[must_use]
    pub fn in_error(block: &Block, params: &'p [Value]) -> Naming<'p> {
        let outer = block.outer.iter();
        let mut naming = Naming {
            names: outer.map(|(from, to)| (*to, slot_name(*from))).collect(),
            params,
            form: Form::Full,
        };
        let uncounted = vec![0; block.subqueries.len()];
        naming.add(block, &uncounted);
        naming
    }

    /// For an error in an INSERT: its row has the columns of the row that is there, then those of the new one.
    #[must_use]
    pub fn in_insert(table: &Table) -> Naming<'p> {
        let width = table.columns.len();
        let names = table.columns.iter().enumerate().flat_map(|(at, column)| {
            let name = full_name(table, &table.name, &column.name);
            [(width + at, format!("values({name})")), (at, name)]
        });
        Naming {
            names: names.collect(),
            params: &[],
            form: Form::Full,
        }
    }

    /// For an error in an expression on the rows of one table, which is not named.
    #[must_use]
    pub fn in_table(table: &Table) -> Naming<'p> {
        let columns = table.columns.iter().enumerate();
        Naming {
            names: columns
                .map(|(at, column)| (at, quoted(&column.name)))
                .collect(),
            params: &[],
            form: Form::Full,
        }
    }

    /// For an error in a table that is computed: it has this of the row of who reads it.
    #[must_use]
    pub fn in_given(given: &[(usize, usize)]) -> Naming<'p> {
        let given = given.iter();
        Naming {
            names: given.map(|(from, to)| (*to, slot_name(*from))).collect(),
            params: &[],
            form: Form::Full,
        }
    }

    /// Adds what is made in a block.
    fn add(&mut self, block: &Block, subqueries: &[u64]) {
        let naming = self;
        for source in &block.sources {
            for column in 0..source.columns {
                let name = naming.column(source, column);
                naming.names.insert(source.first_slot + column, name);
            }
            for rank in &source.ranks {
                let name = naming.search(source, rank);
                naming.names.insert(rank.slot, name);
            }
        }
        for (subquery, number) in block.subqueries.iter().zip(subqueries) {
            let name = naming.subquery(&subquery.usage, *number);
            for slot in subquery.slots.clone() {
                naming.names.insert(slot, name.clone());
            }
        }
        for aggregate in block.grouping.iter().flat_map(|g| &g.aggregates) {
            let name = naming.aggregate(aggregate);
            naming.names.insert(aggregate.slot, name);
        }
        if let Some(grouping) = &block.grouping
            && let Some(rollup) = &grouping.rollup
        {
            naming.rolled_up(grouping, rollup);
        }
        let windowing = block.windowing.as_ref();
        for input in windowing.iter().flat_map(|w| &w.inputs) {
            let name = naming.text(&input.value.expr);
            naming.names.insert(input.slot, name);
        }
        let windows = windowing.iter().flat_map(|w| &w.windows);
        for call in windows.flat_map(|window| &window.calls) {
            let name = naming.window_call(&call.function);
            naming.names.insert(call.slot, name);
        }
    }

    /// A column of a source.
    fn column(&self, source: &Source, column: usize) -> String {
        let (table, name) = (source.alias.as_str(), column_name(source, column));
        match (self.form, &source.input) {
            (Form::Plain, _) => format!("{table}.{name}"),
            (Form::Full, Input::Table(stored, _) | Input::Virtual(stored)) => {
                full_name(stored, table, name)
            }
            (Form::Full, Input::Derived(..) | Input::Working(_) | Input::Json(_)) => {
                format!("{}.{}", quoted(table), quoted(name))
            }
        }
    }

    /// What WITH ROLLUP puts in slots of its own: the keys, and GROUPING of them.
    fn rolled_up(&mut self, grouping: &Grouping, rollup: &Rollup) {
        let keys = grouping.keys.iter().map(|key| self.text(&key.expr));
        let keys: Vec<String> = keys.collect();
        let key = |number: &usize| keys.get(*number).cloned().unwrap_or_default();
        for (name, slot) in keys.iter().zip(&rollup.slots) {
            if let Some(slot) = slot {
                self.names.insert(*slot, name.clone());
            }
        }
        for (numbers, slot) in &rollup.groupings {
            let of: Vec<String> = numbers.iter().map(key).collect();
            self.names
                .insert(*slot, format!("grouping({})", of.join(",")));
        }
    }

    /// The text of an expression.
    pub fn text(&self, expr: &Expr) -> String {
        self.put_in(&described(expr, self.params))
    }

    /// A text with names for its slots.
    #[must_use]
    pub fn put_in(&self, text: &str) -> String {
        const SLOT: &str = "`column ";
        let mut pieces = text.split(SLOT);
        let mut out = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let name = piece.split_once('`').and_then(|(slot, rest)| {
                let name = self.names.get(&slot.parse().ok()?)?;
                Some((name, rest))
            });
            match name {
                Some((name, rest)) => out.extend([name, rest]),
                None => out.extend([SLOT, piece]),
            }
        }
        out
    }

    /// What a search in a table is, as MySQL writes it.
    fn search(&self, source: &Source, rank: &Rank) -> String {
        let columns = searched_columns(source, rank).map(|name| format!("{}.{name}", source.alias));
        let columns: Vec<String> = columns.collect();
        let (columns, against) = (columns.join(","), self.text(&rank.against));
        format!("(match {columns} against ({against}{}))", rank.mode.words())
    }

    /// What is wanted of a subquery.
    fn subquery(&self, usage: &Usage, number: u64) -> String {
        let select = match self.form {
            Form::Plain => format!("(select #{number})"),
            Form::Full => "(select …)".to_owned(),
        };
        let compared = |value: &Expr, op: BinaryOp, which: &str| {
            let (value, op) = (self.text(value), op.symbol());
            format!("({value} {op} {which} {select})")
        };
        match usage {
            Usage::Scalar => select,
            Usage::Exists => format!("exists{select}"),
            Usage::In(values) => {
                let texts: Vec<String> = values
                    .iter()
                    .map(|pair| self.text(&pair.left.expr))
                    .collect();
                let row = match texts.as_slice() {
                    [one] => one.clone(),
                    several => format!("({})", several.join(",")),
                };
                format!("({row} in {select})")
            }
            Usage::Any(pair, op) => compared(&pair.left.expr, *op, "any"),
            Usage::All(pair, op) => compared(&pair.left.expr, *op, "all"),
        }
    }

    /// What a computed table sees of the row: the slots of the block, and those where it sees them.
    pub fn given(&self, given: &[(usize, usize)]) -> Naming<'p> {
        let known = |(from, to): &(usize, usize)| Some((*to, self.names.get(from)?.clone()));
        Naming {
            names: given.iter().filter_map(known).collect(),
            params: self.params,
            form: self.form,
        }
    }

    /// The names of the columns of a block's result, where ORDER BY of a UNION finds them.
    pub fn of_result(&self, block: &Block) -> Naming<'p> {
        let outputs = block.output.iter().enumerate();
        let names = outputs.map(|(at, output)| (at, self.text(&output.expr)));
        Naming {
            names: names.collect(),
            params: self.params,
            form: self.form,
        }
    }

    /// What is in a slot; a slot without a name shows as one.
    pub fn slot(&self, slot: usize) -> String {
        let name = self.names.get(&slot).cloned();
        name.unwrap_or_else(|| slot_name(slot))
    }

    /// The text of several conditions, all of which must hold.
    pub fn all<'e>(&self, conditions: impl Iterator<Item = &'e Expr>) -> String {
        let texts: Vec<String> = conditions.map(|expr| self.text(expr)).collect();
        match texts.as_slice() {
            [one] => one.clone(),
            several => format!("({})", several.join(" and ")),
        }
    }

    /// The keys of a sort.
    pub fn keys(&self, keys: &[SortKey]) -> Vec<String> {
        let key = |key: &SortKey| {
            let desc = if key.desc { " DESC" } else { "" };
            format!("{}{desc}", self.text(&key.value.expr))
        };
        keys.iter().map(key).collect()
    }

    /// The call of an aggregate function.
    pub fn aggregate(&self, aggregate: &Aggregate) -> String {
        use AggregateFunction as F;
        let args: Vec<String> = aggregate.args.iter().map(|a| self.text(&a.expr)).collect();
        let name = match &aggregate.function {
            F::CountRows => return "count(0)".to_owned(),
            F::Count => "count",
            F::Sum => "sum",
            F::Avg => "avg",
            F::Min => "min",
            F::Max => "max",
            F::GroupConcat(_) => "group_concat",
            F::JsonArray => "json_arrayagg",
            F::JsonObject => "json_objectagg",
            F::BitAnd => "bit_and",
            F::BitOr => "bit_or",
            F::BitXor => "bit_xor",
            F::Variance { sample, root } => match (sample, root) {
                (false, false) => "variance",
                (true, false) => "var_samp",
                (false, true) => "std",
                (true, true) => "stddev_samp",
            },
        };
        let distinct = if aggregate.distinct { "distinct " } else { "" };
        let order = match self.keys(&aggregate.order) {
            keys if keys.is_empty() => String::new(),
            keys => format!(" order by {}", keys.join(",")),
        };
        let separator = match &aggregate.function {
            F::GroupConcat(text) => format!(" separator '{}'", String::from_utf8_lossy(text)),
            _ => String::new(),
        };
        format!("{name}({distinct}{}{order}{separator})", args.join(","))
    }

    /// The call of a window function, without its window.
    pub fn window_call(&self, function: &WindowFunction) -> String {
        use WindowFunction as F;
        let of = |name: &str, slot: usize| format!("{name}({})", self.slot(slot));
        match function {
            F::RowNumber => "row_number()".to_owned(),
            F::Rank => "rank()".to_owned(),
            F::DenseRank => "dense_rank()".to_owned(),
            F::PercentRank => "percent_rank()".to_owned(),
            F::CumeDist => "cume_dist()".to_owned(),
            F::Ntile(parts) => format!("ntile({})", self.text(parts)),
            F::Neighbour {
                lead: true, value, ..
            } => of("lead", *value),
            F::Neighbour { value, .. } => of("lag", *value),
            F::First(value) => of("first_value", *value),
            F::Last(value) => of("last_value", *value),
            F::Nth(value, _) => of("nth_value", *value),
            F::Aggregate(aggregate, Some(slot)) if aggregate.args.is_empty() => {
                let named = self.aggregate(aggregate);
                of(named.trim_end_matches("()"), *slot)
            }
            F::Aggregate(aggregate, _) => self.aggregate(aggregate),
        }
    }
}

/// What a slot is called that has no name.
fn slot_name(slot: usize) -> String {
    format!("`column {slot}`")
}

fn full_name(stored: &Table, table: &str, column: &str) -> String {
    let (database, table, column) = (quoted(&stored.database), quoted(table), quoted(column));
    format!("{database}.{table}.{column}")
}

/// The columns of the index that a search asks.
pub(super) fn searched_columns<'s>(
    source: &'s Source,
    rank: &Rank,
) -> impl Iterator<Item = &'s str> {
    let table = match &source.input {
        Input::Table(table, _) => Some(table),
        _ => None,
    };
    let text = table.and_then(|table| table.fulltext.get(rank.text));
    let parts = text.into_iter().flat_map(|text| &text.index.parts);
    parts.map(|part| column_name(source, usize::from(part.column)))
}

/// The name of a source's column.
pub(super) fn column_name(source: &Source, column: usize) -> &str {
    match &source.input {
        Input::Table(table, _) | Input::Virtual(table) => {
            table.columns.get(column).map_or("", |c| c.name.as_str())
        }
        Input::Derived(..) | Input::Working(_) | Input::Json(_) => {
            source.names.get(column).map_or("", String::as_str)
        }
    }
}
