//! The steps that read tables and join them.

use super::{
    build::Builder,
    naming::{Naming, column_name},
    path,
    step::{Place, Step},
    within::Within,
};
use crate::{
    error::SqlError,
    plan::{Derived, Input, Source},
};
use serde_json::Value as Json;
use std::{ops::Range, sync::Arc};

impl Builder<'_> {
    /// The tables of a block, or what there is instead.
    pub(super) fn sources(&mut self, within: &mut Within<'_, '_>) -> Result<Step, SqlError> {
        let block = within.block;
        if !block.sources.is_empty() {
            return self.join(0..block.sources.len(), within);
        }
        let step = Step::no_table().giving(Some(1.0));
        let step = match block.constant.as_slice() {
            [] => step,
            conditions => self.filter(step, conditions, within)?,
        };
        Ok(step.at(within.address(), Place::Result))
    }

    /// The join of some sources, which follow each other.
    fn join(&mut self, range: Range<usize>, within: &mut Within<'_, '_>) -> Result<Step, SqlError> {
        let block = within.block;
        let address = within.address();
        let missing = || SqlError::internal("a table of a join is missing");
        let first = block.sources.get(range.start).ok_or_else(missing)?;
        let mut joined = self.source(range.start, first, within)?;
        let mut at = range.start + 1;
        while at < range.end {
            let source = block.sources.get(at).ok_or_else(missing)?;
            let outer = source.outer_join.as_ref();
            let end = outer.map_or(at + 1, |(end, _)| *end);
            let joins = (range.start, end - 1);
            let (kind, place) = match (outer, range.start) {
                (Some(_), _) => ("left", Place::Outer(at)),
                (None, 0) => ("inner", Place::Joined(at)),
                (None, _) => ("inner", Place::Passed(at)),
            };
            let right = match end - at {
                1 => self.source(at, source, within)?,
                _ => self.join(at..end, within)?,
            };
            let rows = joined.rows.zip(right.rows).map(|(l, r)| l * r);
            joined = combine(joined, right, source, kind, &within.naming)
                .giving(rows)
                .at_join(address, place, joins);
            if source.kept.is_some() {
                for condition in &source.filter {
                    self.place(&condition.subqueries, &mut joined, within)?;
                }
            }
            if let Some((_, after)) = outer
                && !after.is_empty()
            {
                let step = self.filter(joined, after, within)?;
                joined = step.at_join(address, Place::After(at), joins);
            }
            at = end;
        }
        Ok(joined)
    }

    /// How a source is read, and what its conditions admit.
    fn source(
        &mut self,
        at: usize,
        source: &Source,
        within: &mut Within<'_, '_>,
    ) -> Result<Step, SqlError> {
        let block = within.block;
        let address = within.address();
        // What a join with kept rows checks is shown with it.
        let (read, passed, filter) = match &source.kept {
            Some(_) => (Place::Computed(at), Place::Kept(at), &source.alone),
            None => (Place::Read(at), Place::Passed(at), &source.filter),
        };
        let mut step = match &source.input {
            Input::Table(table, access) => {
                let access = block.ends.first().filter(|_| at == 0).unwrap_or(access);
                path::step(source, table, access, &within.naming)
            }
            Input::Virtual(table) => {
                scan(&source.alias).with("schema_name", table.database.as_str())
            }
            Input::Derived(derived, given) => {
                let computed = Place::Computed(at);
                self.derived((derived, given), source, computed, within)?
            }
            Input::Working(_) => Step::new(
                "table",
                format!("Scan new records on {}", source.alias),
                Vec::new(),
            ),
            Input::Json(_) => Step::new(
                "materialized_table_function",
                "Materialize table function",
                Vec::new(),
            ),
        }
        .giving(Some(source.estimate.max(1) as f64))
        .with("used_columns", used(source))
        .at(address, read);
        if source.lateral && !matches!(source.input, Input::Json(_)) {
            step = step.with("lateral", true);
        }
        if let Input::Table(_, access) = &source.input {
            self.place(&path::subqueries(access), &mut step, within)?;
        }
        if filter.is_empty() {
            return Ok(step);
        }
        let rows = step.rows.map(|rows| rows * source.share);
        let step = self.filter(step, filter, within)?;
        Ok(step.giving(rows).at(address, passed))
    }

    /// A computed table: what computes it is shown where it is read first.
    fn derived(
        &mut self,
        (derived, given): (&Arc<Derived>, &[(usize, usize)]),
        source: &Source,
        computed: Place,
        within: &mut Within<'_, '_>,
    ) -> Result<Step, SqlError> {
        let address = within.address();
        let step = scan(&source.alias);
        let name = &source.alias;
        if !self.shown.insert(Arc::as_ptr(derived)) {
            let elsewhere = format!("Materialize {name} if needed (query plan printed elsewhere)");
            let below = Step::new("materialize", elsewhere, Vec::new());
            return Ok(Step {
                inputs: vec![below],
                ..step
            });
        }
        let outer = within.naming.given(given);
        let seed = self.query(&derived.query, Some(&outer))?;
        let mut inputs = vec![seed];
        let operation = match &derived.recursion {
            None if source.lateral => "Materialize (computed for each row before it)".to_owned(),
            None => "Materialize".to_owned(),
            Some(recursion) => {
                let mut parts = Vec::new();
                for part in &recursion.parts {
                    parts.push(self.query(part, Some(&outer))?);
                }
                inputs.push(Step::new("repeat", "Repeat until convergence", parts));
                format!("Materialize recursive CTE {name}")
            }
        };
        let materialize = Step::new("materialize", operation, inputs);
        let materialize = materialize.at(address, computed);
        Ok(Step {
            inputs: vec![materialize],
            ..step
        })
    }
}

/// The step that reads a table whole that is not stored.
fn scan(alias: &str) -> Step {
    let step = Step::new("table", format!("Table scan on {alias}"), Vec::new());
    step.with("table_name", alias)
}

/// The names of the columns that are wanted.
fn used(source: &Source) -> Json {
    let names = source.wanted.iter().map(|column| {
        let name = column_name(source, usize::from(*column));
        Json::from(name)
    });
    Json::Array(names.collect())
}

/// Two inputs of a join.
fn combine(left: Step, right: Step, source: &Source, kind: &str, naming: &Naming<'_>) -> Step {
    let join_type = format!("{kind} join");
    let Some(keys) = &source.kept else {
        let operation = format!("Nested loop {kind} join");
        return Step::new("join", operation, vec![left, right])
            .with("join_type", join_type)
            .with("join_algorithm", "nested_loop");
    };
    let texts = keys
        .iter()
        .map(|(probe, own)| (naming.text(own), naming.text(probe)));
    let texts: Vec<(String, String)> = texts.collect();
    let is_hashed = |condition: &String| {
        let is = |a: &String, b: &String| *condition == format!("({a} = {b})");
        texts
            .iter()
            .any(|(own, probe)| is(own, probe) || is(probe, own))
    };
    let conditions: Vec<String> = texts.iter().map(|(a, b)| format!("({a} = {b})")).collect();
    let filter = source.filter.iter().map(|c| naming.text(&c.expr));
    let others: Vec<String> = filter.filter(|text| !is_hashed(text)).collect();
    let extra = match others.as_slice() {
        [] => String::new(),
        others => format!(", extra conditions: {}", others.join(" and ")),
    };
    let mut name = kind.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let looked_up = match conditions.as_slice() {
        [] => "(no condition)".to_owned(),
        conditions => conditions.join(", "),
    };
    let operation = format!("{name} hash join {looked_up}{extra}");
    let rows = right.rows;
    let hash = Step::new("hash", "Hash", vec![right]).giving(rows);
    Step::new("join", operation, vec![left, hash])
        .with("join_type", join_type)
        .with("hash_condition", conditions)
        .with("join_algorithm", "hash")
}
