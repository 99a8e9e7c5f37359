//! How a stored table is read, in words.

use super::{
    naming::{Naming, column_name, searched_columns},
    step::Step,
};
use crate::plan::{Access, Bound, Rank, Source, index_of};
use cohort_engine::types::Table;

/// The step that reads a table by a path.
pub(super) fn step(source: &Source, table: &Table, access: &Access, naming: &Naming<'_>) -> Step {
    if access.merged.is_empty() {
        return one(source, table, access, false, naming);
    }
    let paths = access.merged.iter();
    let inputs = paths.map(|path| one(source, table, path, true, naming));
    let (kind, operation) = match sorts(access) {
        false => ("rowid_union", "Deduplicate rows sorted by row ID"),
        true => ("index_merge", "Sort-deduplicate by row ID"),
    };
    Step::new(kind, operation, inputs.collect())
}

/// The step that reads a table by one key, which may be one of several whose rows are merged.
fn one(
    source: &Source,
    table: &Table,
    access: &Access,
    is_merged: bool,
    naming: &Naming<'_>,
) -> Step {
    let alias = &source.alias;
    let backwards = if access.reverse { " (reverse)" } else { "" };
    let named = |step: Step| {
        step.with("table_name", table.name.as_str())
            .with("schema_name", table.database.as_str())
            .with("alias", alias.as_str())
    };
    if let Some(rank) = access.search.and_then(|at| source.ranks.get(at)) {
        return named(search(source, table, rank, naming)).with("covering", access.covering);
    }
    let whole = access.alternatives.is_empty();
    let index = match index_of(table, access.index) {
        Some(index) if access.index.is_some() || access.reverse || !whole => index,
        _ => {
            return named(Step::new(
                "table",
                format!("Table scan on {alias}"),
                Vec::new(),
            ));
        }
    };
    let part_name = |part: usize| {
        let mut parts = table.entry_parts(index);
        let column = parts.nth(part).map(|part| usize::from(part.column));
        column.map_or("", |column| column_name(source, column))
    };
    let covering = access.covering && access.index.is_some();
    let (how, kind) = match access.alternatives.as_slice() {
        _ if let Some(loose) = access.loose => match loose.least || loose.greatest {
            true => ("index skip scan for grouping", "group_index_skip_scan"),
            false => ("index skip scan for deduplication", "group_index_skip_scan"),
        },
        [] => ("index scan", "index_scan"),
        _ if is_merged => ("index range scan", "index_range_scan"),
        [bounds] if access.point && bounds.iter().all(is_equal) => {
            ("single-row index lookup", "index_lookup")
        }
        [bounds] if bounds.iter().all(is_equal) => ("index lookup", "index_lookup"),
        _ => ("index range scan", "index_range_scan"),
    };
    let how = match (covering, how) {
        (true, "single-row index lookup") => "single-row covering index lookup".to_owned(),
        (true, how) => format!("covering {how}"),
        (false, how) => how.to_owned(),
    };
    let mut operation = format!("{how} on {alias} using {}", index.name);
    if let Some(first) = operation.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let mut conditions = Vec::new();
    for bounds in &access.alternatives {
        let parts = bounds.iter().enumerate();
        let texts: Vec<String> = parts
            .map(|(part, bound)| bound_text(bound, part_name(part), naming))
            .collect();
        conditions.push(texts.join(if kind == "index_lookup" {
            ", "
        } else {
            " AND "
        }));
    }
    match (kind, conditions.as_slice()) {
        ("index_lookup", [one]) => operation.push_str(&format!(" ({one})")),
        ("index_range_scan" | "group_index_skip_scan", several @ [_, ..]) => {
            operation.push_str(&format!(" over {}", ranges(several)));
        }
        _ => {}
    }
    operation.push_str(backwards);
    let step = named(Step::new("index", operation, Vec::new()))
        .with("covering", covering)
        .with("index_name", index.name.as_str())
        .with("index_access_type", kind);
    let parts = access.alternatives.iter().map(Vec::len).max().unwrap_or(0);
    let columns: Vec<&str> = (0..parts).map(part_name).collect();
    match (kind, conditions.as_slice()) {
        ("index_lookup", [one]) => step
            .with("lookup_condition", one.as_str())
            .with("key_columns", columns),
        ("index_range_scan", several) => {
            let shown: Vec<String> = several.iter().map(|range| format!("({range})")).collect();
            step.with("ranges", shown).with("key_columns", columns)
        }
        _ => step,
    }
}

/// Whether the paths that are merged give rows in another order than that of their keys, so that
/// MySQL has to sort them.
pub(super) fn sorts(access: &Access) -> bool {
    let in_order = |path: &Access| {
        path.index.is_none()
            || matches!(path.alternatives.as_slice(), [one] if one.iter().all(is_equal))
    };
    !access.merged.iter().all(in_order)
}

/// The step that reads what a search finds.
fn search(source: &Source, table: &Table, rank: &Rank, naming: &Naming<'_>) -> Step {
    let column = searched_columns(source, rank).next().unwrap_or_default();
    let condition = format!("{column} = {}", naming.text(&rank.against));
    let index = table.fulltext.get(rank.text);
    let index = index.map_or("", |text| text.index.name.as_str());
    let operation = format!(
        "Full-text index search on {} using {index} ({condition})",
        source.alias
    );
    Step::new("index", operation, Vec::new())
        .with("index_name", index)
        .with("index_access_type", "full_text_search")
        .with("lookup_condition", condition.as_str())
}

/// The subqueries that a path needs.
pub(super) fn subqueries(access: &Access) -> Vec<usize> {
    let bounds = access.bounds();
    bounds
        .filter_map(|bound| match bound {
            Bound::InRows { subquery, .. } => Some(*subquery),
            _ => None,
        })
        .collect()
}

/// The first ranges, and how many more there are.
fn ranges(several: &[String]) -> String {
    /// No more are shown.
    const SHOWN: usize = 3;
    let all: Vec<String> = several.iter().map(|range| format!("({range})")).collect();
    match all.get(..SHOWN - 1) {
        Some(first) if all.len() > SHOWN => {
            format!(
                "{} OR ({} more)",
                first.join(" OR "),
                all.len() - first.len()
            )
        }
        _ => all.join(" OR "),
    }
}

fn is_equal(bound: &Bound) -> bool {
    matches!(bound, Bound::Equal(_) | Bound::NullSafe(_) | Bound::IsNull)
}

/// What is known of a part of the key.
fn bound_text(bound: &Bound, name: &str, naming: &Naming<'_>) -> String {
    match bound {
        Bound::Equal(value) => format!("{name} = {}", naming.text(value)),
        Bound::NullSafe(value) => format!("{name} <=> {}", naming.text(value)),
        Bound::IsNull => format!("{name} = NULL"),
        Bound::In(values) => {
            let texts: Vec<String> = values.iter().map(|value| naming.text(value)).collect();
            format!("{name} in ({})", texts.join(","))
        }
        // The slot has it in parentheses: `(a in (select #2))`.
        Bound::InRows { slot, .. } => {
            let text = naming.slot(*slot);
            let inside = text
                .strip_prefix('(')
                .and_then(|text| text.strip_suffix(')'));
            inside.unwrap_or(&text).to_owned()
        }
        Bound::Range { low, high } => {
            let sign = |included: bool| if included { "<=" } else { "<" };
            let low = low
                .as_ref()
                .map(|(value, included)| (naming.text(value), sign(*included)));
            let high = high
                .as_ref()
                .map(|(value, included)| (naming.text(value), sign(*included)));
            match (low, high) {
                (Some((low, below)), Some((high, above))) => {
                    format!("{low} {below} {name} {above} {high}")
                }
                (Some((low, below)), None) => format!("{low} {below} {name}"),
                (None, Some((high, above))) => format!("{name} {above} {high}"),
                (None, None) => name.to_owned(),
            }
        }
        Bound::Like(pattern, _) => format!("{name} like {}", naming.text(pattern)),
        Bound::Array(test) => format!("{} in array {name}", naming.text(&test.wanted)),
    }
}
