//! EXPLAIN FORMAT=JSON in version 1 of MySQL's form: the blocks of a statement with the tables that each
//! reads, below what is done with their rows.
//!
//! ```text
//! query_block ─▶ ordering_operation ─▶ duplicates_removal ─▶ windowing ─▶ grouping_operation
//!                                                                               │
//!           attached_subqueries, materialized_from_subquery ◀─ table ◀─ nested_loop
//! ```
//!
//! Costs are those that the planner compares, in its unit: the next row of a scan. What it does not weigh
//! has none, such as subqueries and sorting, and what is not known here is left out.

use super::{
    document::Members,
    naming::{Naming, column_name},
    numbers::{Numbers, blocks_of},
    operations::{IsFalse, NO_TABLES, Operation, Operations, message},
    path,
    reading::{Note, Reading, Reference},
    statement::{Change, Explained},
    within::Within,
};
use crate::{
    error::SqlError,
    plan::{
        Block, Combined, Computed, Derived, Input, Insert, InsertRows, Query, Source, Subquery,
        Windowing, join_order,
    },
};
use cohort_engine::types::Value;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// The document of a statement.
pub(super) fn document(
    explained: &Explained,
    is_false: IsFalse<'_>,
    params: &[Value],
) -> Result<String, SqlError> {
    let mut writer = Writer {
        params,
        numbers: explained.numbers(),
        is_false,
        shown: FxHashSet::default(),
    };
    let block = match explained {
        Explained::Query(query) => writer.query(query, None, Role::Read)?,
        Explained::Insert(plan) => writer.insert(plan)?,
        Explained::Change {
            change,
            block,
            changed,
            ..
        } => writer.block(block, None, Role::Change(*change, changed))?,
    };
    let document = Members::of("query_block", block);
    serde_json::to_string_pretty(&document).map_err(SqlError::internal)
}

/// The subqueries of the select list.
const SELECT_LIST: &str = "select_list_subqueries";

/// What the rows of a block are for.
#[derive(Clone, Copy)]
enum Role<'r> {
    /// They are read.
    Read,
    /// They are added to those that a recursive table has, and read again.
    Recur,
    /// Those of these sources are changed.
    Change(Change, &'r [usize]),
    /// They are inserted.
    Insert(&'r Insert),
}

struct Writer<'e> {
    params: &'e [Value],
    numbers: Numbers,
    is_false: IsFalse<'e>,
    /// The computed tables that were shown.
    shown: FxHashSet<*const Derived>,
}

impl Writer<'_> {
    fn insert(&mut self, plan: &Insert) -> Result<Members, SqlError> {
        let mut within = Within::new(&plan.block, None, &self.numbers, self.params);
        let (mut all, subqueries) = match &plan.rows {
            InsertRows::Query(query) => {
                let rows = self.query(query, None, Role::Insert(plan))?;
                (rows, "insert_update_subqueries")
            }
            InsertRows::Values(_) | InsertRows::File(_) => {
                let mut all = Members::default();
                all.put("select_id", self.numbers.block(&plan.block));
                all.put_object("table", inserted(plan));
                (all, "insert_values_subqueries")
            }
        };
        let rest = within.rest()?;
        self.subqueries(&mut all, subqueries, &rest, &within)?;
        Ok(all)
    }

    /// A query, which is one block, or the result of several.
    fn query(
        &mut self,
        query: &Query,
        outer: Option<&Naming<'_>>,
        role: Role<'_>,
    ) -> Result<Members, SqlError> {
        let first = match query.blocks.as_slice() {
            [] => return Err(SqlError::internal("a query without blocks")),
            [block] => return self.block(block, outer, role),
            [first, ..] => first,
        };
        let gathers = query.combined != Combined::Union { distinct: 0 };
        let mut result = Members::default();
        result.put("using_temporary_table", gathers);
        if gathers {
            result.put("select_id", self.numbers.result(first));
            result.put("table_name", self.numbers.result_name(query));
            result.put("access_type", "ALL");
        }
        if !query.order.is_empty() {
            result.put("using_filesort", true);
        }
        let mut blocks = Vec::new();
        for (at, block) in query.blocks.iter().enumerate() {
            let role = if at == 0 { role } else { Role::Read };
            blocks.push(self.specification(block, outer, role)?);
        }
        result.put_objects("query_specifications", blocks);
        let name = match query.combined {
            Combined::Union { .. } => "union_result",
            Combined::Intersect { .. } => "intersect_result",
            Combined::Except { .. } => "except_result",
        };
        Ok(Members::of(name, result))
    }

    /// One of several blocks.
    fn specification(
        &mut self,
        block: &Block,
        outer: Option<&Naming<'_>>,
        role: Role<'_>,
    ) -> Result<Members, SqlError> {
        let mut all = dependence(!block.outer.is_empty());
        all.put_object("query_block", self.block(block, outer, role)?);
        Ok(all)
    }

    fn block(
        &mut self,
        block: &Block,
        outer: Option<&Naming<'_>>,
        role: Role<'_>,
    ) -> Result<Members, SqlError> {
        let mut within = Within::new(block, outer, &self.numbers, self.params);
        let mut all = Members::default();
        all.put("select_id", self.numbers.block(block));
        if let Role::Recur = role {
            all.put("recursive", true);
        }
        match (role, message(block, self.is_false)) {
            // What is inserted is known without reading anything.
            (Role::Insert(plan), Some(NO_TABLES)) => all.put_object("table", inserted(plan)),
            (_, Some(message)) => {
                all.put("message", message);
                if message != NO_TABLES {
                    return Ok(all);
                }
                let wanted = needed(&block.constant);
                self.take(&mut all, "attached_subqueries", &wanted, &mut within)?;
            }
            (_, None) => {
                let (tables, cost) = self.sources(&mut within, role)?;
                if let Some(cost) = cost {
                    all.put_object("cost_info", cost_info(&[("query_cost", cost)]));
                }
                let rows = self.operations(tables, &mut within)?;
                if let Role::Insert(plan) = role {
                    all.put_object("table", inserted(plan));
                    all.put_object("insert_from", rows);
                } else {
                    all.append(rows);
                }
            }
        }
        let rest = within.rest()?;
        let name = match role {
            Role::Change(Change::Update, _) => "update_value_subqueries",
            _ => SELECT_LIST,
        };
        self.subqueries(&mut all, name, &rest, &within)?;
        Ok(all)
    }

    /// The tables of a block within what is done with their rows.
    fn operations(
        &mut self,
        tables: Members,
        within: &mut Within<'_, '_>,
    ) -> Result<Members, SqlError> {
        let block = within.block;
        let operations = Operations::of(block);
        let mut rows = tables;
        let having = needed(&block.having);
        if let Some(operation) = operations.grouping {
            rows = done(operation, rows);
            let keys = needed(block.grouping.iter().flat_map(|grouping| &grouping.keys));
            self.take(&mut rows, "having_subqueries", &having, within)?;
            self.take(&mut rows, "group_by_subqueries", &keys, within)?;
            rows = Members::of("grouping_operation", rows);
        } else {
            self.take(&mut rows, "having_subqueries", &having, within)?;
        }
        if let Some(windowing) = &block.windowing {
            let mut all = windows(windowing, &within.naming);
            all.append(rows);
            let inputs = needed(windowing.inputs.iter().map(|input| &input.value));
            self.take(&mut all, SELECT_LIST, &inputs, within)?;
            rows = Members::of("windowing", all);
        }
        if let Some(operation) = operations.distinct {
            rows = Members::of("duplicates_removal", done(operation, rows));
        }
        if let Some(operation) = operations.ordering {
            rows = done(operation, rows);
            let keys = needed(block.order.iter().map(|key| &key.value));
            self.take(&mut rows, "order_by_subqueries", &keys, within)?;
            rows = Members::of("ordering_operation", rows);
        }
        Ok(rows)
    }

    /// The tables of a block, each read for every row of those before it, and what that costs.
    fn sources(
        &mut self,
        within: &mut Within<'_, '_>,
        role: Role<'_>,
    ) -> Result<(Members, Option<f64>), SqlError> {
        let (mut produced, mut cost) = (1.0, Some(0.0));
        let mut tables = Vec::new();
        for (at, source) in within.block.sources.iter().enumerate() {
            let reading = Reading::new(within.block, at, source);
            produced *= reading.rows as f64 * source.share;
            let mut table = Members::default();
            match role {
                Role::Change(Change::Update, changed) if changed.contains(&at) => {
                    table.put("update", true);
                }
                Role::Change(Change::Delete, changed) if changed.contains(&at) => {
                    table.put("delete", true);
                }
                _ => {}
            }
            table.put("table_name", source.alias.as_str());
            read(&mut table, &reading, produced, within);
            let joined = produced * join_order::JOINED;
            cost = cost.zip(reading.cost).map(|(all, own)| all + own + joined);
            if let (Some(prefix), Some(own)) = (cost, reading.cost) {
                let costs = [
                    ("read_cost", own),
                    ("eval_cost", joined),
                    ("prefix_cost", prefix),
                ];
                table.put_object("cost_info", cost_info(&costs));
            }
            let used = source.wanted.iter();
            let used: Vec<&str> = used
                .map(|column| column_name(source, usize::from(*column)))
                .collect();
            table.put_names("used_columns", &used);
            // A table that subqueries of the conditions read, too, is shown here.
            let made = match &source.input {
                Input::Derived(derived, given) => {
                    Some(self.derived(derived, given, &within.naming)?)
                }
                _ => None,
            };
            self.conditions(&mut table, (at, source), &reading, within)?;
            if let Some(made) = made {
                table.put_object("materialized_from_subquery", made);
            }
            tables.push(Members::of("table", table));
        }
        let all = match tables.len() {
            1 => tables.swap_remove(0),
            _ => {
                let mut all = Members::default();
                all.put_objects("nested_loop", tables);
                all
            }
        };
        Ok((all, cost))
    }

    /// What the rows of a table must meet, with the subqueries that are in it or in its path.
    fn conditions(
        &mut self,
        table: &mut Members,
        (at, source): (usize, &Source),
        reading: &Reading<'_>,
        within: &mut Within<'_, '_>,
    ) -> Result<(), SqlError> {
        let block = within.block;
        // What needs no table is looked at before the first one is read.
        let before = block.constant.iter().filter(|_| at == 0);
        let own = source.alone.iter().chain(&source.filter);
        let shown = before.clone().chain(
            own.clone()
                .filter(|_| reading.notes.contains(&Note::Checked)),
        );
        let mut texts: Vec<String> = shown.map(|c| within.naming.text(&c.expr)).collect();
        let mut wanted = match &source.input {
            Input::Table(_, access) => path::subqueries(access),
            _ => Vec::new(),
        };
        wanted.extend(needed(before.chain(own)));
        // What WHERE says of an outer join is looked at once its last table has been read.
        for first in &block.sources {
            let Some((end, after)) = &first.outer_join else {
                continue;
            };
            if *end != at + 1 {
                continue;
            }
            let tables = match first.alias == source.alias {
                true => source.alias.clone(),
                false => format!("{}..{}", first.alias, source.alias),
            };
            let after_texts = after.iter().map(|c| within.naming.text(&c.expr));
            texts.extend(
                after_texts.map(|text| format!("<if>(found_match({tables}), {text}, true)")),
            );
            wanted.extend(needed(after));
        }
        match texts.as_slice() {
            [] => {}
            [one] => table.put("attached_condition", one.as_str()),
            several => table.put("attached_condition", format!("({})", several.join(" and "))),
        }
        self.take(table, "attached_subqueries", &wanted, within)
    }

    /// What a computed table is made by: it is shown where it is read first.
    fn derived(
        &mut self,
        derived: &Arc<Derived>,
        given: &[(usize, usize)],
        naming: &Naming<'_>,
    ) -> Result<Members, SqlError> {
        if !self.shown.insert(Arc::as_ptr(derived)) {
            let mut with = Members::default();
            with.put("select_id", self.numbers.query(&derived.query));
            return Ok(Members::of("sharing_temporary_table_with", with));
        }
        let outer = naming.given(given);
        let query = match derived.recursion {
            None => self.query(&derived.query, Some(&outer), Role::Read)?,
            Some(_) => {
                let seeds = derived.query.blocks.len();
                let mut blocks = Vec::new();
                for (at, block) in blocks_of(derived).enumerate() {
                    let role = if at < seeds { Role::Read } else { Role::Recur };
                    blocks.push(self.specification(block, Some(&outer), role)?);
                }
                let mut result = Members::default();
                result.put("using_temporary_table", false);
                result.put_objects("query_specifications", blocks);
                Members::of("union_result", result)
            }
        };
        let mut all = Members::default();
        all.put("using_temporary_table", true);
        all.put("dependent", !given.is_empty());
        all.put("cacheable", true);
        all.put_object("query_block", query);
        Ok(all)
    }

    /// Adds those of these subqueries that have not been shown.
    fn take(
        &mut self,
        into: &mut Members,
        name: &'static str,
        wanted: &[usize],
        within: &mut Within<'_, '_>,
    ) -> Result<(), SqlError> {
        let taken = within.take(wanted)?;
        self.subqueries(into, name, &taken, within)
    }

    fn subqueries(
        &mut self,
        into: &mut Members,
        name: &'static str,
        subqueries: &[&Subquery],
        within: &Within<'_, '_>,
    ) -> Result<(), SqlError> {
        let mut all = Vec::new();
        for subquery in subqueries {
            let query = &subquery.query;
            let mut shown = dependence(query.correlated);
            let block = self.query(query, Some(&within.naming), Role::Read)?;
            shown.put_object("query_block", block);
            all.push(shown);
        }
        if !all.is_empty() {
            into.put_objects(name, all);
        }
        Ok(())
    }
}

/// The subqueries that some expressions need.
fn needed<'c>(computed: impl IntoIterator<Item = &'c Computed>) -> Vec<usize> {
    let subqueries = computed.into_iter().flat_map(|c| &c.subqueries);
    subqueries.copied().collect()
}

/// Whether something is computed for each row of what is around it.
fn dependence(dependent: bool) -> Members {
    let mut all = Members::default();
    all.put("dependent", dependent);
    all.put("cacheable", !dependent);
    all
}

/// Costs, which are texts with two digits behind the point.
fn cost_info(costs: &[(&'static str, f64)]) -> Members {
    let mut all = Members::default();
    for (name, cost) in costs {
        all.put(name, format!("{cost:.2}"));
    }
    all
}

/// What an operation does with some rows.
fn done(operation: Operation, rows: Members) -> Members {
    let mut all = Members::default();
    if operation.gathers {
        all.put("using_temporary_table", true);
    }
    all.put("using_filesort", operation.sorts);
    all.append(rows);
    all
}

/// The table that rows are inserted into.
fn inserted(plan: &Insert) -> Members {
    let mut table = Members::default();
    table.put(if plan.replace { "replace" } else { "insert" }, true);
    table.put("table_name", plan.table.name.as_str());
    table.put("access_type", "ALL");
    table
}

/// How a table is read, and about how many rows of the join there are then.
fn read(table: &mut Members, reading: &Reading<'_>, produced: f64, within: &Within<'_, '_>) {
    table.put("access_type", reading.access);
    table.put_names("possible_keys", &reading.possible_keys);
    let merge = reading.notes.iter().find_map(|note| match note {
        Note::Merged(sorts) => Some(reading.merge(*sorts)),
        _ => None,
    });
    match (merge, reading.keys.first()) {
        (Some(merge), _) => table.put("key", merge),
        (None, Some(key)) => table.put("key", *key),
        (None, None) => {}
    }
    table.put_names("used_key_parts", &reading.key_parts);
    if let Some(length) = &reading.key_length {
        table.put("key_length", length.as_str());
    }
    let references = reading.references.iter();
    let references: Vec<String> = references
        .map(|reference| match reference {
            Reference::Constant => "const".to_owned(),
            Reference::Slot(slot) if within.is_subquery(*slot) => "func".to_owned(),
            Reference::Slot(slot) => within.naming.slot(*slot),
        })
        .collect();
    table.put_names("ref", &references);
    table.put("rows_examined_per_scan", reading.rows);
    table.put("rows_produced_per_join", produced as u64);
    let (whole, part) = (reading.filtered / 100, reading.filtered % 100);
    table.put("filtered", format!("{whole}.{part:02}"));
    for note in &reading.notes {
        match note {
            // They have members of their own.
            Note::Checked | Note::Merged(_) => {}
            Note::Backward => table.put("backward_index_scan", true),
            Note::Covering => table.put("using_index", true),
            Note::Loose => table.put("using_index_for_group_by", true),
            Note::Search(true) => table.put("ft_hints", "sorted"),
            Note::Search(false) => table.put("ft_hints", "no_ranking"),
            Note::Document => {
                table.put("table_function", "json_table");
                table.put("using_temporary_table", true);
            }
            Note::Kept => table.put("using_join_buffer", "hash join"),
        }
    }
}

/// The windows of a block, in the order in which its rows go through them.
fn windows(windowing: &Windowing, naming: &Naming<'_>) -> Members {
    let windows = &windowing.windows;
    let last = windows.len().saturating_sub(1);
    let mut all = Vec::new();
    for (at, window) in windows.iter().enumerate() {
        let mut shown = Members::default();
        if let Some(call) = window.calls.first() {
            shown.put("name", call.window.as_str());
        }
        if at == last && last > 0 {
            shown.put("last_executed_window", true);
        }
        if !window.keys.is_empty() {
            shown.put("using_filesort", true);
            shown.put("filesort_key", naming.keys(&window.keys));
        }
        let calls = window.calls.iter();
        let calls = calls.map(|call| naming.window_call(&call.function));
        let names: Vec<String> = calls
            .map(|call| call.split('(').next().unwrap_or_default().to_owned())
            .collect();
        shown.put("functions", names);
        all.push(shown);
    }
    let mut members = Members::default();
    members.put_objects("windows", all);
    members
}
