//! The steps that come after the tables: groups, windows, order, LIMIT.

use super::{
    naming::Naming,
    step::{Place, Step},
    within::Within,
};
use crate::{
    expr::Expr,
    plan::{Grouping, Limit, Windowing, walk},
};

/// GROUP BY and aggregates.
pub(super) fn grouped(step: Step, grouping: &Grouping, within: &Within<'_, '_>) -> Step {
    let calls: Vec<String> = grouping
        .aggregates
        .iter()
        .map(|aggregate| within.naming.aggregate(aggregate))
        .collect();
    let functions = match calls.as_slice() {
        [] => "(no aggregates)".to_owned(),
        calls => calls.join(", "),
    };
    let address = within.address();
    let aggregate = |step: Step, operation: String, rows: Option<f64>| {
        step.above("aggregate", operation)
            .with("functions", calls.clone())
            .giving(rows)
            .at(address, Place::Grouped)
    };
    if grouping.keys.is_empty() {
        return aggregate(step, format!("Aggregate: {functions}"), Some(1.0));
    }
    if grouping.rollup.is_some() {
        let keys: Vec<String> = grouping
            .keys
            .iter()
            .map(|key| within.naming.text(&key.expr))
            .collect();
        let sorted = step.above("sort", format!("Sort: {}", keys.join(", ")));
        let operation = format!("Group aggregate with rollup: {functions}");
        return aggregate(sorted, operation, None).with("group_by", true);
    }
    if within.block.grouped_in_turn.is_some() {
        let operation = format!("Group aggregate: {functions}");
        return aggregate(step, operation, None).with("group_by", true);
    }
    let gathered = aggregate(step, "Aggregate using temporary table".to_owned(), None);
    let gathered = gathered.with("group_by", true);
    let scan = gathered.above("table", "Table scan on <temporary>");
    scan.at(address, Place::Grouped)
}

/// Window functions.
pub(super) fn windowed(mut step: Step, windowing: &Windowing, within: &Within<'_, '_>) -> Step {
    let naming = &within.naming;
    let address = within.address();
    for window in &windowing.windows {
        if !window.keys.is_empty() {
            let keys = naming.keys(&window.keys).join(", ");
            let each = match windowing.in_turn {
                true => ", each partition by itself",
                false => "",
            };
            let first = windowing.first.as_ref();
            let first = first.filter(|_| windowing.in_turn || window.partition == 0);
            let chunk = per_chunk(first.and_then(|first| constant(first, naming)));
            step = step
                .above("sort", format!("Sort: {keys}{each}{chunk}"))
                .at(address, Place::Admitted);
        }
        let mut calls = Vec::new();
        for call in &window.calls {
            calls.push(naming.window_call(&call.function));
        }
        let over = naming.keys(&window.keys);
        let (partition, order) = over.split_at(window.partition.min(over.len()));
        let mut spec = Vec::new();
        if !partition.is_empty() {
            spec.push(format!("PARTITION BY {}", partition.join(",")));
        }
        if !order.is_empty() {
            spec.push(format!("ORDER BY {}", order.join(",")));
        }
        let operation = format!(
            "Window aggregate: {} OVER ({})",
            calls.join(", "),
            spec.join(" ")
        );
        step = step
            .above("window", operation)
            .with("functions", calls)
            .at(address, Place::Admitted);
    }
    step
}

/// ORDER BY, which keeps no more rows than LIMIT wants.
pub(super) fn sort(
    step: Step,
    keys: &[String],
    limit: Option<&Limit>,
    naming: &Naming<'_>,
) -> Step {
    let wanted = limit.and_then(|limit| {
        let count = constant(limit.count.as_ref()?, naming)?;
        let offset = match &limit.offset {
            Some(offset) => constant(offset, naming)?,
            None => 0,
        };
        count.checked_add(offset)
    });
    let chunk = per_chunk(wanted);
    let operation = format!("Sort: {}{chunk}", keys.join(", "));
    let step = step.above("sort", operation).with("sort_fields", keys);
    match wanted {
        Some(rows) => step.with("per_chunk_limit", rows),
        None => step,
    }
}

/// What is said of a sort that keeps so many rows.
fn per_chunk(wanted: Option<u64>) -> String {
    wanted.map_or_else(String::new, |rows| {
        format!(", limit input to {rows} row(s) per chunk")
    })
}

/// LIMIT.
pub(super) fn limit(step: Step, limit: Option<&Limit>, naming: &Naming<'_>) -> Step {
    let Some(limit) = limit else {
        return step;
    };
    let text = |expr: &Option<Expr>, without: &str| {
        expr.as_ref()
            .map_or(without.to_owned(), |expr| naming.text(expr))
    };
    let (count, offset) = (text(&limit.count, "all"), text(&limit.offset, "0"));
    let operation = match offset.as_str() {
        "0" => format!("Limit: {count} row(s)"),
        offset => format!("Limit/Offset: {count}/{offset} row(s)"),
    };
    let wanted = limit
        .count
        .as_ref()
        .and_then(|count| constant(count, naming));
    let rows = match (step.rows, wanted) {
        (Some(rows), Some(wanted)) => Some(rows.min(wanted as f64)),
        (rows, _) => rows,
    };
    let step = step.above("limit", operation).giving(rows);
    match wanted {
        Some(wanted) => step.with("limit", wanted),
        None => step,
    }
}

/// The number that a constant is.
fn constant(expr: &Expr, naming: &Naming<'_>) -> Option<u64> {
    walk::is_constant(expr).then(|| naming.text(expr).parse().ok())?
}
