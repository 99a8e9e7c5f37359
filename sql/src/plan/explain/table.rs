//! EXPLAIN: the tabular form.

use super::{
    numbers::Numbers,
    operations::{IsFalse, NO_TABLES, Operations, message},
    reading::{Note, Reading, Reference},
    statement::{Change, Explained},
};
use crate::{
    expr::{ExprType, coercibility},
    output::ColumnMeta,
    plan::{Block, Combined, Derived, Input, InsertRows, Query, Source},
};
use cohort_engine::types::{Collation, Decimal, Value};
use rustc_hash::FxHashSet;
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
    filtered: Option<u32>,
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
pub(super) fn rows(explained: &Explained, is_false: IsFalse<'_>) -> Vec<Vec<Value>> {
    let mut explainer = Explainer {
        rows: Vec::new(),
        numbers: explained.numbers(),
        is_false,
        shown: FxHashSet::default(),
    };
    match explained {
        Explained::Query(query) => explainer.query(query, "SIMPLE", "PRIMARY"),
        Explained::Change { change, block, .. } => explainer.block(
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

struct Explainer<'e> {
    rows: Vec<Row>,
    numbers: Numbers,
    is_false: IsFalse<'e>,
    /// The computed tables shown so far.
    shown: FxHashSet<*const Derived>,
}

impl Explainer<'_> {
    fn query(&mut self, query: &Query, alone: &'static str, first: &'static str) {
        let nested = query.blocks.iter().any(|b| {
            !b.subqueries.is_empty()
                || b.sources
                    .iter()
                    .any(|s| matches!(s.input, Input::Derived(..)))
        });
        let union = query.blocks.len() > 1;
        for (i, block) in query.blocks.iter().enumerate() {
            let kind = match (i, union || nested) {
                (0, false) => alone,
                (0, true) => first,
                _ => match query.combined {
                    Combined::Union { .. } => "UNION",
                    Combined::Intersect { .. } => "INTERSECT",
                    Combined::Except { .. } => "EXCEPT",
                },
            };
            self.block(block, kind);
        }
        let select_type = match query.combined {
            Combined::Union { distinct: 0 } => return,
            Combined::Union { .. } => "UNION RESULT",
            Combined::Intersect { .. } => "INTERSECT RESULT",
            Combined::Except { .. } => "EXCEPT RESULT",
        };
        if union {
            self.rows.push(Row {
                select_type,
                table: Some(self.numbers.result_name(query)),
                access: Some("ALL"),
                extra: vec!["Using temporary".into()],
                ..Row::default()
            });
        }
    }

    fn block(&mut self, block: &Block, kind: &'static str) {
        let id = self.numbers.block(block);
        if let Some(message) = message(block, self.is_false) {
            self.rows.push(Row {
                id: Some(id),
                select_type: kind,
                extra: vec![message.into()],
                ..Row::default()
            });
            if message != NO_TABLES {
                return;
            }
        } else {
            self.sources(block, kind, id);
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

    fn sources(&mut self, block: &Block, kind: &'static str, id: u64) {
        let mut queries = Vec::new();
        for (i, source) in block.sources.iter().enumerate() {
            let mut row = Row {
                id: Some(id),
                select_type: kind,
                ..row(source, &Reading::new(block, i, source))
            };
            if i == 0 {
                let operations = Operations::of(block).together(block);
                if operations.gathers {
                    row.extra.push("Using temporary".into());
                }
                if operations.sorts {
                    row.extra.push("Using filesort".into());
                }
            }
            if let Input::Derived(derived, given) = &source.input {
                row.table = Some(format!("<derived{}>", self.numbers.query(&derived.query)));
                // Several may read it: it is shown once.
                if self.shown.insert(Arc::as_ptr(derived)) {
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
    }
}

fn row(source: &Source, reading: &Reading<'_>) -> Row {
    let list = |names: &[&str]| (!names.is_empty()).then(|| names.join(","));
    let references = reading.references.iter().map(|reference| match reference {
        Reference::Constant => "const",
        Reference::Slot(_) => "func",
    });
    let references: Vec<&str> = references.collect();
    Row {
        table: Some(source.alias.clone()),
        access: Some(reading.access),
        possible_keys: list(&reading.possible_keys),
        key: list(&reading.keys),
        key_length: reading.key_length.clone(),
        reference: list(&references),
        rows: Some(reading.rows),
        filtered: Some(reading.filtered),
        extra: reading.notes.iter().map(|n| extra(*n, reading)).collect(),
        ..Row::default()
    }
}

/// A note in the words of the column Extra.
fn extra(note: Note, reading: &Reading<'_>) -> Cow<'static, str> {
    match note {
        Note::Checked => "Using where".into(),
        Note::Backward => "Backward index scan".into(),
        Note::Covering => "Using index".into(),
        Note::Loose => "Using index for group-by".into(),
        Note::Merged(sorts) => format!("Using {}", reading.merge(sorts)).into(),
        Note::Search(true) => "Ft_hints: sorted".into(),
        Note::Search(false) => "Ft_hints: no_ranking".into(),
        Note::Document => "Table function: json_table; Using temporary".into(),
        Note::Kept => "Using join buffer (hash join)".into(),
    }
}
