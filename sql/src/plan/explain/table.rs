//! EXPLAIN: the tabular form.

use super::statement::{Change, Explained};
use crate::{
    expr::{ArrayTest, ExprType, coercibility},
    output::ColumnMeta,
    plan::{
        Access, Block, Bound, Combined, Derived, Input, InsertRows, Query, Rank, Source, access,
        walk,
    },
};
use cohort_engine::types::{Collation, ColumnType, Decimal, Index, Table, Value};
use rustc_hash::FxHashMap;

use std::{borrow::Cow, sync::Arc};

/// The columns of EXPLAIN.
pub(super) fn columns() -> Vec<ColumnMeta> {
    let text = |length| {
        ExprType::string(length, Collation::Utf8mb40900AiCi, coercibility::IMPLICIT).or_null()
    };
    let number = || ExprType::bigint(true).or_null();
    [
        ("id", number()),
        ("select_type", text(19)),
        ("table", text(64)),
        ("partitions", text(64)),
        ("type", text(10)),
        ("possible_keys", text(4096)),
        ("key", text(64)),
        ("key_len", text(4096)),
        ("ref", text(2048)),
        ("rows", number()),
        ("filtered", ExprType::decimal(5, 2).or_null()),
        ("Extra", text(255)),
    ]
    .iter()
    .map(|(name, ty)| ty.meta(name))
    .collect()
}

/// A row of EXPLAIN.
#[derive(Default)]
struct Row {
    id: Option<u64>,
    select_type: &'static str,
    table: Option<String>,
    access: Option<&'static str>,
    possible_keys: Option<String>,
    key: Option<String>,
    key_length: Option<String>,
    reference: Option<String>,
    rows: Option<u64>,
    /// In hundredths of a per cent.
    filtered: Option<i64>,
    extra: Vec<Cow<'static, str>>,
}

impl Row {
    fn values(self) -> Vec<Value> {
        let text = |s: Option<String>| s.map_or(Value::Null, |s| Value::Bytes(s.into_bytes()));
        let extra = (!self.extra.is_empty()).then(|| self.extra.join("; "));
        vec![
            self.id.map_or(Value::Null, Value::UInt),
            text(Some(self.select_type.to_string())),
            text(self.table),
            Value::Null,
            text(self.access.map(str::to_string)),
            text(self.possible_keys),
            text(self.key),
            text(self.key_length),
            text(self.reference),
            self.rows.map_or(Value::Null, Value::UInt),
            self.filtered.map_or(Value::Null, |hundredths| {
                Value::Decimal(Decimal::new(hundredths.into(), 2))
            }),
            text(extra),
        ]
    }
}

/// The rows of EXPLAIN for a statement.
pub(super) fn rows(explained: &Explained) -> Vec<Vec<Value>> {
    let mut explainer = Explainer {
        rows: Vec::new(),
        derived: FxHashMap::default(),
        last_id: 0,
    };
    match explained {
        Explained::Query(query) => explainer.query(query, "SIMPLE", "PRIMARY"),
        Explained::Change { change, block, .. } => explainer.first(
            block,
            match change {
                Change::Update => "UPDATE",
                Change::Delete => "DELETE",
            },
        ),
        Explained::Insert(plan) => {
            explainer.rows.push(Row {
                id: Some(1),
                select_type: if plan.replace { "REPLACE" } else { "INSERT" },
                table: Some(plan.table.name.clone()),
                access: Some("ALL"),
                ..Row::default()
            });
            if let InsertRows::Query(query) = &plan.rows {
                explainer.query(query, "SIMPLE", "PRIMARY");
            }
        }
    }
    explainer.rows.into_iter().map(Row::values).collect()
}

struct Explainer {
    rows: Vec<Row>,
    /// The numbers of the computed tables shown so far.
    derived: FxHashMap<*const Derived, u64>,
    last_id: u64,
}

impl Explainer {
    /// The rows of the block that finds what is changed.
    fn first(&mut self, block: &Block, kind: &'static str) {
        self.last_id = 1;
        self.block(block, kind, 1);
    }

    fn query(&mut self, query: &Query, alone: &'static str, first: &'static str) {
        let nested = query.blocks.iter().any(|b| {
            !b.subqueries.is_empty()
                || b.sources
                    .iter()
                    .any(|s| matches!(s.input, Input::Derived(..)))
        });
        let union = query.blocks.len() > 1;
        let mut ids = Vec::new();
        for (i, block) in query.blocks.iter().enumerate() {
            self.last_id += 1;
            let id = self.last_id;
            ids.push(id.to_string());
            let kind = match (i, union || nested) {
                (0, false) => alone,
                (0, true) => first,
                _ => match query.combined {
                    Combined::Union { .. } => "UNION",
                    Combined::Intersect { .. } => "INTERSECT",
                    Combined::Except { .. } => "EXCEPT",
                },
            };
            self.block(block, kind, id);
        }
        let result = match query.combined {
            Combined::Union { distinct: 0 } => None,
            Combined::Union { .. } => Some(("UNION RESULT", "union")),
            Combined::Intersect { .. } => Some(("INTERSECT RESULT", "intersect")),
            Combined::Except { .. } => Some(("EXCEPT RESULT", "except")),
        };
        if union && let Some((select_type, name)) = result {
            self.rows.push(Row {
                select_type,
                table: Some(format!("<{name}{}>", ids.join(","))),
                access: Some("ALL"),
                extra: vec!["Using temporary".into()],
                ..Row::default()
            });
        }
    }

    fn block(&mut self, block: &Block, kind: &'static str, id: u64) {
        if block.sources.is_empty() {
            self.rows.push(Row {
                id: Some(id),
                select_type: kind,
                extra: vec!["No tables used".into()],
                ..Row::default()
            });
        }
        let mut queries = Vec::new();
        for (i, source) in block.sources.iter().enumerate() {
            let mut row = self.source(source, kind, id);
            if let (Input::Table(table, _), Some(end)) = (&source.input, block.ends.first()) {
                stored(&mut row, table, end);
                row.rows = Some(1);
            }
            if i == 0 {
                let grouping = block.grouping.as_ref().filter(|g| !g.keys.is_empty());
                let rolls_up = grouping.is_some_and(|g| g.rollup.is_some());
                let gathers = grouping.is_some() && !rolls_up && block.grouped_in_turn.is_none();
                if gathers || block.distinct {
                    row.extra.push("Using temporary".into());
                }
                let windows = block.windowing.iter().flat_map(|w| &w.windows);
                let sorts = windows.into_iter().any(|window| !window.keys.is_empty());
                if sorts || rolls_up || !block.order.is_empty() && !block.presorted {
                    row.extra.push("Using filesort".into());
                }
            }
            if let Input::Derived(derived, given) = &source.input {
                // Several may read it: it is shown once.
                let new = self.last_id + 1 + queries.len() as u64;
                let at = *self.derived.entry(Arc::as_ptr(derived)).or_insert(new);
                row.table = Some(format!("<derived{at}>"));
                if at == new {
                    let kind = match given.is_empty() {
                        true => "DERIVED",
                        false => "DEPENDENT DERIVED",
                    };
                    queries.push((&derived.query, kind));
                }
            }
            self.rows.push(row);
        }
        for (query, kind) in queries {
            self.query(query, kind, kind);
        }
        for query in &block.subqueries {
            let query = &query.query;
            let kind = if query.correlated {
                "DEPENDENT SUBQUERY"
            } else {
                "SUBQUERY"
            };
            self.query(query, kind, kind);
        }
    }

    fn source(&self, source: &Source, kind: &'static str, id: u64) -> Row {
        let mut row = Row {
            id: Some(id),
            select_type: kind,
            table: Some(source.alias.clone()),
            access: Some("ALL"),
            rows: Some(source.estimate.max(1)),
            filtered: Some(((source.share * 10_000.0).round() as i64).clamp(1, 10_000)),
            ..Row::default()
        };
        if let Input::Json(_) = &source.input {
            row.extra.push("Table function: json_table".into());
            row.extra.push("Using temporary".into());
        }
        if let Input::Table(table, access) = &source.input {
            match access.search.and_then(|at| source.ranks.get(at)) {
                Some(rank) => searched(&mut row, table, rank),
                None => stored(&mut row, table, access),
            }
            let others = source.ways.iter();
            let others = others.filter_map(|way| access::index_of(table, way.index));
            let keys: Vec<&str> = row
                .possible_keys
                .iter()
                .chain(others.map(|index| &index.name))
                .map(String::as_str)
                .collect();
            if !keys.is_empty() {
                row.possible_keys = Some(keys.join(","));
            }
            if access.loose.is_some() {
                row.extra.push("Using index for group-by".into());
            } else if access.covering {
                row.extra.push("Using index".into());
            }
        }
        let checked = source.filter.len() + source.alone.len();
        if checked > 0 && row.access != Some("const") {
            let comes_last = match &source.input {
                Input::Json(_) => true,
                Input::Table(_, access) => !access.merged.is_empty(),
                Input::Virtual(_) | Input::Derived(..) | Input::Working(_) => false,
            };
            let at = if comes_last { row.extra.len() } else { 0 };
            row.extra.insert(at, "Using where".into());
        }
        if source.kept.is_some() {
            row.extra.push("Using join buffer (hash join)".into());
        }
        row
    }
}

fn searched(row: &mut Row, table: &Table, rank: &Rank) {
    let index = table.fulltext.get(rank.text);
    row.access = Some("fulltext");
    row.key = index.map(|text| text.index.name.clone());
    row.possible_keys.clone_from(&row.key);
    row.key_length = Some("0".to_owned());
    row.reference = Some("const".to_owned());
    row.extra.push(match rank.ranked {
        true => "Ft_hints: sorted".into(),
        false => "Ft_hints: no_ranking".into(),
    });
}

fn stored(row: &mut Row, table: &Table, path: &Access) {
    if !path.merged.is_empty() {
        return merged(row, table, path);
    }
    let Some(index) = access::index_of(table, path.index) else {
        return;
    };
    if let Some(loose) = path.loose {
        row.access = Some("range");
        row.key = Some(index.name.clone());
        row.possible_keys.clone_from(&row.key);
        row.key_length = Some(key_length(table, index, loose.parts).to_string());
        return;
    }
    if path.alternatives.is_empty() {
        if path.index.is_some() || path.reverse {
            row.access = Some("index");
            row.key = Some(index.name.clone());
            row.key_length = Some(key_length(table, index, index.parts.len()).to_string());
        }
        return;
    }
    row.key = Some(index.name.clone());
    row.possible_keys = Some(index.name.clone());
    let parts = path.alternatives.iter().map(Vec::len).max();
    row.key_length = Some(key_length(table, index, parts.unwrap_or(0)).to_string());
    let equal = |b: &Bound| match b {
        Bound::Equal(_) | Bound::NullSafe(_) | Bound::IsNull => true,
        Bound::Array(test) => test.test == ArrayTest::Member,
        Bound::In(_) | Bound::InRows { .. } | Bound::Range { .. } | Bound::Like(..) => false,
    };
    let bounds = match path.alternatives.as_slice() {
        [bounds] if bounds.iter().all(equal) => bounds,
        _ => {
            row.access = Some("range");
            return;
        }
    };
    let constant = bounds.iter().all(|b| match b {
        Bound::Equal(e) => walk::is_constant(e),
        _ => false,
    });
    row.access = Some(match (path.point, constant) {
        (true, true) => "const",
        (true, false) => "eq_ref",
        (false, _) => "ref",
    });
    let references: Vec<&str> = bounds
        .iter()
        .map(|b| match b {
            Bound::Equal(e) | Bound::NullSafe(e) if walk::slot(e).is_some() => "func",
            _ => "const",
        })
        .collect();
    row.reference = Some(references.join(","));
}

/// A path by several keys.
fn merged(row: &mut Row, table: &Table, path: &Access) {
    let (mut names, mut lengths) = (Vec::new(), Vec::new());
    for path in &path.merged {
        if let Some(index) = access::index_of(table, path.index) {
            let parts = path.alternatives.iter().map(Vec::len).max();
            names.push(index.name.as_str());
            lengths.push(key_length(table, index, parts.unwrap_or(0)).to_string());
        }
    }
    let names = names.join(",");
    row.access = Some("index_merge");
    row.extra.push(match super::path::sorts(path) {
        false => format!("Using union({names})").into(),
        true => format!("Using sort_union({names})").into(),
    });
    row.possible_keys = Some(names.clone());
    row.key = Some(names);
    row.key_length = Some(lengths.join(","));
}

/// How many bytes MySQL takes for so many parts of a key.
fn key_length(table: &Table, index: &Index, parts: usize) -> u32 {
    table
        .entry_parts(index)
        .take(parts)
        .filter_map(|part| {
            let column = table.columns.get(usize::from(part.column))?.key_column();
            let bytes = match part.prefix {
                Some(chars) => u32::from(chars) * column.collation.max_char_bytes(),
                None => column.value_bytes(),
            };
            let variable = matches!(column.ty, ColumnType::VarChar(_) | ColumnType::Text(_));
            Some(bytes + 2 * u32::from(variable) + u32::from(column.nullable))
        })
        .sum()
}
