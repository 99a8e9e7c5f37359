//! The steps of a plan: what the executor does, in the words that MySQL has for it.

use super::{
    naming::Naming,
    numbers::Numbers,
    stages::{grouped, limit, sort, windowed},
    step::{Place, Point, Step},
    within::Within,
};
use crate::{
    error::SqlError,
    plan::{Block, Combined, Condition, Derived, Query, Subquery},
};
use cohort_engine::types::Value;
use rustc_hash::FxHashSet;

/// Makes the steps of the queries of a statement.
pub(super) struct Builder<'p> {
    params: &'p [Value],
    numbers: Numbers,
    /// The computed tables that were shown.
    pub(super) shown: FxHashSet<*const Derived>,
}

impl<'p> Builder<'p> {
    pub fn new(params: &'p [Value]) -> Builder<'p> {
        Builder {
            params,
            numbers: Numbers::default(),
            shown: FxHashSet::default(),
        }
    }

    /// The steps of a statement's query.
    pub fn whole(mut self, query: &Query) -> Result<Step, SqlError> {
        self.numbers = Numbers::of_query(query);
        self.query(query, None)
    }

    /// The steps that find the rows that an UPDATE or DELETE changes.
    pub fn changed(mut self, block: &Block) -> Result<Step, SqlError> {
        self.numbers = Numbers::of_block(block);
        self.block(block, None)
    }

    /// The steps of a query.
    pub(super) fn query(
        &mut self,
        query: &Query,
        outer: Option<&Naming<'_>>,
    ) -> Result<Step, SqlError> {
        match query.blocks.as_slice() {
            [] => Err(SqlError::internal("a query without blocks")),
            [block] => self.block(block, outer),
            [first, ..] => self.combined(query, first, outer),
        }
    }

    /// The steps of a query of several blocks.
    fn combined(
        &mut self,
        query: &Query,
        first: &Block,
        outer: Option<&Naming<'_>>,
    ) -> Result<Step, SqlError> {
        let mut inputs = Vec::new();
        for block in &query.blocks {
            inputs.push(self.block(block, outer)?);
        }
        let rows: f64 = inputs.iter().filter_map(|input| input.rows).sum();
        let name = match query.combined {
            Combined::Union { .. } => "Union",
            Combined::Intersect { .. } => "Intersect",
            Combined::Except { .. } => "Except",
        };
        let mut step = match query.combined {
            Combined::Union { distinct: 0 } => {
                let stream = |input: Step| input.above("stream", "Stream results");
                Step::new("append", "Append", inputs.into_iter().map(stream).collect())
            }
            Combined::Union { .. }
            | Combined::Intersect { all: false }
            | Combined::Except { all: false } => {
                let table = format!("<{} temporary>", name.to_lowercase());
                Step::new(
                    "materialize",
                    format!("{name} materialize with deduplication"),
                    inputs,
                )
                .giving(Some(rows))
                .above("table", format!("Table scan on {table}"))
                .with("table_name", table)
            }
            Combined::Intersect { all: true } | Combined::Except { all: true } => {
                Step::new("materialize", format!("{name} all materialize"), inputs)
            }
        }
        .giving(Some(rows));
        let naming = Naming::new(first, outer, &[], self.params).of_result(first);
        let address = std::ptr::from_ref(first).addr();
        let whole = |step: Step| step.at(address, Place::Combined);
        step = whole(step);
        if !query.order.is_empty() {
            let keys = naming.keys(&query.order);
            step = whole(sort(step, &keys, query.limit.as_ref(), &naming));
        }
        Ok(match query.limit {
            Some(_) => whole(limit(step, query.limit.as_ref(), &naming)),
            None => step,
        })
    }

    /// The steps of a block.
    fn block(&mut self, block: &Block, outer: Option<&Naming<'_>>) -> Result<Step, SqlError> {
        let mut within = Within::new(block, outer, &self.numbers, self.params);
        let address = within.address();
        let mut step = self.sources(&mut within)?;
        if !block.constant.is_empty() && !block.sources.is_empty() {
            step = self.filter(step, &block.constant, &mut within)?;
        }
        if let Some(grouping) = &block.grouping {
            step = grouped(step, grouping, &within);
        }
        if let Some(having) = &block.having {
            step = self.filter(step, std::slice::from_ref(having), &mut within)?;
            step = step.at(address, Place::Admitted);
        }
        if let Some(windowing) = &block.windowing {
            step = windowed(step, windowing, &within);
            if !windowing.admitted.is_empty() {
                step = self.filter(step, &windowing.admitted, &mut within)?;
                step = step.at(address, Place::Windowed);
            }
        }
        if block.distinct {
            step = step
                .above("temp_table", "Temporary table with deduplication")
                .with("deduplication", true)
                .at(address, Place::Result)
                .above("table", "Table scan on <temporary>")
                .at(address, Place::Result);
        }
        if !block.order.is_empty() && !block.presorted {
            let keys = within.naming.keys(&block.order);
            step = sort(step, &keys, block.limit.as_ref(), &within.naming);
            step = step.at(address, Place::Result);
        }
        step = limit(step, block.limit.as_ref(), &within.naming);
        let whole = Point {
            block: address,
            place: Place::Result,
            joins: None,
        };
        step.point.get_or_insert(whole);
        for subquery in within.rest()? {
            let beside = self.subquery(subquery, "projection", &within)?;
            step.beside.push(beside);
        }
        Ok(step)
    }

    /// A subquery, with what it is for.
    fn subquery(
        &mut self,
        subquery: &Subquery,
        used: &str,
        within: &Within<'_, '_>,
    ) -> Result<Step, SqlError> {
        let query = &subquery.query;
        let often = match query.correlated {
            true => "dependent",
            false => "run only once",
        };
        let shown = self.numbers.query(query);
        let mut step = self.query(query, Some(&within.naming))?;
        step.heading = Some(format!("Select #{shown} (subquery in {used}; {often})"));
        let step = step
            .with("subquery", true)
            .with("subquery_location", used.to_owned());
        Ok(match query.correlated {
            true => step.with("dependent", true),
            false => step.with("cacheable", true),
        })
    }

    /// A step that admits what conditions hold for, with their subqueries below it.
    pub(super) fn filter(
        &mut self,
        step: Step,
        conditions: &[Condition],
        within: &mut Within<'_, '_>,
    ) -> Result<Step, SqlError> {
        let text = within.naming.all(conditions.iter().map(|c| &c.expr));
        let mut step = step
            .above("filter", format!("Filter: {text}"))
            .with("condition", text);
        for condition in conditions {
            self.place(&condition.subqueries, &mut step, within)?;
        }
        Ok(step)
    }

    /// Puts subqueries below the step that needs them first.
    pub(super) fn place(
        &mut self,
        subqueries: &[usize],
        step: &mut Step,
        within: &mut Within<'_, '_>,
    ) -> Result<(), SqlError> {
        for subquery in within.take(subqueries)? {
            let below = self.subquery(subquery, "condition", within)?;
            step.inputs.push(below);
        }
        Ok(())
    }
}
